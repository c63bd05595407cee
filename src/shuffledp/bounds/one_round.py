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
    both_sides,
    certified,
    enclose_epsilon,
    enclose_sides,
    excess_width,
    improved,
    is_narrow_delta,
    narrower,
    not_certified,
)

#: Where a profile is evaluated first, relative to where it should cross delta.
_AROUND = (0.95, 0.985, 1.0, 1.015, 1.05)


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
    docs/theory/epsilon.md. Rough samples tell where to search, and where epsilon is 0. Both ends of
    the result are epsilons at which narrow samples were evaluated, or 0, the largest loss or
    infinity.
    """
    top = profile.max_loss
    depth = depth_for(-math.log(delta) + 6, profile.depths)  # what is cut off is e^-6 of delta
    loose = min(tuning.LOOSE, 0.05 * rtol)
    search_width = loose if profile.is_slow else 2.5e-10  # far below the width of any bracket
    rough = profile.sampler(depth, _rough_width(profile))
    at_zero = float(rough(np.zeros(1)).upper[0])
    if at_zero <= delta:
        return Bounds(0.0, 0.0)
    # the crossings of both sides are about the width of samples apart: this far around their
    # midpoint, both should be enclosed
    margin = _width(profile, rtol) / 2 + loose
    first = np.minimum(np.multiply(_AROUND, _normal_epsilon(at_zero, delta)), top)
    # smoothing errs about equally on both sides: their midpoint is much closer to the true value
    # than either bound
    twice = both_sides(lambda epsilon: np.mean(rough(epsilon).columns[:2], axis=0))
    middle = enclose_sides(twice, delta, first, top, margin / 2, enough=margin)
    start = np.clip(np.multiply(sum(middle) / 2, (1 - margin, 1 + margin)), 0.0, top)

    def ask(sampler: Sampler) -> tuple[Bounds[float], float]:
        def sides(epsilon: Array) -> tuple[Array, Array]:
            return sampler(epsilon).columns[:2]

        bounded = profile.bounded
        found = enclose_epsilon(sides, delta, start, top, bounded, search_width, enough=rtol)
        return found, excess_width(found, rtol)

    return _refined("epsilon", profile, depth, rtol, ask)


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

    def ask(sampler: Sampler) -> tuple[Bounds[float], float]:
        s = sampler(point)
        found = certified(float(s.lower[0]) if share == 1 else 0.0, float(s.upper[0]) * share)
        if is_narrow_delta(found, rtol):
            return found, 1.0
        goal = float(sampler(before).lower[0])
        return found, found.upper / max(goal, 1e-300)

    return _refined("delta", profile, depth, rtol, ask)


#: The bracket by a sampler, and how much too wide it is: it is narrow enough up to 1.
AskSampler = Callable[[Sampler], tuple[Bounds[float], float]]


def _refined(
    name: str, profile: PrivacyProfile, depth: float, rtol: float, ask: AskSampler
) -> Bounds[float]:
    """Return the first bracket that is narrow enough, by narrower and narrower samples.

    `name` says what is asked for. Where it fails, it raises NotCertified with the intersection of
    all brackets.
    """
    best = Bounds(0.0, math.inf)
    for refinement in range(tuning.REFINEMENTS):
        bounds, excess = ask(profile.sampler(depth, _width(profile, rtol) / 4**refinement))
        if excess <= 1:
            return bounds
        last, best = best, narrower(best, bounds)
        # a bracket 30 times too wide does not become narrow enough
        if excess > 30 or not improved(last, best):
            break
    raise not_certified(name, best, rtol)


def _width(profile: PrivacyProfile, rtol: float) -> float:
    """The width of the first attempt.

    It is much narrower than asked for where that costs little: both bounds then print alike.
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
