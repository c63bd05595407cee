"""The best attacker against an exact pair of laws: Neyman and Pearson; and Rényi divergences."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import mpmath
from mpmath import mpf


def caught(pair: Mapping[Any, tuple[Any, Any]], accused: Any) -> Any:
    """The largest probability under Q of a (randomized) test that has `accused` under P.

    Outcomes are accused in the order of Q/P; the last one with just the probability that is left.
    """
    ratio = {y: q / p if p else None for y, (p, q) in pair.items()}
    order = sorted(pair, key=lambda y: (ratio[y] is not None, -(ratio[y] or 0)))
    left, found = accused, 0 * accused
    for outcome in order:
        p, q = pair[outcome]
        if p > left:
            return found + q * left / p
        left, found = left - p, found + q
    return found


def renyi(pair: Mapping[Any, tuple[Any, Any]], order: Fraction) -> mpf:
    """D(P || Q) at an order >= 1; infinite if P has what Q has not."""
    with mpmath.workdps(40):
        masses = [
            tuple(mpf(m.numerator) / m.denominator if isinstance(m, Fraction) else m for m in each)
            for each in pair.values()
        ]
        if any(q == 0 < p for p, q in masses):
            return mpmath.inf
        some = [(p, q) for p, q in masses if p > 0]
        if order == 1:
            return mpmath.fsum(p * mpmath.log(p / q) for p, q in some)
        power = mpf(order.numerator) / order.denominator
        total = mpmath.fsum(q * (p / q) ** power for p, q in some)
        return mpmath.log(total) / (power - 1)
