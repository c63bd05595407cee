"""A profile at some epsilons, from both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array


@dataclass(frozen=True)
class Samples:
    """A profile f(alpha) = delta(log alpha) at some epsilons, certified.

    lower <= f <= upper. Through each (alpha, lower) goes a line that is nowhere above f; minus its
    slope lies in [slope_low, slope_high], which is [0, inf] if nothing is known of it.
    """

    lower: Array
    upper: Array
    slope_low: Array
    slope_high: Array

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


def joined(parts: Sequence[Samples]) -> Samples:
    """At the epsilons of all parts, one after the other."""
    columns = zip(*(part.columns for part in parts), strict=True)
    return Samples(*(np.concatenate(column) for column in columns))


def larger_of(a: Samples, b: Samples) -> Samples:
    """Of the larger of two profiles."""
    first, lower = a.lower >= b.lower, np.maximum(a.lower, b.lower)
    low, high = (
        np.where(first, getattr(a, side), getattr(b, side)) for side in ("slope_low", "slope_high")
    )
    return Samples(lower, np.maximum(a.upper, b.upper), low, high)
