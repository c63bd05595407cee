"""Periodic copies of a sum, which transforms and trapezoidal rules add: how much they are at most.

docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from .tilted_law import MORE, ROUNDING, TiltedLaw, log_mgf_beyond


class Beyond:
    """Markov's bounds at some t > theta, by which the periodic copies S + j L, j != 0, are few."""

    def __init__(self, law: TiltedLaw) -> None:
        self._law, self._moved = law, np.zeros(len(law.theta))
        self._tilts, self._log_mgf = log_mgf_beyond(law)  # [factors, rows]
        self._log_mgf -= self._tilts * law.sums.threshold * (1 - 32 * UNIT)

    def rows(self, index: NDArray[np.intp]) -> Beyond:
        some = copy(self)
        some._law, some._moved = self._law.rows(index), self._moved[index]
        some._tilts, some._log_mgf = self._tilts[:, index], self._log_mgf[:, index]
        return some

    def moved(self, most: Array) -> Beyond:
        """Of scores that are moved by at most so much each, but for the common one."""
        some, n = copy(self), float(self._law.sums.users)
        some._moved = most
        some._log_mgf = self._log_mgf + n * self._others * np.expm1(self._tilts * most)
        return some

    @property
    def _others(self) -> Array:
        """At each tilt the share of users with another score than the common one, from above."""
        sums = self._law.sums
        common, size, likely = sums.common
        likely = likely - sums.error - UNIT * (24 + sums.scores.shape[1])
        each = (self._log_mgf + self._tilts * sums.threshold) / sums.users
        each -= self._tilts * (common - ROUNDING * size)
        share: Array = 1 - np.maximum(likely, 0.0) * np.exp(-each) * (1 - 1e-9)
        return np.clip(share, UNIT, 1.0)

    def period(self, cut: Array) -> Array:
        """L such that the copies are e^-cut of the scale."""
        theta, scale = self._law.theta, self._law.log_scale
        period: Array = ((self._log_mgf - scale + cut) / (self._tilts - theta)).min(axis=0)
        return np.maximum(period, (np.maximum(-scale, 0) + cut + 3) / theta)

    def copies(self, period: Array, raised: Array) -> Array:
        """What they add to the trapezoidal sum, of which `raised` is an upper bound."""
        decay = np.exp(-self._law.theta * period)
        above = (raised + period) * decay / (1 - decay) ** 2
        total: Array = (above + self._below(period, 1 + np.log(self._tilts))) * (1 + 1e-6)
        return total

    def others(self, period: Array) -> Array:
        """What they add to the number of users with another score than the common one, counted if
        S > 0."""
        n, decay = float(self._law.sums.users), np.exp(-self._law.theta * period)
        mean = self._law.sums.others * (1 + 1e-6) + n * self._law.sums.error
        below = self._below(period, -np.log(n * self._others))
        total: Array = (mean * decay / (1 - decay) + below) * (1 + 1e-6)
        return total

    def slope_copies(self, period: Array) -> Array:
        """What they add to the slope: the sum of all falls, counted if S > 0."""
        sums, decay = self._law.sums, np.exp(-self._law.theta * period)
        mean = sums.users * np.sum(sums.probabilities * sums.slopes, axis=1) + sums.held
        mean += 0.0 if sums.last is None else np.sum(sums.last * sums.slopes, axis=1)
        below = self._below(period, -np.log(np.maximum(self._falls, 1e-300)))
        total: Array = (mean * decay / (1 - decay) + below) * (1 + 1e-6)
        return total

    @property
    def _falls(self) -> Array:
        """Under each tilt the mean of the sum of all falls, from above: [tilts, rows]."""
        sums, scores = self._law.sums, self._law.sums.scores
        found = np.full(self._tilts.shape, float(sums.held))
        for i, tilts in enumerate(self._tilts):
            heavy = np.exp(np.minimum(tilts[:, None] * scores, 700.0))
            norm = 1 + np.sum(sums.probabilities * (heavy - 1), axis=1)
            fall = np.sum(sums.probabilities * heavy * sums.slopes, axis=1)
            found[i] += sums.users * fall / np.maximum(norm, 1e-300)
            if sums.last is not None:
                found[i] += np.sum(sums.last * heavy * sums.slopes, axis=1) / np.sum(
                    sums.last * heavy, axis=1
                )
        # a user's own score may have been moved, beside those in the norm
        return found * MORE * np.exp(2 * self._tilts * self._moved)

    def _below(self, period: Array, lowered: Array | float) -> Array:
        """Of e^(theta j L) Pr[S > j L] or E[(S - j L)_+], j >= 1, by the best tilt."""
        rate = (self._tilts - self._law.theta) * period
        exponent = np.minimum(self._log_mgf - rate - lowered, 700)
        below: Array = (np.exp(exponent) / -np.expm1(-rate)).min(axis=0)
        return below
