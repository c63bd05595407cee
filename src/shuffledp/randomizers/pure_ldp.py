"""Every eps0-LDP randomizer at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .._support import validate
from ..laws.classes import ClassLaw
from ..laws.three_point import ThreePointLaw
from ..profiles.rounds import ClassProfile, RoundProfile, ThreePointProfile
from .base import CLONES, STRONGER_CLONES, Analysis


@dataclass(frozen=True)
class PureLDP:
    """Any eps0-LDP randomizer, of which nothing else is known: the same for all users of a round.

    Users whose randomizers differ are covered only if no message is more than e^eps0 times as
    likely from one of them as from another, whatever their values (docs/theory.md, section 2).

    >>> from shuffledp import PureLDP
    >>> PureLDP(eps0=4.0)
    PureLDP(eps0=4.0)
    """

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validate.local_epsilon(self.eps0))

    @property
    def name(self) -> str:
        return "pure-ldp"

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        # stronger clones are never worse than clones and are attained: the best for eps0 alone
        return {"best": STRONGER_CLONES, "stronger-clones": STRONGER_CLONES, "clones": CLONES}

    def profile(self, analysis: str, users: int) -> RoundProfile:
        return clone_profile(self.analyses[analysis], self.eps0, users)

    def attained(self, users: int) -> RoundProfile:
        # binary randomized response is eps0-LDP: both values of the others, both orders
        small, large = 1 / (math.exp(self.eps0) + 1), 1 / (1 + math.exp(-self.eps0))
        values = (large, small), (small, large)
        laws = (ClassLaw(*pair, values[1], largest=self.eps0) for pair in (values, values[::-1]))
        return ClassProfile(tuple(laws), users)

    def describe(self) -> str:
        return f"any randomizer that is {self.eps0:g}-LDP"


def clone_profile(analysis: Analysis, eps0: float, users: int) -> RoundProfile:
    """The profile of a round of which only eps0 is used."""
    laws = {"clones": ThreePointLaw.clones, "stronger-clones": ThreePointLaw.stronger_clones}
    return ThreePointProfile(laws[analysis.name](eps0), users)
