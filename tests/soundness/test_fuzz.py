"""Anything may be asked: the answer is in range, or a ShuffleDPError says why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracles.randomizers import exact_exp
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    NotCertified,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    ShuffleDPError,
    UnaryEncoding,
    adversaries,
    verify,
)
from shuffledp.bounds import Bounds
from shuffledp.randomizers import HadamardResponse, LocalHashing, SubsetSelection

#: Numbers of every kind and size, and things that are no numbers.
wild_floats = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.floats(1e-9, 60),
    st.floats(-300, 0).map(lambda x: 10.0**x),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1e-12, 0.5, 1.0, 50.0, 200.0, 1e308]),
)
wild_counts = st.one_of(
    st.integers(-3, 40),
    st.integers(0, 10**13),
    st.integers(0, 400).map(lambda x: 10**x),
    wild_floats,
)
nonsense = st.one_of(
    st.none(),
    st.booleans(),
    st.text("eE1.-+ nai\u0661\u221e", max_size=5),  # the table of all characters takes seconds
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
    st.fractions(),
    st.decimals(),
    st.just(np.float32(0.3)),
    st.just(np.int64(7)),
    st.just(object()),
)
number, count = st.one_of(wild_floats, nonsense), st.one_of(wild_counts, nonsense)


def randomizers(
    real: st.SearchStrategy[Any], whole: st.SearchStrategy[Any]
) -> st.SearchStrategy[Callable[[], Any]]:
    """Ways to make a randomizer, not yet called: making one may fail too."""
    return st.one_of(
        st.tuples(real).map(lambda a: lambda: PureLDP(*a)),
        st.tuples(whole, real).map(lambda a: lambda: RandomizedResponse(a[0], gamma=a[1])),
        st.tuples(whole, real).map(lambda a: lambda: RandomizedResponse(a[0], eps0=a[1])),
        st.tuples(whole, whole, real).map(lambda a: lambda: SubsetSelection(*a)),
        st.tuples(whole, real).map(lambda a: lambda: UnaryEncoding(*a)),
        st.tuples(whole, real).map(lambda a: lambda: HadamardResponse(*a)),
        st.tuples(whole, real).map(lambda a: lambda: LocalHashing(*a)),
        st.lists(st.lists(real, max_size=4), max_size=4).map(lambda a: lambda: FiniteRandomizer(a)),
        nonsense.map(lambda a: lambda: a),
    )


plausible = randomizers(
    st.one_of(st.floats(0.01, 20), st.floats(0.01, 1, exclude_max=True)),
    st.one_of(st.integers(2, 9), st.integers(2, 10**4)),
)
analyses = st.sampled_from(["best", "blanket", "stronger-clones", "clones", "strong", "other", 3])


def allowed(question: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """The answer; None where an error of the package says why there is none."""
    try:
        return question(*given, **options)
    except NotCertified as error:
        assert error.bounds.lower <= error.bounds.upper
        return error.bounds
    except ShuffleDPError as error:
        assert str(error).strip()
        assert "\n" not in str(error)
        assert "contradict each other" not in str(error)
        return None


def assert_bracket(bounds: Any, most: float) -> None:
    assert isinstance(bounds, Bounds)
    lower, upper = np.asarray(bounds.lower), np.asarray(bounds.upper)
    assert (lower >= 0).all()
    assert (lower <= upper).all()  # false for NaN
    assert (upper <= most).all()


@settings(max_examples=150)
@given(randomizers(number, count), count, analyses, number, number)
@example(lambda: PureLDP(1e-12), 10, "best", 1e-6, 0.1)
@example(lambda: PureLDP(50.0), 10**10, "best", 1e-300, 1e-300)
@example(lambda: RandomizedResponse(2, gamma=5e-324), 10, "best", 0.5, 0.5)
@example(lambda: RandomizedResponse(2, gamma=math.nextafter(1, 0)), 10, "best", 0.5, 0.5)
@example(lambda: FiniteRandomizer([[1.0, 0.0], [0.0, 1.0]]), 1, "best", 1.0, 0.0)
def test_anything_may_be_asked_of_a_round(
    make: Callable[[], Any], users: Any, analysis: Any, delta: Any, epsilon: Any
) -> None:
    survey = allowed(lambda: Shuffle(make(), users, analysis))
    if survey is None:
        return
    for question, value, most in (
        (survey.epsilon_bounds, delta, math.inf),
        (survey.delta_bounds, epsilon, 1.0),
    ):
        bounds = allowed(question, value)
        if bounds is not None:
            assert_bracket(bounds, most)
    assert isinstance(repr(survey), str)


@settings(max_examples=20, derandomize=True)  # the same cases each time: bounded time
@given(
    plausible,
    st.one_of(st.integers(1, 50), st.integers(1, 10**10)),
    st.sampled_from(["best", "blanket", "stronger-clones", "clones", "strong"]),
    st.floats(-20, 0).map(lambda x: 10.0**x),
    st.floats(0, 1),
)
def test_plausible_rounds_are_answered(
    make: Callable[[], Any], users: int, analysis: str, delta: float, share: float
) -> None:
    """In range and consistent: attained <= upper, both readings of the curve, monotone ends."""
    survey = allowed(lambda: Shuffle(make(), users, analysis))
    if survey is None:
        return
    bounds = allowed(survey.epsilon_bounds, delta)
    assert bounds is not None
    assert_bracket(bounds, survey.get_epsilon(0.0))
    if math.isfinite(bounds.upper):
        there = allowed(survey.delta_bounds, bounds.upper)
        assert there.lower <= delta
    epsilon = share * survey.profile.max_loss
    here, start = (allowed(survey.delta_bounds, e) for e in (epsilon, 0.0))
    assert_bracket(here, 1.0)
    assert here.lower <= start.upper
    attained = allowed(survey.attained_delta, epsilon)
    # NotCertified carries bounds: its lower value is attained as well
    assert (attained.lower if isinstance(attained, Bounds) else attained) <= here.upper


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(randomizers(number, count), count, analyses, st.one_of(st.integers(1, 9), count)),
        max_size=3,
    ),
    number,
    number,
)
def test_anything_may_be_composed(kinds: list[Any], delta: Any, epsilon: Any) -> None:
    accountant = Accountant()
    for make, users, analysis, rounds in kinds:
        made = allowed(make)
        survey = None if made is None else allowed(Shuffle, made, users, analysis)
        allowed(accountant.compose, made if survey is None else survey, rounds=rounds)
    for question, value, most in (
        (accountant.epsilon_bounds, delta, math.inf),
        (accountant.delta_bounds, epsilon, 1.0),
    ):
        bounds = allowed(question, value, rtol=0.1)
        if bounds is not None:
            assert_bracket(bounds, most)


@settings(max_examples=5, derandomize=True)
@given(
    st.sampled_from([PureLDP, partial(RandomizedResponse, 4), partial(UnaryEncoding, 8)]),
    st.floats(1e-3, 8),
    st.integers(1, 10**6),
    st.integers(2, 1000),
    st.floats(-12, -0.5).map(lambda x: 10.0**x),
)
def test_plausible_rounds_are_composed(
    kind: Callable[..., Any], eps0: float, users: int, rounds: int, delta: float
) -> None:
    """Never above pure DP of all rounds, never below one round."""
    survey = Shuffle(kind(eps0=eps0), users)
    accountant = Accountant()
    accountant.compose(survey, rounds=rounds)
    bounds = allowed(accountant.epsilon_bounds, delta, rtol=0.05)
    assert_bracket(bounds, accountant.get_epsilon(0.0))
    alone = allowed(survey.epsilon_bounds, delta)
    assert alone.lower <= bounds.upper


@settings(max_examples=80)
@given(randomizers(number, count), count, analyses, number, number)
def test_anything_may_be_verified_or_put_on_the_ladder(
    make: Callable[[], Any], users: Any, analysis: Any, epsilon: Any, delta: Any
) -> None:
    small = users if not isinstance(users, int) or users < 4 else 1 + users % 3
    made = allowed(make)
    if made is None:
        return
    result = allowed(lambda: verify(made, small, analysis, epsilons=epsilon))
    assert result is None or isinstance(result, Bounds) or result.holds
    if hasattr(made, "analyses"):
        rows = allowed(lambda: adversaries(made, users, delta))
        assert rows is None or all(row.lower >= 0 for row in rows)


#: Any two of three extremes meet.
NEAR_LIMITS = [(1e-6, 1, 10**6), (1e-6, 10**10, 1), (50.0, 1, 1), (50.0, 10**10, 10**6)]


@pytest.mark.parametrize(("eps0", "users", "rounds"), NEAR_LIMITS)
def test_numbers_near_the_limits(eps0: float, users: int, rounds: int) -> None:
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(eps0), users), rounds=rounds)
    top = accountant.get_epsilon(0.0)
    assert Fraction(top) >= rounds * Fraction(eps0)
    previous = top
    rtol = 1e-3 if rounds == 1 else 0.1  # many rounds take long: their width is in test_range.py
    for delta in (1e-280, 1e-12, 0.3):
        bounds = allowed(accountant.epsilon_bounds, delta, rtol=rtol)
        assert 0 <= bounds.lower <= bounds.upper <= top
        assert bounds.lower <= previous  # epsilon falls with delta
        previous = bounds.upper
    assert accountant.get_delta(top) == 0
    assert_bracket(allowed(accountant.delta_bounds, 0.0, rtol=rtol), 1.0)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (lambda: PureLDP(1e-12), "eps0=1e-12"),
        (lambda: Shuffle(PureLDP(1.0), 10).get_epsilon(1e-300), "delta=1e-300"),
        (lambda: Shuffle(PureLDP(1.0), 10**13), "users="),
        (lambda: Accountant().compose(Shuffle(PureLDP(1.0), 10), rounds=10**8), "rounds="),
    ],
)
def test_beyond_the_limits_is_said_in_one_sentence(question: Callable[[], Any], said: str) -> None:
    with pytest.raises(ShuffleDPError, match=said):
        question()


@settings(max_examples=150)
@given(st.integers(2, 40), st.floats(1e-300, 1, exclude_max=True))
def test_eps0_of_gamma_is_never_rounded_down(k: int, gamma: float) -> None:
    made = allowed(lambda: RandomizedResponse(k, gamma=gamma))
    if made is not None:
        exact = Fraction(gamma)
        assert exact_exp(made.eps0) >= 1 + k * (1 - exact) / exact


@settings(max_examples=150)
@given(st.lists(st.lists(st.floats(1e-6, 1), min_size=3, max_size=3), min_size=2, max_size=3))
def test_eps0_of_a_matrix_is_never_rounded_down(weights: list[list[float]]) -> None:
    matrix = [[w / math.fsum(row) for w in row] for row in weights]
    rows = [[Fraction(p) / sum(map(Fraction, row)) for p in row] for row in matrix]
    ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert exact_exp(FiniteRandomizer(matrix).eps0) >= ratio
