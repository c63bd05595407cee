"""Sums of a few scores, in exact fractions: the laws that several engines are tried on."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Law: TypeAlias = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
"""(scores, their probabilities); with what is left of the probability the score is 0."""

LAWS: list[Law] = [
    ((Fraction(3), Fraction(-4)), (Fraction(1, 4), Fraction(1, 4))),
    (
        (Fraction(7, 3), Fraction(-5), Fraction(-1, 2)),
        (Fraction(1, 10), Fraction(1, 10), Fraction(3, 5)),
    ),
    ((Fraction(100), Fraction(-1)), (Fraction(1, 1000), Fraction(1, 2))),
    ((Fraction(1), Fraction(2), Fraction(-3), Fraction(-4)), (Fraction(1, 5),) * 4),
]
THRESHOLDS = [Fraction(0), Fraction(1, 3), Fraction(4)]


@cache
def stop_loss_by_counting(law: Law, users: int, threshold: Fraction = Fraction(0)) -> Fraction:
    """E[(S_n - threshold)_+] by enumerating how many users have which score.

    In whole numbers: scores and threshold over one denominator, probabilities over another.
    """
    scores, masses = law
    scale = math.lcm(threshold.denominator, *(z.denominator for z in scores))
    unit = math.lcm(*(p.denominator for p in masses))
    values = [*(int(z * scale) for z in scores), 0]
    weights = [*(int(p * unit) for p in masses), int((1 - sum(masses)) * unit)]
    least, total = int(threshold * scale), 0
    for cuts in combinations(range(users + len(values) - 1), len(values) - 1):
        edges = [-1, *cuts, users + len(values) - 1]
        counts = [b - a - 1 for a, b in pairwise(edges)]
        value = sum(c * z for c, z in zip(counts, values, strict=True)) - least
        if value > 0:
            ways = math.factorial(users)
            for c, w in zip(counts, weights, strict=True):
                ways = ways // math.factorial(c) * w**c
            total += ways * value
    return Fraction(total, scale * unit**users)


def columns(
    law: Law, threshold: Fraction = Fraction(0)
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """One row of floats: (scores, probabilities, magnitudes of the scores, threshold)."""
    scores, masses = (np.array([[float(x) for x in column]]) for column in law)
    return scores, masses, np.abs(scores), np.array([float(threshold)])


def twelve_decades() -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """(scores, probabilities, E[(S)_+] of two users): the square of a law, added up."""
    scores = np.concatenate([np.geomspace(1e-3, 1e9, 150), -np.geomspace(1e-3, 1e9, 150)])
    masses = np.abs(scores) ** -0.7
    masses /= 1.2 * masses.sum()
    values, weights = np.append(scores, 0.0), np.append(masses, 1 - masses.sum())
    pairs = np.maximum(np.add.outer(values, values), 0.0)
    return scores, masses, float(weights @ pairs @ weights)
