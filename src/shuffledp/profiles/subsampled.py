"""Samples of the users of any mechanism.

Theory: docs/theory/sampling.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._support.numeric import UNIT, Array, Side
from ..laws.class_law import sampled_loss
from .base import PrivacyProfile, Sampler
from .samples import Samples

# proof constants: docs/theory/constants.md
_ULP = 2 * UNIT


def magnified(epsilon: Array, rate: float | Array, side: Side) -> Array:
    """log(1 + (e^epsilon - 1)/rate), rounded up if side is UPPER, else down."""
    exact: Array = np.log1p(np.expm1(epsilon) / rate)
    return exact * (1 + side * 16 * _ULP)


@dataclass(frozen=True)
class SubsampledProfile(PrivacyProfile):
    """A random subset, the share `rate` of all users, takes part in the round with profile `full`.

    f_rate(alpha) = rate f(1 + (alpha - 1)/rate) for alpha >= 1 (Zhu, Dong, Wang 2022, Prop. 30).
    """

    full: PrivacyProfile
    rate: float

    @property
    def max_loss(self) -> float:
        return sampled_loss(self.full.max_loss, self.rate)

    @property
    def farthest_loss(self) -> float:
        return sampled_loss(self.full.farthest_loss, self.rate)

    @property
    def bounded(self) -> bool:
        return self.full.bounded

    @property
    def depths(self) -> Sequence[float]:
        return self.full.depths

    @property
    def dear(self) -> bool:
        return self.full.dear

    @property
    def slow(self) -> bool:
        return self.full.slow

    def sampler(self, depth: float, rtol: float) -> Sampler:
        sampled = subsampled(self.full.sampler(depth, rtol), self.rate)

        def sample(epsilon: Array) -> Samples:
            found, is_inside = sampled(epsilon), self.some_left(epsilon)
            lower, upper, low = (
                side * is_inside for side in (found.lower, found.upper, found.slope_low)
            )
            return Samples(lower, upper, low, found.slope_high)

        return sample


def subsampled(inner: Sampler, rate: float) -> Sampler:
    """The sampler of a share `rate` of all users, from that of the round of those who take part."""

    def sample(epsilon: Array) -> Samples:
        # the slope in alpha is that of the full round
        before, after = (magnified(epsilon, rate, side) for side in (Side.LOWER, Side.UPPER))
        found = inner(before)
        if np.isfinite(found.slope_high).all():  # along the line below
            distance = np.exp(before) * np.expm1(after - before) * (1 + 16 * _ULP)
            lower = np.maximum(found.lower - found.slope_high * distance, 0.0)
            slopes = found.slope_low, found.slope_high
        else:
            second = inner(after)
            lower, slopes = second.lower, (second.slope_low, second.slope_high)
        return Samples(lower * rate * (1 - 4 * _ULP), found.upper * rate * (1 + 4 * _ULP), *slopes)

    return sample
