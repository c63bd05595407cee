"""Sums of bits of two kinds, in whole numbers: the exact divergence of one bit more or less."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import lcm

import mpmath


@cache
def _sum(ones: int, unit: int, users: int) -> tuple[int, ...]:
    """unit^users times the law of Bin(users, ones/unit)."""
    if users == 0:
        return (1,)
    less = _sum(ones, unit, users - 1)
    return tuple((unit - ones) * x + ones * y for x, y in zip((*less, 0), (0, *less), strict=True))


@cache
def neighbours(p: Fraction, q: Fraction, m: int, others: int) -> tuple[tuple[int, ...], ...]:
    """The laws of the number of 1s, times a common factor, if m of the others send 1 with
    probability p, the rest with q, and the user in question with p or with q."""
    unit = lcm(p.denominator, q.denominator)
    one, two = _sum(int(p * unit), unit, m), _sum(int(q * unit), unit, others - m)
    law = [0] * (others + 2)
    for i, x in enumerate(one):
        for j, y in enumerate(two):
            law[i + j] += x * y
    shifted = [0, *law[:-1]]
    return tuple(
        tuple(
            int((1 - r) * unit) * x + int(r * unit) * y for x, y in zip(law, shifted, strict=True)
        )
        for r in (p, q)
    )


def divergence(p: Fraction, q: Fraction, m: int, others: int, alpha: Fraction) -> Fraction:
    """H_alpha of the law with p over that with q."""
    first, second = neighbours(p, q, m, others)
    gain = sum(
        max(x * alpha.denominator - y * alpha.numerator, 0)
        for x, y in zip(first, second, strict=True)
    )
    return Fraction(gain, alpha.denominator * sum(first))


def profile(p: Fraction, q: Fraction, users: int, alpha: Fraction) -> Fraction:
    """The largest over all datasets of these two values, in both orders."""
    return max(
        divergence(*pair, m, users - 1, alpha)
        for m in range(users)
        for pair in ((p, q), (1 - q, 1 - p))
    )


def alphas(epsilon: float) -> tuple[Fraction, Fraction]:
    """Fractions just below and just above e^epsilon."""
    with mpmath.workdps(60):
        value = mpmath.exp(mpmath.mpf(epsilon))
        digits = Fraction(int(mpmath.floor(value * mpmath.mpf(2) ** 150)), 2**150)
    return digits, digits + Fraction(1, 2**149)
