"""Rounds to which only a random sample of the users contributes (docs/theory.md, "Sampling")."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .binomial import Array
from .profile import PrivacyProfile, Sampler
from .stop_loss import UNDERFLOW, Samples, bernstein, bucket_masses

_ULP = 2.0**-52
_ALL_COUNTS = 400.0  # of so few users every count has a bucket of its own


def _magnified(epsilon: Array, rate: float, side: int) -> Array:
    """log(1 + (e^epsilon - 1)/rate), rounded up or down."""
    exact: Array = np.log1p(np.expm1(epsilon) / rate)
    return exact * (1 + side * 16 * _ULP)


def _reduced(epsilon: float, rate: float) -> float:
    """The inverse of _magnified, rounded up."""
    if epsilon > 40:  # e^epsilon may overflow
        return min(epsilon, epsilon + math.log(rate) + math.exp(-epsilon) / rate) * (1 + 16 * _ULP)
    return math.log1p(rate * math.expm1(epsilon)) * (1 + 16 * _ULP)


@dataclass(frozen=True)
class SubsampledProfile:
    """A random subset, the share `rate` of all users, takes part in the round with profile `full`.

    f_rate(alpha) = rate f(1 + (alpha - 1)/rate) for alpha >= 1 (Zhu, Dong, Wang 2022, Prop. 30).
    """

    full: PrivacyProfile
    rate: float

    @property
    def max_loss(self) -> float:
        return _reduced(self.full.max_loss, self.rate)

    @property
    def bounded(self) -> bool:
        return self.full.bounded

    @property
    def has_slopes(self) -> bool:
        return self.full.has_slopes

    @property
    def depths(self) -> Sequence[float]:
        return self.full.depths

    @property
    def pointwise(self) -> PrivacyProfile:
        return SubsampledProfile(self.full.pointwise, self.rate)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        inner = self.full.sampler(depth, rtol)

        def sample(epsilon: Array) -> Samples:
            # the slope in alpha is that of the full round
            points = [_magnified(epsilon, self.rate, side) for side in (-1, 1)]
            found, count = inner(np.concatenate(points)), len(epsilon)
            lower = found.lower[count:] * self.rate * (1 - 4 * _ULP)
            upper = found.upper[:count] * self.rate * (1 + 4 * _ULP)
            inside = (epsilon < self.max_loss) | (not self.bounded)
            if found.slope_low is None or found.slope_high is None:
                return Samples(lower * inside, upper * inside)
            low, high = found.slope_low[count:], found.slope_high[:count]
            return Samples(lower * inside, upper * inside, low * inside, high)

        return sample


@dataclass(frozen=True)
class PoissonProfile:
    """Every user takes part with probability `rate`, independently: `full(t)` if t of them do.

    The number t of messages is seen and says nothing about the values; given t, the round is a
    random subset: f(alpha) = E[(t/n) f_t(1 + (alpha - 1) n/t)], t ~ Bin(n, rate). The profile f_t
    falls with t, which bounds a bucket of counts from both sides by its first and last.
    """

    full: Callable[[int], PrivacyProfile]
    users: int
    rate: float

    @property
    def max_loss(self) -> float:
        # a round of t users has at most the loss of one user alone
        return max(self.full(1).max_loss, self.full(self.users).max_loss)

    @property
    def bounded(self) -> bool:
        return self.full(1).bounded

    @property
    def has_slopes(self) -> bool:
        return self.full(1).has_slopes

    @property
    def depths(self) -> Sequence[float]:
        return self.full(1).depths

    @property
    def pointwise(self) -> PrivacyProfile:
        return self

    def sampler(self, depth: float, rtol: float) -> Sampler:
        first, masses, errors = self._buckets(rtol)
        last = np.append(first[1:] - 1, float(self.users))
        counts = np.unique(np.append(first[1:], last[1:]))
        inner = {t: self.full(int(t)).sampler(depth, max(rtol, 1e-5)) for t in counts}
        high, low = masses + errors, np.maximum(masses - errors, 0.0)
        # nobody, the first bucket, tells nothing
        rows = [(i, first[i] / self.users, last[i] / self.users) for i in range(1, len(first))]

        def sample(epsilon: Array) -> Samples:
            size = len(epsilon)
            lower, upper, steep, flat = np.zeros((4, size))
            for i, few, many in rows:
                points = [_magnified(epsilon, few, side) for side in (-1, 1)]
                found = inner[last[i]](np.concatenate(points))
                lower += low[i] * few * found.lower[size:]
                if found.slope_low is not None and found.slope_high is not None:
                    # of the mixture below, which is convex itself
                    flat += low[i] * found.slope_low[size:]
                    steep += low[i] * found.slope_high[:size]
                if first[i] < last[i]:
                    found = inner[first[i]](_magnified(epsilon, many, -1))
                upper += high[i] * many * found.upper[:size]
            inside = (epsilon < self.max_loss) | (not self.bounded)
            upper = np.minimum(upper * (1 + 1e-12) + UNDERFLOW, 1.0) * inside
            lower = np.where(lower > UNDERFLOW, lower * (1 - 1e-12), 0.0) * inside
            if not self.has_slopes:
                return Samples(lower, upper)
            return Samples(lower, upper, flat * (1 - 1e-12) * inside, steep * (1 + 1e-12))

        return sample

    def _buckets(self, rtol: float) -> tuple[Array, Array, Array]:
        """First count of each bucket, the bucket's mass, and the error of that.

        A bucket w wide costs about 2 w/t in relative epsilon where counts are likely.
        """
        n, rate = float(self.users), self.rate
        mean, variance = n * rate, n * rate * (1 - rate)
        deviation, far = math.sqrt(variance), bernstein(variance, 690.0)
        width = max(min(2 * rtol * mean, deviation), 1.0)
        # unlikely counts may be in wider buckets: as wide as 1 over the root of their chance
        steps, place = [0.0], 0.0
        while place < far:
            wider = math.exp(min((place / max(deviation, 1.0)) ** 2 / 4, 30.0))
            place += min(width * wider, width * max(1e6 * rtol, 1.0)) if n > _ALL_COUNTS else 1.0
            steps.append(place)
        offsets = np.array(steps)
        edges = [np.arange(0.0, 2.0), mean - offsets, mean + offsets]
        first = np.unique(np.floor(np.clip(np.concatenate(edges), 0.0, n)))
        masses, errors = bucket_masses(self.users, rate, 1 - rate, first)
        return first, masses, errors
