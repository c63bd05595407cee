"""The law of a density, through the likelihood ratio of its worst pair of inputs, cut into cells.

With R(0) and R(1) the densities of the two ends of the input range, all that counts is how much of
either has which loss log R(0)/R(1). Cells of outputs that are merged to their means give laws
below the true one in convex order, cells that are split to their ends laws above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from . import tuning
from .classes import ClassLaw, ClassLaws

# proof constants: docs/theory.md, "Constants"
_LEAST = 1e-290  # shares below this are not told apart from 0
_HIDDEN = 1e-40  # a blanket mass so small that no other user of a round is ever there

Range = tuple[float, float]  # of losses


class Tails(NamedTuple):
    """Shares of the outputs whose loss log R(0)/R(1) is at least some values."""

    zero: Array  # for input 0
    one: Array  # for input 1
    rest: Array  # 1 - zero, the share of smaller losses, to the same relative precision
    error: Array  # relative error of all three


class Density(Protocol):
    """What of a randomizer of values in [0, 1] is used: see `DensityRandomizer`."""

    @property
    def max_loss(self) -> float: ...

    def tails(self, loss: Array) -> Tails: ...


class Cells(NamedTuple):
    """Outputs cut by loss at 0 = edges[0] < ... < edges[-1]; the last cell is all beyond."""

    edges: Array
    zero: Array  # mass of each cell for input 0
    one: Array  # and for input 1
    ratio: Array  # zero / one
    ratio_error: Array  # relative
    seen: NDArray[np.bool_]  # is any other user of a round ever in this cell, or beyond?
    mass_error: float  # relative


class _Scale(NamedTuple):
    """Which outputs count in a sum of scores e^loss: in bins of losses between edges, the share of
    the usual scores' squares in the variance and the hazard of the loss, both for a bin's width;
    and log(r - 1) from which on a score r outweighs all others together."""

    edges: Array
    share: Array
    hazard: Array
    reach: float


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
        return self._end()

    def thinned(self, rate: float) -> DensityLaw:
        return replace(self, rate=rate * self.rate)

    def worst(self, epsilon: float, users: int) -> DensityLaw:
        if not self.attained:
            return self
        both = self._attained(self._cells(tuning.ROUGH_WIDTH, tuning.ROUGH_DEPTH, users))
        return replace(self, order=int(both[1].spread(epsilon) > both[0].spread(epsilon)))

    @property
    def reversed(self) -> DensityLaw:
        return self if self.order is None else replace(self, order=1 - self.order)

    def enclosed(
        self, width: float, depth: float, users: int, alone: Range | None = None
    ) -> Enclosure:
        """By laws of cells whose profiles, with so many users, are about a relative `width` apart
        in epsilon; cut off where only e^-depth of the outputs are. `alone`: also where a score
        between these bounds, as losses, makes a sum large all alone."""
        cells = usual = self._cells(width, depth, users)
        if alone:
            cells = self._cells(width, depth, users, alone)
            usual = cells if users <= tuning.FEW else usual
        if not self.attained:
            return Enclosure(*(self._sent((law,)) for law in self._blanket(cells, usual)))
        laws = self._attained(cells)
        return Enclosure(self._sent(laws if self.order is None else (laws[self.order],)), None)

    def _sent(self, laws: tuple[ClassLaw, ...]) -> ClassLaws:
        return ClassLaws(laws) if self.rate == 1 else ClassLaws(laws).thinned(self.rate)

    def _end(self, depth: float = math.inf) -> float:
        """A loss that all but e^-depth of the outputs for input 0 stay below."""
        if self.bounded:
            return self.density.max_loss
        least = max(math.exp(-depth), _LEAST)

        def beyond(loss: float) -> bool:
            tails = self.density.tails(np.array([loss]))
            return bool(tails.zero[0] < least or tails.one[0] < _LEAST)

        low, high = 0.0, 1.0
        while not beyond(high):
            low, high = high, 2 * high
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return high

    def alone(self, depth: float, users: int) -> Callable[[float], Range | None]:
        """For a sum that scores must reach, which scores, as losses, may do so all alone; None if
        it is within some deviations. Sums of about the same size share their range."""
        edges, _, _, reach = self._scale(depth, users)
        end = float(edges[-1])
        # few users lose nearly all that is lost on average: usually there is less to reach
        seldom = math.log(max(2 * float(self.density.tails(np.zeros(1)).one[0]), 1e-3))

        def score(total: float) -> Range | None:
            size = min(math.log(max(total, 1e-300)), end)
            if size <= reach:
                return None
            if users <= tuning.FEW:  # whose scores may be anything
                return 0.0, math.inf
            first = math.floor((size - reach) / tuning.ALONE) * tuning.ALONE
            near = math.exp(-first)  # some deviations, as a share of the sum
            # two scores may share the sum; what exceeds it by more deviations is known to be big
            least = first - 1 + seldom + math.log1p(-min(1.25 * near, 0.9))
            most = first + tuning.ALONE + math.log1p(2.5 * near) + 0.5
            ends = np.logaddexp(0.0, [reach + least, reach + most])  # losses with r - 1 = e^size
            return float(ends[0]), float(ends[1])

        return score

    def _scale(self, depth: float, users: int) -> _Scale:
        end = self._end(depth + 4)
        edges = np.linspace(0.0, end, tuning.FINE + 1)
        tails, loss = self.density.tails(edges), (edges[1:] + edges[:-1]) / 2
        square = np.maximum(-np.diff(tails.zero), 0.0) * np.exp(loss - end)
        spread = square * np.expm1(-loss) ** 2  # of r - 1
        # of scores that some users have; what is rarer has no part in the deviation of a sum
        some = users * self.rate * tails.one[:-1] >= tuning.SOME
        squares = users * self.rate * float(spread @ some)
        reach = math.log(tuning.REACH) + (math.log(max(squares, 1e-300)) + end) / 2
        reach = reach if reach < end + math.log(-math.expm1(-end)) else math.inf  # no score does
        size = np.minimum(loss + np.log(-np.expm1(-loss)) - reach, 2.5)
        usual = np.exp(-np.exp(2 * size) / 2)
        share, variance = square * usual, float(spread @ usual + tails.zero[-1])
        hazard = -np.diff(tails.one) / np.maximum(tails.one[1:], _LEAST)
        return _Scale(edges, share / max(variance, 1e-300), np.maximum(hazard, 0.0), reach)

    def _edges(self, width: float, depth: float, users: int, alone: Range | None) -> Array:
        """Losses that part cells, near each other where these would widen a profile.

        With r = e^loss, cells of width h move r by h r and, as long as no score outweighs all
        others, add h^2/4 of its square to the variance of the scores, which is twice as much as
        they add to epsilon: there h goes with the third root of its share in the variance. What
        larger scores count is a stop-loss of one of them, which h^2 moves by h^2/4 times the
        hazard of the loss.
        """
        edges, share, hazard, _ = self._scale(depth, users)
        gap, loss = edges[1], (edges[1:] + edges[:-1]) / 2
        root = np.cbrt(share / gap)
        count = root * math.sqrt(float(root.sum()) * gap / (8 * width))  # in each unit of loss
        if alone:
            inside = (alone[0] < loss) & (loss < alone[1])
            # a sum of such a score has about this epsilon, and width is relative to it
            epsilon = np.maximum(loss - math.log(users), 1.0)
            count = np.maximum(count, inside * np.sqrt(hazard / gap / (4 * width * epsilon)))
        count = np.maximum(count, tuning.FEWEST_CELLS / edges[-1])
        place = np.append(0.0, np.cumsum(count * gap))
        number = math.ceil(min(place[-1], tuning.MOST_CELLS))
        chosen: Array = np.interp(np.linspace(0, place[-1], number + 1), place, edges)
        chosen[0], chosen[-1] = 0.0, edges[-1]
        return chosen

    def _cells(self, width: float, depth: float, users: int, alone: Range | None = None) -> Cells:
        edges = self._edges(width, depth, users, alone)
        tails = self.density.tails(edges)
        zero, one = (np.append(-np.diff(tail), tail[-1]) for tail in tails[:2])
        # where nearly all losses are larger, a difference of the shares of smaller ones is precise
        few = tails.rest[1:] < tails.zero[:-1]
        zero[:-1] = np.where(few, np.diff(tails.rest), zero[:-1])
        of_zero = np.append(np.where(few, tails.rest[1:], tails.zero[:-1]), tails.zero[-1])
        error = np.append(tails.error[1:] + tails.error[:-1], tails.error[-1])
        errors = [error * tail / mass for tail, mass in ((of_zero, zero), (tails.one, one))]
        slack = errors[0] + errors[1] + 16 * UNIT * (1 + edges)
        seen = tails.one > _HIDDEN
        seen[:2] = True
        return Cells(edges, zero, one, zero / one, slack, seen, float(slack.max()))

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
