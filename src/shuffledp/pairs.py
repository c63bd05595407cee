"""The blanket profile of a matrix: the largest over all pairs of rows, of which few are evaluated.

E e^(theta score) of the pair (i, j) is a sum over outputs of a factor of i times one of j, so that
a product of two matrices bounds the deltas of all pairs at once (docs/theory.md, section 8). Only
pairs whose bound exceeds the certified delta of a leading pair need to be evaluated.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .binomial import Array
from .class_sampler import ClassSampler, last_slope
from .dominating import dominating_law
from .scores import ClassLaw
from .stop_loss import UNDERFLOW, Samples

_UNIT = 2.0**-53
_LEADERS = 4  # pairs with the largest bounds, evaluated first
_MOST_WORK = 400_000  # outputs of pairs that are evaluated at an epsilon, at most,
_SOME = 32  # and so many pairs where that is not enough for all that may lead; see `rest`
_DIRECT_WORK = 1 << 26  # up to so many terms are added up for outputs that no blanket covers
_TILTS = 6  # tried to bound all pairs
_NEAR = 0.02  # epsilons so near, in deviations of the loss, share their bounds
_KEPT = 4
_TOGETHER = 64  # epsilons
_ROUGH = 0.01  # if no narrower a bracket is asked for, the bounds of most pairs are good enough
#: Where pairs that are not evaluated raise delta by more than this factor, a width less than that
#: would be in vain.
_LIMITED, _LIMITED_WIDTH = 1.05, 1e-4
_BERRY_ESSEEN = 0.5  # 0.4748 has been proven


class Matrix:
    """Rows of probabilities, compared by value."""

    def __init__(self, rows: Array) -> None:
        self.rows: Array = np.array(rows, dtype=float, order="C")
        self.rows.flags.writeable = False
        self.digest = hashlib.sha256(
            repr(self.rows.shape).encode() + self.rows.tobytes()
        ).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        inputs, outputs = self.rows.shape
        return f"{inputs} x {outputs}, sha256 {self.digest[:8]}"


def pair_law(u: Array, v: Array, blanket: Array) -> ClassLaw:
    """Classes of outputs with equal probabilities, in a fixed order: equal laws are equal."""
    order = np.lexsort((blanket, v, u))
    classes = np.stack([u, v, blanket])[:, order]
    classes = classes[:, classes[:2].max(axis=0) > 0]
    new = np.append(True, (np.diff(classes) != 0).any(axis=0))
    counts = np.diff(np.append(np.flatnonzero(new), len(new)))
    first, second, third = (tuple(row) for row in (classes[:, new] * counts).tolist())
    return ClassLaw(first, second, third)


@dataclass(frozen=True)
class NothingLost:
    """The profile of a round whose messages do not depend on the values."""

    max_loss: ClassVar[float] = 0.0
    bounded: ClassVar[bool] = True
    has_slopes: ClassVar[bool] = False
    depths: ClassVar[tuple[float, ...]] = (680.0,)

    @property
    def pointwise(self) -> NothingLost:
        return self

    def sampler(self, depth: float, rtol: float) -> Callable[[Array], Samples]:
        return lambda epsilon: Samples(0.0 * epsilon, 0.0 * epsilon)

    def of(self, users: int) -> NothingLost:
        return self

    def worst_alone(self, epsilon: float) -> NothingLost:
        return self

    def sampled(self, idle: int) -> NothingLost:
        return self

    def thinned(self, rate: float) -> NothingLost:
        return self


class Candidates(NamedTuple):
    """Pairs that may have the largest delta from some epsilon on, by falling bound."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    bound: Array
    rest: float  # the largest bound of all other pairs

    def above(self, delta: float) -> int:
        """How many of them to evaluate, if the largest delta is at least this."""
        return _SOME if self.rest > delta else int(np.searchsorted(-self.bound, -delta))


@dataclass(frozen=True)
class PairsProfile:
    """Profile of a shuffled round: the largest over all ordered pairs of rows of a matrix."""

    matrix: Matrix
    users: int
    idle: int = 0
    has_slopes: ClassVar[bool] = False
    depths: ClassVar[tuple[float, ...]] = (680.0,)

    @cached_property
    def _extremes(self) -> ClassLaw:
        """The largest and the least positive probability of each output: it has the largest loss of
        all pairs."""
        rows = self.matrix.rows
        least = np.where(rows > 0, rows, np.inf).min(axis=0)
        used = np.isfinite(least)
        base = rows.min(axis=0)
        columns = rows.max(axis=0)[used], least[used], base[used]
        u, v, blanket = (tuple(column.tolist()) for column in columns)
        return ClassLaw(u, v, blanket)

    @cached_property
    def max_loss(self) -> float:
        return self._extremes.max_loss(self.users, self.idle)

    @cached_property
    def bounded(self) -> bool:
        rows = self.matrix.rows
        return not ((rows == 0).any(axis=0) & (rows > 0).any(axis=0)).any()

    @property
    def pointwise(self) -> PairsProfile:
        return self

    @cached_property
    def bounds(self) -> PairBounds:
        return PairBounds(self)

    @cached_property
    def dominating(self) -> ClassLaw:
        return dominating_law(self.matrix.rows, self.matrix.rows.min(axis=0))

    def sampler(self, depth: float, rtol: float) -> PairsSampler:
        return PairsSampler(self, depth, rtol)

    def of(self, users: int) -> PairsProfile:
        return replace(self, users=users)

    def worst_alone(self, epsilon: float) -> PairsProfile:
        return self

    def sampled(self, idle: int) -> PairsProfile:
        return replace(self, idle=idle)

    def thinned(self, rate: float) -> PairsProfile:
        # an empty message is one more output
        rows = self.matrix.rows
        silent = np.full((len(rows), 1), 1 - rate)
        return replace(self, matrix=Matrix(np.concatenate([rate * rows, silent], axis=1)))

    @cached_property
    def last_slope(self) -> float:
        """Minus the slope of the profile where it reaches 0, from below, by the pair with the
        largest loss; 0 if nothing is known of it."""
        if self.idle or not self.bounded:
            return 0.0
        rows = self.matrix.rows
        used = rows[:, rows.max(axis=0) > 0]
        y = int((used.max(axis=0) / used.min(axis=0)).argmax())
        law = self.law(int(used[:, y].argmax()), int(used[:, y].argmin()))
        return last_slope(law, self.users, self.max_loss)

    def law(self, i: int, j: int) -> ClassLaw:
        rows = self.matrix.rows
        return pair_law(rows[i], rows[j], rows.min(axis=0))


class PairBounds:
    """Upper bounds of the deltas of all pairs, from matrix products."""

    def __init__(self, profile: PairsProfile) -> None:
        rows, base = profile.matrix.rows, profile.matrix.rows.min(axis=0)
        self._users, self._idle, self._profile = profile.users, profile.idle, profile
        covered = base > 0
        self._base = base[covered]
        self._ratio = rows[:, covered] / self._base  # [inputs, covered outputs]
        self._open = rows[:, ~covered]
        self._most = max(_MOST_WORK // rows.shape[1], _SOME)
        self._known: dict[int, Candidates] = {}
        self.least_width = 0.0
        # the pair whose scores vary most, for a start
        scaled = self._ratio * np.sqrt(self._base)
        square = np.sum(scaled**2, axis=1)
        apart = square[:, None] + square - 2 * scaled @ scaled.T
        self._leader = _place(apart)
        spread = float(apart[self._leader])
        self._near = min(_NEAR * math.sqrt(max(spread, 0.0) / self._users) or _NEAR, _NEAR)

    def candidates(self, epsilon: float) -> Candidates:
        """The delta of a pair falls with epsilon: bounds at a slightly smaller one will do."""
        key = math.floor(epsilon / self._near)
        if key not in self._known:
            for old in list(self._known)[: 1 - _KEPT]:
                self._known.pop(old, None)
            with np.errstate(all="ignore"):
                bound = self._bounds(min(key * self._near, epsilon))
            self._known[key] = self._sorted(bound)
        return self._known[key]

    def _sorted(self, bound: Array) -> Candidates:
        flat = bound.ravel()
        most = min(self._most, len(flat) - 1)
        part = np.argpartition(-flat, most)
        chosen, rest = part[:most], float(flat[part[most]])
        order = chosen[np.argsort(-flat[chosen], kind="stable")]
        i, j = np.unravel_index(order, bound.shape)
        apart = i != j
        return Candidates(i[apart], j[apart], flat[order][apart], rest)

    def _bounds(self, epsilon: float) -> Array:
        """Of delta: [inputs, inputs], 0 on the diagonal."""
        users, population = self._users, self._users + self._idle
        open_ = self._uncovered(epsilon) * users
        sums = np.full(open_.shape, np.inf)
        tried: set[tuple[int, int]] = set()
        for _ in range(_TILTS):  # that of the leading pair, then of the one that leads with it, ...
            tried.add(self._leader)
            theta = self._tilt(*self._scores(epsilon), epsilon)
            sums = np.minimum(sums, np.exp(self._log_stop_loss(epsilon, theta)))
            np.fill_diagonal(sums, -np.inf)
            if not math.isfinite(sums.max()):  # too much for some pair, but not for all of them
                safe = self._tilt(*self._dominating_scores(epsilon), epsilon)
                sums = np.minimum(sums, np.exp(self._log_stop_loss(epsilon, safe)))
                np.fill_diagonal(sums, -np.inf)
            self._leader = _place(sums + open_)
            if self._leader in tried:
                break
        sums = np.minimum(sums, np.exp(self._log_stop_loss(epsilon, theta, spread=True)))
        total: Array = (sums + open_) / population * (1 + 1e-12) + UNDERFLOW
        np.fill_diagonal(total, 0.0)
        return total

    def _scores(self, epsilon: float) -> tuple[Array, Array]:
        """Of the leading pair, with their probabilities."""
        i, j = self._leader
        return self._ratio[i] - math.exp(epsilon) * self._ratio[j], self._base

    def _dominating_scores(self, epsilon: float) -> tuple[Array, Array]:
        law = self._profile.dominating
        u, v, w = (np.array(column) for column in (law.u, law.v, law.blanket))
        some = w > 0
        scores: Array = (u[some] - math.exp(epsilon) * v[some]) / w[some]
        return scores, w[some]

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
        """sum (u - alpha v)_+ over the outputs outside the blanket; or more, if they are many."""
        alpha, inputs, outputs = math.exp(epsilon), *self._open.shape
        if outputs == 0:
            return np.zeros((inputs, inputs))
        if inputs**2 * outputs <= _DIRECT_WORK:
            scaled = alpha * (1 - 8 * _UNIT) * self._open
            return np.array([np.maximum(u - scaled, 0.0).sum(axis=1) for u in self._open])
        # min(u, alpha v) >= u v / largest
        largest = np.maximum(self._open.max(axis=0), 1e-300)
        mass = self._open.sum(axis=1)[:, None]
        shared = self._open @ (self._open / largest).T
        result: Array = np.maximum(mass - shared, 0.0) + 4 * _UNIT * (outputs + 8) * mass
        return result

    def _log_stop_loss(self, epsilon: float, theta: float, spread: bool = False) -> Array:
        """log of bounds of E[(S)_+]; infinite where a number overflows."""
        x, alpha, n, base = self._ratio, math.exp(epsilon), float(self._users), self._base
        held = self._idle * math.expm1(epsilon)
        # E e^(theta z) - 1 is the mean of a + b + ab, a > 0 > b
        a, b = base * np.expm1(theta * x), np.expm1(-theta * alpha * x)
        product, ones, twos = a @ b.T, a.sum(axis=1)[:, None], b @ base
        relative = _UNIT * (16 + 4 * theta * alpha * float(x.max(initial=0.0)) + len(base))
        growth = ones + twos + product + 2 * relative * (ones - twos - product)
        exponent = n * np.log1p(growth)
        exponent += 16 * _UNIT * (np.abs(exponent) + theta * held + 8) - theta * held
        # (s)_+ <= e^(theta s)/(e theta), and less on average if the tilted sum spreads
        factor = np.array(1 / (math.e * theta))
        if spread:
            deviation, skew = self._spread(alpha, a + base, 1 + b, growth, relative)
            width = theta * theta * math.sqrt(2 * math.pi * n) * deviation
            spread_ = 1 / width + 2 * _BERRY_ESSEEN * skew / math.sqrt(n) * factor
            factor = np.asarray(np.fmin(factor, spread_ * (1 + 1e-9)))
        result: Array = exponent + np.log(factor)
        return np.where(np.isnan(result), np.inf, result)

    def _spread(
        self, alpha: float, a: Array, b: Array, growth: Array, relative: float
    ) -> tuple[Array, Array]:
        """The deviation of a tilted score, rounded down, and a bound of its third absolute central
        moment over the third power of its deviation; not numbers where neither is known."""
        x, y, norm = self._ratio, alpha * self._ratio, 1 + growth
        first, second = (a * x) @ b.T, a @ (b * y).T
        squares = (a * x**2) @ b.T + a @ (b * y**2).T
        mixed = 2 * (a * x) @ (b * y).T
        error = 4 * relative
        mean = (np.abs(first - second) + error * (first + second)) / norm * (1 + error)
        square = (squares - mixed - error * (squares + mixed)) / norm * (1 - error)
        variance = (square - mean**2) * (1 - error)
        deviation = np.sqrt(np.where(variance > 0, variance, np.nan))
        largest = alpha * float(self._ratio.max(initial=0.0))  # no score is farther from 0
        return deviation, (largest + mean) / deviation


def _place(values: Array) -> tuple[int, int]:
    """Where the largest is."""
    i, j = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return int(i), int(j)


class PairsSampler:
    """Evaluates a PairsProfile: leading pairs first, then all that may be larger."""

    def __init__(self, profile: PairsProfile, depth: float, rtol: float) -> None:
        self._profile, self._depth = profile, depth
        self._width = max(rtol, profile.bounds.least_width)
        self._close = rtol < _ROUGH

    def __call__(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        parts = np.split(epsilon, range(_TOGETHER, len(epsilon), _TOGETHER))
        sides = zip(*(self._evaluate(part) for part in parts), strict=True)
        lower, upper = (np.concatenate(side) for side in sides)
        profile = self._profile
        slope = np.where(epsilon == profile.max_loss, profile.last_slope, 0.0)
        return Samples(lower, np.minimum(upper, 1.0), slope)

    @cached_property
    def _above(self) -> ClassSampler:
        profile = self._profile
        law = (profile.dominating,)
        return ClassSampler(law, profile.users, self._width, 1, self._depth, profile.idle)

    def _evaluate(self, epsilon: Array) -> tuple[Array, Array]:
        found = [self._profile.bounds.candidates(e) for e in epsilon.tolist()]
        lower, upper = self._of_pairs(epsilon, found, [len(c.bound[:_LEADERS]) for c in found])
        above = self._above(epsilon).upper
        if self._profile.bounded:
            above *= epsilon < self._profile.max_loss
        # more pairs can only tell if they may have more, and if all together do
        useful = (above > 1.0001 * upper) & self._close
        more = [
            0 if not some else c.above(low)
            for some, c, low in zip(useful, found, lower, strict=True)
        ]
        if max(more, default=0) > _LEADERS:
            counts = [max(count, 1) for count in more]
            low, high = self._of_pairs(epsilon, found, counts, lower)
            lower, upper = np.maximum(lower, low), np.maximum(upper, high)
        left_out = [
            max(c.rest, float(c.bound[count]) if count < len(c.bound) else 0.0)
            for c, count in zip(found, np.maximum(more, _LEADERS), strict=True)
        ]
        total = np.minimum(above, np.maximum(upper, left_out))
        if self._close and (total > _LIMITED * upper).any():
            self._profile.bounds.least_width = _LIMITED_WIDTH
        return lower, total

    def _of_pairs(
        self,
        epsilon: Array,
        found: list[Candidates],
        counts: list[int],
        known: Array | None = None,
    ) -> tuple[Array, Array]:
        """(lower, upper) of the largest delta of as many candidates of each epsilon."""
        place: dict[ClassLaw, int] = {}
        pairs: dict[tuple[int, int], int] = {}
        wanted: list[list[int]] = []
        for candidates, count in zip(found, counts, strict=True):
            rows = zip(
                candidates.first[:count].tolist(), candidates.second[:count].tolist(), strict=True
            )
            mine = []
            for pair in rows:
                if pair not in pairs:
                    law = self._profile.law(*pair)
                    pairs[pair] = place.setdefault(law, len(place))
                mine.append(pairs[pair])
            wanted.append(mine)
        mask = np.zeros((len(place), len(epsilon)), dtype=bool)
        for column, mine in enumerate(wanted):
            mask[mine, column] = True
        profile = self._profile
        sampler = ClassSampler(
            tuple(place), profile.users, self._width, 0, self._depth, profile.idle
        )
        return sampler.largest(epsilon, mask, known)
