"""Incomplete beta and gamma integrals with a proven relative error, for tails of noise.

    I0 = int W(x) dx,  I1 = int W(x) x dx,  W(x) = (1 - x)^a (1 + rho x)^b  over [0, 1],

where (1 - x)^a may be e^(-a x) over [0, inf) instead and (1 + rho x)^b may be e^(b x). Tails of
Poisson, binomial and negative binomial laws, and their stop-losses, are such integrals times a
point mass: all terms are positive. The interval is cut into panels on which W hardly bends, with 20
Gauss-Legendre nodes each; what lies behind the last one is bounded.
Proofs: docs/theory.md, "Noise messages and thresholds".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from .._support.transforms import gauss_legendre
from . import tuning

# proof constants: docs/theory.md, "Constants"
#: Of the Gauss-Legendre rule on a panel.
_NODES = 20
#: In a panel W changes by at most e^14.5, also on the ellipse around it: with slope g and bend k of
#: log W at its left end, g L <= 6, k L^2 <= 1, and L reaches a third of the way to the end of the
#: interval, to that end if a = 0, and 1.5 times as far as the pole of (1 + rho x)^b is away.
_FALL, _BEND, _TO_END, _TO_POLE = 6.0, 1.0, 1 / 3, 1.5
#: Relative error of the rule on such panels.
_QUADRATURE = 2e-11
#: Of logarithms and of the parameters, in units of the exponents' parts.
_EXPONENT = 32 * UNIT
#: Integrals are within these factors of e.
_STEEPEST = 700.0


class Shape(NamedTuple):
    """The integrands of some rows. `ends`: is it (1 - x)^a, or e^(-a x)? rho = 0: e^(b x)."""

    a: Array
    b: Array
    rho: float
    ends: bool

    def rows(self, chosen: NDArray[np.intp]) -> Shape:
        return Shape(self.a[chosen], self.b[chosen], self.rho, self.ends)

    def parts(self, x: Array) -> tuple[Array, Array]:
        """The logarithms of the two factors, which nearly cancel."""
        fall = self.a * (np.log1p(-np.minimum(x, 1 - UNIT)) if self.ends else -x)
        return fall, self.b * (np.log1p(self.rho * x) if self.rho else x)

    def slope(self, x: Array) -> Array:
        """Of log W."""
        left = np.maximum(1 - x, UNIT) if self.ends else 1.0
        grows = self.b * (self.rho / (1 + self.rho * x) if self.rho else 1.0)
        slope: Array = grows - self.a / left
        return slope

    def bend(self, x: Array) -> Array:
        """At least the second derivative of log W, in modulus."""
        bend: Array = np.abs(self.b) * (self.rho / (1 + self.rho * x)) ** 2
        return bend + self.a / np.maximum(1 - x, UNIT) ** 2 if self.ends else bend

    def panel(self, x: Array) -> Array:
        """How long a panel from x on may be."""
        slope, bend = np.abs(self.slope(x)), self.bend(x)
        length = np.minimum(_FALL / (slope + 1e-300), np.sqrt(_BEND / (bend + 1e-300)))
        if self.ends:
            length = np.minimum(length, (1 - x) * np.where(self.a > 0, _TO_END, 1.0))
        if self.rho:
            length = np.minimum(length, _TO_POLE * (1 + self.rho * x) / self.rho)
        return length

    def rest(self, x: Array) -> Array:
        """A length r such that what is left of I0 is at most W(x) r, and of I1 W(x) r (x + r)."""
        slope = self.slope(x)
        least = np.where(slope < 0, 1 / np.maximum(-slope, 1e-300), np.inf)
        if self.ends:
            # log W is concave if b >= 0, else (1 + rho x)^b falls
            to_end = (1 - x) * np.exp(np.minimum(np.maximum(slope, 0.0) * (1 - x), _STEEPEST))
            falls = (1 - x) / (self.a + 1)
        else:
            to_end, falls = np.full(len(x), np.inf), 1 / self.a
        return np.where(self.b >= 0, np.minimum(least, to_end), falls)


class Integrals(NamedTuple):
    """I0 and I1, and a bound of the relative error of both."""

    zeroth: Array
    first: Array
    error: Array


def integrals(shape: Shape) -> Integrals:
    """I0 and I1 of each row, for a >= 0 (above 0 if the interval does not end) and b >= -1, with
    log W falling or rising by at most a few units at 0."""
    size = len(shape.a)
    sums, error = np.zeros((2, size)), np.full(size, np.inf)
    position, rounding = np.zeros(size), np.zeros(size)
    active = np.arange(size)
    nodes, weights = gauss_legendre(_NODES)
    for _ in range(tuning.MOST_PANELS):
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
        active = active[~(missing <= tuning.MISSING)]
    return Integrals(sums[0], sums[1], 1.1 * error + _QUADRATURE + _EXPONENT * (1 + rounding))
