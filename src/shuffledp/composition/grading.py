"""Where on a lattice a profile is sampled: close together where its losses count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array, Side
from ..profiles.samples import Samples
from . import tuning
from .pld import PLD


@dataclass(frozen=True, eq=False)
class Grading:
    """Multiples of `step`, for rounds of which an outline is known.

    A cell of width h that holds the mass m adds about m h^2 to the variance of a round. With the
    density r of the mass, h = c r^(-1/3) has the fewest cells for what they add together. Outlines
    are too coarse for a density: the mass of all larger losses stands in for it, so that cells
    grow, and c is such that they add as much as equal cells of width `stride`. What counts is the
    largest of the masses as they are and under tilts about that of the composition.
    """

    outline: PLD
    step: float
    stride: float
    tilt: float
    depth: float  # log(1/delta) of the smallest delta that is asked for

    def points(self, largest: float, side: Side) -> NDArray[np.int64]:
        """Lattice points up to the largest loss, or one beyond which delta is about e^-depth; of
        positive losses if side is UPPER, else of negative ones, as seen from Q."""
        losses, masses, infinite = self.outline.losses, self.outline.masses, self.outline.infinite
        if side is Side.LOWER:
            losses, masses, infinite = -losses[::-1], (masses * np.exp(-losses))[::-1], 0.0
        tail = np.cumsum(masses[::-1])[::-1]
        beyond = losses[tail + infinite <= math.exp(-self.depth)]
        end = min(float(beyond[0]) if len(beyond) else math.inf, largest)
        top = math.ceil(end / self.step * (1 - 1e-14))
        if end == largest and Fraction(self.step) * top < Fraction(largest):
            top += 1
        # what an outline says of losses beyond the end is far too much
        losses, masses = losses[losses <= end], masses[losses <= end]
        weights = masses
        for share in tuning.GRADED if side is Side.UPPER else ():
            exponent = share * self.tilt * losses
            tilted = masses * np.exp(exponent - exponent.max(initial=0.0))
            weights = np.maximum(weights, tilted / max(tilted.sum(), 1e-300))
        return self._spaced(losses[losses > 0], weights[losses > 0], top)

    def _spaced(self, losses: Array, weights: Array, top: int) -> NDArray[np.int64]:
        """0 and top, and between them points at distances that grow with the losses; and the one
        before top, where much of the mass may be."""
        larger = np.cumsum(weights[::-1])[::-1] + 1e-300
        cell = (larger / larger[:1]) ** (-1 / 3)
        cell *= self.stride / np.sqrt((weights @ cell**2) / larger[:1])
        cell = np.minimum(cell, max(self.stride, tuning.WIDEST_CELL / (1 + self.tilt)))
        number = float(np.sum(np.diff(losses, prepend=0.0) / cell))
        cell *= max(number / tuning.MOST_SAMPLES, 1.0)  # a tilt may see nothing but the end
        distances = np.maximum(cell / self.step, 1.0).astype(np.int64)
        index, place = [np.zeros(0, dtype=np.int64)], 0
        for distance in np.unique(distances).tolist():  # up to the last loss with this distance
            end = losses[distances == distance][-1] / self.step
            run = np.arange(place, min(end, top), distance, dtype=np.int64)
            if len(run):
                index.append(run)
                place = int(run[-1]) + distance
        return np.unique(np.concatenate([*index, [0, max(top - 1, 0), top]]))


def beside_kinks(step: float, index: NDArray[np.int64], samples: Samples) -> NDArray[np.int64]:
    """More lattice points: on either side of where the lines below a profile cross, in cells in
    which it bends far more than in those around them. A few outcomes have so much mass."""
    excess = np.expm1(step * index.astype(float))
    width, fall = np.diff(excess), samples.lower[:-1] - samples.lower[1:]
    known = np.isfinite(samples.slope_high[:-1])
    steep = np.where(known, samples.slope_high[:-1], 0.0)
    bend = np.maximum(steep - samples.slope_low[1:], 0.0)
    near = np.convolve(np.pad(bend, 2), np.ones(5), mode="valid") - bend  # of four cells around
    kinked = (bend > tuning.KINK * near / 4) & (np.diff(index) > 1)
    first, bend = index[:-1][kinked], bend[kinked]
    place = (fall - samples.slope_low[1:] * width)[kinked] / np.maximum(bend, 1e-300)
    place = np.clip(place, 0.0, width[kinked])
    below = np.floor(np.log1p(excess[:-1][kinked] + place) / step).astype(np.int64)
    below = np.clip(below, first, index[1:][kinked] - 1)
    return np.setdiff1d(np.concatenate([below, below + 1]), index)


def sparse_range(dense: int, top: int, stride: int) -> NDArray[np.int64]:
    """0, stride, ..., dense, then geometrically sparser, top: for rounds without an outline."""
    near = np.arange(0, min(dense, top), stride, dtype=np.int64)
    if top <= dense:
        return np.append(near, top)
    count = math.ceil(math.log(top / dense) / math.log1p(stride / dense)) + 1
    far = np.unique(np.rint(np.geomspace(dense, top, count + 1)).astype(np.int64))
    return np.concatenate([near, far])
