"""The law of the number of honest users who send in a round, in certified buckets.

`SenderCount` is one binomial or hypergeometric number, `TotalCount` a sum of several of them.

Theory: docs/theory/senders.md, docs/theory/mixed.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines import tails


def bernstein(variance: float, depth: float) -> float:
    """A distance from the mean that a sum of bounded terms exceeds with probability < e^-depth.

    Bernstein's inequality for independent terms that differ from their means by at most 1.
    """
    return depth / 3 + math.sqrt((depth / 3) ** 2 + 2 * depth * variance)


class Bucket(NamedTuple):
    """Counts from `first` to before `last`, or `first` alone if both are equal.

    The last bucket includes `last`. The counts have a probability in [lower, upper] and a mean
    between mean_low and mean_high. No count is below the `node`, which is `first` or the single
    count before it. `before` and `after` are the next nodes, or the node and `last` at the ends.
    """

    before: int
    node: int
    first: int
    last: int
    after: int
    lower: float
    upper: float
    mean_low: float
    mean_high: float
    #: The cells of which it is made: their first counts and their last, lower and upper masses.
    cells: Array

    @property
    def key(self) -> tuple[int, ...]:
        """What bounds of it depend on."""
        return self[:5]


class CountCells(NamedTuple):
    """Cells of counts, from each point to before the next; the last cell is a single count.

    Cell i has a probability in [lower[i], upper[i]], all other counts one of at most `rest`.
    """

    point: NDArray[np.int64]
    lower: Array
    upper: Array
    rest: float

    def starts(self, nodes: NDArray[np.intp]) -> NDArray[np.intp]:
        """The cells at which buckets start, for increasing nodes from 0 on.

        A node that is a single count is a bucket by itself.
        """
        is_single = self.point[np.minimum(nodes + 1, len(self.point) - 1)] == self.point[nodes] + 1
        return np.union1d(nodes, nodes[is_single] + 1)

    def buckets(self, nodes: NDArray[np.intp]) -> list[Bucket]:
        """Buckets of cells, from each start to before the next."""
        start, point = self.starts(nodes), self.point.astype(float)
        end = np.append(point[1:] - 1, point[-1])
        sizes = np.diff(start, append=len(point))
        first = np.repeat(point[start], sizes)
        from_first, to_last = self.lower * (point - first), self.upper * (end - first)
        lower, upper, least, most = (
            np.add.reduceat(part, start) for part in (self.lower, self.upper, from_first, to_last)
        )
        begin, following = self.point[start], np.append(self.point[start[1:]], self.point[-1])
        node = self.point[nodes[np.searchsorted(nodes, start, side="right") - 1]]
        last = np.where((end[start + sizes - 1] > begin) | (begin > node), following, begin)
        slack = 8 * UNIT * (len(point) + 1)
        most = np.divide(most, lower, out=(last - begin).astype(float), where=lower > 0)
        mean_low = np.minimum(begin + least / np.maximum(upper, 1e-300) * (1 - slack), last)
        mean_high = np.minimum(begin + most * (1 + slack), last)
        # what a bucket has the others cannot have
        upper = np.minimum(upper, 1 - (lower.sum() - lower) + 4 * UNIT * len(lower))
        every = np.unique(np.append(self.point[nodes], self.point[-1]))
        place, following = np.searchsorted(every, node), np.searchsorted(every, last)
        before = every[np.maximum(place - 1, 0)]
        after = every[np.minimum(following + 1, len(every) - 1)]
        columns = (before, node, begin, last, after, lower, upper, mean_low, mean_high)
        parts = np.split(np.array([point, end, self.lower, self.upper]), start[1:], axis=1)
        return list(map(Bucket, *(column.tolist() for column in columns), parts))


@dataclass(frozen=True)
class SenderCount:
    """The number of honest senders, which has a log-concave law.

    It is the number of the `honest` users in a `sample` drawn from all `users`, or, if there is a
    `rate`, the number of honest users who send if each does with this probability.
    """

    #: Its cells are those of the count itself: see `TotalCount`.
    rounded_off: ClassVar[int] = 0

    honest: int
    users: int = 0
    sample: int = 0
    rate: float = 0.0

    @property
    def least(self) -> int:
        return 0 if self.rate else max(0, self.sample - (self.users - self.honest))

    @property
    def most(self) -> int:
        return self.honest if self.rate else min(self.sample, self.honest)

    @property
    def mean(self) -> float:
        return self.honest * self._share

    @property
    def _share(self) -> float:
        return self.rate or self.sample / self.users

    @property
    def deviation(self) -> float:
        """An upper bound of the standard deviation."""
        return math.sqrt(self._variance)

    @property
    def _variance(self) -> float:
        """A bound: drawing without replacement spreads less than with (Hoeffding 1963), and may be
        read as drawing the sample, the honest users in it, or the others in it."""
        share, honest = self._share, self.honest
        binomial_variance = honest * share * (1 - share)
        if self.rate:
            return binomial_variance
        others = self.users - honest
        drawn = self.sample * (honest / self.users) * (others / self.users)
        return min(binomial_variance, others * share * (1 - share), drawn)

    def _log_pmf(self, count: Array) -> Array:
        """The logarithm of the binomial or hypergeometric probability of each count."""
        share = self._share
        p, q = share, 1 - share
        log_mass = tails.log_pmf(np.array(float(self.honest)), count, p, q)
        if self.rate:
            return log_mass
        # Bin(honest) Bin(others) / Bin(users) is the same for every p
        others, drawn = float(self.users - self.honest), self.sample - count
        log_mass = log_mass + tails.log_pmf(np.array(others), drawn, p, q)
        whole = tails.log_pmf(np.array(float(self.users)), np.array(float(self.sample)), p, q)
        result: Array = log_mass - whole
        return result

    @property
    def stride(self) -> int:
        """The number of counts in a cell: there are 200 cells per deviation."""
        return max(1, math.floor(self.deviation / 200))

    def cells(self, depth: float) -> CountCells:
        """All counts but some with a probability of at most e^-depth."""
        variance, mean = self._variance, self.mean
        reach = bernstein(variance, depth + 12)
        low = max(self.least, math.floor(mean - reach))
        high = min(self.most, math.ceil(mean + reach))
        point = np.append(np.arange(low, high, self.stride, dtype=np.int64), high)
        rest = 0.0 if low == self.least else math.exp(-depth - 12)
        rest += 0.0 if high == self.most else math.exp(-depth - 12)
        return CountCells(point, *self._masses(point), rest)

    def _masses(self, point: NDArray[np.int64]) -> tuple[Array, Array]:
        """Bounds of the probability of the counts from each point to before the next.

        The logarithm of the law is concave: between two points it is above their chord, and at
        most so far above as the chords before and after it allow.
        """
        log_mass = self._log_pmf(point.astype(float))
        error = 3 * tails.mass_error(math.sqrt(max(self.users, self.honest)) / 2)
        gap = np.diff(point).astype(float)
        slope = np.diff(log_mass) / gap
        safe = np.where(slope == 0, 1.0, slope)
        sums = np.where(slope == 0, gap, np.expm1(safe * gap) / np.expm1(safe))
        chord = np.exp(log_mass[:-1]) * sums
        bend = np.maximum(-np.diff(slope), 0.0) + 4 * error
        before, after = np.append(np.inf, bend), np.append(bend, np.inf)
        above = gap * np.where(gap > 1, np.minimum(before, after), 0.0)
        charge = 4 * error + 2.0**-40
        last = np.exp(log_mass[-1:])
        lower = np.append(chord, last) * (1 - charge)
        upper = np.append(chord * np.exp(np.minimum(above, 700.0)), last) * (1 + charge)
        return lower, upper + UNDERFLOW


@dataclass(frozen=True)
class TotalCount:
    """The sum of independent numbers of users, for example of several groups.

    Notes
    -----
    docs/theory/mixed.md. Of many users each term is rounded down to a multiple of a stride, about
    1/64 of the deviation of the sum, so that `cells` are those of a sum that is smaller than the
    true one by at most `rounded_off`.
    """

    terms: tuple[SenderCount, ...]

    @property
    def least(self) -> int:
        return sum(term.least for term in self.terms)

    @property
    def most(self) -> int:
        return sum(term.most for term in self.terms)

    @property
    def mean(self) -> float:
        return math.fsum(term.mean for term in self.terms)

    @property
    def deviation(self) -> float:
        """An upper bound of the standard deviation."""
        return math.hypot(*(term.deviation for term in self.terms))

    @property
    def stride(self) -> int:
        return max(1, math.floor(self.deviation / 64))

    @property
    def rounded_off(self) -> int:
        """By how much the sum may be larger than the one whose cells are returned."""
        return sum(self.stride - 1 + term.stride - 1 for term in self.terms)

    def cells(self, depth: float) -> CountCells:
        """All values of the rounded sum but some with a probability of at most e^-depth."""
        stride, low, rest = self.stride, 0, 0.0
        lower = upper = np.ones(1)
        for term in self.terms:
            cells = term.cells(depth + math.log(len(self.terms)))
            index = (cells.point - cells.point[0]) // stride
            least, most = (np.bincount(index, side) for side in (cells.lower, cells.upper))
            charge = UNIT * (len(index) + min(len(lower), len(least)) + 8)
            lower = np.convolve(lower, least) * (1 - charge)
            upper = np.convolve(upper, most) * (1 + charge) + UNDERFLOW
            low, rest = low + int(cells.point[0]), rest + cells.rest
        point = low + stride * np.arange(len(lower), dtype=np.int64)
        return CountCells(point, lower, upper, rest)
