"""Users who collude, drop out or send several messages, against every dataset and every sample."""

import math
from fractions import Fraction
from typing import Any

import pytest

import oracles
from covering import covering
from shuffledp import Accountant, FiniteRandomizer, PureLDP, RandomizedResponse, Shuffle

F = Fraction
BINARY = [[F(4, 5), F(1, 5)], [F(1, 5), F(4, 5)]]
THREE = [[F(1, 2), F(3, 10), F(1, 5)], [F(1, 5), F(3, 5), F(1, 5)], [F(1, 4), F(1, 4), F(1, 2)]]
ZEROS = [[F(3, 4), F(1, 4), F(0)], [F(1, 4), F(1, 2), F(1, 4)], [F(0), F(1, 4), F(3, 4)]]
EPSILONS = (0.0, 0.3, 2.5)


def hold_against(pairs: list[oracles.FractionPair], round_: Shuffle) -> None:
    """attained <= the truth on all datasets <= upper."""
    uppers = round_.get_delta(EPSILONS)  # asked at once, bundles are composed once
    for epsilon, upper in zip(EPSILONS, uppers, strict=True):
        alpha = F(math.exp(epsilon))
        truth = float(max(oracles.hockey_stick(pair, alpha) for pair in pairs))
        assert truth <= upper * (1 + 1e-12), (round_, epsilon)
        assert round_.attained_delta(epsilon) <= truth * (1 + 1e-12), (round_, epsilon)


def exact(matrix: list[list[Fraction]]) -> FiniteRandomizer:
    return FiniteRandomizer([[float(value) for value in row] for row in matrix])


SIZES = [(3, 2, 1), (4, 2, 2), (5, 2, 2)]


@pytest.mark.parametrize(
    ("matrix", "users", "senders", "silent"),
    [(matrix, *size) for matrix, size in covering([BINARY, THREE, ZEROS], SIZES)]
    + [(BINARY, 6, 3, 3)],
)
def test_fixed_size_samples_with_silent_users(
    matrix: list[list[Fraction]], users: int, senders: int, silent: int
) -> None:
    draws = oracles.fixed_size(users, senders)
    pairs = oracles.neighbouring_views(matrix, users, draws, silent)
    for colluding in {0, 1, silent}:
        round_ = Shuffle(
            exact(matrix),
            users,
            sample_rate=senders / users,
            colluding=colluding,
            dropouts=silent - colluding,
        )
        hold_against(pairs, round_)


@pytest.mark.parametrize("matrix", [BINARY, THREE, ZEROS])
def test_full_and_poisson_rounds_with_silent_users(matrix: list[list[Fraction]]) -> None:
    users, silent = 4, 1
    pairs = oracles.neighbouring_views(matrix, users, oracles.everybody(users), silent)
    hold_against(pairs, Shuffle(exact(matrix), users, colluding=silent))
    pairs = oracles.neighbouring_views(matrix, users, oracles.poisson(users, F(1, 2)), silent)
    sampled: dict[str, Any] = {"sample_rate": 0.5, "sampling": "poisson"}
    hold_against(pairs, Shuffle(exact(matrix), users, dropouts=silent, **sampled))


def test_fewer_users_are_no_substitute_for_colluding_ones() -> None:
    """Colluders know who of them was drawn, hence how many honest users were."""
    ratio = F(math.exp(2.0))
    matrix = [[ratio / (ratio + 1), 1 / (ratio + 1)], [1 / (ratio + 1), ratio / (ratio + 1)]]
    pairs = oracles.neighbouring_views(matrix, 4, oracles.fixed_size(4, 2), silent=2)
    truth = float(max(oracles.hockey_stick(pair, F(math.exp(1.5))) for pair in pairs))
    assert truth == pytest.approx(0.0509, abs=1e-4)
    response = RandomizedResponse(2, eps0=2.0)
    assert Shuffle(response, 2, sample_rate=0.5).get_delta(1.5) == 0
    bounds = Shuffle(response, 4, sample_rate=0.5, colluding=2).delta_bounds(1.5)
    assert bounds.lower <= truth * (1 + 1e-12)
    assert truth <= bounds.upper <= truth * (1 + 1e-6)


@pytest.mark.parametrize("analysis", ["best", "blanket", "stronger-clones", "clones", "strong"])
def test_every_analysis_with_colluding_users(analysis: str) -> None:
    response = RandomizedResponse(2, gamma=0.4)
    pairs = oracles.neighbouring_views(BINARY, 5, oracles.fixed_size(5, 3), silent=2)
    for epsilon in EPSILONS:
        alpha = F(math.exp(epsilon))
        truth = float(max(oracles.hockey_stick(pair, alpha) for pair in pairs))
        upper = Shuffle(response, 5, analysis, sample_rate=0.6, colluding=2).get_delta(epsilon)
        assert truth <= upper * (1 + 1e-12)


def test_two_rounds_with_colluding_users() -> None:
    pairs = oracles.neighbouring_views(BINARY, 4, oracles.fixed_size(4, 2), silent=1)
    accountant = Accountant()
    accountant.compose(Shuffle(exact(BINARY), 4, sample_rate=0.5, colluding=1), rounds=2)
    for epsilon in EPSILONS:
        truth = float(oracles.adaptive_profile([pairs, pairs], F(math.exp(epsilon))))
        assert truth <= accountant.get_delta(epsilon) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("matrix", "users", "messages"),
    [(BINARY, 1, 3), (BINARY, 3, 2), (BINARY, 2, 3), (THREE, 2, 2), (ZEROS, 2, 2)],
)
def test_bundles_of_messages(matrix: list[list[Fraction]], users: int, messages: int) -> None:
    pairs = oracles.neighbouring_views(matrix, users, oracles.everybody(users), 0, messages)
    hold_against(pairs, Shuffle(exact(matrix), users, messages=messages))


@pytest.mark.parametrize(("matrix", "silent"), [(BINARY, 1), (ZEROS, 0)])
def test_bundles_of_sampled_users(matrix: list[list[Fraction]], silent: int) -> None:
    users, messages = 3, 2
    for senders in (1, 2) if silent else (2,):
        draws = oracles.fixed_size(users, senders)
        pairs = oracles.neighbouring_views(matrix, users, draws, silent, messages)
        sampled: dict[str, Any] = {"sample_rate": senders / users, "messages": messages}
        hold_against(pairs, Shuffle(exact(matrix), users, colluding=silent, **sampled))
    draws = oracles.poisson(users, F(1, 4))
    pairs = oracles.neighbouring_views(matrix, users, draws, silent, messages)
    sampled = {"sample_rate": 0.25, "sampling": "poisson", "messages": messages}
    hold_against(pairs, Shuffle(exact(matrix), users, colluding=silent, **sampled))


def test_a_user_with_three_messages_is_not_three_users() -> None:
    """One message of 3,000 is hidden far better than the three of one user together."""
    survey = Shuffle(PureLDP(eps0=4.0), users=3_000)
    assert survey.get_epsilon(1e-6) < 0.83
    bundled = Shuffle(PureLDP(eps0=4.0), users=1_000, messages=3)
    assert bundled.get_epsilon(1e-6) > 2.6
    # and the bound for any group, from that of one message
    epsilon = 2.81
    group = sum(math.exp(i * epsilon / 3) * survey.get_delta(epsilon / 3) for i in range(3))
    assert group < 1e-6 < bundled.get_delta(2.6)
