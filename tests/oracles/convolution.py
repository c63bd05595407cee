"""Many rounds by exact convolution of whole numbers (FLINT).

The losses have to be whole multiples of one step, as those of binary randomized response are. The
masses over a common denominator are the coefficients of a polynomial with the loss as exponent,
and k rounds are its k-th power: nothing is rounded, truncated or folded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from flint import fmpz_poly

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
    unit = math.lcm(*(mass.denominator for mass in law.values()))
    least = min(law)
    coefficients = [0] * (max(law) - least + 1)
    for loss, mass in law.items():
        coefficients[loss - least] = int(mass * unit)
    power = fmpz_poly(coefficients) ** rounds
    total = Fraction(0)
    for index, count in enumerate(power.coeffs()):
        gain = 1 - alpha / ratio ** (index + rounds * least)
        if count and gain > 0:
            total += int(count) * gain
    finite: Fraction = total / unit**rounds
    return finite + 1 - (1 - infinite) ** rounds
