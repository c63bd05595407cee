"""Certified point masses and tails of a lattice law from its characteristic function, flat in size.

The law is tilted until the place in question is about its mean. The characteristic function is then
added up at equidistant angles around 0, about 30 of them however wide the law is. What the other
angles, the distance of the angles and rounding contribute is bounded and charged.

Theory: docs/theory/integer-noise.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._support.numeric import UNIT, Array
from ..laws.integer_noise import IntegerNoise

# proof constants: docs/theory/constants.md
#: Rounding errors of a term: of its exponent and phase, in units of their size, and absolute.
_SIZE, _TERM = 32 * UNIT, 64 * UNIT
#: Errors of the tilt times the place, relative.
_PRODUCT = 4 * UNIT
#: Exponents are capped here, near the end of the range of a double.
_STEEPEST = 700.0


class Inverted(NamedTuple):
    """Positive numbers e^log_value, each with a bound on its relative error; shape [places]."""

    log_value: Array
    error: Array

    def times(self, log_factor: Array) -> tuple[Array, Array]:
        """Lower and upper bounds of the numbers times e^log_factor, whose own error is charged too.

        What is below e^-700 is between 0 and that.
        """
        exponent = self.log_value + log_factor
        error = self.error + 8 * UNIT * (1 + np.abs(log_factor) + np.abs(self.log_value))
        value = np.exp(np.clip(exponent, -_STEEPEST, _STEEPEST))
        lower = np.where(exponent > -_STEEPEST, value * np.maximum(1 - error, 0.0), 0.0)
        return lower, value * (1 + error)


def masses(law: IntegerNoise, x: Array) -> Inverted:
    """Pr[X = x] at places of the lattice, at most the largest one in modulus."""
    return _inverted(law, np.abs(x), tail=False)


def tails(law: IntegerNoise, x: Array) -> Inverted:
    """Pr[X >= x] at places 0 < x <= law.top of the lattice."""
    return _inverted(law, x, tail=True)


def _inverted(law: IntegerNoise, x: Array, tail: bool) -> Inverted:
    shape, x = np.shape(x), np.ravel(np.asarray(x, dtype=float))
    rows = 256  # their angles stay in the cache
    blocks = [_block(law, x[i : i + rows], tail) for i in range(0, len(x), rows)]
    columns = [np.concatenate(column).reshape(shape) for column in zip(*blocks, strict=True)]
    return Inverted(*columns)


def _block(law: IntegerNoise, x: Array, tail: bool) -> tuple[Array, Array]:
    """Return logarithms of masses, or of tails, at a few places and their relative errors.

    Parameters
    ----------
    law : IntegerNoise
    x : Array
        Places of the lattice, shape [places].
    tail : bool
        Whether Pr[X >= x] is asked for instead of Pr[X = x].

    Notes
    -----
    docs/theory/integer-noise.md. The errors are those of the angles that are left out, of the
    distance of the angles (`_aliases`) and of rounding; infinite where they exceed half the value.
    """
    tilt = law.saddle(x)
    if tail:  # the geometric weights of a tail must fall within one period
        tilt = np.maximum(tilt, 2 / np.maximum(law.deviation(np.zeros(1)), 1.0))
    deviation = law.deviation(tilt)
    # a period of 20 deviations, and more where few values have all the mass
    half = np.ceil(10 * deviation) + 40
    period = 2 * half + 1
    count = np.minimum(half, np.ceil(11 * period / (2 * math.pi * np.maximum(deviation, 0.1))))
    j = np.arange(float(count.max()) + 1)
    angle = j * (2 * math.pi / period)[:, None]
    used, angle = j <= half[:, None], np.minimum(angle, math.pi)
    lam, place = tilt[:, None], x[:, None]
    fall, phase, size = law.turned(lam, angle, place)
    weight = np.where(j > 0, 2.0, 1.0) * used / period[:, None]
    modulus = np.exp(np.minimum(fall, 0.0))
    real, error_unit = modulus * np.cos(phase), modulus * (_TERM + _SIZE * size) + _TERM
    largest = np.ones(len(x))
    if tail:  # divided by 1 - e^(-tilt - i angle)
        small = np.exp(-lam)
        across = -np.expm1(-lam) + 2 * small * np.sin(angle / 2) ** 2
        up = small * np.sin(angle)
        squared = across**2 + up**2
        real = (real * across + modulus * np.sin(phase) * up) / squared
        error_unit = error_unit / np.sqrt(squared)
        largest = 1 / -np.expm1(-tilt)
    value = np.einsum("ij,ij->i", weight, real)
    error = np.einsum("ij,ij->i", weight, error_unit) * (1 + UNIT * len(j))
    next_angle = np.minimum((j[-1] + 1) * 2 * math.pi / period, math.pi)[:, None]
    cut = np.exp(np.minimum(law.log_modulus_bound(lam, next_angle)[:, 0], 0.0))
    error += np.where(j[-1] < half, cut * largest, 0.0)
    error += _aliases(law, x, tilt, period, tail)
    cumulant = law.cumulant(tilt)
    known = value > 2 * error
    relative = np.where(known, error / np.where(known, value, 1.0), np.inf)
    relative += law.cumulant_error(tilt) * cumulant + _PRODUCT * tilt * x + _TERM
    return np.log(np.where(known, value, 1.0)) + cumulant - tilt * x, 1.01 * relative


def _aliases(law: IntegerNoise, x: Array, tilt: Array, period: Array, tail: bool) -> Array:
    """The masses that equidistant angles add to a place: those a multiple of the period away.

    Chernoff's bound of the tilted law beyond y, with the untilted law's own tilt for y.
    """
    here, bound = law.cumulant(tilt) - tilt * x, np.zeros(len(x))
    for side in (1.0,) if tail else (1.0, -1.0):
        y = x + side * period
        far = np.abs(y)
        to = law.saddle(np.minimum(far, law.top))
        to = np.maximum(to, tilt) if side > 0 else np.where(y > 0, np.minimum(to, tilt), to)
        exponent = law.cumulant(to) - to * far - here + side * tilt * period
        chernoff = np.exp(np.minimum(exponent, _STEEPEST))
        bound += np.where(far > law.top, 0.0, chernoff)
    if tail:  # outcomes below, by Chernoff's bound with a tilt under which the sum converges
        to = law.saddle(np.maximum(x - period, law.offset))
        to = np.where((tilt - to) * period > 1, to, 0.0)
        exponent = law.cumulant(to) - to * x - here - (tilt - to) * period
        bound /= -np.expm1(-tilt * period)
        bound += np.exp(np.minimum(exponent, _STEEPEST)) / -np.expm1(-(tilt - to) * period)
    return bound
