"""The profile of several rounds as if they were one: a few losses term by term, or a table.

The terms of a sum of few losses are all positive, so that nothing is lost in rounding, whatever
delta is, and no tilt has to be chosen. The result is a polygon, which is evaluated at any epsilon
at once. Sums of many losses are evaluated at some epsilons; between them the profile is convex.

Theory: docs/theory/composition.md, docs/theory/profiles.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from .. import tuning
from .._support.numeric import BOTH, UNIT, Array, Side
from ..profiles.base import (
    NothingLost,
    Parts,
    PrivacyProfile,
    Sampler,
    Samples,
    chord_falls,
    merged,
    swapped,
)
from ..profiles.closed_form import Polygon, between_polygons, polygon_above, polygon_below
from .compose import Composition
from .tilted_sum import INFINITE_ERROR, LOSS_ERROR, CountedPLDs, LatticeTooLong, infinite_mass

# proof constants: docs/theory/constants.md
#: The largest place of a table: e to this power is a double. Beyond, only upper values are known.
_LAST_PLACE = 700.0
_ULP = 2 * UNIT


def is_few(numbers: Iterable[tuple[int, int]]) -> bool:
    """Whether so many losses of so many rounds each have few sums, to be added up one by one."""
    logs = (rounds * math.log(losses) for losses, rounds in numbers)
    return math.fsum(logs) <= math.log(tuning.MAX_POINTS)


def has_few_terms(parts: CountedPLDs, least: float = 0.0) -> bool:
    """Whether the losses can be added up term by term, without masses up to `least`."""
    numbers = ((max(int((pld.masses > least).sum()), 1), count) for pld, count in parts)
    return sum(count for _, count in parts) <= 2 or is_few(numbers)


def sum_of_losses(parts: CountedPLDs, side: Side) -> Polygon:
    """Return the profile of a sum of few losses, added up term by term, on one side of the truth.

    Parameters
    ----------
    parts : CountedPLDs
        All on one lattice, with few terms altogether: `has_few_terms`.
    side : Side

    Notes
    -----
    docs/theory/composition.md. All terms are positive, so that rounding errors are relative. Sums
    beyond 600 count as infinite from above, and as 600 from below. Without it, five rounds of three
    messages of 3 % of 1,311 users are certified to 0.2 % only.
    """
    plds = [pld for pld, count in parts for _ in range(count)]
    index, masses = plds[0].index, plds[0].masses
    terms = 1
    reach = sum(float(np.abs(pld.losses).max(initial=0.0)) for pld in plds)
    slack = LOSS_ERROR * reach + sum(pld.loss_error for pld in plds)
    for number, other in enumerate(plds[1:], start=2):
        terms += min(len(index), len(other.index)) + 1
        index = np.add.outer(index, other.index).ravel()
        masses = np.multiply.outer(masses, other.masses).ravel()
        if number == len(plds):  # negative losses do not matter
            kept = plds[0].step * index > -slack
            index, masses = index[kept], masses[kept]
        index, place = np.unique(index, return_inverse=True)
        masses = np.asarray(np.bincount(place, masses), dtype=float)
    losses = plds[0].step * index.astype(float)
    # the place where it is evaluated errs, too
    losses = losses + side * (slack + LOSS_ERROR * np.abs(losses))
    infinite = infinite_mass(parts) * (1 + side * INFINITE_ERROR)
    polygon = (polygon_above if side is Side.UPPER else polygon_below)(losses, masses, infinite)
    return replace(polygon, error=polygon.error + 2 * UNIT * (terms + 8))


class Table:
    """Samples of a profile at any epsilon, from bounds at some epsilons that grow from 0 on.

    Parameters
    ----------
    epsilon, lower, upper : Array
        Shape [places]; the places are at most 700.

    Notes
    -----
    docs/theory/profiles.md. A profile is convex in e^epsilon: between two places it is below the
    chord of its upper values, and above the lines through its lower values.
    """

    def __init__(self, epsilon: Array, lower: Array, upper: Array) -> None:
        # what is known at a larger epsilon holds at a smaller one, and the other way round
        self._lower = np.maximum.accumulate(lower[::-1])[::-1]
        self._upper = np.minimum.accumulate(upper)
        self._excess = np.expm1(epsilon)
        # minus the slope is a probability
        self._steep, self._flat = chord_falls(self._lower, self._upper, self._excess, 1.0)

    def __call__(self, epsilon: Array) -> Samples:
        """Return samples; beyond the last place, the upper value is the one there."""
        excess, is_known = np.expm1(np.minimum(epsilon, _LAST_PLACE)), epsilon <= _LAST_PLACE
        last = len(self._excess) - 1
        left = np.clip(np.searchsorted(self._excess, excess, side="right") - 1, 0, last)
        right = np.minimum(left + 1, last)
        width = np.where(right > left, self._excess[right] - self._excess[left], np.inf)
        share = np.clip((excess - self._excess[left]) / width, 0.0, 1.0)
        upper = self._upper[left] + share * (self._upper[right] - self._upper[left])
        before = excess - self._excess[left]
        after = np.maximum(self._excess[right] - excess, 0.0)
        lines = (
            self._lower[left] - self._steep[left] * before * (1 + 8 * _ULP),
            self._lower[right] + np.maximum(self._flat[right], 0.0) * after * (1 - 8 * _ULP),
        )
        # a line from the right says nothing beyond the last epsilon
        lower = np.where(left == right, lines[0], np.maximum(*lines))
        most = np.where(left == right, self._upper[-1], upper + 8 * _ULP * self._upper[left])
        # in a cell it is no flatter than at the right end, and no steeper than at the left one
        flat = np.where(left == right, 0.0, np.maximum(self._flat[right], 0.0)) * (1 - 8 * _ULP)
        return Samples(
            np.maximum(lower - 8 * _ULP * self._lower[left], 0.0) * is_known,
            np.minimum(most, 1.0),
            flat * is_known,
            np.maximum(self._steep[left], flat) * (1 + 8 * _ULP),
        )


@dataclass(frozen=True)
class ComposedProfile(PrivacyProfile):
    """The profile of several rounds, as if they were one.

    Parameters
    ----------
    parts : tuple of (PrivacyProfile, int)
        Profiles, and how many rounds have each.
    """

    parts: tuple[tuple[PrivacyProfile, int], ...]
    _made: dict[tuple[float, float], Sampler] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def is_expensive(self) -> bool:
        return self.is_slow

    @cached_property
    def is_slow(self) -> bool:
        """Not if all rounds together have few losses, each at two points of a lattice."""
        numbers = []
        for profile, count in self.parts:
            forward, backward = profile.kinks, (profile.reverse or profile).kinks
            if forward is None or backward is None:
                return True
            numbers.append((2 * (len(forward) + len(backward)) + 1, count))
        return not is_few(numbers)

    @cached_property
    def _composition(self) -> Composition:
        return Composition(self.parts)

    @property
    def reverse(self) -> PrivacyProfile | None:
        other = self.swapped
        return None if other is self else other

    @property
    def swapped(self) -> ComposedProfile:
        other = swapped(self.parts)
        return self if other == self.parts else ComposedProfile(other)

    @property
    def max_loss(self) -> float:
        return self._composition.max_loss

    @property
    def bounded(self) -> bool:
        return self._composition.bounded

    def sampler(self, depth: float, rtol: float) -> Sampler:
        if (depth, rtol) not in self._made:
            lattice_rtol = rtol / tuning.LEAST_AIM  # lattices aim at less than they are asked for
            fineness = self._fineness(rtol)
            few = self._few(depth, lattice_rtol, fineness)
            self._made[depth, rtol] = few or self._many(depth, lattice_rtol, fineness)
        return self._made[depth, rtol]

    def _fineness(self, width: float) -> float:
        """Return the fineness of the lattice.

        Profiles that are straight between kinks cost only what moves their atoms to the lattice,
        which goes with its step. Those of other rounds cost the square of the step.
        """
        straight = all(profile.kinks is not None for profile, _ in self.parts)
        return max((4 * width) ** -0.25, 1.0) if straight else 1.0

    def _few(self, depth: float, rtol: float, fineness: float) -> Sampler | None:
        """Return a sampler that adds up all terms, or None unless there are few of them.

        There are few terms for one or two rounds, or for few users.
        """
        if self.is_slow and not has_few_terms(self._composition.outlines, 64 * UNIT):
            return None  # what rounding leaves is no term
        targets = tuple(depth * share for share in tuning.GRADED)
        try:
            made = self._composition.plds(rtol, fineness, targets)
        except LatticeTooLong:
            return None
        if not (has_few_terms(made.lower) and has_few_terms(made.upper)):
            return None
        low, high = map(sum_of_losses, (made.lower, made.upper), BOTH)
        return self.zeroed_beyond_max_loss(lambda epsilon: between_polygons(low, high, epsilon))

    def _many(self, depth: float, rtol: float, fineness: float) -> Sampler:
        """Return a sampler by a `Table`: the composition is evaluated at some epsilons only."""
        composition = self._composition
        composition.fineness = fineness
        deviation = math.sqrt(
            sum(group.count * group.loss_scale**2 for group in composition.groups)
        )
        end = min(deviation * (deviation / 2 + math.sqrt(2 * depth)), self.max_loss, _LAST_PLACE)
        number = math.ceil(8 * end / (deviation * math.sqrt(rtol))) + 1
        places = np.linspace(0.0, end, min(max(number, 8), tuning.MOST_SAMPLES))
        table = Table(places, *composition.deltas(places, math.exp(-depth), rtol))
        return self.zeroed_beyond_max_loss(table)


def profile_of_parts(parts: Parts) -> PrivacyProfile:
    """Return the profile of parts that are composed."""
    match merged(parts):
        case ():
            return NothingLost()
        case ((profile, 1),):
            return profile
        case groups:
            return ComposedProfile(groups)
