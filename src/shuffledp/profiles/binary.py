"""The profile of rounds of binary messages: the largest over what the other users may hold.

The worst datasets have two values only: m of the n - 1 others send 1 with probability p, the rest
with probability q. Every m is in some range whose upper bound was evaluated; ranges that may hold
more than the largest H(m) found are cut into smaller ones (docs/theory.md, "Binary messages").
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from ..engines.tilted_bits import Ranges
from ..engines.two_binomials import TwoBinomials
from ..laws.binary import BinaryLaw, BinaryPair
from . import tuning
from .base import PrivacyProfile, Sampler
from .samples import Samples

# proof constants: docs/theory.md, "Constants"
_SLACK = 64 * UNIT

Index = NDArray[np.intp]


@dataclass(frozen=True)
class BinaryProfile(PrivacyProfile):
    """Exact profile of a shuffled round of `users` users who send one of two messages."""

    law: BinaryLaw
    users: int

    @property
    def max_loss(self) -> float:
        return self.law.max_loss(self.users)

    @property
    def bounded(self) -> bool:
        return self.law.bounded

    @property
    def family(self) -> tuple[Hashable, int]:
        return self.law, self.users

    @property
    def last_slope(self) -> float:
        """Minus the slope of the profile where it reaches 0, from below: Q's mass of the largest
        loss, which there is if all messages are the one that tells most."""
        law = self.law
        high, low, rest = law.p, law.q, law.not_p
        if law.not_q * low > high * rest:
            high, low, rest = law.not_q, law.not_p, law.q
        log_high = math.log(high) if high < 0.5 else math.log1p(-rest)
        return low * math.exp((self.users - 1) * log_high * (1 + _SLACK)) * (1 - _SLACK)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        def sample(epsilon: Array) -> Samples:
            epsilon = np.asarray(epsilon, dtype=float)
            inside = self.some_left(epsilon)
            search = _Search(self.law, self.users - 1, epsilon, rtol, depth)
            lower, upper = (side * inside for side in search.run())
            at_top = (epsilon == self.max_loss) & self.bounded
            low = np.where(at_top, self.last_slope, search.slope_low)
            return Samples(lower, upper, low, search.slope_high)

        return sample


class _Search:
    """The largest H(m) at some epsilons, from both sides, over both orders of the two laws."""

    def __init__(
        self, law: BinaryLaw, others: int, epsilon: Array, rtol: float, depth: float
    ) -> None:
        self._others, self._epsilon, self._rtol = others, epsilon, rtol
        self._negligible = math.exp(-depth)
        self._outer, self._inner = (
            [TwoBinomials(pair, others) for pair in _orders(law, side)]
            for side in (Side.UPPER, Side.LOWER)
        )
        self.lower, self.slope_low = np.zeros((2, len(epsilon)))
        self.slope_high = np.ones(len(epsilon))

    def run(self) -> tuple[Array, Array]:
        ranges = self._start()
        for _ in range(tuning.CUTS):
            rows = np.flatnonzero(ranges.bound > self._enough()[ranges.where])
            if len(rows):
                self._try_in(ranges.rows(rows[ranges.rows(rows).leading]))
            more = (ranges.bound > self._enough()[ranges.where]) & (ranges.last > ranges.first)
            if not 0 < more.sum() <= tuning.MOST_RANGES * len(self._epsilon):
                break
            new = self._bounded(*ranges.rows(np.flatnonzero(more)).cut(self._others))
            ranges = ranges.rows(np.flatnonzero(~more)).joined(new)
        upper = np.zeros(len(self._epsilon))
        np.maximum.at(upper, ranges.where, ranges.bound)
        return self.lower, upper

    def _enough(self) -> Array:
        """Bounds up to here need not be looked at: the width in epsilon, and a little of delta."""
        steep: Array = self._epsilon * np.exp(self._epsilon) * self.slope_low
        enough = self.lower + self._rtol * (0.5 * steep + 0.1 * self.lower)
        return np.maximum(enough, self._negligible)

    def _start(self) -> _Bounded:
        """Every m by itself, or narrow ranges at both ends and wide ones in the middle."""
        others, size, orders = self._others, len(self._epsilon), len(self._outer)
        near = np.arange(others + 2.0 if others < tuning.ALL_SINGLE else 1.0)
        if others >= tuning.ALL_SINGLE:
            near = np.clip(np.floor(np.array((0.0, *tuning.SHARES)) * others), 1.0, others)
        edges = np.unique([0.0, *near, *(others + 1 - near), others + 1.0])
        where = np.repeat(np.arange(size), orders * (len(edges) - 1))
        order = np.tile(np.repeat(np.arange(orders), len(edges) - 1), size)
        first, last = (np.tile(x, size * orders) for x in (edges[:-1], edges[1:] - 1))
        ends = np.flatnonzero((first == last) & ((first == 0) | (last == others)))
        self._learn(where[ends], order[ends], first[ends])
        return self._bounded(where, order, first, last)

    def _bounded(self, where: Index, order: Index, first: Array, last: Array) -> _Bounded:
        bound = np.zeros(len(where))
        for kind, engine in enumerate(self._outer):
            rows = np.flatnonzero(order == kind)
            if len(rows):
                ranges = Ranges(self._epsilon[where[rows]], first[rows], last[rows])
                bound[rows] = engine.upper(ranges)
        return _Bounded(where, order, first, last, bound)

    def _learn(self, where: Index, order: Index, m: Array) -> None:
        """H at single m from below; the largest at each epsilon counts, with its slope."""
        for kind, engine in enumerate(self._inner):
            rows = np.flatnonzero(order == kind)
            if not len(rows):
                continue
            at = where[rows]
            found = engine.single(Ranges(self._epsilon[at], m[rows], m[rows]))
            best = _largest(at, found.lower)
            best = best[found.lower[best] > self.lower[at[best]]]
            self.lower[at[best]] = found.lower[best]
            self.slope_low[at[best]] = found.slope_low[best]
            self.slope_high[at[best]] = found.slope_high[best]

    def _try_in(self, ranges: _Bounded) -> None:
        """Some single m of each range, from the nearer end on."""
        index = np.arange(tuning.TRIED_IN_RANGE)
        from_first = ranges.first < self._others - ranges.last
        start = np.where(from_first, ranges.first, ranges.last)
        m: Array = start[:, None] + np.where(from_first, 1.0, -1.0)[:, None] * index
        row, column = np.nonzero(index <= (ranges.last - ranges.first)[:, None])
        self._learn(ranges.where[row], ranges.order[row], m[row, column])


class _Bounded(NamedTuple):
    """Ranges of m, each of an epsilon and an order of the two laws, with upper bounds of H(m)."""

    where: Index
    order: Index
    first: Array
    last: Array
    bound: Array

    def rows(self, chosen: Index) -> _Bounded:
        first, last, bound = (column[chosen] for column in self[2:])
        return _Bounded(self.where[chosen], self.order[chosen], first, last, bound)

    def joined(self, other: _Bounded) -> _Bounded:
        where, order = (np.concatenate([self[i], other[i]]) for i in (0, 1))
        first, last, bound = (np.concatenate([self[i], other[i]]) for i in (2, 3, 4))
        return _Bounded(where, order, first, last, bound)

    @property
    def leading(self) -> Index:
        """The row with the largest bound of each epsilon."""
        return _largest(self.where, self.bound)

    def cut(self, others: int) -> tuple[Index, Index, Array, Array]:
        """Smaller ranges, the smallest ones towards the nearer end."""
        width = (self.last - self.first + 1)[:, None]
        shares = np.minimum((0.0, *tuning.CUT_AT, 1.0), 1.0)
        parts = np.ceil(width * np.sort(shares))
        from_first = (self.first < others - self.last)[:, None]
        up, down = self.first[:, None] + parts[:, :-1], self.last[:, None] + 1 - parts[:, 1:]
        start = np.where(from_first, up, down)
        end = start + np.diff(parts, axis=1) - 1
        row, column = np.nonzero(end >= start)
        return self.where[row], self.order[row], start[row, column], end[row, column]


def _largest(where: Index, value: Array) -> Index:
    """For each of the numbers in `where` the row with its largest value."""
    ranked = np.lexsort((value, where))
    best: Index = ranked[np.append(np.diff(where[ranked]) > 0, True)]
    return best


def _orders(law: BinaryLaw, side: Side) -> list[BinaryPair]:
    pair = law.pair(side)
    if pair.gap <= 0:
        return []
    return [pair] if law.symmetric else [pair, pair.flipped]
