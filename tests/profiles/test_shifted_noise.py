"""Noise on integers against its own shift: exact fractions, many digits, published figures."""

import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

from oracles import integer_noise as oracle
from shuffledp._support.numeric import Array
from shuffledp.bounds.one_round import epsilon_bounds
from shuffledp.engines.tails import noise_masses, noise_tails
from shuffledp.laws.integer_noise import DiscreteGaussianLaw, FairCoins, IntegerNoise, SkellamLaw
from shuffledp.laws.noise_law import BinomialCounts
from shuffledp.profiles.one_more import one_more
from shuffledp.profiles.shifted_noise import DiscreteLaplaceProfile, IntegerNoiseProfile

#: Standard deviations, and shares of discrete Gaussian noise; sizes of the other laws.
LAWS: list[IntegerNoise] = [
    *(DiscreteGaussianLaw(sigma) for sigma in (0.05, 0.2, 0.499, 0.5, 0.7, 1.0, 3.0, 9.5)),
    *(
        DiscreteGaussianLaw(sigma, shares)
        for sigma, shares in ((0.1, 3), (0.3, 5), (0.49, 2), (0.5, 4), (0.8, 3))
    ),
    *(SkellamLaw(mu) for mu in (1e-6, 0.01, 0.7, 5.0)),
    *(FairCoins(coins) for coins in (1, 2, 3, 10, 41, 200)),
]


def definition(law: IntegerNoise) -> oracle.Masses:
    """All masses above 1e-130 or so, or above 1e-70 of Skellam noise."""
    match law:
        case DiscreteGaussianLaw(sigma, shares):
            one = oracle.discrete_gaussian(sigma, math.ceil(26 * sigma) + (8 if shares == 1 else 3))
            return oracle.convolved(one, shares)
        case SkellamLaw(mu):
            return oracle.skellam(mu, 50)
        case FairCoins(coins):
            return oracle.coins(coins)
    raise TypeError(law)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_against_the_definition(law: IntegerNoise) -> None:
    with mpmath.workdps(140):
        known, is_cut = definition(law), not isinstance(law, FairCoins)
        middle = len(known) // 2
        x: Array = np.arange(float(min(middle, 40) + 1)) + law.offset
        x = x[x <= min(law.top, middle)]
        truth = [known[middle + int(place)] for place in x]
        sums = [mpmath.fsum(known[middle + int(place) :]) for place in x]
        above = 1 if law.offset == 0 else 0  # tails start above 0
        for found, values in (
            (zip(*noise_masses(law, x), strict=True), truth),
            (zip(*noise_tails(law, x[above:]), strict=True), sums[above:]),
        ):
            for (log, error), value in zip(found, values, strict=True):
                if value > (max(1e35 * known[-1], 1e-290) if is_cut else 0):
                    assert abs(mpmath.exp(mpmath.mpf(float(log))) / value - 1) <= error + 1e-25
                    assert error < 1e-8
        for shift in (1, 2, 3):
            profile, pair = IntegerNoiseProfile(law, shift), oracle.shifted(known, shift, is_cut)
            top, cut = profile.max_loss, 4 * float(mpmath.fsum(known[-2 * shift :])) * is_cut
            epsilon = np.unique([*(top * np.array([0, 1e-3, 0.1, 0.3, 0.7, 0.99])), 0.1, 1.0, 3.0])
            samples = profile.sampler(100.0, 1e-3)(epsilon)
            for i, e in enumerate(epsilon.tolist()):
                exact = oracle.divergence(pair, e)
                assert samples.lower[i] - cut <= exact <= samples.upper[i] + cut, (shift, e)
                if exact > max(1e-90, 1e9 * cut):
                    assert samples.upper[i] <= samples.lower[i] * (1 + 1e-6) + 1e-9, (shift, e)


@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 6, 17])
def test_coins_as_fractions(count: int, shift: int) -> None:
    profile = IntegerNoiseProfile(FairCoins(count), shift)
    for alpha in (1.0, 1.125, 2.0, 3.5, 100.0):
        truth = oracle.exact_coins_divergence(count, shift, Fraction(alpha))
        # e^log(alpha) is alpha up to rounding: the profile is taken on both sides of it
        near = math.log(alpha)
        low, high = profile.sampler(40.0, 1e-3)(
            np.array([max(near - 1e-15, 0.0), near + 1e-15])
        ).columns[:2]
        assert Fraction(high[0]) >= truth >= Fraction(low[1])
        assert high[0] <= low[1] * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("law", "epsilon"),
    [
        *((DiscreteGaussianLaw(s), e) for s, e in
          ((1.0, 4.49959), (3.0, 1.454913), (5.0, 0.834976), (23.3903, 0.160035))),
        *((SkellamLaw(mu), e) for mu, e in ((5.0, 1.165586), (20.0, 0.618690), (100.0, 0.271552))),
        (FairCoins(2000), 0.16825),
        (DiscreteGaussianLaw(0.6, 50), 0.995619),
    ],
    ids=repr,
)  # fmt: skip
def test_figures_computed_elsewhere(law: IntegerNoise, epsilon: float) -> None:
    """Epsilon at delta = 1e-6 for a shift of 1, to the digits that were printed."""
    lower, upper = epsilon_bounds(IntegerNoiseProfile(law, 1), 1e-6, 1e-5)
    assert lower <= upper <= lower * (1 + 1e-5)
    assert upper == pytest.approx(epsilon, rel=1e-5 if epsilon != 0.16825 else 3e-5)


@pytest.mark.parametrize(("count", "epsilon"), [(20, 3.0), (80, 1.0), (5279, 0.1)])
def test_fewest_coins(count: int, epsilon: float) -> None:
    for coins in (count - 1, count, count + 1):
        profile = IntegerNoiseProfile(FairCoins(coins), 1)
        delta = profile.sampler(40.0, 1e-6)(np.array([epsilon]))
        assert (delta.upper[0] <= 1e-6) == (coins >= count) == (delta.lower[0] <= 1e-6)


def test_wide_gaussian_noise_in_many_digits() -> None:
    """sigma = 10^6 and delta down to 1e-120: two sums by Euler and Maclaurin."""
    sigma = 1e6
    for shift in (1, 7, 1000):
        profile = IntegerNoiseProfile(DiscreteGaussianLaw(sigma), shift)
        epsilon = np.array([0.0, 0.5, 5.0, 12.0, 23.0]) * shift / sigma
        samples = profile.sampler(300.0, 1e-3)(epsilon)
        with mpmath.workdps(170):
            for i, e in enumerate(epsilon.tolist()):
                exact = mpmath.mpf(e) * mpmath.mpf(sigma) ** 2 / shift + mpmath.mpf(shift) / 2
                first, alpha = int(mpmath.floor(exact)) + 1, mpmath.exp(mpmath.mpf(e))
                before = first - shift
                gained = (
                    oracle.wide_gaussian_tail(sigma, before)
                    if before > 0
                    else 1 - oracle.wide_gaussian_tail(sigma, 1 - before)
                )
                truth = gained - alpha * oracle.wide_gaussian_tail(sigma, first)
                slack = mpmath.mpf(10) ** -18  # of the omitted terms of the formula
                assert samples.lower[i] * (1 - slack) <= truth <= samples.upper[i] * (1 + slack)
                assert samples.upper[i] <= samples.lower[i] * (1 + 3e-3)


def _skellam_cf(size: int, t: mpmath.mpf) -> mpmath.mpf:
    return -4 * size * mpmath.sin(t / 2) ** 2


def _coins_cf(size: int, t: mpmath.mpf) -> mpmath.mpf:
    return size * mpmath.log(mpmath.cos(t / 2))


@pytest.mark.parametrize("size", [10**12])
def test_wide_skellam_noise_and_coins_in_many_digits(size: int) -> None:
    """Tails with deltas around 1e-100 from untilted integrals with 190 digits."""
    with mpmath.workdps(190):
        one = mpmath.mpf(1)
        for law, log_cf, deviation in (
            (SkellamLaw(float(size)), _skellam_cf, (2 * size) ** 0.5),
            (FairCoins(size), _coins_cf, size**0.5 / 2),
        ):
            places = (0, 21) if isinstance(law, SkellamLaw) else (5,)
            first = np.array([float(max(1, math.ceil(place * deviation))) for place in places])
            found = noise_tails(law, first)
            for place, log, error in zip(first, *found, strict=True):
                truth = oracle.untilted_tail(partial(log_cf, size), deviation, one * int(place))
                assert abs(mpmath.exp(mpmath.mpf(float(log))) / truth - 1) <= error < 1e-10


@pytest.mark.parametrize("count", [50, 10**6, 10**11])
def test_coins_agree_with_one_message_more(count: int) -> None:
    """The same law among noise messages, whose divergence is another integral."""
    other = one_more(BinomialCounts(count, 0.5, 0.5), more=True).sampler(300.0, 1e-3)
    mine = IntegerNoiseProfile(FairCoins(count), 1).sampler(300.0, 1e-3)
    epsilon = np.array([0.0, 0.1, 2.0, 8.0, 20.0]) / math.sqrt(count)
    a, b = mine(epsilon), other(epsilon)
    assert (a.lower <= b.upper).all() and (b.lower <= a.upper).all()
    assert (a.upper <= a.lower * (1 + 1e-3)).all()
    assert (a.fall_low <= b.fall_high).all() and (b.fall_low <= a.fall_high).all()


def test_long_shifts_pass_masses_one_by_one_or_in_tails() -> None:
    """Around the shift at which the formula changes, against the definition."""
    with mpmath.workdps(60):
        known = oracle.discrete_gaussian(20.0, 400)
        for shift in (63, 64, 65, 200):
            profile = IntegerNoiseProfile(DiscreteGaussianLaw(20.0), shift)
            epsilon = np.array([0.0, 1.0, 5.0, 20.0])
            samples = profile.sampler(40.0, 1e-3)(epsilon)
            for i, e in enumerate(epsilon.tolist()):
                truth = oracle.divergence(oracle.shifted(known, shift), e)
                assert samples.lower[i] <= truth <= samples.upper[i] <= samples.lower[i] + 1e-9


def test_more_noise_hides_more_and_shares_of_shares_are_shares() -> None:
    epsilon = np.linspace(0.0, 3.0, 31)
    for less, more in (
        (SkellamLaw(3.0), SkellamLaw(3.3)),
        (FairCoins(30), FairCoins(31)),
        (DiscreteGaussianLaw(2.0), DiscreteGaussianLaw(2.1)),
        (DiscreteGaussianLaw(0.4, 9), DiscreteGaussianLaw(0.4, 10)),
    ):
        a, b = (IntegerNoiseProfile(law, 2).sampler(40.0, 1e-3)(epsilon) for law in (less, more))
        assert (b.lower <= a.upper).all()
    assert SkellamLaw(0.5).of_users(6) == SkellamLaw(3.0)
    assert FairCoins(2).of_users(7) == FairCoins(14)
    assert DiscreteGaussianLaw(0.4, 2).of_users(5) == DiscreteGaussianLaw(0.4, 10)


@pytest.mark.parametrize("shift", [1, 2, 3, 8])
@pytest.mark.parametrize("scale", [0.05, 0.7, 10.0, 1e6])
def test_discrete_laplace_noise(scale: float, shift: int) -> None:
    profile = DiscreteLaplaceProfile(scale, shift)
    with mpmath.workdps(60):
        theta, b = mpmath.exp(-1 / mpmath.mpf(scale)), mpmath.mpf(scale)
        assert profile.max_loss == pytest.approx(shift / scale, rel=1e-15)
        for share in (0.0, 0.3, 0.77, 0.999, 1.0):
            epsilon = share * profile.max_loss
            found = profile.sampler(40.0, 1e-3)(np.array([epsilon]))
            alpha = mpmath.exp(mpmath.mpf(epsilon))
            # the outcomes up to 0 lose less than nothing, and from the shift on all the same
            inner = [
                max(theta ** abs(x - shift) - alpha * theta**x, mpmath.mpf(0)) for x in range(shift)
            ]
            last = (1 - alpha * mpmath.exp(-shift / b)) / (1 + theta)
            truth = (1 - theta) / (1 + theta) * mpmath.fsum(inner) + max(last, mpmath.mpf(0))
            assert found.lower[0] <= truth <= found.upper[0]
            assert found.upper[0] <= found.lower[0] * (1 + 1e-11) + 1e-13


def test_tails_many_deviations_away() -> None:
    """Beyond a period of the angles, outcomes below the place are its aliases."""
    with mpmath.workdps(40):
        for x in (30, 120, 500):
            terms = [mpmath.exp(-mpmath.mpf(y * y) / 2) for y in range(x, x + 40)]
            scale = mpmath.jtheta(3, 0, mpmath.exp(-mpmath.mpf(1) / 2))
            skellam = [mpmath.exp(-2) * mpmath.besseli(y, 2) for y in range(x, x + 40)]
            for law, truth in (
                (DiscreteGaussianLaw(1.0), mpmath.fsum(terms) / scale),
                (SkellamLaw(1.0), mpmath.fsum(skellam)),
            ):
                (log,), (error,) = noise_tails(law, np.array([float(x)]))
                assert abs(mpmath.log(truth) - mpmath.mpf(float(log))) <= error < 1e-7


def test_brackets_where_losses_are_huge() -> None:
    """No loss above 600 is told from an infinite one, and none below it counts as nothing."""
    sides = IntegerNoiseProfile(DiscreteGaussianLaw(1.0), 1000).sampler(40.0, 1e-3)(
        np.array([0.0, 599.0])
    )
    assert (sides.lower > 1 - 1e-12).all() and (sides.upper >= 1 - 1e-12).all()
    # two losses, 200 and 600: between them delta is the probability of an outcome above 1
    lower, upper = epsilon_bounds(IntegerNoiseProfile(DiscreteGaussianLaw(0.05), 1), 1e-58, 1e-3)
    loss = 1 / (2 * Fraction(0.05) ** 2)
    assert Fraction(lower) <= loss <= Fraction(upper) and upper <= lower * (1 + 1e-6)
    between = IntegerNoiseProfile(DiscreteGaussianLaw(0.05), 1).sampler(300.0, 1e-3)
    with mpmath.workdps(40):
        rare = mpmath.exp(-1 / (2 * mpmath.mpf(0.05) ** 2))
        rare = rare / (1 + 2 * rare) * -mpmath.expm1(mpmath.mpf(300) - 600)
        found = between(np.array([300.0]))
        assert found.lower[0] <= rare <= found.upper[0] <= found.lower[0] * (1 + 1e-9)
