"""Privacy loss distributions on a lattice, one for each side, made from a sampled profile.

Upper: the chords of the profile between samples. Every cell's P- and Q-mass moves to the two
lattice points around it, and both masses are kept ("connect the dots", Doroshenko et al. 2022).
Lower: a convex polygon with corners on the lattice that stays below the profile's tangents, which
merges outcomes. Both differ from the profile by the square of the distance of samples. Losses > 0
come from the profile of (P, Q), losses < 0 from that of (Q, P), and the rest sits at 0. Replace-one
profiles are symmetric: one profile serves both.

Theory: docs/theory/pld.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from ..profiles.base import Samples, chord_falls, convex_corners

# proof constants: docs/theory/constants.md
_ULP = 2 * UNIT
_NEXT_TO_NOTHING = 1e-310  # a mass that no value can tell from 0


@dataclass(frozen=True, eq=False)
class PLD:
    """P-masses at the losses step * index, the P-mass of infinite loss, and the Q-mass of outcomes
    that P excludes, which is infinite loss in the other order.

    An upper PLD's masses are rounded up and a lower one's down, so their sum is not exactly 1.
    """

    step: float
    index: NDArray[np.int64]  # increasing
    masses: Array
    infinite: float
    loss_error: float = 0.0  # so much smaller the losses may have to be, beyond rounding
    reverse_infinite: float = 0.0

    @cached_property
    def losses(self) -> Array:
        return self.step * self.index.astype(float)

    @cached_property
    def _log_masses(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.masses)

    def log_mgf(self, tilt: float) -> float:
        """Return log E[e^(tilt L); L finite]."""
        return self._tilted(tilt)[0]

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """Return log E[e^(tilt L); L finite] and its first two derivatives in the tilt."""
        log_mgf, weights, total = self._tilted(tilt)
        mean = float(weights @ self.losses) / total
        return log_mgf, mean, float(weights @ (self.losses - mean) ** 2) / total

    def _tilted(self, tilt: float) -> tuple[float, Array, float]:
        """Return log E[e^(tilt L); L finite], masses in proportion to the tilted ones, their sum.

        Terms are taken relative to the largest mass times e^(tilt L). Relative to the largest
        e^(tilt L) instead, all masses but one that is next to nothing could underflow, and their
        sum would be far too small.
        """
        exponent = tilt * self.losses
        peak = float((exponent + self._log_masses).max())
        half = np.exp((exponent - peak) / 2)  # in two halves: the whole may be beyond a double
        weights = self.masses * half * half
        total = float(weights.sum())
        return math.log(total) + peak, weights, total


@dataclass(frozen=True, eq=False)
class Sampled:
    """A profile at epsilon = step * index, index[0] = 0. `flat`: it is known to be constant from
    the last sample on, which is infinite loss."""

    index: NDArray[np.int64]
    samples: Samples
    flat: bool = False

    def without_last_fall(self) -> Sampled:
        """Without the slope at the last place, which may be a little beyond the largest loss."""
        low = np.append(self.samples.fall_low[:-1], 0.0)
        return replace(self, samples=replace(self.samples, fall_low=low))


@dataclass(frozen=True, eq=False)
class LatticePolygon:
    """Convex, with corners (e^(step * index), value), index[0] = 0, and flat after the last."""

    index: NDArray[np.int64]
    value: Array

    @classmethod
    def below(cls, step: float, index: NDArray[np.int64], value: Array) -> LatticePolygon:
        """The largest one below these values."""
        corner = convex_corners(np.expm1(step * index.astype(float)), value)
        return cls(index[corner], value[corner])


def upper_pld(step: float, forward: Sampled, reverse: Sampled | None = None) -> PLD:
    """Dominates a pair (P, Q) with this profile; that of (Q, P) is the same, or given.

    What the profile is beyond the last sample is at most its value there: infinite loss.
    """
    orders = [
        # chords; the profile falls, so that none of its values exceeds one before
        LatticePolygon.below(step, order.index, np.minimum.accumulate(order.samples.upper))
        for order in (forward, reverse)
        if order
    ]
    return _from_polygons(step, orders[0], orders[-1], Side.UPPER)


def lower_pld(step: float, forward: Sampled, reverse: Sampled | None = None) -> PLD:
    """Is dominated by a pair (P, Q) with this profile; that of (Q, P) is the same, or given.

    What lies beyond the last sample is dropped; a last sample at the largest loss, where the
    profile reaches 0 with its slope from the left, loses nothing.
    """
    pairs = [(forward, reverse), (reverse, forward)] if reverse else [(forward, None)]
    orders = [_lower_polygon(step, sampled, other) for sampled, other in pairs]
    return _from_polygons(step, orders[0], orders[-1], Side.LOWER)


def _lower_polygon(step: float, sampled: Sampled, other: Sampled | None) -> LatticePolygon:
    """Below the profile's tangents. `other`: of the same pair in the other order, if that has
    another profile."""
    index, samples = sampled.index, sampled.samples
    excess = np.expm1(step * index.astype(float))  # alpha - 1, accurate for small losses too
    floor = samples.lower[-1] if sampled.flat else 0.0  # f is nowhere below it: work above it
    f, width = np.maximum(samples.lower - floor, 0.0), np.diff(excess)
    chord = np.diff(f) / width
    # In a cell f is above both end tangents; they cross at distance t from the left end.
    steepest = None if other is None else _steepest(step, samples.lower[0], other)
    steep, flat = chord_falls(samples.lower, samples.upper, excess, steepest)
    steep = np.minimum(steep, samples.fall_high)[:-1]
    flat = np.maximum(flat, samples.fall_low)[1:]
    bend = steep - flat
    t = np.clip(np.divide(-(chord + flat) * width, bend, out=0 * bend, where=bend > 0), 0, width)
    # How far the chord must be lowered at the crossing; it is lowered as much at both ends.
    drop = np.maximum(t * (steep + chord), (width - t) * -(flat + chord))
    drop = np.maximum(drop, 0.0) + 16 * _ULP * f[:-1]
    value = np.maximum(f - np.maximum(np.append(drop, 0.0), np.append(0.0, drop)), 0.0)
    value[-1] = 0.0
    # Where that would be below 0, the cell's line goes through 0 at the right end and the crossing.
    crossing = np.minimum(f[:-1] - steep * t, f[1:] + flat * (width - t)) * (1 - 16 * _ULP)
    cap = np.maximum(crossing, 0.0) * width / np.maximum(width - t, _ULP * width)
    value[:-1] = np.where(f[1:] < drop, np.minimum(value[:-1], cap), value[:-1])
    # The line from the right end, taken to the left one, serves whatever the next corner is.
    alone = np.minimum(f[1:] + flat * width, f[:-1]) * (1 - 16 * _ULP)
    line, chords = (np.maximum(side, 1e-300) for side in (alone, value[:-1]))
    gain = np.append(np.log(line / chords), 0.0)
    # Before such a corner only that line is below the profile, which may cost more than is gained.
    better = gain > np.append(0.0, np.maximum(-gain[:-1], 0.0))
    value[:-1] = np.where(better[:-1], alone, value[:-1])
    value[:-1] = np.where(better[1:], np.minimum(value[:-1], alone), value[:-1])
    value[value < 1e-200 * value[0]] = 0.0  # errors there must not cost anything elsewhere
    polygon = LatticePolygon.below(step, index, value)
    return LatticePolygon(polygon.index, polygon.value + floor)


def _steepest(step: float, at_one: float, other: Sampled) -> float:
    """An upper bound of the fall at alpha = 1: with P[loss > 0] = f(1) + Q[loss > 0] it is
    Q[loss > 0] = P[loss > 0] - f(1) <= 1 - f(1) - P[loss < 0], and the last is `other`'s fall."""
    lower, upper = other.samples.lower[0], other.samples.upper[1:]
    flat = float(((lower - upper) / np.expm1(step * other.index[1:])).max(initial=0.0))
    return float(1 - at_one - flat) * (1 + 8 * _ULP) + 8 * _ULP * flat


def _from_polygons(
    step: float, forward: LatticePolygon, reverse: LatticePolygon, side: Side
) -> PLD:
    """PLD of the pair (P, Q) of which `forward` is the profile, and `reverse` that of (Q, P).

    The bend of the slope at a corner is its Q-mass; P-mass is alpha times that. In `reverse` it is
    the other way round. Both have the same value at alpha = 1, the total variation. Every mass is
    rounded up if side is UPPER, else down, by a bound of the rounding error of the slopes.
    """
    forward, reverse = _matched_at_one(step, forward, reverse, side)
    if side is Side.LOWER:
        convex = [_without_doubtful_corners(step, order) for order in (forward, reverse)]
        share = min(share for _, share in convex)
        forward, reverse = (LatticePolygon(order.index, order.value * share) for order, _ in convex)
    alpha, bend, error = _bends(step, forward, side)
    p_mass = alpha * bend * (1 + side * (8 + 4 * step * forward.index[1:]) * _ULP)
    _, reverse_bend, reverse_error = _bends(step, reverse, side)
    q_mass = reverse_bend * (1 + side * 8 * _ULP)
    infinite, reverse_infinite = float(forward.value[-1]), float(reverse.value[-1])
    rest = 1 - infinite - p_mass.sum() - q_mass.sum()

    # p_mass and q_mass were moved outwards: move the rest back by as much, and outwards once more
    slack = 2 * float((alpha * error).sum() + reverse_error.sum())
    slack += (32 + 8 * step * max(forward.index[-1], reverse.index[-1])) * _ULP
    centre = rest + side * slack
    full_index = np.concatenate([-reverse.index[:0:-1], forward.index])
    masses = np.concatenate([q_mass[::-1], [max(centre, 0.0)], p_mass])
    if side is Side.LOWER and centre < 0:
        # Too much mass on both sides: scaled down, the pair has a smaller profile in both orders.
        if infinite == reverse_infinite:  # the finite masses of P and Q have the same sum
            masses *= (1 - infinite) / (1 - infinite - centre) * (1 - 4 * _ULP)
        else:
            share = (1 - 4 * _ULP) / (1 - centre)
            infinite, reverse_infinite = infinite * share, reverse_infinite * share
            masses *= share
    if not masses.any():  # all but rounding is infinite loss; a law without any value is none
        masses[len(q_mass)] = _NEXT_TO_NOTHING
    keep = masses > 0
    return PLD(step, full_index[keep], masses[keep], infinite, reverse_infinite=reverse_infinite)


def _matched_at_one(
    step: float, forward: LatticePolygon, reverse: LatticePolygon, side: Side
) -> tuple[LatticePolygon, LatticePolygon]:
    """With one value at alpha = 1, such that P[loss > 0], which is the value there and minus the
    first slope, and P[loss < 0], which is minus the first slope of `reverse`, leave a mass
    >= 0 for loss 0. Infinite losses are kept.

    From below that makes room for all masses; from above no profile is larger there, however wide
    the bracket of its sample at alpha = 1 may be: narrow cells beside it would be as steep.
    """
    value = float(min(forward.value[0], reverse.value[0]))
    for _ in range(16):  # what is left then is scaled away
        forward, reverse = (
            LatticePolygon.below(
                step, order.index, np.append(value, np.minimum(order.value[1:], value))
            )
            for order in (forward, reverse)
        )
        first = [order for order in (forward, reverse) if len(order.index) > 1]
        widths = [float(np.expm1(step * order.index[1])) for order in first]
        falls = [value - float(order.value[1]) for order in first]
        excess = value + sum(fall / width for fall, width in zip(falls, widths, strict=True)) - 1
        if excess <= 0:
            break
        lowered = value - excess / (1 + sum(1 / width for width in widths)) * (1 - side * 8 * _ULP)
        if side is Side.UPPER:
            lowered += 32 * _ULP
        lowered = max(lowered, float(forward.value[-1]), float(reverse.value[-1]))
        if lowered >= value:
            break
        value = lowered
    return forward, reverse


def _without_doubtful_corners(step: float, polygon: LatticePolygon) -> tuple[LatticePolygon, float]:
    """Corners at which a polygon bends upwards by more than its rounding errors, and a factor that
    takes the polygon of these below all corners.

    At the others it may bend downwards. Taken for no bend at all, hundreds of them would add up to
    masses above the profile.
    """
    index, value = polygon.index, polygon.value
    corner = np.arange(len(index))
    while True:
        _, bend, _ = _bends(step, LatticePolygon(index[corner], value[corner]), Side.LOWER)
        unsure = np.flatnonzero(bend[:-1] <= 0) + 1
        # the first 0 stays: a chord above it has no share that is
        unsure = unsure[(value[corner[unsure]] > 0) | (value[corner[unsure - 1]] == 0)]
        if len(unsure) == 0:
            break
        # every other one of neighbours, since without it the next may be sure
        number = np.arange(len(unsure))
        first = np.maximum.accumulate(np.where(np.diff(unsure, prepend=-1) > 1, number, 0))
        corner = np.delete(corner, unsure[(number - first) % 2 == 0])
    removed = np.setdiff1d(np.arange(len(index)), corner)
    if len(removed) == 0:
        return polygon, 1.0
    right = np.searchsorted(corner, removed)
    low, high = corner[right - 1], corner[right]
    # the chord at a corner that was removed, with accurate differences of alpha
    place = np.exp(step * (index[removed] - index[low]))
    place *= np.expm1(step * (index[high] - index[removed]))
    place /= np.expm1(step * (index[high] - index[low]))
    chord = value[high] + (value[low] - value[high]) * place
    share = np.divide(value[removed], chord, out=np.ones(len(chord)), where=chord > 0)
    slack = (32 + 8 * step * index[-1]) * _ULP
    return LatticePolygon(index[corner], value[corner]), min(float(share.min()), 1.0) * (1 - slack)


def _bends(step: float, polygon: LatticePolygon, side: Side) -> tuple[Array, Array, Array]:
    """alpha and the bend at each corner but the first, moved by a bound of its error; and that."""
    index, value = polygon.index, polygon.value
    alpha = np.exp(step * index)
    width = alpha[:-1] * np.expm1(step * np.diff(index))
    slope = np.diff(value) / width
    error = 4 * _ULP * ((value[:-1] + value[1:]) / width - (2 + step * index[1:]) * slope)
    error = error + np.append(error[1:], 0.0)
    bend = np.append(slope[1:], 0.0) - slope
    return alpha[1:], np.maximum(bend + side * error, 0.0), error
