"""Sums of scores under a tilt: where the Fourier integral is taken, its scale and all its errors.

A tilt theta multiplies the probability of a score z by e^(theta z), such that the sums that matter,
however rare they are, become the usual ones; the integral is one of the tilted law.

docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from . import tuning
from .problem import ScoreSums, all_in_order

# proof constants: docs/theory.md, "Constants"
ROUNDING = 20 * UNIT  # of scores, relative to their magnitudes, and of the threshold; scaled
MORE = 1.1  # covers the error of the weights in a mean, and in the root of one
_MOST_CHANGE = 0.05  # relative error of E e^(theta z) beyond which nothing is resolved


@dataclass(frozen=True)
class TiltedLaw:
    """Scores in [-1, 1] under the tilt e^(theta z), and the noise that smooths their sum.

    An entry for each row of `sums`: theta, the tilted probabilities, the deviation `tau` of the
    noise and `log_scale`, the logarithm of E e^(theta (S + Z)). Then errors: `relative` of each
    term p (e^(theta z) - 1) of the norm E e^(theta z), `change` of the norm, relative too, and
    `log_error` of log_scale.
    """

    sums: ScoreSums
    theta: Array
    weights: Array
    tau: Array
    log_scale: Array
    relative: Array
    change: Array
    log_error: Array
    last: Array | None  # tilted probabilities of the one more user

    def rows(self, index: NDArray[np.intp]) -> TiltedLaw:
        if all_in_order(index, len(self.theta)):
            return self
        columns = {field.name: getattr(self, field.name)[index] for field in fields(self)[1:-1]}
        last = None if self.last is None else self.last[index]
        return replace(self, sums=self.sums.rows(index), last=last, **columns)

    def with_noise(self, factor: Array) -> TiltedLaw:
        """With as many times the variance of the noise."""
        if (factor == 1).all():
            return self
        less = (self.tau * self.theta) ** 2 / 2 * (1 - factor)
        return replace(
            self,
            tau=self.tau * np.sqrt(factor),
            log_scale=self.log_scale - less,
            log_error=self.log_error + 16 * UNIT * np.abs(less),
        )

    def of_last(self, values: Array) -> Array:
        """E~ of the last user's values."""
        if self.last is None:
            return np.zeros(len(self.theta))
        mean: Array = np.sum(self.last * values, axis=1)
        return mean

    @cached_property
    def mean_size(self) -> Array:
        """E~ |z|."""
        size: Array = np.sum(self.weights * np.abs(self.sums.scores), axis=1)
        return size

    @cached_property
    def most_fall(self) -> Array:
        """All that the sum can fall by, on average: n E~[fall] + held, rounded up."""
        if self.sums.falls is None:
            return np.full(len(self.theta), float(self.sums.held))
        mean = np.sum(self.weights * self.sums.slopes, axis=1)
        of_all = float(self.sums.users) * mean + self.of_last(self.sums.slopes)
        most: Array = of_all * MORE + self.sums.held
        return most

    def fall_error(self, t: Array) -> Array:
        """Bound of the error of E~[fall e^(itz)]: weights and sums, angles. t: [rows, nodes]."""
        fall = self.weights * self.sums.slopes
        rounding = self.relative + self.change + (96 + 4 * fall.shape[1]) * UNIT
        turned = 32 * UNIT * np.sum(fall * np.abs(self.sums.scores), axis=1)
        error: Array = (rounding * fall.sum(axis=1))[:, None] + turned[:, None] * t
        return error

    def last_error(self, values: Array, t: Array) -> Array:
        """Bound of the error of E~[value e^(itz)] of the last user, for values >= 0."""
        rounding = 2 * self.relative + (96 + 4 * values.shape[1]) * UNIT
        turned = 32 * UNIT * self.of_last(values * np.abs(self.sums.scores))
        error: Array = (rounding * self.of_last(values))[:, None] + turned[:, None] * t
        return error

    @property
    def log_reach(self) -> Array:
        """What the rounding of scores and threshold can add to theta S, wherever S is."""
        users = self.sums.users + (self.last is not None)
        magnitude = float(users) * self.sums.magnitudes.max(axis=1)
        reach: Array = self.theta * ROUNDING * (magnitude + self.sums.threshold)
        return reach


def tilted(sums: ScoreSums, width: float | Array) -> TiltedLaw:
    """The law under a tilt near the saddle point, with as much noise as the width allows."""
    scores, probabilities, threshold = sums.scores, sums.probabilities, sums.threshold
    n, theta = float(sums.users), _saddle(sums)
    growth = probabilities * np.expm1(theta[:, None] * scores)
    norm = 1 + growth.sum(axis=1)  # E e^(theta z)
    weights = probabilities * np.exp(theta[:, None] * scores) / norm[:, None]
    variance = n * (np.sum(weights * scores**2, axis=1) - np.sum(weights * scores, axis=1) ** 2)
    log_scale = n * np.log1p(growth.sum(axis=1)) - theta * threshold
    last = None
    if sums.last is not None:
        last = sums.last * np.exp(theta[:, None] * scores)
        total = last.sum(axis=1)
        last /= total[:, None]
        log_scale += np.log(total)
        variance += np.sum(last * scores**2, axis=1) - np.sum(last * scores, axis=1) ** 2
    deviation = np.sqrt(np.maximum(variance, 1e-300))
    # of a heavy tail the tilted law has a second hump: its deviation is no scale for the first
    decay = np.sqrt(25 + 2 * np.maximum(-log_scale, 0)) / theta
    tau = np.sqrt(width) * np.minimum(deviation, decay)
    log_scale += (tau * theta) ** 2 / 2
    # of each term of the norm, p (e^(theta z) - 1): its probability, the exponent, the sums
    relative = UNIT * (32 + theta + scores.shape[1]) + sums.error
    change = relative * np.abs(growth).sum(axis=1) / norm  # relative error of the norm
    log_error = np.where(change < _MOST_CHANGE, n * change / (1 - change), np.inf)
    log_error += 16 * UNIT * (np.abs(log_scale) + 2 * theta * threshold + 8)
    log_error += 0.0 if last is None else 2 * relative
    return TiltedLaw(sums, theta, weights, tau, log_scale, relative, change, log_error, last)


def _saddle(sums: ScoreSums) -> Array:
    """theta > 0 near the minimum of n K(theta) - 2 log theta, row by row."""
    scores, probabilities, n = sums.scores, sums.probabilities, float(sums.users)
    largest = np.maximum(scores.max(axis=1), 1e-300)
    rms = np.sqrt(np.sum(probabilities * scores**2, axis=1))
    drift = np.maximum(np.sum(probabilities * scores, axis=1), 1e-300)
    low = np.log(np.minimum(1e-3 / (rms * math.sqrt(n)), 0.1 / (n * drift)))
    high = np.log(600 / largest)
    low = np.minimum(low, high - 1)
    # several places between low and high are tried at once, if that is little work
    tried = min(max(tuning.LITTLE // scores.size, 1), tuning.TRIED)
    part = np.arange(1, tried + 1) / (tried + 1)
    for _ in range(math.ceil(tuning.HALVINGS / math.log2(tried + 1))):
        middle = low[:, None] + (high - low)[:, None] * part  # [laws, tried]
        theta = np.exp(middle)
        growth = np.expm1(theta[:, :, None] * scores[:, None, :]) * probabilities[:, None, :]
        mean = np.sum((growth + probabilities[:, None, :]) * scores[:, None, :], axis=2)
        mean = n * mean / (1 + growth.sum(axis=2))
        if sums.last is not None:
            heavy = np.exp(theta[:, :, None] * scores[:, None, :]) * sums.last[:, None, :]
            mean += np.sum(heavy * scores[:, None, :], axis=2) / heavy.sum(axis=2)
        rising = mean > sums.threshold[:, None] + 2 / theta
        after = np.where(rising.any(axis=1), rising.argmax(axis=1), tried)
        width = (high - low) / (tried + 1)
        low, high = low + after * width, low + (after + 1) * width
    found: Array = np.exp(low)
    return found


def log_mgf_beyond(law: TiltedLaw) -> tuple[Array, Array]:
    """Some t > theta and log E e^(t (S + Z)) there, rounded up: [factors, laws].

    Without the threshold.
    """
    scores, probabilities, n = law.sums.scores, law.sums.probabilities, float(law.sums.users)
    factors = 1 + np.array(tuning.BEYOND)
    others = np.outer(factors, law.theta)
    values = np.empty(others.shape)
    together = min(max(tuning.LITTLE // scores.size, 1), len(factors))
    for i in range(0, len(factors), together):
        rows, factor = slice(i, i + together), factors[i : i + together, None]
        exponent = np.minimum(others[rows, :, None] * scores, 700.0)  # [factors, laws, values]
        growth = probabilities * np.expm1(exponent)
        change = factor * law.relative * np.abs(growth).sum(axis=2) / (1 + growth.sum(axis=2))
        values[rows] = n * np.log1p(growth.sum(axis=2)) + (law.tau * others[rows]) ** 2 / 2
        values[rows] += n * change
        if law.sums.last is not None:
            values[rows] += np.log(np.sum(law.sums.last * np.exp(exponent), axis=2))
            values[rows] += 2 * factor * law.relative
        unknown = (exponent >= 700.0).any(axis=2) | ~(change < _MOST_CHANGE)
        values[rows][unknown] = np.inf
    return others, values
