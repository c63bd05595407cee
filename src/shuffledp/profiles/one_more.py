"""One message more or less among noise: the pair (N + 1, N) of counts of one value.

If the masses are log-concave, the best event is a tail of N, and the divergence is a point mass
less (alpha - 1) times that tail (engines/tails.py). An error of the tail counts like one of
epsilon, however many users there are. Negative binomial noise with a shape below 1 has log-convex
masses, and a polygon as its profile.

Theory: docs/theory/noise-messages.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines.tails import (
    Shape,
    integrals,
    log_negative_binomial,
    log_pmf,
    log_poisson,
    tail_sums,
)
from ..laws.noise_law import BinomialCounts, NegativeBinomialNoise, Noise, PoissonNoise
from .base import PrivacyProfile, Sampler, Samples
from .closed_form import BetweenPolygons, Polygon, polygon_above, polygon_below

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


class Event(NamedTuple):
    """The event that tells P from Q best at each epsilon, in units of e^log_mass: [epsilons].

    The event has P - alpha Q = `value`, up to `value_error`, and `tail` is its mass under Q.
    """

    log_mass: Array
    mass_error: Array  # relative
    value: Array
    value_error: Array
    tail: Array
    tail_error: Array  # relative
    ties: Array | float = 0.0  # further counts that a slightly smaller epsilon adds to the event


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
        loss = self._finite_loss or _largest_loss(self.noise, not self.more)
        return (loss or _NO_LOSS) * (1 + THRESHOLD_ERROR)

    @cached_property
    def _finite_loss(self) -> float:
        return _largest_loss(self.noise, self.more)

    @property
    def bounded(self) -> bool:
        # Poisson's losses have no end: from max_loss on delta is below every double, not 0
        return self.more and isinstance(self.noise, NegativeBinomialNoise)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        """Samples by stop-losses up to the largest finite loss, then of infinite losses only."""
        epsilon = np.asarray(epsilon, dtype=float)
        is_inside = epsilon < self._finite_loss * (1 + THRESHOLD_ERROR)
        places = np.where(is_inside, epsilon, 0.0)
        moved = 2 * THRESHOLD_ERROR * (1 + places + self.max_loss)
        event = _best_event(self.noise, self.more, places, moved)
        lower, upper, low, high = divergences(event, places, moved)
        last = self._last(np.ones(len(epsilon)))
        return Samples(
            np.where(is_inside, np.maximum(lower, last.lower), last.lower),
            np.where(is_inside, upper, last.upper),
            np.where(is_inside, low, self._last_fall * (self.bounded & (epsilon == self.max_loss))),
            np.where(is_inside, high, 1.0 * (epsilon <= self.max_loss)),
        )

    @property
    def _last_fall(self) -> float:
        """A lower bound of the fall where the profile reaches 0: Q's mass of the largest loss.

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
        upper = 0.0 if self.bounded else min(mass + error + 2 * UNDERFLOW, 1.0)
        return Samples(lower * one, upper * one, 0 * one, 0 * one)


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
        low = polygon_below(np.append(losses, beyond[0]) - slack, np.append(mass, least))
        parted = np.append(mass, [share * most, (1 - share) * most])
        high = polygon_above(np.append(losses, beyond[1:]) + slack, parted)
        return replace(low, error=low.error + error), replace(high, error=high.error + error)


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


def mass_error(distance: Array) -> Array:
    """The relative error of point masses at this distance from the mean."""
    return _SERIES + _MASS * (1 + distance)


def divergences(event: Event, epsilon: Array, moved: Array) -> tuple[Array, Array, Array, Array]:
    """Lower and upper divergences and slopes, each of shape [epsilons].

    Parameters
    ----------
    event : Event
        With its ties, the best one at epsilons that are smaller than the given ones by at most
        twice `moved`.
    epsilon, moved : Array
        Shape [epsilons].

    Notes
    -----
    docs/theory/noise-messages.md. The divergence is at most that at the smaller epsilon, of the
    event with its ties. These add nothing at epsilon, and at the smaller one no more than their
    mass under Q times the change of alpha: counting away from the event, masses grow at most by a
    factor alpha.
    """
    mass, alpha = np.exp(event.log_mass), np.exp(np.minimum(epsilon, 700.0))
    error, tail_error = (
        np.minimum(side, 1e10) for side in (event.mass_error, event.tail_error + event.mass_error)
    )
    high = np.minimum(mass * event.tail * (1 + 1.01 * tail_error) + UNDERFLOW, 1.0)
    # where the event is not worth its cost, the line below is flat
    low = np.maximum(mass * event.tail * (1 - tail_error) - UNDERFLOW, 0.0) * (event.value > 0)
    log_tied = np.log(np.maximum(event.ties, 1.0)) + event.log_mass + event.ties * epsilon
    tied = (event.ties > 0) * np.minimum((2 + error) * np.exp(np.minimum(log_tied, 0.0)), 1.0)
    # the exponent errs if there are many, as where all losses are the same
    tied = np.where(event.ties > 64, 1.0, tied)
    shift = alpha * np.expm1(2 * moved) * (high + tied)
    upper = mass * np.maximum(event.value + event.value_error, 0.0) * (1 + error)
    lower = mass * (event.value - event.value_error) * (1 - error)
    upper = np.minimum(upper + shift + UNDERFLOW, 1.0)
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
    return log_mass, mass_error(distance)


def _best_event(noise: Noise, more: bool, epsilon: Array, moved: Array) -> Event:
    """The counts whose loss exceeds epsilon, of (N + 1, N) if `more`, else of (N, N + 1).

    These are the counts from some j on, which N + 1 exceeds N in by Pr[N = j - 1], or the counts up
    to j, which N exceeds N + 1 in by Pr[N = j].
    """
    if isinstance(noise, BinomialCounts) and not more:  # one failure more
        noise, more = noise.flipped, True
    count, other = (_last_count(noise, more, place) for place in (epsilon, epsilon - moved))
    ties = np.abs(other - count)
    tail, error = _tail_above(noise, count) if more else _tail_below(noise, count)
    growth = np.expm1(epsilon)
    value, value_error = 1 - growth * tail, (error + 8 * UNIT) * (1 + growth * tail)
    return Event(*point_masses(noise, count - more), value, value_error, tail, error, ties)


def _last_count(noise: Noise, more: bool, epsilon: Array) -> Array:
    """The first count from which on (`more`), or the last up to which losses exceed epsilon."""
    if not more:
        last: Array = np.maximum(np.ceil(noise.count_at(np.exp(-epsilon))) - 1, 0.0)
        return last
    alpha = np.exp(epsilon)
    count: Array = np.minimum(np.floor(noise.count_at(alpha)) + 1, noise.most + 1)
    # close to the largest count, a rounded place may be one too far
    count -= (count > 1) & (noise.ratio(count - 1) > alpha)
    count += noise.ratio(count) <= alpha
    return count


def _tail_above(noise: Noise, count: Array) -> tuple[Array, Array]:
    """Pr[N >= count] / Pr[N = count - 1] for counts above the mode, and its relative error."""
    match noise:
        case PoissonNoise(mean):
            found = integrals(Shape(count - 1, mean + 0 * count, 0.0, True))
            factor = mean + 0 * count
        case BinomialCounts(trials, one, zero):
            possible = np.minimum(count, float(trials))
            found = tail_sums(np.asarray(float(trials)), possible, one / zero)
            factor = (count <= trials) / noise.ratio(possible)
        case NegativeBinomialNoise(shape, theta, rest):
            found = integrals(Shape(count - 1, shape - 1 + 0 * count, theta / rest, True))
            factor = (count - 1 + shape) * (theta / rest)
    return factor * found.zeroth, found.error + 16 * UNIT


def _tail_below(noise: Noise, count: Array) -> tuple[Array, Array]:
    """Pr[N < count] / Pr[N = count] for counts below the mode, and its relative error.

    The noise is Poisson or negative binomial.
    """
    if isinstance(noise, NegativeBinomialNoise):
        fewer = max(noise.shape - 1, 0.0) + 0 * count
        shape = Shape(fewer, count - 1, noise.rest / noise.theta, True)
        factor = count / noise.theta
    else:
        mean, _ = noise.moments
        shape, factor = Shape(mean + 0 * count, count - 1, 1.0, False), count
    found = integrals(shape)
    return factor * found.zeroth, found.error + 16 * UNIT


def _from_mean(noise: NegativeBinomialNoise, count: Array) -> Array:
    """How far the successes of count + shape trials are from their mean."""
    return np.abs(count * noise.rest - noise.shape * noise.theta) + math.log1p(noise.shape)
