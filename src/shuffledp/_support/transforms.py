"""Powers of laws by fast Fourier transforms, and how much these err; a rule for integrals."""

from __future__ import annotations

import math
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .numeric import UNIT, Array

Spectrum = NDArray[np.complex128]
Numbers = TypeVar("Numbers", Array, Spectrum)


@cache
def gauss_legendre(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights of the rule for integrals over [0, 1]."""
    places, weights = np.polynomial.legendre.leggauss(nodes)  # slow to load
    return (places + 1) / 2, weights / 2


def round_up(size: float) -> int:
    """The next of 4, 5, 6, 7 times a power of two: few different lattices, fast transforms."""
    unit = 1 << max(math.ceil(math.log2(size)) - 3, 0)
    return max(math.ceil(size / unit), 2) * unit


def transform_error(size: int) -> float:
    """Of every output of a transform of so many masses with sum 1 (docs/theory.md,
    "Composition")."""
    return 16 * UNIT * math.log2(2 * size)


def power(base: Numbers, count: int) -> Numbers:
    """base^count by squaring: at most 2 count roundings, as many as count - 1 products have."""
    result = base
    for bit in f"{count:b}"[1:]:
        result = result * result
        if bit == "1":
            result = result * base
    return result
