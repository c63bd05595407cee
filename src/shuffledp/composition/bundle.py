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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array, Side
from ..laws.class_law import ClassLaws, LeakyLaw
from ..profiles.base import PrivacyProfile, Samples
from ..profiles.mixture import Between, MixtureProfile
from ..profiles.parts import replaced_parts
from ..profiles.sender_count import Bucket, SenderCount, bernstein
from ..profiles.subsampled import SubsampledProfile, magnified, subsampled
from .composed_profile import profile_of_parts

# proof constants: docs/theory/constants.md
#: Sums of so many positive terms at most, with exponents down to minus the last one.
_ROUNDING, _MOST_TERMS, _MOST_BENT = 2.0**-24, 1 << 20, 100.0
#: Differences of two values, over the larger one, and what is made of them.
_DIFFERENCE = 16 * UNIT

Counts = NDArray[np.int64]


#: Compositions by the number of senders: each count in between has its own epsilons, shape
#: [counts, epsilons].
Compositions = Mapping[int, Samples]


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

    def bound(
        self, nodes: tuple[int, int, int], count: Counts, at: Compositions, side: Side
    ) -> Array:
        """Return bounds at numbers of senders between two nodes, [counts, epsilons].

        Parameters
        ----------
        nodes : tuple of int
            Numbers of senders at which compositions are known, not decreasing. The first two
            enclose the counts if side is UPPER, else the last two; if the others are equal, the
            bound is that at the closest node.
        count : Counts
            Shape [counts].
        at : Compositions
            Those of the nodes, each [counts, epsilons].
        side : Side
        """
        above, bent = side is Side.UPPER, self.bent(nodes[0], nodes[2])
        (few, many), (start, end) = (nodes[:2], nodes[1:]) if above else (nodes[1:], nodes[:2])
        known = at[few].upper if above else at[many].lower
        if start == end or bent is None:
            return known
        # the falls that may bend more, from above, and all others, from below
        missed = (bent[1] * (many - few) + _DIFFERENCE) * at[few].upper
        falls = at[few].lower - at[many].upper - missed
        other_falls = at[start].upper * (1 + _DIFFERENCE) - at[end].lower
        if above:
            share = _share(nodes, count, side, bent[0], _quotient(other_falls, falls, math.inf))
            bound = (1 - share) * at[few].upper + share * (at[many].upper + missed)
            return np.minimum(known, bound * (1 + _DIFFERENCE))
        share = _share(nodes, count, side, bent[0], _quotient(falls, other_falls, 0.0))
        bound = (1 - share) * at[few].lower + share * at[many].lower - missed
        return np.maximum(known, bound - _DIFFERENCE * at[few].lower)

    def bent(self, first: int, last: int) -> tuple[float, float] | None:
        """Return how much logarithms of falls bend downwards at most from one number of senders to
        the next, and what is missed; None if no useful bound is known.

        Falls in which more of the others hide the user may bend more: they are missed, a share of
        the composition at each number. How seldom that is, e^-seldom, any number is sound: 16 is
        too much for 100 senders, 7 is too little for 1,000.
        """
        mean, seldom = last * self.chance, 2 * math.log(last + 1)
        most = math.ceil((mean + bernstein(mean * (1 - self.chance), seldom)) * (1 + 2.0**-40))
        if most >= first or last - first > _MOST_TERMS:
            return None
        bend = -self.rounds * math.log1p(-most / (first * (first + 1 - most))) * (1 + 2.0**-40)
        missed = self.chance * self.rounds**2 * math.exp(-seldom) * (1 + 2.0**-40)
        return (bend, missed) if bend * (last - first) ** 2 <= _MOST_BENT else None


def _share(
    nodes: tuple[int, int, int], count: Counts, side: Side, bend: float, ratio: Array
) -> Array:
    """Return a bound on the share of the falls up to a count in those of its range.

    Parameters
    ----------
    nodes : tuple of int
        The ends of two neighbouring ranges of numbers of senders.
    count : Counts
        In the first range if side is UPPER, else in the second one; shape [counts].
    side : Side
        UPPER: a lower bound on the share is returned, else an upper bound.
    bend : float
        By how much the logarithms of falls bend at most.
    ratio : Array
        The most (UPPER) or the least that the falls of the second range may be, over those of the
        first; shape [counts, epsilons].
    """
    steps = count - nodes[side is Side.LOWER]
    ratios, shares = _reference(nodes, side, bend, tuple(steps.tolist()))
    at = np.searchsorted(ratios, ratio * (1 + side * _ROUNDING), "left" if side > 0 else "right")
    found: Array = shares[at, np.arange(len(count))[:, None]] * (1 - side * _ROUNDING)
    return np.minimum(found, 1.0)


@lru_cache(maxsize=64)  # they do not depend on epsilon, and are most of the work of many senders
def _reference(
    nodes: tuple[int, int, int], side: Side, bend: float, steps: tuple[int, ...]
) -> tuple[Array, Array]:
    """Return what falls do whose logarithms bend by exactly `bend`, for 241 slopes.

    These are the ratios of the sums over the two ranges, and the shares, [slopes and 1 more,
    steps], of the first `steps` falls in the sum of their range. The share to look up is that of
    the first larger ratio (UPPER), or of the last ratio that is no larger.
    """
    first, middle, last = nodes
    place = np.arange(first - middle, last - middle, dtype=float)
    # slopes of about 1 are usual, and steps of 0.05 cost less than a hundredth of a range
    slopes = np.linspace(-6.0, 6.0, 241) / (last - first)
    exponent = slopes[:, None] * place - bend / 2 * place**2
    falls = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    ranges = falls[:, : middle - first], falls[:, middle - first :]
    sums = np.pad(np.cumsum(ranges[side is Side.LOWER], axis=1), ((0, 0), (1, 0)))
    shares = sums[:, steps] / sums[:, -1:]
    trivial = np.full((1, len(steps)), float(side is Side.LOWER))
    every = [shares, trivial] if side is Side.UPPER else [trivial, shares]
    return ranges[1].sum(axis=1) / ranges[0].sum(axis=1), np.vstack(every)


def _quotient(above: Array, below: Array, otherwise: float) -> Array:
    """Return (above)_+ / below, or `otherwise` where `below` is not positive."""
    quotient = np.full(above.shape, otherwise)
    with np.errstate(over="ignore"):
        np.divide(np.maximum(above, 0.0), below, out=quotient, where=below > 0)
    return quotient


@dataclass(frozen=True)
class BundledRounds(MixtureProfile):
    """Rounds of a random subset of the honest users, of each of whom `messages` messages are sent.

    With f_t the profile of the round of t senders, (t/n) f_t(1 + (alpha - 1) n/t) is that of
    replace-one neighbours: someone else is in the sample instead (docs/theory/sums.md). It
    grows with the share t/n and is convex in it, while f_t falls with t.
    """

    count: SenderCount
    messages: int
    _made: dict[int, PrivacyProfile] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def most_buckets(self) -> int:
        is_slow = self.full(max(round(self.count.mean), 1)).is_slow
        return tuning.FEW_BUCKETS if is_slow else tuning.MOST_BUCKETS

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        most = self.count.most
        share = most / self.count.honest
        return SubsampledProfile(self.full(1), share), SubsampledProfile(self.full(most), share)

    def profile(self, count: int) -> PrivacyProfile:
        return SubsampledProfile(self.full(count), count / self.count.honest)

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

    def bracket(self, epsilon: Array, depth: float, rtol: float) -> Callable[[Bucket], Between]:
        """Return a function that bounds the rounds of a bucket of counts from both sides.

        Notes
        -----
        docs/theory/bundles.md. From above it is a chord in the share of senders, from below the
        composition of the most senders with the mean share; with `Hiding` each count has bounds of
        its own.
        """
        hiding, honest = self._hiding, self.count.honest
        if self.most_buckets == tuning.FEW_BUCKETS:  # buckets are wide, and few widths are shared
            least, most = tuning.COARSE / 4, tuning.COARSE
            rtol = 2 * min(max(rtol, least), most) if hiding else most

        @cache
        def at(senders: int, share: float) -> Samples:
            """f_t of so many senders, with the share of another number of them."""
            if not share:
                return Samples(*np.zeros((4, len(epsilon))))
            full = self.full(senders)
            sampled = subsampled(full.sampler(depth, rtol), share / honest, full.max_loss)
            return sampled(epsilon)

        def composed(nodes: Sequence[int], count: Counts, side: Side) -> Compositions:
            """f_t at the epsilons that belong to the shares of some counts, rounded to a side."""
            places = magnified(epsilon, count[:, None] / honest, side)
            found = {t: self.full(t).sampler(depth, rtol)(places.ravel()) for t in set(nodes)}
            shape = places.shape
            return {t: Samples(*(c.reshape(shape) for c in f.columns)) for t, f in found.items()}

        def counted(bucket: Bucket, hiding: Hiding) -> Between:
            """A cell of several counts is bounded by its first one, which has the largest
            composition, with the share of its last one."""
            first, last = bucket.cells[:2].astype(np.int64)
            least = bucket.cells[2] / max(bucket.lower, 1e-300)
            most = bucket.cells[3] / max(bucket.upper, 1e-300)
            before, few, many, after = (max(node, 1) for node in bucket[:4])
            next_nodes, last_nodes = (few, many, after), (before, few, many)
            above = composed(next_nodes, last, Side.LOWER)
            below = composed(last_nodes, first, Side.UPPER)
            low, high = first[:, None] / honest, last[:, None] / honest
            upper = most @ (high * hiding.bound(next_nodes, first, above, Side.UPPER))
            lower = least @ (low * hiding.bound(last_nodes, last, below, Side.LOWER))
            own = [most @ (high * (at.upper - at.lower)) for at in (above[few], above[many])]
            slope, charge = most @ above[few].fall_low, UNIT * (len(first) + 16)
            lower, upper, none = lower * (1 - charge), upper * (1 + charge), np.zeros(len(epsilon))
            return Between(lower, upper, none, none + 1, np.maximum(*own), slope)

        def between(bucket: Bucket) -> Between:
            few, many = max(bucket.first, 1), max(bucket.last, 1)
            start = at(few, bucket.first)
            if bucket.first == bucket.last:
                return Between.of(start)
            if hiding and bucket.first:
                return counted(bucket, hiding)
            part = (bucket.mean_high - bucket.first) / (bucket.last - bucket.first)
            chord = (1 - part) * start.upper + part * at(few, bucket.last).upper
            return Between.of(at(many, bucket.mean_low))._replace(upper=chord)

        return between

    @cached_property
    def _hiding(self) -> Hiding | None:
        """How rounds depend on the number of senders, if that is known and worth the work."""
        few = self.most_buckets == tuning.FEW_BUCKETS
        if not few or not isinstance(self.law, ClassLaws):
            return None
        chance = self.law.hiding
        return None if chance is None else Hiding(chance, self.messages)
