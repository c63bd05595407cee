"""Compositions for numbers of senders between some for which they are known.

What hides a user are those others who do, each with some probability q. So a composition falls from
r senders to r + 1 by a mean of binomial masses, whose logarithms bend, as functions of r, by no
more than a known constant: a sum of them does not either. Sums of such falls over neighbouring
ranges of r say how they are spread within each.

Theory: docs/theory/bundles.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from ..profiles.base import Sampler
from ..profiles.samples import Samples
from ..profiles.sender_count import bernstein
from ..profiles.subsampled import magnified

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
    """Counts a < b, with those that are known `before` a and `after` b, or a and b themselves."""

    before: int
    few: int
    many: int
    after: int


class Known(NamedTuple):
    """A composition at some epsilons."""

    lower: Array
    upper: Array


#: At which epsilons a composition of so many senders is asked for.
Evaluate = Callable[[int], Known]


@dataclass(frozen=True)
class Hiding:
    """Compositions of `rounds` rounds in each of which every other sender hides the user with
    probability `chance`."""

    chance: float
    rounds: int
    #: References do not depend on epsilon, and are most of the work of many senders.
    _made: dict[tuple[Nodes, float, Side, bytes], _Reference] = field(
        default_factory=dict, compare=False, repr=False
    )

    def upper(self, nodes: Nodes, count: Counts, at: Evaluate) -> Array:
        """Bounds at counts from a to b, a row each; of a composition there are as many rows."""
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
        """Of the range between the nodes a and b and of the one after it, or before it."""
        key = nodes, bend, side, count.tobytes()
        if key not in self._made:
            self._made[key] = _Reference(nodes, bend, side, count - nodes.few)
        return self._made[key]

    def _bends(self, first: int, last: int) -> Iterator[_Bends]:
        """For counts from the first to the last, with more or fewer others who hide the user."""
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
    """Compositions for numbers of senders, at the epsilons that belong to some shares of all users,
    a row each, with epsilons rounded to a side."""

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
        return self._at(senders).slope_low.reshape(self._epsilon.shape)


class _Bends(NamedTuple):
    """How much logarithms of falls may bend downwards from one count to the next; and falls that
    may bend more, for each count and as a share of the composition."""

    bend: float
    missed: float

    def between(self, nodes: Nodes, few: Known, many: Known) -> tuple[Array, Array]:
        """Between a and b, the most that falls that may bend more add up to, and the least that the
        others do."""
        missed = (self.missed * (nodes.many - nodes.few) + _DIFFERENCE) * few.upper
        return missed, few.lower - many.upper - missed


class _Reference:
    """Falls whose logarithms bend by just that, with several slopes, over two neighbouring ranges:
    the ratio of their sums, and the share of so many first steps in the range from a to b."""

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
        """The share in the first range, if the falls of the second are at most so many times as
        large."""
        slope = np.searchsorted(self._ratio, ratio * (1 + _ROUNDING))
        shares = np.vstack([self._shares, np.zeros(len(self._columns))])
        found: Array = shares[slope, self._columns] * (1 - _ROUNDING)
        return found

    def at_most(self, ratio: Array) -> Array:
        """The share in the second range, if its falls are at least so many times as large as those
        of the first."""
        slope = np.searchsorted(self._ratio, ratio * (1 - _ROUNDING), side="right")
        shares = np.vstack([np.ones(len(self._columns)), self._shares])
        found: Array = shares[slope, self._columns] * (1 + _ROUNDING)
        return np.minimum(found, 1.0)


def _shares(falls: Array, steps: Counts) -> Array:
    """The share of so many first ones in each row: [rows, steps]."""
    sums = np.pad(np.cumsum(falls, axis=1), ((0, 0), (1, 0)))
    shares: Array = sums[:, steps] / sums[:, -1:]
    return shares


def _quotient(above: Array, below: Array, otherwise: float) -> Array:
    """Of what is at least 0 and what is positive, or something else."""
    quotient = np.full(above.shape, otherwise)
    with np.errstate(over="ignore"):
        np.divide(np.maximum(above, 0.0), below, out=quotient, where=below > 0)
    return quotient
