"""How small a delta is still right, against the exact sum of k-fold randomized response."""

from __future__ import annotations

import math
from typing import Any

import mpmath
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

from shuffledp import Accountant, PureLDP, Shuffle

EPS0, ROUNDS = 0.1, 1000
DELTAS = [10.0**-i for i in (6, 9, 12, 14, 16, 20, 40, 70, 100)]


def atoms() -> list[tuple[Any, Any]]:
    """(loss, mass): j answers out of ROUNDS are true, with probability e^eps0 / (1 + e^eps0)."""
    e = mpmath.exp(mpmath.mpf(EPS0))
    return [
        ((2 * j - ROUNDS) * mpmath.mpf(EPS0), mpmath.binomial(ROUNDS, j) * e**j / (1 + e) ** ROUNDS)
        for j in range(ROUNDS + 1)
    ]


def exact_delta(law: list[tuple[Any, Any]], epsilon: Any) -> Any:
    return mpmath.fsum(m * -mpmath.expm1(epsilon - x) for x, m in law if x > epsilon)


def exact_epsilon(law: list[tuple[Any, Any]], delta: float) -> float:
    low, high = 0.0, EPS0 * ROUNDS
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_delta(law, middle) > delta else (low, middle)
    return high


def measure() -> list[dict[str, Any]]:
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(EPS0), users=1), rounds=ROUNDS)
    large = 1 / (1 + math.exp(-EPS0))
    # exactly on its lattice: nothing is rounded but the arithmetic
    response = PrivacyLossDistribution.create_from_rounded_probability(
        {1: large, -1: 1 - large}, 0.0, EPS0
    ).self_compose(ROUNDS)
    rows = []
    with mpmath.workdps(150):
        law = atoms()
        for delta in DELTAS:
            epsilon = exact_epsilon(law, delta)
            bounds = accountant.delta_bounds(epsilon)
            there = float(response.get_delta_for_epsilon(epsilon))
            exact = exact_delta(law, epsilon)
            rows.append(
                {
                    "delta": delta,
                    "epsilon": epsilon,
                    "ours_lower": float(bounds.lower / exact),
                    "ours_upper": float(bounds.upper / exact),
                    "dp_accounting": float(there / exact),
                }
            )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    print(f"delta divided by the exact delta; {ROUNDS} rounds of randomized response, "
          f"eps0 = {EPS0:g}\n")  # fmt: skip
    print(f"{'delta':>8}{'epsilon':>10}{'ours, lower':>15}{'ours, upper':>15}{'dp-accounting':>15}")
    for row in rows:
        print(f"{row['delta']:>8.0e}{row['epsilon']:>10.4f}{row['ours_lower']:>15.9f}"
              f"{row['ours_upper']:>15.9f}{row['dp_accounting']:>15.6g}")  # fmt: skip
    print()
