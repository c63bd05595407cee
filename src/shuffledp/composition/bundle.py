"""Rounds that are several: columns of sums, or messages of a user, which may change together.

Shuffling all messages together is a post-processing of shuffling everybody's first messages, then
everybody's second ones, and so on: a bundle of m messages is bounded by m rounds. Where whole users
are sampled, those m rounds have one sample, so that they are composed first and sampled then.

Theory: docs/theory/bundles.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._support.numeric import BOTH, UNIT, Array, Side
from ..laws.class_law import ClassLaws, ThreePointLaw
from ..profiles import tuning as of_profiles
from ..profiles.base import NothingLost, Parts, PrivacyProfile, Sampler, merged, swapped
from ..profiles.mixture import Between, Ends, Remembered
from ..profiles.parts import replaced_parts
from ..profiles.samples import Samples
from ..profiles.sender_count import Bucket, SenderCount
from ..profiles.subsampled import SubsampledProfile, subsampled
from . import tuning
from .between_counts import AtShares, Hiding, Nodes
from .compose import Composition
from .grading import Fineness
from .kinds import Kind, kinds_of
from .lattice import Lattices
from .short_sum import ShortSum, has_few_terms
from .table import Table
from .tilted_sum import LatticeTooLong


@dataclass(frozen=True)
class ComposedProfile(PrivacyProfile):
    """The profile of several rounds, as if they were one."""

    rounds: tuple[tuple[PrivacyProfile, int], ...]
    #: Rounds of nearly as many users: the scale of things is known from them.
    like: ComposedProfile | None = field(default=None, compare=False, repr=False)
    _made: dict[tuple[float, float], Sampler] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def depths(self) -> Sequence[float]:
        return of_profiles.DEPTHS

    @property
    def dear(self) -> bool:
        return not self._few_kinks

    @property
    def slow(self) -> bool:
        return not self._few_kinks

    @cached_property
    def _few_kinks(self) -> bool:
        """Have all rounds together few losses? Each is moved to two points of a lattice."""
        logs = []
        for profile, count in self.rounds:
            forward, backward = profile.kinks, (profile.reverse or profile).kinks
            if forward is None or backward is None:
                return False
            logs.append(count * math.log(2 * (len(forward) + len(backward)) + 1))
        return math.fsum(logs) <= math.log(tuning.MAX_POINTS)

    @cached_property
    def _kinds(self) -> Sequence[Kind]:
        if self.like is None:
            return kinds_of(self.rounds)
        pairs = zip(self.rounds, self.like.rounds, strict=True)
        own = {other: member for member, (other, _) in pairs}
        return [replace(kind, members=[own[kind.profile]]) for kind in self.like._kinds]

    @cached_property
    def _lattices(self) -> Lattices:
        return Lattices(self._kinds, None if self.like is None else self.like._lattices)

    @property
    def reverse(self) -> PrivacyProfile | None:
        other = self.swapped
        return None if other is self else other

    @property
    def swapped(self) -> ComposedProfile:
        other = swapped(self.rounds)
        return self if other == self.rounds else ComposedProfile(other)

    @property
    def max_loss(self) -> float:
        total = math.fsum(count * profile.max_loss for profile, count in self.rounds)
        return total * (1 + 2.0**-50)

    @property
    def farthest_loss(self) -> float:
        total = math.fsum(count * profile.farthest_loss for profile, count in self.rounds)
        return total * (1 + 2.0**-50)

    @property
    def bounded(self) -> bool:
        return all(profile.bounded for profile, _ in self.rounds)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        if (depth, rtol) not in self._made:
            aim = rtol / of_profiles.LEAST_AIM  # lattices aim at less than they are asked for
            fineness = self._fineness(rtol)
            few = self._few(depth, aim, fineness)
            self._made[depth, rtol] = few or self._many(depth, aim, fineness)
        return self._made[depth, rtol]

    def _fineness(self, width: float) -> Fineness:
        """Profiles that are straight between kinks cost nothing but what moves their atoms to the
        lattice: its step, which is the square root of 4 `width` for other ones."""
        straight = all(profile.kinks is not None for profile, _ in self.rounds)
        return Fineness(max((4 * width) ** -0.25, 1.0)) if straight else Fineness()

    def _few(self, depth: float, rtol: float, fineness: Fineness) -> Sampler | None:
        """Term by term, if there are few terms: one or two rounds, or few users."""
        if not self._few_kinks and not has_few_terms(self._lattices.outlines, 64 * UNIT):
            return None  # what rounding leaves is no term
        aims = tuple(depth * share for share in tuning.GRADED)
        try:
            made = self._lattices.parts(depth + tuning.DEEPER, rtol, fineness, aims)
        except LatticeTooLong:
            return None
        if not (has_few_terms(made.lower) and has_few_terms(made.upper)):
            return None
        low, high = (
            ShortSum(p, side) for p, side in zip((made.lower, made.upper), BOTH, strict=True)
        )

        def sample(epsilon: Array) -> Samples:
            inside = self.some_left(epsilon)
            lower, flat, steep = low(epsilon)
            # at a corner the line to the left is the steeper one: another line than to the right
            flat = np.minimum(flat, steep)
            return Samples(lower * inside, high(epsilon)[0] * inside, flat, steep)

        return sample

    def _many(self, depth: float, rtol: float, fineness: Fineness) -> Sampler:
        """In a table: a sum of many losses takes a while."""
        composition = Composition(self.rounds, self._lattices)
        composition.fineness = fineness
        deviation = math.sqrt(sum(kind.count * kind.spread**2 for kind in self._kinds))
        end = min(deviation * (deviation / 2 + math.sqrt(2 * depth)), self.max_loss)
        number = math.ceil(8 * end / (deviation * math.sqrt(rtol))) + 1
        places = np.linspace(0.0, end, min(max(number, 8), tuning.MOST_SAMPLES))
        table = Table(places, *composition.deltas(places, math.exp(-depth), rtol))

        def sample(epsilon: Array) -> Samples:
            found, inside = table(epsilon), self.some_left(epsilon)
            return replace(found, lower=found.lower * inside, upper=found.upper * inside)

        return sample


def as_one(parts: Parts, like: PrivacyProfile | None = None) -> PrivacyProfile:
    """The profile of parts that are composed."""
    match merged(parts):
        case ():
            return NothingLost()
        case ((profile, 1),):
            return profile
        case kinds:
            if isinstance(like, ComposedProfile) and len(like.rounds) == len(kinds):
                return ComposedProfile(kinds, like)
            return ComposedProfile(kinds)


@dataclass(frozen=True)
class BundledRounds:
    """Rounds of a random subset of the honest users, of each of whom `messages` messages are sent.

    With f_t the profile of the round of t senders, (t/n) f_t(1 + (alpha - 1) n/t) is that of
    replace-one neighbours: someone else is in the sample instead (docs/theory/sums.md). It
    grows with the share t/n and is convex in it, while f_t falls with t.
    """

    law: Any
    count: SenderCount
    messages: int
    _made: dict[int, PrivacyProfile] = field(default_factory=dict, compare=False, repr=False)
    _like: dict[int, PrivacyProfile] = field(default_factory=dict, compare=False, repr=False)

    @property
    def most(self) -> int:
        dear = self.full(max(round(self.count.mean), 1)).slow
        return tuning.FEW_BUCKETS if dear else of_profiles.MOST_BUCKETS

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        most = self.count.most
        share = most / self.count.honest
        return SubsampledProfile(self.full(1), share), SubsampledProfile(self.full(most), share)

    def full(self, senders: int) -> PrivacyProfile:
        """f_t, of the round of all who send."""
        if senders not in self._made:
            scale = round(math.log(senders) / 0.2)
            parts = replaced_parts(self.law, senders)
            each = [(part, self.messages * count) for part, count in parts]
            self._made[senders] = as_one(each, self._like.get(scale))
            self._like.setdefault(scale, self._made[senders])
        return self._made[senders]

    def bracket(self, depth: float, rtol: float) -> Ends:
        known: dict[int, Sampler] = {}
        hiding = self._hiding
        if self.most == tuning.FEW_BUCKETS:  # all questions share these
            rtol = 2 * min(rtol, tuning.COARSE) if hiding else tuning.COARSE  # buckets are wide

        def evaluate(which: tuple[int, float], epsilon: Array) -> Samples:
            """f_t of so many senders, with another share."""
            senders, share = which
            if not share:
                return Samples(*np.zeros((4, len(epsilon))))
            return subsampled(sampler(senders), share / self.count.honest)(epsilon)

        def sampler(senders: int) -> Sampler:
            if senders not in known:
                known[senders] = self.full(senders).sampler(depth, rtol)
            return known[senders]

        at = Remembered(evaluate)

        def ends(bucket: Bucket, epsilon: Array) -> Between:
            few, many = max(bucket.node, 1), max(bucket.last, 1)
            first = at((few, bucket.node), epsilon)
            if bucket.node == bucket.last:
                return Between(first, first.upper, 0 * first.upper, first.slope_low)
            if hiding and bucket.node:
                return self._between(hiding, bucket, sampler, epsilon)
            part = (bucket.mean_high - bucket.node) / (bucket.last - bucket.node)
            # the chord
            above = (1 - part) * first.upper + part * at((few, bucket.last), epsilon).upper
            last = at((many, many), epsilon)
            if not np.isfinite(last.slope_high).all():
                below = at((many, bucket.mean_low), epsilon)
                gap = np.maximum(above - below.upper, 0.0)
                return Between(below, above, gap, below.slope_low)
            return _below(last, bucket.mean_low / many, above, np.expm1(epsilon))

        return ends

    @cached_property
    def _hiding(self) -> Hiding | None:
        """How rounds depend on the number of senders, if that is known and worth the work."""
        if self.most > tuning.FEW_BUCKETS or not isinstance(self.law, ClassLaws | ThreePointLaw):
            return None
        chance = self.law.hiding
        return None if chance is None else Hiding(chance, self.messages)

    def _between(
        self,
        hiding: Hiding,
        bucket: Bucket,
        sampler: Callable[[int], Sampler],
        epsilon: Array,
    ) -> Between:
        """Count by count: of cells of several the first is the worst but for its share."""
        first, last = bucket.cells[:2].astype(np.int64)
        least, most = bucket.cells[2:]
        nodes = Nodes(max(bucket.before, 1), bucket.node, bucket.last, bucket.after)
        above = AtShares(sampler, epsilon, last / self.count.honest, Side.LOWER)
        below = AtShares(sampler, epsilon, first / self.count.honest, Side.UPPER)
        most, least = most / max(bucket.upper, 1e-300), least / max(bucket.lower, 1e-300)
        charge = UNIT * (len(first) + 16)
        high = above.rate * hiding.upper(nodes, first, above)
        low = below.rate * hiding.lower(nodes, last, below)
        # the profile below is that of the least masses
        upper, lower = (most @ high) * (1 + charge), (least @ low) * (1 - charge)
        below_at_most = (least @ high) * (1 + charge)
        own = [most @ (above.rate * (at.upper - at.lower)) for at in map(above, nodes[1:3])]
        gap = np.maximum(upper - lower - np.maximum(*own), 0.0)
        samples = Samples.without_slopes(lower, below_at_most)
        return Between(samples, upper, gap, most @ above.slope(nodes.few))


def _below(last: Samples, share: float, above: Array, excess: Array) -> Between:
    """Below a bucket whose mean is this share of the largest count, of which there are samples:
    along their lines."""
    left = (1 - share + 4 * UNIT) * (1 + 8 * UNIT)
    line = share * (1 - 4 * UNIT) * last.lower - left * excess * last.slope_high
    known = line > 0  # else the line is 0 itself
    lower, least, most = (known * x for x in (line, last.slope_low, last.slope_high))
    below = Samples(lower, np.minimum(last.upper, above), least, most)
    gap = np.maximum(above - line - share * (last.upper - last.lower), 0.0)
    return Between(below, above, gap, least)
