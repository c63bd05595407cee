"""The promised width of the bracket over the whole promised range."""

from itertools import product

import pytest

from covering import covering
from shuffledp import Accountant, PureLDP, Shuffle, UnaryEncoding
from shuffledp.bounds import Bounds


def assert_narrow(bounds: Bounds[float]) -> None:
    assert 0 <= bounds.lower <= bounds.upper
    assert bounds.upper - bounds.lower <= max(1e-3 * bounds.upper, 1e-6)


USERS = (1, 2, 1000, 10**6, 10**10)
EPS0 = (1e-3, 0.1, 1.0, 4.0, 10.0, 20.0)
ROUNDS = (1, 2, 100, 10**4)


CASES = covering(USERS, EPS0, ROUNDS, every=6)
CORNERS = set(product(USERS[:: len(USERS) - 1], EPS0[:: len(EPS0) - 1], ROUNDS[:: len(ROUNDS) - 1]))
#: Extreme deltas in the corners, and else in turn with a usual one; of the last corner the smallest
#: delta is asked after a million rounds.
ASKED = [
    (case, (0.5, 1e-100) if case in CORNERS or i % 2 else (1e-6,)) for i, case in enumerate(CASES)
]
ASKED[-1] = (ASKED[-1][0], (0.5,))


@pytest.mark.parametrize(("round_of", "deltas"), ASKED)
def test_bracket_over_the_range(
    round_of: tuple[int, float, int], deltas: tuple[float, ...]
) -> None:
    users, eps0, rounds = round_of
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(eps0), users), rounds=rounds)
    for delta in deltas:
        assert_narrow(accountant.epsilon_bounds(delta))


@pytest.mark.parametrize(
    ("users", "eps0", "delta"),
    [
        (1, 20.0, 1e-9),
        (10**10, 1e-3, 0.5),
        (10**10, 20.0, 1e-100),
    ],
)
def test_bracket_after_a_million_rounds(users: int, eps0: float, delta: float) -> None:
    """The corners of the range; one user with little loss is in test_fuzz.py."""
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(eps0), users), rounds=10**6)
    assert_narrow(accountant.epsilon_bounds(delta))


@pytest.mark.parametrize(("users", "eps0"), covering([1, 100, 10**12], [1e-6, 50.0, 200.0]))
def test_limits_of_the_parameters(users: int, eps0: float) -> None:
    survey = Shuffle(PureLDP(eps0), users)
    accountant = Accountant()
    accountant.compose(survey, rounds=3)
    for delta in (0.1, 1e-12, 1e-280):
        assert_narrow(survey.epsilon_bounds(delta))
    for delta in (0.1, 1e-280) if users < 10**12 else (1e-12,):
        assert_narrow(accountant.epsilon_bounds(delta))


def test_laws_with_tiny_masses_are_compared_without_overflow() -> None:
    """Of eight bits that are next to certain, at an epsilon beyond the range of a double."""
    bits = UnaryEncoding(8, 200.0)
    twice = Shuffle(bits, 2, sample_rate=0.69, sampling="poisson", messages=2)
    # whoever takes part is seen to, up to e^-100
    assert 0 <= twice.attained_delta(300.0) <= 0.69 <= twice.get_delta(0.0, rtol=0.1)


def test_tiny_deltas_are_never_reported_as_zero() -> None:
    """Where the true delta underflows, the upper value stays positive: pure DP it is not."""
    survey = Shuffle(PureLDP(1.0), users=10**6)
    accountant = Accountant()
    accountant.compose(survey, rounds=20)
    assert 0 < survey.get_delta(0.999) <= 1e-280
    assert 0 < accountant.get_delta(19.999) <= 1e-280
