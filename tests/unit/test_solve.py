"""The root finder returns evaluated certificates on the right sides."""

import math

import pytest

from shuffledp._solve import crossing


@pytest.mark.parametrize("root", [1e-9, 0.003, 1.0, 7.5, 9.99999])
@pytest.mark.parametrize("guess", [0.0, 1e-4, 1.0, 9.0, 10.0])
def test_brackets_the_root_whatever_the_guess(root: float, guess: float) -> None:
    seen: dict[float, float] = {}

    def f(x: float) -> float:
        seen[x] = math.exp(-x) * (1 if x < root else 0.999)
        return seen[x]

    level = math.exp(-root) * 0.9995
    low, high = crossing(f, level, guess, 10.0)
    assert low <= root <= high
    assert high - low <= 1e-9 * high + 1e-300
    assert low == 0 or seen[low] > level
    assert high == 10.0 or seen[high] <= level


def test_already_below_at_zero() -> None:
    assert crossing(lambda x: 0.1 / (1 + x), 0.2, 3.0, 10.0) == (0.0, 0.0)


def test_above_until_the_top() -> None:
    low, high = crossing(lambda x: 1.0, 0.5, 3.0, 10.0)
    assert high == 10.0
    assert 10.0 * (1 - 1e-8) <= low < 10.0
