"""The certified engine against the paper's Fourier accountant: same pair, same question, one run.

The paper's accountant is the vectorized one of shuffledp.reproduce, with the paper's grid (L = 20,
m = 10^7) and its O(n) truncation (tau = 1e-12): far faster than the minute at n = 10^6 that the
paper reports for its own code. Both answer: which epsilon holds at delta = 1e-6?
"""

from __future__ import annotations

import statistics
import time

from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp.reproduce.clone_pld import ClonePair
from shuffledp.reproduce.fourier_accountant import Grid, GridPLD

EPS0, DELTA, TAU = 4.0, 1e-6, 1e-12
USERS, ROUNDS = (10**4, 10**5, 10**6), (1, 100)


def paper(users: int, rounds: int, tau: float | None = TAU) -> float:
    """epsilon by the paper's accountant, from nothing."""
    pair = ClonePair(users, EPS0, tau=tau)
    composed = GridPLD.of(pair.atoms(), pair.infinite, Grid()).compose(rounds)
    return composed.epsilon(DELTA, composed.periodisation + composed.rounding)


def ours(users: int, rounds: int) -> tuple[float, float]:
    """The certified bracket of the same epsilon, from nothing."""
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(EPS0), users, "clones"), rounds=rounds)
    return accountant.epsilon_bounds(DELTA)


def measure(repeats: int) -> list[dict[str, float]]:
    rows = []
    for rounds in ROUNDS:
        for users in USERS:
            start = time.perf_counter()
            epsilon = paper(users, rounds)
            theirs = time.perf_counter() - start
            times = []
            for _ in range(max(repeats, 1)):
                start = time.perf_counter()
                lower, upper = ours(users, rounds)
                times.append(time.perf_counter() - start)
            mine = statistics.median(times)
            rows.append(
                {
                    "rounds": rounds,
                    "users": users,
                    "paper_epsilon": epsilon,
                    "lower": lower,
                    "upper": upper,
                    "paper_seconds": theirs,
                    "ours_seconds": mine,
                    "ratio": theirs / mine,
                }
            )
    return rows


def all_terms(users: int = 10**4) -> float:
    """Seconds for one round with all O(n^2) terms, the paper's PLD before its section 3.2."""
    start = time.perf_counter()
    paper(users, 1, None)
    return time.perf_counter() - start


def show(rows: list[dict[str, float]], all_seconds: float) -> None:
    print(
        f"against the paper's accountant (L=20, m=10^7, tau={TAU:g}), clones, delta = {DELTA:g}\n"
    )
    print(f"{'rounds':>9} {'users':>12} {'paper eps':>10} {'certified eps':>24} "
          f"{'paper s':>9} {'ours s':>9} {'times faster':>13}")  # fmt: skip
    for r in rows:
        bracket = f"[{r['lower']:.6f}, {r['upper']:.6f}]"
        seconds = f"{r['paper_seconds']:>9.2f} {r['ours_seconds']:>9.4f} {r['ratio']:>13.0f}"
        print(f"{r['rounds']:>9} {r['users']:>12} {r['paper_epsilon']:>10.6f} {bracket:>24} "
              f"{seconds}")  # fmt: skip
    print(f"\nall O(n^2) terms at n = 10^4: {all_seconds:.1f} s; 10^4 times as many at n = 10^6\n")
