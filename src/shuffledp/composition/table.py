"""A profile between epsilons at which it is known: chords above it, lines below it.

Theory: docs/theory/profiles.md.
"""

from __future__ import annotations

import numpy as np

from .._support.numeric import UNIT, Array
from ..profiles.samples import Samples, chord_slopes

# proof constants: docs/theory/constants.md
_ULP = 2 * UNIT


class Table:
    """For a profile that is dear to evaluate, known at epsilons that grow from 0 on."""

    def __init__(self, epsilon: Array, lower: Array, upper: Array) -> None:
        # what is known at a larger epsilon holds at a smaller one, and the other way round
        self._lower = np.maximum.accumulate(lower[::-1])[::-1]
        self._upper = np.minimum.accumulate(upper)
        self._excess = np.expm1(epsilon)
        # minus the slope is a probability
        self._steep, self._flat = chord_slopes(self._lower, self._upper, self._excess, 1.0)

    def __call__(self, epsilon: Array) -> Samples:
        excess = np.expm1(np.minimum(epsilon, 700.0))
        last = len(self._excess) - 1
        left = np.clip(np.searchsorted(self._excess, excess, side="right") - 1, 0, last)
        right = np.minimum(left + 1, last)
        width = np.where(right > left, self._excess[right] - self._excess[left], np.inf)
        share = np.clip((excess - self._excess[left]) / width, 0.0, 1.0)
        upper = self._upper[left] + share * (self._upper[right] - self._upper[left])
        before = excess - self._excess[left]
        after = np.maximum(self._excess[right] - excess, 0.0)
        lines = (
            self._lower[left] - self._steep[left] * before * (1 + 8 * _ULP),
            self._lower[right] + np.maximum(self._flat[right], 0.0) * after * (1 - 8 * _ULP),
        )
        # a line from the right says nothing beyond the last epsilon
        lower = np.where(left == right, lines[0], np.maximum(*lines))
        most = np.where(left == right, self._upper[-1], upper + 8 * _ULP * self._upper[left])
        # in a cell it is no flatter than at the right end, and no steeper than at the left one
        flat = np.where(left == right, 0.0, np.maximum(self._flat[right], 0.0)) * (1 - 8 * _ULP)
        return Samples(
            np.maximum(lower - 8 * _ULP * self._lower[left], 0.0),
            np.minimum(most, 1.0),
            flat,
            np.maximum(self._steep[left], flat) * (1 + 8 * _ULP),
        )
