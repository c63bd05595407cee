"""Every call of the certified engine that the figures make."""

from __future__ import annotations

from collections.abc import Iterable

from .. import PureLDP, RandomizedResponse, Shuffle
from ..accountant import Accountant, repeated
from ..randomizers import Randomizer


def clones(
    users: int, eps0: float, analysis: str, rounds: int = 1, rate: float = 1.0
) -> Accountant:
    return repeated(Shuffle(PureLDP(eps0), users, analysis, rate), rounds)


def response(users: int, k: int, gamma: float, analysis: str, rounds: int) -> Accountant:
    return repeated(Shuffle(RandomizedResponse(k, gamma=gamma), users, analysis), rounds)


def attained(
    randomizer: Randomizer, users: int, epsilons: Iterable[float], rtol: float = 1e-4
) -> list[float]:
    """On actual datasets, certified from below."""
    round_ = Shuffle(randomizer, users)
    return [round_.attained_delta(epsilon, rtol=rtol) for epsilon in epsilons]
