"""Bad input gets one sentence that names the value, in an exception of ours."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shuffledp import Accountant, PureLDP, Shuffle, ShuffleDPError
from shuffledp._support import validate
from shuffledp.errors import InvalidParameter, OutOfRange

SURVEY = Shuffle(PureLDP(1.0), users=100)
HUGE = 10**400
NOT_NUMBERS = [
    "1",
    None,
    True,
    np.True_,
    [1.0],
    {},
    1j,
    np.complex128(1),
    Decimal(1),
    object(),
    np.timedelta64(1, "s"),
]
NOT_FINITE = [math.nan, math.inf, -math.inf, np.float64("nan")]


def composed(rounds: Any) -> None:
    Accountant().compose(SURVEY, rounds=rounds)


CALLS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "eps0": (lambda v: PureLDP(v), [0, 0.0, -1.0, 1e-7, 201.0, HUGE]),
    "users": (lambda v: Shuffle(PureLDP(1.0), v), [0, -5, 2.5, 10**13, HUGE]),
    "rounds": (composed, [0, -1, 1.5, 10**8]),
    "delta": (SURVEY.get_epsilon, [-1e-9, 1.0000001, 2, 1e-281]),
    "epsilon": (SURVEY.get_delta, [-1e-300, -1]),
    "rtol": (lambda v: SURVEY.get_epsilon(1e-6, rtol=v), [0, -1e-3, 1e-9, 0.9]),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name, (_, bad) in CALLS.items()
        for value in [*bad, *NOT_NUMBERS, *NOT_FINITE]
        # a list is an array of queries where queries take arrays
        if not (name in ("delta", "epsilon") and isinstance(value, list))
    ],
)
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    call, _ = CALLS[name]
    with pytest.raises(ShuffleDPError) as caught:
        call(value)
    message = str(caught.value)
    assert isinstance(caught.value, (InvalidParameter, OutOfRange))
    assert isinstance(caught.value, ValueError)
    assert message.startswith(name)
    assert message.endswith(".")
    assert "\n" not in message
    # the value, and what to do instead
    assert ";" in message
    plain = value.item() if isinstance(value, np.generic) else value  # as people write it
    if value is not HUGE:  # four hundred digits help nobody
        assert repr(plain)[:57] in message


@pytest.mark.parametrize("values", [[1e-6, 2.0], [1e-6, "x"], np.array([0.1, math.nan])])
def test_one_bad_value_in_an_array_is_named(values: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"delta=(2\.0|'x'|nan)"):
        SURVEY.get_epsilon(values)


def test_unknown_analysis_names_the_known_ones() -> None:
    for analysis in ("blanket", "", None, 3):
        with pytest.raises(InvalidParameter, match="best, stronger-clones, clones"):
            Shuffle(PureLDP(1.0), 10, analysis)  # type: ignore[arg-type]


def test_wrong_objects_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=re.escape("randomizer=4.0")):
        Shuffle(4.0, 10)  # type: ignore[arg-type]
    for wrong in (PureLDP, 10**5000):
        with pytest.raises(InvalidParameter, match="is not a randomizer"):
            Shuffle(wrong, 10)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="give a Shuffle"):
        Accountant().compose(PureLDP(1.0))  # type: ignore[arg-type]


def test_too_many_rounds_in_all() -> None:
    accountant = Accountant()
    accountant.compose(SURVEY, rounds=10**7)
    with pytest.raises(OutOfRange, match="10000001 rounds in all"):
        accountant.compose(SURVEY)
    assert accountant.total_rounds == 10**7


def test_whole_numbers_of_any_type_are_counts() -> None:
    for users in (100, 100.0, np.int32(100), np.float64(100)):
        assert Shuffle(PureLDP(1), users) == SURVEY  # type: ignore[arg-type]


def test_rates_that_are_nearly_whole_are_shown_in_full() -> None:
    with pytest.raises(InvalidParameter, match=r"is 100\.00000149 users"):
        Shuffle(PureLDP(1.0), 1000, sample_rate=float(np.float32(0.1)))


def test_exact_fractions_do_not_become_larger_targets() -> None:
    for share in (Fraction(i, 7) for i in range(1, 7)):  # some are rounded up, some down
        assert validate.epsilon(share) <= share and validate.delta(share) <= share


def test_shapes_are_kept() -> None:
    grid = np.array([[1e-3, 1e-6], [1e-9, 0.0]])
    bounds = SURVEY.epsilon_bounds(grid)
    assert bounds.lower.shape == bounds.upper.shape == (2, 2)
    assert bounds.upper[0, 1] == SURVEY.get_epsilon(1e-6)
    assert isinstance(SURVEY.get_epsilon(np.float64(1e-6)), float)
    assert isinstance(SURVEY.get_delta(np.array(0.5)), float)
    assert SURVEY.get_epsilon([]).shape == (0,)


def test_rounds_are_immutable_and_say_what_they_are() -> None:
    with pytest.raises(AttributeError):
        SURVEY.users = 3  # type: ignore[misc]
    assert repr(SURVEY) == "Shuffle(randomizer=PureLDP(eps0=1.0), users=100, analysis='best')"
    assert hash(SURVEY) == hash(Shuffle(PureLDP(1.0), users=100))
