"""The sum of a few privacy losses, term by term.

All terms are positive, so there is no rounding to be drowned in, whatever delta is, and no tilt to
be chosen. The result is a polygon: evaluated at once, at any epsilon.

Theory: docs/theory/composition.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNDERFLOW, UNIT, Array, Side
from ..profiles.closed_form import Polygon
from . import tuning
from .tilted_sum import INFINITE_ERROR, LOSS_ERROR, CountedPLDs, infinite_mass

# proof constants: docs/theory/constants.md
#: Larger sums of losses are infinite from above and this large from below.
_LARGEST_SUM = 600.0


def has_few_terms(parts: CountedPLDs, least: float = 0.0) -> bool:
    """Can the losses of so many rounds be added up term by term, if masses up to `least` are left
    out?"""
    if sum(count for _, count in parts) <= 2:
        return True
    logs = (count * math.log(max(int((pld.masses > least).sum()), 1)) for pld, count in parts)
    return math.fsum(logs) <= math.log(tuning.MAX_POINTS)


class ShortSum:
    """delta for epsilon >= 0, on one side of the truth, and minus its slope in e^epsilon, which is
    between two values."""

    def __init__(self, parts: CountedPLDs, side: Side) -> None:
        plds = [pld for pld, count in parts for _ in range(count)]
        index, masses = plds[0].index, plds[0].masses
        terms = 1
        for number, other in enumerate(plds[1:], start=2):
            terms += min(len(index), len(other.index)) + 1
            index = np.add.outer(index, other.index).ravel()
            masses = np.multiply.outer(masses, other.masses).ravel()
            if number == len(plds):  # negative losses do not matter
                index, masses = index[index > 0], masses[index > 0]
            index, masses = _merged(index, masses)
        self._side = side
        self._infinite = infinite_mass(parts)
        # the largest losses are infinite from above, and smaller from below
        most = math.floor(_LARGEST_SUM / plds[0].step)
        if side is Side.UPPER:
            self._infinite += float(masses[index > most].sum())
            index, masses = index[index <= most], masses[index <= most]
        index = np.minimum(index, most)
        self._polygon = Polygon.of_losses(plds[0].step * index.astype(float), masses, 0.0)
        self._error = 2 * self._polygon.error + 4 * UNIT * (terms + 8)
        reach = sum(float(np.abs(pld.losses).max(initial=0.0)) for pld in plds)
        self._loss_error = LOSS_ERROR * reach + sum(pld.loss_error for pld in plds)

    def __call__(self, epsilon: Array) -> tuple[Array, Array, Array]:
        side = self._side
        shift = LOSS_ERROR * epsilon + self._loss_error
        value, left, right = self._polygon(np.maximum(epsilon - side * shift, 0.0))
        infinite = self._infinite * (1 + side * INFINITE_ERROR)
        value = value * (1 + side * self._error) + infinite
        if side is Side.UPPER:
            # a negative epsilon was moved to 0, where delta is larger by no more than that
            value = value + np.where(epsilon < shift, shift, 0.0) + UNDERFLOW
            value = np.minimum(value, 1.0)
        else:
            value = np.where(value > UNDERFLOW, value, 0.0)
        return value, left * (1 - self._error), right * (1 + self._error) + 1e-307


def _merged(index: NDArray[np.int64], masses: Array) -> tuple[NDArray[np.int64], Array]:
    """Each index once, in ascending order, with all its masses."""
    start = int(index.min(initial=0))
    if index.max(initial=0) - start < 8 * len(index):
        dense: Array = np.asarray(np.bincount(index - start, masses), dtype=float)
        places = np.flatnonzero(dense)
        return places + start, dense[places]
    every, place = np.unique(index, return_inverse=True)
    return every, np.asarray(np.bincount(place, masses), dtype=float)
