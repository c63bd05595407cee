"""Certified point masses and tails, at a cost that does not grow with the law.

Every function states a bound on its relative error, and none relies on a special-function
library.

*Binomial, Poisson and negative binomial laws.* Point masses use Loader's form of Stirling's
formula. A tail is a point mass times a sum of decreasing positive ratios, which is evaluated as an
incomplete beta or gamma integral by Gauss-Legendre quadrature with a proven error.

*Integer noise.* The law is tilted until the place in question is about its mean. The characteristic
function is then added up at equidistant angles around 0, about 30 of them however wide the law is.
What the other angles, the distance of the angles and rounding contribute is bounded and charged.

Assumptions: IEEE arithmetic, and numpy's exp, log and log1p within 4 units in the last place.

Theory: docs/theory/tails.md, docs/theory/integer-noise.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, log_share
from .._support.transforms import gauss_legendre
from ..laws.integer_noise import IntegerNoise

# proof constants: docs/theory/constants.md
#: Nodes of every Gauss-Legendre rule in this module.
_NODES = 24
#: Beta integrals: on a panel of length L, log W has slope g and bend k at its left end with
#: g L <= _FALL and k L^2 <= _BEND. L is at most _TO_END of the distance to the end of the interval
#: (the whole distance if a = 0) and _TO_POLE times the distance to the pole of (1 + rho x)^b. Then
#: W varies by at most e^14.5 on the Bernstein ellipse around the panel.
_FALL, _BEND, _TO_END, _TO_POLE = 6.0, 1.0, 0.7, 1.5
#: Relative quadrature error on such a panel, nearly all of it the rounding of the weights; what is
#: missing beyond the last panel, before it is charged.
_QUADRATURE, _MISSING = 1e-12, 5e-13
#: Rounding error of an exponent, relative to the size of its parts.
_EXPONENT = 32 * UNIT
#: Exponents are capped here, near the end of the range of a double.
_STEEPEST = 700.0
#: Inverted characteristic functions: rounding errors of a term, of its exponent and phase in units
#: of their size and absolute; and of the tilt times the place, relative.
_SIZE, _TERM, _PRODUCT = 32 * UNIT, 64 * UNIT, 4 * UNIT


def stirling_error(x: Array) -> Array:
    """Return log(x!) minus Stirling's formula for real x >= 1; the error is below 3e-14."""
    large = np.maximum(x, 16.0)
    inv2 = 1.0 / (large * large)
    series: Array = (1 / 12 - inv2 * (1 / 360 - inv2 * (1 / 1260 - inv2 / 1680))) / large
    if np.all(x >= 16.0):
        return series
    # the recurrence from x + 16
    small = np.minimum(x, 16.0)
    shifted = stirling_error(small + 16.0)
    for i in range(15, -1, -1):
        shifted = shifted + (small + (i + 0.5)) * np.log1p(1 / (small + i)) - 1
    return np.where(x < 16.0, shifted, series)


def deviance(x: Array, mean: Array) -> Array:
    """Return x log(x/mean) - x + mean >= 0, the exponent of a Poisson point mass."""
    e = (x - mean) / mean
    return mean * ((1.0 + e) * np.log1p(e) - e)


def log_pmf(trials: Array, successes: Array, p: float, q: float) -> Array:
    """Return log Pr[Bin(trials, p) = successes] in Loader's form.

    Parameters
    ----------
    trials, successes : Array
        0 <= successes <= trials, mostly whole numbers; broadcast against each other.
    p, q : float
        The success probability and 1 - p, each to full precision.

    Returns
    -------
    Array
        The logarithms; `mass_error` bounds the error of their exponentials.
    """
    m, j = np.broadcast_arrays(trials, successes)
    interior = (j > 0) & (j < m)
    a = np.where(interior, j, 1.0)
    n = np.where(interior, m, 2.0)
    b = n - a
    inside = (
        stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * p)
        - deviance(b, n * q)
        + 0.5 * np.log(n / (2 * math.pi * a * b))
    )
    # for m = 0 the outcome is certain
    ends = np.where(j == 0, m * log_share(q, p), m * log_share(p, q))
    return np.where(interior, inside, ends)


def log_poisson(mean: float, count: Array) -> Array:
    """Return log Pr[Poisson(mean) = count]."""
    inside = np.maximum(count, 1.0)
    log_mass = -stirling_error(inside) - deviance(inside, np.asarray(mean))
    log_mass -= 0.5 * np.log(2 * math.pi * inside)
    return np.where(count > 0, log_mass, -mean)


def log_negative_binomial(shape: float, theta: float, rest: float, count: Array) -> Array:
    """Return the log point mass of a negative binomial law.

    Parameters
    ----------
    shape : float
        A real number >= 1.
    theta, rest : float
        The probability of a success and 1 - theta, each to full precision.
    count : Array
        Whole numbers >= 0.

    Returns
    -------
    Array
        log of C(count + shape - 1, count) theta^count rest^shape. With n = count + shape this is
        shape/n times the mass of `count` successes in n trials.
    """
    n = count + shape
    log_mass: Array = log_pmf(n, count, theta, rest) + np.log(shape / n)
    return log_mass


def mass_error(deviation: float) -> float:
    """Return a bound on the relative error of binomial point masses above 1e-300.

    Parameters
    ----------
    deviation : float
        The largest standard deviation of the binomial law.

    Notes
    -----
    The rounding errors in the exponent add up to less than 32 units times |j - mp|. Where the value
    is above 1e-300, |j - mp| is at most 461 + 38 standard deviations (Bernstein).
    """
    return 4e-12 + 32 * 38 * deviation * UNIT


class Shape(NamedTuple):
    """The integrands W(x) = (1 - x)^a (1 + rho x)^b of a batch of beta integrals.

    Attributes
    ----------
    a, b : Array
        Exponents of each row, a >= 0 and b >= -1.
    rho : float
        If 0, the second factor is e^(b x).
    ends : bool
        Whether the interval is [0, 1]. If not, it is [0, inf) and the first factor is e^(-a x),
        with a > 0.
    """

    a: Array
    b: Array
    rho: float
    ends: bool

    def rows(self, chosen: NDArray[np.intp]) -> Shape:
        return Shape(self.a[chosen], self.b[chosen], self.rho, self.ends)

    def parts(self, x: Array) -> tuple[Array, Array]:
        """Return the logarithms of the two factors, which nearly cancel."""
        fall = self.a * (np.log1p(-np.minimum(x, 1 - UNIT)) if self.ends else -x)
        return fall, self.b * (np.log1p(self.rho * x) if self.rho else x)

    def slope(self, x: Array) -> Array:
        """Return the derivative of log W."""
        left = np.maximum(1 - x, UNIT) if self.ends else 1.0
        grows = self.b * (self.rho / (1 + self.rho * x) if self.rho else 1.0)
        slope: Array = grows - self.a / left
        return slope

    def bend(self, x: Array) -> Array:
        """Return an upper bound on the modulus of the second derivative of log W."""
        bend: Array = np.abs(self.b) * (self.rho / (1 + self.rho * x)) ** 2
        return bend + self.a / np.maximum(1 - x, UNIT) ** 2 if self.ends else bend

    def panel(self, x: Array) -> Array:
        """Return how long a quadrature panel that starts at x may be."""
        slope, bend = np.abs(self.slope(x)), self.bend(x)
        length = np.minimum(_FALL / (slope + 1e-300), np.sqrt(_BEND / (bend + 1e-300)))
        if self.ends:
            length = np.minimum(length, (1 - x) * np.where(self.a > 0, _TO_END, 1.0))
        if self.rho:
            length = np.minimum(length, _TO_POLE * (1 + self.rho * x) / self.rho)
        return length

    def rest(self, x: Array) -> Array:
        """Return r such that I0 beyond x is at most W(x) r, and I1 beyond x W(x) r (x + r)."""
        slope = self.slope(x)
        least = np.where(slope < 0, 1 / np.maximum(-slope, 1e-300), np.inf)
        if self.ends:
            # log W is concave if b >= 0; otherwise (1 + rho x)^b decreases
            to_end = (1 - x) * np.exp(np.minimum(np.maximum(slope, 0.0) * (1 - x), _STEEPEST))
            falls = (1 - x) / (self.a + 1)
        else:
            to_end, falls = np.full(len(x), np.inf), 1 / self.a
        return np.where(self.b >= 0, np.minimum(least, to_end), falls)


class Integrals(NamedTuple):
    """I0, I1 and a bound on the relative error of both, one entry per row."""

    zeroth: Array
    first: Array
    error: Array


def integrals(shape: Shape) -> Integrals:
    """Return certified I0 = int W(x) dx and I1 = int W(x) x dx over the interval of `shape`.

    Parameters
    ----------
    shape : Shape
        The integrands. log W must not rise by more than a few units at 0.

    Returns
    -------
    Integrals
        The integrals of each row and a bound on their relative error.

    Notes
    -----
    docs/theory/tails.md. Tails of Poisson, binomial and negative binomial laws and their
    stop-losses are such integrals times a point mass. The interval is cut into panels on which W
    hardly bends; the remainder beyond the last panel is charged.
    """
    size = len(shape.a)
    sums, error = np.zeros((2, size)), np.full(size, np.inf)
    position, rounding = np.zeros(size), np.zeros(size)
    active = np.arange(size)
    nodes, weights = gauss_legendre(_NODES)
    for _ in range(200):  # about 8 panels are needed, up to 60 where 1 + rho x is small at first
        if not len(active):
            break
        part, start = shape.rows(active), position[active]
        length = part.panel(start)
        x = start[:, None] + length[:, None] * nodes
        column = Shape(part.a[:, None], part.b[:, None], part.rho, part.ends)
        fall, growth = column.parts(x)
        weight = np.exp(fall + growth) * (weights * length[:, None])
        sums[0, active] += np.einsum("ij->i", weight)
        sums[1, active] += np.einsum("ij,ij->i", weight, x)
        largest = np.abs(fall[:, -1]) + np.abs(growth[:, -1])
        rounding[active] = np.maximum(rounding[active], largest * (weight[:, 0] > 0))
        end = start + length
        left = part.rest(end)
        value = np.exp(np.add(*part.parts(end))) * left
        missing = np.maximum(value / sums[0, active], value * (end + left) / sums[1, active])
        error[active] = missing
        position[active] = end
        active = active[~(missing <= _MISSING)]
    return Integrals(sums[0], sums[1], 1.1 * error + _QUADRATURE + _EXPONENT * (1 + rounding))


def tail_sums(trials: Array, start: Array, odds: float) -> Integrals:
    """Return the zeroth and first moment of a binomial tail, relative to its first point mass.

    Parameters
    ----------
    trials, start : Array
        Whole numbers with 1 <= start, start above the mean; broadcast against each other.
    odds : float
        p/(1 - p) of Bin(trials, p).

    Returns
    -------
    Integrals
        sum of r_i and sum of i r_i over i >= 0, with r_i = pmf(start + i) / pmf(start), and the
        relative error of both. Times pmf(start), the first is Pr[X >= start], and d * first +
        second is E[(X - (start - d))_+].

    Notes
    -----
    docs/theory/tails.md. All terms are positive, so nothing cancels.
    """
    m, j = np.broadcast_arrays(trials, start)
    if j.size == 0:
        return Integrals(*np.zeros((3, *j.shape)))
    odds = max(odds, 1e-290)  # less odds do not change the sums
    block = 512  # rows: the 20 numbers for each of them stay in the cache
    # of few trials there are few different tails, each of which is integrated once
    pairs, which = np.unique((m + 1j * j).ravel(), return_inverse=True)
    a, b = pairs.imag - 1, pairs.real - pairs.imag - 1
    parts = [
        integrals(Shape(a[i : i + block], b[i : i + block], odds, True))
        for i in range(0, len(pairs), block)
    ]
    zeroth, first, error = (
        np.concatenate(part)[which].reshape(j.shape) for part in zip(*parts, strict=True)
    )
    return Integrals(j * (zeroth + odds * first), j * odds * (m - j) * first, error + 8 * UNIT)


class Inverted(NamedTuple):
    """Positive numbers e^log_value, each with a bound on its relative error; shape [places]."""

    log_value: Array
    error: Array

    def times(self, log_factor: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of the numbers times e^log_factor.

        The error of log_factor is charged too. What is below e^-700 is between 0 and that.
        """
        exponent = self.log_value + log_factor
        error = self.error + 8 * UNIT * (1 + np.abs(log_factor) + np.abs(self.log_value))
        value = np.exp(np.clip(exponent, -_STEEPEST, _STEEPEST))
        lower = np.where(exponent > -_STEEPEST, value * np.maximum(1 - error, 0.0), 0.0)
        return lower, value * (1 + error)


def noise_masses(law: IntegerNoise, x: Array) -> Inverted:
    """Return Pr[X = x] at places of the lattice, at most the largest one in modulus."""
    return _inverted(law, np.abs(x), tail=False)


def noise_tails(law: IntegerNoise, x: Array) -> Inverted:
    """Return Pr[X >= x] at places 0 < x <= law.top of the lattice."""
    return _inverted(law, x, tail=True)


def _inverted(law: IntegerNoise, x: Array, tail: bool) -> Inverted:
    """Return masses, or tails, at places of any shape, some of them at a time."""
    shape, x = np.shape(x), np.ravel(np.asarray(x, dtype=float))
    rows = 256  # their angles stay in the cache
    blocks = [_inverted_block(law, x[i : i + rows], tail) for i in range(0, len(x), rows)]
    columns = [np.concatenate(column).reshape(shape) for column in zip(*blocks, strict=True)]
    return Inverted(*columns)


def _inverted_block(law: IntegerNoise, x: Array, tail: bool) -> tuple[Array, Array]:
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
    distance of the angles (`_aliased_masses`) and of rounding; infinite where they exceed half the
    value.
    """
    tilt = law.saddle(x)
    if tail:  # the geometric weights of a tail must fall within one period
        tilt = np.maximum(tilt, 2 / np.sqrt(np.maximum(law.moments(np.zeros(1))[1], 1.0)))
    deviation = np.sqrt(law.moments(tilt)[1])
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
    error += _aliased_masses(law, x, tilt, period, tail)
    cumulant = law.cumulant(tilt)
    known = value > 2 * error
    relative = np.where(known, error / np.where(known, value, 1.0), np.inf)
    relative += law.cumulant_error(tilt) * cumulant + _PRODUCT * tilt * x + _TERM
    return np.log(np.where(known, value, 1.0)) + cumulant - tilt * x, 1.01 * relative


def _aliased_masses(law: IntegerNoise, x: Array, tilt: Array, period: Array, tail: bool) -> Array:
    """Return a bound on the masses that equidistant angles add to a place.

    These are the masses a multiple of the period away. Chernoff's bound of the tilted law beyond y
    is taken, with the untilted law's own tilt for y.
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
