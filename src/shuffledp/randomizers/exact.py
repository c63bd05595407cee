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

Fractions = Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class ExactMatrix:
    """The size of a matrix, and the matrix itself when it is asked for."""

    inputs: int
    outputs: int
    make: Callable[[], Fractions]


def exp_bracket(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Fractions below and above e^exponent, equal to `digits` digits; (1, 1) for 0."""
    if exponent == 0:
        return Fraction(1), Fraction(1)
    context = Context(prec=digits + 30)
    number = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    value = Fraction(number.exp(context))  # correctly rounded at digits + 30
    slack = Fraction(1, 10**digits)
    return value * (1 - slack), value * (1 + slack)


def ratio(eps0: float) -> Fraction:
    """e^eps0, rounded down at 50 digits."""
    return exp_bracket(Fraction(eps0), 50)[0]


def of_sets(values: int, outputs: Iterable[Iterable[int]], eps0: float) -> Fractions:
    """A set that contains the own value is e^eps0 times as likely as one that does not."""
    times, sets = ratio(eps0), [frozenset(output) for output in outputs]
    weights = [[times if x in output else Fraction(1) for output in sets] for x in range(values)]
    return [[weight / sum(row) for weight in row] for row in weights]
