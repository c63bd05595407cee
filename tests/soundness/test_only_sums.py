"""Only the sums are seen: every dataset enumerated, and the figures of large rounds."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from covering import covering
from oracles import columns, envelopes
from shuffledp import (
    Accountant,
    Aggregate,
    Gaussian,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
)
from shuffledp.accountant import repeated
from shuffledp.guarantee import best_effort
from shuffledp.profiles.closed_form import GaussianProfile

F = Fraction
ALPHAS = (F(1), F(9, 8), F(3, 2), F(2), F(3), F(6))
EPSILONS = [math.log(alpha) for alpha in ALPHAS]
SOME = (F(3, 2),)  # at which more is asked: that takes longest
BITS = [(F(3, 4), F(1, 4)), (F(1, 2), F(1, 8)), (F(15, 16), F(1, 2)), (F(1, 4), F(1, 64))]
SIZES = [(2, 1, 1), (2, 1, 5), (4, 1, 4), (2, 2, 3), (4, 2, 3)]


def aggregate(
    k: int, ones: int, users: int, p: Fraction, q: Fraction, neighbours: str
) -> Aggregate:
    encoding = UnaryEncoding(k, p=float(p), q=float(q), ones=ones)
    return Aggregate(encoding, users, neighbours)


#: Every size of either relation, and every pair of probabilities of several sizes.
CASES = [
    (size, BITS[(i + shift) % len(BITS)], neighbours)
    for i, size in enumerate(SIZES)
    for shift, neighbours in ((0, "replace"), (1, "remove"))
]


@pytest.mark.parametrize(("size", "bits", "neighbours"), CASES)
def test_no_dataset_is_above(
    size: tuple[int, int, int], bits: tuple[Fraction, Fraction], neighbours: str
) -> None:
    """One column is exact: the bracket holds the truth."""
    (k, ones, users), (p, q) = size, bits
    pairs = list(columns.neighbouring_sums(k, ones, users, p, q, neighbours))
    round_ = aggregate(k, ones, users, p, q, neighbours)
    one_column = neighbours == "remove" and ones == 1
    asked = repeated(round_, 1)  # which keeps its composition
    uppers = asked.get_delta(EPSILONS)
    for alpha, epsilon, upper in zip(ALPHAS, EPSILONS, uppers, strict=True):
        truth = columns.truth(pairs, alpha)
        assert truth <= F(upper * (1 + 1e-12))  # epsilon was rounded
        if one_column or alpha in SOME:
            attained = round_.attained_delta(epsilon, rtol=1e-3)
            assert F(attained) <= truth * F(1 + 1e-12)
            assert not one_column or attained >= 0.9999 * float(truth) - 1e-12
        if one_column or users == 1:
            bounds = best_effort(asked.delta_bounds, epsilon)
            assert bounds.lower <= truth * F(1 + 1e-12)
            assert float(truth) >= 0.998 * bounds.upper - 1e-12


def twice(law: columns.Law, base: int) -> columns.Law:
    return columns.added(law, {base * key: mass for key, mass in law.items()})


@pytest.mark.parametrize(("p", "q", "neighbours"), [(*BITS[1], "replace"), (*BITS[2], "remove")])
def test_two_rounds_of_real_data(p: Fraction, q: Fraction, neighbours: str) -> None:
    """The same neighbours in both rounds, by the product of their laws."""
    users, base = 2, 10**4
    round_ = aggregate(3, 1, users, p, q, neighbours)
    accountant = Accountant().compose(round_, 2)
    pairs = [
        (twice(pair[0], base), twice(pair[1], base))
        for pair in columns.neighbouring_sums(3, 1, users, p, q, neighbours)
    ]
    for alpha in ALPHAS[1::3]:
        truth, epsilon = columns.truth(pairs, alpha), math.log(alpha)
        assert truth <= F(accountant.get_delta(epsilon) * (1 + 1e-12))
        assert F(accountant.attained_delta(epsilon, rtol=1e-3)) <= truth * F(1 + 1e-12)


def test_removals_are_composed_in_one_order_throughout() -> None:
    """One user alone, three rounds: either dataset lacks the value in all of them, which is the
    truth, and less than the worse order of each round."""
    p, q = F(1, 4), F(1, 64)
    accountant = Accountant().compose(aggregate(2, 1, 1, p, q, "remove"), 3)
    pairs = []
    for pair in columns.neighbouring_sums(2, 1, 1, p, q, "remove"):
        laws = []
        for law in pair:
            total: columns.Law = {0: 1}
            for i in range(3):
                total = columns.added(total, {10**i * key: mass for key, mass in law.items()})
            laws.append(total)
        pairs.append((laws[0], laws[1]))
    for alpha in ALPHAS:
        truth = columns.truth(pairs, alpha)
        bounds = best_effort(accountant.delta_bounds, math.log(alpha))
        assert truth <= F(bounds.upper * (1 + 1e-12))
        assert bounds.lower <= truth * F(1 + 1e-12)


FIGURES = [(5.0, 0.2974, 0.2120), (7.0, 0.9505, 0.7148)]


@pytest.mark.parametrize(("e0", "replaced", "removed"), FIGURES)
def test_large_rounds(e0: float, replaced: float, removed: float) -> None:
    """Worst datasets found for 10^5 users, flip probability 1/(e^e0 + 1), delta = 1e-9."""
    encoding = UnaryEncoding(k=256, eps0=2 * e0)
    for neighbours, found in (("replace", replaced), ("remove", removed)):
        round_ = Aggregate(encoding, 100_000, neighbours)
        upper, attained = round_.get_epsilon(1e-9), round_.attained_epsilon(1e-9)
        assert found - 5.1e-5 <= upper <= 1.005 * found
        assert 0.999 * upper <= attained <= upper


def test_how_many_columns_there_are_does_not_matter() -> None:
    epsilons = {Aggregate(UnaryEncoding(k, eps0=8.0), 1000).get_epsilon(1e-6) for k in (2, 10**9)}
    assert len(epsilons) == 1


@pytest.mark.parametrize("users", [1, 7, 1000, 10**9])
def test_of_two_messages_the_sum_is_all_there_is(users: int) -> None:
    response = RandomizedResponse(k=2, eps0=3.0)
    shuffled, summed = Shuffle(response, users), Aggregate(response, users)
    assert shuffled.get_epsilon(1e-6) == summed.get_epsilon(1e-6)
    assert shuffled.attained_epsilon(1e-6) == pytest.approx(summed.attained_epsilon(1e-6), rel=1e-3)


def exact_normal(shift: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(shift), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("shift", [1e-9, 1e-4, 0.03, 1.0, 1.7, 1.9, 5.0, 10.0])
def test_gaussian_profile_against_many_digits(shift: float) -> None:
    profile = GaussianProfile(shift)
    shares = np.array([0.0, 1e-3, 0.01, 0.1, 0.3, 0.6, 0.999, 1.0])
    epsilons = shares * profile.max_loss
    found = profile.sampler(40.0, 1e-3)(epsilons)
    for i, epsilon in enumerate(epsilons.tolist()):
        exact = exact_normal(shift, epsilon)
        assert found.lower[i] <= exact <= found.upper[i]
        if exact > 1e-30:
            assert found.upper[i] - found.lower[i] <= (1e-6 + 1e-12 / shift) * exact
        with mpmath.workdps(60):
            slope = mpmath.ncdf(-mpmath.mpf(shift) / 2 - mpmath.mpf(epsilon) / shift)
        assert found.fall_low[i] <= slope <= found.fall_high[i]


@pytest.mark.parametrize(("sigma", "users"), [(0.5, 1), (2.0, 100), (10.0, 10**6)])
def test_gaussian_shares_are_one_central_mechanism(sigma: float, users: int) -> None:
    for neighbours in ("replace", "remove"):
        round_ = Aggregate(Gaussian(sigma), users, neighbours)
        for rounds in (1, 25):  # which add up to one of a shift sqrt(rounds) times as large
            shift = math.sqrt(rounds / users) / sigma
            bounds = Accountant().compose(round_, rounds).delta_bounds(2 * shift)
            assert bounds.lower <= exact_normal(shift, 2 * shift) <= bounds.upper
            assert bounds.upper <= 1.01 * bounds.lower


@pytest.mark.parametrize(("ones", "p", "q"), [(1, F(3, 4), F(1, 4)), (2, F(1, 2), F(1, 64))])
def test_samples_against_all_of_them(ones: int, p: Fraction, q: Fraction) -> None:
    """Two of three users take part; how many is known, who is not.

    With two ones in two columns a value and zeros differ more than two values do.
    """
    users = 3
    sums = columns.Sums(2, p, q, users + 1)
    for neighbours in ("replace", "remove"):
        encoding = UnaryEncoding(2, p=float(p), q=float(q), ones=ones)
        round_ = Aggregate(encoding, users, neighbours, sample_rate=2 / 3)
        uppers = round_.get_delta(EPSILONS)
        values = columns.vectors(2, ones)
        zero = [(0, 0)] if neighbours == "remove" else []
        for others in product(values, repeat=2):
            laws = {}
            for own in values + zero:
                everybody = [own, *others]
                law: columns.Law = {}
                for absent in range(users):
                    sent = [v for i, v in enumerate(everybody) if i != absent]
                    for key, mass in sums.of(sent).items():
                        law[key] = law.get(key, 0) + mass
                laws[own] = law
            for a, b in product(laws, repeat=2):
                if neighbours == "replace" or (0, 0) in (a, b):
                    for alpha, upper in zip(ALPHAS, uppers, strict=True):
                        truth = columns.divergence((laws[a], laws[b]), alpha)
                        assert truth <= F(upper * (1 + 1e-12))


def test_who_colludes_or_drops_out_hides_nobody() -> None:
    encoding = UnaryEncoding(4, eps0=4.0)
    fewer = Aggregate(encoding, 100, colluding=0.2, dropouts=10)
    assert fewer.get_epsilon(1e-6) == Aggregate(encoding, 70).get_epsilon(1e-6)
    twice = Aggregate(encoding, 100, messages=2).get_epsilon(1e-6)
    assert twice == Accountant().compose(Aggregate(encoding, 100), 2).get_epsilon(1e-6)


def test_every_user_takes_part_with_some_probability() -> None:
    """How many of three users do is known, who is not: all subsets."""
    p, q, users, g = F(3, 4), F(1, 4), 3, F(1, 2)
    sums = columns.Sums(2, p, q, users + 1)
    encoding = UnaryEncoding(2, p=float(p), q=float(q))
    round_ = Aggregate(encoding, users, sample_rate=float(g), sampling="poisson")
    uppers = round_.get_delta(EPSILONS)
    values = columns.vectors(2, 1)
    for others in product(values, repeat=2):
        laws = {}
        for own in values:
            everybody = [own, *others]
            law: dict[tuple[int, int], Fraction] = {}
            for taken in product((False, True), repeat=users):
                part = [v for v, is_in in zip(everybody, taken, strict=True) if is_in]
                for key, mass in sums.of(part).items():
                    seen = (len(part), key)
                    law[seen] = law.get(seen, 0) + F(mass) / F(sum(sums.of(part).values())) / 8
            laws[own] = law
        for a, b in product(laws, repeat=2):
            for alpha, upper in zip(ALPHAS, uppers, strict=True):
                truth = sum(
                    (max(m - alpha * laws[b].get(y, F(0)), F(0)) for y, m in laws[a].items()), F(0)
                )
                assert truth <= F(upper * (1 + 1e-12))


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_losses_of_gaussian_noise_are_not_infinite(rate: float) -> None:
    """Beyond 36.5 deviations delta is below 1e-290, and goes on falling."""
    round_ = Aggregate(Gaussian(1.0), 100, sample_rate=rate)
    assert Accountant().compose(round_, 2).delta_bounds(60.0).lower == 0
    assert round_.delta_bounds(60.0).lower == 0  # it is e^-180000
    assert round_.delta_bounds(3.0).lower > 0


def alone(columns: int, p: Fraction, q: Fraction, alpha: Fraction) -> Fraction:
    """One sender, who has 1s in the first half of the columns or in the second."""
    half, total = columns // 2, F(0)
    for sent in product((0, 1), repeat=columns):
        ones, others = sum(sent[:half]), sum(sent[half:])
        first = p**ones * (1 - p) ** (half - ones) * q**others * (1 - q) ** (half - others)
        second = q**ones * (1 - q) ** (half - ones) * p**others * (1 - p) ** (half - others)
        total += max(first - alpha * second, F(0))
    return total


ENCODINGS = [
    (1, F(25, 32), F(1, 2)),
    (1, F(31, 32), F(7, 64)),
    (1, F(1, 4), F(1, 8)),
    (2, F(25, 32), F(1, 2)),
    (2, F(31, 32), F(7, 64)),
]


@pytest.mark.parametrize(("encoding", "sampling"), covering(ENCODINGS, ["fixed", "poisson"]))
def test_small_samples_are_answered(
    encoding: tuple[int, Fraction, Fraction], sampling: str
) -> None:
    """One of four users sends, or one user does with some probability: both are known exactly."""
    ones, p, q = encoding
    bits = UnaryEncoding(2 * ones, p=float(p), q=float(q), ones=ones)
    users, share = (4, F(1, 4)) if sampling == "fixed" else (1, F(1))
    g = F(1, 4)
    round_ = Aggregate(bits, users, sample_rate=float(g), sampling=sampling)

    def truth(alpha: Fraction) -> Fraction:
        return g * alone(2 * ones, p, q, 1 + (alpha - 1) / share)

    largest = 1 + share * ((p * (1 - q) / (q * (1 - p))) ** ones - 1)
    for part in (F(0), F(1, 3), F(999, 1000)):
        alpha = 1 + part * (largest - 1)
        epsilon = math.log(alpha)
        bounds = round_.delta_bounds(epsilon)
        assert bounds.lower <= truth(alpha) * F(1 + 1e-9)
        assert truth(alpha) <= F(bounds.upper * (1 + 1e-9))
        assert bounds.upper <= (1 + 1e-3) * bounds.lower or part > F(1, 2)
        if part == F(1, 3):
            low, high = round_.epsilon_bounds(float(truth(alpha)))
            assert low <= epsilon * (1 + 1e-9)
            assert epsilon <= high * (1 + 1e-9)
            assert high <= (1 + 1.01e-3) * low


#: (1s of a value, p, q, users, how they are sampled, rate), and what is asked.
SMALL = [
    ((1, F(57, 64), F(55, 128), 4, "poisson", F(5, 8)), "epsilon", (1e-2,)),
    ((1, F(51, 64), F(15, 32), 7, "poisson", F(1, 4)), "delta", (0.0149,)),
    ((1, F(0.9170160788298091), F(0.8580029722220581), 7, "poisson", F(1, 4)), "epsilon", (1e-3,)),
    ((1, F(0.7253817235457606), F(0.4757559259813684), 8, "fixed", F(7, 8)), "epsilon", (1e-2,)),
    ((1, F(57, 64), F(1, 128), 7, "poisson", F(0.05)), "delta", (6.9577,)),
    ((2, F(35, 64), F(33, 64), 4, "poisson", F(5, 8)), "delta", (0.05,)),
]


@pytest.mark.parametrize(("round_of", "what", "asked"), SMALL)
def test_few_senders_are_answered(
    round_of: tuple[int, Fraction, Fraction, int, str, Fraction], what: str, asked: tuple[float]
) -> None:
    """Profiles of few senders have kinks, which lattices must not miss: against the same theorem
    in exact fractions."""
    ones, p, q, users, sampling, rate = round_of
    chance = envelopes.poisson(users, rate) if sampling == "poisson" else {int(rate * users): F(1)}
    exact = envelopes.SampledColumns(ones, p, q, users, chance)
    encoding = UnaryEncoding(2 * ones, p=float(p), q=float(q), ones=ones)
    round_ = Aggregate(encoding, users, sample_rate=float(rate), sampling=sampling)
    for at in asked:
        if what == "delta":
            bounds = round_.delta_bounds(at)
            truth = exact.delta(F(math.exp(at)))
            assert bounds.lower <= truth * F(1 + 1e-9)
            assert truth <= F(bounds.upper * (1 + 1e-9))
        else:
            bounds = round_.epsilon_bounds(at)
            assert bounds.upper <= (1 + 1.01e-3) * bounds.lower
            assert exact.delta(F(math.exp(bounds.lower * (1 - 1e-9)))) >= F(at)
            assert exact.delta(F(math.exp(bounds.upper * (1 + 1e-9)))) <= F(at)


def test_next_to_the_largest_loss_of_a_sample() -> None:
    """Only if everybody sends are there such losses: that is seldom, and counts by itself."""
    p, q, users, rate = F(57, 64), F(0.007636032559872108), 7, F(0.05)
    exact = envelopes.SampledColumns(1, p, q, users, envelopes.poisson(users, rate))
    encoding = UnaryEncoding(2, p=float(p), q=float(q))
    round_ = Aggregate(encoding, users, sample_rate=float(rate), sampling="poisson")
    largest = math.log(exact.largest)
    bounds = round_.delta_bounds(largest * (1 - 1e-12))
    assert bounds.lower <= exact.delta(F(math.exp(largest * (1 - 1.1e-12))))
    # no more than at an epsilon that is a thousandth smaller
    assert bounds.upper <= exact.delta(F(math.exp(largest * (1 - 1e-3))))
