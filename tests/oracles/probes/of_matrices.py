"""Matrices with more rows than pairs are listed for, beside all pairs and all datasets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
from numpy.typing import NDArray

from shuffledp import FiniteRandomizer, Shuffle
from shuffledp.laws.matrix_law import Matrix
from shuffledp.profiles.pairs_profile import PairsProfile
from shuffledp.randomizers import Bundle

from .. import mechanisms, randomizers
from .common import Checked

#: Thirteen inputs, more different ratios than levels, and an output that some never send.
_RANDOM = np.random.default_rng(1).dirichlet(np.ones(8), 13) + 0.01
_RANDOM[::3, 0] = 0.0
ROWS = _RANDOM / _RANDOM.sum(axis=1, keepdims=True)
EPSILONS = np.array([0.0, 1.0])
USERS = 2


def near(value: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Around a sum of some hundred positive doubles."""
    return mpmath.mpf(value) * (1 - 1e-12), mpmath.mpf(value) * (1 + 1e-12)


@cache
def worst_pair(epsilon: float) -> float:
    """Of all pairs of rows, with the blanket: the mean of (S)_+ over the messages of two users."""
    alpha, base = math.exp(epsilon), ROWS.min(axis=0)
    covered = base > 0
    masses = np.append(base[covered], 1 - base.sum())  # the others see nothing of the rest
    ways, worst = np.outer(masses, masses), 0.0
    for i, j in np.argwhere(~np.eye(len(ROWS), dtype=bool)).tolist():
        gain = ROWS[i] - alpha * ROWS[j]
        scores = np.append(gain[covered] / base[covered], 0.0)
        both = float((ways * np.maximum(scores[:, None] + scores, 0.0)).sum())
        open_ = float(np.maximum(gain[~covered], 0.0).sum())
        worst = max(worst, both / USERS + open_)
    return worst


@cache
def _histograms() -> NDArray[np.float64]:
    """Of two users with values x and z: how likely each pair of messages is, in any order."""
    ordered = np.einsum("xi,zj->xzij", ROWS, ROWS)
    either = ordered + np.swapaxes(ordered, 2, 3)
    first, second = np.triu_indices(ROWS.shape[1])
    laws: NDArray[np.float64] = np.where(first == second, 0.5, 1.0) * either[:, :, first, second]
    return laws


@cache
def worst_dataset(epsilon: float) -> float:
    """Of two users, on every dataset."""
    laws = _histograms()
    alpha = math.exp(epsilon)
    return max(
        float(np.maximum(one - alpha * other, 0.0).sum(axis=-1).max())
        for one in laws
        for other in laws
    )


def large_matrices() -> Iterator[Checked]:
    for width in (1e-4, 0.05):
        found = PairsProfile(Matrix(ROWS), USERS).sampler(60.0, width)(EPSILONS)
        for i, epsilon in enumerate(EPSILONS.tolist()):
            yield (found.lower[i], found.upper[i]), near(worst_pair(epsilon))


def large_matrix_of_data() -> Iterator[Checked]:
    survey = Shuffle(FiniteRandomizer(ROWS.tolist()), USERS)
    sides = survey.attained_delta(0.3), survey.get_delta(0.3)
    yield sides, near(worst_dataset(0.3))


def bundled_matrices() -> Iterator[Checked]:
    """Three questions whose answers may differ in more ways than one may want to list."""
    rows = [[0.75, 0.25], [0.375, 0.625]]
    survey = Shuffle(Bundle(*[FiniteRandomizer(rows)] * 3), USERS)
    exact = randomizers.bundled(*[randomizers.exact_rows(rows)] * 3)
    truth = float(mechanisms.true_profile(exact, USERS, Fraction(2)))
    epsilon = math.log(2.0)
    yield (survey.attained_delta(epsilon), survey.get_delta(epsilon)), near(truth)
