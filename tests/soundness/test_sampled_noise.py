"""Samples of users who send noise, every dataset and every sample enumerated in fractions."""

import math
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import pytest

from covering import covering
from shuffledp import Accountant, Shuffle
from shuffledp.guarantee import best_effort
from shuffledp.randomizers import NoisyHistogram

F = Fraction
Law = dict[tuple[int, ...], Fraction]
ALPHAS = (F(1), F(9, 8), F(3, 2), F(2), F(5))


def sent(values: tuple[int, ...], q: Fraction, k: int) -> Law:
    """Counts of k values if these users send their value, and each value as a dummy with q."""
    trials = len(values)
    one = [math.comb(trials, s) * q**s * (1 - q) ** (trials - s) for s in range(trials + 1)]
    law: Law = {}
    for dummies in product(range(trials + 1), repeat=k):
        mass = math.prod((one[s] for s in dummies), start=F(1))
        counts = tuple(d + values.count(j) for j, d in enumerate(dummies))
        law[trials, *counts] = law.get((trials, *counts), F(0)) + mass
    return law


def view(values: tuple[int, ...], q: Fraction, k: int, chance: dict[int, Fraction]) -> Law:
    """What is seen, with the number of senders: `chance` of each sample of a size."""
    law: Law = {}
    for size, share in chance.items():
        for who in combinations(range(len(values)), size):
            for key, mass in sent(tuple(values[i] for i in who), q, k).items():
                law[key] = law.get(key, F(0)) + share * mass
    return law


def divergence(first: Law, second: Law, alpha: Fraction) -> Fraction:
    return sum((max(p - alpha * second.get(y, F(0)), F(0)) for y, p in first.items()), F(0))


def assert_truth_within(
    round_: Shuffle, honest: int, q: Fraction, k: int, chance: dict[int, Fraction]
) -> None:
    """That of the worst dataset of all, at every alpha, in narrow brackets."""
    datasets = [
        [view((own, *others), q, k, chance) for own in range(k)]
        for others in product(range(k), repeat=honest - 1)
    ]
    pairs = [pair for laws in datasets for pair in permutations(laws, 2)]
    for alpha in ALPHAS:
        worst = max(divergence(*pair, alpha) for pair in pairs)
        bounds = best_effort(round_.delta_bounds, math.log(alpha))
        # all others hold one of the two values: that is the worst, and what is computed
        assert bounds.lower * (1 - 1e-12) <= worst <= bounds.upper * (1 + 1e-12)
        assert bounds.upper <= 1.001 * float(worst) + 1e-12


@pytest.mark.parametrize(
    ("users", "g", "q"),
    [
        *((1, F(1, 4), F(1, 2)), (1, F(3, 4), F(1, 4)), (2, F(1, 4), F(1, 4))),
        *((2, F(3, 4), F(1, 2)), (3, F(1, 4), F(1, 2)), (3, F(3, 4), F(1, 4))),
    ],
)
def test_every_user_sends_with_some_probability(users: int, g: Fraction, q: Fraction) -> None:
    k = 3 if users < 3 else 2
    chance = {t: g**t * (1 - g) ** (users - t) for t in range(users + 1)}
    round_ = Shuffle(
        NoisyHistogram(bernoulli=float(q)), users, sample_rate=float(g), sampling="poisson"
    )
    assert_truth_within(round_, users, q, k, chance)


@pytest.mark.parametrize(("users", "sample", "colluding"), [(3, 2, 0), (4, 2, 1)])
def test_samples_of_a_fixed_size(users: int, sample: int, colluding: int) -> None:
    """Colluding users tell everything; how many of them were drawn is seen."""
    q, k, honest = F(1, 4), 2, users - colluding
    ways = math.comb(users, sample)
    chance = {
        t: F(math.comb(colluding, sample - t), ways)
        for t in range(max(0, sample - colluding), min(sample, honest) + 1)
    }
    noise = NoisyHistogram(bernoulli=0.25)
    round_ = Shuffle(noise, users, sample_rate=sample / users, colluding=colluding)
    assert_truth_within(round_, honest, q, k, chance)


def test_two_rounds() -> None:
    """The product of the worst pair, and of its reverse, is below what is composed."""
    users, g, q = 2, F(1, 2), F(1, 4)
    chance = {t: g**t * (1 - g) ** (users - t) for t in range(users + 1)}
    round_ = Shuffle(NoisyHistogram(bernoulli=0.25), users, sample_rate=0.5, sampling="poisson")
    twice = Accountant().compose(round_, 2)
    pair = [view((own, 1), q, 2, chance) for own in (0, 1)]
    for alpha in ALPHAS:
        upper = twice.get_delta(math.log(alpha))
        for a, b in (pair, pair[::-1]):
            both = (
                max(p * r - alpha * b.get(x, F(0)) * b.get(y, F(0)), F(0))
                for (x, p), (y, r) in product(a.items(), repeat=2)
            )
            assert sum(both, F(0)) <= upper * (1 + 1e-12)


@pytest.mark.parametrize(
    ("users", "noise"),
    covering(
        [50, 3000, 10**8],
        [{"poisson": 0.02}, {"bernoulli": 0.3}, {"negative_binomial": (0.1, 0.5)}],
    ),
    ids=str,
)
def test_brackets_are_narrow(users: int, noise: dict[str, Any]) -> None:
    round_ = Shuffle(NoisyHistogram(**noise), users, sample_rate=0.1, sampling="poisson")
    lower, upper = round_.epsilon_bounds(1e-3 if users < 10**5 else 1e-9)
    assert upper == lower or upper <= 1.001 * lower


def test_beyond_every_finite_loss_of_any_number_of_senders() -> None:
    """With all 10 of them, 0 dummies are rarer than every double, with 6 they are not, and one
    dummy is 387 times likelier: that loss is finite, and larger than those of 1 and of 8 senders
    that have a probability to speak of."""
    noise = NoisyHistogram(negative_binomial=129.0, theta=0.5)
    round_ = Shuffle(noise, 12, sample_rate=8 / 12, colluding=2)
    drawn = {t: F(math.comb(10, t) * math.comb(2, 8 - t), math.comb(12, 8)) for t in (6, 7, 8)}
    only_infinite = sum(chance * F(t, 10) / 2 ** (129 * t) for t, chance in drawn.items())
    bounds = round_.delta_bounds(8.0)
    assert F(bounds.lower) <= only_infinite <= F(bounds.upper)
    assert math.isfinite(round_.epsilon_bounds(3 * float(only_infinite)).lower)
