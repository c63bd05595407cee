"""Epsilon of one round: what is looked at is a guess, what is returned is not."""

import pytest

from covering import covering
from shuffledp import Shuffle
from shuffledp._support.numeric import Bounds
from shuffledp.bounds import one_round
from shuffledp.randomizers import RandomizedResponse

MATRIX = ((0.5, 0.3, 0.2), (0.2, 0.5, 0.3), (0.1, 0.2, 0.7))


@pytest.mark.parametrize(
    ("eps0", "users", "delta"), [(8.0, 5, 0.999), (8.0, 50, 0.99), (2.0, 10**4, 0.01)]
)
def test_nothing_is_lost_where_delta_is_large(eps0: float, users: int, delta: float) -> None:
    round_ = Shuffle(RandomizedResponse(16, eps0=eps0), users)
    assert round_.delta_bounds(0.0).upper <= delta
    assert round_.epsilon_bounds(delta) == Bounds(0.0, 0.0)


@pytest.mark.parametrize(("users", "factor"), covering([40, 10**5], [0.03, 30.0]))
def test_a_wrong_guess_costs_time_only(
    users: int, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    round_ = Shuffle(RandomizedResponse(16, eps0=3.0), users)
    right = round_.epsilon_bounds(1e-6)
    monkeypatch.setattr(one_round, "_AROUND", tuple(factor * x for x in one_round._AROUND))
    lower, upper = round_.epsilon_bounds(1e-6)
    assert right.lower <= upper <= 1.00001 * lower
    assert lower <= right.upper
