"""Every call of the certified engine, and of the published bounds, that the figures make."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import Gaussian, PureLDP, RandomizedResponse, Shuffle
from .._support.numeric import Array
from ..accountant import repeated
from ..bounds import Bounds
from ..errors import OutOfRange
from ..published import balle2019, feldman2021, girgis2021


def clone_delta(
    users: int, eps0: float, analysis: str, rounds: int, epsilons: Array
) -> Bounds[Array]:
    return repeated(Shuffle(PureLDP(eps0), users, analysis), rounds).delta_bounds(epsilons)


def clone_epsilon(
    users: int, eps0: float, analysis: str, rounds: int, delta: float
) -> Bounds[float]:
    return repeated(Shuffle(PureLDP(eps0), users, analysis), rounds).epsilon_bounds(delta)


def response_delta(
    users: int, k: int, gamma: float, analysis: str, rounds: int, epsilons: Array
) -> Bounds[Array]:
    round_ = Shuffle(RandomizedResponse(k, gamma=gamma), users, analysis)
    return repeated(round_, rounds).delta_bounds(epsilons)


def response_attained(users: int, k: int, gamma: float, epsilons: Sequence[float]) -> Array:
    round_ = Shuffle(RandomizedResponse(k, gamma=gamma), users)
    return np.array([round_.attained_delta(epsilon) for epsilon in epsilons])


def feldman_numerical(eps0: float, users: int, deltas: Sequence[float]) -> list[float]:
    """The upper epsilon of the numerical method, for each delta; one round only."""
    return [feldman2021.numerical(eps0, users, delta).upper for delta in deltas]


def girgis_epsilon(users: int, eps0: float, rate: float, rounds: int, delta: float) -> float:
    """NaN outside the theorem's range."""
    try:
        return girgis2021.epsilon(eps0, users, rate, rounds, delta)
    except OutOfRange:
        return math.nan


def balle_closed_form(k: int, gamma: float, users: int, deltas: Sequence[float]) -> list[float]:
    """NaN where the formula leaves the theorem's range, epsilon <= 1."""
    values = []
    for delta in deltas:
        try:
            values.append(balle2019.closed_form(k, gamma, users, delta))
        except OutOfRange:
            values.append(math.nan)
    return values


def subsampled_epsilon(
    users: int, eps0: float, rate: float, analysis: str, rounds: int, delta: float
) -> Bounds[float]:
    round_ = Shuffle(PureLDP(eps0), users, analysis, sample_rate=rate)
    return repeated(round_, rounds).epsilon_bounds(delta)


def gaussian_attained(
    users: int, sigma: float, epsilons: Sequence[float], rtol: float
) -> list[float]:
    """The shuffled Gaussian on actual datasets, certified from below."""
    round_ = Shuffle(Gaussian(sigma), users)
    return [round_.attained_delta(epsilon, rtol=rtol) for epsilon in epsilons]
