"""E[(S_n)_+] for heavy-tailed scores, which no single scale fits: direct convolution on cells.

The law of a sum is kept on a few hundred points, close together where its mass or its positive
part is. Convolving adds up all pairs; then cells of values are merged to their means (a
contraction: lower values) or split to their ends (a spread: upper values). All terms are positive,
so rounding costs a few relative units a convolution however small the result is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNDERFLOW, UNIT, Array, Side
from . import tuning
from .problem import ScoreSums


class Atoms(NamedTuple):
    """A law of finitely many values; masses have a relative error of at most `error`."""

    values: Array
    masses: Array
    error: float


def convolved_stop_loss(sums: ScoreSums) -> tuple[Array, Array]:
    """(lower, upper) of E[(S_n)_+] for each row."""
    return _bound(sums, Side.LOWER), _bound(sums, Side.UPPER)


def _bound(sums: ScoreSums, side: Side) -> Array:
    """A bound of E[(S_n)_+] for each row: an upper bound if side is UPPER, else a lower one.

    As many points are kept as there are scores. Each user carries a share of the threshold.
    """
    error, shares = sums.error, sums.threshold / sums.users
    bounds = np.empty(len(shares))
    rows = zip(sums.scores, sums.probabilities, sums.magnitudes, shares, strict=True)
    for row, (z, q, size, share) in enumerate(rows):
        values = np.append(z - share + side * 20 * UNIT * (size + share), 0.0)
        values[-1] = -share * (1 - side * 24 * UNIT)
        rest = max(1 - q.sum() + side * (error + UNIT * (len(q) + 24)), 0.0)
        one = Atoms(values, np.append(q, rest), error + 16 * UNIT)
        total = _power(one, sums.users, len(values), side)
        positive = float(np.maximum(total.values, 0.0) @ total.masses)
        charge = total.error + UNIT * (len(total.values) + 8)
        # masses below the range of a double are lost, or rounded up
        underflow = UNDERFLOW + 1e-305 * sums.users * float(np.maximum(values, 0.0).max())
        bounds[row] = positive * max(1 + side * charge, 0.0) + side * underflow
    return bounds


def _power(one: Atoms, users: int, points: int, side: Side) -> Atoms:
    """The law of the sum of `users` independent values, on its safe side."""
    total = one
    for bit in f"{users:b}"[1:]:  # from the first binary digit on: double, and add one if it is set
        total = _sum(total, total, points, side)
        if bit == "1":
            total = _sum(total, one, points, side)
    return total


def _sum(a: Atoms, b: Atoms, points: int, side: Side) -> Atoms:
    """The law of the sum of two independent values, split if side is UPPER, else merged."""
    # moved by more than the rounding of the sum
    first, second = (x.values + side * 4 * UNIT * np.abs(x.values) for x in (a, b))
    values = np.add.outer(first, second).ravel()
    masses = np.multiply.outer(a.masses, b.masses).ravel()
    error = UNIT * (len(values) + 64)
    bins, edges, zero, misplaced = _bins(values, masses)
    mass: Array = np.bincount(bins, masses, len(edges) - 1).astype(float)
    moment: Array = np.bincount(bins, masses * values, len(edges) - 1).astype(float)
    starts = np.union1d(_cells(edges, mass, moment, points), [0, zero])
    mass = np.add.reduceat(mass, starts)
    moment = np.add.reduceat(moment, starts)
    total_error = (1 + a.error) * (1 + b.error) - 1 + error
    some = mass > 0
    ends = np.append(edges[starts], edges[-1])
    mean = moment / np.where(some, mass, 1.0)
    # 0 is an edge, so all values of a cell have one sign and their sum its relative error
    mean += side * 4 * (error + misplaced) * np.maximum(np.abs(mean), -ends[:-1])
    if side is Side.LOWER:
        return Atoms(mean[some], mass[some], total_error)
    # values within rounding of an edge may be in the cell next to it: raise the edges over them
    ends = ends + (error + misplaced) * np.abs(ends)
    gap = ends[1:] - ends[:-1]
    with np.errstate(over="ignore"):
        up = np.clip((mean - ends[:-1]) / np.where(gap > 0, gap, 1.0), 0.0, 1.0)
    split = np.append(mass * (1 - up), 0.0)
    split[1:] += mass * up
    return Atoms(ends[split > 0], split[split > 0], total_error)


def _bins(values: Array, masses: Array) -> tuple[NDArray[np.intp], Array, int, float]:
    """Many narrow bins, relatively narrow far from 0: the bin of each value, the edges of the bins,
    the bin that starts at 0, and by how much, relatively, a value may be outside of its bin."""
    scale = max(float(masses @ np.abs(values)) / 16, 1e-300)
    with np.errstate(over="ignore"):  # what is farther out than 1e300 is in the first or last bin
        place = np.arcsinh(np.clip(values / scale, -1e300, 1e300))
    low, high = min(place.min(), 0.0), max(place.max(), 0.0)
    width = max(high - low, 1e-9) / tuning.BINS
    bins = np.floor(place / width).astype(np.intp)
    first, last = min(int(bins.min()), 0), max(int(bins.max()), 0)
    edges: Array = scale * np.sinh(width * np.arange(first, last + 2))
    # the ends are values that occur: a sum never grows beyond its users times the largest score,
    # however wide the bins are
    edges[0] = min(values.min(), edges[1])
    edges[-1] = max(values.max(), edges[-2])
    return bins - first, edges, -first, 32 * UNIT * (1 + max(high, -low))


def _cells(edges: Array, mass: Array, moment: Array, points: int) -> NDArray[np.intp]:
    """Which bins start a cell: as many cells as points, where mass, gain and range are."""
    width = np.diff(edges)
    density = np.full(len(mass), 1 / len(mass))
    for weight in (mass, np.maximum(moment, 0.0) * (edges[1:] > 0)):
        share = np.cbrt(weight * width**2)  # a cell costs its mass times its width squared
        density += share / max(share.sum(), 1e-300)
    place = np.cumsum(density) / density.sum() * points
    return np.flatnonzero(np.diff(np.floor(place), prepend=-1.0) > 0)
