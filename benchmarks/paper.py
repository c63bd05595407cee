"""The certified engine against the paper's Fourier accountant: same pair, same questions, one run.

Two questions about the clones at eps0 = 4: which epsilon holds at delta = 1e-6, and which delta at
that epsilon? Both sides start from nothing each time (fresh objects, nothing kept); times are
medians after a call to warm up. Ours answers with a certified bracket.

The paper's accountant is the one of shuffledp.reproduce: the PLD of the paper's sections 3.2 and
3.3 on its grid (L = 20, m = 10^7), with the O(n) terms that tau = 1e-12 leaves, and for n = 10^4
also with all O(n^2). Terms are formed in arrays, a row for each number of clones; a single round
takes no transform at all; several rounds take one real transform, a power by squaring and its
inverse; an epsilon takes two passes over sums that are shared by the whole grid, not an evaluation
for each epsilon. The paper does not say how its own code does any of this; it reports about one
minute for one round of n = 10^6, most of it for forming the PLD, on a "standard CPU". That minute
was not measured here and is in no ratio.
"""

from __future__ import annotations

import functools
import statistics
from typing import Any

import numpy as np

from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp.bounds import Bounds
from shuffledp.reproduce.fourier_accountant import Composed, GridPLD, LossGrid
from shuffledp.reproduce.printed_laws import ClonePair

from .measuring import timed

EPS0, DELTA, TAU = 4.0, 1e-6, 1e-12
USERS, ROUNDS = (10**4, 10**5, 10**6), (1, 100)
ALL_TERMS = 10**4  # the most users for which all O(n^2) terms are formed
QUERIES = ("epsilon", "delta")


def composed(users: int, rounds: int, tau: float | None) -> Composed:
    pair = ClonePair(users, EPS0, tau=tau)
    return GridPLD.of(pair.atoms(), pair.infinite, LossGrid()).compose(rounds)


def paper(query: str, users: int, rounds: int, tau: float | None, epsilon: float) -> float:
    """epsilon at DELTA, or delta at epsilon, by the paper's accountant."""
    total = composed(users, rounds, tau)
    charged = total.periodisation + total.rounding
    if query == "epsilon":
        return total.epsilon(DELTA, charged)
    return float(total.delta(np.array([epsilon]))[0]) + charged


def ours(query: str, users: int, rounds: int, epsilon: float) -> Bounds[float]:
    """The certified bracket of the same number."""
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(EPS0), users, "clones"), rounds=rounds)
    if query == "epsilon":
        return accountant.epsilon_bounds(DELTA)
    return accountant.delta_bounds(epsilon)


def measure(repeats: int) -> list[dict[str, Any]]:
    rows = []
    for query in QUERIES:
        for rounds in ROUNDS:
            for users in USERS:
                epsilon = ours("epsilon", users, rounds, 0.0).upper
                mine = functools.partial(ours, query, users, rounds, epsilon)
                bounds, seconds = mine(), statistics.median(timed(mine, max(repeats, 1)))
                for tau in (TAU, None) if users <= ALL_TERMS and rounds == 1 else (TAU,):
                    call = functools.partial(paper, query, users, rounds, tau, epsilon)
                    theirs = statistics.median(timed(call, min(max(repeats, 1), 3)))
                    rows.append(
                        {
                            "query": query,
                            "rounds": rounds,
                            "users": users,
                            "terms": "O(n)" if tau else "all",
                            "paper": call(),
                            "lower": bounds.lower,
                            "upper": bounds.upper,
                            "paper_seconds": theirs,
                            "ours_seconds": seconds,
                            "ratio": theirs / seconds,
                        }
                    )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    print(f"against the paper's accountant (L=20, m=10^7, tau={TAU:g}), clones, eps0 = {EPS0:g}, "
          f"delta = {DELTA:g}\n")  # fmt: skip
    print(f"{'query':>8} {'rounds':>7} {'users':>8} {'terms':>6} {'paper':>12} "
          f"{'certified':>26} {'paper s':>9} {'ours s':>9} {'times faster':>13}")  # fmt: skip
    for r in rows:
        bracket = f"[{r['lower']:.6g}, {r['upper']:.6g}]"
        seconds = f"{r['paper_seconds']:>9.3f} {r['ours_seconds']:>9.5f} {r['ratio']:>13.0f}"
        print(f"{r['query']:>8} {r['rounds']:>7} {r['users']:>8} {r['terms']:>6} "
              f"{r['paper']:>12.6g} {bracket:>26} {seconds}")  # fmt: skip
    print()
