"""Rounds of a sample of the users against exact enumeration of every dataset."""

import itertools
import math
from fractions import Fraction
from functools import partial

import pytest

import oracles
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    Gaussian,
    InvalidParameter,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    compare,
)

MATRIX = (
    (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
    (Fraction(1, 8), Fraction(5, 8), Fraction(1, 4)),
)
FLOATS = [[float(p) for p in row] for row in MATRIX]
ALPHAS = (Fraction(1), Fraction(17, 16), Fraction(5, 4), Fraction(2))


def pairs_of(users: int, sampling: str, senders: int) -> list[oracles.FractionPair]:
    if sampling == "fixed":
        law = partial(oracles.fixed_size_sample, MATRIX, senders=senders)
    else:
        law = partial(oracles.poisson_sample, MATRIX, rate=Fraction(senders, users))
    return oracles.neighbours(2, users, law)


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
@pytest.mark.parametrize(("users", "senders"), [(3, 2), (4, 2), (5, 3), (6, 2)])
@pytest.mark.parametrize("analysis", ["blanket", "stronger-clones", "clones"])
def test_one_sampled_round_against_every_dataset(
    users: int, senders: int, sampling: str, analysis: str
) -> None:
    round_ = Shuffle(FiniteRandomizer(FLOATS), users, analysis, senders / users, sampling)
    pairs = pairs_of(users, sampling, senders)
    for alpha in ALPHAS:
        truth = max(float(oracles.hockey_stick(pair, alpha)) for pair in pairs)
        epsilon = math.log(alpha)
        assert truth <= round_.get_delta(epsilon) * (1 + 1e-12)
        assert round_.attained_delta(epsilon) <= truth * (1 + 1e-12)


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_two_sampled_rounds_against_every_dataset(sampling: str) -> None:
    """Composed twice, the second round's data free: the closed profile, not one order of it."""
    pairs = pairs_of(4, sampling, 2)
    accountant = Accountant()
    accountant.compose(Shuffle(FiniteRandomizer(FLOATS), 4, "best", 0.5, sampling), rounds=2)
    for alpha in (Fraction(17, 16), Fraction(3, 2)):
        truth = oracles.adaptive_profile([pairs, pairs], alpha)
        assert float(truth) <= accountant.get_delta(math.log(alpha)) * (1 + 1e-12)


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(1, 2)])
def test_poisson_against_the_mixture_over_counts(rate: Fraction) -> None:
    """The bound itself, E[(t/n) f_t(1 + (alpha - 1) n/t)], with the exact stronger clones."""
    users, ratio = 8, 4
    eps0 = math.log(ratio)
    round_ = Shuffle(PureLDP(eps0), users, "best", float(rate), "poisson")
    for alpha in (Fraction(9, 8), Fraction(3, 2)):
        truth = Fraction(0)
        for t in range(1, users + 1):
            chance = math.comb(users, t) * rate**t * (1 - rate) ** (users - t)
            share, inner = Fraction(t, users), 1 + (alpha - 1) * users / t
            p, total = Fraction(1, ratio + 1), Fraction(0)
            for a, b in itertools.product(range(t + 1), repeat=2):
                score = (ratio - inner) * a + (1 - inner * ratio) * b
                if a + b <= t and score > 0:
                    ways = math.comb(t, a) * math.comb(t - a, b)
                    total += score * ways * p ** (a + b) * (1 - 2 * p) ** (t - a - b)
            truth += chance * share * total / t
        bounds = round_.delta_bounds(math.log(alpha))
        assert bounds.lower <= float(truth) * (1 + 1e-9)
        assert float(truth) * (1 - 1e-9) <= bounds.upper <= 1.01 * float(truth)


def test_a_rate_of_one_is_the_plain_round() -> None:
    plain = Shuffle(PureLDP(2.0), users=1000)
    for sampling in ("fixed", "poisson"):
        sampled = Shuffle(PureLDP(2.0), 1000, "best", 1.0, sampling)
        assert sampled.epsilon_bounds(1e-6) == plain.epsilon_bounds(1e-6)


def test_the_figures_of_the_subsampled_protocol() -> None:
    round_ = Shuffle(PureLDP(3.0), users=10**5, sample_rate=0.01)
    for rounds, epsilon in ((10, 0.0170), (1000, 0.209), (10**4, 0.733)):
        accountant = Accountant()
        accountant.compose(round_, rounds=rounds)
        bounds = accountant.epsilon_bounds(1e-5)
        assert bounds.lower == pytest.approx(epsilon, rel=3e-3)
        assert bounds.upper <= 1.001 * bounds.lower


def test_every_randomizer_can_be_sampled() -> None:
    for randomizer, sampling in (
        (RandomizedResponse(4, eps0=2.0), "fixed"),
        (RandomizedResponse(4, eps0=2.0), "poisson"),
        (Gaussian(2.0), "fixed"),
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
        (RandomizedResponse(4, eps0=2.0), 1.0),
    ):
        table = compare(Shuffle(randomizer, 100_000, sample_rate=rate), 10, 1e-5)
        assert sorted(row.name for row in table.rows) == sorted(bound.name for bound in BOUNDS)
        proven = {bound.name for bound in BOUNDS if bound.proven}
        for row in table.rows:
            assert (row.epsilon is None) == (row.ratio is None)
            assert row.epsilon is not None or row.reason
            if row.epsilon is not None and row.name in proven:
                assert row.epsilon >= table.ours.lower
        assert "Does not apply" in str(table)
