"""The law of the number of honest users who send in a round, in certified buckets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from ..engines import binomial
from . import tuning
from .clone_sampler import bernstein


class Buckets(NamedTuple):
    """Counts first[i] .. last[i] together have a probability in [lower[i], upper[i]]; all other
    counts have one of at most `rest`."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    lower: Array
    upper: Array
    rest: float


@dataclass(frozen=True)
class SenderCount:
    """The number of senders with a log-concave law: of `sample` users drawn from `users`, those
    among the `honest` ones; or, if every honest user sends with probability `rate`, all of them."""

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
        share = self._share
        p, q = share, 1 - share
        log_mass = binomial.log_pmf(np.array(float(self.honest)), count, p, q)
        if self.rate:
            return log_mass
        # Bin(honest) Bin(others) / Bin(users) is the same for every p
        others, drawn = float(self.users - self.honest), self.sample - count
        log_mass = log_mass + binomial.log_pmf(np.array(others), drawn, p, q)
        whole = binomial.log_pmf(np.array(float(self.users)), np.array(float(self.sample)), p, q)
        result: Array = log_mass - whole
        return result

    def buckets(self, depth: float, width: float, deviations: float = 0.0) -> Buckets:
        """Buckets of counts, all but a probability of e^-depth, narrow around the mean: a
        relative `width` there, or some standard deviations if that is more."""
        variance, mean = self._variance, self.mean
        deviation, reach = math.sqrt(variance), bernstein(variance, depth + tuning.MARGIN)
        low = max(self.least, math.floor(mean - reach))
        high = min(self.most, math.ceil(mean + reach))
        stride = max(1, math.floor(deviation / tuning.PER_DEVIATION))
        point = np.append(np.arange(low, high, stride, dtype=np.int64), high)
        lower, upper = self._masses(point)
        # the farther from the mean, the less a wide bucket costs
        far = np.maximum(np.abs(point - mean) / max(deviation, 1.0) - tuning.CORE, 0.0)
        core = max(width * mean, deviations * deviation, 1.0)
        wide = core * np.exp(np.minimum(far / 2, 50.0))
        place = np.cumsum(np.append(0.0, np.diff(point) / wide[:-1]))
        start = np.flatnonzero(np.diff(np.floor(place * (1 + 1e-12)), prepend=-1.0) > 0)
        first = point[start]
        rest = 0.0 if low == self.least else math.exp(-depth - tuning.MARGIN)
        rest += 0.0 if high == self.most else math.exp(-depth - tuning.MARGIN)
        lower, upper = (np.add.reduceat(side, start) for side in (lower, upper))
        # what a bucket has the others cannot have
        upper = np.minimum(upper, 1 - (lower.sum() - lower) + 4 * UNIT * len(lower))
        return Buckets(first, np.append(first[1:] - 1, high), lower, upper, rest)

    def _masses(self, point: NDArray[np.int64]) -> tuple[Array, Array]:
        """Bounds of the probability of the counts from each point to before the next.

        The logarithm of the law is concave: between two points it is above their chord, and at
        most so far above as the chords before and after it allow.
        """
        log_mass = self._log_pmf(point.astype(float))
        error = 3 * binomial.relative_error(0, math.sqrt(max(self.users, self.honest)) / 2)
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
        return lower, upper
