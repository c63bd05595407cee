"""Exponential and normal noise, rounded down to a grid: exactly, from fair bits alone.

A whole part j with probability proportional to e^-j and a uniform fraction x are accepted with
probability e^-gamma: gamma = x gives the exponential law, gamma = ((j + x)^2 + 1)/2 - j half of the
normal law. Nothing is rounded: floats decide only what they are sure of, and where they are not,
more digits are drawn and compared exactly.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from .._support.rational import exp_bracket
from .entropy import BITS, Source, Whole, Words
from .inversion import Inversion, of_masses

# a proof constant: docs/theory/constants.md
#: e^-gamma as a float is this near to the truth, for all fractions with the same 64 bits.
UNSURE = 2.0**-44


def exponential(source: Source, size: int, digits: int) -> Whole:
    """Rounded down: an exponential variable with mean 1, times 2^digits."""
    return _noise(source, size, digits, normal=False)


def normal(source: Source, size: int, digits: int) -> Whole:
    """Rounded down: the modulus of a standard normal variable, times 2^digits."""
    return _noise(source, size, digits, normal=True)


def with_sign(source: Source, magnitude: Whole) -> Whole:
    """Either sign, of a number that was rounded down: -(m + 1) .. -m is the mirror image."""
    negative = (source.draw(len(magnitude), np.uint8) & 1).astype(bool)
    return np.where(negative, -magnitude - 1, magnitude)


def _noise(source: Source, size: int, digits: int, normal: bool) -> Whole:
    found = np.empty(size, dtype=np.int64)
    open_ = np.arange(size)
    while len(open_):
        whole = WHOLE_PARTS.draw(source, len(open_))
        fraction, test = source.words(len(open_)), source.words(len(open_))
        accepted, unsure = _judged(whole, fraction, test, normal)
        for i in np.flatnonzero(unsure).tolist():
            given = int(whole[i]), int(fraction[i]), int(test[i])
            accepted[i] = accepts(*given, normal, source)
        cells = (whole << digits) + (fraction >> np.uint64(BITS - digits)).astype(np.int64)
        found[open_[accepted]] = cells[accepted]
        open_ = open_[~accepted]
    return found


def _judged(
    whole: Whole, fraction: Words, test: Words, normal: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which are accepted, and of which that is not sure."""
    x, limit = np.ldexp(fraction.astype(float), -BITS), np.ldexp(test.astype(float), -BITS)
    gamma: Array = ((whole + x) ** 2 + 1) / 2 - whole if normal else x
    gap = np.exp(-gamma) - limit
    return gap > 0, np.abs(gap) <= UNSURE


def accepts(
    whole: int, fraction: int, test: int, normal: bool, source: Source, bits: int = BITS
) -> bool:
    """Is test <= e^-gamma, for numbers in [0, 1) of which these are the first digits?"""
    while True:
        size = 1 << bits
        least, most = (
            exp_bracket(-_gamma(whole, Fraction(x, size), normal), bits)
            for x in (fraction + 1, fraction)
        )
        if Fraction(test + 1, size) <= least[0]:
            return True
        if Fraction(test, size) >= most[1]:
            return False
        fraction, test = ((n << BITS) | int(source.words(1)[0]) for n in (fraction, test))
        bits += BITS


def _gamma(whole: int, x: Fraction, normal: bool) -> Fraction:
    return ((whole + x) ** 2 + 1) / 2 - whole if normal else x


#: j with probability proportional to e^-j.
WHOLE_PARTS = Inversion(
    of_masses(
        lambda context: context.subtract(1, context.exp(-1)), lambda context, j: context.exp(-1)
    )
)
