"""Score laws under an exponential tilt, and bounds on the aliases of their sums.

A tilt theta multiplies the probability of a score z by e^(theta z), so that the sums that matter,
however rare they are, become typical. The Fourier integral and the lattice are both evaluated
under the tilt. Both see a sum modulo a period; `Aliases` bounds what the periodic copies add.

Theory: docs/theory/fourier.md.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array
from .problem import ROUNDING, ScoreSums

# proof constants: docs/theory/constants.md
MORE = 1.1  # covers the error of the weights in a mean, and in the root of one
_MOST_CHANGE = 0.05  # relative error of E e^(theta z) beyond which nothing is resolved
DEEPEST = -700.0  # e^DEEPEST is near the end of the range of a double
_LEAST_NORM = 1e-290  # of the one more user: in smaller ones, terms leave the range of a double

#: Markov's inequality is applied at the tilts theta (1 + this): small steps serve light tails,
#: large ones heavy tails. Any positive numbers are sound.
_STEPS_BEYOND = np.array([0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0])


@dataclass(frozen=True)
class TiltedLaw:
    """Scores in [-1, 1] under the tilt e^(theta z), and the noise Z that smooths their sum.

    Attributes
    ----------
    sums : ScoreSums
        The law before the tilt.
    theta : Array
        Tilt of each row.
    weights : Array
        Tilted probabilities, [rows, values].
    tau : Array
        Standard deviation of the noise.
    log_scale : Array
        log E e^(theta (S + Z)).
    relative : Array
        Relative error of each term p (e^(theta z) - 1) of the norm E e^(theta z) - 1.
    norm_error : Array
        Relative error of the norm.
    log_error : Array
        Error of log_scale.
    last : Array or None
        Tilted probabilities of the one more user, [rows, values].
    """

    sums: ScoreSums
    theta: Array
    weights: Array
    tau: Array
    log_scale: Array
    relative: Array
    norm_error: Array
    log_error: Array
    last: Array | None

    @classmethod
    def of(cls, sums: ScoreSums, width: float) -> TiltedLaw:
        """Tilt to about the saddle point, with as much noise as the relative width allows.

        Parameters
        ----------
        sums : ScoreSums
            Scores in [-1, 1], shape [rows, values].
        width : float
            Variance of the noise relative to that of the tilted sum.

        Notes
        -----
        docs/theory/fourier.md, rounding: how the errors of the norm and of the scale follow.
        """
        scores, probabilities, threshold = sums.scores, sums.probabilities, sums.threshold
        n, theta = float(sums.users), _saddle_point(sums)
        growth = probabilities * np.expm1(theta[:, None] * scores)
        norm = 1 + growth.sum(axis=1)  # E e^(theta z)
        weights = probabilities * np.exp(theta[:, None] * scores) / norm[:, None]
        variance = n * (np.sum(weights * scores**2, axis=1) - np.sum(weights * scores, axis=1) ** 2)
        log_scale = n * np.log1p(growth.sum(axis=1)) - theta * threshold
        last = None
        if sums.last is not None:
            last = sums.last * np.exp(theta[:, None] * scores)
            total = last.sum(axis=1)
            total = np.where(total > _LEAST_NORM, total, np.nan)
            last /= total[:, None]
            log_scale += np.log(total)
            variance += np.sum(last * scores**2, axis=1) - np.sum(last * scores, axis=1) ** 2
        deviation = np.sqrt(np.maximum(variance, 1e-300))
        # the tilted law of a heavy tail has a second mode: its deviation is no scale for the first
        decay = np.sqrt(25 + 2 * np.maximum(-log_scale, 0)) / theta
        tau = np.sqrt(width) * np.minimum(deviation, decay)
        log_scale += (tau * theta) ** 2 / 2
        # the probability, the exponent and the sum of each term
        relative = UNIT * (32 + theta + scores.shape[1]) + sums.error
        norm_error = relative * np.abs(growth).sum(axis=1) / norm
        log_error = np.where(norm_error < _MOST_CHANGE, n * norm_error / (1 - norm_error), np.inf)
        log_error += 16 * UNIT * (np.abs(log_scale) + 2 * theta * threshold + 8)
        log_error += 0.0 if last is None else 2 * relative
        return cls(sums, theta, weights, tau, log_scale, relative, norm_error, log_error, last)

    def rows(self, index: NDArray[np.intp]) -> TiltedLaw:
        columns = {field.name: getattr(self, field.name)[index] for field in fields(self)[1:-1]}
        last = None if self.last is None else self.last[index]
        return replace(self, sums=self.sums.rows(index), last=last, **columns)

    def with_noise(self, factor: Array) -> TiltedLaw:
        """Return the law with the variance of the noise multiplied by a factor per row."""
        if (factor == 1).all():
            return self
        less = (self.tau * self.theta) ** 2 / 2 * (1 - factor)
        return replace(
            self,
            tau=self.tau * np.sqrt(factor),
            log_scale=self.log_scale - less,
            log_error=self.log_error + 16 * UNIT * np.abs(less),
        )

    def with_affordable_noise(self, width: float, known: Array) -> tuple[TiltedLaw, Array]:
        """Return the law with more noise, up to the slack left by the known part of the value.

        Parameters
        ----------
        width : float
            Relative width to aim for, of E[(S)_+] plus `known`.
        known : Array
            A part of the value that is known from elsewhere, in units of the scores.

        Returns
        -------
        tuple of TiltedLaw and Array
            The law, and -log of the errors, relative to the scale, that are negligible then.
        """
        most = np.maximum(1 / (self.tau * self.theta) ** 2, 1.0)  # beyond, noise is no smoothing
        factor = np.clip(known / self.markov_bound(), 1.0, most)
        factor = np.where(np.isfinite(factor), factor, 1.0)
        # rounding is larger than e^-37
        return self.with_noise(factor), np.clip(tuning.CUT - np.log(width * factor), 1.0, 37.0)

    def mean_of_last(self, values: Array) -> Array:
        """Return the mean of the last user's values under the tilt, 0 if there is none."""
        if self.last is None:
            return np.zeros(len(self.theta))
        mean: Array = np.sum(self.last * values, axis=1)
        return mean

    @cached_property
    def mean_size(self) -> Array:
        """The mean of |z| under the tilt."""
        size: Array = np.sum(self.weights * np.abs(self.sums.scores), axis=1)
        return size

    @cached_property
    def mean_fall_bound(self) -> Array:
        """An upper bound on the mean decrease of the sum per unit of alpha, under the tilt.

        0 if no falls are needed.
        """
        if self.sums.falls is None:
            return np.zeros(len(self.theta))
        mean = np.sum(self.weights * self.sums.all_falls, axis=1)
        total = float(self.sums.users) * mean + self.mean_of_last(self.sums.all_falls)
        bound: Array = total * MORE + self.sums.threshold_rise
        return bound

    @property
    def log_rounding(self) -> Array:
        """What the rounding of scores and threshold can add to theta S, wherever S is."""
        users = self.sums.users + (self.last is not None)
        magnitude = float(users) * self.sums.magnitudes.max(axis=1)
        reach: Array = self.theta * ROUNDING * (magnitude + self.sums.threshold)
        return reach

    @property
    def is_out_of_range(self) -> NDArray[np.bool_]:
        """Whether the scale is below the range of a double; then only Markov's bound is given."""
        log_bound = np.minimum(self.log_scale, self.log_scale - np.log(self.theta))
        below: NDArray[np.bool_] = log_bound < DEEPEST
        return below

    def markov_bound(self, unit: Array | float = 1.0) -> Array:
        """Return the upper bound e^(theta s)/(e theta) >= (s)_+ on E[(S)_+], times unit."""
        log_bound = self.log_scale + self.log_error + self.log_rounding - 1 - np.log(self.theta)
        bound: Array = np.exp(log_bound + np.log(unit)) * (1 + 1e-9)
        return bound


def _saddle_point(sums: ScoreSums) -> Array:
    """Return theta > 0 near the minimum of n K(theta) - 2 log theta, row by row."""
    scores, probabilities, n = sums.scores, sums.probabilities, float(sums.users)
    together = max(tuning.AT_ONCE // scores.shape[1], 1)  # arrays stay in the cache
    if len(scores) > together:
        parts = np.split(np.arange(len(scores)), range(together, len(scores), together))
        return np.concatenate([_saddle_point(sums.rows(part)) for part in parts])
    largest = np.maximum(scores.max(axis=1), 1e-300)
    squares, drift = (n * np.sum(probabilities * x, axis=1) for x in (scores**2, scores))
    if sums.last is not None:
        squares += np.sum(sums.last * scores**2, axis=1)
        drift += np.sum(sums.last * scores, axis=1)
    low = np.log(np.minimum(1e-3 / np.sqrt(squares), 0.1 / np.maximum(drift, 1e-300)))
    high = np.log(600 / largest)
    low = np.minimum(low, high - 1)
    # the interval shrinks by 2^12 in total; with few numbers, 63 places cost little more than one
    tried = min(max((1 << 12) // scores.size, 1), 63)
    part = np.arange(1, tried + 1) / (tried + 1)
    for _ in range(math.ceil(12 / math.log2(tried + 1))):
        middle = low[:, None] + (high - low)[:, None] * part  # [rows, tried]
        theta = np.exp(middle)
        growth = np.expm1(theta[:, :, None] * scores[:, None, :]) * probabilities[:, None, :]
        mean = np.sum((growth + probabilities[:, None, :]) * scores[:, None, :], axis=2)
        mean = n * mean / (1 + growth.sum(axis=2))
        if sums.last is not None:
            heavy = np.exp(theta[:, :, None] * scores[:, None, :]) * sums.last[:, None, :]
            mean += np.sum(heavy * scores[:, None, :], axis=2) / heavy.sum(axis=2)
        is_beyond = mean > sums.threshold[:, None] + 2 / theta
        after = np.where(is_beyond.any(axis=1), is_beyond.argmax(axis=1), tried)
        width = (high - low) / (tried + 1)
        low, high = low + after * width, low + (after + 1) * width
    found: Array = np.exp(low)
    return found


class Aliases:
    """Bounds on the periodic copies S + j L, j != 0, by Markov's inequality at tilts t > theta."""

    def __init__(self, law: TiltedLaw) -> None:
        self._law, self._shift = law, np.zeros(len(law.theta))
        self._tilts, self._log_of_users, log_of_last = _log_mgf_beyond(law)  # [tilts, rows]
        threshold = self._tilts * law.sums.threshold * (1 - 32 * UNIT)
        self._log_mgf = self._log_of_users + log_of_last - threshold

    def rows(self, index: NDArray[np.intp]) -> Aliases:
        part = copy(self)
        part._law, part._shift = self._law.rows(index), self._shift[index]
        part._tilts, part._log_mgf = self._tilts[:, index], self._log_mgf[:, index]
        part._log_of_users = self._log_of_users[:, index]
        return part

    def with_shifted_scores(self, most: Array) -> Aliases:
        """Return the bounds for scores that are moved by at most `most`, except the common one."""
        part, n = copy(self), float(self._law.sums.users)
        part._shift = most
        part._log_mgf = self._log_mgf + n * self._other_share * np.expm1(self._tilts * most)
        return part

    @property
    def _other_share(self) -> Array:
        """At each tilt, an upper bound on the probability of any but the common score."""
        sums = self._law.sums
        common, size, likely = sums.common
        likely = likely - sums.error - UNIT * (24 + sums.scores.shape[1])
        each = self._log_of_users / sums.users - self._tilts * (common - ROUNDING * size)
        share: Array = 1 - np.maximum(likely, 0.0) * np.exp(-each) * (1 - 1e-9)
        return np.clip(share, UNIT, 1.0)

    def period(self, cut: Array) -> Array:
        """Return a period L such that the copies are below e^-cut of the scale."""
        theta, scale = self._law.theta, self._law.log_scale
        period: Array = ((self._log_mgf - scale + cut) / (self._tilts - theta)).min(axis=0)
        return np.maximum(period, (np.maximum(-scale, 0) + cut + 3) / theta)

    def of_value(self, period: Array, upper: Array) -> Array:
        """Return a bound on what copies add to E[(S)_+], of which `upper` is an upper bound."""
        decay = np.exp(-self._law.theta * period)
        above = (upper + period) * decay / (1 - decay) ** 2
        total: Array = (above + self._below(period, 1 + np.log(self._tilts))) * (1 + 1e-6)
        return total

    def of_others(self, period: Array) -> Array:
        """Return a bound on what copies add to the number of uncommon scores, if S > 0."""
        n, decay = float(self._law.sums.users), np.exp(-self._law.theta * period)
        sums = self._law.sums
        error = sums.error + UNIT * (24 + sums.scores.shape[1])
        mean = sums.expected_uncommon * (1 + 1e-6) + n * error
        below = self._below(period, -np.log(n * self._other_share))
        total: Array = (mean * decay / (1 - decay) + below) * (1 + 1e-6)
        return total

    def of_fall(self, period: Array) -> Array:
        """Return a bound on what copies add to the fall: the sum of all falls, if S > 0."""
        sums, decay = self._law.sums, np.exp(-self._law.theta * period)
        mean = (
            sums.users * np.sum(sums.probabilities * sums.all_falls, axis=1) + sums.threshold_rise
        )
        mean += 0.0 if sums.last is None else np.sum(sums.last * sums.all_falls, axis=1)
        below = self._below(period, -np.log(np.maximum(self._mean_falls, 1e-300)))
        total: Array = (mean * decay / (1 - decay) + below) * (1 + 1e-6)
        return total

    @property
    def _mean_falls(self) -> Array:
        """An upper bound on the mean of the sum of all falls under each tilt: [tilts, rows]."""
        sums, scores = self._law.sums, self._law.sums.scores
        means = np.full(self._tilts.shape, float(sums.threshold_rise))
        for i, tilts in enumerate(self._tilts):
            heavy = np.exp(np.minimum(tilts[:, None] * scores, 700.0))
            norm = 1 + np.sum(sums.probabilities * (heavy - 1), axis=1)
            fall = np.sum(sums.probabilities * heavy * sums.all_falls, axis=1)
            means[i] += sums.users * fall / np.maximum(norm, 1e-300)
            if sums.last is not None:
                total = np.sum(sums.last * heavy * sums.all_falls, axis=1)
                means[i] += total / np.sum(sums.last * heavy, axis=1)
        # a user's own score may have been moved, besides those in the norm
        return means * MORE * np.exp(2 * self._tilts * self._shift)

    def _below(self, period: Array, log_divisor: Array | float) -> Array:
        """Return a bound on the copies with j <= -1 over e^log_divisor, at the best tilt."""
        rate = (self._tilts - self._law.theta) * period
        exponent = np.minimum(self._log_mgf - rate - log_divisor, 700)
        below: Array = (np.exp(exponent) / -np.expm1(-rate)).min(axis=0)
        return below


def _log_mgf_beyond(law: TiltedLaw) -> tuple[Array, Array, Array]:
    """Return tilts t > theta and upper bounds on log E e^(t X), all [tilts, rows].

    X is the sum of all users' scores and the noise, and then the score of the one more user.
    """
    scores, probabilities, n = law.sums.scores, law.sums.probabilities, float(law.sums.users)
    factors = 1 + _STEPS_BEYOND
    tilts = np.outer(factors, law.theta)
    values, last = np.zeros((2, *tilts.shape))
    together = min(max((1 << 12) // scores.size, 1), len(factors))  # arrays stay in the cache
    for i in range(0, len(factors), together):
        rows, factor = slice(i, i + together), factors[i : i + together, None]
        exponent = np.minimum(tilts[rows, :, None] * scores, 700.0)  # [tilts, rows, values]
        growth = probabilities * np.expm1(exponent)
        change = factor * law.relative * np.abs(growth).sum(axis=2) / (1 + growth.sum(axis=2))
        values[rows] = n * np.log1p(growth.sum(axis=2)) + (law.tau * tilts[rows]) ** 2 / 2
        values[rows] += n * change
        unknown = (exponent >= 700.0).any(axis=2) | ~(change < _MOST_CHANGE)
        if law.sums.last is not None:
            total = np.sum(law.sums.last * np.exp(exponent), axis=2)
            last[rows] = np.log(np.maximum(total, _LEAST_NORM)) + 2 * factor * law.relative
            unknown |= total < _LEAST_NORM
        values[rows][unknown] = np.inf
    return tilts, values, last
