"""Random allocation beside its reference implementation and dp-accounting's Poisson accountant.

`python -m benchmarks.training` asks these questions only. PLD_accounting (Feldman, Shenfeld 2026)
is stopped after LIMIT seconds a question, and left out where it is not installed.
"""

from __future__ import annotations

import itertools
import multiprocessing
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

from shuffledp import Accountant, RandomAllocation, calibrate
from shuffledp.guarantee import best_effort

DELTA = 1e-6
LIMIT = 60.0
SIGMAS, STEPS, EPOCHS = (0.5, 0.7, 1.0, 2.0), (10**2, 10**3, 10**4, 10**6), (1, 10, 100)
#: What the reference implementation is asked, too.
BESIDE = [(1.0, 10**2, 1), (1.0, 10**3, 1), (2.0, 10**3, 1), (1.0, 10**3, 10)]


def ours(sigma: float, steps: int, epochs: int) -> tuple[float, float]:
    """A fresh accountant each time."""
    accountant = Accountant().compose(RandomAllocation(sigma, steps), rounds=epochs)
    return best_effort(accountant.epsilon_bounds, DELTA)


def reference(sigma: float, steps: int, epochs: int) -> tuple[float, float]:
    """Its adaptive bracket."""
    from PLD_accounting import gaussian_allocation_epsilon_range

    warnings.simplefilter("ignore")
    upper, lower = gaussian_allocation_epsilon_range(
        delta=DELTA, sigma=sigma, num_steps=steps, num_epochs=epochs
    )
    return float(lower), float(upper)


def poisson(sigma: float, steps: int, epochs: int) -> tuple[float, float]:
    """dp-accounting on Poisson batches of rate 1/steps: another protocol, and one side only."""
    pld = from_gaussian_mechanism(sigma, sampling_prob=1 / steps)
    return 0.0, pld.self_compose(steps * epochs).get_epsilon_for_delta(DELTA)


def timed_once(call: Callable[[], tuple[float, float]]) -> tuple[tuple[float, float], float]:
    start = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - start


def _answer(pipe: Any, call: Callable[[], tuple[float, float]]) -> None:
    pipe.send(timed_once(call))


def within_limit(call: Callable[[], tuple[float, float]]) -> tuple[tuple[float, float], float]:
    """The answer and its seconds, or no bracket if it takes longer."""
    ours_end, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_answer, args=(theirs, call))
    process.start()
    found: tuple[tuple[float, float], float]
    found = ours_end.recv() if ours_end.poll(LIMIT) else ((0.0, float("inf")), LIMIT)
    process.terminate()
    process.join()
    return found


def measure() -> list[dict[str, Any]]:
    """Each question to everybody who can answer it, one after the other."""
    cases = list(itertools.product(SIGMAS, STEPS, EPOCHS))
    ours(*cases[0])  # loads all that is needed
    rows = []
    for case in cases:
        asked: dict[str, Callable[..., Any]] = {"shuffledp": ours}
        if case[1] * case[2] <= 10**5:
            asked["dp-accounting, Poisson"] = poisson
        if case in BESIDE and find_spec("PLD_accounting") is not None:
            asked["PLD_accounting"] = reference
        for name, ask in asked.items():
            call = partial(ask, *case)
            run = within_limit if ask is reference else timed_once
            (lower, upper), seconds = run(call)
            row = dict(zip(("sigma", "steps", "epochs"), case, strict=True))
            rows.append({**row, "who": name, "lower": lower, "upper": upper, "seconds": seconds})
    return rows


def calibration() -> float:
    """Seconds to find the noise of ten epochs of 1,000 steps."""
    start = time.perf_counter()
    calibrate(
        *("noise_multiplier", lambda sigma: RandomAllocation(sigma, 1000)),
        epsilon=1.0,
        delta=DELTA,
        rounds=10,
    )
    return time.perf_counter() - start


def show(rows: list[dict[str, Any]]) -> None:
    print(f"random allocation, delta = {DELTA:g}; times as multiples of ours\n")
    print(f"{'sigma':>6} {'steps':>8} {'epochs':>6} {'who':<24} {'lower':>10} {'upper':>10} "
          f"{'width':>8} {'time / ours':>12}")  # fmt: skip
    base = 1.0
    for row in rows:
        base = row["seconds"] if row["who"] == "shuffledp" else base
        width = (row["upper"] - row["lower"]) / row["upper"] if row["lower"] else float("nan")
        print(f"{row['sigma']:>6} {row['steps']:>8} {row['epochs']:>6} {row['who']:<24} "
              f"{row['lower']:>10.6g} {row['upper']:>10.6g} {width:>8.0e} "
              f"{row['seconds'] / base:>12.1f}")  # fmt: skip
    mine = [row for row in rows if row["who"] == "shuffledp"]
    slowest = max(mine, key=lambda row: row["seconds"])
    widest = max((row["upper"] - row["lower"]) / row["upper"] for row in mine)
    print(f"\nours: widest {widest:.1e}, slowest {slowest['seconds']:.2f} s at sigma = "
          f"{slowest['sigma']}, {slowest['steps']} steps, {slowest['epochs']} epochs")  # fmt: skip
    print()


if __name__ == "__main__":
    show(measure())
    print(f"calibrating the noise of ten epochs of 1,000 steps: {calibration():.1f} s")
