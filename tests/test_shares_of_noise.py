"""Shares of integer noise in sums: every small case by convolution, figures, and drop-outs."""

import json
import math
from typing import Any

import mpmath
import numpy as np
import pytest

import shell
from oracles import integer_noise as oracle
from shuffledp import Accountant, Aggregate, Plan, Shuffle, calibrate
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.guarantee import best_effort
from shuffledp.laws.integer_noise import PolyaDifference
from shuffledp.mechanisms import BinomialNoise
from shuffledp.profiles.shifted_noise import DiscreteLaplaceProfile, PolyaProfile
from shuffledp.randomizers import NoiseShares
from shuffledp.records import described

NOISES: list[dict[str, Any]] = [
    {"discrete_gaussian": 0.4},
    {"discrete_gaussian": 1.1},
    {"skellam": 0.3},
    {"binomial": 1},
    {"binomial": 3},
    {"discrete_laplace": 1.3, "complete": 4},
    {"discrete_laplace": 0.6, "complete": 2},
]


def share(noise: dict[str, Any]) -> tuple[oracle.Masses, bool]:
    """The masses of one share from the definition, and whether they were cut."""
    match noise:
        case {"discrete_gaussian": sigma}:
            return oracle.discrete_gaussian(sigma, math.ceil(12 * sigma) + 2), True
        case {"skellam": mu}:
            return oracle.skellam(mu, 25), True
        case {"binomial": coins}:
            return oracle.coins(coins), False
        case {"discrete_laplace": scale, "complete": complete}:
            return oracle.polya_difference(1 / complete, scale, math.ceil(40 * scale)), True
    raise ValueError(noise)


def product(one: Any, other: Any) -> Any:
    """Two independent columns: one goes up and the other one down."""
    return tuple([x * y for x in a for y in b] for a, b in zip(one, reversed(other), strict=True))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_all_small_rounds(noise: dict[str, Any]) -> None:
    """Up to six users of whom some collude or drop out, one column and two, both relations."""
    with mpmath.workdps(30):
        one, is_cut = share(noise)
        for users, missing, shift in ((1, 0, 1), (2, 0, 2), (4, 1, 1), (6, 2, 3), (6, 0, 1)):
            total = oracle.convolved(one, users - missing)
            pair = oracle.shifted(total, shift, is_cut)
            cut = 1e-15 * is_cut  # what the oracle leaves out is far below
            sums = NoiseShares(**noise, largest=shift)
            truths = [(epsilon, oracle.divergence(pair, epsilon)) for epsilon in (0.0, 0.5, 2.0)]
            absent = ("colluding", "dropouts" if missing else "colluding")
            for neighbours, where in zip(("replace", "remove"), absent, strict=True):
                missed: dict[str, Any] = {where: missing}
                round_ = Aggregate(sums, users, neighbours, **missed)
                for epsilon, exact in truths:
                    lower, upper = best_effort(round_.delta_bounds, epsilon)
                    assert lower - cut <= exact <= upper + cut
                    assert upper <= lower * (1 + 1e-5) + 1e-9 + cut
                assert round_.attained_delta(epsilon, rtol=0.1) <= exact + cut


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_two_columns_of_a_histogram(noise: dict[str, Any]) -> None:
    with mpmath.workdps(20):
        one, is_cut = share(noise)
        total = oracle.convolved(one, 3)
        far = 40 if is_cut else len(total)
        total = total[max(len(total) // 2 - far, 0) : len(total) // 2 + far + 1]
        pair = oracle.shifted(total, 1, is_cut)
        cut = 8 * float(total[-1] + total[-2]) * is_cut
        histogram = NoiseShares(**noise, k=3)
        for neighbours, truth in (("remove", pair), ("replace", product(pair, pair))):
            round_ = Aggregate(histogram, 4, neighbours, dropouts=1)
            for epsilon in (0.3, 1.5):
                exact = oracle.divergence(truth, epsilon)
                lower, upper = best_effort(round_.delta_bounds, epsilon)
                assert lower - cut <= exact <= upper + cut
                assert upper <= 1.03 * lower + 1e-6 + cut
                assert round_.attained_delta(epsilon, rtol=0.1) <= exact + cut


def test_shares_of_discrete_laplace_noise_are_complete_or_not() -> None:
    """With everybody the loss is 1/scale; with drop-outs it is larger, with more users smaller."""
    shares = NoiseShares(discrete_laplace=5.0, complete=100, largest=1)
    assert Aggregate(shares, 100).get_epsilon(0) == pytest.approx(0.2, rel=1e-15)
    with mpmath.workdps(40):
        masses = oracle.polya_difference(0.9, 5.0, 60)
        worst = mpmath.log(masses[60] / masses[61])  # one more where nothing else is
        lower, upper = Aggregate(shares, 100, dropouts=10).epsilon_bounds(0)
        assert worst <= upper <= worst * (1 + 1e-14) and lower == upper
    found = Aggregate(shares, 150).get_epsilon(1e-6)
    assert found < 0.2


@pytest.mark.parametrize(
    ("users", "needed"), [(1, 1000), (30, 100), (99, 100), (101, 100), (1600, 100)]
)
@pytest.mark.parametrize("scale", [0.05, 0.6, 3.0])
@pytest.mark.parametrize("shift", [1, 3])
def test_incomplete_shares_in_many_digits(
    users: int, needed: int, scale: float, shift: int
) -> None:
    profile = PolyaProfile(PolyaDifference(scale, needed, users), shift)
    epsilon = profile.max_loss * np.array([0.0, 0.2, 0.6, 0.9, 0.99])
    samples = profile.sampler(40.0, 1e-3)(epsilon)
    with mpmath.workdps(40):
        shape, theta = mpmath.mpf(users) / needed, mpmath.exp(-1 / mpmath.mpf(scale))
        reach = math.ceil(scale * (60 + 6 * float(shape))) + 10

        def mass(x: int) -> mpmath.mpf:
            """The sum over j is a hypergeometric function."""
            weight = mpmath.gamma(x + shape) / mpmath.gamma(shape) / mpmath.factorial(x)
            total = weight * mpmath.hyp2f1(shape, x + shape, x + 1, theta**2)
            return (1 - theta) ** (2 * shape) * theta**x * total

        half = [mass(x) for x in range(reach)]
        known = half[:0:-1] + half
        pair = oracle.shifted(known, shift)
        for i, e in enumerate(epsilon.tolist()):
            exact = oracle.divergence(pair, e)
            assert samples.lower[i] - 1e-20 <= exact <= samples.upper[i] + 1e-20
            assert samples.upper[i] <= samples.lower[i] * (1 + 1e-6) + 1e-9


def test_figures() -> None:
    """Fifty shares of sigma 0.6; and 1,483 coins where 80 suffice."""
    fifty = Aggregate(NoiseShares(discrete_gaussian=0.6, largest=1), 50)
    found = fifty.epsilon_bounds(1e-6, rtol=1e-5)
    assert found.upper == pytest.approx(0.995619, rel=1e-5) and found.upper <= found.lower * 1.00001
    coins = NoiseShares(binomial=1, largest=1)
    assert (
        calibrate("users", lambda n: Aggregate(coins, int(n)), epsilon=1.0, delta=1e-6).value == 80
    )
    assert Aggregate(coins, 1483).get_epsilon(1e-6) < 0.1976


def test_flat_in_everything() -> None:
    """10^12 users, composed and sampled, are answered."""
    many = Aggregate(NoiseShares(skellam=1e-9, k=10), 10**12, dropouts=0.1)
    lower, upper = Accountant().compose(many, 50).epsilon_bounds(1e-8)
    assert 0 < lower <= upper <= 1.001 * lower
    sampled = Aggregate(NoiseShares(binomial=2, largest=3), 10_000, sample_rate=0.1)
    assert sampled.get_epsilon(1e-6) < Aggregate(
        NoiseShares(binomial=2, largest=3), 1000
    ).get_epsilon(1e-6)


def test_what_it_says_and_what_it_refuses(tmp_path: Any) -> None:
    round_ = Aggregate(NoiseShares(discrete_laplace=3.0, complete=90, k=4), 100, dropouts=10)
    said = described(round_)
    assert said["analysis"] == "integer-noise" and "modulo" in said["assumptions"][0]
    file = tmp_path / "account.json"
    Accountant().compose(round_, 3).save(file)
    assert list(Accountant.load(file).rounds) == [(round_, 3)]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"k": 2}, "the noise is given in 0 ways; give exactly one of"),
        ({"skellam": 1.0, "binomial": 1, "k": 2}, "the noise is given in 2 ways"),
        ({"skellam": 1.0}, "values are counted in k columns, or"),
        ({"skellam": 1.0, "k": 2, "largest": 1}, "values are counted in k columns"),
        ({"discrete_laplace": 1.0, "k": 2}, "discrete_laplace and complete go together"),
        ({"binomial": 0, "k": 2}, "binomial=0 is below 1"),
        ({"discrete_gaussian": 0.01, "k": 2}, "discrete_gaussian=0.01 is outside"),
    ]
    for given, text in wrong:
        with pytest.raises((InvalidParameter, OutOfRange)) as caught:
            NoiseShares(**given)
        assert str(caught.value).startswith(text) and str(caught.value).endswith(".")
    with pytest.raises(
        InvalidParameter, match=r"protects values in sums only: .*; use Aggregate\.$"
    ):
        Shuffle(NoiseShares(skellam=1.0, k=2), 10)
    few = NoiseShares(discrete_laplace=1.0, complete=1, k=2)
    with pytest.raises(OutOfRange, match=r"^17 shares are more than 16 times the complete=1"):
        Aggregate(few, 17).get_epsilon(1e-6)


def test_in_the_shell_and_in_plans(tmp_path: Any) -> None:
    """Named like every randomizer, where only sums are seen."""
    found = shell.ok(
        *("calibrate", "--find", "skellam", "--randomizer", "noise-shares", "--largest", "2"),
        *("--view", "aggregate", "--users", "1e4", "--epsilon", "1", "--delta", "1e-6", "--json"),
    )
    value = json.loads(found)["value"]
    made = [Aggregate(NoiseShares(skellam=s, largest=2), 10_000) for s in (value, 0.99 * value)]
    assert made[0].get_epsilon(1e-6) <= 1 < made[1].get_epsilon(1e-6)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "[target]\nepsilon = 3.0\ndelta = 1e-6\n"
        "[[rounds]]\nname = 'a'\nrandomizer = 'noise-shares'\n"
        "binomial = 2\nk = 5\nview = 'aggregate'\nusers = 300\ndropouts = 0.1\nrounds = 2\n"
        "[[rounds]]\nname = 'b'\nmechanism = 'binomial'\ncoins = 900\nsensitivity = 2\n"
    )
    spent = Plan.read(plan).ledger().total
    account = Accountant().compose(Aggregate(NoiseShares(binomial=2, k=5), 300, dropouts=0.1), 2)
    assert spent.upper == pytest.approx(
        account.compose(BinomialNoise(900, 2)).get_epsilon(1e-6), rel=1e-3
    )


@pytest.mark.parametrize(("scale", "complete"), [(1.0, 10), (1.0, 12), (1.0, 8), (0.01, 10)])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_losses_far_beyond_the_supported_ones(scale: float, complete: int) -> None:
    """Sums of up to 1,000 with little noise: the largest loss has a mass of about 1/2, so that
    epsilon is about 1,000. Exponentials of such losses overflow."""
    shares = NoiseShares(discrete_laplace=scale, complete=complete, largest=1000)
    seen = Aggregate(shares, users=10)
    assert best_effort(seen.epsilon_bounds, 1e-6).upper >= 990
    assert best_effort(Accountant().compose(seen, 2).epsilon_bounds, 1e-6).upper >= 1980
    assert seen.get_delta(1.0) >= 1 - 1e-6


def test_calibrated_noise_is_not_below_what_is_needed() -> None:
    """The loss of complete shares is largest / scale, up to delta."""

    def seen(scale: float) -> Aggregate:
        return Aggregate(NoiseShares(discrete_laplace=scale, complete=10, largest=1000), users=10)

    found = calibrate("discrete_laplace", seen, epsilon=1.0, delta=1e-6)
    assert 990 <= found.value <= 1001


@pytest.mark.parametrize("shift", [3, 40, 700])
def test_polygons_of_discrete_laplace_noise(shift: int) -> None:
    """Losses (2x - shift)/scale in 50 digits, also where they span more than a double's range."""
    scale = 1.5
    profile = DiscreteLaplaceProfile(scale, shift)
    at = np.array([0.0, 0.3, 1.0, min(shift / scale, 590) * 0.9])
    found = profile.sampler(60.0, 1e-6)(at)
    with mpmath.workdps(50):
        theta = mpmath.exp(-1 / mpmath.mpf(scale))
        for epsilon, low, high in zip(at, found.lower, found.upper, strict=True):
            truth = mpmath.mpf(0)
            for x in range(-400, shift + 400):
                p, q = (theta ** abs(x - center) for center in (shift, 0))
                truth += max(p - mpmath.exp(mpmath.mpf(float(epsilon))) * q, 0)
            truth *= (1 - theta) / (1 + theta)
            assert low <= truth * (1 + mpmath.mpf(10) ** -40)
            assert truth <= high * (1 + mpmath.mpf(10) ** -40)
            assert high <= low * (1 + 1e-9)
