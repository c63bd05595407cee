"""Exact fractions."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction


def exp_bracket(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Fractions below and above e^exponent, equal to `digits` digits; (1, 1) for 0."""
    if exponent == 0:
        return Fraction(1), Fraction(1)
    context = Context(prec=digits + 30)
    number = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    value = Fraction(number.exp(context))  # correctly rounded at digits + 30
    slack = Fraction(1, 10**digits)
    return value * (1 - slack), value * (1 + slack)
