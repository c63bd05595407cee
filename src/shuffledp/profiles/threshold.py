"""One report more or less in a bin whose count is shown only if enough sampled reports are in it.

With c other reports in the bin, each kept with probability p, the counts are P = Bin(c + 1, p) and
Q = Bin(c, p), and those below the threshold K look the same. At every alpha the worst c is known in
closed form, in both orders, and the divergence is a binomial stop-loss.

Theory: docs/theory/thresholds.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines.tails import Shape, integrals, log_pmf
from .base import PrivacyProfile, Sampler, Samples
from .one_more import THRESHOLD_ERROR, Event, divergences, mass_error

# proof constants: docs/theory/constants.md
#: More other reports than this never leave a count below the threshold, with p K >= 1e-9.
_MOST_REPORTS = 1e15
_SLACK = 64 * UNIT


def worst_reports(rate: float, threshold: int, epsilon: Array) -> Array:
    """The worst number of reports in the bin at each epsilon, the differing one included."""
    small = np.exp(-epsilon)
    x = small * (np.expm1(epsilon) + rate)
    # those beyond K - 1 by themselves: m would lose digits
    beyond = np.ceil((threshold - 1) * ((1 - rate) * small / x))
    return threshold - 1 + np.maximum(beyond, 1.0)


@dataclass(frozen=True)
class ThresholdProfile(PrivacyProfile):
    """The profile of (P, Q) if `more`, else of (Q, P).

    Parameters
    ----------
    rate : float
        The probability p that a report is kept.
    threshold : int
        The smallest count K that is shown.
    more : bool
    reports : int, optional
        Reports in the bin, the differing one included, of which at least K - 1 are kept on average.
        By default the worst number counts, at every epsilon.
    """

    rate: float
    threshold: int
    more: bool
    reports: int | None = None

    @property
    def _least(self) -> int:
        """The fewest reports that can be distinguished from one less, if all are kept."""
        return self.threshold if self.reports is None else max(self.reports, self.threshold)

    @property
    def max_loss(self) -> float:
        # with no finite loss at all, the other order's largest is a scale for the infinite one
        other = -math.log1p(-self.rate)
        loss = math.log(max(self._least * (1 - self.rate), 1.0)) if self.more else other
        return (loss or other) * (1 + THRESHOLD_ERROR)

    @property
    def bounded(self) -> bool:
        return not self.more

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        """Samples by stop-losses below the largest loss, and of infinite losses from there on."""
        epsilon = np.asarray(epsilon, dtype=float)
        is_inside = epsilon < self.max_loss
        places = np.where(is_inside, epsilon, 0.0)
        # epsilons err in units of epsilon and of the other order's largest loss
        moved = 2 * THRESHOLD_ERROR * (places - math.log1p(-self.rate))
        event = (self._more if self.more else self._less)(places, moved)
        sides = divergences(event, places, moved)
        # all reports are kept and one more than there may be is shown: that tells everything
        infinite = math.exp(max(self._least * math.log(self.rate), -1000.0)) * self.more
        error = infinite * _SLACK * (1 + abs(math.log(infinite))) if infinite else 0.0
        least, most = max(infinite - error, 0.0), infinite + error + UNDERFLOW * self.more
        lower, upper, low, high = (np.where(is_inside, side, 0.0) for side in sides)
        return Samples(np.maximum(lower, least), np.where(is_inside, upper, most), low, high)

    def _more(self, epsilon: Array, moved: Array) -> Event:
        """E[X - k; X >= K and k] alpha / (m (1-p)) with X ~ Bin(m, p), k = m (1 - (1-p)/alpha).

        The number m of reports and the first count are the worst ones at epsilon - moved.
        """
        p = self.rate
        before = np.maximum(epsilon - moved, 0.0)
        m = worst_reports(p, self.threshold, before)
        if self.reports is not None:
            m = np.full(len(epsilon), float(self._least))
        k, to_top = _corner(p, m, before)
        above = np.where(to_top < k, m - np.maximum(np.ceil(to_top) - 1, 0.0), np.floor(k) + 1)
        start = np.minimum(np.maximum(above, float(self.threshold)), m)
        k, to_top = _corner(p, m, epsilon)
        gap = np.where(to_top < k, to_top - (m - start), start - k)
        alpha = np.exp(epsilon)
        return self._event(m, start, gap, alpha / (m * (1 - p)), alpha * moved)

    def _less(self, epsilon: Array, moved: Array) -> Event:
        """E[k - X; X < K or k] / (m (1-p)) with k = m (1 - alpha (1-p)), by the reports that are
        not kept, and m the first with k >= K - 1; if that is below 0, nothing is lost."""
        p, shown = self.rate, float(self.threshold)
        places = (np.maximum(epsilon - moved, 0.0), epsilon)
        # 1 - k/m, and k/m
        missing_before, missing = (np.exp(place) * (1 - p) for place in places)
        before, y = (np.maximum(-np.expm1(at + math.log1p(-p)), 1e-300) for at in places)
        m = np.maximum(shown - 1 + np.ceil((shown - 1) * (missing_before / before)), 1.0)
        if self.reports is not None:
            m = np.full(len(epsilon), float(self._least))
        far = m > _MOST_REPORTS
        m = np.where(far, _MOST_REPORTS, m)
        # of k and m - k, the one that keeps its digits
        down = np.ceil(np.where(far, shown - 1, m * before)) - 1
        up = m - np.floor(m * missing_before) - 1
        by_missing = ~far & (before >= 0.5)
        last = np.maximum(shown - 1, np.where(by_missing, up, down))
        gap = np.where(by_missing, m - last - m * missing, np.where(far, shown - 1, m * y) - last)
        return self._event(m, m - last, gap, 1 / (m * (1 - p)), np.exp(epsilon) * moved)

    def _event(self, m: Array, start: Array, gap: Array, factor: Array, change: Array) -> Event:
        """E[X - start + gap; X >= start] times a factor, and Q's mass of X >= start.

        X is the number of the m reports that are kept (`more`) or not kept; Q has m - 1 or m. The
        gap errs like a change of alpha.
        """
        kept, lost = self.rate, 1 - self.rate
        p, q = (kept, lost) if self.more else (lost, kept)
        odds, left = p / q, m - start
        found = integrals(Shape(start - 1, left - 1, odds, True))
        zeroth, first = start * found.zeroth, start * odds * found.first
        error = found.error + _SLACK
        tail = zeroth * left / (m * q) if self.more else zeroth + first
        value = factor * (gap * (zeroth + first) + left * first)
        size = factor * (np.abs(gap) * (zeroth + first) + left * first)
        value_error = error * size + change * tail
        distance = np.abs(start - m * p)
        log_mass = log_pmf(m, start, p, q)
        return Event(log_mass, mass_error(distance), value, value_error, tail, error)


def _corner(rate: float, m: Array, epsilon: Array) -> tuple[Array, Array]:
    """k = m (1 - (1-p)/alpha) and m - k, each to full relative precision."""
    small = np.exp(-epsilon)
    return m * (small * (np.expm1(epsilon) + rate)), m * ((1 - rate) * small)
