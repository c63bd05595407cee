"""Types of the references, and the hockey-stick divergence.

Two kinds of arithmetic are used: exact fractions (a rational E) and mpmath numbers with many
digits (a float eps0). Floats are converted exactly, bit for bit. The results carry all their
digits, but mpmath rounds every later operation on them, a minus sign included, to the precision
in force: compare results inside `mpmath.workdps(100)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

import mpmath
import numpy as np
from mpmath import mpf
from numpy.typing import NDArray

Real: TypeAlias = "float | mpf"
Floats: TypeAlias = NDArray[np.float64]
Atom: TypeAlias = tuple[mpf, mpf, mpf]
"""One value of the privacy loss: (loss, P mass, Q mass). The loss may be +inf (Q mass 0)."""
FractionPair: TypeAlias = dict[tuple[int, ...], tuple[Fraction, Fraction]]

DIGITS = 60
"""Of references, if no other number is said."""
GUARD_DIGITS = 30
"""Digits computed beyond the digits asked for: far more than rounding can use up here."""

Histogram: TypeAlias = tuple[int, ...]
Matrix: TypeAlias = Sequence[Sequence[Fraction]]

ALPHAS = tuple(Fraction(k, 4) for k in range(4, 21))


def hockey_stick(pair: Mapping[Any, tuple[Any, Any]], alpha: Any) -> Any:
    """Return the sum of (P - alpha Q)_+ over the outcomes of {outcome: (P, Q)}.

    Exact if the masses are fractions and alpha is an int or a Fraction. With mpf masses or an mpf
    alpha the sum is done with DIGITS + GUARD_DIGITS digits.
    """
    if isinstance(alpha, float):
        raise TypeError("alpha must be an int, a Fraction, or an mpf: a float would round")
    if isinstance(alpha, (int, Fraction)) and all(
        isinstance(mass, Fraction) for masses in pair.values() for mass in masses
    ):
        return _in_whole_numbers(pair, Fraction(alpha))
    with mpmath.workdps(DIGITS + GUARD_DIGITS):
        return sum(max(p_mass - alpha * q_mass, 0) for p_mass, q_mass in pair.values())


def _in_whole_numbers(pair: Mapping[Any, tuple[Fraction, Fraction]], alpha: Fraction) -> Fraction:
    """The same over one common denominator, which fractions would look for at every step."""
    unit = lcm(*(mass.denominator for masses in pair.values() for mass in masses))
    total = 0
    for p, q in pair.values():
        gain = alpha.denominator * p.numerator * (unit // p.denominator)
        loss = alpha.numerator * q.numerator * (unit // q.denominator)
        total += max(gain - loss, 0)
    return Fraction(total, alpha.denominator * unit)


def close(left: mpf, right: mpf, tolerance: float = 1e-50) -> bool:
    """Compare two multi-precision numbers with a relative tolerance."""
    return bool(abs(left - right) <= tolerance * max(abs(left), abs(right)))


def as_mpf(value: Fraction) -> mpf:
    """Return a rational number as a multi-precision number."""
    return mpf(value.numerator) / value.denominator


def log_of(value: Fraction) -> mpf:
    """Return the logarithm of a rational number."""
    return mpmath.log(as_mpf(value))


def collect(atoms: Iterable[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """All losses and all masses of a law that comes in pieces (losses, masses)."""
    losses, masses = zip(*atoms, strict=True)
    return np.concatenate(losses), np.concatenate(masses)
