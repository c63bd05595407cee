"""Every eps0-LDP randomizer at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import _validate
from ..profile import PrivacyProfile, ThreePointProfile
from ..scores import ThreePointLaw
from .base import Analysis

_ADVERSARY = (
    "sees all shuffled messages of every round and knows the value of every user but one; "
    "does not see who sent which message"
)
_STRONGER = Analysis(
    name="stronger-clones",
    theorem=(
        "stronger clones with p = 1/(e^eps0 + 1) (Feldman, McMillan, Talwar 2023; proof for every "
        "eps0-LDP randomizer in docs/theory.md)"
    ),
    adversary=_ADVERSARY,
    assumption=(
        "every user applies an eps0-LDP randomizer that does not depend on the other messages of "
        "the same round (it may depend on all earlier rounds)"
    ),
)
_CLONES = Analysis(
    name="clones",
    theorem="hiding among the clones (Feldman, McMillan, Talwar 2021, Theorem 3.2)",
    adversary=_ADVERSARY,
    assumption=(
        "every user applies an eps0-LDP randomizer, which may depend on earlier messages, those of "
        "the same round included"
    ),
)


@dataclass(frozen=True)
class PureLDP:
    """Any eps0-LDP randomizer, of which nothing else is known.

    >>> from shuffledp import PureLDP
    >>> PureLDP(eps0=4.0)
    PureLDP(eps0=4.0)
    """

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", _validate.local_epsilon(self.eps0))

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        # stronger clones are a post-processing of clones and attained: nothing beats them here
        return {"best": _STRONGER, "stronger-clones": _STRONGER, "clones": _CLONES}

    def profile(self, analysis: str, users: int) -> PrivacyProfile:
        laws = {"clones": ThreePointLaw.clones, "stronger-clones": ThreePointLaw.stronger_clones}
        return ThreePointProfile(laws[self.analyses[analysis].name](self.eps0), users)

    def describe(self) -> str:
        return f"any randomizer that is {self.eps0:g}-LDP"
