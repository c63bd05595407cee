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
    """Laws whose profiles lie below one that is searched for, and laws whose profiles lie above;
    None if only values from below are wanted."""

    below: ClassLaws
    above: ClassLaws | None


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
        both = self._attained(self.cut(tuning.ROUGH_WIDTH, tuning.ROUGH_DEPTH, users).usual)
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
            usual = cells if cutting.users <= tuning.FEW else usual
        if not self.attained:
            return Enclosure(*(self._sent((law,)) for law in self._blanket(cells, usual)))
        laws = self._attained(cells)
        return Enclosure(self._sent(laws if self.order is None else (laws[self.order],)), None)

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
        sides, rest = [], 0.0
        for part, side in ((cells, Side.UPPER), (mirror, Side.LOWER)):
            mass = part.one
            if not self.bounded:  # what is cut off tells everything
                rest, mass = float(part.zero[-1]) * (1 + error), np.append(mass[:-1], 0.0)
            edges = np.exp(part.edges) * (1 + side * 8 * UNIT * (1 + part.edges))
            split = _split(part.ratio * (1 + side * part.ratio_error), mass, edges)
            sides.append((edges, split if side is Side.UPPER else split * part.seen))
        return below, _law(sides[0], sides[1], error, rest)

    def _attained(self, cells: Cells) -> tuple[ClassLaw, ...]:
        """All others hold 0: merged cells, which can only lower the divergence, in both orders."""
        ratio, slack = cells.ratio, cells.ratio_error
        # R(1)/R(0) where the loss is negative, as in the mirror image, and the mass of R(0) there
        raised = _merged(ratio * (1 + slack), cells.one, cells.seen)
        lowered = _capped(cells), cells.one
        laws = []
        for side, (negative, mirrored) in ((1, raised), (-1, lowered)):
            other = np.concatenate([(1 + side * slack) / ratio, negative])
            mass = np.concatenate([cells.zero, mirrored])
            u, v = tuple(mass.tolist()), tuple((mass * other).tolist())
            law = ClassLaw(u, v, u, cells.mass_error)
            laws.append(law if side > 0 else law.reversed)
        return tuple(laws)


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
    """Mass at each edge after moving every cell's to its two ends, its mean kept."""
    gap = edges[1:] - edges[:-1]
    up = np.clip((mean[:-1] - edges[:-1]) / np.where(gap > 0, gap, 1.0), 0.0, 1.0)
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
    rows = np.concatenate(both, axis=1)
    rows = rows[:, rows[2] > 0]
    if rest > 0:
        rows = np.append(rows, [[rest], [0.0], [0.0]], axis=1)
    u, v, blanket = (tuple(row.tolist()) for row in rows)
    return ClassLaw(u, v, blanket, error)
