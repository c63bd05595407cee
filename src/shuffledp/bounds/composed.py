"""Certified epsilon and delta of several rounds, from their composition.

A question is answered on a lattice of privacy losses. If the bracket is too wide, another lattice
is tried: one that is sampled where the answer turned out to be, or a finer one; if it is too long
for a transform, a coarser one. The bounds of every lattice are certified; the search affects time
and width only.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

from .. import tuning
from .._support.numeric import Bounds, Side
from ..composition.compose import Composition, PLDBracket
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
from ..errors import NotCertified
from ..profiles.base import Parts, both_orders
from .certificate import (
    certified,
    enclose_crossing,
    improved,
    is_narrow_delta,
    narrower,
    not_certified,
)
from .certified_rounds import CertifiedRounds

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
    return _search(composition, _EpsilonAt(composition, delta, rtol), log_range)


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
    return _search(composition, _DeltaAt(composition, epsilon, rtol), log_range)


class _Attempt(NamedTuple):
    """What one lattice certifies.

    Attributes
    ----------
    bounds : Bounds
    excess : float
        The width over the width that was asked for: at most 1 if the bracket is narrow enough,
        infinite if no finer lattice can help.
    """

    bounds: Bounds[float]
    excess: float

    @classmethod
    def one_sided(cls, bounds: Bounds[float]) -> _Attempt:
        """With one trivial side: 8, for lack of a width, asks for a three times finer lattice."""
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
        """Bounds from the PLDs above and below the rounds, and how much too wide they are."""

    @abstractmethod
    def log_inverse_delta(self, bounds: Bounds[float]) -> float:
        """log(1/delta) to sample for, once `bounds` are known."""


class _EpsilonAt(_CompositionQuestion):
    """The epsilon at a given delta."""

    name = "epsilon"

    @property
    def trivial_bounds(self) -> Bounds[float]:
        bounded = self._composition.bounded
        return Bounds(0.0, self._composition.max_loss if bounded else math.inf)

    def attempt(self, upper: CountedPLDs, lower: CountedPLDs) -> _Attempt:
        """Cross delta by the sums of the lower and of the upper PLDs; the width is in epsilon."""
        low = self._crossing(lower, Side.LOWER)[0]
        high = self._crossing(upper, Side.UPPER)[1]
        bounds = certified(low, high)
        if low == high:
            return _Attempt(bounds, 1.0)
        if high == math.inf:
            # no lattice can tell if infinite losses have just the probability delta
            mass, rounding = infinite_mass(upper), 1e-9
            hopeless = mass <= self._at * (1 + rounding)
            return _Attempt(bounds, math.inf) if hopeless else _Attempt.one_sided(bounds)
        return _Attempt(bounds, (high - low) / (self.rtol * max(high, tuning.SMALL_EPSILON)))

    def log_inverse_delta(self, bounds: Bounds[float]) -> float:
        return -math.log(self._at)

    def _crossing(self, parts: CountedPLDs, side: Side) -> tuple[float, float]:
        """Two epsilons, next to each other, between which one side of delta is crossed."""
        delta, top = self._at, self._composition.max_loss
        if infinite_mass(parts) * (1 + side * INFINITE_ERROR) > delta:
            return math.inf, math.inf
        total = TiltedSum(parts, tilt_for_delta(parts, delta))
        if not self._composition.bounded and total.delta(top, side) > delta:
            return top, math.inf  # finite losses may be larger, too
        return enclose_crossing(
            lambda e: total.delta(e, side), delta, total.estimated_epsilon(delta), top
        )


class _DeltaAt(_CompositionQuestion):
    """The delta at a given epsilon."""

    name = "delta"

    @property
    def trivial_bounds(self) -> Bounds[float]:
        return Bounds(0.0, 1.0)

    def attempt(self, upper: CountedPLDs, lower: CountedPLDs) -> _Attempt:
        """Evaluate both sums; the width is relative to the change of delta over rtol epsilon."""
        epsilon, nearby = self._at, self._at * (1 - self.rtol)
        low = _delta(lower, epsilon, Side.LOWER)
        high = _delta(upper, epsilon, Side.UPPER)
        if epsilon == self._composition.max_loss:  # or more: only infinite losses count there
            low = min(low, infinite_mass(lower) * (1 - INFINITE_ERROR))
            high = min(high, infinite_mass(upper) * (1 + INFINITE_ERROR))
        bounds = certified(low, high)
        if is_narrow_delta(bounds, self.rtol):
            return _Attempt(bounds, 1.0)
        goal = _delta(lower, nearby, Side.LOWER)
        if high <= goal:
            return _Attempt(bounds, 1.0)
        if not 0 < low < goal:
            return _Attempt.one_sided(bounds)
        return _Attempt(bounds, math.log(high / low) / math.log(goal / low))

    def log_inverse_delta(self, bounds: Bounds[float]) -> float:
        # delta may be far smaller than an upper bound that was not sampled for it
        resolved = bounds.lower >= bounds.upper / 2
        return -math.log(max(bounds.upper if resolved else bounds.lower, 1e-300))


def _delta(parts: CountedPLDs, epsilon: float, side: Side) -> float:
    return TiltedSum(parts, tilt_for_epsilon(parts, epsilon)).delta(epsilon, side)


def _search(
    composition: Composition, question: _CompositionQuestion, log_range: Range
) -> Bounds[float]:
    """Return the bracket of the first lattice whose bracket is narrow enough.

    The bounds of every lattice are certified, so that whatever is returned or raised is. A lattice
    is sampled for some deltas, the targets, with some fineness. After one whose bracket is too wide
    comes one

    * for the delta that was found, if that is not among the targets: where epsilon was given, or
      the first lattice was for a whole curve;
    * else a finer one, as fine as the width asks for.

    Until one is short enough for a transform, lattices are made coarser. There are at most LATTICES
    of them. The search ends before if a finer one was hardly narrower, would be too long, or takes
    more time than it may.

    Parameters
    ----------
    composition : Composition
        Keeps the fineness that was needed for later questions.
    question : _CompositionQuestion
    log_range : Range
        log(1/delta), from the smallest to the largest, for which the first lattice is sampled.

    Raises
    ------
    NotCertified
        Carries the intersection of all brackets.
    """
    finest = composition.finest(question.rtol)
    fineness, is_first, is_refined = composition.fineness, True, False
    targets = targets_between(composition.outlines, *log_range)
    best = question.trivial_bounds
    for _ in range(tuning.LATTICES):
        try:
            plds = composition.plds(question.rtol, fineness, targets)
            bounds, excess = question.attempt(plds.upper, plds.lower)
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
        found = question.log_inverse_delta(bounds)
        targets_before, targets = targets, targets_between(composition.outlines, found, found)
        is_refined = _are_close(targets, targets_before)
        if is_refined:
            # half of the width stays if samples cannot be narrower (docs/theory/lattice.md)
            is_hopeless = excess > 2 and not plds.are_samples_narrow
            if is_hopeless or fineness * math.sqrt(excess) > finest or fineness >= finest:
                break
            # the width falls with the square of the fineness; half as much again is in reserve
            fineness = min(fineness * math.sqrt(min(1.5 * excess, 64.0)), finest)
    raise not_certified(question.name, best, question.rtol)


def _are_close(targets: tuple[float, ...], others: tuple[float, ...]) -> bool:
    """Would lattices for these log(1/delta) be sampled alike?"""
    if len(targets) != len(others):
        return False
    return max(abs(new / old - 1) for new, old in zip(targets, others, strict=True)) <= 0.03


class SharedLattices:
    """Epsilon at one delta of selections of rounds; fastest if the largest are asked for first.

    The PLDs above and below a round bound it in every composition. So the PLDs that were made for
    all rounds of a plan serve each part of it, such as its first weeks. Where the bracket becomes
    too wide, because fewer rounds have other losses that matter, a lattice is made for that part,
    and serves the smaller ones.

    Parameters
    ----------
    delta : float
    rtol : float
        Relative width to aim for.
    """

    def __init__(self, delta: float, rtol: float) -> None:
        self._delta, self._rtol = delta, rtol
        self._known: dict[int, PLDBracket] = {}

    def epsilon_bounds(self, parts: Parts) -> Bounds[float]:
        """Certified bounds of the epsilon of some rounds, as narrow as was achieved."""
        orders = both_orders(parts)
        if 0 < self._delta < 1 and sum(count for _, count in orders[0]) > 1:
            each = [self._in_order(order, merged) for order, merged in enumerate(orders)]
            return Bounds(max(b.lower for b in each), max(b.upper for b in each))
        try:
            return CertifiedRounds(parts).epsilon_bounds(self._delta, self._rtol)
        except NotCertified as error:
            return error.bounds

    def _in_order(self, order: int, parts: Parts) -> Bounds[float]:
        """The same in one of the orders of the neighbours."""
        found = self._from_known(order, parts)
        if found is not None:
            return found
        composition = Composition(parts)
        try:
            bounds = epsilon_bounds(composition, self._delta, self._rtol)
        except NotCertified as error:
            bounds = error.bounds
        if composition.cached:
            self._known[order] = [*composition.cached.values()][-1]
        return bounds

    def _from_known(self, order: int, parts: Parts) -> Bounds[float] | None:
        """From the lattice of earlier rounds, if it has these and is fine enough for them."""
        if order not in self._known:
            return None
        plds = self._known[order].selected(dict(parts))
        if plds is None:
            return None
        try:
            bounds, excess = _EpsilonAt(Composition(parts), self._delta, self._rtol).attempt(*plds)
        except LatticeTooLong:
            return None
        return bounds if excess <= 1 else None
