"""The profile of rounds of binary messages: the largest over all values of the other users.

The worst datasets have two values only: m of the n - 1 others send 1 with probability p, the rest
with probability q. H(m) is the delta of these datasets at the epsilon in question, and the profile
is the largest H(m). Every m lies in a range whose upper bound was evaluated; ranges that may hold
more than the largest H(m) found, by more than a tolerance, are cut into smaller ones.

Theory: docs/theory/binary-messages.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array, Side, log_share
from ..engines.tilted_bits import Ranges
from ..engines.two_binomials import TwoBinomials
from ..laws.binary_law import BinaryLaw, BinaryPair, ValueOrder
from .base import PrivacyProfile, Sampler, Samples, convex_corners

# proof constants: docs/theory/constants.md
_SLACK = 64 * UNIT

Index = NDArray[np.intp]


@dataclass(frozen=True)
class BinaryProfile(PrivacyProfile):
    """Exact profile of a round of users who send one of two messages each.

    Parameters
    ----------
    law : BinaryLaw
    users : int
    orders : tuple of ValueOrder
        The orders of the two values whose larger profile counts.
    held : int, optional
        If given, so many of the other users hold the value that sends more 1s, and the rest of them
        the other value. By default the worst values count.
    """

    law: BinaryLaw
    users: int
    orders: tuple[ValueOrder, ...]
    held: int | None = None

    @property
    def max_loss(self) -> float:
        return self.law.max_loss(self.users, self.orders)

    @property
    def bounded(self) -> bool:
        return self.law.bounded(self.orders)

    @property
    def family(self) -> tuple[Hashable, int]:
        return ((self.law, self.orders), self.users) if self.held is None else (self, 1)

    @property
    def last_fall(self) -> float:
        """A lower bound of the fall where the profile reaches 0: Q's mass of the largest loss.

        It occurs if all messages are the one with the largest ratio.
        """
        if self.held is not None:
            return 0.0
        seen = max(self.law.seen(self.orders), key=lambda pair: pair.p / max(pair.q, 1e-300))
        log_high = log_share(seen.p, seen.not_p)
        return seen.q * math.exp((self.users - 1) * log_high * (1 + _SLACK)) * (1 - _SLACK)

    @property
    def has_few_users(self) -> bool:
        """Is every number m of users with the one value evaluated?"""
        return self.users <= 24

    @cached_property
    def kinks(self) -> Array | None:
        """Of few users: the corners of the largest P(s >= t) - alpha Q(s >= t) over all m and t."""
        return _corners(self) if self.has_few_users and self.bounded else None

    @property
    def each_held(self) -> list[Sequence[int]]:
        """Of each order: how many others may hold the value that sends its message more often."""
        if self.held is None:
            return [range(self.users)] * len(self.orders)
        other = self.users - 1 - self.held
        return [[self.held if order is ValueOrder.FORWARD else other] for order in self.orders]

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """A sampler by a search over the values of the others; see `PrivacyProfile.sampler`."""
        if self.held is None and not self.bounded:
            return self._constant

        def sample(epsilon: Array) -> Samples:
            epsilon = np.asarray(epsilon, dtype=float)
            is_inside = self.may_be_positive(epsilon)
            search = _RangeSearch(self, epsilon, rtol, depth)
            lower, upper = (side * is_inside for side in search.run())
            at_top = (epsilon == self.max_loss) & self.bounded
            low = np.where(at_top, self.last_fall, search.fall_low)
            return Samples(lower, upper, low, search.fall_high)

        return sample

    def _constant(self, epsilon: Array) -> Samples:
        """Samples if a message may reveal the value because no other user sends it.

        Then delta is its probability at every epsilon: p - q, the largest total variation of all.
        """
        level, error = self.law.revealed(self.orders) + 0 * epsilon, 2 * self.law.error
        upper = np.minimum(level * (1 + error), 1.0)
        return Samples(level * (1 - error), upper, 0 * level, 0 * level)


class _RangeSearch:
    """A search for the largest H(m) at some epsilons, from both sides, over both orders."""

    def __init__(self, profile: BinaryProfile, epsilon: Array, rtol: float, depth: float) -> None:
        self._others, self._epsilon, self._rtol = profile.users - 1, epsilon, rtol
        self._profile, self._negligible = profile, math.exp(-depth)
        self._outer, self._inner = (
            [TwoBinomials(pair, self._others, rtol) for pair in _pairs(profile, side)]
            for side in (Side.UPPER, Side.LOWER)
        )
        self.lower, self.fall_low = np.zeros((2, len(epsilon)))
        self.fall_high = np.ones(len(epsilon))

    def run(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the largest H(m), shape [epsilons]."""
        ranges = self._start()
        for _ in range(12):  # ranges are cut in three; what is too wide after that stays so
            rows = np.flatnonzero(ranges.bound > self._sufficient()[ranges.where])
            if len(rows):
                self._raise_lower_within(ranges.rows(rows[ranges.rows(rows).leading]))
            more = (ranges.bound > self._sufficient()[ranges.where]) & (ranges.last > ranges.first)
            # close to epsilon = 0 every m has about the same H(m)
            if more.sum() > tuning.MOST_RANGES * max(len(self._epsilon), 16):
                number = np.bincount(ranges.where[more], minlength=len(self._epsilon))
                more &= number[ranges.where] <= tuning.MOST_RANGES
            if not more.any():
                break
            new = self._bounded(*ranges.rows(np.flatnonzero(more)).cut(self._others))
            ranges = ranges.rows(np.flatnonzero(~more)).joined(new)
        upper = np.zeros(len(self._epsilon))
        np.maximum.at(upper, ranges.where, ranges.bound)
        return self.lower, upper

    def _sufficient(self) -> Array:
        """The value up to which bounds need no refinement: the width in epsilon and in delta."""
        fall: Array = self._epsilon * np.exp(self._epsilon) * self.fall_low
        sufficient = self.lower + self._rtol * (0.5 * fall + 0.5 * self.lower)
        return np.maximum(sufficient, self._negligible)

    def _start(self) -> _BoundedRanges:
        """Every possible m by itself if there are few, else ranges that are narrow at both ends."""
        others, ranges = self._others, np.zeros((3, 0))
        for kind, held in enumerate(self._profile.each_held[: len(self._outer)]):
            if len(held) == 1 or self._profile.has_few_users:
                starts = np.array(held, dtype=float)
            else:
                inner = np.clip(np.floor(np.array([0, 0.002, 0.03, 0.5]) * others), 1.0, others)
                starts = np.unique([0.0, *inner, *(others + 1 - inner)])
            last = np.append(starts[1:] - 1, held[-1])
            ranges = np.append(ranges, [0 * last + kind, starts, last], axis=1)
        where = np.repeat(np.arange(len(self._epsilon)), ranges.shape[1])
        order, first, last = np.tile(ranges, len(self._epsilon))
        single = first == last
        self._raise_lower(where[single], order[single], first[single])
        return self._bounded(where, order, first, last)

    def _bounded(self, where: Index, order: Index, first: Array, last: Array) -> _BoundedRanges:
        bound = np.zeros(len(where))
        for kind, engine in enumerate(self._outer):
            rows = np.flatnonzero(order == kind)
            if len(rows):
                ranges = Ranges(self._epsilon[where[rows]], first[rows], last[rows])
                bound[rows] = engine.upper_over(ranges)
        return _BoundedRanges(where, order, first, last, bound)

    def _raise_lower(self, where: Index, order: Index, m: Array) -> None:
        """Raise the lower values, and their falls, by H at single m."""
        for kind, engine in enumerate(self._inner):
            rows = np.flatnonzero(order == kind)
            if not len(rows):
                continue
            at = where[rows]
            found = engine.lower_at(Ranges(self._epsilon[at], m[rows], m[rows]))
            best = _largest(at, found.lower)
            best = best[found.lower[best] > self.lower[at[best]]]
            self.lower[at[best]] = found.lower[best]
            self.fall_low[at[best]] = found.fall_low[best]
            self.fall_high[at[best]] = found.fall_high[best]

    def _raise_lower_within(self, ranges: _BoundedRanges) -> None:
        """Raise the lower values by some m of each range, towards the closer end of all m."""
        from_first = ranges.first < self._others - ranges.last
        for kind, engine in enumerate(self._inner):
            rows = np.flatnonzero(ranges.order == kind)
            if len(rows):
                part = ranges.rows(rows)
                tried = Ranges(self._epsilon[part.where], part.first, part.last)
                m = engine.promising(tried, from_first[rows])
                where, order = (np.repeat(x, m.shape[1]) for x in (part.where, part.order))
                self._raise_lower(where, order, m.ravel())


class _BoundedRanges(NamedTuple):
    """Ranges of m, each of an epsilon and an order of the two laws, with upper bounds of H(m)."""

    where: Index
    order: Index
    first: Array
    last: Array
    bound: Array

    def rows(self, chosen: Index) -> _BoundedRanges:
        return _BoundedRanges(*(cast(Any, column[chosen]) for column in self))

    def joined(self, other: _BoundedRanges) -> _BoundedRanges:
        columns = zip(self, other, strict=True)
        return _BoundedRanges(*(cast(Any, np.concatenate(pair)) for pair in columns))

    @property
    def leading(self) -> Index:
        """The row with the largest bound of each epsilon."""
        return _largest(self.where, self.bound)

    def cut(self, others: int) -> tuple[Index, Index, Array, Array]:
        """Three smaller ranges each, the smallest ones towards the closer end of all m."""
        width = (self.last - self.first + 1)[:, None]
        parts = np.ceil(width * np.array([0.0, 0.33, 0.67, 1.0]))
        from_first = (self.first < others - self.last)[:, None]
        up, down = self.first[:, None] + parts[:, :-1], self.last[:, None] + 1 - parts[:, 1:]
        start = np.where(from_first, up, down)
        end = start + np.diff(parts, axis=1) - 1
        row, column = np.nonzero(end >= start)
        return self.where[row], self.order[row], start[row, column], end[row, column]


def _corners(profile: BinaryProfile) -> Array:
    """About the losses at which the profile of few users bends.

    It is the largest of the lines v - alpha s, with v and s the masses of an event {>= t} under P
    and Q. The slopes of the concave hull of all points (s, v) are where the largest line changes.
    """
    others = profile.users - 1
    tails = [np.zeros((2, 1))]
    for pair, held in zip(_pairs(profile, Side.LOWER), profile.each_held, strict=False):
        own, other = np.array([pair.not_p, pair.p]), np.array([pair.not_q, pair.q])
        for m in held:
            rest = reduce(np.convolve, [own] * m + [other] * (others - m), np.ones(1))
            laws = np.array([np.convolve(rest, bit) for bit in (other, own)])
            tails.append(np.cumsum(laws[:, ::-1], axis=1))
    s, v = np.concatenate(tails, axis=1)
    order = np.lexsort((-v, s))
    s, v = s[order], v[order]
    first = np.diff(s, prepend=-1.0) > 0
    s, v = s[first], v[first]
    hull = convex_corners(s, -v)
    alpha = np.diff(v[hull]) / np.diff(s[hull])
    return np.sort(np.log(alpha[alpha > 1]))


def _largest(where: Index, value: Array) -> Index:
    """The row with the largest value, for each number in `where`."""
    ranked = np.lexsort((value, where))
    best: Index = ranked[np.append(np.diff(where[ranked]) > 0, True)]
    return best


def _pairs(profile: BinaryProfile, side: Side) -> list[BinaryPair]:
    """The pair of each order, rounded to the side; none if messages may not depend on the value."""
    pair = profile.law.pair(side)
    return [pair.in_order(order) for order in profile.orders] if pair.gap > 0 else []
