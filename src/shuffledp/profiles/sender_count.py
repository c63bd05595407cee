"""The law of the number of honest users who send in a round, in certified buckets.

`SenderCount` is one binomial or hypergeometric number, `TotalCount` a sum of several of them.

Theory: docs/theory/senders.md, docs/theory/mixed.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

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
    """Counts from `first` up to at most `last`, which the next bucket shares if it starts there.

    The counts have a probability in [lower, upper] and a mean between mean_low and mean_high. If
    `last` is `first`, that is the only count. `before` and `after` are the next counts at which a
    bucket starts or the last one ends, or `first` and `last` themselves at the ends.
    """

    before: int
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
        return *self[:4], self.cells.shape[1]


class CountCells(NamedTuple):
    """Cells of counts, from `first` to `last` each; both grow from cell to cell.

    Cell i has a probability in [lower[i], upper[i]], all other counts one of at most `rest`.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    lower: Array
    upper: Array
    rest: float

    def buckets(self, start: NDArray[np.intp]) -> list[Bucket]:
        """Buckets of cells, from each start to before the next; the first start is 0."""
        cells = np.array([self.first, self.last, self.lower, self.upper])
        first, sizes = self.first[start], np.diff(start, append=len(self.first))
        final = self.last[start + sizes - 1]
        last = np.where(final > first, np.maximum(final, np.append(first[1:], final[-1])), first)
        away = cells[:2] - np.repeat(first, sizes)
        lower, upper, least, most = np.add.reduceat(
            [*cells[2:], *(away * cells[2:])], start, axis=1
        )
        slack = 8 * UNIT * (len(self.first) + 1)
        most = np.divide(most, lower, out=(last - first).astype(float), where=lower > 0)
        # of large counts the last rounding is more than the slack
        mean_low = np.nextafter(first + least / np.maximum(upper, 1e-300) * (1 - slack), 0.0)
        mean_high = np.nextafter(first + most * (1 + slack), np.inf)
        mean_low, mean_high = np.clip(mean_low, first, last), np.minimum(mean_high, last)
        # what a bucket has the others cannot have
        upper = np.minimum(upper, 1 - (lower.sum() - lower) + 4 * UNIT * len(lower))
        before = np.append(first[:1], first[:-1])
        after = np.append(first, final[-1:].repeat(2))[2:]
        columns = (before, first, last, after, lower, upper, mean_low, mean_high)
        every = np.split(cells, start[1:], axis=1)
        return list(map(Bucket, *(column.tolist() for column in columns), every))

    def up_to(self, count: NDArray[np.int64]) -> tuple[Array, Array]:
        """Lower and upper bounds on Pr[number <= count], from above without `rest`."""
        charge = 2 * UNIT * (len(self.first) + 8)
        low, high = self.lower * (1 - charge), self.upper * (1 + charge)
        whole = np.searchsorted(self.last, count, side="right")
        begun = np.searchsorted(self.first, count, side="right")
        sums = [np.append(0.0, np.cumsum(mass)) for mass in (low, high)]
        # sums of what is beyond are small where probabilities are near 1
        beyond = [np.append(np.cumsum(mass[::-1])[::-1], 0.0) for mass in (low, high)]
        least = np.maximum(sums[0][whole], 1 - beyond[1][whole] - self.rest - 4 * UNIT)
        return least, np.minimum(sums[1][begun], 1 - beyond[0][begun] + 4 * UNIT)


@dataclass(frozen=True)
class SenderCount:
    """The number of honest senders, which has a log-concave law.

    It is the number of the `honest` users in a `sample` drawn from all `users`, or, if there is a
    `rate`, the number of honest users who send if each does with this probability.
    """

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
        last = np.append(point[1:] - 1, point[-1])
        return CountCells(point, last, *self._masses(point), rest)

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

    Parameters
    ----------
    terms : tuple of SenderCount
    certain : int
        A number of users on top.

    Notes
    -----
    docs/theory/mixed.md. Of many users each term is rounded down to a multiple of a stride, about
    1/64 of the deviation of the sum: cells are as wide as all terms together may be rounded.
    """

    terms: tuple[SenderCount, ...]
    certain: int = 0

    @property
    def least(self) -> int:
        return self.certain + sum(term.least for term in self.terms)

    @property
    def most(self) -> int:
        return self.certain + sum(term.most for term in self.terms)

    @property
    def mean(self) -> float:
        return self.certain + math.fsum(term.mean for term in self.terms)

    @property
    def deviation(self) -> float:
        """An upper bound of the standard deviation."""
        return math.hypot(*(term.deviation for term in self.terms))

    @property
    def stride(self) -> int:
        return max(1, math.floor(self.deviation / 64))

    @property
    def rounded_off(self) -> int:
        """By how much the sum may be larger than the rounded one."""
        return sum(self.stride - 1 + term.stride - 1 for term in self.terms)

    def cells(self, depth: float) -> CountCells:
        """All values of the sum but some with a probability of at most e^-depth."""
        stride, low, rest = self.stride, self.certain, 0.0
        lower = upper = np.ones(1)
        for term in self.terms:
            cells = term.cells(depth + math.log(len(self.terms)))
            index = (cells.first - cells.first[0]) // stride
            least, most = (np.bincount(index, side) for side in (cells.lower, cells.upper))
            charge = UNIT * (len(index) + min(len(lower), len(least)) + 8)
            lower = np.convolve(lower, least) * (1 - charge)
            upper = np.convolve(upper, most) * (1 + charge) + UNDERFLOW
            low, rest = low + int(cells.first[0]), rest + cells.rest
        first = low + stride * np.arange(len(lower), dtype=np.int64)
        last = np.maximum(np.minimum(first + self.rounded_off, self.most), first)
        return CountCells(first, last, lower, upper, rest)
