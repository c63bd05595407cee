"""One message more or less among noise: the pair (N + 1, N) of counts of one value.

Pr[N = s-1] / Pr[N = s] is a quotient of linear functions of s for Poisson, binomial and negative
binomial noise, so that the divergence is a stop-loss of a law of the same kind: a point mass times
integrals of positive functions (engines/tails.py). Nothing cancels, however many users
there are. Negative binomial noise with a shape below 1 has log-convex masses, and a polygon as its
profile.

Theory: docs/theory/noise-messages.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines.tails import Shape, integrals, log_negative_binomial, log_pmf, log_poisson
from ..laws.noise_law import BinomialCounts, NegativeBinomialNoise, Noise, PoissonNoise
from . import tuning
from .base import PrivacyProfile, Sampler
from .samples import Samples

# proof constants: docs/theory/constants.md
#: Of the epsilon that a rounded threshold belongs to, in units of 1, epsilon and the largest loss.
THRESHOLD_ERROR = 32 * UNIT
#: Errors of a point mass in units of the distance from the mean, and those of Stirling's series.
_MASS, _SERIES = 64 * UNIT, 2e-13
#: log(1/mass) beyond which a double underflows.
_DEEPEST = 715.0
#: A scale for infinite losses, if there are no finite ones.
_NO_LOSS = 1e-6
#: Errors of the masses, corners and sums of a polygon.
_ERROR = 64 * UNIT

Line = tuple[Array, Array, Array]


class Terms(NamedTuple):
    """H and Q's mass of its event: each a point mass times z I0 + y I1 + a constant."""

    log_mass: Array
    shape: Shape
    value: Line
    slope: Line
    distance: Array  # of the point mass from the mean
    error: float = 0.0  # relative, of the factors


def one_more(noise: Noise, more: bool) -> PrivacyProfile:
    """The exact profile of (N + 1, N) if `more`, else of (N, N + 1)."""
    if more and isinstance(noise, NegativeBinomialNoise) and noise.shape < 1:
        return LogConvexProfile(noise)
    return OneMoreProfile(noise, more)


@dataclass(frozen=True)
class OneMoreProfile(PrivacyProfile):
    """The profile for noise with log-concave masses, whose losses grow with the count."""

    noise: Noise
    more: bool

    @cached_property
    def max_loss(self) -> float:
        # with no finite loss above 0, any scale will do for the infinite one
        loss = self._visible_loss or _largest_loss(self.noise, not self.more)
        return (loss or _NO_LOSS) * (1 + THRESHOLD_ERROR)

    @cached_property
    def _visible_loss(self) -> float:
        """The largest finite loss, or one from which on delta is below every double."""
        loss = _largest_loss(self.noise, self.more)
        if loss == 0 or self.bounded or self.noise.log_infinite(self.more) > -_DEEPEST:
            return loss
        losses = loss * np.geomspace(1e-10, 1.0, 150)  # steps of a sixth
        upper = evaluated(_terms(self.noise, self.more, losses), losses, 1 + losses + loss)[1]
        vanishing = np.flatnonzero(upper <= 2 * UNDERFLOW)
        return float(losses[vanishing[0]]) if len(vanishing) else loss

    @property
    def farthest_loss(self) -> float:
        return max(_largest_loss(self.noise, self.more), self.max_loss) * (1 + THRESHOLD_ERROR)

    @property
    def bounded(self) -> bool:
        # Poisson's losses have no end: from max_loss on delta is below every double, not 0
        return self.more and isinstance(self.noise, NegativeBinomialNoise)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        """Samples by stop-losses up to the largest visible loss, then of infinite losses only."""
        epsilon = np.asarray(epsilon, dtype=float)
        is_inside = epsilon < self._visible_loss * (1 + THRESHOLD_ERROR)
        terms = _terms(self.noise, self.more, np.where(is_inside, epsilon, 0.0))
        lower, upper, low, high = evaluated(terms, epsilon, 1 + epsilon + self.max_loss)
        last = self._last(np.ones(len(epsilon)))
        return Samples(
            np.where(is_inside, np.maximum(lower, last.lower), last.lower),
            np.where(is_inside, upper, last.upper),
            np.where(
                is_inside, low, self._last_slope * (self.bounded & (epsilon == self.max_loss))
            ),
            np.where(is_inside, high, 1.0 * (epsilon <= self.max_loss)),
        )

    @property
    def _last_slope(self) -> float:
        """A lower bound of minus the slope where the profile is 0: Q's mass of the largest loss.

        Geometric noise has that loss whenever there is any noise.
        """
        if isinstance(self.noise, NegativeBinomialNoise) and self.noise.shape == 1:
            return self.noise.theta * (1 - _SERIES)
        return 0.0

    def _last(self, one: Array) -> Samples:
        """Samples from the largest loss on: infinite loss only."""
        log_mass = self.noise.log_infinite(self.more)
        mass = math.exp(log_mass) if log_mass > -_DEEPEST else 0.0
        error = 4 * _MASS * (1 - log_mass) * mass if mass else 0.0
        lower = mass - error if mass > UNDERFLOW else 0.0
        upper = 0.0 if self.bounded else mass + error + 2 * UNDERFLOW
        return Samples(lower * one, upper * one, 0 * one, 0 * one)


class _Corners(NamedTuple):
    """Corners of counts 1, 2, ...: alpha, decreasing; the profile; minus the slope to the left."""

    alpha: Array
    value: Array
    slope: Array


@dataclass(frozen=True)
class LogConvexProfile(PrivacyProfile):
    """The profile of (N + 1, N) for negative binomial noise with a shape below 1.

    The masses are log-convex and the losses fall with the count: the profile is a polygon with a
    corner for every count s >= 1, at alpha = s / ((s - 1 + shape) theta). It is summed up from the
    top. Counts beyond FEW_DUMMIES have nearly the same loss.
    """

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
        """The polygon: in closed form up to alpha = 1/theta, a chord, then corner by corner."""
        epsilon = np.asarray(epsilon, dtype=float)
        alpha, excess = np.exp(epsilon), np.expm1(epsilon)
        # all counts but 0 matter: 1 - alpha Pr[N > 0], which is exact up to alpha = 1/theta
        log_none = self._log_none
        none, positive = math.exp(log_none), -math.expm1(log_none)  # Pr[N = 0], Pr[N > 0]
        error = _ERROR * (1 - log_none)
        before = alpha * none - excess
        before_error = error * (alpha * none + excess)
        # from the corner to the right, or from the last one that is evaluated
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
        chord = chord * (1 + _ERROR) + _ERROR * alpha * positive
        upper = np.where(
            alpha < last, np.maximum(before + before_error, chord), after + after_error
        )
        lower = np.maximum(before - before_error, after - after_error)
        steep, is_inside = np.where(before > after, positive, slope), epsilon < self.max_loss
        # where it reaches 0: Q's mass of the largest loss
        steep = np.where(epsilon == self.max_loss, corners.slope[0], steep)
        sloping = epsilon <= self.max_loss
        return Samples(
            np.where(is_inside & (lower > UNDERFLOW), lower, 0.0),
            np.where(is_inside, np.minimum(upper + UNDERFLOW, 1.0), 0.0),
            np.where(sloping, steep * max(1 - relative, 0.0), 0.0),
            np.where(sloping, np.minimum(steep * (1 + relative) + UNDERFLOW, 1.0), 0.0),
        )


def _largest_loss(noise: Noise, more: bool) -> float:
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

    The probability is at most exp(-mean (alpha log alpha - alpha + 1)).
    """
    low, high = 0.0, 1.0
    while mean * (math.expm1(high) * (high - 1) + high) < _DEEPEST:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        small = mean * (math.expm1(middle) * (middle - 1) + middle) < _DEEPEST
        low, high = (middle, high) if small else (low, middle)
    return high


def evaluated(terms: Terms, epsilon: Array, scale: Array) -> tuple[Array, Array, Array, Array]:
    """Lower and upper values and slopes of the terms, each of shape [epsilons].

    Parameters
    ----------
    terms : Terms
        Stop-losses as point masses times integrals.
    epsilon : Array
        Shape [epsilons].
    scale : Array
        The thresholds in the terms are those of epsilons that differ from the given ones by at
        most THRESHOLD_ERROR times this.

    Notes
    -----
    docs/theory/noise-messages.md. Errors are relative to the sum of the moduli of all terms.
    """
    found = integrals(terms.shape)
    mass = np.exp(terms.log_mass)
    value, slope = (
        mass * (zeroth * found.zeroth + first * found.first + rest)
        for zeroth, first, rest in (terms.value, terms.slope)
    )
    slope_size = mass * (
        np.abs(terms.slope[0]) * found.zeroth + np.abs(terms.slope[1]) * found.first
    )
    size = mass * (
        np.abs(terms.value[0]) * found.zeroth
        + np.abs(terms.value[1]) * found.first
        + np.abs(terms.value[2])
    )
    error = found.error + _SERIES + terms.error + _MASS * (1 + terms.distance)
    error = np.minimum(error, 1e10)
    high = np.minimum(slope + error * slope_size + UNDERFLOW, 1.0)
    # where the event is not worth its cost, the line below is flat
    low = np.maximum(slope - error * slope_size - UNDERFLOW, 0.0) * (value > 0)
    # df = -alpha Q(loss > epsilon) d epsilon
    shift = np.exp(np.minimum(epsilon, 700.0)) * THRESHOLD_ERROR * scale * high
    upper = np.clip(value + error * size + shift + UNDERFLOW, 0.0, 1.0)
    lower = value - error * size - shift
    return np.where(lower > UNDERFLOW, lower, 0.0), upper, low, high


def point_masses(noise: Noise, count: Array) -> tuple[Array, Array]:
    """Logarithms of point masses, and the relative errors of the masses."""
    match noise:
        case PoissonNoise(mean):
            log_mass, distance = log_poisson(mean, count), np.abs(count - mean)
        case BinomialCounts(trials, one, zero):
            log_mass = log_pmf(np.asarray(float(trials)), count, one, zero)
            distance = np.abs(count - trials * one)
        case NegativeBinomialNoise(shape, theta, rest):
            log_mass = log_negative_binomial(shape, theta, rest, count)
            distance = _from_mean(noise, count)
    return log_mass, _SERIES + _MASS * (1 + distance)


def _terms(noise: Noise, more: bool, epsilon: Array) -> Terms:
    match noise:
        case PoissonNoise(mean):
            return (_poisson_more if more else _poisson_less)(mean, epsilon)
        case BinomialCounts():
            return _binomial_more(noise if more else noise.flipped, epsilon)
        case NegativeBinomialNoise():
            return (_negative_more if more else _negative_less)(noise, epsilon)


def _poisson_more(mean: float, epsilon: Array) -> Terms:
    """E[(N - k)_+] / mean with k = alpha mean."""
    k = mean * np.exp(epsilon)
    j = np.floor(k) + 1
    none = 0 * j
    return Terms(
        log_poisson(mean, j),
        Shape(j - 1, none + mean, 0.0, True),
        ((j - k) * j / mean, j, none),
        (j, none, none),
        j - mean,
    )


def _poisson_less(mean: float, epsilon: Array) -> Terms:
    """alpha E[(k - N)_+] / mean with k = mean / alpha."""
    k = mean * np.exp(-epsilon)
    j = np.maximum(np.ceil(k) - 1, 0.0)
    none, gap = 0 * j, k - j
    return Terms(
        log_poisson(mean, j),
        Shape(none + mean, j - 1, 1.0, False),
        (mean * gap / k, mean * (gap + j) / k, none),
        (j, none, none),
        mean - j,
    )


def _binomial_more(noise: BinomialCounts, epsilon: Array) -> Terms:
    """A stop-loss of Bin(m, q), m one more than there are trials, k = alpha m q / (1-q + alpha q).

    The distance of k from m is computed where that is the accurate one.
    """
    m, q, p = noise.trials + 1.0, noise.one, noise.zero
    small = np.exp(-epsilon)
    total = q + p * small  # (1-q + alpha q) / alpha
    k, to_top = m * q / total, m * p * small / total
    from_top = m - np.maximum(np.ceil(to_top) - 1, 0.0)
    near_top = to_top < k
    j = np.where(near_top, from_top, np.minimum(np.floor(k) + 1, m))
    gap = np.where(near_top, to_top - (m - j), j - k)
    odds = q / p
    none, factor = 0 * j, total / small / (m * q * p)
    left = (m - j) * odds
    return Terms(
        log_pmf(np.asarray(m), j, q, p),
        Shape(j - 1, m - j - 1, odds, True),
        (factor * gap * j, factor * j * (gap * odds + left), none),
        ((m - j) * j / (m * p), none, none),
        np.abs(j - m * q),
    )


def _negative_more(noise: NegativeBinomialNoise, epsilon: Array) -> Terms:
    """A stop-loss of a negative binomial law with one less as its shape, below alpha = 1/theta."""
    theta, rest, less = noise.theta, noise.rest, max(noise.shape - 1, 0.0)
    # 1 - alpha theta
    gone = np.maximum(-np.expm1(epsilon + noise.log_theta), 1e-300)
    k = np.exp(epsilon) * theta * less / gone
    j = np.floor(k) + 1
    none, gap = 0 * j, np.clip(j - k, 0.0, 1.0)
    factor = gone / theta / (j + less) * j / rest
    return Terms(
        log_negative_binomial(noise.shape, theta, rest, j),
        Shape(j - 1, none + less - 1, theta / rest, True),
        (factor * gap, factor * (j + less) * (theta / rest), none),
        (j / rest, j * theta / rest**2, none),
        _from_mean(noise, j),
    )


def _negative_less(noise: NegativeBinomialNoise, epsilon: Array) -> Terms:
    """A stop-loss below k of the law with one less as its shape, or of the law itself."""
    theta, rest, less = noise.theta, noise.rest, max(noise.shape - 1, 0.0)
    over = np.expm1(epsilon) + rest  # alpha - theta
    k = less * theta / over
    j = np.maximum(np.ceil(k) - 1, 0.0)
    none, gap, odds = 0 * j, k - j, rest / theta
    log_mass = log_negative_binomial(noise.shape, theta, rest, j)
    distance = _from_mean(noise, j)
    if less >= 1:  # a stop-loss of the law with one less as its shape
        shape = Shape(none + less - 1, j - 1, odds, True)
        factor = over / theta
        value = factor * gap, factor * (gap * odds + j / theta), none
        slope = j / theta, -j / theta, none
        return Terms(log_mass, shape, value, slope, distance)
    # of the law itself: the same sum, by parts
    shape, all_of = Shape(none + less, j - 1, odds, True), noise.shape + j
    factor, add = over / theta * rest / max(less, 1e-300), theta / rest
    zeroth, first = (gap + add) * all_of, (gap + add) * all_of * odds + j * all_of / theta
    value = factor * zeroth, factor * first, -factor * add * (1 - gap)
    slope = all_of, all_of * odds, none - 1
    return Terms(log_mass, shape, value, slope, distance, 8 * UNIT / max(less, UNIT))


def _from_mean(noise: NegativeBinomialNoise, count: Array) -> Array:
    """How far the successes of count + shape trials are from their mean."""
    return np.abs(count * noise.rest - noise.shape * noise.theta) + math.log1p(noise.shape)
