"""The blanket profile of a matrix: the largest over all pairs of rows, of which few are evaluated.

Only pairs whose bound (`PairBounds`) exceeds the certified delta of a leading pair need to be
evaluated.

Theory: docs/theory/matrices.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array
from ..laws.class_law import ClassLaw
from ..laws.matrix_law import Matrix, dominating_law, pair_law
from .base import PrivacyProfile, Samples, joined, larger_of
from .class_profile import ClassSampler, LawTable, last_fall

# proof constants: docs/theory/constants.md
_BERRY_ESSEEN = 0.5  # 0.4748 has been proven


@dataclass(frozen=True)
class PairsProfile(PrivacyProfile):
    """Profile of a shuffled round: the largest over all ordered pairs of rows of a matrix.

    The senders are a random subset of `users` out of users + idle.
    """

    matrix: Matrix
    users: int
    idle: int = 0

    @cached_property
    def _extremes(self) -> ClassLaw:
        """The largest and the smallest positive probability of each output.

        This law has the largest loss of all pairs.
        """
        rows = self.matrix.rows
        least = np.where(rows > 0, rows, np.inf).min(axis=0)
        used = np.isfinite(least)
        base = rows.min(axis=0)
        return ClassLaw(rows.max(axis=0)[used], least[used], base[used])

    @cached_property
    def max_loss(self) -> float:
        return self._extremes.max_loss(self.users, self.idle)

    @cached_property
    def bounded(self) -> bool:
        rows = self.matrix.rows
        return not ((rows == 0).any(axis=0) & (rows > 0).any(axis=0)).any()

    @cached_property
    def bounds(self) -> PairBounds:
        return PairBounds(self.matrix.rows, self.users, self.idle, self.dominating)

    @cached_property
    def dominating(self) -> ClassLaw:
        return dominating_law(self.matrix.rows, self.matrix.rows.min(axis=0))

    def sampler(self, depth: float, rtol: float) -> PairsSampler:
        return PairsSampler(self, depth, rtol)

    @cached_property
    def last_fall(self) -> float:
        """A lower bound of the fall where the profile reaches 0: that of the largest loss."""
        if self.idle or not self.bounded:
            return 0.0
        rows = self.matrix.rows
        used = rows[:, rows.max(axis=0) > 0]
        y = int((used.max(axis=0) / used.min(axis=0)).argmax())
        law = self.law(int(used[:, y].argmax()), int(used[:, y].argmin()))
        return last_fall(law, self.users, self.max_loss)

    def law(self, i: int, j: int) -> ClassLaw:
        rows = self.matrix.rows
        return pair_law(rows[i], rows[j], rows.min(axis=0))


class PairsSampler:
    """Evaluates a PairsProfile: leading pairs first, then all pairs that may be larger."""

    def __init__(self, profile: PairsProfile, depth: float, rtol: float) -> None:
        self._profile, self._depth, self._width = profile, depth, rtol
        self._is_rough = rtol >= tuning.FIRST_LOOK  # then the bounds of most pairs suffice

    def __call__(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        parts = np.split(epsilon, range(64, len(epsilon), 64))  # keeps the tables of laws small
        found = joined([self._evaluate(part) for part in parts])
        profile = self._profile
        slope = np.where(epsilon == profile.max_loss, profile.last_fall, found.fall_low)
        return replace(found, upper=np.minimum(found.upper, 1.0), fall_low=slope)

    @cached_property
    def _dominating(self) -> ClassSampler:
        return self._sampler_of((self._profile.dominating,))

    def _evaluate(self, epsilon: Array) -> Samples:
        """The largest delta of the evaluated pairs, and an upper bound of all others."""
        found = [self._profile.bounds.candidates(e) for e in epsilon.tolist()]
        best = self._of_pairs(epsilon, found, [len(c.bound[: tuning.LEADERS]) for c in found])
        above = self._dominating(epsilon).upper
        if self._profile.bounded:
            above *= epsilon < self._profile.max_loss
        # more pairs help only where they, and all pairs together, may have a larger delta
        helpful = (above > 1.0001 * best.upper) & (not self._is_rough)
        counts = [
            c.above(low) if help_ else 0
            for help_, c, low in zip(helpful, found, best.lower, strict=True)
        ]
        if max(counts, default=0) > tuning.LEADERS:
            at_least_one = [max(count, 1) for count in counts]
            best = larger_of(best, self._of_pairs(epsilon, found, at_least_one, best.lower))
        left_out = [
            max(c.rest, float(c.bound[count]) if count < len(c.bound) else 0.0)
            for c, count in zip(found, np.maximum(counts, tuning.LEADERS), strict=True)
        ]
        return replace(best, upper=np.minimum(above, np.maximum(best.upper, left_out)))

    def _of_pairs(
        self,
        epsilon: Array,
        found: list[Candidates],
        counts: list[int],
        known: Array | None = None,
    ) -> Samples:
        """The largest delta of the first `counts` candidates of each epsilon."""
        chosen = [
            list(zip(c.first[:count].tolist(), c.second[:count].tolist(), strict=True))
            for c, count in zip(found, counts, strict=True)
        ]
        laws = {
            pair: self._profile.law(*pair) for pair in dict.fromkeys(chain.from_iterable(chosen))
        }
        place = {law: i for i, law in enumerate(dict.fromkeys(laws.values()))}
        mask = np.zeros((len(place), len(epsilon)), dtype=bool)
        for column, pairs in enumerate(chosen):
            mask[[place[laws[pair]] for pair in pairs], column] = True
        return self._sampler_of(tuple(place)).largest(epsilon, mask, known)

    def _sampler_of(self, laws: tuple[ClassLaw, ...]) -> ClassSampler:
        table = LawTable(laws, self._profile.users, self._profile.idle)
        return ClassSampler(table, self._width, depth=self._depth)


class Candidates(NamedTuple):
    """Pairs that may have the largest delta from some epsilon on, by decreasing bound."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    bound: Array
    rest: float  # the largest bound of all other pairs

    def above(self, delta: float) -> int:
        """How many candidates to evaluate, if the largest delta is at least this.

        If even pairs that are no candidates may exceed it, eight times LEADERS are evaluated.
        """
        return (
            8 * tuning.LEADERS if self.rest > delta else int(np.searchsorted(-self.bound, -delta))
        )


class PairBounds:
    """Upper bounds of the deltas of all pairs, from matrix products.

    Parameters
    ----------
    rows : Array, shape [inputs, outputs]
    users, idle : int
    dominating : ClassLaw
        A law above all pairs.

    Notes
    -----
    docs/theory/matrices.md: E e^(theta score) of the pair (i, j) is a sum over outputs of a
    factor of i times one of j, so that one matrix product bounds the deltas of all pairs.
    """

    def __init__(self, rows: Array, users: int, idle: int, dominating: ClassLaw) -> None:
        base, self._users, self._idle = rows.min(axis=0), users, idle
        covered = base > 0
        self._base = base[covered]
        self._ratio = rows[:, covered] / self._base  # [inputs, covered outputs]
        self._open = rows[:, ~covered]
        self._most = max(tuning.MOST_WORK // rows.shape[1], 8 * tuning.LEADERS)
        self._known: dict[int, Candidates] = {}
        # the pair whose scores vary most
        scaled = self._ratio * np.sqrt(self._base)
        square = np.sum(scaled**2, axis=1)
        distance = square[:, None] + square - 2 * scaled @ scaled.T
        i, j = np.unravel_index(distance.argmax(), distance.shape)
        w = dominating.blanket[dominating.blanket > 0]
        u, v = (side[dominating.blanket > 0] / w for side in (dominating.u, dominating.v))
        # u/blanket, v/blanket and the blanket, of the laws whose tilts are tried
        self._tilted = [(u, v, w), (self._ratio[i], self._ratio[j], self._base)]
        deviation = math.sqrt(max(float(distance[i, j]), 0.0) / self._users)
        self._step = 0.02 * (min(deviation, 1.0) or 1.0)  # epsilons so close share their bounds

    def candidates(self, epsilon: float) -> Candidates:
        """Candidates at an epsilon, by bounds at a slightly smaller one, which are larger."""
        key = math.floor(epsilon / self._step)
        if key not in self._known:
            for old in list(self._known)[:-3]:  # searches ask for few epsilons in turn
                self._known.pop(old)
            with np.errstate(all="ignore"):
                bound = self._bounds(min(key * self._step, epsilon))
            self._known[key] = self._sorted(bound)
        return self._known[key]

    def _sorted(self, bound: Array) -> Candidates:
        flat = bound.ravel()
        most = min(self._most, len(flat) - 1)
        part = np.argpartition(-flat, most)
        chosen, rest = part[:most], float(flat[part[most]])
        order = chosen[np.argsort(-flat[chosen], kind="stable")]
        i, j = np.unravel_index(order, bound.shape)
        different = i != j
        return Candidates(i[different], j[different], flat[order][different], rest)

    def _bounds(self, epsilon: float) -> Array:
        """Upper bounds of delta: [inputs, inputs], 0 on the diagonal."""
        users, population = self._users, self._users + self._idle
        open_ = self._uncovered(epsilon) * users
        sums = np.full(open_.shape, np.inf)
        # the tilt of the law above all pairs is too large for none of them
        for u, v, weights in self._tilted:
            theta = self._tilt(u - math.exp(epsilon) * v, weights, epsilon)
            sums = np.minimum(sums, np.exp(self._log_stop_loss(epsilon, theta)))
        # without it, random matrices of 200 x 200 are certified to 6 % instead of 1e-5
        sums = np.minimum(sums, np.exp(self._log_stop_loss(epsilon, theta, spread=True)))
        total: Array = (sums + open_) / population * (1 + 1e-12) + UNDERFLOW
        np.fill_diagonal(total, 0.0)
        return total

    def _tilt(self, z: Array, weights: Array, epsilon: float) -> float:
        """theta > 0 near the least bound E e^(theta S)/(e theta) for these scores."""
        n, held = float(self._users), self._idle * math.expm1(epsilon)
        largest = float(z.max(initial=0.0))
        if largest <= 0:
            return 1 / max(float(-z.min(initial=-1.0)), 1.0)
        low, high = math.log(1e-15 / max(n * largest, 1.0)), math.log(600 / largest)
        for _ in range(40):
            middle = (low + high) / 2
            theta = math.exp(middle)
            growth = weights * np.expm1(theta * z)
            mean = float((growth + weights) @ z) / (1 + float(growth.sum()))
            low, high = (low, middle) if n * mean > held + 1 / theta else (middle, high)
        return math.exp(high)

    def _uncovered(self, epsilon: float) -> Array:
        """Upper bounds of sum (u - alpha v)_+ over the outputs outside the blanket.

        They are the sums themselves if these have few enough terms to add up (0.1 s).
        """
        alpha, inputs, outputs = math.exp(epsilon), *self._open.shape
        if outputs == 0:
            return np.zeros((inputs, inputs))
        if inputs**2 * outputs <= 160 * tuning.MOST_WORK:
            scaled = alpha * (1 - 8 * UNIT) * self._open
            return np.array([np.maximum(u - scaled, 0.0).sum(axis=1) for u in self._open])
        # min(u, alpha v) >= u v / largest
        largest = np.maximum(self._open.max(axis=0), 1e-300)
        mass = self._open.sum(axis=1)[:, None]
        shared = self._open @ (self._open / largest).T
        result: Array = np.maximum(mass - shared, 0.0) + 4 * UNIT * (outputs + 8) * mass
        return result

    def _log_stop_loss(self, epsilon: float, theta: float, spread: bool = False) -> Array:
        """log of upper bounds of E[(S)_+]: [inputs, inputs], infinite where a number overflows."""
        x, alpha, n, base = self._ratio, math.exp(epsilon), float(self._users), self._base
        held = self._idle * math.expm1(epsilon)
        # E e^(theta z) - 1 is the mean of a + b + ab, a > 0 > b
        a, b = base * np.expm1(theta * x), np.expm1(-theta * alpha * x)
        product, ones, twos = a @ b.T, a.sum(axis=1)[:, None], b @ base
        relative = UNIT * (16 + 4 * theta * alpha * float(x.max(initial=0.0)) + len(base))
        slack = 2 * relative * (ones - twos - product)
        growth = ones + twos + product + slack
        exponent = n * np.log1p(growth)
        exponent += 16 * UNIT * (np.abs(exponent) + theta * held + 8) - theta * held
        # (s)_+ <= e^(theta s)/(e theta), and less on average if the tilted sum spreads
        factor = np.array(1 / (math.e * theta))
        if spread:
            norms = 1 + growth - 2 * slack, 1 + growth  # E e^(theta z) from below and above
            deviation, skew = self._spread(alpha, a + base, 1 + b, norms, relative)
            width = theta * theta * math.sqrt(2 * math.pi * n) * deviation
            spread_ = 1 / width + 2 * _BERRY_ESSEEN * skew / math.sqrt(n) * factor
            factor = np.asarray(np.fmin(factor, spread_ * (1 + 1e-9)))
        result: Array = exponent + np.log(factor)
        return np.where(np.isnan(result), np.inf, result)

    def _spread(
        self, alpha: float, a: Array, b: Array, norms: tuple[Array, Array], relative: float
    ) -> tuple[Array, Array]:
        """The standard deviation of a tilted score, rounded down, and a bound of its skewness.

        The skewness is the third absolute central moment over the third power of the deviation.
        Both are NaN where they are not known.
        """
        x, y, (least, most) = self._ratio, alpha * self._ratio, norms
        first, second = (a * x) @ b.T, a @ (b * y).T
        squares = (a * x**2) @ b.T + a @ (b * y**2).T
        mixed = 2 * (a * x) @ (b * y).T
        error = 4 * relative
        mean = (np.abs(first - second) + error * (first + second)) / least * (1 + error)
        square = (squares - mixed - error * (squares + mixed)) / most * (1 - error)
        variance = square - mean**2 - error * (square + mean**2)
        deviation = np.sqrt(np.where((variance > 0) & (least > 0), variance, np.nan))
        largest = alpha * float(self._ratio.max(initial=0.0))  # no score is farther from 0
        return deviation, (largest + mean) / deviation
