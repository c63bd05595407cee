"""What convexity in alpha says of a profile that is known at some points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array


def chord_slopes(
    lower: Array, upper: Array, excess: Array, steepest: float | None = None
) -> tuple[Array, Array]:
    """An upper bound of minus the slope of a profile to the right of each point, and a lower one
    to the left; of the profile itself only lower and upper values are known.

    A convex function is at most as steep as any chord that ends at the point, and at least as steep
    as any that starts there. The shortest fits best, but what the bracket is wide counts less in a
    longer one. At alpha = 1 the slope is at least -`steepest`; of a symmetric profile, which is
    the default, at least -(1 - f)/2.
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
