"""Binomial point masses and upper-tail sums with a proven relative error.

Everything the clone analyses need from the binomial law comes from here, and nothing is taken on
trust from a special-function library: the point mass is Stirling's series with its remainder, the
tail sums are either plain sums of positive terms or a Gauss-Legendre rule whose error is bounded
in docs/theory.md ("Binomial tails"). Assumed are IEEE arithmetic and numpy's exp, log, log1p within
4 units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import UNIT, Array, log_share
from .._support.transforms import gauss_legendre
from . import tuning

# proof constants: docs/theory.md, "Constants"
# Gauss-Legendre rule on [0, 1]; 20 nodes and a cut-off at exp(-25) make the quadrature error
# below 2e-9 whenever the interval is shorter than 1/4 in both of its natural scales.
_NODES = 20
_CUT_OFF = 25.0
_LONGEST = 0.25
_LAST_TERM = 1e-18  # of the first one: then the rest is below 1e-14 of the sum
_NO_RULE = 80  # trials up to which the interval is always longer

# log(k!) - (k + 1/2) log k + k - log(2 pi)/2 for k < 16; the value at 0 is never used
_STIRLING_TABLE = np.array(
    [0.0]
    + [
        math.log(math.factorial(k)) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi)
        for k in range(1, 16)
    ]
)


def relative_error(trials: float, deviation: float) -> float:
    """Bound of the relative error of a tail or stop-loss, of values above 1e-300.

    Up to 80 trials only sums of positive terms occur; beyond, the quadrature rule. The rounding
    errors in the exponent add up to less than 32 units times |j - mp|, which is at most
    461 + 38 standard `deviation`s where the value is above 1e-300 (Bernstein).
    """
    quadrature = 2e-9 if trials > _NO_RULE else 0.0
    return 4e-12 + quadrature + 32 * 38 * deviation * UNIT


def stirling_error(k: Array) -> Array:
    """log(k!) minus Stirling's formula. The series envelops: the error is below 2e-14."""
    x = np.maximum(k, 16.0)
    inv2 = 1.0 / (x * x)
    series = (1 / 12 - inv2 * (1 / 360 - inv2 * (1 / 1260 - inv2 / 1680))) / x
    return np.where(k < 16.0, _STIRLING_TABLE[np.minimum(k, 15.0).astype(np.intp)], series)


def deviance(x: Array, mean: Array) -> Array:
    """x log(x/mean) - x + mean >= 0, the exponent of a Poisson point mass."""
    e = (x - mean) / mean
    return mean * ((1.0 + e) * np.log1p(e) - e)


def log_pmf(trials: Array, successes: Array, p: float, q: float) -> Array:
    """log Pr[Bin(trials, p) = successes] with q = 1 - p given to full precision (Loader 2000)."""
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
    # m = 0 is the sure outcome
    ends = np.where(j == 0, m * log_share(q, p), m * log_share(p, q))
    return np.where(interior, inside, ends)


def tail_sums(trials: Array, start: Array, odds: float) -> tuple[Array, Array]:
    """(sum of r_i, sum of i r_i) over i >= 0 with r_i = pmf(start + i) / pmf(start).

    For Bin(trials, p) with p/(1-p) = odds and 1 <= start, start above the mean, so that the r_i
    decrease. Times pmf(start) the first is the tail Pr[X >= start], and d * first + second is the
    stop-loss E[(X - (start - d))_+]: all terms positive, nothing cancels.
    """
    m, j = np.broadcast_arrays(trials, start)
    shape = m.shape
    m, j = m.ravel(), j.ravel()
    length = _interval(m, j, odds)
    smooth = (length <= _LONGEST) & (odds * length <= _LONGEST) & (j < m)
    zeroth, first = np.empty(m.shape), np.empty(m.shape)
    block = tuning.BLOCK
    for chosen, rule in ((smooth, _integrate), (~smooth, _add_up)):
        rows = np.flatnonzero(chosen)
        for part in (rows[i : i + block] for i in range(0, len(rows), block)):
            zeroth[part], first[part] = rule(m[part], j[part], odds, length[part])
    return zeroth.reshape(shape), first.reshape(shape)


def _interval(m: Array, j: Array, odds: float) -> Array:
    """Length V beyond which (1-v)^(j-1) (1 + odds v)^(m-j-1) is below exp(-25)."""
    slope = (j - 1) - odds * (m - j - 1)
    curvature = (j - 1) + (5 / 6) * odds**2 * np.maximum(m - j - 1, 0.0)
    return 2 * _CUT_OFF / (slope + np.sqrt(slope**2 + 2 * _CUT_OFF * curvature) + 1e-300)


def _integrate(m: Array, j: Array, odds: float, length: Array) -> tuple[Array, Array]:
    """Both sums from the incomplete beta integral: with w = (1-v)^(j-1) (1 + odds v)^(m-j-1),

    sum r_i = j * int w (1 + odds v) dv,   sum i r_i = j odds (m-j) * int w v dv   over [0, 1].
    """
    nodes, weights = gauss_legendre(_NODES)
    v = length[:, None] * nodes  # [points, nodes]
    exponent = (j - 1)[:, None] * np.log1p(-v)
    exponent += (m - j - 1)[:, None] * np.log1p(odds * v)
    w = np.exp(exponent, out=exponent)
    # not a product of matrices, which would start threads
    mass = np.einsum("ij,j->i", w, weights)
    moment = np.einsum("ij,j->i", w, weights * nodes) * length
    scale = j * length
    return scale * (mass + odds * moment), scale * odds * (m - j) * moment


def _add_up(m: Array, j: Array, odds: float, length: Array) -> tuple[Array, Array]:
    """Both sums term by term; at most about 400 terms are needed where this is called."""
    first_ratio = odds * (m - j) / (j + 1)
    mass, moment, last = np.ones((3, len(m)))  # of r_i / r_1, and its last value so far
    batch = tuning.BATCH
    i = np.arange(2.0, 2 + batch)
    more = np.flatnonzero(j < m)
    while len(more):
        left, known = (m - j + 1)[more, None], j[more, None]
        # beyond i = m - j there is nothing: the factor there is exactly 0
        terms = np.cumprod(odds * (left - i) / (known + i), axis=1)
        terms *= last[more, None]
        mass[more] += np.einsum("ij->i", terms)
        moment[more] += np.einsum("ij,j->i", terms, i)
        last[more] = terms[:, -1]
        more = more[last[more] > _LAST_TERM]
        i = i + batch
    return 1.0 + first_ratio * mass, first_ratio * moment
