"""Privacy loss distributions on a lattice, one for each side, made from a sampled profile.

Upper: the chords of the profile between lattice points. Every cell's P- and Q-mass moves to the
two lattice points around it, and both masses are kept ("connect the dots", Doroshenko et al. 2022).
Lower: a convex polygon with corners on the lattice that stays below the profile's tangents, which
merges outcomes. Both differ from the profile by the square of the step. Replace-one profiles are
symmetric, so only losses > 0 are built and mirrored: mass(-s) = e^-s mass(s); the rest sits at 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from ..profiles.convex import chord_slopes, convex_corners
from ..profiles.samples import Samples

# proof constants: docs/theory.md, "Constants"
_ULP = 2 * UNIT
_NEXT_TO_NOTHING = 1e-310  # a mass that no value can tell from 0


@dataclass(frozen=True, eq=False)
class PLD:
    """P-masses at the losses step * index, and the P-mass of infinite loss.

    An upper PLD's masses are rounded up and a lower one's down, so their sum is not exactly 1.
    """

    step: float
    index: NDArray[np.int64]  # increasing
    masses: Array
    infinite: float
    loss_error: float = 0.0  # so much smaller the losses may have to be, beyond rounding

    @property
    def losses(self) -> Array:
        return self.step * self.index.astype(float)

    def log_mgf(self, tilt: float) -> tuple[float, float, float]:
        """log E[e^(tilt L); L finite] with its first two derivatives in the tilt."""
        losses = self.losses
        exponent = tilt * losses
        peak = exponent.max()
        w = self.masses * np.exp(exponent - peak)
        total = w.sum()
        w /= total
        mean = float(w @ losses)
        return float(np.log(total) + peak), mean, float(w @ (losses - mean) ** 2)


def upper_pld(step: float, index: NDArray[np.int64], samples: Samples) -> PLD:
    """Dominates the profile sampled at epsilon = step * index, index[0] = 0.

    What the profile is beyond the last sample is at most its value there: infinite loss.
    """
    corner = convex_corners(np.expm1(step * index.astype(float)), samples.upper)
    return _from_polygon(step, index[corner], samples.upper[corner], Side.UPPER)


def lower_pld(
    step: float, index: NDArray[np.int64], samples: Samples, flat_beyond: bool = False
) -> PLD:
    """Is dominated by the profile sampled at epsilon = step * index, index[0] = 0.

    What lies beyond the last sample is dropped; a last sample at the largest loss, where the
    profile reaches 0 with its slope from the left, loses nothing. `flat_beyond`: the profile is
    known to be constant from the last sample on, which is infinite loss.
    """
    excess = np.expm1(step * index.astype(float))  # alpha - 1, accurate for small losses too
    floor = samples.lower[-1] if flat_beyond else 0.0  # f is nowhere below it: work above it
    f, width = np.maximum(samples.lower - floor, 0.0), np.diff(excess)
    chord = np.diff(f) / width
    # In a cell f is above both end tangents; they cross at distance t from the left end.
    steep, flat = _end_slopes(samples, excess)
    bend = steep - flat
    t = np.clip(np.divide(-(chord + flat) * width, bend, out=0 * bend, where=bend > 0), 0, width)
    # How far the chord must be lowered, in parallel, to stay below the tangents.
    drop = np.maximum(t * (steep + chord), (width - t) * -(flat + chord))
    drop = np.maximum(drop, 0.0) + 16 * _ULP * f[:-1]
    value = np.maximum(f - np.maximum(np.append(drop, 0.0), np.append(0.0, drop)), 0.0)
    value[-1] = 0.0
    # Where that would be below 0, the cell's line goes through 0 at the right end and the crossing.
    crossing = np.minimum(f[:-1] - steep * t, f[1:] + flat * (width - t)) * (1 - 16 * _ULP)
    cap = np.maximum(crossing, 0.0) * width / np.maximum(width - t, _ULP * width)
    value[:-1] = np.where(f[1:] < drop, np.minimum(value[:-1], cap), value[:-1])

    corner = convex_corners(excess, value)
    return _from_polygon(step, index[corner], value[corner] + floor, Side.LOWER)


def _end_slopes(samples: Samples, excess: Array) -> tuple[Array, Array]:
    """In each cell an upper bound of minus the slope at its left end, a lower one at its right."""
    steep, flat = chord_slopes(samples.lower, samples.upper, excess)
    steep, flat = np.minimum(steep, samples.slope_high), np.maximum(flat, samples.slope_low)
    return steep[:-1], flat[1:]


def _from_polygon(step: float, index: NDArray[np.int64], value: Array, side: Side) -> PLD:
    """PLD of the convex polygon with corners (e^loss, value), loss[0] = 0, flat after the last.

    The bend of the slope at a corner is its Q-mass; P-mass is alpha times that. Every mass is
    rounded up if side is UPPER, else down, by a bound of the rounding error of the slopes.
    """
    alpha = np.exp(step * index)
    width = alpha[:-1] * np.expm1(step * np.diff(index))
    slope = np.diff(value) / width
    error = 4 * _ULP * ((value[:-1] + value[1:]) / width - (2 + step * index[1:]) * slope)
    bend = np.append(slope[1:], 0.0) - slope
    bend = np.maximum(bend + side * (error + np.append(error[1:], 0.0)), 0.0)
    p_mass = alpha[1:] * bend * (1 + side * (8 + 4 * step * index[1:]) * _ULP)
    q_mass = bend * (1 + side * 8 * _ULP)
    rest = 1 - value[-1] - p_mass.sum() - q_mass.sum()

    # p_mass and q_mass were moved outwards: move the rest back by as much, and outwards once more
    slack = 2 * float(((alpha[1:] + 1) * (error + np.append(error[1:], 0.0))).sum())
    slack += (32 + 8 * step * index[-1]) * _ULP
    centre = rest + side * slack
    full_index = np.concatenate([-index[:0:-1], index])
    masses = np.concatenate([q_mass[::-1], [max(centre, 0.0)], p_mass])
    if side is Side.LOWER and centre < 0:
        # Too much mass on both sides: scaled down, the pair is symmetric and its profile smaller.
        finite = 1 - value[-1]
        masses *= finite / (finite - centre) * (1 - 4 * _ULP)
    if not masses.any():  # all but rounding is infinite loss; a law without any value is none
        masses[len(index) - 1] = _NEXT_TO_NOTHING
    keep = masses > 0
    return PLD(step, full_index[keep], masses[keep], float(value[-1]))
