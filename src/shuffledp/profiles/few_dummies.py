"""One message more among negative binomial noise with a shape below 1: hardly any, or very much.

Here the masses are log-convex and the losses fall with the count: the profile is a polygon with a
corner for every count s >= 1, at alpha = s / ((s - 1 + shape) theta). It is summed up from the top.
Proof: docs/theory.md, "Noise messages and thresholds".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..laws.noise import NegativeBinomialNoise
from . import tuning
from .base import PrivacyProfile, Sampler
from .samples import Samples

# proof constants: docs/theory.md, "Constants"
_ERROR = 64 * UNIT


class _Corners(NamedTuple):
    """Of counts 1, 2, ...: alpha, falling; the profile there; and minus the slope to the left."""

    alpha: Array
    value: Array
    slope: Array


@dataclass(frozen=True)
class FewDummiesProfile(PrivacyProfile):
    """The profile of (N + 1, N)."""

    noise: NegativeBinomialNoise

    @property
    def max_loss(self) -> float:
        return -(self.noise.log_theta + math.log(self.noise.shape)) * (1 + _ERROR)

    @property
    def bounded(self) -> bool:
        return True

    @cached_property
    def _corners(self) -> _Corners:
        r, theta = self.noise.shape, self.noise.theta
        s = np.arange(1.0, max(tuning.FEW_DUMMIES, 2) + 1)
        masses = math.exp(self._log_none) * np.cumprod(theta * (s - 1 + r) / s)
        slope = np.cumsum(masses)
        width = (1 - r) / ((s - 1 + r) * (s + r) * theta)
        value = np.append(0.0, np.cumsum(width * slope)[:-1])
        return _Corners(s / ((s - 1 + r) * theta), value, slope)

    @property
    def _log_none(self) -> float:
        return self.noise.log_infinite(more=False)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        alpha, excess = np.exp(epsilon), np.expm1(epsilon)
        none, some = math.exp(self._log_none), -math.expm1(self._log_none)
        # all counts but 0 count: 1 - alpha Pr[N > 0], which is exact up to alpha = 1/theta
        before = alpha * none - excess
        before_error = _ERROR * (1 - self._log_none) * alpha * none + _ERROR * excess
        # the corner to the right, or the last one that was worked out
        at = np.searchsorted(-self._corners.alpha, -alpha, side="right") - 1
        at = np.maximum(at, 0)
        corner, value, slope = (column[at] for column in self._corners)
        after = value + np.maximum(corner - alpha, 0.0) * slope
        relative = _ERROR * (len(self._corners.alpha) - self._log_none) + _ERROR / (
            1 - self.noise.shape
        )
        after_error = relative * after + _ERROR * alpha * slope
        lower = np.maximum(before - before_error, after - after_error)
        upper = np.where(epsilon + self.noise.log_theta < 0, before + before_error, np.inf)
        last, first = self._corners.alpha[-1], 1 / self.noise.theta
        share = np.clip((alpha - first) / (last - first), 0.0, 1.0)
        at_first = (none - self.noise.rest) / self.noise.theta
        at_first += _ERROR * (1 - self._log_none) * (none + self.noise.rest) / self.noise.theta
        chord = (1 - share) * at_first + share * self._corners.value[-1]
        chord = np.maximum(chord, at_first * (share == 0)) + relative * at_first
        upper = np.minimum(upper, np.where(alpha < last, chord, after + after_error))
        inside = epsilon < self.max_loss
        steep = np.where(before > after, some, slope)
        return Samples(
            np.where(inside & (lower > UNDERFLOW), lower, 0.0),
            np.where(inside, np.minimum(upper + UNDERFLOW, 1.0), 0.0),
            np.where(inside, steep * (1 - relative), 0.0),
            np.where(inside, steep * (1 + relative) + UNDERFLOW, 0.0),
        )
