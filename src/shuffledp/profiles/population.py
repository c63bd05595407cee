"""Profiles of rounds in which groups of users have different randomizers.

A user is hidden by those others who draw from the common blanket, each with the probability of the
own group: the number of these is a sum of binomial variables. `CoveredProfile` is the mean over it,
count by count for few users; for many users the sum lies between two binomial variables in
stochastic order, and these are the numbers of two ordinary rounds. `largest` is the largest profile
of several, for users of all groups.

Theory: docs/theory/mixed.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import tuning
from .._support.numeric import UNIT, Array, Side
from ..laws.class_law import ClassLaw, ClassLaws
from .base import NothingLost, PairProfile, PrivacyProfile, Sampler, Samples, larger_of
from .mixture import CoveredRounds, MixtureProfile
from .parts import round_profile
from .sender_count import CountCells, SenderCount, TotalCount

# proof constants: docs/theory/constants.md
#: Users with less of the blanket are left out, which is sound.
_LEAST_SHARE = 2.0**-30


def covered_profile(laws: ClassLaws, others: Iterable[tuple[float, int]]) -> PrivacyProfile:
    """The mean of the profiles of rounds over the number of users who provide cover.

    Parameters
    ----------
    laws : ClassLaws
        Those of the user in question, with a blanket omega.
    others : iterable of (float, int)
        Shares in [0, 1], and how many other users have laws that are at least so many times omega.
    """
    counts: dict[float, int] = {}
    for share, users in others:
        if share >= _LEAST_SHARE and users:
            counts[share] = counts.get(share, 0) + users
    if counts.keys() <= {1.0}:
        return round_profile(laws, 1 + counts.get(1.0, 0))
    if not laws.laws:
        return NothingLost()
    known = tuple(sorted(counts.items()))
    # each by itself: the mean of the largest profile would be more than the largest mean
    return largest(tuple(CoveredProfile(law, known) for law in laws.laws))


class BinomialBound(NamedTuple):
    """A bound by a round of users with one randomizer, whose number of draws is binomial.

    Attributes
    ----------
    profile : PrivacyProfile
        That of the round.
    factor : float
        The bound is `factor` times the profile, plus `missed` from above or less it from below.
    missed : float
    cost : float
        About how far the bound is away, in relative epsilon.
    """

    profile: PrivacyProfile
    factor: float
    missed: float
    cost: float


@dataclass(frozen=True)
class CoveredProfile(PrivacyProfile):
    """The mean of the profiles of rounds over the number of users who provide cover.

    Parameters
    ----------
    law : ClassLaw
        That of the user in question, with a blanket omega.
    others : tuple of (float, int)
        Shares in (0, 1], and how many other users have laws that are at least so many times omega.
    """

    law: ClassLaw
    others: tuple[tuple[float, int], ...]
    _known: dict[float, tuple[BinomialBound, BinomialBound] | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    @cached_property
    def _rounds(self) -> CoveredRounds:
        certain = 1 + dict(self.others).get(1.0, 0)
        count = _total((share, users) for share, users in self.others if share < 1)
        return CoveredRounds(ClassLaws((self.law,)), certain, count)

    @cached_property
    def _mixture(self) -> MixtureProfile:
        return MixtureProfile(self._rounds.count, self._rounds)

    @property
    def max_loss(self) -> float:
        return self._mixture.max_loss

    @property
    def bounded(self) -> bool:
        return self._mixture.bounded

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def is_expensive(self) -> bool:
        return True

    @property
    def is_slow(self) -> bool:
        # narrow brackets cost little if there are few counts
        return self._rounds.count.deviation > 3

    def outlined(self, epsilon: Array) -> Array:
        return self._rounds.profile(round(self._rounds.count.mean)).outlined(epsilon)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        bounds = self._bounds(depth)
        if bounds is None or sum(bound.cost for bound in bounds) > 2 * rtol:
            return self._mixture.sampler(depth, rtol)
        few, many = bounds
        above, below = (bound.profile.sampler(depth, rtol) for bound in bounds)

        def sample(epsilon: Array) -> Samples:
            found = below(epsilon)
            upper = above(epsilon).upper * few.factor * (1 + 4 * UNIT) + few.missed
            lower = found.lower * many.factor * (1 - 4 * UNIT) - many.missed
            slopes = (
                side * many.factor * (1 + sign * 4 * UNIT)
                for side, sign in ((found.fall_low * (lower > 0), -1), (found.fall_high, 1))
            )
            bounds = Samples(np.maximum(lower, 0.0), np.minimum(upper, 1.0), *slopes)
            return self.zeroed_beyond_max_loss(bounds, epsilon)

        return sample

    def _bounds(self, depth: float) -> tuple[BinomialBound, BinomialBound] | None:
        """By a smaller and by a larger binomial number of draws; None if none is found."""
        if depth not in self._known:
            mean = math.fsum(share * users for share, users in self.others)
            draws = _Draws(self.law, self.others, depth) if mean >= tuning.MANY_COVER else None
            found = [draws.bound(side) for side in (Side.UPPER, Side.LOWER)] if draws else []
            upper, lower = found if len(found) == 2 else (None, None)
            self._known[depth] = (upper, lower) if upper and lower else None
        return self._known[depth]


class _Draws:
    """The number of other users who draw from omega/|omega|: a sum of binomial variables."""

    def __init__(self, law: ClassLaw, others: Sequence[tuple[float, int]], depth: float) -> None:
        self._law, self._depth = law, depth
        self._mass = min(math.fsum(law.blanket), 1.0)
        draws = [(share * self._mass, users) for share, users in others]
        first, second, third = (
            math.fsum(chance**power * users for chance, users in draws) for power in (1, 2, 3)
        )
        self._mean, self._chance = first, second / first  # of a binomial with the same variance
        variance = max(first - second, 1e-300)
        # so much less variance, or so much more mean, makes up for the skewness of the sum down to
        # a probability of e^-depth
        reach = math.sqrt(2 * depth + 24)
        skewness = 2 * (third - second**2 / first) / variance**1.5
        self._less, self._more = skewness * reach / 3, skewness * reach**2 / 6 * math.sqrt(variance)
        certain = sum(users for chance, users in draws if chance >= 1)
        count = _total((chance, users) for chance, users in draws if chance < 1)
        cells = count.cells(depth)
        self._rest, self._rounded_off = cells.rest, count.rounded_off
        self._steps = _Steps.of(cells, certain, count.rounded_off)

    def bound(self, side: Side) -> BinomialBound | None:
        """The bound from one side by a binomial variable with about the same mean and variance.

        Below, three quarters of what makes up for the skewness are taken from the variance and 0.3
        of it are added to the mean: any choice is sound. None if it fails.
        """
        distance = 0.05 + self._rounded_off + (0.3 * self._more if side is Side.LOWER else 0.0)
        less = 0.75 * self._less if side is Side.LOWER else 0.0
        mean = self._mean - side * distance
        trials = round(mean / (1 - (1 - self._chance) * (1 - less)))
        if less >= 1 or trials < 1 or not 0 < mean < trials:
            return None
        chance = mean / trials
        cells = SenderCount(trials, rate=chance).cells(self._depth)
        slack = self._rest + cells.rest
        off = _excess(self._steps, _Steps.of(cells, 0, 0), side, slack)
        if not off < 0.5:
            return None
        law = replace(self._law, blanket=chance / self._mass * self._law.blanket)
        profile = round_profile(ClassLaws((law,)), trials + 1)
        cost = distance / (2 * self._mean) + off / 4
        return BinomialBound(profile, 1 + side * off, 2 * slack, cost)


def _total(parts: Iterable[tuple[float, int]]) -> SenderCount | TotalCount:
    """The number of users who do something, with a probability for each group of users."""
    terms = tuple(SenderCount(users, rate=chance) for chance, users in parts)
    return terms[0] if len(terms) == 1 else TotalCount(terms)


class _Steps(NamedTuple):
    """A law in cells: its values lie from `first` to `last` of a cell.

    `below` and `above` are bounds, lower and upper, of the probability of this cell and all before
    it, and of all cells after it.
    """

    first: Array
    last: Array
    below: tuple[Array, Array]
    above: tuple[Array, Array]

    @classmethod
    def of(cls, cells: CountCells, offset: int, rounded_off: int) -> _Steps:
        """Of cells of counts, of which `offset` is certain beside them."""
        first = cells.point.astype(float) + offset
        ends = np.append(cells.point[1:] - 1, cells.point[-1]) if not rounded_off else cells.point
        charge = 2 * UNIT * (len(first) + 8)
        sides = cells.lower * (1 - charge), cells.upper * (1 + charge)
        below = tuple(np.cumsum(side) for side in sides)
        above = tuple(np.append(np.cumsum(side[::-1])[-2::-1], 0.0) for side in sides)
        last = ends.astype(float) + offset + rounded_off
        return cls(first, last, below, above)  # type: ignore[arg-type]


def _excess(total: _Steps, binomial: _Steps, side: Side, slack: float) -> float:
    """By how much a bound by a binomial variable has to be changed relatively.

    Parameters
    ----------
    total, binomial : _Steps
    side : Side
        UPPER: the binomial variable is to be smaller than the total, for a bound from above.
    slack : float
        Probabilities that are charged otherwise.

    Returns
    -------
    float
        The least eta for which, at every count, F_total <= (1 + eta) F_binomial + slack (UPPER) or
        F_total >= (1 - eta) F_binomial - slack (LOWER), for all that is known of these
        distribution functions.

    Notes
    -----
    docs/theory/mixed.md.
    """
    small, large = (binomial, total) if side is Side.UPPER else (total, binomial)
    # F_large changes at the first counts of its cells and is constant after them, F_small grows
    cell = np.searchsorted(small.last, large.first, side="right") - 1
    none = cell < 0
    least = np.maximum(small.below[0][cell], 1 - small.above[1][cell] - slack - 4 * UNIT)
    least = np.where(none, 0.0, least)
    most = np.minimum(large.below[1], 1 - large.above[0] + 4 * UNIT)
    over = np.maximum(most - least - slack, 0.0)
    relative_to = least if side is Side.UPPER else most
    off = np.divide(over, relative_to, out=np.where(over > 0, np.inf, 0.0), where=relative_to > 0)
    return float(off.max()) * (1 + 8 * UNIT)


def largest(profiles: tuple[PrivacyProfile, ...]) -> PrivacyProfile:
    """The pointwise largest profile, which bounds users who have any of these profiles."""
    if len(profiles) == 1:
        return profiles[0]
    backward = tuple(profile.reverse or profile for profile in profiles)
    if backward == profiles:
        return LargestProfile(profiles)
    return PairProfile(LargestProfile(profiles), LargestProfile(backward))


@dataclass(frozen=True)
class LargestProfile(PrivacyProfile):
    """The pointwise largest of several profiles."""

    profiles: tuple[PrivacyProfile, ...]

    @cached_property
    def max_loss(self) -> float:
        return max(profile.max_loss for profile in self.profiles)

    @cached_property
    def bounded(self) -> bool:
        return all(profile.bounded for profile in self.profiles)

    @property
    def inner(self) -> Sequence[PrivacyProfile]:
        return self.profiles

    def outlined(self, epsilon: Array) -> Array:
        return np.asarray(np.max([profile.outlined(epsilon) for profile in self.profiles], axis=0))

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """The profile that leads by a rough estimate first; then those that may be larger."""
        rough = [profile.sampler(depth, tuning.FIRST_LOOK) for profile in self.profiles]
        fine = [profile.sampler(depth, rtol) for profile in self.profiles]

        def sample(epsilon: Array) -> Samples:
            looks = [
                profile.zeroed_beyond_max_loss(look(epsilon), epsilon)
                for profile, look in zip(self.profiles, rough, strict=True)
            ]
            first = max(range(len(looks)), key=lambda i: float(looks[i].lower.sum()))
            best = self.profiles[first].zeroed_beyond_max_loss(fine[first](epsilon), epsilon)
            for i, look in enumerate(looks):
                if i != first and (look.upper > best.lower).any():
                    found = self.profiles[i].zeroed_beyond_max_loss(fine[i](epsilon), epsilon)
                    best = larger_of(best, found)
            return best

        return sample
