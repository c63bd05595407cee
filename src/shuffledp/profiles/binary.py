"""The profile of rounds of binary messages: the largest over what the other users may hold.

The worst datasets have two values only: m of the n - 1 others send 1 with probability p, the rest
with probability q. Every m is in some range whose upper bound was evaluated; ranges that may hold
more than the largest H(m) found are cut into smaller ones (docs/theory.md, "Binary messages").
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array, Side
from ..engines.tilted_bits import Ranges
from ..engines.two_binomials import TwoBinomials
from ..laws.binary import BinaryLaw
from . import tuning
from .base import PrivacyProfile, Sampler
from .samples import Samples


@dataclass(frozen=True)
class BinaryProfile(PrivacyProfile):
    """Exact profile of a shuffled round of `users` users who send one of two messages."""

    law: BinaryLaw
    users: int

    @property
    def has_slopes(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        return self.law.max_loss(self.users)

    @property
    def bounded(self) -> bool:
        return self.law.bounded

    def sampler(self, depth: float, rtol: float) -> Sampler:
        def sample(epsilon: Array) -> Samples:
            epsilon = np.asarray(epsilon, dtype=float)
            inside = self.some_left(epsilon)
            found = _Search(self.law, self.users - 1, epsilon, rtol, depth).run()
            return Samples(
                found.lower * inside, found.upper * inside, found.slope_low, found.slope_high
            )

        return sample


class _Search:
    """The largest H(m) at some epsilons, from both sides, over both orders of the two laws."""

    def __init__(
        self, law: BinaryLaw, others: int, epsilon: Array, rtol: float, depth: float
    ) -> None:
        self._others, self._epsilon, self._rtol = others, epsilon, rtol
        self._outer, self._inner = (
            [TwoBinomials(pair, others) for pair in _orders(law, side)]
            for side in (Side.UPPER, Side.LOWER)
        )
        self._negligible = math.exp(-depth)
        size = len(epsilon)
        self.lower, self.slope_low, self.slope_high = np.zeros((3, size))
        self.slope_high += 1.0
        # ranges: epsilon, order, first, last, upper bound
        self._where = self._order = np.zeros(0, dtype=np.intp)
        self._first = self._last = self._bound = np.zeros(0)

    def run(self) -> Samples:
        self._start()
        for _ in range(tuning.CUTS):
            wide = self._bound > self._enough()[self._where]
            if not wide.any():
                break
            self._try_in(np.flatnonzero(wide))
            wide = self._bound > self._enough()[self._where]
            wide &= self._last > self._first
            if not wide.any() or wide.sum() > tuning.MOST_RANGES * len(self._epsilon):
                break
            self._cut(np.flatnonzero(wide))
        upper = np.zeros(len(self._epsilon))
        np.maximum.at(upper, self._where, self._bound)
        return Samples(self.lower, upper, self.slope_low, self.slope_high)

    def _enough(self) -> Array:
        """Bounds up to here need not be looked at: the width in epsilon, and a little of delta."""
        steep: Array = self._epsilon * np.exp(self._epsilon) * self.slope_low
        enough = self.lower + self._rtol * (0.5 * steep + 0.1 * self.lower)
        return np.maximum(enough, self._negligible)

    def _start(self) -> None:
        """Narrow ranges at both ends, wide ones in the middle."""
        others, size = self._others, len(self._epsilon)
        if others < tuning.ALL_SINGLE:
            first = last = np.arange(others + 1.0)
        else:
            shares = np.array(tuning.SHARES)
            near = np.concatenate([[0.0, 1.0], np.maximum(np.floor(shares * others), 1.0)])
            edges = np.unique(np.concatenate([near, others - near + 1, [others + 1.0]]))
            first, last = edges[:-1], edges[1:] - 1
        kinds = len(self._outer)
        where = np.repeat(np.arange(size), kinds * len(first))
        order = np.tile(np.repeat(np.arange(kinds), len(first)), size)
        self._add(where, order, np.tile(first, size * kinds), np.tile(last, size * kinds))
        ends = (first == 0) | (last == others)
        chosen = np.tile(ends, size * kinds) & (np.tile(first == last, size * kinds))
        self._learn(where[chosen], order[chosen], np.tile(first, size * kinds)[chosen])

    def _add(
        self, where: NDArray[np.intp], order: NDArray[np.intp], first: Array, last: Array
    ) -> None:
        bound = np.zeros(len(where))
        for kind, engine in enumerate(self._outer):
            rows = np.flatnonzero(order == kind)
            ranges = Ranges(self._epsilon[where[rows]], first[rows], last[rows])
            bound[rows] = engine.upper(ranges)
        self._where = np.concatenate([self._where, where])
        self._order = np.concatenate([self._order, order])
        self._first, self._last = (
            np.concatenate(pair) for pair in ((self._first, first), (self._last, last))
        )
        self._bound = np.concatenate([self._bound, bound])

    def _learn(self, where: NDArray[np.intp], order: NDArray[np.intp], m: Array) -> None:
        """H at single m from below; the largest at each epsilon counts, with its slope."""
        for kind, engine in enumerate(self._inner):
            rows = np.flatnonzero(order == kind)
            at = where[rows]
            found = engine.single(Ranges(self._epsilon[at], m[rows], m[rows]))
            ranked = np.lexsort((found.lower, at))
            best = ranked[np.append(np.diff(at[ranked]) > 0, True)] if len(ranked) else ranked
            best = best[found.lower[best] > self.lower[at[best]]]
            for mine, new in zip((self.lower, self.slope_low, self.slope_high), found, strict=True):
                mine[at[best]] = new[best]

    def _try_in(self, rows: NDArray[np.intp]) -> None:
        """Single m in the range with the largest bound at each epsilon."""
        ranked = rows[np.lexsort((self._bound[rows], self._where[rows]))]
        best = ranked[np.append(np.diff(self._where[ranked]) > 0, True)]
        width = np.minimum(self._last[best] - self._first[best] + 1, tuning.TRIED_IN_RANGE)
        low_end = self._first[best] < self._others - self._last[best]
        index = np.arange(tuning.TRIED_IN_RANGE)
        m = np.where(
            low_end[:, None], self._first[best][:, None] + index, self._last[best][:, None] - index
        )
        used = index < width[:, None]
        rows_of = np.repeat(best, used.sum(axis=1))
        self._learn(self._where[rows_of], self._order[rows_of], m[used])

    def _cut(self, rows: NDArray[np.intp]) -> None:
        first, last = self._first[rows], self._last[rows]
        parts = tuning.PARTS
        edges = first[:, None] + np.floor(
            (last - first + 1)[:, None] * np.arange(parts + 1) / parts
        )
        starts, ends = edges[:, :-1], edges[:, 1:] - 1
        some = ends >= starts
        keep = np.ones(len(self._where), dtype=bool)
        keep[rows] = False
        where = np.repeat(self._where[rows], some.sum(axis=1))
        order = np.repeat(self._order[rows], some.sum(axis=1))
        for name in ("_where", "_order", "_first", "_last", "_bound"):
            setattr(self, name, getattr(self, name)[keep])
        self._add(where, order, starts[some], ends[some])


def _orders(law: BinaryLaw, side: Side):  # type: ignore[no-untyped-def]
    pair = law.pair(side)
    if pair.gap <= 0:
        return []
    return [pair] if law.symmetric else [pair, pair.flipped]
