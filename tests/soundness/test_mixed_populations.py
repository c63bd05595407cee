"""Rounds of users with different randomizers against every dataset, in exact fractions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

from oracles import as_pair, hockey_stick, shuffled_users
from oracles import randomizers as written
from oracles.mixed_response import ERROR, divergence
from shuffledp import FiniteRandomizer, Group, MixedShuffle, RandomizedResponse, UnaryEncoding
from shuffledp._support.numeric import BOTH
from shuffledp.laws.matrix_law import Cover, shared_law
from shuffledp.profiles.base import PrivacyProfile
from shuffledp.profiles.mixture import CoveredProfile, MixtureProfile, covered_profile
from shuffledp.randomizers import HadamardResponse, OneBit, Randomizer, SubsetSelection

ALPHAS = [Fraction(21, 20), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5)]
Rows = list[list[Fraction]]


def sides(profile: PrivacyProfile, alphas: Sequence[Fraction]) -> list[tuple[float, float]]:
    """The lower value at a slightly larger epsilon and the upper one at a smaller."""
    epsilon = np.array([math.log(alpha) for alpha in alphas])
    around = np.concatenate([epsilon * (1 - 1e-14), epsilon * (1 + 1e-14)])
    samples = profile.sampler(60.0, 1e-4)(np.minimum(around, profile.max_loss))
    inside, size = profile.may_be_positive(around), len(alphas)
    lower, upper = (samples.lower * inside)[size:], (samples.upper * inside)[:size]
    return list(zip(lower.tolist(), upper.tolist(), strict=True))


def worst_of_all(matrices: Sequence[Rows], alpha: Fraction) -> Fraction:
    """The largest divergence over all datasets that differ in the value of the first user."""
    outputs, worst = len(matrices[0][0]), Fraction(0)
    for others in product(*(range(len(matrix)) for matrix in matrices[1:])):
        views = [
            shuffled_users(matrices, [value, *others], outputs) for value in range(len(matrices[0]))
        ]
        for one, other in permutations(views, 2):
            worst = max(worst, hockey_stick(as_pair(one, other), alpha))
    return worst


def sampled(rows: Rows, rate: Fraction) -> Rows:
    """An empty message is one more output."""
    return [[*(rate * p for p in row), 1 - rate] for row in rows]


def check(groups: Sequence[tuple[Randomizer, Rows, int]], **options: object) -> None:
    """For every group: never below the truth on any dataset, with all users honest."""
    named = [Group(randomizer, users, str(i)) for i, (randomizer, _, users) in enumerate(groups)]
    rate = Fraction(float(options.get("sample_rate", 1.0)))  # type: ignore[arg-type]
    round_ = MixedShuffle(named, **options)  # type: ignore[arg-type]
    of_all = sides(round_.profile, ALPHAS[1::3])
    for own, (_, rows, _) in enumerate(groups):
        everybody = [rows] + [
            other for i, (_, other, users) in enumerate(groups) for _ in range(users - (i == own))
        ]
        if rate < 1:
            everybody = [sampled(each, rate) for each in everybody]
        found = sides(round_.of(str(own)).profile, ALPHAS[1::3])
        for alpha, (lower, upper), (_, most) in zip(ALPHAS[1::3], found, of_all, strict=True):
            truth = worst_of_all(everybody, alpha)
            assert lower <= upper
            assert truth <= Fraction(upper), (groups, own, alpha)
            assert Fraction(upper) <= Fraction(most) * (1 + 10**-6)


def response(k: int, gamma: Fraction, users: int) -> tuple[Randomizer, Rows, int]:
    exact = Fraction(float(gamma))
    randomizer = RandomizedResponse(k, gamma=float(gamma))
    return randomizer, written.randomized_response(k, exact), users


@pytest.mark.parametrize(
    ("k", "groups"),
    [
        (2, [(Fraction(1, 4), 2), (Fraction(3, 4), 2)]),
        (3, [(Fraction(1, 4), 1), (Fraction(1, 2), 3)]),
        (3, [(Fraction(1, 8), 3), (Fraction(7, 8), 1)]),
        (2, [(Fraction(1, 4), 1), (Fraction(1, 2), 2), (Fraction(3, 4), 2)]),
        (3, [(Fraction(1, 2), 1), (Fraction(1, 16), 1), (Fraction(3, 4), 1)]),
    ],
)
def test_randomized_response_on_every_dataset(k: int, groups: list[tuple[Fraction, int]]) -> None:
    check([response(k, gamma, users) for gamma, users in groups])


@pytest.mark.parametrize("rate", [0.5, 0.125])
def test_samples_on_every_dataset(rate: float) -> None:
    groups = [response(2, Fraction(1, 4), 2), response(2, Fraction(3, 4), 1)]
    check(groups, sample_rate=rate)


def test_rates_of_their_own_on_every_dataset() -> None:
    """Also where one group always sends: its users then hide nobody who may be silent."""
    rates = [(0.25, 0.5), (0.5, 1.0), (1.0, 0.25)]
    gammas = [Fraction(1, 4), Fraction(3, 4)]
    for pair in rates:
        rows = [written.randomized_response(2, gamma) for gamma in gammas]
        round_ = MixedShuffle(
            [
                Group(RandomizedResponse(2, gamma=float(gamma)), 2, str(i), sample_rate=rate)
                for i, (gamma, rate) in enumerate(zip(gammas, pair, strict=True))
            ]
        )
        silent = [sampled(each, Fraction(r)) for each, r in zip(rows, pair, strict=True)]
        for own in (0, 1):
            everybody = [silent[own], silent[own], silent[1 - own], silent[1 - own]]
            found = sides(round_.of(str(own)).profile, ALPHAS)
            for alpha, (_, upper) in zip(ALPHAS, found, strict=True):
                assert worst_of_all(everybody, alpha) <= Fraction(upper)


def test_other_families_on_every_dataset() -> None:
    ratios = [(1.0, Fraction(1)), (2.0, Fraction(2))]
    exact = [written.exact_exp(eps0) for eps0, _ in ratios]
    check(
        [
            (SubsetSelection(3, 2, eps0), written.subset_selection(3, 2, ratio), 2)
            for (eps0, _), ratio in zip(ratios, exact, strict=True)
        ]
    )
    check(
        [
            (HadamardResponse(3, eps0), written.hadamard_response(3, ratio), 2 - i)
            for i, ((eps0, _), ratio) in enumerate(zip(ratios, exact, strict=True))
        ]
    )
    bits = [(OneBit(eps0), ratio) for (eps0, _), ratio in zip(ratios, exact, strict=True)]
    check(
        [
            (bit, [*written.likelier([[0], [1]], 2, ratio), [Fraction(1, 2)] * 2], 2)
            for bit, ratio in bits
        ]
    )


def test_unary_encoding_with_one_q_on_every_dataset() -> None:
    def rows(p: Fraction, q: Fraction) -> Rows:
        one, zero = ([1 - q, q], [1 - p, p]), ([1 - p, p], [1 - q, q])
        return [
            [first[i] * second[j] for i, j in product((0, 1), repeat=2)]
            for second, first in (one, zero)
        ]

    q = 0.25
    check([(UnaryEncoding(2, p=p, q=q), rows(Fraction(p), Fraction(q)), 2) for p in (0.5, 0.875)])


def test_matrices_on_every_dataset() -> None:
    rng = random.Random(7)
    every = []
    for users in (2, 1, 1):
        rows = written.random_rows(2, 3, rng, zeros=False)
        randomizer = FiniteRandomizer([[float(p) for p in row] for row in rows])
        every.append((randomizer, written.exact_rows(randomizer.matrix), users))
    check(every)


def test_matrices_with_zeros_on_every_dataset() -> None:
    """Outputs that some group never sends are not covered by it."""
    one = FiniteRandomizer([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
    two = FiniteRandomizer([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    check([(one, written.exact_rows(one.matrix), 2), (two, written.exact_rows(two.matrix), 2)])


def mean_over_cover(
    own: Rows, cover: Sequence[Fraction], law: Sequence[Fraction], alpha: Fraction
) -> Fraction:
    """E[h(M)] for the values 0 and 1, with M - 1 a sum of Bernoulli variables, from the definition:
    h(m) is the divergence of one message among m - 1 draws from a law."""
    count = [Fraction(1)]
    for chance in cover:
        missed, drawn = ([mass * p for mass in count] for p in (1 - chance, chance))
        none = [Fraction(0)]
        count = [a + b for a, b in zip(missed + none, none + drawn, strict=True)]
    total = Fraction(0)
    for others, mass in enumerate(count):
        matrices = [own, *[[list(law)]] * others]
        one, two = (shuffled_users(matrices, [value, *[0] * others], len(law)) for value in (0, 1))
        total += mass * hockey_stick(as_pair(one, two), alpha)
    return total


def test_bound_is_reached_if_remainders_are_recognized() -> None:
    """Others who send a draw from the blanket or else a message of their own reach the mean over
    the number of covering users, and the bracket contains it."""
    k, gammas = 3, [Fraction(1, 4), Fraction(1, 2), Fraction(1, 2), Fraction(7, 8)]
    rows = written.randomized_response(k, gammas[0])
    uniform = [Fraction(1, k)] * k
    own = [[*row, Fraction(0)] for row in rows]
    others = [[[*(g * p for p in uniform), 1 - g]] for g in gammas[1:]]
    groups = [Group(RandomizedResponse(k, gamma=0.25), 1, "own")]
    groups += [
        Group(RandomizedResponse(k, gamma=0.5), 2),
        Group(RandomizedResponse(k, gamma=0.875), 1),
    ]
    found = sides(MixedShuffle(groups).of("own").profile, ALPHAS)
    for alpha, (lower, upper) in zip(ALPHAS, found, strict=True):
        views = [shuffled_users([own, *others], [x, 0, 0, 0], k + 1) for x in (0, 1)]
        truth = hockey_stick(as_pair(*views), alpha)
        assert truth == mean_over_cover(rows, gammas[1:], uniform, alpha)
        assert lower * (1 - 1e-9) <= truth <= upper
        assert upper - lower <= 1e-3 * upper


def test_bound_is_exact_among_users_whose_messages_are_random() -> None:
    """One user of randomized response among others who send fair coins, which is the blanket."""
    coin = FiniteRandomizer([[0.5, 0.5], [0.5, 0.5 + 1e-16]])
    own = FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    round_ = MixedShuffle([Group(own, 1, "own"), Group(coin, 3)])
    rows, fair = written.exact_rows(own.matrix), [[Fraction(1, 2)] * 2]
    found = sides(round_.of("own").profile, ALPHAS[:4])
    for alpha, (lower, upper) in zip(ALPHAS[:4], found, strict=True):
        truth = worst_of_all([rows, fair, fair, fair], alpha)
        assert lower * (1 - 1e-9) <= truth <= upper
        assert upper - lower <= 1e-3 * upper


def test_binomial_with_the_same_mean_is_no_bound() -> None:
    """The divergence is not convex in the number of covering users: what is easily overlooked."""
    below = 0
    some = [Fraction(1, 16), Fraction(1, 2), Fraction(15, 16)]
    for own, others in product(some, combinations_with_replacement(some, 2)):
        gammas = (own, *others)
        mean = sum(gammas, Fraction(0)) / 3
        rows, uniform = written.randomized_response(2, gammas[0]), [Fraction(1, 2)] * 2
        law = RandomizedResponse(2, gamma=float(gammas[0])).base_law()
        covers = [Cover(float(gamma / gammas[0]), 1.0) for gamma in (gammas[0], *gammas)]
        shared = shared_law([law], 0, covers)
        profile = covered_profile(shared.laws, [(share, 1) for share in shared.shares[1:]])
        found = sides(profile, ALPHAS[:3])
        for alpha, (lower, upper) in zip(ALPHAS[:3], found, strict=True):
            truth = mean_over_cover(rows, gammas, uniform, alpha)
            below += mean_over_cover(rows, [mean] * 3, uniform, alpha) < truth
            assert lower * (1 - 1e-9) <= truth <= upper
    assert below > 0


@pytest.mark.parametrize("users", [(60, 30, 0), (300, 400, 0), (2500, 1500, 0), (900, 700, 500)])
def test_many_users_against_a_direct_sum(users: tuple[int, ...]) -> None:
    """Binary responses of two or three groups: the number of covering users and, given it, of ones
    are added up directly. Both ways to bound the mean contain it: count by count, and by binomial
    numbers."""
    gammas = [0.2, 0.55, 0.8]
    known = [(gamma, number) for gamma, number in zip(gammas, users, strict=True) if number]
    others = [(gamma, number - (gamma == gammas[0])) for gamma, number in known]
    shared = shared_law(
        [RandomizedResponse(2, gamma=gammas[0]).base_law()],
        0,
        [Cover(gamma / gammas[0], 1.0) for gamma, _ in known],
    )
    counts = [number for _, number in others]
    profile = covered_profile(shared.laws, zip(shared.shares, counts, strict=True))
    assert isinstance(profile, CoveredProfile)
    epsilons = np.array([0.05, 0.3, 1.0]) * 4 / math.sqrt(sum(users))
    exact = np.array([divergence(gammas[0], others, epsilon) for epsilon in epsilons.tolist()])
    samplers = [MixtureProfile.sampler(profile, 60.0, 1e-3)(epsilons)]
    if sum(users) > 500:
        bounds = [profile._binomial_bound(60.0, side) for side in BOTH]
        assert 0 < sum(bound.cost for bound in bounds if bound) < 0.005
        samplers.append(profile.sampler(60.0, 0.005)(epsilons))
    for samples in samplers:
        assert (samples.lower * (1 - ERROR) <= exact).all()
        assert (exact <= samples.upper * (1 + ERROR)).all()
        assert (samples.upper - samples.lower <= 0.05 * samples.upper).all()
