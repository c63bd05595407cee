"""Certified epsilon and delta of several rounds, from their composition.

A question is answered on a lattice of privacy losses. If the bracket is too wide, another lattice
is tried: one that is sampled where the answer turned out to be, or a finer one; if it is too long
for a transform, a coarser one. The bounds of every lattice are certified; the search affects time
and width only.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from .. import tuning
from .._support.numeric import Array, Bounds, Side
from ..composition.compose import Composition
from ..composition.outlines import log_inverse_delta, targets_between
from ..composition.tilted_sum import (
    INFINITE_ERROR,
    CountedPLDs,
    LatticeTooLong,
    TiltedSum,
    infinite_mass,
    tilt_for_delta,
    tilt_for_epsilon,
)
from .certificate import (
    certified,
    enclose_epsilon,
    excess_width,
    improved,
    is_narrow_delta,
    narrower,
    not_certified,
)

#: The smallest and the largest of several values that are asked for together.
Range = tuple[float, float]


def epsilon_bounds(
    composition: Composition,
    delta: float,
    rtol: float,
    curve: Range | None = None,
) -> Bounds[float]:
    """Certified epsilon at 0 < delta < 1.

    Parameters
    ----------
    composition : Composition
        The rounds.
    delta : float
        Where epsilon is asked for.
    rtol : float
        Relative width of the bracket.
    curve : tuple of float, optional
        Range of all deltas of a curve: these share their first lattice.

    Returns
    -------
    Bounds
        Lower and upper epsilon.

    Raises
    ------
    NotCertified
        If no lattice gives the width; carries the narrowest bracket.
    """
    least, most = curve or (delta, delta)
    log_range = -math.log(most), -math.log(least)
    widest = Bounds(0.0, composition.max_loss if composition.bounded else math.inf)
    ask = partial(epsilon_attempt, composition, delta, rtol)
    return _search("epsilon", composition, ask, widest, rtol, log_range)


def delta_bounds(
    composition: Composition,
    epsilon: float,
    rtol: float,
    curve: Range | None = None,
) -> Bounds[float]:
    """Certified delta; rtol is in epsilon: upper(epsilon) <= lower(epsilon (1 - rtol)).

    The other parameters are those of `epsilon_bounds`.
    """
    if epsilon >= composition.max_loss:
        if composition.bounded:
            return Bounds(0.0, 0.0)
        epsilon = composition.max_loss
    least, most = curve or (epsilon, epsilon)
    outlines, top = composition.outlines, composition.max_loss
    estimates = [log_inverse_delta(outlines, min(end, top)) for end in {least, most}]
    log_range = min(estimates), max(estimates)  # rough ones need not grow with epsilon
    ask = partial(delta_attempt, composition, epsilon, rtol)
    return _search("delta", composition, ask, Bounds(0.0, 1.0), rtol, log_range)


class Attempt(NamedTuple):
    """What one lattice certifies.

    Attributes
    ----------
    bounds : Bounds
    excess : float
        The width over the width that was asked for: at most 1 if the bracket is narrow enough,
        infinite if no finer lattice can help.
    target : float
        log(1/delta) to sample for, now that these bounds are known.
    """

    bounds: Bounds[float]
    excess: float
    target: float


#: Returns what PLDs above and below the rounds certify.
AskPLDs = Callable[[CountedPLDs, CountedPLDs], Attempt]


def epsilon_attempt(
    composition: Composition, delta: float, rtol: float, upper: CountedPLDs, lower: CountedPLDs
) -> Attempt:
    """Return the bracket of epsilon by the sums of the lower and of the upper PLDs."""
    low, high = (TiltedSum(plds, tilt_for_delta(plds, delta)) for plds in (lower, upper))

    def sides(epsilon: Array) -> tuple[Array, Array]:
        return low.deltas(epsilon, Side.LOWER), high.deltas(epsilon, Side.UPPER)

    top, target = composition.max_loss, -math.log(delta)
    guess = [total.estimated_epsilon(delta) for total in (low, high)]
    start = np.clip(np.multiply(guess, (1 - 1e-6, 1 + 1e-6)), 1e-12 * top, (1 - 1e-6) * top)
    bounds = enclose_epsilon(sides, delta, start, top, composition.bounded, 1e-9, enough=rtol)
    if bounds.upper < math.inf:
        return Attempt(bounds, excess_width(bounds, rtol), target)
    if low.infinite * (1 - INFINITE_ERROR) > delta:
        return Attempt(bounds, 1.0, target)
    # finite losses may be larger than the largest; and no lattice can tell if infinite losses have
    # just the probability delta
    bounds, rounding = Bounds(min(bounds.lower, top), math.inf), 1e-9
    hopeless = high.infinite <= delta * (1 + rounding)
    return Attempt(bounds, math.inf if hopeless else excess_width(bounds, rtol), target)


def delta_attempt(
    composition: Composition, epsilon: float, rtol: float, upper: CountedPLDs, lower: CountedPLDs
) -> Attempt:
    """Return the bracket of delta by both sums.

    Its excess is relative to the change of delta over `rtol` in epsilon.
    """
    low, high = _delta(lower, epsilon, Side.LOWER), _delta(upper, epsilon, Side.UPPER)
    if epsilon == composition.max_loss:  # or more: only infinite losses count there
        low = min(low, infinite_mass(lower) * (1 - INFINITE_ERROR))
        high = min(high, infinite_mass(upper) * (1 + INFINITE_ERROR))
    bounds = certified(low, high)
    # delta may be far smaller than an upper bound that was not sampled for it
    target = -math.log(max(high if low >= high / 2 else low, 1e-300))
    if is_narrow_delta(bounds, rtol):
        return Attempt(bounds, 1.0, target)
    goal = _delta(lower, epsilon * (1 - rtol), Side.LOWER)
    if high <= goal:
        return Attempt(bounds, 1.0, target)
    if not 0 < low < goal:
        return Attempt(bounds, excess_width(Bounds(0.0, math.inf), rtol), target)
    return Attempt(bounds, math.log(high / low) / math.log(goal / low), target)


def _delta(parts: CountedPLDs, epsilon: float, side: Side) -> float:
    return TiltedSum(parts, tilt_for_epsilon(parts, epsilon)).delta(epsilon, side)


def _search(
    name: str,
    composition: Composition,
    ask: AskPLDs,
    widest: Bounds[float],
    rtol: float,
    log_range: Range,
) -> Bounds[float]:
    """Return the bracket of the first lattice whose bracket is narrow enough.

    The bounds of every lattice are certified, so that whatever is returned or raised is. A lattice
    is sampled for some deltas, the targets, with some fineness. If the bracket is too wide, the
    next lattice is one

    * for the delta that was found, if that is not among the targets: where epsilon was given, or
      the first lattice was for a whole curve;
    * else a finer one, as fine as the width asks for.

    Until one is short enough for a transform, lattices are made coarser. There are at most LATTICES
    of them. The search ends before if a finer one was hardly narrower, would be too long, or takes
    more time than it may.

    Parameters
    ----------
    name : str
        What is asked for: "epsilon" or "delta".
    composition : Composition
        Keeps the fineness that was needed for later questions.
    ask : callable
        The question.
    widest : Bounds
        What is known before any lattice is made.
    rtol : float
    log_range : Range
        log(1/delta), from the smallest to the largest, for which the first lattice is sampled.

    Raises
    ------
    NotCertified
        Carries the intersection of all brackets.
    """
    finest = composition.finest(rtol)
    fineness, is_first, is_refined = composition.fineness, True, False
    targets = targets_between(composition.outlines, *log_range)
    best = widest
    for _ in range(tuning.LATTICES):
        try:
            plds = composition.plds(rtol, fineness, targets)
            bounds, excess, found = ask(plds.upper, plds.lower)
        except LatticeTooLong:
            if not is_first:
                break
            fineness /= 2
            continue
        if excess <= 1:
            composition.fineness = fineness
            return bounds
        before, best, is_first = best, narrower(best, bounds), False
        if math.isinf(excess) or (is_refined and not improved(before, best)):
            break
        targets_before, targets = targets, targets_between(composition.outlines, found, found)
        is_refined = _are_close(targets, targets_before)
        if is_refined:
            # half of the width stays if samples cannot be narrower (docs/theory/lattice.md)
            is_hopeless = excess > 2 and not plds.are_samples_narrow
            if is_hopeless or fineness * math.sqrt(excess) > finest or fineness >= finest:
                break
            # the width falls with the square of the fineness; half as much again is in reserve
            fineness = min(fineness * math.sqrt(min(1.5 * excess, 64.0)), finest)
    raise not_certified(name, best, rtol)


def _are_close(targets: tuple[float, ...], others: tuple[float, ...]) -> bool:
    """Would lattices for these log(1/delta) be sampled alike?"""
    if len(targets) != len(others):
        return False
    return max(abs(new / old - 1) for new, old in zip(targets, others, strict=True)) <= 0.03
