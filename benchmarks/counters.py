"""Messages per second of every way to count, as ratios to plain numpy in the same run.

Plain numpy is what one writes first: all messages in one array, `np.bincount`, `np.unpackbits`, a
sum; for local hashing the polynomial at all values. The least of several times counts, since most
calls take milliseconds. `python -m benchmarks.counters` runs this only, and what is not installed
is left out.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp import Laplace, RandomizedResponse, UnaryEncoding
from shuffledp.clients import Counts
from shuffledp.clients.hashing import hashed
from shuffledp.randomizers import HadamardResponse, LocalHashing, Randomizer, SubsetSelection
from shuffledp.tools.count_sql import count_query
from shuffledp.tools.counting import count_parquet, counts_from_rows, write_parquet

from .measuring import timed

#: Values that local hashing counts, and messages of which all values are hashed at a time.
VALUES, ROWS = 1000, 1000
#: Randomizers, messages in memory and files, and messages in SQLite.
CASES: list[tuple[Randomizer, int, int]] = [
    (RandomizedResponse(100, eps0=4.0), 10**6, 10**5),
    (HadamardResponse(100, 4.0), 10**6, 10**5),
    (SubsetSelection(100, 4, 3.0), 3 * 10**5, 2 * 10**4),
    (UnaryEncoding(100, 4.0), 3 * 10**5, 2 * 10**4),
    (Laplace(4.0), 10**6, 10**5),
    (LocalHashing(16, 3.0), 3 * 10**4, 300),
]


def plain(randomizer: Randomizer, messages: NDArray[Any]) -> NDArray[Any]:
    """The tally as one would write it first."""
    match randomizer:
        case RandomizedResponse(k=k):
            return np.bincount(messages, minlength=k)
        case HadamardResponse():
            return np.bincount(messages, minlength=128)
        case SubsetSelection(k=k):
            return np.bincount(messages.ravel(), minlength=k)
        case UnaryEncoding(k=k):
            bits: NDArray[Any] = np.unpackbits(messages, axis=1, count=k)
            return np.asarray(bits.sum(axis=0))
        case LocalHashing(g=g):
            values, found = np.arange(VALUES, dtype=np.uint64), np.zeros(VALUES, dtype=np.int64)
            for start in range(0, len(messages), ROWS):
                a, b, c, answer = messages[start : start + ROWS].T[:, :, None]
                found += (hashed(a, b, c, values, g) == answer).sum(axis=0)
            return found
    return np.array([messages.sum()])


def ways(
    randomizer: Randomizer, messages: NDArray[Any], few: int, folder: Path
) -> dict[str, tuple[int, Callable[[], Any]]]:
    """How many messages each way counts, and how."""
    told: dict[str, Any] = {"k": VALUES} if isinstance(randomizer, LocalHashing) else {}
    count = partial(randomizer.count, **told)
    size = len(messages)
    found: dict[str, tuple[int, Callable[[], Any]]] = {
        "count": (size, partial(count, messages)),
        "2 threads": (size, partial(_threads, count, messages)),
    }
    lists = messages.ndim == 2 and messages.dtype != np.uint8
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE messages (message)")
    rows = [json.dumps(m.tolist()) if lists else m.tobytes() if m.ndim else int(m)
            for m in messages[:few]]  # fmt: skip
    base.executemany("INSERT INTO messages VALUES (?)", ((row,) for row in rows))
    query = count_query(randomizer, "sqlite", **told)
    found["SQLite"] = (few, lambda: counts_from_rows(randomizer, base.execute(query), **told))
    if find_spec("pyarrow") is None:
        return found
    file = folder / f"{randomizer.name}.parquet"
    write_parquet(file, messages)
    found["Parquet"] = (size, partial(count_parquet, randomizer, file, **told))
    if find_spec("duckdb") is not None:
        import duckdb

        table = duckdb.connect()
        table.execute("SET enable_progress_bar = false")
        asked = count_query(randomizer, "duckdb", table=f"read_parquet('{file}')", **told)
        found["DuckDB, Parquet"] = (
            size,
            lambda: counts_from_rows(randomizer, table.execute(asked).fetchall(), **told),
        )
    return found


def _threads(count: Callable[[Any], Counts], messages: NDArray[Any]) -> Counts:
    """Two halves at once: numpy lets go of the interpreter while it works."""
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(count, np.array_split(messages, 2))
    return one + two


def measure(repeats: int = 5) -> list[dict[str, Any]]:
    rows = []
    for randomizer, size, few in CASES:
        values = np.arange(size) % 100 / (100 if isinstance(randomizer, Laplace) else 1)
        if not isinstance(randomizer, Laplace):
            values = values.astype(np.int64)
        messages = randomizer.randomize(values, rng=np.random.default_rng(1))
        base = min(timed(partial(plain, randomizer, messages), repeats)) / size
        expected = plain(randomizer, messages).tolist()
        row: dict[str, Any] = {"randomizer": repr(randomizer), "plain_per_second": 1 / base}
        with tempfile.TemporaryDirectory() as folder:
            for name, (counted, call) in ways(randomizer, messages, few, Path(folder)).items():
                seconds = min(timed(call, repeats)) / counted
                row[name] = base / seconds
                if counted == size and call().tally.tolist() != expected:
                    raise AssertionError(f"{name} counts {randomizer!r} in another way")
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    names = ["count", "2 threads", "Parquet", "DuckDB, Parquet", "SQLite"]
    print("messages per second, as multiples of plain numpy (local hashing: 1,000 values)\n")
    print(f"{'':<42}{'plain, 1/s':>12}" + "".join(f"{name:>17}" for name in names))
    for row in rows:
        cells = "".join(f"{row[name]:>17.3g}" if name in row else f"{'-':>17}" for name in names)
        print(f"{row['randomizer']:<42}{row['plain_per_second']:>12.3g}{cells}")
    print()


if __name__ == "__main__":
    show(measure())
