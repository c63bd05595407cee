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
from ..laws.noise_law import NegativeBinomialNoise
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
        # all counts but 0 matter: 1 - alpha Pr[N > 0], which is exact up to alpha = 1/theta
        log_none = self._log_none
        none, some, error = math.exp(log_none), -math.expm1(log_none), _ERROR * (1 - log_none)
        before = alpha * none - excess
        before_error = error * (alpha * none + excess)
        # by the corner to the right, which is the last one that was worked out if there is none
        corners = self._corners
        at = np.maximum(np.searchsorted(-corners.alpha, -alpha, side="right") - 1, 0)
        corner, value, slope = (column[at] for column in corners)
        after = value + np.maximum(corner - alpha, 0.0) * slope
        relative = error + _ERROR * (len(corners.alpha) + 1 / (1 - self.noise.shape))
        after_error = relative * after + _ERROR * alpha * slope
        # between 1/theta and that corner: the chord
        first, last = 1 / self.noise.theta, float(corners.alpha[-1])
        at_first = (none - self.noise.rest + 2 * error * (none + self.noise.rest)) * first
        share = np.clip((alpha - first) / max(last - first, UNIT), 0.0, 1.0)
        chord = (1 - share) * at_first + share * corners.value[-1] * (1 + relative)
        chord = chord * (1 + _ERROR) + _ERROR * alpha * some
        upper = np.where(
            alpha < last, np.maximum(before + before_error, chord), after + after_error
        )
        lower = np.maximum(before - before_error, after - after_error)
        steep, inside = np.where(before > after, some, slope), epsilon < self.max_loss
        # where it reaches 0: Q's mass of the largest loss
        steep = np.where(epsilon == self.max_loss, corners.slope[0], steep)
        sloping = epsilon <= self.max_loss
        return Samples(
            np.where(inside & (lower > UNDERFLOW), lower, 0.0),
            np.where(inside, np.minimum(upper + UNDERFLOW, 1.0), 0.0),
            np.where(sloping, steep * max(1 - relative, 0.0), 0.0),
            np.where(sloping, np.minimum(steep * (1 + relative) + UNDERFLOW, 1.0), 0.0),
        )
