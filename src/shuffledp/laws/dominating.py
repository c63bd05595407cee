"""One law above the blanket laws of all pairs of rows of a matrix, in increasing convex order.

The score of the pair (x0, x1) is R(x0)/omega - alpha R(x1)/omega. If a has the stop-loss transform
max over x of E(R(x)/omega - t)_+ and b the put transform max over x of E(t - R(x)/omega)_+, then
R(x0)/omega is at most a and -R(x1)/omega at most -b in increasing convex order, and the sum of the
two is largest if they are coupled so that a is large where b is small (docs/theory.md, section 8).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .._support.numeric import UNIT, Array
from . import tuning
from .classes import ClassLaw

# proof constants: docs/theory.md, "Constants"
_MARGIN = 2.0**-40  # far more than the rounding of a few thousand positive terms
_NEARLY_ALL = 1 - 2.0**-30


def dominating_law(rows: Array, base: Array) -> ClassLaw:
    """The law for the rows of probabilities and their common lower bound `base`.

    Outputs outside the base are dominated likewise, relative to the mean of the rows.
    """
    covered = base > 0
    open_ = ~covered & (rows.max(axis=0) > 0)
    parts = []
    for where, measure in ((covered, base), (open_, rows.mean(axis=0))):
        if where.any():
            mass, high, low = _coupled(rows[:, where], measure[where])
            blanket = mass if where is covered else np.zeros(len(mass))
            parts.append(np.stack([mass * high, mass * low, blanket]))
    first, second, third = (tuple(row.tolist()) for row in np.concatenate(parts, axis=1))
    return ClassLaw(first, second, third)


def _coupled(rows: Array, measure: Array) -> tuple[Array, Array, Array]:
    """Masses, falling values of a and rising values of b: the law of (a(U), b(1 - U))."""
    ratio, total = rows / measure, math.fsum(measure)
    values, masses = [], []
    for sign in (1, -1):  # b is the same as a for the negative ratios
        x = sign * ratio + 2 * UNIT * ratio
        levels = _levels(x)
        values.append(sign * levels[::-1])
        masses.append(_law_above(levels, _stop_loss(x, measure, levels), total)[::-1])
    first, second = ([Fraction(mass) for mass in side] for side in masses)
    scale = sum(first, Fraction(0)) / sum(second, Fraction(0))  # 1 up to rounding
    second = [mass * scale for mass in second]
    classes, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        mass = min(first[i], second[j])
        if mass > 0:
            classes.append((float(mass), values[0][i], values[1][j]))
        first[i] -= mass
        second[j] -= mass
        i, j = i + (first[i] == 0), j + (second[j] == 0)
    mass_, high, low = (np.array(column) for column in zip(*classes, strict=True))
    return mass_, high, np.maximum(low, 0.0)


def _levels(x: Array) -> Array:
    """The values of x; or some of them, evenly by rank and by size, with the least and largest."""
    values: Array = np.unique(x)
    if len(values) <= tuning.LEVELS:
        return values
    half = np.linspace(0, 1, max(tuning.LEVELS // 2, 2))
    by_size = np.searchsorted(values, values[0] + (values[-1] - values[0]) * half)
    by_rank = np.rint((len(values) - 1) * half).astype(int)
    chosen: Array = values[np.union1d(by_rank, np.minimum(by_size, len(values) - 1))]
    return chosen


def _stop_loss(x: Array, measure: Array, levels: Array) -> Array:
    """max over rows of sum measure (x - level)_+ at each level, rounded up; all terms positive."""
    rows, count = len(x), len(levels)
    cell = np.searchsorted(levels, x)  # levels[cell - 1] < x <= levels[cell]
    place = (np.arange(rows)[:, None] * count + cell).ravel()
    below = levels[np.maximum(cell - 1, 0)]
    size = rows * count
    mass = np.bincount(place, np.broadcast_to(measure, x.shape).ravel(), size).reshape(rows, -1)
    part = np.bincount(place, (measure * (x - below)).ravel(), size).reshape(rows, -1)
    above = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]  # in this cell or beyond it
    # what a step down from a level to the next adds
    step = np.zeros((rows, count))
    step[:, :-1] = part[:, 1:]
    step[:, :-2] += above[:, 2:] * np.diff(levels)[:-1]
    total = np.cumsum(step[:, ::-1], axis=1)[:, ::-1].max(axis=0)
    result: Array = total * (1 + 4 * UNIT * (count + x.shape[1] + 16))
    return result


def _law_above(levels: Array, stop_loss: Array, total: float) -> Array:
    """Masses at the levels, of sum `total`, whose stop-loss transform is at least the given one.

    Both are convex and the first is linear between the levels: it is enough to be above at them.
    """
    above = np.zeros(len(levels))  # mass beyond each level
    reached = 0.0
    for i in range(len(levels) - 2, -1, -1):
        gap = levels[i + 1] - levels[i]
        above[i] = max(above[i + 1], (stop_loss[i] * (1 + _MARGIN) - reached) / gap)
        if above[i] >= total * _NEARLY_ALL:  # then all of it, so that no rounding can be missed
            above[: i + 1] = total
            break
        reached += above[i] * gap
    return np.diff(-above, prepend=-total)
