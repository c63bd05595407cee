"""Rounds of a sample of the users against exact enumeration of every dataset."""

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracles
from covering import covering
from shuffledp import (
    Accountant,
    Aggregate,
    FiniteRandomizer,
    Gaussian,
    Laplace,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    compare,
)
from shuffledp.central import GaussianNoise
from shuffledp.errors import InvalidParameter
from shuffledp.guarantee import best_effort
from shuffledp.mechanisms import PoissonSampled

Matrix = tuple[tuple[Fraction, ...], ...]


def matrix(*rows: str) -> Matrix:
    return tuple(tuple(Fraction(entry) for entry in row.split()) for row in rows)


MATRICES = {
    "two values": matrix("1/2 1/4 1/4", "1/8 5/8 1/4"),
    "excluded outputs": matrix("1/2 1/2 0", "1/4 1/4 1/2", "0 1/2 1/2"),
    "three values": matrix("4/7 1/7 1/7 1/7", "1/7 4/7 1/7 1/7", "1/4 1/4 1/4 1/4"),
}
ALPHAS = (Fraction(1), Fraction(17, 16), Fraction(5, 4), Fraction(2))


def pairs_of(rows: Matrix, users: int, sampling: str, senders: int) -> list[oracles.FractionPair]:
    if sampling == "fixed":
        law = partial(oracles.fixed_size_sample, rows, senders=senders)
    else:
        law = partial(oracles.poisson_sample, rows, rate=Fraction(senders, users))
    return oracles.neighbours(len(rows), users, law)


@pytest.mark.parametrize(
    ("sampled", "sampling", "name"),
    covering([(3, 1), (3, 2), (5, 2)], ["fixed", "poisson"], list(MATRICES)),
)
def test_one_sampled_round_against_every_dataset(
    sampled: tuple[int, int], sampling: str, name: str
) -> None:
    users, senders = sampled
    rows = MATRICES[name]
    randomizer = FiniteRandomizer([[float(p) for p in row] for row in rows])
    pairs = pairs_of(rows, users, sampling, senders)
    truths = [max(float(oracles.hockey_stick(pair, a)) for pair in pairs) for a in ALPHAS]
    for analysis in randomizer.analyses:
        round_ = Shuffle(randomizer, users, analysis, senders / users, sampling)
        uppers = round_.get_delta([math.log(alpha) for alpha in ALPHAS])
        for alpha, truth, upper in zip(ALPHAS, truths, uppers, strict=True):
            epsilon = math.log(alpha)
            assert truth <= upper * (1 + 1e-12)
            if alpha in ALPHAS[::3]:
                assert round_.attained_delta(epsilon) <= truth * (1 + 1e-12)


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_the_strong_adversary_of_a_sample_against_every_dataset(sampling: str) -> None:
    rows = matrix("2/3 1/6 1/6", "1/6 2/3 1/6", "1/6 1/6 2/3")
    pairs = pairs_of(rows, 5, sampling, 2)
    round_ = Shuffle(RandomizedResponse(3, gamma=0.5), 5, "strong", 0.4, sampling)
    for alpha in ALPHAS:
        truth = max(float(oracles.hockey_stick(pair, alpha)) for pair in pairs)
        assert truth <= round_.get_delta(math.log(alpha)) * (1 + 1e-12)
        assert round_.attained_delta(math.log(alpha)) <= truth * (1 + 1e-12)


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_two_sampled_rounds_against_every_dataset(sampling: str) -> None:
    """Composed twice, the second round's data free: the closed profile, not one order of it."""
    rows = MATRICES["two values"]
    randomizer = FiniteRandomizer([[float(p) for p in row] for row in rows])
    pairs = pairs_of(rows, 4, sampling, 2)
    for analysis in ("best", "blanket"):
        accountant = Accountant()
        accountant.compose(Shuffle(randomizer, 4, analysis, 0.5, sampling), rounds=2)
        alphas = (Fraction(17, 16), Fraction(3, 2))
        uppers = accountant.get_delta([math.log(alpha) for alpha in alphas])
        for alpha, upper in zip(alphas, uppers, strict=True):
            truth = oracles.adaptive_profile([pairs, pairs], alpha)
            assert float(truth) <= upper * (1 + 1e-12)


def views_of_sampled_clones(users: int, ratio: int, rate: Fraction) -> dict[Any, list[Fraction]]:
    """The laws of (senders, 0-clones, 1-clones, others who sent) under both values of the first
    user, if every user sends with probability `rate`: one user after the other."""
    share = Fraction(1, ratio + 1)
    silent, (zero, one, rest) = (0, 0, 0, 0), ((1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1))
    View = tuple[int, ...]
    laws: list[dict[View, Fraction]] = [
        {silent: 1 - rate, zero: rate * ratio * share, one: rate * share},
        {silent: 1 - rate, zero: rate * share, one: rate * ratio * share},
    ]
    other = {silent: 1 - rate, zero: rate * share, one: rate * share, rest: rate * (1 - 2 * share)}
    for _ in range(users - 1):
        for index, law in enumerate(laws):
            following: dict[View, Fraction] = {}
            for (view, mass), (step, chance) in itertools.product(law.items(), other.items()):
                key = tuple(a + b for a, b in zip(view, step, strict=True))
                following[key] = following.get(key, Fraction(0)) + mass * chance
            laws[index] = following
    return {view: [law.get(view, Fraction(0)) for law in laws] for view in {**laws[0], **laws[1]}}


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
@pytest.mark.parametrize(("users", "senders"), [(4, 1), (8, 2), (8, 4), (9, 6)])
def test_the_analyzed_pair_itself(users: int, senders: int, sampling: str) -> None:
    """Stronger clones of a sampled round, by adding up views; a fixed size is given its number."""
    rate, ratio = Fraction(senders, users), 4
    views = views_of_sampled_clones(users, ratio, rate)
    if sampling == "fixed":
        views = {view: pair for view, pair in views.items() if view[0] == senders}
    total = sum((p for p, _ in views.values()), Fraction(0))
    eps0 = math.log(ratio)
    round_ = Shuffle(PureLDP(eps0), users, "best", senders / users, sampling)
    amplified = Shuffle(PureLDP(eps0), users, "stronger-clones", senders / users)
    for alpha in (Fraction(9, 8), Fraction(3, 2), Fraction(5, 2)):
        gains = (max(p - alpha * q, Fraction(0)) for p, q in views.values())
        truth = float(sum(gains, Fraction(0)) / total)
        bounds = round_.delta_bounds(math.log(alpha))
        assert bounds.lower <= truth * (1 + 1e-12) + 1e-15
        assert truth * (1 - 1e-12) - 1e-15 <= bounds.upper <= truth * (1 + 1e-6) + 1e-15
        if sampling == "fixed":
            assert bounds.lower <= amplified.delta_bounds(math.log(alpha)).upper


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=3),
    st.integers(1, 6),
    st.integers(2, 12),
    st.floats(0.01, 0.99),
)
def test_one_analysis_is_not_above_the_theorem_for_any_mechanism(
    rows: list[list[int]], senders: int, times: int, share: float
) -> None:
    randomizer = FiniteRandomizer([[x / sum(row) for x in row] for row in rows])
    assume(randomizer.eps0 > 1e-6)  # some values differ
    epsilon = share * randomizer.eps0
    best, amplified = (
        Shuffle(randomizer, senders * times, analysis, 1 / times).delta_bounds(epsilon)
        for analysis in ("best", "blanket")
    )
    assert best.lower <= amplified.upper


def test_a_rate_of_one_is_the_plain_round() -> None:
    plain = Shuffle(PureLDP(2.0), users=1000)
    for sampling in ("fixed", "poisson"):
        sampled = Shuffle(PureLDP(2.0), 1000, "best", 1.0, sampling)
        assert sampled.epsilon_bounds(1e-6) == plain.epsilon_bounds(1e-6)


def test_the_figures_of_the_subsampled_protocol() -> None:
    """The theorem for sampled mechanisms on stronger clones, and both as one."""
    for rounds, epsilon in ((10, 0.0170), (10**4, 0.733)):
        found = []
        for analysis in ("stronger-clones", "best"):
            accountant = Accountant()
            accountant.compose(Shuffle(PureLDP(3.0), 10**5, analysis, 0.01), rounds=rounds)
            found.append(accountant.epsilon_bounds(1e-5))
            assert found[-1].upper <= 1.001 * found[-1].lower
        assert found[0].lower == pytest.approx(epsilon, rel=3e-3)
        assert found[1].upper < 0.92 * found[0].lower


def test_every_randomizer_can_be_sampled() -> None:
    for randomizer, sampling in (
        (RandomizedResponse(4, eps0=2.0), "fixed"),
        (RandomizedResponse(4, eps0=2.0), "poisson"),
        (Gaussian(2.0), "fixed"),
        (Laplace(1.0), "poisson"),
    ):
        round_ = Shuffle(randomizer, 200, "best", 0.1, sampling)
        sampled = round_.get_epsilon(1e-5, rtol=1e-2)
        assert 0 < sampled < Shuffle(randomizer, 20).get_epsilon(1e-5)
        assert round_.attained_epsilon(1e-5, rtol=1e-2) < sampled


def test_bad_samples_are_refused_in_one_sentence() -> None:
    with pytest.raises(InvalidParameter, match=r"sample_rate=0\.3 of users=5 is 1\.5"):
        Shuffle(PureLDP(1.0), users=5, sample_rate=0.3)
    with pytest.raises(InvalidParameter, match="outside"):
        Shuffle(PureLDP(1.0), users=5, sample_rate=0.0)
    with pytest.raises(InvalidParameter, match="sampling='wor' is unknown"):
        Shuffle(PureLDP(1.0), users=5, sampling="wor")


def test_compare_lists_every_bound_once_and_ours_is_the_smallest() -> None:
    from shuffledp.published import BOUNDS

    for randomizer, rate in (
        (PureLDP(0.4), 1.0),
        (PureLDP(3.0), 0.01),
    ):
        table = compare(Shuffle(randomizer, 10_000, sample_rate=rate), 3, 1e-5)
        assert sorted(row.name for row in table.rows) == sorted(bound.name for bound in BOUNDS)
        proven = {bound.name for bound in BOUNDS if bound.proven}
        for row in table.rows:
            assert (row.epsilon is None) == (row.ratio is None)
            assert row.epsilon is not None or row.reason
            if row.epsilon is not None and row.name in proven:
                assert row.epsilon >= table.ours.lower
        assert "Does not apply" in str(table)


@pytest.mark.parametrize("rate", [1.7763038857898437e-06, 5.843424168318577e-09, 0.5])
def test_losses_beyond_the_largest_supported_are_not_infinite(rate: float) -> None:
    """The loss of the noise alone is 1000, give or take 45: nothing is left of it at 1e5.

    From above, losses beyond 600 count as infinite. From below they must not, however the place is
    rounded at which the noise alone is evaluated.
    """
    noise = GaussianNoise(0.0224, neighbours="remove")
    sampled = PoissonSampled(noise, rate)
    assert best_effort(sampled.delta_bounds, 1e5).lower == sampled.attained_delta(1e5) == 0
    # most of the sampled mass is at a loss of about 1000 + log(rate)
    bounds = best_effort(sampled.epsilon_bounds, rate / 2)
    assert 500 < bounds.lower <= 1000 + math.log(rate) + 10
    assert bounds.upper >= 1000 + math.log(rate) - 10


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_sums_of_samples_beyond_the_largest_supported_loss(sampling: str) -> None:
    users = [3, 7, 10, 47]
    for each in users:
        summed = Aggregate(Gaussian(0.0224), each, sample_rate=1 / each, sampling=sampling)
        assert best_effort(summed.delta_bounds, 1e5).lower == 0
