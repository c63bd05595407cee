"""Where on a lattice a profile is sampled: close together where its losses count.

Theory: docs/theory/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array, Side
from ..profiles.base import PrivacyProfile
from . import tuning
from .influence import Costs
from .pld import PLD
from .tilted_sum import CountedPLDs


class Fineness(NamedTuple):
    """How fine a lattice is: the width of its cells goes with the square of the resolution, that
    of its samples with the sharpness.

    One number for both would do, but for noise on numbers: 100 rounds of Gaussian(0.2) and 10^4
    users need sharper samples only, and take 16 s instead of 5 if their cells are refined, too.
    """

    resolution: float = 1.0
    sharpness: float = 1.0

    def times(self, factor: float) -> Fineness:
        """Finer in the same proportion of both widths."""
        return Fineness(self.resolution * factor, self.sharpness * factor**2)

    def towards(self, wanted: Fineness, most: Fineness) -> Fineness:
        """`wanted`, but no finer than `most` where it is not already."""
        return Fineness(*map(max, self, map(min, wanted, most)))


class Cells(NamedTuple):
    """How wide cells may be around some losses."""

    losses: Array
    widths: Array


@dataclass(frozen=True, eq=False)
class Grading:
    """Where to sample rounds of which an outline is known."""

    outline: PLD
    cells: Cells
    depth: float  # log(1/delta) of the smallest delta that is asked for

    def losses(self, profile: PrivacyProfile, side: Side | None = None) -> Array:
        """Where to sample a profile: from 0 to its largest loss, or to one beyond which delta is
        about e^-depth.

        `side` is UPPER for positive losses, LOWER for negative ones as seen from Q, and None for
        both at once where they are mirror images.
        """
        losses, masses, infinite = self.outline.losses, self.outline.masses, self.outline.infinite
        places, widths = self.cells
        if side is Side.LOWER:
            losses, masses = -losses[::-1], (masses * np.exp(-losses))[::-1]
            infinite = 0.0 if profile.bounded else math.inf  # not part of an outline of P
            places, widths = -places[::-1], widths[::-1]
        elif side is None:
            widths = np.minimum(widths, np.interp(-places, places, widths))
        tail = np.cumsum(masses[::-1])[::-1]
        beyond = losses[tail + infinite <= math.exp(-self.depth)]
        end = min(float(beyond[0]) if len(beyond) else math.inf, profile.max_loss)
        some = (places > 0) & (places < end)
        return _spaced(np.append(places[some], end), np.append(widths[some], math.inf))


def _spaced(losses: Array, cells: Array) -> Array:
    """From 0 to the last of these losses, between which cells should be so wide."""
    narrower = np.minimum(cells, np.append(cells[:1], cells[:-1]))  # at the ends of a gap
    count = np.append(0.0, np.cumsum(np.diff(losses, prepend=0.0) / narrower))
    number = min(count[-1], tuning.MOST_SAMPLES)
    places = np.linspace(0.0, count[-1], math.ceil(number) + 1)
    spaced: Array = np.interp(places, count, np.append(0.0, losses))
    return spaced


def around(kinks: Array, step: float, largest: float) -> Array:
    """The lattice points on either side of each kink, from 0 to the largest loss: between them a
    profile is straight, so that no other samples are needed."""
    places = step * np.concatenate([[0.0], np.floor(kinks / step), np.ceil(kinks / step)])
    return np.append(np.unique(np.minimum(places, largest)), largest)


def on_lattice(losses: Array, step: float, largest: float) -> NDArray[np.int64]:
    """Lattice points near losses up to their last, which is covered if it is the largest of all;
    and the two before, where much of the mass may be: it may have been rounded up."""
    end = float(losses[-1])
    top = math.ceil(end / step * (1 - 1e-14))
    if end == largest and Fraction(step) * top < Fraction(largest):
        top += 1
    index = np.minimum(np.rint(losses / step), top).astype(np.int64)
    return np.unique(np.concatenate([index, [0, max(top - 2, 0), max(top - 1, 0), top]]))


def cells_for(outlines: CountedPLDs, found: Sequence[Costs], width: float) -> list[Cells]:
    """How wide cells should be at the losses of some kinds of rounds, whose costs were found, for
    all of them together to cost `width` in relative epsilon.

    Where cells of width h cost r h^2 for each unit of loss, the fewest of them have h = c r^(-1/3).
    """
    total = sum(_area(losses, np.cbrt(cost)) for losses, cost in found)
    unit = math.sqrt(width / max(total, 1e-300))
    cells = []
    for (losses, cost), (pld, _) in zip(found, outlines, strict=True):
        spread = math.sqrt(float(pld.masses @ pld.losses**2))
        # an outline may miss where the losses are
        widest = np.minimum(np.abs(losses) + spread, 1.0)
        widest *= min(12 * math.sqrt(width), 0.5)
        cells.append(Cells(losses, np.minimum(unit / np.cbrt(cost + 1e-300), widest)))
    return cells


def _area(x: Array, y: Array) -> float:
    return float(np.diff(x) @ (y[1:] + y[:-1])) / 2


def sparse_range(dense: int, top: int, stride: int) -> NDArray[np.int64]:
    """0, stride, ..., dense, then geometrically sparser, top: for rounds without an outline."""
    near = np.arange(0, min(dense, top), stride, dtype=np.int64)
    if top <= dense:
        return np.append(near, top)
    count = math.ceil(math.log(top / dense) / math.log1p(stride / dense)) + 1
    far = np.unique(np.rint(np.geomspace(dense, top, count + 1)).astype(np.int64))
    return np.concatenate([near, far])
