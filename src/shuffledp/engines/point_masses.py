"""Point masses of Poisson and negative binomial laws, in Loader's form like the binomial ones."""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import Array, log_share
from .binomial import deviance, stirling_error


def log_poisson(mean: float, count: Array) -> Array:
    """log Pr[Poisson(mean) = count]."""
    inside = np.maximum(count, 1.0)
    log_mass = -stirling_error(inside) - deviance(inside, np.asarray(mean))
    log_mass -= 0.5 * np.log(2 * math.pi * inside)
    return np.where(count > 0, log_mass, -mean)


def log_negative_binomial(shape: float, theta: float, rest: float, count: Array) -> Array:
    """log of C(count + shape - 1, count) theta^count rest^shape, for a real shape >= 1.

    That is shape/n times the mass of `count` successes in n = count + shape trials.
    """
    a = np.maximum(count, 1.0)
    n, b = a + shape, np.asarray(shape)
    inside = (
        _real_stirling_error(n)
        - stirling_error(a)
        - _real_stirling_error(b)
        - deviance(a, n * theta)
        - deviance(b, n * rest)
        + 0.5 * np.log(b / (2 * math.pi * a * n))
    )
    return np.where(count > 0, inside, shape * log_share(rest, theta))


def _real_stirling_error(x: Array) -> Array:
    """As `stirling_error`, for real x >= 1: for small ones from x + 16, whose value is known."""
    small = np.minimum(x, 16.0)
    near = stirling_error(small + 16.0)
    for i in range(15, -1, -1):
        near = near + (small + (i + 0.5)) * np.log1p(1 / (small + i)) - 1
    return np.where(x < 16.0, near, stirling_error(np.maximum(x, 16.0)))
