"""Powers, sizes and errors of fast Fourier transforms; running sums; a rule for integrals."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .numeric import UNIT, Array

# proof constant: docs/theory/constants.md
_STEEPEST = 300.0  # factors of running sums, as powers of e


Complex = NDArray[np.complex128]


class Factor(Protocol):
    """What can be multiplied by its like: numbers, spectra, laws of sums."""

    def __mul__(self, other: Any, /) -> Any: ...


Product = TypeVar("Product", bound=Factor)


@cache
def gauss_legendre(nodes: int) -> tuple[Array, Array]:
    """Nodes and weights of the rule for integrals over [0, 1]."""
    places, weights = np.polynomial.legendre.leggauss(nodes)  # slow to load
    return (places + 1) / 2, weights / 2


def fast_length(size: float) -> int:
    """The next of 4, 5, 6, 7 times a power of two: few different lattices, fast transforms."""
    unit = 1 << max(math.ceil(math.log2(size)) - 3, 0)
    return max(math.ceil(size / unit), 2) * unit


def transform_error(size: int) -> float:
    """Of every output of a transform of so many masses with sum 1 (see
    docs/theory/tilted-lattice.md)."""
    return 16 * UNIT * math.log2(2 * size)


def power(base: Product, count: int) -> Product:
    """base^count by squaring: at most 2 count roundings, as many as count - 1 products have."""
    result = base
    for bit in f"{count:b}"[1:]:
        result = result * result
        if bit == "1":
            result = result * base
    return result


def decays(rate: Array, number: int) -> Array:
    """e^(-rate k) for k < number, as products of two: [rows, number]."""
    part = 1 << (number.bit_length() // 2)
    whole = np.exp(-np.outer(rate, np.arange(0, number, part)))
    rest = np.exp(-np.outer(rate, np.arange(part)))
    product: Array = (whole[:, :, None] * rest[:, None, :]).reshape(len(rate), -1)
    return product[:, :number]


def discounted_sums(first: Array, terms: Array, rate: Array) -> Array:
    """y with y(0) = first and y(j+1) = e^-rate y(j) + terms(j), row by row."""
    size = terms.shape[1]
    block = max(1, min(size, int(_STEEPEST / max(float(rate.max()), 1e-300))))
    fall, found, y = decays(rate, block + 1), np.empty(terms.shape), first
    for i in range(0, size, block):
        part = terms[:, i : i + block]
        left = fall[:, 1 : part.shape[1] + 1]
        after = (y[:, None] + np.cumsum(part / left, axis=1)) * left
        found[:, i] = y
        found[:, i + 1 : i + part.shape[1]] = after[:, :-1]
        y = after[:, -1]
    return found
