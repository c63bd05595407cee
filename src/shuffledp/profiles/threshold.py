"""One report more or less in a bin whose count is shown only if enough sampled reports are in it.

With c other reports in the bin, each kept with probability p, the counts are P = Bin(c + 1, p) and
Q = Bin(c, p), and those below the threshold K look the same. At every alpha the worst c is known in
closed form, in both orders, and the divergence is a binomial stop-loss.
Proofs: docs/theory.md, "Noise messages and thresholds".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines.beta_integrals import Shape
from ..engines.binomial import log_pmf
from .base import PrivacyProfile, Sampler
from .one_more import THRESHOLD_ERROR, Terms, evaluated
from .samples import Samples

# proof constants: docs/theory.md, "Constants"
#: More other reports than this never leave a count below the threshold, with p K >= 1e-9.
_MOST_REPORTS = 1e15
_SLACK = 64 * UNIT


@dataclass(frozen=True)
class ThresholdProfile(PrivacyProfile):
    """The largest divergence over all numbers of other reports, of (P, Q) if `more`, else of
    (Q, P)."""

    rate: float
    threshold: int
    more: bool

    @property
    def max_loss(self) -> float:
        if self.more:
            top = math.log(max(self.threshold * (1 - self.rate), 1.0))
        else:
            top = -math.log1p(-self.rate)
        return top * (1 + THRESHOLD_ERROR)

    @property
    def bounded(self) -> bool:
        return not self.more

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        inside, top = epsilon < self.max_loss, self.max_loss
        terms = self._more if self.more else self._less
        sides = evaluated(terms(np.where(inside, epsilon, 0.0)), epsilon, top)
        # all reports are kept and the bin is just shown: that tells everything
        infinite = math.exp(max(self.threshold * math.log(self.rate), -1000.0)) * self.more
        error = infinite * _SLACK * (1 + abs(math.log(infinite))) if infinite else 0.0
        least, most = max(infinite - error, 0.0), infinite + error + UNDERFLOW * self.more
        lower, upper, low, high = (np.where(inside, side, 0.0) for side in sides)
        return Samples(np.maximum(lower, least), np.where(inside, upper, most), low, high)

    def _more(self, epsilon: Array) -> Terms:
        """E[(X - k)_+] alpha / (m (1-p)) with X ~ Bin(m, p) and k = m x, m the first with k >= K-1,
        x = 1 - (1-p)/alpha."""
        p, q, start = self.rate, 1 - self.rate, float(self.threshold)
        rest = q * np.exp(-epsilon)
        x = np.expm1(epsilon) * np.exp(-epsilon) + p * np.exp(-epsilon)
        m = np.maximum(np.ceil((start - 1) / x), start)
        gap = np.where(x < 0.5, start - m * x, m * rest - (m - start))
        odds, factor, none = p / q, 1 / (m * rest), 0 * m
        return Terms(
            log_pmf(m, np.asarray(start), p, q),
            Shape(none + start - 1, m - start - 1, odds, True),
            (factor * gap * start, factor * start * odds * (gap + m - start), none),
            (start * (m - start) / (m * q), none, none),
            np.abs(start - m * p),
        )

    def _less(self, epsilon: Array) -> Terms:
        """The same with the reports that are not kept, m - K + 1 or more of them."""
        p, q, shown = self.rate, 1 - self.rate, float(self.threshold)
        y = np.maximum(-np.expm1(epsilon + math.log1p(-p)), 1e-300)
        m = np.maximum(np.ceil((shown - 1) / y), shown)
        far = m > _MOST_REPORTS
        m = np.where(far, _MOST_REPORTS, m)
        start = m - shown + 1
        gap = np.where(far, 0.0, m * y - (shown - 1))
        odds, factor, none = q / p, 1 / (m * q), 0 * m
        return Terms(
            log_pmf(m, start, q, p),
            Shape(start - 1, none + shown - 2, odds, True),
            (factor * gap * start, factor * start * odds * (gap + shown - 1), none),
            (start, start * odds, none),
            np.abs(start - m * q),
        )
