"""Arguments without a meaning are refused with an error of this package, whatever they are."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shuffledp import (
    Aggregate,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    audit,
    calibrate,
    rounded_up,
    sweep,
)
from shuffledp.errors import InvalidParameter, OutOfRange

ROUND = Shuffle(PureLDP(2.0), users=100)


@pytest.mark.parametrize("value", [math.nan, None, "0.3", [0.3], np.array([0.1, 0.2]), 1j])
def test_no_number_is_no_text(value: Any) -> None:
    with pytest.raises(InvalidParameter, match="value="):
        rounded_up(value)


@pytest.mark.parametrize("digits", [0, -1, 1.5, "4", None])
def test_digits_are_counted(digits: Any) -> None:
    with pytest.raises(InvalidParameter, match="digits="):
        rounded_up(0.3, digits)


def test_numbers_of_any_kind_are_rounded_up() -> None:
    given: list[Any] = [np.float32(1.5), np.int64(3), Fraction(1, 3)]
    assert [rounded_up(number, 5) for number in given] == ["1.5", "3", "0.33334"]
    assert Fraction(rounded_up(given[2], 30)) > given[2]
    assert rounded_up(math.inf) == "infinity"


@pytest.mark.parametrize("client", ["right", 3, [1], np.array([1, 2])])
def test_a_client_is_a_function(client: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"client=.* is not a function"):
        audit(RandomizedResponse(2, eps0=1.0), client, trials=100)


@pytest.mark.parametrize("target", [5e-324, 1e-310])
def test_targets_that_nothing_can_be_divided_by(target: float) -> None:
    with pytest.raises(OutOfRange, match="is below 1e-300"):
        calibrate("rounds", ROUND, epsilon=target, delta=1e-6)


@pytest.mark.parametrize("kind", [Shuffle, Aggregate])
@pytest.mark.parametrize("name", ["colluding", "dropouts"])
def test_one_user_is_not_all_of_them(kind: Any, name: str) -> None:
    assert kind(RandomizedResponse(2, eps0=1.0), 100, **{name: 1}).honest == 99
    for all_of_them in (1.0, np.float32(1), Fraction(1)):
        with pytest.raises(InvalidParameter, match="may be one user or all of them"):
            kind(RandomizedResponse(2, eps0=1.0), 100, **{name: all_of_them})


def test_limits_are_said_in_full() -> None:
    with pytest.raises(OutOfRange, match=r"\[1e-12, 0.999999999999\]"):
        UnaryEncoding(4, p=1.0, q=0.1)


def test_what_is_looked_for_and_swept_has_a_name_and_a_list() -> None:
    unnamed: Any = np.array([1.0, 2.0])
    with pytest.raises(InvalidParameter, match=r"find=.* is not a name"):
        calibrate(unnamed, ROUND, epsilon=1.0, delta=1e-6)
    single: Any = np.array(100)
    with pytest.raises(InvalidParameter, match="is not a list"):
        sweep({"users": single}, eps0=1.0, delta=1e-6)
