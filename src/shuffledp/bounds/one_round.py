"""Certified epsilon and delta of one round, from its profile.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import tuning
from .._support.numeric import Array, Bounds
from ..profiles.base import PrivacyProfile, Sampler, depth_for, sample_width
from .certificate import (
    Sides,
    certified,
    enclose_sides,
    estimate_crossing,
    improved,
    is_narrow_delta,
    is_narrow_epsilon,
    narrower,
    not_certified,
)


def epsilon_bounds(profile: PrivacyProfile, delta: float, rtol: float) -> Bounds[float]:
    """Return certified bounds on epsilon of one round.

    Parameters
    ----------
    profile : PrivacyProfile
    delta : float
        0 < delta < 1.
    rtol : float
        Relative width of the bracket.

    Raises
    ------
    NotCertified
        If narrower samples do not narrow the bracket enough; it carries the narrowest one.

    Notes
    -----
    docs/theory/epsilon.md. Rough samples tell where to search. Both ends of the result are
    epsilons at which narrow samples were evaluated, or 0 or the largest loss.
    """
    top = profile.max_loss
    depth = depth_for(-math.log(delta) + 6, profile.depths)  # what is lost is e^-6 of delta
    width, loose = _width(profile, rtol), min(tuning.LOOSE, 0.05 * rtol)
    search_width = loose if profile.is_slow else 2.5e-10  # far below the width of any bracket
    rough = profile.sampler(depth, _rough_width(profile))
    at_zero = float(rough(np.zeros(1)).upper[0])
    if at_zero <= delta:
        return Bounds(0.0, 0.0)
    guess = estimate_crossing(_middle(rough), delta, min(_normal_epsilon(at_zero, delta), top), top)
    # both sides should have crossed delta there: they are about `width` apart
    margin = width / 2 + loose
    start = np.clip(np.multiply(guess, (1 - margin, 1 + margin)), 0.0, top)
    best = Bounds(0.0, top if profile.bounded else math.inf)
    for refinement in range(tuning.REFINEMENTS):
        sampler = profile.sampler(depth, width / 4**refinement)
        # beyond the largest finite loss only the infinite one is left
        end = None if profile.bounded else sampler(np.array([top]))
        if end is not None and end.lower[0] > delta:
            return Bounds(math.inf, math.inf)
        falls_to_delta = end is None or end.upper[0] <= delta
        sides = _sides(sampler, falls_to_delta)
        low, high = enclose_sides(sides, delta, start, top, search_width, enough=rtol, loose=loose)
        if low == 0 and sampler(np.zeros(1)).upper[0] <= delta:
            return Bounds(0.0, 0.0)
        bounds = certified(low, high if falls_to_delta else math.inf)
        if is_narrow_epsilon(bounds, rtol):
            return bounds
        last, best = best, narrower(best, bounds)
        hopeless = high - low > 30 * rtol * max(high, tuning.SMALL_EPSILON)
        if hopeless or (refinement and not improved(last, best)):
            break
        start = np.array([low, high])
    raise not_certified("epsilon", best, rtol)


def delta_bounds(profile: PrivacyProfile, epsilon: float, rtol: float) -> Bounds[float]:
    """Return certified bounds on delta of one round.

    Parameters
    ----------
    profile : PrivacyProfile
    epsilon : float
    rtol : float
        Width in relative epsilon: upper(epsilon) <= lower(epsilon (1 - rtol)).

    Raises
    ------
    NotCertified
        If narrower samples do not narrow the bracket enough; it carries the narrowest one.

    Notes
    -----
    docs/theory/epsilon.md; for the chord close to the largest loss docs/theory/profiles.md.
    """
    top, share = profile.max_loss, 1.0
    if epsilon >= top:
        if profile.bounded:
            return Bounds(0.0, 0.0)
        epsilon = top
    point, before = np.array([epsilon]), np.array([epsilon * (1 - rtol)])
    near = top * (1 - 2.0**-30)  # closer to the top, scores are lost in rounding
    if profile.bounded and epsilon > near:
        # delta is convex in e^epsilon and 0 at the top: below the chord that starts at `near`
        point[0] = near
        share = math.expm1(epsilon - top) / math.expm1(near - top) * (1 + 2.0**-48)
    depth = _resolving_depth(profile, point)
    best = Bounds(0.0, 1.0)
    for refinement in range(tuning.REFINEMENTS):
        sampler = profile.sampler(depth, _width(profile, rtol) / 4**refinement)
        s = sampler(point)
        lower = float(s.lower[0]) if share == 1 else 0.0
        bounds = certified(lower, float(s.upper[0]) * share)
        if is_narrow_delta(bounds, rtol):
            return bounds
        lower = float(sampler(before).lower[0])
        if bounds.upper <= lower:
            return bounds
        last, best = best, narrower(best, bounds)
        hopeless = bounds.upper > 30 * lower
        if hopeless or (refinement and not improved(last, best)):
            break
    raise not_certified("delta", best, rtol)


def _width(profile: PrivacyProfile, rtol: float) -> float:
    """The width of the first attempt.

    It is much narrower than asked for where that costs little: both bounds then read alike.
    """
    if profile.is_expensive and profile.is_slow:
        return 0.8 * rtol
    if profile.is_expensive:
        return sample_width(rtol) * (0.1 if profile.bounded else 0.5)
    return sample_width(rtol) * tuning.SINGLE


def _rough_width(profile: PrivacyProfile) -> float:
    """The width of the samples that tell where to search closely."""
    if profile.is_slow:
        return tuning.FIRST_LOOK
    return 1e-3 if profile.is_expensive else 3e-4


def _resolving_depth(profile: PrivacyProfile, epsilon: Array) -> float:
    """The first depth at which this delta, at one epsilon, is resolved."""
    for depth in profile.depths[:-1]:
        if profile.sampler(depth, tuning.FIRST_LOOK)(epsilon).upper[0] > math.exp(6 - depth):
            return depth
    return profile.depths[-1]


def _normal_epsilon(at_zero: float, delta: float) -> float:
    """About the epsilon at delta if losses were normal, with delta(0) = `at_zero`: a guess.

    Their mean is m^2/2 and their deviation m, with delta(0) about m / sqrt(2 pi) if that is small,
    and delta falls z deviations from the mean about as e^(-z^2/2) / (1 + z^2). The guess is good if
    many users hide one.
    """
    fall, z = math.log(at_zero / delta), 0.0
    for _ in range(4):
        z = math.sqrt(2 * max(fall - math.log1p(z * z), 0.1))
    m = math.sqrt(2 * math.pi) * at_zero / math.sqrt(max(1 - at_zero, 1e-3))
    return m * (m / 2 + z)


def _sides(sampler: Sampler, both: bool = True) -> Sides:
    """Lower and upper values; or the lower ones twice, if upper ones are not searched for."""

    def sides(epsilon: Array) -> tuple[Array, Array]:
        samples = sampler(epsilon)
        return samples.lower, samples.upper if both else samples.lower

    return sides


def _middle(sampler: Sampler) -> Callable[[Array], Array]:
    """Values between the two sides: smoothing errs on both alike, so that these are far nearer."""

    def middle(epsilon: Array) -> Array:
        samples = sampler(epsilon)
        return (samples.lower + samples.upper) / 2

    return middle
