"""Messages per second of the JavaScript client in Node.js, as ratios to numpy on the same machine.

`python -m benchmarks.clients` measures these only. numpy randomizes 100,000 values at a time, which
no device does; the JavaScript client and the Python interpreter of specifications take one by one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from shuffledp import RandomizedResponse
from shuffledp.randomizers import (
    FiniteRandomizer,
    HadamardResponse,
    LocalHashing,
    NoisyHistogram,
    OneBit,
    OptimizedUnaryEncoding,
    Piecewise,
    Randomizer,
    SubsetSelection,
)

MODULE = Path(__file__).resolve().parents[1] / "clients" / "javascript" / "client.mjs"
SECONDS, TURNS = 0.3, 5
CLIENTS: list[Randomizer] = [
    RandomizedResponse(k=100, eps0=9.69),
    SubsetSelection(k=100, size=8, eps0=2.0),
    OptimizedUnaryEncoding(k=100, eps0=2.0),
    HadamardResponse(k=100, eps0=2.0),
    LocalHashing(eps0=2.0),
    OneBit(eps0=1.0),
    Piecewise(eps0=1.0),
    FiniteRandomizer([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]),
    NoisyHistogram(poisson=0.05, k=100),
]
_SCRIPT = """
import { load } from "MODULE";
const client = await load(TEXT);
let count = 0;
const rate = (seconds) => {
  const start = performance.now();
  count = 0;
  while (performance.now() - start < 1000 * seconds) {
    for (let i = 0; i < 200; i += 1, count += 1) client.message(count & 1);
  }
  return count / (performance.now() - start) * 1000;
};
rate(0.2);
console.log(rate(SECONDS));
"""


def of_javascript(randomizer: Randomizer, node: str) -> float:
    """Messages per second."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "rate.mjs"
        text = json.dumps(randomizer.client_spec().to_json())
        source = _SCRIPT.replace("MODULE", MODULE.as_uri()).replace("SECONDS", str(SECONDS))
        script.write_text(source.replace("TEXT", text))
        done = subprocess.run([node, str(script)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def of_numpy(randomizer: Randomizer) -> float:
    """Values per second, many at a time, with the system's bits."""
    values = np.arange(10**5) % 2
    randomizer.randomize(values)
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        randomizer.randomize(values)
        count += len(values)
    return count / (time.perf_counter() - start)


def of_interpreter(randomizer: Randomizer) -> float:
    """Messages per second of the specification in Python."""
    specification = randomizer.client_spec()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        specification.message(count % 2)
        count += 1
    return count / (time.perf_counter() - start)


def measure() -> list[dict[str, Any]]:
    """Each client everywhere, in turn, since machines are busy; nothing without Node.js."""
    node = shutil.which("node")
    if node is None:
        return []
    ways: dict[str, Callable[[Randomizer], float]] = {
        "javascript": partial(of_javascript, node=node),
        "numpy": of_numpy,
        "interpreter": of_interpreter,
    }
    rows = []
    for each in CLIENTS:
        turns = [{name: way(each) for name, way in ways.items()} for _ in range(TURNS)]
        rates = {name: median(turn[name] for turn in turns) for name in ways}
        rows.append({"client": repr(each), **rates})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    if not rows:
        print("no Node.js here: the JavaScript client is not measured\n")
        return
    print("messages per second in Node.js, and as multiples of numpy's for arrays\n")
    print(f"{'client':<48} {'per second':>12} {'/ numpy':>9} {'Python interpreter / numpy':>27}")
    for row in rows:
        print(f"{row['client'][:48]:<48} {row['javascript']:>12,.0f} "
              f"{row['javascript'] / row['numpy']:>9.3f} "
              f"{row['interpreter'] / row['numpy']:>27.4f}")  # fmt: skip
    print()


if __name__ == "__main__":
    show(measure())
