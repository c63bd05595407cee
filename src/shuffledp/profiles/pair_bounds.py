"""Bounds of the deltas of all pairs of rows of a matrix at once.

E e^(theta score) of the pair (i, j) is a sum over outputs of a factor of i times one of j, so that
a product of two matrices bounds the deltas of all pairs (docs/theory.md, section 8).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..laws.class_law import ClassLaw
from . import tuning

# proof constants: docs/theory.md, "Constants"
_BERRY_ESSEEN = 0.5  # 0.4748 has been proven


class Candidates(NamedTuple):
    """Pairs that may have the largest delta from some epsilon on, by falling bound."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    bound: Array
    rest: float  # the largest bound of all other pairs

    def above(self, delta: float) -> int:
        """How many of them to evaluate, if the largest delta is at least this."""
        return tuning.SOME if self.rest > delta else int(np.searchsorted(-self.bound, -delta))


class PairBounds:
    """Upper bounds of the deltas of all pairs, from matrix products."""

    def __init__(
        self, rows: Array, users: int, idle: int, dominating: Callable[[], ClassLaw]
    ) -> None:
        base = rows.min(axis=0)
        self._users, self._idle, self._dominating = users, idle, dominating
        covered = base > 0
        self._base = base[covered]
        self._ratio = rows[:, covered] / self._base  # [inputs, covered outputs]
        self._open = rows[:, ~covered]
        self._most = max(tuning.MOST_WORK // rows.shape[1], tuning.SOME)
        self._known: dict[int, Candidates] = {}
        self.least_width = 0.0
        # the pair whose scores vary most, for a start
        scaled = self._ratio * np.sqrt(self._base)
        square = np.sum(scaled**2, axis=1)
        apart = square[:, None] + square - 2 * scaled @ scaled.T
        self._leader = _place(apart)
        spread = float(apart[self._leader])
        self._near = min(
            tuning.NEAR * math.sqrt(max(spread, 0.0) / self._users) or tuning.NEAR, tuning.NEAR
        )

    def candidates(self, epsilon: float) -> Candidates:
        """The delta of a pair falls with epsilon: bounds at a slightly smaller one will do."""
        key = math.floor(epsilon / self._near)
        if key not in self._known:
            for old in list(self._known)[: 1 - tuning.KEPT]:
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
        for _ in range(
            tuning.TILTS
        ):  # that of the leading pair, then of the one that leads with it, ...
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
        law = self._dominating()
        covered = law.blanket > 0
        u, v, w = (column[covered] for column in (law.u, law.v, law.blanket))
        scores: Array = (u - math.exp(epsilon) * v) / w
        return scores, w

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
        if inputs**2 * outputs <= tuning.DIRECT_WORK:
            scaled = alpha * (1 - 8 * UNIT) * self._open
            return np.array([np.maximum(u - scaled, 0.0).sum(axis=1) for u in self._open])
        # min(u, alpha v) >= u v / largest
        largest = np.maximum(self._open.max(axis=0), 1e-300)
        mass = self._open.sum(axis=1)[:, None]
        shared = self._open @ (self._open / largest).T
        result: Array = np.maximum(mass - shared, 0.0) + 4 * UNIT * (outputs + 8) * mass
        return result

    def _log_stop_loss(self, epsilon: float, theta: float, spread: bool = False) -> Array:
        """log of bounds of E[(S)_+]; infinite where a number overflows."""
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
        """The deviation of a tilted score, rounded down, and a bound of its third absolute central
        moment over the third power of its deviation; not numbers where neither is known."""
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


def _place(values: Array) -> tuple[int, int]:
    """Where the largest is."""
    i, j = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return int(i), int(j)
