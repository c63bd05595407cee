"""Certified epsilon and delta of several rounds, from their composition.

A question is answered on a lattice of privacy losses. If the bracket is too wide, another lattice
is tried: one that is sampled where the answer turned out to be, or a finer one. The bounds of
every lattice are certified; the search affects time and width only.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

from .._support.numeric import Bounds, Side
from ..composition.compose import Composition
from ..composition.grading import Fineness
from ..composition.influence import aims_between, log_inverse_delta
from ..composition.lattice import PLDBracket
from ..composition.tilted_sum import (
    INFINITE_ERROR,
    CountedPLDs,
    LatticeTooLong,
    TiltedSum,
    infinite_mass,
    tilt_for_delta,
    tilt_for_epsilon,
)
from . import tuning
from .certificate import certified, improved, narrower, not_certified
from .crossing import crossing

#: The smallest and the largest of several values that are asked for together.
Range = tuple[float, float]


def epsilon_bounds(
    composition: Composition,
    delta: float,
    rtol: float,
    refine: bool = True,
    together: Range | None = None,
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
    refine : bool
        Try other lattices if the first bracket is too wide.
    together : tuple of float, optional
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
    least, most = together or (delta, delta)
    log_range = -math.log(most), -math.log(least)
    return _search(composition, _EpsilonAt(composition, delta, rtol), log_range, refine)


def delta_bounds(
    composition: Composition,
    epsilon: float,
    rtol: float,
    refine: bool = True,
    together: Range | None = None,
) -> Bounds[float]:
    """Certified delta; rtol is in epsilon: upper(epsilon) <= lower(epsilon (1 - rtol)).

    The other parameters are those of `epsilon_bounds`.
    """
    if epsilon >= composition.max_loss:
        if composition.bounded:
            return Bounds(0.0, 0.0)
        epsilon = composition.max_loss
    least, most = together or (epsilon, epsilon)
    outlines, top = composition.lattices.outlines, composition.max_loss
    estimates = {end: log_inverse_delta(outlines, min(end, top)) for end in {least, most}}
    log_range = estimates[least], estimates[most]
    return _search(composition, _DeltaAt(composition, epsilon, rtol), log_range, refine)


class _Attempt(NamedTuple):
    """What one lattice certifies. `excess`: the width over the width that was asked for; at most
    1 if the bracket is narrow enough, infinite if no finer lattice can help."""

    bounds: Bounds[float]
    excess: float

    @classmethod
    def one_sided(cls, bounds: Bounds[float]) -> _Attempt:
        """With one trivial side, so that it is not known how much too wide the bracket is."""
        return cls(bounds, 8.0)


class _CompositionQuestion(ABC):
    """A number that is asked for, to a relative width `rtol` in epsilon."""

    name: str

    def __init__(self, composition: Composition, at: float, rtol: float) -> None:
        self._composition, self._at, self.rtol = composition, at, rtol

    @property
    @abstractmethod
    def trivial_bounds(self) -> Bounds[float]:
        """What is known before any lattice is made."""

    @abstractmethod
    def attempt(self, upper: CountedPLDs, lower: CountedPLDs) -> _Attempt:
        """Bounds from the PLDs above and below the rounds."""

    @abstractmethod
    def upper_value(self, upper: CountedPLDs) -> float:
        """The upper bound from PLDs above the rounds."""

    @abstractmethod
    def log_inverse_delta(self, bounds: Bounds[float]) -> float:
        """log(1/delta) to sample for, once `bounds` are known."""

    def is_narrow(self, bounds: Bounds[float]) -> bool:
        """Are bounds from several lattices narrow enough?"""
        return bounds.lower == bounds.upper


class _EpsilonAt(_CompositionQuestion):
    name = "epsilon"

    @property
    def trivial_bounds(self) -> Bounds[float]:
        bounded = self._composition.bounded
        return Bounds(0.0, self._composition.max_loss if bounded else math.inf)

    def attempt(self, upper: CountedPLDs, lower: CountedPLDs) -> _Attempt:
        low = self._crossing(lower, Side.LOWER)[0]
        high = self.upper_value(upper)
        bounds = certified(low, high)
        if low == high:
            return _Attempt(bounds, 1.0)
        if high == math.inf:
            # no lattice can tell if infinite losses have just the probability delta
            mass, rounding = infinite_mass(upper), 1e-9
            hopeless = mass <= self._at * (1 + rounding)
            return _Attempt(bounds, math.inf) if hopeless else _Attempt.one_sided(bounds)
        return _Attempt(bounds, (high - low) / (self.rtol * max(high, tuning.SMALL_EPSILON)))

    def upper_value(self, upper: CountedPLDs) -> float:
        return self._crossing(upper, Side.UPPER)[1]

    def log_inverse_delta(self, bounds: Bounds[float]) -> float:
        return -math.log(self._at)

    def is_narrow(self, bounds: Bounds[float]) -> bool:
        return bounds.upper - bounds.lower <= self.rtol * bounds.upper

    def _crossing(self, parts: CountedPLDs, side: Side) -> tuple[float, float]:
        """Two epsilons, next to each other, between which one side of delta is crossed."""
        delta, top = self._at, self._composition.max_loss
        if infinite_mass(parts) * (1 + side * INFINITE_ERROR) > delta:
            return math.inf, math.inf
        total = TiltedSum(parts, tilt_for_delta(parts, delta)[0])
        if not self._composition.bounded and total.delta(top, side) > delta:
            return math.inf, math.inf
        return crossing(lambda e: total.delta(e, side), delta, total.estimated_epsilon(delta), top)


class _DeltaAt(_CompositionQuestion):
    name = "delta"

    @property
    def trivial_bounds(self) -> Bounds[float]:
        return Bounds(0.0, 1.0)

    def attempt(self, upper: CountedPLDs, lower: CountedPLDs) -> _Attempt:
        epsilon, nearby = self._at, self._at * (1 - self.rtol)
        low = _delta(lower, epsilon, Side.LOWER)
        high = self.upper_value(upper)
        bounds = certified(low, high)
        if high <= max((1 + self.rtol) * low, tuning.NEGLIGIBLE_DELTA):
            return _Attempt(bounds, 1.0)
        goal = _delta(lower, nearby, Side.LOWER)
        if high <= goal:
            return _Attempt(bounds, 1.0)
        if not 0 < low < goal:
            return _Attempt.one_sided(bounds)
        return _Attempt(bounds, math.log(high / low) / math.log(goal / low))

    def upper_value(self, upper: CountedPLDs) -> float:
        high = _delta(upper, self._at, Side.UPPER)
        if self._at == self._composition.max_loss:  # only infinite losses exceed it
            high = min(high, infinite_mass(upper) * (1 + INFINITE_ERROR))
        return high

    def log_inverse_delta(self, bounds: Bounds[float]) -> float:
        # delta may be far smaller than an upper bound that was not sampled for it
        resolved = bounds.lower >= bounds.upper / 2
        return -math.log(max(bounds.upper if resolved else bounds.lower, 1e-300))


def _delta(parts: CountedPLDs, epsilon: float, side: Side) -> float:
    return TiltedSum(parts, tilt_for_epsilon(parts, epsilon)).delta(epsilon, side)


def _search(
    composition: Composition,
    question: _CompositionQuestion,
    log_range: Range,
    refine: bool,
) -> Bounds[float]:
    """Try lattices until the bracket is narrow enough.

    The next lattice is sampled for the delta that was found, if that is another one than was
    sampled for, and else a finer one. What is returned is the bracket of a lattice, or the
    intersection of several; NotCertified carries that if a refinement has not narrowed it or is not
    affordable.

    Parameters
    ----------
    log_range : Range
        log(1/delta), from the smallest to the largest, for which the first lattice is sampled.
    """
    outlines, most = composition.lattices.outlines, composition.lattices.finest(question.rtol)
    trivial = best = question.trivial_bounds
    fineness = composition.fineness
    aims, refined = aims_between(outlines, *log_range), False
    patience = 1 if composition.dear else 2  # refinements without progress
    for _ in range(tuning.LATTICES):
        try:
            depth = composition.depth_for(aims[-1])
            plds = composition.lattices.parts(depth, question.rtol, fineness, aims)
            bounds, excess = question.attempt(plds.upper, plds.lower)
        except LatticeTooLong:
            if best is not trivial:
                break
            fineness = fineness.times(0.5)
            continue
        if excess <= 1:
            composition.fineness = fineness
            return bounds
        before, best = best, narrower(best, bounds)
        if question.is_narrow(best):
            return best
        patience -= refined and before.lower > 0 and not improved(before, best)
        if not (patience and refine) or math.isinf(excess):
            break
        found = question.log_inverse_delta(bounds)
        new_aims = aims_between(outlines, found, found)
        refined = _are_alike(new_aims, aims)
        if refined:
            of_cells = _share_of_cells(question, plds, bounds) * excess
            of_samples = excess - of_cells
            wanted = Fineness(
                fineness.resolution * math.sqrt(min(max(2.2 * of_cells, 1.0), 64.0)),
                fineness.sharpness * min(max(2.9 * of_samples, 1.0), 64.0),
            )
            finer = fineness.towards(wanted, most)
            stuck = wanted.sharpness > most.sharpness <= fineness.sharpness
            if composition.dear and finer.sharpness > fineness.sharpness:
                left = composition.lattices.width_left(plds, depth, question.rtol, finer, aims)
                stuck = left * of_samples > 2
            if stuck or finer == fineness:  # samples cannot be narrowed, or nothing can
                break
            fineness = finer
        else:
            aims = new_aims
    raise not_certified(question.name, best, question.rtol)


def _are_alike(aims: tuple[float, ...], others: tuple[float, ...]) -> bool:
    """Would lattices for these log(1/delta) be sampled alike?"""
    if len(aims) != len(others):
        return False
    return max(abs(new / old - 1) for new, old in zip(aims, others, strict=True)) <= 0.03


def _share_of_cells(
    question: _CompositionQuestion, plds: PLDBracket, bounds: Bounds[float]
) -> float:
    """The share of the width of `bounds` that cells of the lattice cost; samples cost the rest."""
    width = bounds.upper - bounds.lower
    if bounds.lower == 0 or width == math.inf:
        return 1.0
    share = (question.upper_value(plds.upper_if_exact) - bounds.lower) / width
    return min(max(share, 0.0), 1.0)
