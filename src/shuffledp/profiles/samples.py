"""A profile at some epsilons, from both sides."""

from __future__ import annotations

from dataclasses import dataclass

from .._support.numeric import Array


@dataclass(frozen=True)
class Samples:
    """A profile f(alpha) = delta(log alpha) at some epsilons, certified.

    lower <= f <= upper. If slopes are given, then `lower` belongs to a profile itself, of which
    minus the slope in alpha, the mass of Q with a larger loss, lies in [slope_low, slope_high].
    `slope_low` alone is a bound of minus the slope of f from the left, 0 where nothing is known.
    """

    lower: Array
    upper: Array
    slope_low: Array | None = None
    slope_high: Array | None = None
