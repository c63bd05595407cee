"""Every call of the certified engine, and of the published bounds, that the figures make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import Accountant, Bounds, PureLDP, RandomizedResponse, Shuffle
from ..binomial import Array


def composed(round_: Shuffle, rounds: int) -> Accountant:
    accountant = Accountant()
    accountant.compose(round_, rounds=rounds)
    return accountant


def clone_delta(
    users: int, eps0: float, analysis: str, rounds: int, epsilons: Array
) -> Bounds[Array]:
    return composed(Shuffle(PureLDP(eps0), users, analysis), rounds).delta_bounds(epsilons)


def clone_epsilon(
    users: int, eps0: float, analysis: str, rounds: int, delta: float
) -> Bounds[float]:
    return composed(Shuffle(PureLDP(eps0), users, analysis), rounds).epsilon_bounds(delta)


def response_delta(
    users: int, k: int, gamma: float, analysis: str, rounds: int, epsilons: Array
) -> Bounds[Array]:
    round_ = Shuffle(RandomizedResponse(k, gamma=gamma), users, analysis)
    return composed(round_, rounds).delta_bounds(epsilons)


def response_attained(users: int, k: int, gamma: float, epsilons: Sequence[float]) -> Array:
    round_ = Shuffle(RandomizedResponse(k, gamma=gamma), users)
    return np.array([round_.attained_delta(epsilon) for epsilon in epsilons])
