"""Rounds of several messages of a user, which may change together, and samples of whole users.

Shuffling all messages together is a post-processing of shuffling everybody's first messages, then
everybody's second ones, and so on: a bundle of m messages is bounded by m rounds. Where whole users
are sampled, those m rounds have one sample, so that they are composed first and sampled then.

What hides a user are those others who do, each with some probability q. So a composition falls from
r senders to r + 1 by a mean of binomial masses, whose logarithms bend, as functions of r, by no
more than a known constant: a sum of them does not either. Sums of such falls over neighbouring
ranges of r say how they are spread within each.

Theory: docs/theory/bundles.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array, Side
from ..laws.class_law import ClassLaws, LeakyLaw, ThreePointLaw
from ..profiles.base import PrivacyProfile, Sampler, Samples
from ..profiles.mixture import Between, Ends, Remembered
from ..profiles.parts import replaced_parts
from ..profiles.sender_count import Bucket, SenderCount, bernstein
from ..profiles.subsampled import SubsampledProfile, magnified, subsampled
from .composed_profile import profile_of_parts

# proof constants: docs/theory/constants.md
#: Sums of so many positive terms at most, with exponents down to minus the sum of the last two.
_ROUNDING, _MOST_TERMS, _MOST_BENT, _STEEPEST = 2.0**-24, 1 << 20, 100.0, 300.0
#: How seldom, as powers of e, so many others hide a user that it is charged: 16 is too much for
#: 100 senders, 7 is too little for 1,000. Any numbers are sound.
_SELDOM = (9.0, 13.0, 18.0)
#: Differences of two values, over the larger one, and what is made of them.
_DIFFERENCE = 16 * UNIT

Counts = NDArray[np.int64]


class Nodes(NamedTuple):
    """Numbers of senders few < many at which a composition is known, and their neighbours.

    `before` is the next smaller number that is known, or `few` itself; `after` the next larger one,
    or `many` itself.
    """

    before: int
    few: int
    many: int
    after: int


class Known(NamedTuple):
    """A composition at some epsilons."""

    lower: Array
    upper: Array


#: The composition of a number of senders, at epsilons that are fixed.
Evaluate = Callable[[int], Known]


@dataclass(frozen=True)
class Hiding:
    """Bounds on compositions for numbers of senders between two at which these are known.

    Parameters
    ----------
    chance : float
        The probability that another sender hides the user in question.
    rounds : int
        The rounds that are composed.

    Notes
    -----
    docs/theory/bundles.md. The fall of a composition from one number of senders to the next is a
    mean of binomial masses, whose logarithms bend by no more than a known constant. Falls over two
    neighbouring ranges then tell how they are spread within each of them. With chords alone, four
    of six samples of users with 3 to 10 messages are not certified to 1e-3.
    """

    chance: float
    rounds: int
    #: References do not depend on epsilon, and are most of the work of many senders.
    _made: dict[tuple[Nodes, float, Side, bytes], _Reference] = field(
        default_factory=dict, compare=False, repr=False
    )

    def upper(self, nodes: Nodes, count: Counts, at: Evaluate) -> Array:
        """Return upper bounds at numbers of senders between the nodes, [counts, epsilons].

        Parameters
        ----------
        nodes : Nodes
        count : Counts
            Numbers of senders from nodes.few to nodes.many, shape [counts].
        at : Evaluate
            The compositions at the nodes, [counts, epsilons]: each count has its own epsilons.
        """
        few, many = at(nodes.few), at(nodes.many)
        best = few.upper
        if nodes.after == nodes.many:
            return best
        for bends in self._bends(nodes.few, nodes.after):
            missed, falls = bends.between(nodes, few, many)
            next_falls = many.upper * (1 + _DIFFERENCE) - at(nodes.after).lower
            ratio = _quotient(next_falls, falls, math.inf)
            share = self._reference(nodes, bends.bend, Side.UPPER, count).at_least(ratio)
            bound = (1 - share) * few.upper + share * (many.upper + missed)
            best = np.minimum(best, bound * (1 + _DIFFERENCE))
        return best

    def lower(self, nodes: Nodes, count: Counts, at: Evaluate) -> Array:
        """Return lower bounds at numbers of senders between the nodes; see `upper`."""
        few, many = at(nodes.few), at(nodes.many)
        best = many.lower
        if nodes.before == nodes.few:
            return best
        for bends in self._bends(nodes.before, nodes.many):
            missed, falls = bends.between(nodes, few, many)
            last_falls = at(nodes.before).upper * (1 + _DIFFERENCE) - few.lower
            ratio = _quotient(falls, last_falls, 0.0)
            share = self._reference(nodes, bends.bend, Side.LOWER, count).at_most(ratio)
            bound = (1 - share) * few.lower + share * many.lower - missed
            best = np.maximum(best, bound - _DIFFERENCE * few.lower)
        return best

    def _reference(self, nodes: Nodes, bend: float, side: Side, count: Counts) -> _Reference:
        """Return the reference falls between the nodes and after them (UPPER) or before them."""
        key = nodes, bend, side, count.tobytes()
        if key not in self._made:
            self._made[key] = _Reference(nodes, bend, side, count - nodes.few)
        return self._made[key]

    def _bends(self, first: int, last: int) -> Iterator[_Bends]:
        """Yield how much falls may bend between two numbers of senders, for several cut-offs.

        Cases in which more of the others hide the user than a cut-off says are charged instead.
        """
        mean = last * self.chance
        for seldom in _SELDOM:
            reach = bernstein(mean * (1 - self.chance), seldom)
            most = math.ceil((mean + reach) * (1 + 2.0**-40))
            if most >= first or last - first > _MOST_TERMS:
                continue
            bend = -self.rounds * math.log1p(-most / (first * (first + 1 - most)))
            bend *= 1 + 2.0**-40
            if bend * (last - first) ** 2 <= _MOST_BENT:
                missed = self.chance * self.rounds**2 * math.exp(-seldom) * (1 + 2.0**-40)
                yield _Bends(bend, missed)


class AtShares:
    """Compositions at the epsilons that belong to some shares of all users.

    Parameters
    ----------
    sampler : callable
        Returns the sampler of the composition of a number of senders.
    epsilon : Array
        Epsilons of the sampled round, shape [epsilons].
    rates : Array
        Shares of all users, shape [rates]; what is evaluated has the shape [rates, epsilons].
    side : Side
        The direction in which epsilons are rounded.
    """

    def __init__(
        self, sampler: Callable[[int], Sampler], epsilon: Array, rates: Array, side: Side
    ) -> None:
        self.rate = rates[:, None]
        self._epsilon, self._sampler = magnified(epsilon, self.rate, side), sampler
        self._known: dict[int, Samples] = {}

    def _at(self, senders: int) -> Samples:
        if senders not in self._known:
            self._known[senders] = self._sampler(senders)(self._epsilon.ravel())
        return self._known[senders]

    def __call__(self, senders: int) -> Known:
        found = self._at(senders)
        shape = self._epsilon.shape
        return Known(found.lower.reshape(shape), found.upper.reshape(shape))

    def slope(self, senders: int) -> Array:
        return self._at(senders).fall_low.reshape(self._epsilon.shape)


class _Bends(NamedTuple):
    """How much the logarithms of falls may bend downwards from one number of senders to the next.

    `missed` bounds the falls that may bend more, at each number, as a share of the composition.
    """

    bend: float
    missed: float

    def between(self, nodes: Nodes, few: Known, many: Known) -> tuple[Array, Array]:
        """Return, between the nodes, upper bounds on the sum of the falls that may bend more, and
        lower bounds on the sum of all others."""
        missed = (self.missed * (nodes.many - nodes.few) + _DIFFERENCE) * few.upper
        return missed, few.lower - many.upper - missed


class _Reference:
    """Falls whose logarithms bend by exactly `bend`, for 241 slopes, over two neighbouring ranges.

    For each slope it has the ratio of the sums over the two ranges, and the share of the first
    `steps` falls in the sum between the nodes.
    """

    def __init__(self, nodes: Nodes, bend: float, side: Side, steps: Counts) -> None:
        first, middle, last = nodes[1:] if side is Side.UPPER else nodes[:3]
        place = np.arange(first - middle, last - middle, dtype=float)
        # slopes of about 1 are usual, and steps of 0.05 cost less than a hundredth of a range
        slopes = np.linspace(-6.0, 6.0, 241) / (last - first)
        exponent = slopes[:, None] * place - bend / 2 * place**2
        falls = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        before, after = falls[:, : middle - first], falls[:, middle - first :]
        self._ratio = after.sum(axis=1) / before.sum(axis=1)
        self._shares = _shares(before if side is Side.UPPER else after, steps)
        self._columns = np.arange(len(steps))[:, None]

    def at_least(self, ratio: Array) -> Array:
        """Return a lower bound on the share, if the falls of the second range are at most `ratio`
        times those of the first."""
        slope = np.searchsorted(self._ratio, ratio * (1 + _ROUNDING))
        shares = np.vstack([self._shares, np.zeros(len(self._columns))])
        found: Array = shares[slope, self._columns] * (1 - _ROUNDING)
        return found

    def at_most(self, ratio: Array) -> Array:
        """Return an upper bound on the share, if the falls of the second range are at least `ratio`
        times those of the first."""
        slope = np.searchsorted(self._ratio, ratio * (1 - _ROUNDING), side="right")
        shares = np.vstack([np.ones(len(self._columns)), self._shares])
        found: Array = shares[slope, self._columns] * (1 + _ROUNDING)
        return np.minimum(found, 1.0)


def _shares(falls: Array, steps: Counts) -> Array:
    """Return the shares of the first `steps` falls in the sum of each row: [rows, steps]."""
    sums = np.pad(np.cumsum(falls, axis=1), ((0, 0), (1, 0)))
    shares: Array = sums[:, steps] / sums[:, -1:]
    return shares


def _quotient(above: Array, below: Array, otherwise: float) -> Array:
    """Return (above)_+ / below, or `otherwise` where `below` is not positive."""
    quotient = np.full(above.shape, otherwise)
    with np.errstate(over="ignore"):
        np.divide(np.maximum(above, 0.0), below, out=quotient, where=below > 0)
    return quotient


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

    @property
    def most(self) -> int:
        is_slow = self.full(max(round(self.count.mean), 1)).is_slow
        return tuning.FEW_BUCKETS if is_slow else tuning.MOST_BUCKETS

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        most = self.count.most
        share = most / self.count.honest
        return SubsampledProfile(self.full(1), share), SubsampledProfile(self.full(most), share)

    def full(self, senders: int) -> PrivacyProfile:
        """f_t, of the round of all who send."""
        if senders not in self._made:
            # rounds have to fall with the senders, so that all of them pay what the largest pays
            leaks = isinstance(self.law, LeakyLaw)
            law = self.law.up_to(self.count.most) if leaks else self.law
            parts = replaced_parts(law, senders)
            self._made[senders] = profile_of_parts(
                [(part, self.messages * count) for part, count in parts]
            )
        return self._made[senders]

    def bracket(self, depth: float, rtol: float) -> Ends:
        """Return a function that bounds the rounds of a bucket of counts from both sides.

        Parameters
        ----------
        depth : float
            Deltas are resolved relatively down to e^-depth.
        rtol : float
            Relative width in epsilon to aim for.

        Notes
        -----
        docs/theory/bundles.md. From above it is a chord in the share of senders, from below the
        composition of the most senders; with `Hiding` each count has bounds of its own.
        """
        known: dict[int, Sampler] = {}
        hiding = self._hiding
        if self.most == tuning.FEW_BUCKETS:  # all questions share these
            rtol = 2 * min(rtol, tuning.COARSE) if hiding else tuning.COARSE  # buckets are wide

        def evaluate(which: tuple[int, float], epsilon: Array) -> Samples:
            """f_t of so many senders, with another share."""
            senders, share = which
            if not share:
                return Samples(*np.zeros((4, len(epsilon))))
            largest = self.full(senders).max_loss
            return subsampled(sampler(senders), share / self.count.honest, largest)(epsilon)

        def sampler(senders: int) -> Sampler:
            if senders not in known:
                known[senders] = self.full(senders).sampler(depth, rtol)
            return known[senders]

        at = Remembered(evaluate)

        def ends(bucket: Bucket, epsilon: Array) -> Between:
            few, many = max(bucket.node, 1), max(bucket.last, 1)
            first = at((few, bucket.node), epsilon)
            if bucket.node == bucket.last:
                return Between(first, first.upper, 0 * first.upper, first.fall_low)
            if hiding and bucket.node:
                return self._between(hiding, bucket, sampler, epsilon)
            part = (bucket.mean_high - bucket.node) / (bucket.last - bucket.node)
            # the chord
            above = (1 - part) * first.upper + part * at((few, bucket.last), epsilon).upper
            last = at((many, many), epsilon)
            if not np.isfinite(last.fall_high).all():
                below = at((many, bucket.mean_low), epsilon)
                gap = np.maximum(above - below.upper, 0.0)
                return Between(below, above, gap, below.fall_low)
            # where alpha is no double, `last` is 0 from below
            excess = np.expm1(np.minimum(epsilon, 705.0))
            return _below(last, bucket.mean_low / many, above, excess)

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
        """Return the bounds of a bucket count by count.

        A cell of several counts is bounded by its first one, which has the largest composition,
        with the share of its last one.
        """
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
        samples = Samples.without_falls(lower, below_at_most)
        return Between(samples, upper, gap, most @ above.slope(nodes.few))


def _below(last: Samples, share: float, above: Array, excess: Array) -> Between:
    """Return the bounds of a bucket, from below along the lines of samples of its largest count.

    Parameters
    ----------
    last : Samples
        Of the largest count of the bucket, at some epsilons.
    share : float
        The mean count of the bucket over the largest one.
    above : Array
        Upper bounds, [epsilons].
    excess : Array
        alpha - 1, [epsilons].
    """
    left = (1 - share + 4 * UNIT) * (1 + 8 * UNIT)
    line = share * (1 - 4 * UNIT) * last.lower - left * excess * last.fall_high
    known = line > 0  # else the line is 0 itself
    lower, least, most = (known * x for x in (line, last.fall_low, last.fall_high))
    below = Samples(lower, np.minimum(last.upper, above), least, most)
    gap = np.maximum(above - line - share * (last.upper - last.lower), 0.0)
    return Between(below, above, gap, least)
