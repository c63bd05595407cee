"""Rounds that differ a little in their users: many kinds against as many rounds of one kind."""

from __future__ import annotations

import time
from typing import Any

from shuffledp import Accountant, Laplace, PureLDP, RandomizedResponse, Shuffle
from shuffledp.randomizers import Randomizer

DELTA, USERS = 1e-6, 100_000
RANDOMIZERS: list[Randomizer] = [RandomizedResponse(16, eps0=3.0), PureLDP(4.0), Laplace(eps0=2.0)]
#: Rounds, and by how much their users differ.
CASES = [(52, 0.002), (52, 0.02), (365, 0.002), (365, 0.02)]


def ask(randomizer: Randomizer, rounds: int, differ: float) -> tuple[float, float]:
    """Seconds from nothing, and the relative width."""
    accountant = Accountant()
    for i in range(rounds):
        accountant.compose(Shuffle(randomizer, USERS + round(i * differ * USERS / rounds)))
    start = time.perf_counter()
    bounds = accountant.epsilon_bounds(DELTA)
    return time.perf_counter() - start, (bounds.upper - bounds.lower) / bounds.upper


def measure() -> list[dict[str, Any]]:
    rows = []
    for randomizer in RANDOMIZERS:
        for rounds, differ in CASES:
            alike, _ = ask(randomizer, rounds, 0.0)
            seconds, width = ask(randomizer, rounds, differ)
            row = {"randomizer": repr(randomizer), "rounds": rounds, "differ": differ}
            rows.append({**row, "seconds": seconds, "ratio": seconds / alike, "width": width})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    print(f"rounds of {USERS} users and a little more, each its own number, delta = {DELTA:g}\n")
    print(f"{'randomizer':<32} {'rounds':>6} {'differ by':>9} {'width':>8} {'time / one kind':>16}")
    for row in rows:
        print(f"{row['randomizer']:<32} {row['rounds']:>6} {row['differ']:>9.1%} "
              f"{row['width']:>8.0e} {row['ratio']:>16.1f}")  # fmt: skip
    print()
