"""How the outputs of a density are cut into cells by their loss: nothing rests on where.

Cells are narrow where they would widen a profile: by the share of the usual scores in the variance
of a sum, and by the hazard of the loss where a single score makes a sum large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from . import tuning

# proof constants: docs/theory.md, "Constants"
LEAST = 1e-290  # shares below this are not told apart from 0
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
    """Which outputs count in a sum of scores e^loss: in bins of losses between edges, how much
    cells there widen E[(S)_+] relative to itself, over h^2/8 for cells of width h, and the hazard
    of the loss, both for a bin's width; and log(r - 1) from which on a score r outweighs all others
    together."""

    edges: Array
    share: Array
    hazard: Array
    reach: float


def end_of(density: Density, depth: float = math.inf) -> float:
    """A loss that all but e^-depth of the outputs for input 0 stay below."""
    if math.isfinite(density.max_loss):
        return density.max_loss
    least = max(math.exp(-depth), LEAST)

    def beyond(loss: float) -> bool:
        tails = density.tails(np.array([loss]))
        return bool(tails.zero[0] < least or tails.one[0] < LEAST)

    low, high = 0.0, 1.0
    while not beyond(high):
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high


@dataclass(frozen=True, eq=False)
class Cutting:
    """Of a density whose profile, with so many users each of whom sends with probability `rate`, is
    to be known to about a relative `width` in epsilon, down to e^-depth of the outputs."""

    density: Density
    rate: float
    users: int
    width: float
    depth: float

    @cached_property
    def usual(self) -> Cells:
        """For sums in which no score outweighs all others."""
        return self.cells(None)

    def alone(self, total: float) -> Range | None:
        """Which scores, as losses, may reach a sum all alone; None if it is within some deviations.
        Sums of about the same size share their range."""
        end, reach = float(self._scale.edges[-1]), self._scale.reach
        size = min(math.log(max(total, 1e-300)), end)
        if size <= reach:
            return None
        if self.few or self.width >= tuning.ONE_CUT:
            return 0.0, math.inf
        first = math.floor((size - reach) / tuning.ALONE) * tuning.ALONE
        near = math.exp(-first)  # some deviations, as a share of the sum
        # two scores may share the sum; what exceeds it by more deviations is known to be big
        least = first - 1 + self._seldom + math.log1p(-min(1.25 * near, 0.9))
        most = first + tuning.ALONE + math.log1p(2.5 * near) + 0.5
        ends = np.logaddexp(0.0, [reach + least, reach + most])  # losses with r - 1 = e^size
        return float(ends[0]), float(ends[1])

    @cached_property
    def few(self) -> bool:
        """Are there so few users, or so few with a score, that any score may stand out?"""
        scoring = 2 * self.users * self.rate * float(self.density.tails(np.zeros(1)).one[0])
        return self.users <= tuning.FEW or scoring <= tuning.FEW_SCORING

    @cached_property
    def _seldom(self) -> float:
        """Few users lose nearly all that is lost on average: usually there is less to reach."""
        return math.log(max(2 * float(self.density.tails(np.zeros(1)).one[0]), 1e-3))

    def cells(self, alone: Range | None) -> Cells:
        """Cut finer where a score between these bounds, as losses, makes a sum large alone."""
        edges = self._edges(alone)
        tails = self.density.tails(edges)
        zero, one = (np.append(-np.diff(tail), tail[-1]) for tail in tails[:2])
        # where nearly all losses are larger, a difference of the shares of smaller ones is precise
        few = tails.rest[1:] < tails.zero[:-1]
        zero[:-1] = np.where(few, np.diff(tails.rest), zero[:-1])
        of_zero = np.append(np.where(few, tails.rest[1:], tails.zero[:-1]), tails.zero[-1])
        error = np.append(tails.error[1:] + tails.error[:-1], tails.error[-1])
        errors = [error * tail / mass for tail, mass in ((of_zero, zero), (tails.one, one))]
        both = errors[0] + errors[1]
        # of a quotient, and more than the roundings of e^edge at either end of a cell
        slack = both * (1 + 2 * both) + 16 * UNIT * (1 + np.append(edges[1:], edges[-1]))
        seen = tails.one > _HIDDEN
        seen[:2] = True
        return Cells(edges, zero, one, zero / one, slack, seen, float(slack.max()))

    @cached_property
    def _scale(self) -> _Scale:
        end = end_of(self.density, self.depth + 4)
        edges = np.linspace(0.0, end, tuning.FINE + 1)
        tails, loss = self.density.tails(edges), (edges[1:] + edges[:-1]) / 2
        square = np.maximum(-np.diff(tails.zero), 0.0) * np.exp(loss - end)
        spread = square * np.expm1(-loss) ** 2  # of r - 1
        # of scores that some users have; what is rarer has no part in the deviation of a sum
        senders = self.users * self.rate
        some = senders * tails.one[:-1] >= tuning.SOME
        squares = senders * float(spread @ some)
        log_deviation = (math.log(max(squares, 1e-300)) + end) / 2
        reach = math.log(tuning.REACH) + log_deviation
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
        # nowhere more than that of a normal sum at its centre.
        log_mass = np.log(np.maximum(-senders * np.diff(tails.one), LEAST))
        cancelling = np.minimum(log_mass - math.log(edges[1]) - loss, normal - 2 * log_deviation)
        share = np.maximum(
            square * usual / variance * math.exp(normal - total),
            np.exp(np.minimum(log_mass + 2 * loss + cancelling - total, 600.0)),
        )
        hazard = -np.diff(tails.one) / np.maximum(tails.one[1:], LEAST)
        return _Scale(edges, share, np.maximum(hazard, 0.0), reach)

    def _edges(self, alone: Range | None) -> Array:
        """Losses that part cells, near each other where these would widen a profile.

        With r = e^loss, cells of width h move r by h r and, as long as no score outweighs all
        others, add h^2/4 of its square to the variance of the scores, which is twice as much as
        they add to epsilon: there h goes with the third root of its share in the variance. The
        same holds of larger scores, with the density of the others' sum where it cancels them. If
        a single score has to reach a sum, what it counts is a stop-loss, which cells move by h^2/4
        times the hazard of the loss.
        """
        edges, share, hazard, _ = self._scale
        gap, loss = edges[1], (edges[1:] + edges[:-1]) / 2
        root = np.cbrt(share / gap)
        count = root * math.sqrt(float(root.sum()) * gap / (8 * self.width))  # in each unit of loss
        if alone:
            inside = (alone[0] < loss) & (loss < alone[1])
            # a sum of such a score has about this epsilon, and width is relative to it
            epsilon = np.maximum(loss - math.log(self.users), 1.0)
            allowed = tuning.ALONE_SHARE * self.width * epsilon
            count = np.maximum(count, inside * np.sqrt(hazard / gap / (4 * allowed)))
        count = np.maximum(count, tuning.FEWEST_CELLS / edges[-1])
        place = np.append(0.0, np.cumsum(count * gap))
        number = math.ceil(min(place[-1], tuning.MOST_CELLS))
        chosen: Array = np.interp(np.linspace(0, place[-1], number + 1), place, edges)
        chosen[0], chosen[-1] = 0.0, edges[-1]
        return chosen
