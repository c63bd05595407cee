"""Profiles in closed form: Gaussian noise, and polygons from lists of losses or guarantees.

Theory: docs/theory/closed-form.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array, erfc
from .base import DerivedProfile, Parts, PrivacyProfile, Sampler, Samples, convex_corners

# proof constants: docs/theory/constants.md
#: Standard deviations of the loss beyond which it counts as infinite: a probability below 1e-290.
_FARTHEST = 36.5
#: Losses from which on all count as infinite: e^loss, also over a sample rate of 1e-9, is a double.
_LARGEST = 600.0
#: More than delta is there: losses are not infinite, so that less of it is nothing from below.
_NOTHING = 1e-290
#: Roundings of an argument of erfc, and of erfc itself.
_ARGUMENT, _VALUE = 8 * UNIT, 16 * UNIT
#: A profile without any finite loss still needs a scale: its largest loss is called this.
_NO_LOSS = 1e-6
#: Smaller epsilons of guarantees count as this.
_SMALLEST = 1e-20
_ULP = 2 * UNIT


@dataclass(frozen=True)
class GaussianProfile(PrivacyProfile):
    """The profile of two normal laws of the same variance: the Gaussian mechanism.

    Parameters
    ----------
    shift : float
        The distance of the means in standard deviations, up to a relative 4 units of rounding.

    Notes
    -----
    The loss is normal with mean shift^2/2 and standard deviation `shift`, in both orders, so that
    with x = epsilon/(shift sqrt(2)) and s = shift/sqrt(8)

        delta = (erfc(x - s) - e^epsilon erfc(x + s)) / 2,

    and minus the slope in e^epsilon is Q[loss > epsilon] = erfc(x + s)/2. No loss is the largest,
    so delta is above 0 everywhere. From above, losses beyond `max_loss` count as infinite; from
    below, delta counts as 0 there, because they are finite.
    """

    bounded: ClassVar[bool] = False

    shift: float

    @property
    def max_loss(self) -> float:
        return min(self.shift * (self.shift / 2 + _FARTHEST), _LARGEST)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Samples that are exact up to rounding, whatever the depth and the width."""
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        """Samples by the closed form, with the errors of erfc and its arguments charged."""
        epsilon = np.asarray(epsilon, dtype=float)
        is_inside, epsilon = epsilon < self.max_loss, np.minimum(epsilon, self.max_loss)
        x, s = epsilon / (self.shift * math.sqrt(2)), self.shift / math.sqrt(8)
        # a relative change of z changes erfc(z) by 2 z^2 + 2 times that, at most
        error = _VALUE + _ARGUMENT * (2 * (x + s) ** 2 + 2) + UNIT * (4 + 4 * epsilon)
        above, below = erfc(x - s) / 2, erfc(x + s) / 2
        seen = np.exp(epsilon) * below
        # where Q's tail underflows it errs by less than e^-700, which e^epsilon may make visible
        lost = np.exp(epsilon - 700)
        upper = above * (1 + error) - np.maximum(seen * (1 - error) - lost, 0.0) + UNDERFLOW
        lower = above * (1 - error) - seen * (1 + error) - lost
        return Samples(
            np.where((lower > _NOTHING) & is_inside, lower, 0.0),
            np.clip(upper, UNDERFLOW, 1.0),
            # through 0, beyond, a line that falls is above the profile before it
            np.where((below > UNDERFLOW) & is_inside, below * (1 - error), 0.0),
            below * (1 + error) + UNDERFLOW,
        )


#: Losses that are added up at once: e to this power is far from the end of the doubles.
_RANGE = 300.0


def _tails_from_above(losses: Array, masses: Array) -> Array:
    """Return e^loss Q(loss >= this) = sum of mass e^(loss - other loss) over all larger ones.

    Losses increase. They are added up in ranges, each with a scale of its own, so that no factor
    overflows however far the losses are apart.
    """
    tails, carried, last = np.empty(len(losses)), 0.0, len(losses)
    while last > 0:
        top = losses[last - 1]
        first = int(np.searchsorted(losses[:last], top - _RANGE))
        part = losses[first:last]
        sums = np.cumsum((masses[first:last] * np.exp(top - part))[::-1])[::-1]
        tails[first:last] = (sums + carried) * np.exp(part - top)
        if first:
            # what is carried is seen from the largest loss of the next range
            carried = float(tails[first] * np.exp(losses[first - 1] - losses[first]))
        last = first
    return tails


@dataclass(frozen=True, eq=False)
class Polygon:
    """f(alpha) for alpha = e^epsilon >= 1: linear between corners, constant after the last.

    `rise` is, for the cell left of each corner but the first, minus the slope times alpha at that
    corner: a probability, however large alpha is. Values err by at most a relative `error`, the
    last one not at all.
    """

    epsilon: Array  # of the corners; increasing from 0
    value: Array  # at the corners; the last is the probability of infinite loss
    rise: Array
    error: float

    @classmethod
    def of_losses(cls, losses: Array, masses: Array, infinite: float) -> Polygon:
        """H_alpha = infinite + sum over losses > epsilon of mass (1 - e^(epsilon - loss)).

        Minus the slope is Q(loss > epsilon) = sum of mass e^-loss, so that the value at one corner
        is that at the next plus non-negative terms: nothing cancels.
        """
        order = np.flatnonzero((losses > 0) & (masses > 0))
        order = order[np.argsort(losses[order], kind="stable")]
        if len(order) == 0:
            return cls(np.array([0.0, _NO_LOSS]), np.full(2, infinite), np.zeros(1), 0.0)
        losses, first = np.unique(losses[order], return_index=True)
        masses = np.add.reduceat(masses[order], first)
        epsilon, top = np.append(0.0, losses), float(losses[-1])
        rise = _tails_from_above(losses, masses)
        falls = rise * -np.expm1(-np.diff(epsilon))
        value = infinite + np.append(np.cumsum(falls[::-1])[::-1], 0.0)
        # sums of m terms, twice; exponents up to the largest loss, twice; the masses as given; some
        # roundings for each range of losses
        error = _ULP * (2 * len(order) + 2 * top + 40 + top / _RANGE * 8)
        return cls(epsilon, value, rise, error)

    @classmethod
    def of_points(cls, epsilon: Array, delta: Array) -> Polygon:
        """The largest symmetric profile for which all the guarantees (epsilon, delta) hold.

        A profile is convex in alpha and has the mirror image 1 - alpha + alpha f(1/alpha) below
        alpha = 1. The chord from a guarantee to its mirror image bounds the profile at
        alpha = 1 by delta + (1 - delta) tanh(epsilon/2). Epsilons below 1e-20 count as 1e-20.
        """
        # a guarantee holds for every larger epsilon, too; chords over smaller ones lose all digits
        epsilon = np.where(epsilon > 0, np.maximum(epsilon, _SMALLEST), 0.0)
        order = np.lexsort((delta, epsilon))
        epsilon, delta = epsilon[order], delta[order]
        implied = (delta + (1 - delta) * np.tanh(epsilon / 2)) * (1 + 8 * _ULP)
        at_one = float(np.where(epsilon == 0, delta, np.minimum(implied, 1.0)).min())
        epsilon, delta = np.append(0.0, epsilon), np.append(at_one, delta)
        # a guarantee says nothing if one at a smaller epsilon has a delta no larger
        best = np.append(np.inf, np.minimum.accumulate(delta)[:-1])
        useful = (delta < best) & ((epsilon > 0) | (np.arange(len(delta)) == 0))
        epsilon, delta = epsilon[useful], delta[useful]
        if len(epsilon) == 1:
            return cls(np.array([0.0, _NO_LOSS]), np.repeat(delta, 2), np.zeros(1), 0.0)
        corner = convex_corners(np.expm1(epsilon), delta)
        epsilon, delta = epsilon[corner], delta[corner]
        rise = -np.diff(delta) / -np.expm1(-np.diff(epsilon))
        return cls(epsilon, delta, rise, 16 * _ULP)

    def __call__(self, epsilon: Array) -> Samples:
        """Samples, with the relative error charged; slopes from the left and from the right."""
        ends = len(self.epsilon) - 1
        right = np.searchsorted(self.epsilon, epsilon, side="right") - 1  # corner at or before
        left = np.maximum(np.searchsorted(self.epsilon, epsilon, side="left") - 1, 0)
        cell = np.minimum(right, ends - 1)
        gap = np.minimum(epsilon - self.epsilon[cell + 1], 0.0)
        value = self.value[cell + 1] + self.rise[cell] * -np.expm1(gap)
        slope = np.append(self.rise * np.exp(-self.epsilon[1:]), 0.0)
        # the last value of a polygon is exact: it was given; the slope before it is not
        charge = np.where(epsilon < self.epsilon[-1], 2 * self.error, 0.0)
        upper, lower = value * (1 + charge) + UNDERFLOW * (charge > 0), value * (1 - charge)
        return Samples(
            np.where(lower > UNDERFLOW, lower, 0.0),
            np.minimum(upper, 1.0),
            slope[left] * (1 - 2 * self.error),
            slope[right] * (1 + 2 * self.error) + 1e-307,  # may underflow where alpha is large
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polygon) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[bytes, ...]:
        return tuple(part.tobytes() for part in (self.epsilon, self.value, self.rise))

    def __repr__(self) -> str:
        return f"<Polygon: {len(self.epsilon)} corners, delta(0) = {float(self.value[0])!r}>"


def polygon_below(losses: Array, masses: Array, infinite: float = 0.0) -> Polygon:
    """A polygon below the profile of these losses: those above the largest supported are less."""
    return Polygon.of_losses(np.minimum(losses, _LARGEST), masses, infinite)


def polygon_above(losses: Array, masses: Array, infinite: float = 0.0) -> Polygon:
    """A polygon above it: losses above the largest supported are infinite."""
    far = losses > _LARGEST
    infinite += float(masses[far].sum()) * (1 + (len(masses) + 8) * UNIT)
    return Polygon.of_losses(losses[~far], masses[~far], min(infinite * (1 + 2 * UNIT), 1.0))


#: Losses and their masses.
Losses = tuple[Array, Array]


def polygons_between(below: Losses, above: Losses, error: float) -> tuple[Polygon, Polygon]:
    """Polygons below and above a profile, whose masses err by a relative `error` at most."""
    low, high = polygon_below(*below), polygon_above(*above)
    return replace(low, error=low.error + error), replace(high, error=high.error + error)


def between_polygons(below: Polygon, above: Polygon, epsilon: Array) -> Samples:
    """Samples of a profile between two polygons."""
    low = below(epsilon)
    high = low if above is below else above(epsilon)
    return Samples(low.lower, high.upper, low.fall_low, low.fall_high)


class BetweenPolygons(PrivacyProfile):
    """A profile between two polygons; no loss is infinite but those that are not supported."""

    @property
    @abstractmethod
    def _polygons(self) -> tuple[Polygon, Polygon]:
        """Below and above."""

    @property
    def max_loss(self) -> float:
        return float(self._polygons[1].epsilon[-1]) if self.bounded else _LARGEST

    @property
    def bounded(self) -> bool:
        return bool(self._polygons[1].value[-1] == 0)

    @property
    def kinks(self) -> Array | None:
        """The corners, if there are few of them."""
        corners = self._polygons[1].epsilon
        return corners if len(corners) <= 500 else None

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Samples whatever the depth and the width."""
        return lambda epsilon: between_polygons(*self._polygons, np.asarray(epsilon, dtype=float))


@dataclass(frozen=True)
class PolygonProfile(BetweenPolygons):
    """A polygon, for alpha >= 1."""

    polygon: Polygon

    @property
    def _polygons(self) -> tuple[Polygon, Polygon]:
        return self.polygon, self.polygon

    @property
    def max_loss(self) -> float:
        # values of tiny losses may underflow, masses do not
        is_lossy = self.polygon.value[0] or self.polygon.rise.any()
        return float(self.polygon.epsilon[-1]) if is_lossy else 0.0


@dataclass(frozen=True)
class RevealedProfile(DerivedProfile):
    """The profile `hidden` of a mechanism that reveals everything with probability `paid`, and
    tells when it does: paid + (1 - paid) times `hidden`, which has no infinite loss itself.

    It is the composition of the two, and compositions with others are made from both: what is
    hidden is resolved far below what is paid.
    """

    hidden: PrivacyProfile
    paid: float

    @property
    def bounded(self) -> bool:
        return self.paid == 0

    @property
    def inner(self) -> Sequence[PrivacyProfile]:
        return (self.hidden,)

    @property
    def factors(self) -> Parts:
        revealed = Polygon.of_losses(np.zeros(0), np.zeros(0), self.paid)
        return [(self.hidden, 1), (PolygonProfile(revealed), 1)]

    def sampler(self, depth: float, rtol: float) -> Sampler:
        inner, paid, rest = self.hidden.sampler(depth, rtol), self.paid, 1 - self.paid

        def sample(epsilon: Array) -> Samples:
            if rest == 0:  # nothing is hidden; slopes that are not known would not be numbers
                return Samples(*np.ones((2, len(epsilon))), *np.zeros((2, len(epsilon))))
            found, inside = inner(epsilon), epsilon < self.max_loss
            return Samples(
                (paid + rest * found.lower * inside) * (1 - 4 * _ULP),
                np.minimum((paid + rest * found.upper * inside) * (1 + 4 * _ULP), 1.0),
                rest * found.fall_low * inside * (1 - 4 * _ULP),
                rest * found.fall_high * (1 + 4 * _ULP),
            )

        return sample
