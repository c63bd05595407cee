"""Sums of scores by every engine, beside exact fractions."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial

import mpmath
import numpy as np

from oracles.sums import stop_loss_of_sum
from shuffledp.engines.big_scores import dominant_stop_loss, large_stop_loss
from shuffledp.engines.choice import bound_stop_loss
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.one_positive import one_positive_stop_loss
from shuffledp.engines.problem import ScoreSums
from shuffledp.engines.rare_scores import rare_stop_loss
from shuffledp.engines.tilted_lattice import lattice_stop_loss

from .common import Checked

LAWS: list[tuple[list[float], list[float], int, float, int | None]] = [
    # scores, probabilities, users, threshold, rare users that the oracle lists
    ([2.0, -1.0, 0.5], [0.2, 0.3, 0.1], 9, 0.75, None),
    ([1.5, -1.0], [0.375, 0.625], 900, 40.0, None),
    ([40.0, -1.0], [0.0078125, 0.9921875], 300, 0.0, None),
    ([500.0, -1.0, 30.0], [2.0**-12, 0.5, 2.0**-13], 400, 20.0, 12),
    ([500.0, -0.25, -600.0], [2.0**-14, 0.5, 2.0**-15], 60, 0.0, 12),
    ([3.0, -2.0], [2.0**-20, 2.0**-19], 1000, 0.0, 8),
    ([3.0, -0.0078125, 1.0], [2.0**-20, 0.5, 2.0**-20], 1000, 25.0, 16),
]


@cache
def exact_stop_loss(case: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    scores, masses, users, threshold, most = LAWS[case]
    z, p = ([Fraction(x) for x in column] for column in (scores, masses))
    return stop_loss_of_sum(z, p, users, Fraction(threshold), most)


def cases() -> Iterator[tuple[int, ScoreSums, int]]:
    """(case, sums, parts): with equal parts of each value too, as a density has many."""
    for case, (scores, masses, users, threshold, _) in enumerate(LAWS):
        for parts in (1, 33) if case % 2 == 0 else (1,):
            z, p = (np.repeat([column], parts, axis=1) for column in (scores, masses))
            yield case, ScoreSums(z, p / parts, np.abs(z), np.array([threshold]), users), parts


def chosen_engine(law: int) -> Iterator[Checked]:
    for case, sums, _ in cases():
        for width in (1e-4, 2e-3) if case == law else ():
            lower, upper, *_ = bound_stop_loss(sums, width)
            yield (lower[0], upper[0]), exact_stop_loss(case)


chosen_engines = [partial(chosen_engine, law) for law in range(len(LAWS))]


def fourier_engine() -> Iterator[Checked]:
    for case, sums, _ in cases():
        lower, upper, *_ = stop_loss(sums, 1e-2)
        yield (lower[0], upper[0]), exact_stop_loss(case)


def rare_engine() -> Iterator[Checked]:
    for case, sums, parts in cases():
        if parts == 1:
            lower, upper, *_ = rare_stop_loss(sums)
            if upper[0] < np.inf:
                yield (lower[0], upper[0]), exact_stop_loss(case)


def dominant_engine() -> Iterator[Checked]:
    for case, sums, _ in cases():
        lower, upper, *_ = dominant_stop_loss(sums, 1e-3, large_stop_loss, 0.0)
        yield (lower[0], upper[0]), exact_stop_loss(case)


def positive_engine() -> Iterator[Checked]:
    for case, sums, _ in cases():
        if sums.users > 1:
            lower, upper, *_ = one_positive_stop_loss(sums, 1e-3)
            yield (lower[0], upper[0]), exact_stop_loss(case)


def lattice_engine() -> Iterator[Checked]:
    for case, sums, _ in cases():
        if sums.users > 1:
            lower, upper, *_ = lattice_stop_loss(sums, 1e-3)
            yield (lower[0], upper[0]), exact_stop_loss(case)
