"""The law of a density, through the likelihood ratio of its worst pair of inputs, cut into cells.

With R(0) and R(1) the densities of the two ends of the input range, all that counts is how much of
either has which loss log R(0)/R(1). Cells of outputs that are merged to their means give laws
below the true one in convex order, cells that are split to their ends laws above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from . import tuning
from .cells import Cells, Cutting, Density, Range, end_of
from .classes import ClassLaw, ClassLaws


class Enclosure(NamedTuple):
    """Laws whose profiles are lower bounds of the profile of a density, and laws whose profiles
    are upper bounds of it."""

    below: ClassLaws
    above: ClassLaws


@dataclass(frozen=True)
class DensityLaw:
    """The blanket's law of a density, or, `attained`, of datasets in which the others hold an end
    of the input range. With probability 1 - `rate` a message is empty."""

    density: Density
    attained: bool = False
    rate: float = 1.0
    order: int | None = None  # of the differing user's values, if only one counts: 0 or 1

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.density.max_loss)

    @cached_property
    def max_loss(self) -> float:
        return end_of(self.density)

    def thinned(self, rate: float) -> DensityLaw:
        return replace(self, rate=rate * self.rate)

    def worst(self, epsilon: float, users: int) -> DensityLaw:
        if not self.attained:
            return self
        cells = self.cut(tuning.ROUGH_WIDTH, tuning.ROUGH_DEPTH, users).usual
        both = [self._attained_below(cells, order, users) for order in (0, 1)]
        return replace(self, order=int(both[1].spread(epsilon) > both[0].spread(epsilon)))

    @property
    def reversed(self) -> DensityLaw:
        return self if self.order is None else replace(self, order=1 - self.order)

    def cut(self, width: float, depth: float, users: int) -> Cutting:
        """Into cells such that the profiles of `enclosed`, with so many users, are about a relative
        width apart in epsilon; cut off where only e^-depth of the outputs are."""
        return Cutting(self.density, self.rate, users, width, depth)

    def enclosed(self, cutting: Cutting, alone: Range | None = None) -> Enclosure:
        """By laws of cells; `alone`: also where a score between these bounds, as losses, makes a
        sum large all alone."""
        cells = usual = cutting.usual
        if alone:
            cells = cutting.cells(alone)
            usual = cells if cutting.few else usual
        if not self.attained:
            return Enclosure(*(self._sent((law,)) for law in self._blanket(cells, usual)))
        orders = (0, 1) if self.order is None else (self.order,)
        below, above = (
            self._sent(tuple(bound(cells, order, cutting.users) for order in orders))
            for bound in (self._attained_below, self._attained_above)
        )
        return Enclosure(below, above)

    def _sent(self, laws: tuple[ClassLaw, ...]) -> ClassLaws:
        return ClassLaws(laws) if self.rate == 1 else ClassLaws(laws).thinned(self.rate)

    def _blanket(self, cells: Cells, mirror: Cells) -> tuple[ClassLaw, ClassLaw]:
        """Laws below and above the blanket's in convex order, up to rounding to the safe side; by
        these cells where the loss is positive and by those in the `mirror` where it is negative.

        Where the loss is positive, omega is R(1) and the score is r - alpha with r = R(0)/R(1);
        where it is negative, the score is 1 - alpha r with r = R(1)/R(0) of the same law. So all
        that is needed is the law of r: cells merged to their means, or split to their ends.
        """
        error = max(cells.mass_error, mirror.mass_error)
        lowered = _merged(mirror.ratio * (1 + mirror.ratio_error), mirror.one, mirror.seen)
        below = _law((_capped(cells), cells.one), lowered, error)
        high, low = self._split_ratios(cells, Side.UPPER), self._split_ratios(mirror, Side.LOWER)
        # what is cut off tells everything
        rest = 0.0 if self.bounded else float(cells.zero[-1]) * (1 + error)
        return below, _law(high, (low[0], low[1] * mirror.seen), error, rest)

    def _split_ratios(self, cells: Cells, side: Side) -> tuple[Array, Array]:
        """The ratios r >= 1 at the ends of the cells, rounded to this side, and the mass that each
        of them gets if the cells are split; without the mass beyond the last finite ratio."""
        edges = np.exp(cells.edges) * (1 + side * 8 * UNIT * (1 + cells.edges))
        mass = cells.one if self.bounded else np.append(cells.one[:-1], 0.0)
        return edges, _split(cells.ratio * (1 + side * cells.ratio_error), mass, edges)

    def _attained_below(self, cells: Cells, order: int, users: int) -> ClassLaw:
        """A law below that of datasets in which all others hold 0: cells merged to their means.

        The score is affine in s = R(1)/R(0): 1 - alpha s in order 0 and s - alpha in order 1. Where
        the loss is positive, s is below 1; where it is negative, s is the ratio in the mirror image
        and the mass of R(0) is that of R(1) there. A lower bound needs scores that are not too
        large, so that s is rounded up in order 0 and down in order 1.
        """
        side = Side.LOWER if order else Side.UPPER
        small = (1 + side * cells.ratio_error) / cells.ratio
        large = _capped(cells) if order else cells.ratio * (1 + cells.ratio_error)
        points, mass = np.append(small, large), np.append(cells.zero, cells.one)
        return _pair(points, mass, order, users, cells.mass_error)

    def _attained_above(self, cells: Cells, order: int, users: int) -> ClassLaw:
        """A law above it: cells split to their ends, s rounded down in order 0 and up in order 1.

        Outputs with a ratio beyond the last finite edge score 0 instead of less in order 0, and
        tell everything in order 1.
        """
        side = Side.UPPER if order else Side.LOWER
        large, mirrored = self._split_ratios(cells, side)
        small = np.exp(-cells.edges) * (1 + side * 8 * UNIT * (1 + cells.edges))
        mean, mass = (1 + side * cells.ratio_error) / cells.ratio, cells.zero
        if not self.bounded:  # the last cell reaches down to s = 0
            small, mean, mass = np.append(small, 0.0), np.append(mean, 0.0), np.append(mass, 0.0)
        points = np.append(small, large)
        masses = np.append(_split(mean, mass, small), mirrored)
        rest = 0.0 if self.bounded else order * float(cells.zero[-1]) * (1 + cells.mass_error)
        return _pair(points, masses, order, users, cells.mass_error, rest)


def _capped(cells: Cells) -> Array:
    """Mean ratio of each cell, rounded down, in the last cell no more than at its edge."""
    ratio = cells.ratio * (1 - cells.ratio_error)
    ratio[-1] = min(ratio[-1], math.exp(cells.edges[-1]) * (1 - cells.ratio_error[-1]))
    return ratio


def _merged(ratio: Array, mass: Array, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The cells that nobody is ever in become one."""
    if (hidden := mass[~seen].sum()) == 0:
        return ratio, mass
    merged = float(ratio[~seen] @ mass[~seen]) / hidden
    return np.append(ratio[seen], merged), np.append(mass[seen], hidden)


def _split(mean: Array, mass: Array, edges: Array) -> Array:
    """Mass at each edge, rising or falling, after moving every cell's to its two ends, its mean
    kept."""
    gap = edges[1:] - edges[:-1]
    up = np.clip((mean[:-1] - edges[:-1]) / np.where(gap != 0, gap, 1.0), 0.0, 1.0)
    split: Array = np.append(mass[:-1] * (1 - up), 0.0)
    split[1:] += mass[:-1] * up
    split[-1] += mass[-1]  # the atom at the largest loss
    return split


def _law(
    positive: tuple[Array, Array], negative: tuple[Array, Array], error: float, rest: float = 0.0
) -> ClassLaw:
    """The law of scores r - alpha and 1 - alpha r, with the given r and their masses."""
    (high, mass), (low, other) = positive, negative
    both = np.stack([high * mass, mass, mass]), np.stack([other, low * other, other])
    return _class_law(np.concatenate(both, axis=1), error, rest)


def _pair(
    points: Array, mass: Array, order: int, users: int, error: float, rest: float = 0.0
) -> ClassLaw:
    """The law if the others hold 0, from values s of R(1)/R(0) and their masses under R(0).

    In order 0 no score exceeds 1, so that n scores 1 - alpha s with one s >= n have no positive
    sum: larger values of s than 2n change nothing for alpha >= 1, but would cost digits.
    """
    one = (points if order else np.minimum(points, 2.0 * users)) * mass
    return _class_law(np.stack([one, mass, mass] if order else [mass, one, mass]), error, rest)


def _class_law(rows: Array, error: float, rest: float) -> ClassLaw:
    """Of the masses u, v and that of the blanket, and what no blanket covers."""
    rows = rows[:, rows[2] > 0]
    if rest > 0:
        rows = np.append(rows, [[rest], [0.0], [0.0]], axis=1)
    u, v, blanket = (tuple(row.tolist()) for row in rows)
    return ClassLaw(u, v, blanket, error)
