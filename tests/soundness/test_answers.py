"""Questions that must be answered: one-sided ones always, at breakpoints and ends exactly."""

import math
import random
from fractions import Fraction
from typing import Any

import pytest

import oracles
from covering import covering
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    NotCertified,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    adversaries,
    verify,
)
from shuffledp.randomizers import HadamardResponse, LocalHashing, SubsetSelection

NAMED = [
    RandomizedResponse(3, eps0=1.0),
    RandomizedResponse(2, eps0=1.0),
    SubsetSelection(10, 3, eps0=1.0),
    UnaryEncoding(4, eps0=1.0),
    LocalHashing(4, eps0=1.0),
    HadamardResponse(10, eps0=1.0),
]


@pytest.mark.parametrize(
    ("randomizer", "users"), covering(NAMED, [1, 2, 5, 30, 1000, 10**9]), ids=repr
)
def test_nothing_is_lost_beyond_eps0(randomizer: Any, users: int) -> None:
    survey = Shuffle(randomizer, users)
    assert tuple(survey.delta_bounds(1.0)) == (0, 0)
    assert survey.get_epsilon(0) == 1.0
    assert survey.attained_delta(1.0) == 0
    assert tuple(
        Shuffle(randomizer, users, sample_rate=0.5, sampling="poisson").delta_bounds(1.0)
    ) == (0, 0)
    accountant = Accountant()
    accountant.compose(survey, rounds=3)
    assert accountant.get_epsilon(0) == 3.0
    assert tuple(accountant.delta_bounds(3.0)) == (0, 0)


@pytest.mark.parametrize(("randomizer", "users"), covering(NAMED, [1, 5, 30, 1000]), ids=repr)
def test_a_hair_below_eps0(randomizer: Any, users: int) -> None:
    """delta is convex in e^epsilon and 0 at eps0: tiny, but told from nothing."""
    survey = Shuffle(randomizer, users)
    for epsilon in (math.nextafter(1.0, 0.0), 1 - 1e-12, 1 - 1e-9, 1 - 1e-6):
        bounds = survey.delta_bounds(epsilon)
        before = survey.get_delta(0.99)
        assert 0 <= bounds.lower <= bounds.upper <= max(before, 1e-300)


def test_the_first_things_people_try() -> None:
    assert verify(RandomizedResponse(3, gamma=0.5), users=5).holds
    rows = adversaries(RandomizedResponse(3, gamma=0.5), users=5, delta=1e-4)
    assert rows[-1].lower <= min(row.upper for row in rows[:-1] if row.upper is not None)
    k, gamma = 3, Fraction(2 / 7)
    matrix = [[gamma / k + (1 - gamma) * (x == y) for y in range(k)] for x in range(k)]
    truth = oracles.true_profile(matrix, 5, Fraction(1))
    attained = Shuffle(RandomizedResponse(3, gamma=2 / 7), 5).attained_delta(0)
    assert Fraction(attained) <= truth <= Fraction(attained) * (1 + Fraction(1, 10**9))


def test_a_width_out_of_reach_still_has_a_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Shuffle(RandomizedResponse(3, eps0=1.0), 100)
    narrow = survey.epsilon_bounds(1e-6)

    def refuse(*_: Any) -> Any:
        raise NotCertified("too wide", type(narrow)(0.5 * narrow.lower, 2 * narrow.upper))

    monkeypatch.setattr("shuffledp.bounds.one_round.epsilon_bounds", refuse)
    assert survey.get_epsilon(1e-6) == 2 * narrow.upper
    assert survey.get_epsilon([1e-6, 0]).tolist() == [2 * narrow.upper, 1.0]
    assert survey.attained_epsilon(1e-6) == 0.5 * narrow.lower
    with pytest.raises(NotCertified):
        survey.epsilon_bounds(1e-6)


def breakpoints(matrix: list[list[float]]) -> list[float]:
    """Where an output's likelihood ratio is passed, and next to it."""
    found = {0.0}
    for u in matrix:
        for v in matrix:
            found |= {abs(math.log(a / b)) for a, b in zip(u, v, strict=True) if a > 0 and b > 0}
    return [x for e in found for x in (math.nextafter(e, 0.0), e, math.nextafter(e, 9.0))]


@pytest.mark.parametrize("seed", range(14))
def test_small_matrices_at_every_breakpoint(seed: int) -> None:
    """Answers only, and no bracket of a small round is too wide."""
    draw = random.Random(seed)
    inputs, outputs, users = draw.randint(2, 3), draw.randint(2, 4), draw.choice([1, 2, 3, 7, 20])
    parts = [[draw.choice([0, 1, 1, 2, 3, 8]) for _ in range(outputs)] for _ in range(inputs)]
    matrix = [[x / sum(row) for x in row] for row in parts if sum(row)]
    if len(matrix) < 2:
        matrix = [[0.5, 0.5], [0.25, 0.75]]
    survey = Shuffle(FiniteRandomizer(matrix), users)
    points = breakpoints(matrix)
    for epsilon in draw.sample(points, min(len(points), 7)):
        lower, upper = survey.delta_bounds(epsilon)
        assert 0 <= lower <= upper <= 1
        assert survey.attained_delta(epsilon) <= upper
