"""A profile at some epsilons, from both sides, and what its convexity in alpha implies.

Theory: docs/theory/profiles.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array


@dataclass(frozen=True)
class Samples:
    """A profile f(alpha) = delta(log alpha) at some epsilons, certified.

    All columns have the shape [epsilons]. lower <= f <= upper. Through each (alpha, lower) goes a
    line that is nowhere above f; minus its slope lies in [slope_low, slope_high], which is [0, inf]
    if nothing is known of it.
    """

    lower: Array
    upper: Array
    slope_low: Array
    slope_high: Array

    def __post_init__(self) -> None:
        # a value that is no number, after an overflow, must not count as a bound
        if np.isnan(self.lower).any() or np.isnan(self.upper).any():
            unknown = np.isnan(self.lower) | np.isnan(self.upper)
            names = ("lower", "upper", "slope_low", "slope_high")
            trivial = zip(names, (0.0, 1.0, 0.0, np.inf), strict=True)
            for name, value in trivial:
                object.__setattr__(self, name, np.where(unknown, value, getattr(self, name)))

    @classmethod
    def without_slopes(cls, lower: Array, upper: Array) -> Samples:
        return cls(lower, upper, np.zeros(len(lower)), np.full(len(lower), np.inf))

    @property
    def columns(self) -> tuple[Array, Array, Array, Array]:
        return self.lower, self.upper, self.slope_low, self.slope_high

    @property
    def relative_widths(self) -> Array:
        """(upper - lower) / upper of each sample."""
        width: Array = (self.upper - self.lower) / np.maximum(self.upper, 1e-300)
        return width

    def rows(self, index: NDArray[np.intp]) -> Samples:
        return Samples(*(column[index] for column in self.columns))

    def narrowed(self, index: NDArray[np.intp], others: Samples) -> Samples:
        """Return the samples with those at `index` replaced by the narrower ones of two.

        `others` are of the same profile, at the epsilons of `index`. Both are certified, so that
        the larger lower value, with its line, and the smaller upper value are.
        """
        lower, upper, low, high = (column.copy() for column in self.columns)
        larger = index[others.lower >= lower[index]]
        taken = others.rows(np.flatnonzero(others.lower >= lower[index]))
        lower[larger], low[larger], high[larger] = taken.lower, taken.slope_low, taken.slope_high
        upper[index] = np.minimum(upper[index], others.upper)
        return Samples(lower, upper, low, high)


def joined(parts: Sequence[Samples]) -> Samples:
    """Samples at the epsilons of all parts, one after the other."""
    columns = zip(*(part.columns for part in parts), strict=True)
    return Samples(*(np.concatenate(column) for column in columns))


def larger_of(a: Samples, b: Samples) -> Samples:
    """Samples of the pointwise larger of two profiles, at the same epsilons."""
    first, lower = a.lower >= b.lower, np.maximum(a.lower, b.lower)
    low, high = (
        np.where(first, getattr(a, side), getattr(b, side)) for side in ("slope_low", "slope_high")
    )
    return Samples(lower, np.maximum(a.upper, b.upper), low, high)


def chord_slopes(
    lower: Array, upper: Array, excess: Array, steepest: float | None = None
) -> tuple[Array, Array]:
    """Bounds on minus the slope of a profile, from chords between its lower and upper values.

    Parameters
    ----------
    lower, upper : Array, shape [points]
        Bounds of the profile.
    excess : Array, shape [points]
        alpha - 1 of the points, increasing from 0.
    steepest : float, optional
        An upper bound of minus the slope at alpha = 1; (1 - f)/2 by default, which holds of
        symmetric profiles.

    Returns
    -------
    tuple of Array
        An upper bound of minus the slope to the right of each point, and a lower bound to its left.

    Notes
    -----
    A convex function is at most as steep as any chord that ends at the point, and at least as steep
    as any that starts there. The shortest chord fits best, but the width of the brackets matters
    less in a longer one, so that chords of all powers of two are tried.
    """
    if steepest is None:
        steepest = (1 - lower[0]) / 2
    steep, flat = np.full(len(excess), steepest), np.zeros(len(excess))
    span = 1
    while span < len(excess):
        width = excess[span:] - excess[:-span]
        steep[span:] = np.minimum(steep[span:], (upper[:-span] - lower[span:]) / width)
        flat[:-span] = np.maximum(flat[:-span], (lower[:-span] - upper[span:]) / width)
        span *= 2
    return steep, flat


def convex_corners(x: Array, y: Array) -> NDArray[np.intp]:
    """Indices of the corners of the greatest convex minorant of the points (x increasing)."""
    corner = np.arange(len(x))
    while True:
        slope = np.diff(y[corner]) / np.diff(x[corner])
        dent = np.flatnonzero(np.diff(slope) < 0) + 1
        if len(dent) == 0:
            return corner
        # a point above the chord of its neighbours is no corner, whatever else is removed
        corner = np.delete(corner, dent)
