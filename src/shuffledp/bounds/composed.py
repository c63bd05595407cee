"""Certified epsilon and delta of many rounds, from their composition.

A question is tried on a lattice, and again on finer ones until its bracket is narrow enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .._support.numeric import Bounds, Side
from ..composition.compose import Composition
from ..composition.grading import Fineness
from ..composition.influence import aims_around, log_inverse_delta
from ..composition.tilted_sum import (
    INFINITE,
    LatticeTooLong,
    TiltedSum,
    infinite_mass,
)
from ..composition.tilts import Parts, tilt_for_delta, tilt_for_epsilon
from . import tuning
from .certificate import certified, improved, narrower, not_certified
from .crossing import crossing

#: From upper PLDs to an upper value.
Above = Callable[[Parts], float]
#: From upper and lower PLDs to bounds and how many times too wide these are.
Attempt = Callable[[Parts, Parts], tuple[Bounds[float], float]]


def epsilon_bounds(
    composition: Composition, delta: float, rtol: float, refine: bool = True
) -> Bounds[float]:
    """Certified epsilon at 0 < delta < 1. `refine`: on finer lattices if need be."""

    def above(upper: Parts) -> float:
        return _crossing(composition, upper, delta, Side.UPPER)[1]

    def attempt(upper: Parts, lower: Parts) -> tuple[Bounds[float], float]:
        high = above(upper)
        low = _crossing(composition, lower, delta, Side.LOWER)[0]
        if high == math.inf:
            # infinite losses may have just the probability delta, up to rounding: hopeless
            reached = infinite_mass(upper) <= delta * (1 + tuning.NEARLY_REACHED)
            return certified(low, high), 1.0 if low == math.inf else math.inf if reached else 64.0
        wanted = rtol * max(high, tuning.SMALL_EPSILON)
        return certified(low, high), (high - low) / wanted

    worst = Bounds(0.0, composition.max_loss if composition.bounded else math.inf)
    return _refined(composition, "epsilon", attempt, above, math.log(delta), rtol, worst, refine)


def delta_bounds(
    composition: Composition, epsilon: float, rtol: float, refine: bool = True
) -> Bounds[float]:
    """Certified delta; rtol is in epsilon: upper(epsilon) <= lower(epsilon (1 - rtol))."""
    if epsilon >= composition.max_loss:
        if composition.bounded:
            return Bounds(0.0, 0.0)
        epsilon = composition.max_loss

    def above(upper: Parts) -> float:
        return _sum_near(upper, epsilon).delta(epsilon, Side.UPPER)

    def attempt(upper: Parts, lower: Parts) -> tuple[Bounds[float], float]:
        surely = infinite_mass(lower) * (1 - INFINITE)
        if surely >= 1 - tuning.NEARLY_ALL:  # as much as there is
            return certified(surely, 1.0), 1.0
        below = _sum_near(lower, epsilon)
        high, low = above(upper), below.delta(epsilon, Side.LOWER)
        if epsilon == composition.max_loss:  # only infinite losses exceed it
            high = min(high, infinite_mass(upper) * (1 + INFINITE))
        if high <= max((1 + rtol) * low, tuning.NEGLIGIBLE_DELTA):
            return certified(low, high), 1.0
        nearby = epsilon * (1 - rtol)
        goal = below.delta(nearby, Side.LOWER)
        if high > goal:  # next to the largest loss its tilt is another one
            goal = max(goal, _sum_near(lower, nearby).delta(nearby, Side.LOWER))
        if high <= goal:
            return certified(low, high), 1.0
        known = 0 < low < goal
        excess = math.log(high / low) / math.log(goal / low) if known else tuning.UNKNOWN
        return certified(low, high), min(excess, tuning.UNKNOWN)

    log_delta = -log_inverse_delta(composition.lattices.outlines, epsilon)
    worst = Bounds(0.0, 1.0)
    return _refined(composition, "delta", attempt, above, log_delta, rtol, worst, refine)


def _refined(
    composition: Composition,
    what: str,
    attempt: Attempt,
    above: Above,
    log_delta: float,
    rtol: float,
    worst: Bounds[float],
    refine: bool,
) -> Bounds[float]:
    """Repeat an attempt on finer lattices until its bracket is narrow enough. `log_delta`: of the
    delta that is given or, as far as that is known before, asked for."""
    best, fineness, succeeded, refined, in_vain = worst, composition.fineness, False, False, 0
    outlines, looks = composition.lattices.outlines, 2 if what == "delta" else 0
    aims = aims_around(outlines, -log_delta)
    for _ in range(tuning.LATTICES):
        try:
            depth = composition.depth_for(aims[-1])
            parts = composition.lattices.parts(depth, rtol, fineness, aims)
            bounds, excess = attempt(parts.upper, parts.lower)
        except LatticeTooLong:
            if succeeded:
                break
            fineness = fineness.times(0.5)  # too much was asked for: find out what can be had
            continue
        if excess <= 1:
            composition.fineness = fineness
            return bounds
        last, best, succeeded = best, narrower(best, bounds), True
        in_vain += refined and last.lower > 0 and not improved(last, best)
        if best.upper - best.lower <= (rtol if what == "epsilon" else 0.0) * best.upper:
            return best  # each side by another lattice
        if in_vain >= (1 if composition.dear else 2) or not refine or math.isinf(excess):
            break  # a finer lattice would cost several times as much
        before, unresolved = aims, what == "delta" and bounds.lower < tuning.RESOLVED * bounds.upper
        if looks and bounds.upper > 0:  # it was not known where to look
            looks -= 1
            # delta may be far smaller than its upper bound
            found = max(bounds.lower, 1e-300) if unresolved else bounds.upper
            aims = _unless_alike(aims_around(outlines, -math.log(found)), aims)
        refined = aims == before
        if refined:
            if unresolved and composition.dear:
                break
            wanted = _finer(fineness, bounds, excess, above(parts.of_cells))
            most = composition.lattices.finest(rtol)
            finer = fineness.towards(wanted, most)
            # finer cells are of no use to samples that cannot be had any narrower
            if finer == fineness or wanted.sharpness > most.sharpness <= fineness.sharpness:
                break
            fineness = finer
    raise not_certified(what, best, rtol)


def _unless_alike(aims: tuple[float, ...], before: tuple[float, ...]) -> tuple[float, ...]:
    """Aims that differ from others in earnest, or else those."""
    apart = (abs(new / old - 1) for new, old in zip(aims, before, strict=False))
    alike = len(aims) == len(before) and max(apart) <= tuning.AS_BEFORE
    return before if alike else aims


def _finer(fineness: Fineness, bounds: Bounds[float], excess: float, above: float) -> Fineness:
    """What is too wide by itself: cells, which cost what is below the value `above`, or samples."""
    width = bounds.upper - bounds.lower
    share = (above - bounds.lower) / width if bounds.lower > 0 and width < math.inf else 1.0
    of_cells = min(max(share, 0.0), 1.0) * excess
    of_samples = excess - of_cells
    return Fineness(
        fineness.resolution * math.sqrt(min(max(of_cells / tuning.CELLS_WIDTH, 1.0), 64.0)),
        fineness.sharpness * min(max(of_samples / tuning.SAMPLES_WIDTH, 1.0), 64.0),
    )


def _crossing(
    composition: Composition, parts: Parts, delta: float, side: Side
) -> tuple[float, float]:
    """Where delta is crossed."""
    if infinite_mass(parts) * (1 + side * INFINITE) > delta:
        return math.inf, math.inf
    total, top = TiltedSum(parts, tilt_for_delta(parts, delta)[0]), composition.max_loss
    if not composition.bounded and total.delta(top, side) > delta:
        return math.inf, math.inf
    return crossing(lambda e: total.delta(e, side), delta, total.about(delta), top)


def _sum_near(parts: Parts, epsilon: float) -> TiltedSum:
    return TiltedSum(parts, tilt_for_epsilon(parts, epsilon))
