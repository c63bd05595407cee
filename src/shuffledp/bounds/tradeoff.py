"""What an attacker can achieve against guarantees: rates of right and wrong accusations.

The attacker tests which of two neighbouring datasets it was. Of the innocent (it was the first) a
share a, the false positive rate, is accused; of the guilty (it was the second) a share t, the true
positive rate, and the share 1 - t, the false negative rate, is missed. (epsilon, delta) of both
orders says t <= delta + e^epsilon a and 1 - a <= delta + e^epsilon (1 - t) (Wasserman, Zhou 2010;
Kairouz, Oh, Viswanath 2015), for every guarantee that holds.

Theory: docs/theory/readings.md.
"""

from __future__ import annotations

import numpy as np

from .._support.numeric import UNIT, Array

# proof constants: docs/theory/constants.md
#: Roundings of a sum, a product and an exponential of one guarantee, each relative to 1.
_ROUNDING = 16 * UNIT


def true_positive_rates(epsilon: Array, delta: Array, accused: Array) -> Array:
    """The largest share of the guilty that is accused, at each share of the innocent that is."""
    some, most = accused[:, None], np.ones(len(accused))
    if not len(epsilon):
        return most
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        grown = np.where(some > 0, np.exp(epsilon) * some, 0.0)
        few = (delta + grown) * (1 + _ROUNDING)
        many = 1 - _missed(epsilon, delta, some) + _ROUNDING
    return np.asarray(np.minimum(np.minimum(few, many).min(axis=1), most))


def false_negative_rates(epsilon: Array, delta: Array, accused: Array) -> Array:
    """The smallest share of the guilty that is missed: the trade-off curve, from below."""
    some, least = accused[:, None], np.zeros(len(accused))
    if not len(epsilon):
        return least
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        grown = np.where(some > 0, np.exp(epsilon) * some, 0.0)
        few = 1 - (delta + grown) * (1 + _ROUNDING) - _ROUNDING
        many = _missed(epsilon, delta, some)
    return np.asarray(np.maximum(np.maximum(few, many).max(axis=1), least))


def _missed(epsilon: Array, delta: Array, some: Array) -> Array:
    """e^-epsilon (1 - delta - a), rounded down."""
    kept = np.maximum(1 - delta - some - _ROUNDING, 0.0)
    return np.asarray(np.exp(-epsilon) * kept * (1 - _ROUNDING))
