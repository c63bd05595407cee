"""One more: a message among noise messages, or a report that is sampled, in the count of one value.

The pair is (N + B, N), where B is 1 with some probability and N has log-concave masses. The loss
grows with the count, so that the best event E is a tail (`TailProfile`). The difference of its two
probabilities is a point mass, and its probability under N a point mass times a certified sum
(engines/tails.py). An error of the sum counts like one of epsilon, however many users there are.
Negative binomial noise with a shape below 1 has log-convex masses, and a polygon as its profile.

Theory: docs/theory/noise-messages.md, docs/theory/thresholds.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array, log_share
from ..engines.tails import Shape, integrals, log_negative_binomial, log_pmf, log_poisson
from ..laws.noise_law import BinomialCounts, NegativeBinomialNoise, Noise, PoissonNoise
from .base import PrivacyProfile, Sampler, Samples
from .closed_form import BetweenPolygons, Polygon, polygons_between
from .sender_count import bernstein

# proof constants: docs/theory/constants.md
#: Of the epsilon that a rounded threshold belongs to, in units of 1, epsilon and the largest loss.
_THRESHOLD = 32 * UNIT
#: Of the difference of an event's two probabilities, relative to each of them.
_DIFFERENCE = 16 * UNIT
#: Errors of a point mass in units of the distance from the mean, those of Stirling's series, and
#: those of a mass of infinite loss in units of its logarithm.
_MASS, _SERIES, _INFINITE = 64 * UNIT, 2e-13, 256 * UNIT
#: log(1/mass) beyond which a double underflows.
_DEEPEST = 715.0
#: A scale for infinite losses, if there are no finite ones.
_NO_LOSS = 1e-6
#: Errors of the masses, corners and sums of a polygon.
_ERROR = 64 * UNIT

#: Lower and upper bounds, each of shape [epsilons].
Bracket = tuple[Array, Array]


class Event(NamedTuple):
    """An event E at each epsilon: the best one at an epsilon that is smaller by at most `moved`.

    Probabilities are in units of e^log_unit, which errs by a relative `unit_error`.
    """

    gained: Bracket  # P(E) - Q(E)
    seen: Bracket  # e^epsilon Q(E)
    moved: Array
    log_unit: Array | float = 0.0
    unit_error: Array | float = 0.0


class TailProfile(PrivacyProfile):
    """The profile of a pair (P, Q) of integers whose loss is monotone: the best event is a tail.

    Notes
    -----
    docs/theory/noise-messages.md#the-best-event. With alpha = e^epsilon, the divergence of an event
    E is P(E) - Q(E) - (alpha - 1) Q(E): a lower bound, on a line of slope -Q(E) below the profile.
    If E is the best event at a smaller alpha', the profile is at most (alpha - alpha') Q(E) larger.
    """

    @property
    @abstractmethod
    def _losses(self) -> tuple[float, float]:
        """The largest finite losses of (P, Q) and (Q, P), rounded up; 0 if none is positive."""

    @property
    def max_loss(self) -> float:
        own, other = self._losses
        # with no finite loss, any scale will do for the infinite one
        return own or other or _NO_LOSS

    @property
    @abstractmethod
    def _infinite(self) -> tuple[float, float]:
        """Lower and upper bounds of delta from `max_loss` on."""

    @abstractmethod
    def _best_event(self, epsilon: Array) -> Event:
        """About the best event at each epsilon, at most `max_loss`."""

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Samples that are exact up to charged errors, whatever the depth and the width."""
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        is_inside, (least, most) = epsilon < self._losses[0], self._infinite
        lower, upper, low, high = self._divergences(np.minimum(epsilon, self.max_loss))
        is_event = is_inside & (lower > least)
        return Samples(
            np.where(is_event, lower, least),
            np.where(is_inside, upper, most),
            np.where(is_event, low, 0.0),
            np.where(is_inside, high, 0.0),
        )

    def _divergences(self, epsilon: Array) -> tuple[Array, Array, Array, Array]:
        """Lower and upper divergences, and bounds of Q(E)."""
        event, paid = self._best_event(epsilon), -np.expm1(-epsilon)
        unit, error = np.exp(event.log_unit), np.minimum(event.unit_error, 1e10)
        (least, most), (low, high) = event.gained, event.seen
        slack = _DIFFERENCE * (most + paid * high)
        lower = unit * np.maximum(least - paid * high - slack, 0.0) * (1 - error)
        upper = np.maximum(most - paid * low + slack, 0.0) + np.expm1(event.moved) * high
        one = unit * np.exp(-epsilon)
        return (
            np.where(lower > UNDERFLOW, lower, 0.0),
            np.minimum(unit * upper * (1 + error) + 2 * UNDERFLOW, 1.0),
            np.maximum(one * low * (1 - error) - UNDERFLOW, 0.0),
            np.minimum(one * high * (1 + error) + UNDERFLOW, 1.0),
        )


def one_more(noise: Noise, more: bool) -> PrivacyProfile:
    """The exact profile of (N + 1, N) if `more`, else of (N, N + 1)."""
    if more and isinstance(noise, NegativeBinomialNoise) and noise.shape < 1:
        return LogConvexProfile(noise)
    return OneMoreProfile(noise, more)


@dataclass(frozen=True)
class OneMoreProfile(TailProfile):
    """The profile for noise with log-concave masses, whose losses grow with the count."""

    noise: Noise
    more: bool

    @cached_property
    def _losses(self) -> tuple[float, float]:
        own, other = (largest_loss(self.noise, more) for more in (self.more, not self.more))
        return own * (1 + _THRESHOLD), other * (1 + _THRESHOLD)

    @property
    def bounded(self) -> bool:
        # Poisson's losses have no end: from max_loss on delta is below every double, not 0
        return self.more and isinstance(self.noise, NegativeBinomialNoise)

    @property
    def _infinite(self) -> tuple[float, float]:
        return (0.0, 0.0) if self.bounded else _bracket_of(self.noise.log_infinite(self.more))

    def _best_event(self, epsilon: Array) -> Event:
        moved = 4 * _THRESHOLD * (1 + epsilon + self.max_loss)
        alpha, noise, more = np.exp(epsilon - moved / 2), self.noise, self.more
        if isinstance(noise, BinomialCounts) and not more:  # one failure more
            noise, more = noise.flipped, True
        last = np.maximum(np.ceil(noise.count_at(1 / alpha)) - 1, 0.0)
        count = _first_count(noise, alpha) if more else last
        return _counts_seen(noise, more, count, epsilon, moved)


def worst_reports(rate: float, threshold: int, epsilon: Array, more: bool = True) -> Array:
    """The worst number of reports in the bin at each epsilon, the differing one included."""
    apart = (epsilon if more else -epsilon) - math.log1p(-rate)
    # those beyond K - 1 by themselves: the sum would lose digits
    beyond = np.ceil((threshold - 1) / np.expm1(np.maximum(apart, 1e-290)))
    # of more reports than this, fewer than K are never kept
    beyond = np.minimum(beyond, math.ceil((2 * threshold + 2000) / rate))
    worst: Array = threshold - 1 + np.maximum(beyond, 1.0)
    return worst


@dataclass(frozen=True)
class ThresholdProfile(TailProfile):
    """One report more or less in a bin whose count is shown from a threshold K on.

    With c other reports in the bin, each kept with probability p, the counts are P = Bin(c + 1, p)
    and Q = Bin(c, p), and those below K look the same. It is the profile of (P, Q) if `more`, else
    of (Q, P), for the worst c, which is known at every alpha.

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
    def _losses(self) -> tuple[float, float]:
        gained = math.log(max(self._least * (1 - self.rate), 1.0)) * (1 + _THRESHOLD)
        missed = -math.log1p(-self.rate) * (1 + _THRESHOLD)
        return (gained, missed) if self.more else (missed, gained)

    @property
    def bounded(self) -> bool:
        return not self.more

    @property
    def _infinite(self) -> tuple[float, float]:
        # all reports are kept and one more than there may be is shown: that tells everything
        log_all = self._least * log_share(self.rate, 1 - self.rate)
        return _bracket_of(log_all) if self.more else (0.0, 0.0)

    def _best_event(self, epsilon: Array) -> Event:
        """The counts from the threshold on, or those below it, in the worst bin.

        That bin is the worst one at an epsilon smaller by at most `moved`. If the number of reports
        is given, the event may begin, or end, at a larger count.
        """
        p, q, shown = self.rate, 1 - self.rate, float(self.threshold)
        # epsilons err in units of epsilon and of the other order's largest loss
        moved = 4 * _THRESHOLD * (epsilon - math.log1p(-p))
        before = np.maximum(epsilon - moved / 2, 0.0)
        m = worst_reports(p, self.threshold, before, self.more)
        if self.reports is not None:
            m = np.full(len(epsilon), float(self._least))
        kept = BinomialCounts(m - 1, p, q)  # type: ignore[arg-type]  # a law at each epsilon
        noise, first = (kept, shown + 0 * m) if self.more else (kept.flipped, m - shown + 1)
        if self.reports is not None:
            # e^-epsilon - q, from the one of two formulas that keeps its digits
            left = np.exp(-before) - q if p >= 0.5 else p + np.expm1(-before)
            ratio = 1 + np.expm1(before) / p if self.more else p / np.maximum(left, 1e-300)
            far = _first_count(noise, ratio)
            first = np.maximum(first, far) if self.more else np.minimum(first, far)
        return _counts_seen(noise, True, first, epsilon, moved, p, 0.0 if self.more else q)


@dataclass(frozen=True)
class LogConvexProfile(BetweenPolygons):
    """The profile of (N + 1, N) for negative binomial noise with a shape r below 1.

    The masses are log-convex and the losses fall with the count: N + 1 = s has the loss
    -log(theta (s - 1 + r)/s), down to -log theta. Counts beyond FEW_DUMMIES have nearly the same
    loss. From below they have their mean ratio Q/P, from above they are split between the ends of
    the range of these ratios so that they keep it.
    """

    noise: NegativeBinomialNoise

    @cached_property
    def _polygons(self) -> tuple[Polygon, Polygon]:
        r, theta, rest = self.noise.shape, self.noise.theta, self.noise.rest
        log_none, few = self.noise.log_infinite(more=False), max(tuning.FEW_DUMMIES, 2)
        s = np.arange(1.0, few + 1)
        # Pr[N = 0], ..., Pr[N = few]
        masses = math.exp(log_none) * np.append(1.0, np.cumprod(theta * (s - 1 + r) / s))
        error = _ERROR * (few + 1 - log_none)
        mass, following = masses[:-1], float(masses[-1])
        # ratios of the counts beyond lie between these, those of neighbouring masses too
        first, last = theta * ((few + r) / (few + 1)), theta
        left = 1 - math.fsum(mass)
        least = max(left - error, following / (rest + theta * (1 - r) / (few + 1)) * (1 - error))
        most = min(left + error, following / rest * (1 + error)) + UNDERFLOW
        # their mean ratio is 1 - following/mass, unless the masses underflow
        highest = min(1 - following * (1 - error) / most, last)
        share = 1.0
        if min(following, last - first) > UNDERFLOW:
            lowest = max(1 - following * (1 + error) / least - _ERROR, first)
            share = min((last - lowest) / (last - first) * (1 + _ERROR), 1.0)
        losses = -self.noise.log_theta + np.log(s / (s - 1 + r))
        slack = _ERROR * (1 + losses[0])
        beyond = -np.log([highest, first, last])
        parted = np.append(mass, [share * most, (1 - share) * most])
        below = np.append(losses, beyond[0]) - slack, np.append(mass, least)
        return polygons_between(below, (np.append(losses, beyond[1:]) + slack, parted), error)


def largest_loss(noise: Noise, more: bool) -> float:
    """The largest finite loss; 0 if none is positive."""
    match noise:
        case PoissonNoise(mean):
            return _deepest_loss(mean) if more else math.log(max(mean, 1.0))
        case BinomialCounts(trials, one, zero):
            return math.log(max(trials * (zero / one if more else one / zero), 1.0))
        case _:
            return -noise.log_theta if more else math.log(max(noise.shape * noise.theta, 1.0))


def _deepest_loss(mean: float) -> float:
    """An epsilon at which Pr[N >= alpha mean] of Poisson noise is below every double.

    The probability is at most exp(-mean (alpha log alpha - alpha + 1)), whose exponent is convex in
    epsilon, so that Newton's method descends to the place from Bernstein's bound.
    """
    epsilon = math.log1p(bernstein(mean, _DEEPEST) / mean)
    for _ in range(20):
        excess = math.expm1(epsilon) * (epsilon - 1) + epsilon - _DEEPEST / mean
        epsilon -= excess / (epsilon * math.exp(epsilon))
    return epsilon


def infinite_mass(log_mass: float) -> tuple[float, float]:
    """A probability of infinite loss, and its relative error; 0 if it is below every double."""
    mass = math.exp(log_mass) if log_mass > -_DEEPEST else 0.0
    return mass, _INFINITE * (1 - log_mass) if mass else 0.0


def _bracket_of(log_mass: float) -> tuple[float, float]:
    mass, error = infinite_mass(log_mass)
    lower = mass * (1 - error)
    return lower if lower > UNDERFLOW else 0.0, min(mass * (1 + error) + 2 * UNDERFLOW, 1.0)


def point_masses(noise: Noise, count: Array) -> tuple[Array, Array]:
    """Logarithms of point masses, and the relative errors of the masses."""
    match noise:
        case PoissonNoise(mean):
            log_mass, distance = log_poisson(mean, count), np.abs(count - mean)
        case BinomialCounts(trials, one, zero):
            log_mass = log_pmf(np.asarray(trials, dtype=float), count, one, zero)
            distance = np.abs(count - trials * one)
        case NegativeBinomialNoise(shape, theta, rest):
            log_mass = log_negative_binomial(shape, theta, rest, count)
            # how far the successes of count + shape trials are from their mean
            distance = np.abs(count * rest - shape * theta) + math.log1p(shape)
    return log_mass, _SERIES + _MASS * (1 + distance)


def _first_count(noise: Noise, ratio: Array) -> Array:
    """The first count from which on Pr[count - 1]/Pr[count] exceeds this ratio."""
    count: Array = np.minimum(np.floor(noise.count_at(ratio)) + 1, noise.most + 1)
    # close to the largest count, a rounded place may be one too far
    count -= (count > 1) & (noise.ratio(count - 1) > ratio)
    count += noise.ratio(count) <= ratio
    return count


def _counts_seen(
    noise: Noise,
    more: bool,
    count: Array,
    epsilon: Array,
    moved: Array,
    rate: float = 1.0,
    rest: float = 0.0,
) -> Event:
    """The counts from `count` on if `more`, else up to it, over the mass w of the last one outside,
    or inside: P - Q is `rate` w, and Q the tail and `rest` w."""
    tail, error = _tail(noise, more, count)
    log_mass, mass_error = point_masses(noise, count - more)
    seen, gained = np.exp(epsilon) * (tail + rest), np.full(len(epsilon), rate)
    slack = (error + 16 * UNIT) * seen
    return Event((gained, gained), (seen - slack, seen + slack), moved, log_mass, mass_error)


def _tail(noise: Noise, more: bool, count: Array) -> tuple[Array, Array]:
    """A tail over a point mass beside it, and its relative error.

    If `more`, Pr[N >= count] / Pr[N = count - 1] for counts above the mode; else, of Poisson and
    negative binomial noise, Pr[N < count] / Pr[N = count] for counts below.
    """
    less, same = count - 1, 0 * count
    match noise:
        case PoissonNoise(mean) if more:
            shape, factor = Shape(less, mean + same, 0.0, True), mean + same
        case PoissonNoise(mean):
            shape, factor = Shape(mean + same, less, 1.0, False), count
        case BinomialCounts(trials, one, zero):
            odds, left = one / zero, trials - count
            shape, factor = Shape(less, left, odds, True), (left + 1) * odds
        case NegativeBinomialNoise(r, theta, rest) if more:
            shape, factor = Shape(less, r - 1 + same, theta / rest, True), (less + r) * theta / rest
        case NegativeBinomialNoise(r, theta, rest):
            shape, factor = Shape(max(r - 1, 0) + same, less, rest / theta, True), count / theta
    found = integrals(shape)
    return factor * found.zeroth, found.error
