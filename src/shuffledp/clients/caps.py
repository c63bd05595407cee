"""Caps of the sphere: how large they are, and which of them serve PrivUnit best."""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import Array
from .._support.transforms import gauss_legendre

#: The integrand is below e^-80 of its largest value beyond the interval that is looked at.
_EXPONENT = 80.0
_NODES = 200  # of a Gauss-Legendre rule; 60 already give 14 digits
#: No cap is smaller: a client looks for an output in its cap by trying random ones.
SMALLEST = 2.0**-8


def _sines(power: float, angle: Array) -> Array:
    """The integrals of sin^power from 0 to angles in [0, pi/2]."""
    # sin x <= sin(angle) exp(-(angle - x)^2/2)
    start = np.maximum(angle - math.sqrt(2 * _EXPONENT / max(power, 1e-9)), 0.0)
    nodes, weights = gauss_legendre(_NODES)
    x = start[..., None] + (angle - start)[..., None] * nodes
    return np.asarray((angle - start) * (np.sin(x) ** power @ weights))


def _shares(dimension: int, threshold: Array) -> Array:
    half = _sines(dimension - 2, np.array(math.pi / 2))
    return _sines(dimension - 2, np.arccos(threshold)) / (2 * half)


def cap_share(dimension: int, threshold: float) -> float:
    """Which share of the unit sphere has a first coordinate of at least this threshold >= 0.

    >>> round(cap_share(3, 0.5), 12)  # of the sphere in three dimensions it is (1 - threshold)/2
    0.25
    """
    return float(_shares(dimension, np.array(threshold)))


def cap_overlap(dimension: int, threshold: float) -> float:
    """Which share of the unit sphere has two coordinates of at least this threshold >= 0.

    >>> round(cap_overlap(2, 0.5), 12)  # from 30 to 60 of 360 degrees
    0.083333333333
    """
    first, last = math.acos(threshold), math.asin(threshold)  # angles at which it begins and ends
    if last >= first:
        return 0.0
    if dimension == 2:
        return (first - last) / (2 * math.pi)
    # where the first coordinate is cos x the second is that of a smaller sphere times sin x; the
    # root at the end of the interval is made smooth
    nodes, weights = gauss_legendre(_NODES)
    last = max(last, first - math.sqrt(2 * _EXPONENT / (dimension - 2)))
    x = last + (first - last) * nodes**2
    inner = _shares(dimension - 1, np.minimum(threshold / np.sin(x), 1.0))
    outer = np.sin(x) ** (dimension - 2) * 2 * nodes * weights
    half = float(_sines(dimension - 2, np.array(math.pi / 2)))
    return (first - last) * float(outer @ inner) / (2 * half)


def cap_moment(dimension: int, threshold: float) -> float:
    """The mean of the first coordinate on the sphere, where less than the threshold counts as 0.

    >>> round(cap_moment(3, 0.5), 12)  # the integral of t/2 from 1/2 to 1
    0.1875
    """
    half = float(_sines(dimension - 2, np.array(math.pi / 2)))
    sine = math.sqrt((1 - threshold) * (1 + threshold))
    return float(sine ** (dimension - 1) / ((dimension - 1) * 2 * half))


def best_threshold(dimension: int, eps0: float) -> float:
    """Where the cap of the most accurate PrivUnit begins, or the smallest cap that is used.

    With E = e^eps0 the mean length of a message along the own vector is (E - 1) moment/(1 + (E -
    1) share), which is largest where threshold (1 + (E - 1) share) = (E - 1) moment.
    """

    def too_far(threshold: float) -> bool:
        share = cap_share(dimension, threshold)
        weight = 1 / math.expm1(eps0) + share
        return share < SMALLEST or threshold * weight > cap_moment(dimension, threshold)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if too_far(middle) else (middle, high)
    return low
