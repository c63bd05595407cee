"""What each piece of the adversary's knowledge costs: one randomizer, every analysis of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._support import validate
from ..accountant import repeated
from ..bounds.one_round import epsilon_bounds
from ..bounds.rounds import Rounds
from ..guarantee import DEFAULT_RTOL, anyway
from ..laws.classes import ClassLaw
from ..profiles.rounds import ClassProfile, round_profile
from ..randomizers import Randomizer
from ..shuffle import Shuffle

#: From the most to the least that the adversary is given.
_LADDER = ("strong", "clones", "stronger-clones", "blanket", "exact", "best")


class Row(NamedTuple):
    """One rung: certified bounds of epsilon under one analysis, or what is attained."""

    analysis: str
    lower: float
    upper: float | None  # None for the attained value, which only bounds from below
    adversary: str  # beyond seeing all messages and knowing all other users' values


def adversaries(
    randomizer: Randomizer,
    users: int,
    delta: float,
    *,
    rounds: int = 1,
    rtol: float = DEFAULT_RTOL,
) -> Sequence[Row]:
    """The ladder of analyses that apply, and the attained value below all of them.

    >>> from shuffledp import RandomizedResponse, adversaries
    >>> rows = adversaries(RandomizedResponse(k=4, gamma=0.25), users=1000, delta=1e-7)
    >>> {row.analysis: round(row.lower, 3) for row in rows}["strong"]
    0.877
    """
    rows = []
    for analysis in _LADDER:
        if analysis in randomizer.analyses:
            round_ = Shuffle(randomizer, users, analysis)
            bounds = anyway(repeated(round_, rounds).epsilon_bounds, delta, rtol=rtol)
            rows.append(Row(analysis, bounds.lower, bounds.upper, round_.explained.gist))
    attained = _attained(Shuffle(randomizer, users), rounds, delta, rtol)
    rows.append(Row("attained", attained, None, "is told nothing; actual neighbouring datasets"))
    return rows


def _attained(round_: Shuffle, rounds: int, delta: float, rtol: float) -> float:
    """Certified from below. For several rounds, of the same datasets in each: the worst pair whose
    two orders are alike is composed, for which the profile's mirror image is its own. Without one,
    the value of a single round stands."""
    single = round_.attained_epsilon(delta)
    value = validate.delta(delta)
    attained = round_profile(round_.randomizer.attained_law(), round_.users)
    if rounds == 1 or not 0 < value < 1 or not isinstance(attained, ClassProfile):
        return single
    alike = [ClassProfile((law,), round_.users) for law in attained.laws if _symmetric(law)]
    if not alike:
        return single
    worst = max(alike, key=lambda profile: anyway(epsilon_bounds, profile, value, 0.1).lower)
    composed = Rounds([(worst, rounds)])
    return max(single, anyway(composed.epsilon_bounds, value, rtol).lower)


def _symmetric(law: ClassLaw) -> bool:
    classes = sorted(zip(law.u, law.v, law.blanket, strict=True))
    return classes == sorted(zip(law.v, law.u, law.blanket, strict=True))
