"""The law of a density, through the likelihood ratio of its worst pair of inputs, cut into cells.

With R(0) and R(1) the densities of the two ends of the input range, a profile depends only on the
laws of the loss log R(0)/R(1) under either of them. Cells of outputs that are merged to their means
give laws below the true one in convex order, and cells that are split to their ends laws above it.
Where cells begin and end changes the width of a bracket only.

Theory: docs/theory/densities.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from .. import tuning
from .._support.numeric import UNIT, Array, Side
from .class_law import ClassLaw, ClassLaws

# proof constants: docs/theory/constants.md
LEAST = 1e-290  # shares below this are treated as 0


class Tails(NamedTuple):
    """Shares of the outputs whose loss log R(0)/R(1) is at least given values, shape [losses]."""

    zero: Array  # for input 0
    one: Array  # for input 1
    rest: Array  # 1 - zero, the share of smaller losses, to the same relative precision
    error: Array  # relative error of all three


class Density(Protocol):
    """What is used of a randomizer of values in [0, 1]: see `DensityRandomizer`."""

    @property
    def max_loss(self) -> float: ...

    def tails(self, loss: Array) -> Tails: ...


class CellMasses(NamedTuple):
    """Outputs cut by loss at 0 = edges[0] < ... < edges[-1]; the last cell is all beyond."""

    edges: Array
    zero: Array  # mass of each cell for input 0
    one: Array  # and for input 1
    ratio: Array  # zero / one
    ratio_error: Array  # relative
    mass_error: float  # relative


class _WideningByLoss(NamedTuple):
    """How much cells at each loss widen a profile, in equal bins of losses between `edges`.

    `widening` is the relative widening of E[(S)_+] over h^2/8 for cells of width h, `hazard` the
    hazard of the loss, both per bin.
    """

    edges: Array
    widening: Array
    hazard: Array


def largest_loss(density: Density, depth: float = math.inf) -> float:
    """A loss beyond which at most e^-depth of the outputs for input 0 are, or the largest one.

    Parameters
    ----------
    density : Density
    depth : float
        By default e^-depth is 1e-290. It is also enough if only 1e-290 of the outputs for input 1
        are beyond: of smaller shares the ratio would lose its digits. For Gaussian noise of sigma =
        0.1 as many as 4e-154 of the outputs for input 0 are beyond then.
    """
    if math.isfinite(density.max_loss):
        return density.max_loss
    least = max(math.exp(-depth), LEAST)

    def is_beyond(loss: float) -> bool:
        tails = density.tails(np.array([loss]))
        return bool(tails.zero[0] < least or tails.one[0] < LEAST)

    low, high = 0.0, 1.0
    while not is_beyond(high):
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return high


def _cell_masses(density: Density, edges: Array) -> CellMasses:
    """The masses of cells between these edges, with their errors."""
    tails = density.tails(edges)
    zero, one = (np.append(-np.diff(tail), tail[-1]) for tail in tails[:2])
    # where nearly all losses are larger, a difference of the shares of smaller ones is precise
    by_rest = tails.rest[1:] < tails.zero[:-1]
    zero[:-1] = np.where(by_rest, np.diff(tails.rest), zero[:-1])
    of_zero = np.append(np.where(by_rest, tails.rest[1:], tails.zero[:-1]), tails.zero[-1])
    error = np.append(tails.error[1:] + tails.error[:-1], tails.error[-1])
    errors = [error * tail / mass for tail, mass in ((of_zero, zero), (tails.one, one))]
    both = errors[0] + errors[1]
    # of a quotient, and more than the roundings of e^edge at either end of a cell
    slack = both * (1 + 2 * both) + 16 * UNIT * (1 + np.append(edges[1:], edges[-1]))
    return CellMasses(edges, zero, one, zero / one, slack, float(slack.max()))


def _widening_by_loss(density: Density, senders: float, depth: float) -> _WideningByLoss:
    """Where narrow cells pay off, from a table of 800 bins of the loss.

    About `senders` users send a message, and outputs are cut off where e^-depth of them remain.
    """
    end = largest_loss(density, depth + 4)
    edges = np.linspace(0.0, end, 801)
    tails, loss = density.tails(edges), (edges[1:] + edges[:-1]) / 2
    square = np.maximum(-np.diff(tails.zero), 0.0) * np.exp(loss - end)
    spread = square * np.expm1(-loss) ** 2  # of r - 1
    # scores that less than a tenth of a user has have no part in the deviation of a sum
    squares = senders * float(spread @ (senders * tails.one[:-1] >= 0.1))
    log_deviation = (math.log(max(squares, 1e-300)) + end) / 2
    # four standard deviations of a sum: larger scores outweigh all others together
    reach = math.log(4.0) + log_deviation
    reach = reach if reach < end + math.log(-math.expm1(-end)) else math.inf  # no score does
    log_score = loss + np.log(-np.expm1(-loss))
    usual = np.exp(-np.exp(2 * np.minimum(log_score - reach, 2.5)) / 2)
    variance = max(float(spread @ usual + tails.zero[-1]), 1e-300)
    # log E[(S)_+]: of a normal sum, and with the scores that outweigh it
    normal = log_deviation - math.log(2 * math.pi) / 2
    beyond = np.append(log_score > reach, reach < math.inf)
    large = senders * float(-np.diff(tails.zero, append=0.0) @ beyond)
    total = np.logaddexp(normal, math.log(max(large, 1e-300)))
    # The density of the others' sum at minus a large score is that of one score as large, and
    # nowhere more than that of a normal sum at its centre. Without this term, and that of the
    # rare scores above, Gaussian noise takes 1.2 times as long and little noise of few users
    # (sigma = 0.15) misses its width.
    log_mass = np.log(np.maximum(-senders * np.diff(tails.one), LEAST))
    cancelling = np.minimum(log_mass - math.log(edges[1]) - loss, normal - 2 * log_deviation)
    widening = np.maximum(
        square * usual / variance * math.exp(normal - total),
        np.exp(np.minimum(log_mass + 2 * loss + cancelling - total, 600.0)),
    )
    hazard = -np.diff(tails.one) / np.maximum(tails.one[1:], LEAST)
    return _WideningByLoss(edges, widening, np.maximum(hazard, 0.0))


def _cell_edges(found: _WideningByLoss, users: int, width: float) -> Array:
    """Losses that separate cells, close to each other where cells would widen a profile.

    With r = e^loss, cells of width h move r by h r and, as long as no score outweighs all
    others, increase E[r^2] by a relative h^2/4, and epsilon by half of its share in the variance
    of the scores: there h is inversely proportional to the third root of that share. The same
    holds of larger scores, with the density of the others' sum where it cancels them. If
    a single score has to reach a sum, it contributes a stop-loss, which cells move by h^2/4
    times the hazard of the loss.
    """
    edges, widening, hazard = found
    gap, loss = edges[1], (edges[1:] + edges[:-1]) / 2
    root = np.cbrt(widening / gap)
    count = root * math.sqrt(float(root.sum()) * gap / (8 * width))  # per unit of loss
    # a sum that such a score reaches has about this epsilon, and the width is relative to it;
    # these profiles come out narrower than asked for, so that 6 takes the place of 4
    epsilon = np.maximum(loss - math.log(users), 1.0)
    count = np.maximum(count, np.sqrt(hazard / gap / (6 * width * epsilon)))
    count = np.maximum(count, 24 / edges[-1])  # at least 24 cells
    place = np.append(0.0, np.cumsum(count * gap))
    number = math.ceil(min(place[-1], tuning.MOST_CELLS))
    chosen: Array = np.interp(np.linspace(0, place[-1], number + 1), place, edges)
    chosen[0], chosen[-1] = 0.0, edges[-1]
    return chosen


class Enclosure(NamedTuple):
    """Laws with lower bounds of the profile of a density, and laws with upper bounds of it."""

    below: ClassLaws
    above: ClassLaws


@dataclass(frozen=True)
class DensityLaw:
    """The law of a density of values in [0, 1].

    Parameters
    ----------
    density : Density
    attained : bool
        Whether the other users hold an end of the input range, instead of a blanket.
    rate : float
        With probability 1 - rate a message is empty.
    order : int, optional
        The order of the differing user's values, 0 or 1, if only one counts.
    """

    density: Density
    attained: bool = False
    rate: float = 1.0
    order: int | None = None

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.density.max_loss)

    @cached_property
    def max_loss(self) -> float:
        return largest_loss(self.density)

    def thinned(self, rate: float) -> DensityLaw:
        return replace(self, rate=rate * self.rate)

    def worst(self, epsilon: float, users: int) -> DensityLaw:
        if not self.attained:
            return self
        cells = self.cells(0.02, 40.0, users)  # a rough comparison
        both = [self._attained_below(cells, order, users) for order in (0, 1)]
        return replace(self, order=int(both[1].spread(epsilon) > both[0].spread(epsilon)))

    @property
    def reversed(self) -> DensityLaw:
        return self if self.order is None else replace(self, order=1 - self.order)

    def cells(self, width: float, depth: float, users: int) -> CellMasses:
        """Cells with which `enclosed` has profiles about a relative `width` apart in epsilon.

        Outputs are cut off where only e^-depth of them remain.
        """
        widening = _widening_by_loss(self.density, self.rate * users, depth)
        return _cell_masses(self.density, _cell_edges(widening, users, width))

    def enclosed(self, cells: CellMasses, users: int) -> Enclosure:
        """Laws over cells below and above this law, of a round of users."""
        if not self.attained:
            return Enclosure(
                *(self._thinned_laws((law,)) for law in self._enclosing_blankets(cells))
            )
        orders = (0, 1) if self.order is None else (self.order,)
        below, above = (
            self._thinned_laws(tuple(bound(cells, order, users) for order in orders))
            for bound in (self._attained_below, self._attained_above)
        )
        return Enclosure(below, above)

    def _thinned_laws(self, laws: tuple[ClassLaw, ...]) -> ClassLaws:
        return ClassLaws(laws) if self.rate == 1 else ClassLaws(laws).thinned(self.rate)

    def _enclosing_blankets(self, cells: CellMasses) -> tuple[ClassLaw, ClassLaw]:
        """Laws below and above the blanket's in convex order, up to rounding to the safe side.

        Where the loss is positive, omega is R(1) and the score is r - alpha with r = R(0)/R(1);
        where it is negative, the score is 1 - alpha r with r = R(1)/R(0) of the same law. So all
        that is needed is the law of r: cells merged to their means, or split to their ends.
        """
        error = cells.mass_error
        # the score 1 - alpha r is rounded down
        raised = cells.ratio * (1 + cells.ratio_error), cells.one
        below = _law_of_ratios((_capped_ratio(cells), cells.one), raised, error)
        high, low = (self._split_ratios(cells, side) for side in (Side.UPPER, Side.LOWER))
        # outputs that are cut off reveal everything
        rest = 0.0 if self.bounded else float(cells.zero[-1]) * (1 + error)
        return below, _law_of_ratios(high, low, error, rest)

    def _split_ratios(self, cells: CellMasses, side: Side) -> tuple[Array, Array]:
        """The ratios r >= 1 at the ends of the cells, and the mass that each gets by splitting.

        Ratios are rounded to this side. The mass beyond the last finite ratio is left out.
        """
        edges = np.exp(cells.edges) * (1 + side * 8 * UNIT * (1 + cells.edges))
        mass = cells.one if self.bounded else np.append(cells.one[:-1], 0.0)
        return edges, _split(cells.ratio * (1 + side * cells.ratio_error), mass, edges)

    def _attained_below(self, cells: CellMasses, order: int, users: int) -> ClassLaw:
        """A law below that of datasets in which all others hold 0: cells merged to their means.

        The score is affine in s = R(1)/R(0): 1 - alpha s in order 0 and s - alpha in order 1. Where
        the loss is positive, s is below 1; where it is negative, s is the ratio in the mirror image
        and the mass of R(0) is that of R(1) there. A lower bound needs scores that are not too
        large, so that s is rounded up in order 0 and down in order 1.
        """
        side = Side.LOWER if order else Side.UPPER
        small = (1 + side * cells.ratio_error) / cells.ratio
        large = _capped_ratio(cells) if order else cells.ratio * (1 + cells.ratio_error)
        points, mass = np.append(small, large), np.append(cells.zero, cells.one)
        return _attained_law(points, mass, order, users, cells.mass_error)

    def _attained_above(self, cells: CellMasses, order: int, users: int) -> ClassLaw:
        """A law above it: cells split to their ends, s rounded down in order 0 and up in order 1.

        Outputs with a ratio beyond the last finite edge score 0 instead of less in order 0, and
        reveal everything in order 1.
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
        return _attained_law(points, masses, order, users, cells.mass_error, rest)


def _capped_ratio(cells: CellMasses) -> Array:
    """The mean ratio of each cell, rounded down; in the last cell no more than at its edge."""
    ratio = cells.ratio * (1 - cells.ratio_error)
    ratio[-1] = min(ratio[-1], math.exp(cells.edges[-1]) * (1 - cells.ratio_error[-1]))
    return ratio


def _split(mean: Array, mass: Array, edges: Array) -> Array:
    """Mass at each edge after moving every cell's mass to its two ends and keeping its mean.

    Edges may rise or fall.
    """
    gap = edges[1:] - edges[:-1]
    up = np.clip((mean[:-1] - edges[:-1]) / np.where(gap != 0, gap, 1.0), 0.0, 1.0)
    split: Array = np.append(mass[:-1] * (1 - up), 0.0)
    split[1:] += mass[:-1] * up
    split[-1] += mass[-1]  # the atom at the largest loss
    return split


def _law_of_ratios(
    positive: tuple[Array, Array], negative: tuple[Array, Array], error: float, rest: float = 0.0
) -> ClassLaw:
    """The law of scores r - alpha and 1 - alpha r, with the given r and their masses."""
    (high, mass), (low, other) = positive, negative
    both = np.stack([high * mass, mass, mass]), np.stack([other, low * other, other])
    return _class_law(np.concatenate(both, axis=1), error, rest)


def _attained_law(
    points: Array, mass: Array, order: int, users: int, error: float, rest: float = 0.0
) -> ClassLaw:
    """The law if the others hold 0, from values s of R(1)/R(0) and their masses under R(0).

    In order 0 no score exceeds 1, so that n scores 1 - alpha s with one s >= n have no positive
    sum: larger values of s than 2n change nothing for alpha >= 1, but would cost digits.
    """
    one = (points if order else np.minimum(points, 2.0 * users)) * mass
    return _class_law(np.stack([one, mass, mass] if order else [mass, one, mass]), error, rest)


def _class_law(columns: Array, error: float, rest: float) -> ClassLaw:
    """The law of masses [u, v, blanket], and the mass `rest` of u that no blanket covers."""
    columns = columns[:, columns[2] > 0]
    if rest > 0:
        columns = np.append(columns, [[rest], [0.0], [0.0]], axis=1)
    u, v, blanket = columns
    return ClassLaw(u, v, blanket, error)
