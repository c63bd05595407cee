"""Which tilt fits a sum of privacy losses: any is sound, and the right one leaves digits.

Theory: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .pld import PLD

#: PLDs on one lattice and how often each is used.
Parts = Sequence[tuple[PLD, int]]
#: log E[e^(tilt S)] of a sum and its first two derivatives in the tilt.
Cumulants = tuple[float, float, float]


def log_mgf(parts: Parts, tilt: float) -> Cumulants:
    """Cumulant generating function of the summed finite loss and its first two derivatives."""
    each = [(count, pld.log_mgf(tilt)) for pld, count in parts]
    total, mean, variance = (sum(count * k[i] for count, k in each) for i in range(3))
    return total, mean, variance


def tilt_for_epsilon(parts: Parts, epsilon: float) -> float:
    """The tilt that centres the sum at epsilon; 0 if it is centred above epsilon already."""
    return _solve_tilt(parts, lambda tilt, cumulants: cumulants[1] >= epsilon)


def tilt_for_delta(parts: Parts, delta: float) -> tuple[float, float]:
    """(tilt, epsilon) at which the saddle-point estimate of delta(epsilon) equals `delta`."""

    def reached(tilt: float, cumulants: Cumulants) -> bool:
        total, mean, variance = cumulants
        spread = math.log1p(tilt * math.sqrt(2 * math.pi * variance)) + math.log1p(tilt)
        return total - tilt * mean - spread <= math.log(delta)

    tilt = _solve_tilt(parts, reached)
    return tilt, max(0.0, log_mgf(parts, tilt)[1])


def _solve_tilt(parts: Parts, reached: Callable[[float, Cumulants], bool]) -> float:
    """Smallest tilt >= 0, to a few percent, that has `reached`, which is monotone in the tilt.

    Not beyond tilt * mean = 10^6, where e^(tilt * loss) loses its digits: the sum is then at its
    top outcome and needs no larger tilt.
    """
    if reached(0.0, log_mgf(parts, 0.0)):
        return 0.0
    largest = sum(count * float(np.abs(pld.losses).max()) for pld, count in parts)
    if largest == 0:
        return 0.0
    low, high = -25.0, min(50.0, math.log(1e15 / largest))  # exponents of e
    for _ in range(12):  # the tilt need not be exact
        middle = math.exp((low + high) / 2)
        cumulants = log_mgf(parts, middle)
        if middle * cumulants[1] >= 1e6 or reached(middle, cumulants):
            high = math.log(middle)
        else:
            low = math.log(middle)
    return math.exp(high)
