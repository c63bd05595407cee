"""Many rounds by exact convolution of whole numbers (FLINT).

The losses have to be whole multiples of one step, as those of binary randomized response are. The
masses over a common denominator are the coefficients of a polynomial with the loss as exponent,
and k rounds are its k-th power: nothing is rounded, truncated or folded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

import mpmath
import numpy as np
from flint import fmpz_poly
from numpy.typing import NDArray

Lattice = Mapping[int, Fraction]
"""{loss in steps of log(ratio): P mass}; the Q mass is P mass / ratio ** loss."""


def lattice_delta(
    law: Lattice, ratio: Fraction, rounds: int, alpha: Fraction, infinite: Fraction = Fraction(0)
) -> Fraction:
    """delta at alpha of `rounds` rounds, exactly.

    Finite losses: sum of P(s) (1 - alpha / ratio ** s)_+ over the `rounds`-fold convolution;
    `infinite` is the P mass of infinite loss of one round, so 1 - (1 - infinite) ** rounds in all.
    """
    if sum(law.values()) + infinite != 1:
        raise ValueError("the masses must add up to 1")
    polynomial, unit, least = _polynomial(law)
    power = polynomial**rounds
    total = Fraction(0)
    for index, count in enumerate(power.coeffs()):
        gain = 1 - alpha / ratio ** (index + rounds * least)
        if count and gain > 0:
            total += int(count) * gain
    finite: Fraction = total / unit**rounds
    return finite + 1 - (1 - infinite) ** rounds


def _polynomial(law: Lattice) -> tuple[fmpz_poly, int, int]:
    """(masses times the unit, the unit, the loss of the first coefficient)."""
    unit = math.lcm(*(mass.denominator for mass in law.values()))
    least = min(law)
    coefficients = [0] * (max(law) - least + 1)
    for loss, mass in law.items():
        coefficients[loss - least] = int(mass * unit)
    return fmpz_poly(coefficients), unit, least


class Losses(Protocol):
    """Masses, as floats, of losses index * step and of an infinite loss."""

    @property
    def step(self) -> float: ...
    @property
    def index(self) -> NDArray[np.int64]: ...
    @property
    def masses(self) -> NDArray[np.float64]: ...
    @property
    def infinite(self) -> float: ...


def delta_of_losses(parts: Sequence[tuple[Losses, int]], epsilon: float) -> mpmath.mpf:
    """delta(epsilon) of rounds (losses, how many), all of one step.

    The masses are convolved as they are, bit for bit; the exponentials have the digits of mpmath.
    """
    product, units, least, finite = fmpz_poly([1]), 1, 0, Fraction(1)
    for losses, rounds in parts:
        masses = map(Fraction, losses.masses.tolist())
        law = dict(zip(losses.index.tolist(), masses, strict=True))
        polynomial, unit, first = _polynomial(law)
        product *= polynomial**rounds
        units *= unit**rounds
        least += rounds * first
        finite *= (1 - Fraction(losses.infinite)) ** rounds
    step, lost = mpmath.mpf(parts[0][0].step), 1 - finite
    total = mpmath.mpf(0)
    for at, count in enumerate(map(int, product.coeffs()), least):
        if count and at * step > epsilon:
            total -= mpmath.expm1(mpmath.mpf(epsilon) - at * step) * count
    return total / units + mpmath.mpf(lost.numerator) / lost.denominator
