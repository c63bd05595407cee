"""Randomizers written out as matrices of exact fractions, from their definitions alone.

Nothing here is used to compute a bound: `verify` holds the bounds against these matrices.
Irrational ratios e^eps0 are rounded down at 50 digits, which makes the randomizer at most that
much more private than the named one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from .._support.rational import exp_bracket as exp_bracket

Fractions = Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class ExactMatrix:
    """The size of a matrix, and the matrix itself when it is asked for.

    Where sums are seen, the binary digits of the number of an output are what it adds to them.
    """

    inputs: int
    outputs: int
    make: Callable[[], Fractions]
    #: The row of no value at all, if there is such a thing.
    nothing: Callable[[], Sequence[Fraction]] | None = None


def ratio(eps0: float) -> Fraction:
    """e^eps0, rounded down at 50 digits."""
    return exp_bracket(Fraction(eps0), 50)[0]


def of_sets(values: int, outputs: Iterable[Iterable[int]], eps0: float) -> Fractions:
    """A set that contains the own value is e^eps0 times as likely as one that does not."""
    times, sets = ratio(eps0), [frozenset(output) for output in outputs]
    weights = [[times if x in output else Fraction(1) for output in sets] for x in range(values)]
    return [[weight / total for weight in row] for row in weights for total in (sum(row),)]


def of_bits(values: Iterable[Collection[int]], k: int, p: Fraction, q: Fraction) -> Fractions:
    """k independent bits: those of the value are sent as 1 with probability p, others with q."""
    rows = ([p if j in value else q for j in range(k)] for value in values)
    every = list(product((0, 1), repeat=k))
    return [
        [
            prod((r if b else 1 - r for r, b in zip(row, bits, strict=True)), start=Fraction(1))
            for bits in every
        ]
        for row in rows
    ]
