"""Shares of integer noise: the laws that are drawn are those that were analysed, digit by digit."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from covering import covering
from oracles import integer_noise as oracle
from shuffledp import Aggregate, audit, simulate
from shuffledp.clients import Counts, Source
from shuffledp.clients.integer_shares import (
    CoinsShare,
    DiscreteGaussianShare,
    PolyaShare,
    SkellamShare,
    _poisson,
    _polya,
    discrete_laplace,
    occurs,
)
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import NoiseShares

KINDS: list[dict[str, Any]] = [
    {"discrete_gaussian": 0.4},
    {"discrete_gaussian": 6.5},
    {"skellam": 0.7},
    {"skellam": 80.0},
    {"binomial": 1},
    {"binomial": 21},
    {"discrete_laplace": 2.5, "complete": 5},
]


class Bits(Source):
    """Words that were chosen, then random ones."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(np.random.default_rng(5))
        self._words = iter(words)

    def words(self, size: int) -> Any:
        chosen = list(itertools.islice(self._words, size))
        return np.array(chosen, dtype=np.uint64) if chosen else super().words(size)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(355, 113)])
def test_events_are_decided_exactly(x: Fraction) -> None:
    """Beside 2^64 e^-x the float decides nothing, and the next 64 bits do."""
    with mpmath.workdps(80):
        scaled = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * 2**64
        word = min(int(scaled), 2**64 - 1)
        part = int((scaled - word) * 2**64)
        for more, expected in ((max(part - 2, 0), True), (min(part + 2, 2**64 - 1), x == 0)):
            found = occurs(Bits([word, more]), np.array([float(x)]), lambda i: x)
            assert found[0] == expected
        for near in (-3, -1, 1, 3):
            if 0 <= word + near < 2**64:
                found = occurs(Bits([word + near]), np.array([float(x)]), lambda i: x)
                assert found[0] == (near < 0 or x == 0)


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(1001, 10)])
def test_kept_candidates_are_discrete_gaussian(sigma: Fraction) -> None:
    """e^(-y/t) e^-exponent(y) is e^(-y^2/(2 sigma^2)) times a constant, as fractions."""
    share = DiscreteGaussianShare(sigma)
    step = math.floor(sigma) + 1
    constants = {
        Fraction(y, step) + share.exponent(y) - Fraction(y * y) / (2 * sigma**2) for y in range(50)
    }
    assert len(constants) == 1


def test_small_laws_in_many_digits() -> None:
    """Distribution functions to 2^-128, of the parts of which shares are differences."""
    with mpmath.workdps(70):
        mean = mpmath.mpf(3) / 4
        poisson = (mpmath.exp(-mean) * mean**j / mpmath.factorial(j) for j in itertools.count())
        theta, shape = mpmath.exp(-1 / mpmath.mpf(2.5)), mpmath.mpf(1) / 5
        polya = (
            (1 - theta) ** shape * theta**j * mpmath.binomial(j + shape - 1, j)
            for j in itertools.count()
        )
        for inversion, masses in (
            (_poisson(Fraction(3, 4)), poisson),
            (_polya(Fraction(5, 2), 5), polya),
        ):
            total = mpmath.mpf(0)
            steps = itertools.islice(inversion.steps(128), 40)
            for (low, high), mass in zip(steps, masses, strict=False):
                total += mass
                assert low <= total * 2**128 <= high <= low + 2


@pytest.mark.parametrize("given", KINDS, ids=repr)
def test_goodness_of_fit(given: dict[str, Any]) -> None:
    """Against masses from the definition: Pearson's statistic of 10^5 shares."""
    shares, size = NoiseShares(**given, largest=1), 100_000
    drawn = shares.randomize(np.zeros(size, dtype=int), rng=np.random.default_rng(7))
    with mpmath.workdps(20):
        match given:
            case {"discrete_gaussian": sigma}:
                law = oracle.discrete_gaussian(sigma, 60)
            case {"skellam": mu}:
                law = oracle.skellam(mu, 90)
            case {"binomial": coins}:
                law = oracle.coins(coins)
            case {"discrete_laplace": scale, "complete": complete}:
                law = oracle.polya_difference(1 / complete, scale, 60)
    first = 0 if "binomial" in given else -(len(law) // 2)
    expected = size * np.array([float(mass) for mass in law])
    seen = np.bincount(drawn - first, minlength=len(law))
    common = expected > 20
    rest = seen[~common].sum() - expected[~common].sum()
    statistic = ((seen - expected)[common] ** 2 / expected[common]).sum()
    degrees = common.sum() + 1
    assert len(seen) == len(law) and abs(rest) < 6 * math.sqrt(expected[~common].sum() + 25)
    assert statistic < degrees + 6 * math.sqrt(2 * degrees)


def test_discrete_laplace_candidates() -> None:
    drawn = discrete_laplace(Source(np.random.default_rng(3)), 100_000, 3)
    theta = math.exp(-1 / 3)
    for x in range(-4, 5):
        share = (1 - theta) / (1 + theta) * theta ** abs(x)
        assert abs((drawn == x).mean() - share) < 6 * math.sqrt(share / 100_000)


@pytest.mark.parametrize("given", KINDS, ids=repr)
def test_estimates_are_unbiased_and_intervals_cover(given: dict[str, Any]) -> None:
    rng, users = np.random.default_rng(11), 400
    values = np.repeat([0, 1, 2], [200, 150, 50])
    histogram, total = NoiseShares(**given, k=3), NoiseShares(**given, largest=2)
    covered, errors = 0, []
    sent = [  # of all repetitions at once
        np.split(shares.randomize(np.tile(values, 100), rng=rng), 100)
        for shares in (histogram, total)
    ]
    for columns, numbers in zip(*sent, strict=True):
        found = histogram.estimate(columns)
        errors.append((found.counts - [200, 150, 50]) / found.standard_errors)
        low, high = total.estimate(numbers).interval(0.95)
        covered += int(low <= values.mean() <= high)
    assert abs(np.mean(errors)) < 6 / math.sqrt(300) and abs(np.var(errors) - 1) < 0.5
    assert covered >= 84
    assert histogram.count_variance(users) == pytest.approx(found.standard_errors[0] ** 2)
    assert total.mean_variance(users) * users**2 == pytest.approx(histogram.count_variance(users))


def test_messages_counts_and_users_without_a_value() -> None:
    histogram = NoiseShares(binomial=2, k=3)
    messages = histogram.randomize([0, -1, 2], rng=np.random.default_rng(1))
    assert messages.shape == (3, 3) and histogram.bits == 192
    counts = histogram.count(messages)
    assert counts == Counts(3, messages.sum(axis=0)) == sum(map(histogram.count, messages[:, None]))
    modulus = 2**16  # what an aggregator may do to the sums, as long as they do not wrap around
    assert ((messages % modulus).sum(axis=0) % modulus == counts.tally).all()
    total = NoiseShares(skellam=0.2, largest=9)
    assert np.ndim(total.randomize(4)) == 0 and total.bits == 64
    for wrong in ([10], [-1], [0.5]):
        with pytest.raises(InvalidParameter, match="values"):
            total.randomize(wrong)
    with pytest.raises(InvalidParameter, match="values"):
        histogram.randomize([3])
    with pytest.raises(InvalidParameter, match="the most that a client draws"):
        NoiseShares(skellam=2e4, k=2).randomize([0])
    with pytest.raises(InvalidParameter, match="0 messages"):
        total.estimate([])


@pytest.mark.parametrize(("given", "shape"), covering(KINDS, [{"largest": 3}, {"k": 2}]), ids=repr)
def test_audit_and_simulate(given: dict[str, Any], shape: dict[str, int]) -> None:
    shares = NoiseShares(**given, **shape)
    assert audit(shares, trials=10_000, confidence=1 - 1e-9).holds

    def half(values: Any) -> Any:
        """Noise that is halved."""
        return shares.randomize(values) // 2

    if given != {"binomial": 1}:
        assert not audit(shares, half, trials=10_000).holds
    found = simulate(Aggregate(NoiseShares(**given, k=2), users=300), np.repeat([0, 1], [200, 100]))
    assert (abs(found.estimated - [200, 100]) < 8 * found.standard_errors).all()


def test_moments() -> None:
    for share, variance in (
        (CoinsShare(9), 2.25),
        (SkellamShare(Fraction(3, 2)), 3.0),
        (DiscreteGaussianShare(Fraction(50)), 2500.0),
        (PolyaShare(Fraction(4), 1), 2 * math.exp(-0.25) / (1 - math.exp(-0.25)) ** 2),
    ):
        assert share.moments[1] == pytest.approx(variance, rel=1e-12)
    with mpmath.workdps(30):
        law = oracle.discrete_gaussian(0.4, 20)
        exact = mpmath.fsum((x - 20) ** 2 * mass for x, mass in enumerate(law))
        found = DiscreteGaussianShare(Fraction(0.4)).moments[1]
        assert abs(found / exact - 1) < 1e-12
