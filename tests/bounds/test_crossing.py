"""The root finder returns evaluated certificates on the right sides."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from covering import covering
from shuffledp._support.numeric import Array
from shuffledp.bounds.certificate import enclose_epsilon, enclose_sides
from shuffledp.published.bound import enclose_crossing


@pytest.mark.parametrize(
    ("root", "guess"), covering([1e-9, 0.003, 1.0, 7.5, 9.99999], [0.0, 1e-4, 1.0, 9.0, 10.0])
)
def test_brackets_the_root_whatever_the_guess(root: float, guess: float) -> None:
    seen: dict[float, float] = {}

    def f(x: float) -> float:
        seen[x] = math.exp(-x) * (1 if x < root else 0.999)
        return seen[x]

    level = math.exp(-root) * 0.9995
    low, high = enclose_crossing(f, level, guess, 10.0)
    assert low <= root <= high
    assert high - low <= 1e-9 * high + 1e-300
    assert low == 0 or seen[low] > level
    assert high == 10.0 or seen[high] <= level


def test_already_below_at_zero() -> None:
    assert enclose_crossing(lambda x: 0.1 / (1 + x), 0.2, 3.0, 10.0) == (0.0, 0.0)


def test_above_until_the_top() -> None:
    low, high = enclose_crossing(lambda x: 1.0, 0.5, 3.0, 10.0)
    assert high == 10.0
    assert 10.0 * (1 - 1e-8) <= low < 10.0


class Recorder:
    """A decreasing function known up to a factor of 1 +- gap, which remembers every call."""

    def __init__(self, f: Callable[[float], float], gap: float) -> None:
        self.f, self.gap, self.calls = f, gap, 0
        self.lower: dict[float, float] = {}
        self.upper: dict[float, float] = {}

    def __call__(self, places: Array) -> tuple[Array, Array]:
        self.calls += 1
        for x in places.tolist():
            self.lower[x], self.upper[x] = ((1 + s * self.gap) * self.f(x) for s in (-1, 1))
        low, high = (np.array([side[x] for x in places]) for side in (self.lower, self.upper))
        return low, high


def falling(root: float) -> dict[str, Callable[[float], float]]:
    """Functions on [0, 10] that cross f(root)."""
    return {
        "normal tail": lambda x: math.exp(-((x / 2) ** 2)),
        "exponential": lambda x: math.exp(-30 * x),
        "to 0 at the top": lambda x: 1.0 - 0.1 * x,
        "kink": lambda x: max(1 - x, 0.0) + 1e-6 * (11 - x),
        "step": lambda x: 1.0 - 0.1 * x if x < root else 0.999 * (1.0 - 0.1 * x),
    }


@pytest.mark.parametrize(
    ("shape", "root", "start", "gap"),
    covering(
        list(falling(0.0)),
        [0.01, 1.0, 7.5, 9.99],
        [[0.0, 1e-4], [0.9, 1.1], [9.0, 10.0]],
        [0.0, 1e-6, 0.01],
        every=3,
    ),
)
def test_encloses_with_certificates(
    shape: str, root: float, start: list[float], gap: float
) -> None:
    f = Recorder(falling(root)[shape], gap)
    level = f.f(root) * (1.0005 if shape == "step" else 1.0)
    low, high = enclose_sides(f, level, np.array(start), 10.0, 1e-9, enough=1e-4)
    assert low <= root <= high
    assert low == 0 or f.lower[low] > level
    assert high == 10.0 or f.upper[high] <= level
    # hardly wider than the gap makes it
    first, last = (
        enclose_crossing(lambda x, s=s: (1 + s * gap) * f.f(x), level, root, 10.0)  # type: ignore[misc]
        for s in (-1, 1)
    )
    slack = 0.1 * (last[1] - first[0]) + 5e-9 * high
    assert low >= first[0] - slack
    assert high <= last[1] + slack
    assert f.calls <= 60


def test_few_calls_from_a_good_guess() -> None:
    f = Recorder(lambda x: math.erfc(3 * x), 1e-4)
    low, high = enclose_sides(f, 1e-6, np.array([1.15, 1.156]), 10.0, 1e-6, enough=1e-3)
    assert high - low < 1e-4
    assert f.calls <= 2


def test_below_the_level_at_zero() -> None:
    f = Recorder(lambda x: 0.1 / (1 + x), 0.0)
    assert enclose_sides(f, 0.2, np.array([0.0, 3.0]), 10.0, 1e-9, enough=1e-3) == (0.0, 0.0)


@pytest.mark.parametrize("root", [0.01, 1.0, 9.9])
@pytest.mark.parametrize("at_top", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("gap", [0.0, 0.01])
def test_what_is_left_at_the_largest_loss_makes_epsilon_infinite(
    root: float, at_top: float, gap: float
) -> None:
    """With that probability a loss is infinite: no delta below it has an epsilon."""
    f = Recorder(lambda x: math.exp(-x) * (1 - x / 10) + at_top, gap)
    level = f.f(root)
    low, high = enclose_epsilon(f, level, np.array([root]), 10.0, at_top == 0, 1e-9, enough=1e-4)
    assert low <= root <= high
    assert (high == math.inf) == (at_top > 0 and (1 + gap) * at_top > level)
    if at_top:
        lost = enclose_epsilon(f, 0.9 * at_top, np.array([1.0]), 10.0, False, 1e-9, enough=1e-4)
        assert lost == (math.inf, math.inf)
