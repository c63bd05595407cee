"""Rounds of binary messages: the truth over all datasets, from both sides."""

import math
from fractions import Fraction

import numpy as np
import pytest

import oracles
from covering import covering
from oracles import bits
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    adversaries,
    verify,
)
from shuffledp.bounds.one_round import epsilon_bounds
from shuffledp.profiles.base import NothingLost
from shuffledp.profiles.binary_profile import BinaryProfile
from shuffledp.profiles.parts import round_profile
from shuffledp.randomizers import SubsetSelection

PAIRS = [(0.25, 0.75), (0.02, 0.95), (0.001, 0.3), (0.7, 0.99), (0.0, 0.4), (0.3, 1.0), (0.0, 1.0)]


def matrix(*ones: float) -> FiniteRandomizer:
    return FiniteRandomizer([[1 - one, one] for one in ones])


def rational(randomizer: FiniteRandomizer) -> tuple[Fraction, ...]:
    rows = ([Fraction(x) for x in row] for row in randomizer.matrix)
    return tuple(one / (zero + one) for zero, one in rows)


@pytest.mark.parametrize(("pair", "users"), covering(PAIRS, [1, 2, 25]))
def test_bracket_of_the_truth_over_all_datasets(pair: tuple[float, float], users: int) -> None:
    q, p = pair
    randomizer = matrix(p, q)
    round_ = Shuffle(randomizer, users)
    profile = round_.profile
    assert isinstance(profile, BinaryProfile)
    epsilon = profile.max_loss * np.array([0.0, 0.01, 0.1, 0.4, 0.9])
    found = profile.sampler(680.0, 1e-6)(epsilon)
    for i, e in enumerate(epsilon.tolist()):
        below, above = bits.alphas(e)
        ones = rational(randomizer)
        least, most = (bits.profile(ones[0], ones[1], users, alpha) for alpha in (above, below))
        assert found.lower[i] <= most
        assert least <= found.upper[i]
        assert found.upper[i] - found.lower[i] <= 2e-6 * float(most) + 1e-13
        assert round_.attained_delta(e) <= most


@pytest.mark.parametrize("users", [1, 2, 6])
@pytest.mark.parametrize(("q", "p"), [(0.0, 0.25), (0.125, 1.0), (0.0, 1.0), (0.5, 1.0)])
def test_messages_that_reveal_a_value(q: float, p: float, users: int) -> None:
    """delta is p - q at every epsilon: asked about at it, just above it and just below."""
    round_ = Shuffle(matrix(p, q), users)
    level = p - q
    for alpha in (1, 2, 10**6):
        assert bits.profile(Fraction(p), Fraction(q), users, Fraction(alpha)) == Fraction(level)
        assert round_.delta_bounds(math.log(alpha)) == (level, level)
    if level < 1:
        assert round_.epsilon_bounds(level) == (0.0, 0.0)
        assert round_.epsilon_bounds(math.nextafter(level, 1)) == (0.0, 0.0)
    assert round_.epsilon_bounds(math.nextafter(level, 0)) == (math.inf, math.inf)


@pytest.mark.parametrize("users", [1, 3, 20])
def test_probabilities_that_hardly_differ(users: int) -> None:
    """They are exact, so that their difference is known to all its digits."""
    p, q = 0.5, 0.5 - 2.0**-45
    round_ = Shuffle(matrix(p, q), users)
    for share in (0.0, 0.5, 0.9):
        epsilon = share * 2.0**-44
        bounds = round_.delta_bounds(epsilon)
        below, above = bits.alphas(epsilon)
        most, least = (bits.profile(Fraction(p), Fraction(q), users, a) for a in (below, above))
        assert bounds.lower <= most
        assert least <= bounds.upper


def test_values_between_the_extremes_do_not_matter() -> None:
    """H is convex in the law of each user: all datasets of three values, enumerated."""
    randomizer = matrix(0.875, 0.5, 0.0625)
    rows = [(1 - one, one) for one in rational(randomizer)]
    for users in (2, 3, 4):
        delta = Shuffle(randomizer, users).delta_bounds(math.log(2), rtol=1e-6)
        exact = oracles.true_profile(rows, users, Fraction(2))
        assert delta.lower <= exact * (1 + Fraction(1, 10**12))
        assert exact <= delta.upper * (1 + 1e-12)


def test_figures_of_ten_thousand_users() -> None:
    """Computed independently, one m after the other."""
    survey = Shuffle(RandomizedResponse(2, eps0=4.0), 10_000)
    known = {0.05: 1.12204e-2, 0.2: 1.336647e-4, 0.3146431: 1.000001e-6, 0.5: 4.2192e-11}
    for epsilon, delta in known.items():
        bounds = survey.delta_bounds(epsilon, rtol=1e-6)
        assert bounds.lower <= delta * (1 + 1e-5)
        assert delta * (1 - 1e-5) <= bounds.upper
        assert bounds.upper <= 1.0002 * bounds.lower
    assert 0.3146 < survey.epsilon_bounds(1e-6).lower < survey.get_epsilon(1e-6) < 0.3147
    survey = Shuffle(RandomizedResponse(2, eps0=5.0), 100_000)
    assert 0.2119 < survey.get_epsilon(1e-9) < 0.2120


@pytest.mark.parametrize("users", [10**6, 10**12])
@pytest.mark.parametrize("eps0", [0.1, 3.0, 8.0, 16.0])
def test_never_above_the_blanket_nor_below_homogeneous_datasets(users: int, eps0: float) -> None:
    response = RandomizedResponse(2, eps0=eps0)
    bounds = Shuffle(response, users).epsilon_bounds(1e-9)
    assert bounds.upper <= Shuffle(response, users, "blanket").get_epsilon(1e-9) * (1 + 1e-4)
    one_value = round_profile(response.attained_law(), users)
    assert epsilon_bounds(one_value, 1e-9, 1e-4).lower <= bounds.upper


def test_extreme_depths() -> None:
    for users, eps0 in ((10**10, 2.0), (10**6, 6.0)):
        bounds = Shuffle(RandomizedResponse(2, eps0=eps0), users).epsilon_bounds(1e-280)
        assert 0 < bounds.lower <= bounds.upper <= 1.0001 * bounds.lower


def test_infinite_losses_and_none() -> None:
    sure = Shuffle(matrix(0.5, 0.0), 100)  # who sends 1 while nobody else may
    assert sure.epsilon_bounds(0.1) == (math.inf, math.inf)
    assert sure.delta_bounds(50.0).upper == pytest.approx(0.5, rel=1e-9)
    assert isinstance(Shuffle(matrix(0.5, 0.5), 100).profile, NothingLost)
    rare = Shuffle(FiniteRandomizer([[1e-20, 1], [0, 1]]), 5)  # 1 - 1e-20 is rounded to 1
    assert rare.delta_bounds(3.0).lower == pytest.approx(1e-20, rel=1e-9)
    assert Shuffle(matrix(1.0, 0.0), 3).delta_bounds(1.0).lower == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("rounds", [2, 5])
@pytest.mark.parametrize(("q", "p"), [(0.25, 0.75), (0.0625, 0.5), (0.5, 0.96875)])
def test_composed_rounds_against_products(q: float, p: float, rounds: int) -> None:
    """Every pair of datasets repeated; of one user the composition is known exactly."""
    for users in (1, 2, 3):
        accountant = Accountant().compose(Shuffle(matrix(p, q), users), rounds)
        for epsilon in (0.25, 0.75):
            above = bits.alphas(epsilon)[1]
            bounds = accountant.delta_bounds(epsilon)
            best = Fraction(0)
            for m in range(users):
                for pair in ((Fraction(p), Fraction(q)), (1 - Fraction(q), 1 - Fraction(p))):
                    best = max(best, _product(bits.neighbours(*pair, m, users - 1), rounds, above))
            assert best <= bounds.upper
            if users == 1 and p == 1 - q:
                assert bounds.lower <= best * (1 + Fraction(1, 10**9))
                assert bounds.upper <= best * (1 + Fraction(1, 1000))


def _product(laws: tuple[tuple[int, ...], ...], rounds: int, alpha: Fraction) -> Fraction:
    pairs = {(1, 1): 1}
    for _ in range(rounds):
        new: dict[tuple[int, int], int] = {}
        for (x, y), count in pairs.items():
            for u, v in zip(*laws, strict=True):
                key = (x * u, y * v)
                new[key] = new.get(key, 0) + count
        pairs = new
    total = sum(laws[0]) ** rounds
    gains = (n * max(x - alpha * y, Fraction(0)) for (x, y), n in pairs.items())
    return Fraction(sum(gains, Fraction(0)), total)


def test_bundles_of_messages_are_composed() -> None:
    response = RandomizedResponse(2, eps0=1.0)
    bundle = Shuffle(response, 300, messages=3).epsilon_bounds(1e-6)
    rounds = Accountant().compose(Shuffle(response, 300), 3).epsilon_bounds(1e-6)
    assert bundle.lower <= rounds.upper
    assert rounds.lower <= bundle.upper
    assert bundle.upper < Shuffle(response, 300, "blanket", messages=3).get_epsilon(1e-6)


def test_colluding_users_leave_a_smaller_round() -> None:
    response = RandomizedResponse(2, eps0=2.0)
    assert Shuffle(response, 500, colluding=60, dropouts=40).get_epsilon(1e-6) == (
        Shuffle(response, 400).get_epsilon(1e-6)
    )


def test_one_of_two_values_is_randomized_response() -> None:
    one = Shuffle(SubsetSelection(2, 1, eps0=2.0), 1000)
    assert one.explained.name == "exact"
    assert one.get_epsilon(1e-6) == pytest.approx(
        Shuffle(RandomizedResponse(2, eps0=2.0), 1000).get_epsilon(1e-6), rel=1e-6
    )
    assert Shuffle(UnaryEncoding(2, eps0=2.0), 1000).explained.name == "blanket"


def test_bundles_of_a_sample() -> None:
    response = RandomizedResponse(2, eps0=1.0)
    sampled = Shuffle(response, 300, sample_rate=0.5, messages=2)
    assert sampled.get_epsilon(1e-4) < Shuffle(response, 300, messages=2).get_epsilon(1e-4)
    assert sampled.explained.name == "exact"


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_samples_as_one_are_those_of_the_blanket(sampling: str) -> None:
    response = RandomizedResponse(2, eps0=2.0)
    options = {"sample_rate": 0.2, "sampling": sampling}
    best = Shuffle(response, 1000, **options)  # type: ignore[arg-type]
    assert best.explained.name == "blanket"
    blanket = Shuffle(matrix(*[1 / (1 + math.exp(s * 2)) for s in (-1, 1)]), 1000, **options)  # type: ignore[arg-type]
    assert best.get_epsilon(1e-6) == pytest.approx(blanket.get_epsilon(1e-6), rel=1e-6)


def test_named_exact_is_amplified_by_the_theorem_for_samples() -> None:
    response = RandomizedResponse(2, eps0=2.0)
    sampled = Shuffle(response, 1000, "exact", sample_rate=0.2)
    assert sampled.explained.name == "exact"
    full = Shuffle(response, 200, "exact")
    magnified = math.log1p(math.expm1(0.1) / 0.2)
    assert sampled.get_delta(0.1) == pytest.approx(0.2 * full.get_delta(magnified), rel=1e-3)


def test_the_truth_is_attained_and_the_ladder_ends_there() -> None:
    response = RandomizedResponse(2, eps0=4.0)
    found = {row.analysis: row for row in adversaries(response, 10_000, 1e-6)}
    assert found["exact"].lower <= found["attained"].lower * (1 + 1e-5)
    assert found["attained"].lower <= (found["exact"].upper or 0)
    assert found["best"] == found["exact"]._replace(analysis="best")
    assert verify(RandomizedResponse(2, eps0=1.0), 4).holds
