"""What is said of bounds that are wider than was asked for."""

import math
import re
from decimal import Decimal

import pytest

from shuffledp._support.numeric import Bounds
from shuffledp.bounds.certificate import not_certified


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(3.858512, 3.858514), (3.8585101234, 3.8585101236), (1.16, 2.5), (1e-9, 1.0000001e-9)],
)
def test_both_ends_are_told_apart(lower: float, upper: float) -> None:
    ends = re.search(r"\[(.*), (.*)\]", str(not_certified("epsilon", Bounds(lower, upper), 1e-7)))
    assert ends is not None
    low, high = Decimal(ends[1]), Decimal(ends[2])
    assert low <= Decimal(lower) < Decimal(upper) <= high
    assert float(high - low) < 11 * (upper - lower)  # no more than a digit wider


def test_few_digits_where_they_do() -> None:
    assert "[0, infinity] only" in str(not_certified("epsilon", Bounds(0.0, math.inf), 1e-7))
    assert "[0.25, 0.5] only" in str(not_certified("delta", Bounds(0.25, 0.5), 1e-3))
