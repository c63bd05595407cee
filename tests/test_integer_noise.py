"""Central noise on integers: figures, compositions, plans, what is said and what is refused."""

import json
import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest

import shell
from oracles import integer_noise as oracle
from shuffledp import Accountant, calibrate
from shuffledp.central import CentralIntegerNoise
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.guarantee import best_effort
from shuffledp.mechanisms import (
    BinomialNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    SkellamNoise,
)
from shuffledp.records import central_of, described

NOISES: list[CentralIntegerNoise] = [
    DiscreteGaussianNoise(2.0, 3),
    DiscreteLaplaceNoise(2.0, 2),
    SkellamNoise(7.0),
    BinomialNoise(60, 2),
]


def definition(noise: CentralIntegerNoise) -> tuple[oracle.Masses, bool]:
    """Its masses in many digits, and whether they were cut."""
    match noise:
        case DiscreteGaussianNoise(sigma):
            return oracle.discrete_gaussian(sigma, 40), True
        case DiscreteLaplaceNoise(scale):
            return oracle.discrete_laplace(scale, 96), True
        case SkellamNoise(mu):
            return oracle.skellam(mu, 70), True
        case BinomialNoise(coins):
            return oracle.coins(coins), False
    raise TypeError(noise)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_one_release_and_two(noise: Any) -> None:
    """Against the sum over all outcomes, and over all pairs of losses."""
    with mpmath.workdps(50):
        known, is_cut = definition(noise)
        p, q = oracle.shifted(known, noise.sensitivity, is_cut)
        both = [x * y for x in p for y in p], [x * y for x in q for y in q]
        for releases, pair in ((1, (p, q)), (2, both)):
            account = Accountant().compose(noise, releases)
            asked = (0.0, 0.4, 1.1) if releases == 1 else (0.4, 1.1)
            truth = {epsilon: oracle.divergence(pair, epsilon) for epsilon in asked}
            for epsilon, exact in truth.items():
                lower, upper = best_effort(account.delta_bounds, epsilon)
                assert lower - 1e-20 <= exact <= upper + 1e-20
                assert upper <= 1.02 * lower + 1e-9
            attained = account.attained_delta(0.4, rtol=1e-3)
            assert attained <= truth[0.4] + 1e-20
            assert attained >= 0.99 * truth[0.4] - 1e-12


@pytest.mark.parametrize("releases", [3, 10])
def test_discrete_gaussian_releases_compose_like_their_sum(releases: int) -> None:
    """The loss of several releases is a function of the sum of the outcomes."""
    sigma, delta = 1.5, 1e-6
    with mpmath.workdps(40):
        total = [mpmath.mpf(1)]
        one = oracle.discrete_gaussian(sigma, 16)
        total = oracle.convolved(one, releases)
        middle = len(total) // 2
        bounds = Accountant().compose(DiscreteGaussianNoise(sigma), releases).epsilon_bounds(delta)

        def exact(epsilon: float) -> mpmath.mpf:
            losses = (
                (mpmath.mpf(2 * (y - middle) + releases) / (2 * mpmath.mpf(sigma) ** 2), mass)
                for y, mass in enumerate(total)
            )
            return mpmath.fsum(m * -mpmath.expm1(epsilon - x) for x, m in losses if x > epsilon)

        assert exact(bounds.lower) >= delta * (1 - 1e-15) and exact(bounds.upper) <= delta
        assert bounds.upper <= 1.001 * bounds.lower


def test_the_printed_figures() -> None:
    """Divvi Up's and others' parameters, at delta = 1e-6 and a sensitivity of 1."""
    for noise, epsilon in (
        (DiscreteGaussianNoise(1.0), 4.49959),
        (DiscreteGaussianNoise(23.3903), 0.160035),
        (SkellamNoise(20.0), 0.618690),
        (BinomialNoise(2000), 0.168253),
    ):
        found = noise.epsilon_bounds(1e-6, rtol=1e-5)
        assert found.upper == pytest.approx(epsilon, rel=1e-5)
        assert found.lower <= found.upper <= found.lower * (1 + 1e-5)


@pytest.mark.parametrize(
    ("find", "make", "epsilon", "value"),
    [
        ("coins", BinomialNoise, 3.0, 20),
        ("coins", BinomialNoise, 1.0, 80),
        ("coins", BinomialNoise, 0.1, 5279),
        ("sigma", DiscreteGaussianNoise, 1.454914, 3.0),
        ("mu", SkellamNoise, 0.271553, 100.0),
        ("scale", DiscreteLaplaceNoise, 0.1, 10.0),
    ],
)
def test_calibration(
    find: str, make: Callable[[Any], CentralIntegerNoise], epsilon: float, value: float
) -> None:
    found = calibrate(find, make, epsilon=epsilon, delta=1e-6, rtol=1e-5)
    assert found.value == pytest.approx(value, rel=1e-3)
    assert make(found.value).get_epsilon(1e-6, rtol=1e-5) <= epsilon


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_what_a_release_says_of_itself(noise: CentralIntegerNoise) -> None:
    said = described(noise)
    assert said["analysis"] == "integer-noise" and "on integers" in said["assumptions"][0]
    assert hash(noise) == hash(central_of(noise.name, noise.given)) and noise.sensitivity == int(
        noise.sensitivity
    )
    assert f"sensitivity {noise.sensitivity}" in noise.described
    with pytest.raises(AttributeError):
        noise.sensitivity = 2


def test_bad_input_is_one_sentence() -> None:
    for make, error, text in (
        (lambda: BinomialNoise(0), InvalidParameter, "coins=0 is below 1"),
        (lambda: BinomialNoise(1.5), InvalidParameter, "coins=1.5 is not whole"),  # type: ignore[arg-type]
        (lambda: BinomialNoise(10**13), OutOfRange, "coins=10000000000000 is above 1e+12"),
        (lambda: SkellamNoise(0.0), OutOfRange, "mu=0.0 is outside"),
        (lambda: DiscreteGaussianNoise(0.01), OutOfRange, "sigma=0.01 is outside"),
        (lambda: DiscreteGaussianNoise(1.0, 0.5), InvalidParameter, "sensitivity=0.5"),  # type: ignore[arg-type]
        (lambda: DiscreteGaussianNoise(1.0, 0), InvalidParameter, "sensitivity=0 is below 1"),
        (lambda: DiscreteLaplaceNoise(1.0, 10**6), OutOfRange, "scale/sensitivity"),
        (lambda: SkellamNoise(1.0, neighbours="x"), InvalidParameter, "neighbours='x'"),
    ):
        with pytest.raises(error) as caught:
            make()
        message = str(caught.value)
        assert message.startswith(text) and message.count(". ") == 0 and message.endswith(".")


@pytest.mark.parametrize(
    "noise",
    [
        DiscreteGaussianNoise(0.05),
        DiscreteGaussianNoise(1e6, 10**6),
        SkellamNoise(1e-6, 3),
        SkellamNoise(1e12, 10**5),
        BinomialNoise(1),
        BinomialNoise(10**12, 10**6),
        BinomialNoise(3, 10**6),
        DiscreteLaplaceNoise(1e12),
    ],
    ids=repr,
)
def test_every_size_is_answered(noise: CentralIntegerNoise) -> None:
    for delta in (1e-3, 1e-12, 1e-100):
        lower, upper = best_effort(noise.epsilon_bounds, delta)
        assert 0 <= lower <= upper
        assert math.isinf(upper) or upper <= lower * 1.001 + 1e-9


def test_calibration_in_the_shell() -> None:
    target = ("--epsilon", "1", "--delta", "1e-6")
    printed = shell.ok("calibrate", "--find", "coins", "--mechanism", "binomial", *target)
    assert printed.startswith("coins = 80 is certified to meet epsilon 1")
    found = json.loads(
        shell.ok(
            *("calibrate", "--find", "sigma", "--mechanism", "discrete-gaussian"),
            *("--sensitivity", "2", "--rounds", "12", *target, "--json"),
        )
    )
    assert found["mechanism"] == "discrete-gaussian" and found["parameters"]["sensitivity"] == 2
    account = Accountant().compose(DiscreteGaussianNoise(found["value"], 2), 12)
    assert 0.998 < account.get_epsilon(1e-6) <= 1
    printed = shell.ok(
        "calibrate", "--find", "rounds", "--mechanism", "skellam", "--mu", "100", *target
    )
    most = int(printed.split()[2])
    for rounds in (most, most + 1):
        account = Accountant().compose(SkellamNoise(100.0), rounds)
        assert (account.get_epsilon(1e-6) <= 1) == (rounds == most)
    for options, said in (
        (
            ("--find", "rounds", "--mechanism", "skellam", "--mu", "9", "--rounds", "2"),
            "--rounds is what --find rounds looks for; leave it out.",
        ),
        (
            ("--find", "rounds", "--mechanism", "skellam"),
            "--mechanism skellam needs --mu; add it.",
        ),
        (
            ("--find", "eps0", "--mu", "2", "--users", "9"),
            "--mu goes with --mechanism; add that, or leave it out.",
        ),
        (("--find", "coins"), "--find coins goes with --mechanism; add that."),
        (
            ("--find", "coins", "--mechanism", "binomial", "--users", "3"),
            "--users does not go with --mechanism binomial; leave it out.",
        ),
        (
            ("--find", "mu", "--mechanism", "binomial"),
            "--find mu does not go with --mechanism binomial, which has coins, sensitivity; look "
            "for another parameter.",
        ),
        (
            ("--find", "eps0", "--sensitivity", "2", "--users", "9"),
            "--sensitivity goes with --mechanism; add that, or leave it out.",
        ),
    ):
        result = shell.run("calibrate", *options, *target)
        assert result.returncode == 2 and result.stderr == f"shuffledp: {said}\n"


@pytest.mark.parametrize(("scale", "epsilon"), [(0.3, 3.333), (0.005, 199.9999), (7.0, 0.142857)])
def test_discrete_laplace_noise_next_to_its_largest_loss(scale: float, epsilon: float) -> None:
    """One outcome and all beyond lose the most: delta is their mass times 1 - e^(epsilon - L)."""
    noise = DiscreteLaplaceNoise(scale)
    with mpmath.workdps(40):
        loss = 1 / mpmath.mpf(scale)
        exact = (1 - mpmath.exp(epsilon - loss)) / (1 + mpmath.exp(-loss))
        lower, upper = noise.delta_bounds(epsilon)
        assert noise.attained_delta(epsilon, rtol=0.1) <= exact
        assert lower <= exact <= upper
        assert upper <= lower * (1 + 1e-6)


def test_a_coin_for_each_unit_of_the_sensitivity() -> None:
    """Two rounds of one coin: the outcomes differ unless both show what is possible either way."""
    lower, upper = Accountant().compose(BinomialNoise(1), 2).delta_bounds(0.1)
    assert lower <= 0.75 <= upper <= lower + 1e-9


@pytest.mark.parametrize(("sensitivity", "rounds"), [(3, 2), (2, 100)])
def test_losses_far_apart_are_certified(sensitivity: int, rounds: int) -> None:
    """Masses of 1e-250 far out cost nothing where it matters."""
    bounds = Accountant().compose(DiscreteGaussianNoise(0.5, sensitivity), rounds)
    lower, upper = bounds.epsilon_bounds(1e-6)
    assert 0 < lower <= upper <= 1.001 * lower
