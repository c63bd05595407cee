"""Randomizers written out as matrices of exact fractions, from their definitions alone.

Nothing here is used to compute a bound: `verify` holds the bounds against these matrices.
Irrational ratios e^eps0 are rounded down at 50 digits, which makes the randomizer at most that
much more private than the named one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import singledispatch
from itertools import combinations, product
from math import comb
from typing import Any

from .._support import validate
from ..errors import InvalidParameter
from . import (
    FiniteRandomizer,
    HadamardResponse,
    LocalHashing,
    PureLDP,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)

Matrix = Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class Explicit:
    """The size of a matrix, and the matrix itself when it is asked for."""

    inputs: int
    outputs: int
    make: Callable[[], Matrix]


def exp_bracket(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Fractions below and above e^exponent, equal to `digits` digits; (1, 1) for 0."""
    if exponent == 0:
        return Fraction(1), Fraction(1)
    context = Context(prec=digits + 30)
    number = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    value = Fraction(number.exp(context))  # correctly rounded at digits + 30
    slack = Fraction(1, 10**digits)
    return value * (1 - slack), value * (1 + slack)


@singledispatch
def explicit(randomizer: Any) -> Explicit:
    """The matrix of a randomizer that has one."""
    raise InvalidParameter(
        f"{validate.show(randomizer)} has no finite matrix; give a FiniteRandomizer or a named "
        "randomizer with finitely many outputs."
    )


@explicit.register
def _(randomizer: PureLDP) -> Explicit:
    raise InvalidParameter(
        f"{randomizer!r} stands for many randomizers; verify one of them, for example "
        f"RandomizedResponse(k=2, eps0={randomizer.eps0!r}) with analysis='stronger-clones'."
    )


@explicit.register
def _(randomizer: FiniteRandomizer) -> Explicit:
    def make() -> Matrix:
        rows = [[Fraction(value) for value in row] for row in randomizer.matrix]
        return [[value / sum(row) for value in row] for row in rows]

    return Explicit(len(randomizer.matrix), len(randomizer.matrix[0]), make)


@explicit.register
def _(randomizer: RandomizedResponse) -> Explicit:
    k = randomizer.k

    def make() -> Matrix:
        if not randomizer.by_gamma:
            return _membership(k, ((y,) for y in range(k)), randomizer.eps0)
        gamma = Fraction(randomizer.gamma)
        return [[gamma / k + (1 - gamma) * (x == y) for y in range(k)] for x in range(k)]

    return Explicit(k, k, make)


@explicit.register
def _(randomizer: SubsetSelection) -> Explicit:
    k, size = randomizer.k, min(randomizer.size, randomizer.k - randomizer.size)
    outputs = comb(k, min(size, 20))  # grows up to k/2: beyond 20 it is too many already

    def make() -> Matrix:
        return _membership(k, combinations(range(k), randomizer.size), randomizer.eps0)

    return Explicit(k, outputs, make)


@explicit.register
def _(randomizer: HadamardResponse) -> Explicit:
    k, columns = randomizer.k, 1 << randomizer.k.bit_length()

    def make() -> Matrix:
        # entry (x, column) of the Sylvester matrix is the parity of the common bits; row 0 is idle
        owners = (
            tuple(x for x in range(k) if ((x + 1) & column).bit_count() % 2 == 0)
            for column in range(columns)
        )
        return _membership(k, owners, randomizer.eps0)

    return Explicit(k, columns, make)


@explicit.register
def _(randomizer: LocalHashing) -> Explicit:
    """Three values, all functions of them to g: as many as the bounds speak of."""
    k, g = 3, randomizer.g

    def make() -> Matrix:
        hashed = (
            tuple(x for x in range(k) if function[x] == message)
            for function in product(range(g), repeat=k)
            for message in range(g)
        )
        return _membership(k, hashed, randomizer.eps0)

    return Explicit(k, g ** (k + 1), make)


@explicit.register
def _(randomizer: UnaryEncoding) -> Explicit:
    k = randomizer.k

    def make() -> Matrix:
        root = exp_bracket(Fraction(randomizer.eps0) / 2, 50)[0]
        keep, flip = root / (root + 1), 1 / (root + 1)
        return [
            [
                _power(keep, flip, sum(bit != (j == x) for j, bit in enumerate(bits)), k)
                for bits in product((0, 1), repeat=k)
            ]
            for x in range(k)
        ]

    return Explicit(k, 1 << min(k, 64), make)


def _power(keep: Fraction, flip: Fraction, flips: int, bits: int) -> Fraction:
    return flip**flips * keep ** (bits - flips)


def _membership(k: int, outputs: Iterable[tuple[int, ...]], eps0: float) -> Matrix:
    """A set that contains the own value is e^eps0 times as likely as one that does not."""
    ratio = exp_bracket(Fraction(eps0), 50)[0]
    sets = [frozenset(output) for output in outputs]
    weights = [[ratio if x in output else Fraction(1) for output in sets] for x in range(k)]
    return [[weight / sum(row) for weight in row] for row in weights]
