"""Readings of a guarantee against the best attacker on every pair of neighbouring datasets."""

import json
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import oracles
from covering import covering
from oracles.attacker import caught, renyi
from oracles.columns import neighbouring_sums
from shell import ok, run
from shuffledp import (
    Accountant,
    Aggregate,
    FiniteRandomizer,
    Gaussian,
    PureLDP,
    RandomAllocation,
    RandomizedResponse,
    SampleThreshold,
    Shuffle,
    UnaryEncoding,
    risk,
)
from shuffledp.bounds.readings import false_negative_rates, true_positive_rates
from shuffledp.central import GaussianNoise, LaplaceNoise
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.mechanisms import ApproximateDP, PoissonSampled
from shuffledp.randomizers import NoisyHistogram
from shuffledp.tools.risk import Risk

RATES = [Fraction(0), Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2)]
ORDERS = [Fraction(1), Fraction(5, 4), Fraction(2), Fraction(8), Fraction(40)]
Pair = Mapping[Any, tuple[Any, Any]]
NORMAL = NormalDist()


def of(what: Any, rounds: int = 1, **more: Any) -> Risk:
    asked = {"false_positive_rates": RATES, "orders": ORDERS, **more}
    return risk(what, rounds, **asked)


def check(found: Risk, pairs: Iterable[Pair], slack: float | None = None) -> None:
    """No attacker on any of the pairs beats what was found; the best comes as near as `slack`."""
    both = [*pairs]
    both += [{y: (q, p) for y, (p, q) in pair.items()} for pair in both]
    tests = [[caught(pair, rate) for pair in both] for rate in RATES]
    advantages = [sum(max(q - p, 0 * p) for p, q in pair.values()) for pair in both]
    assert max(advantages) <= found.advantage.upper
    for exact, upper, lower in zip(
        map(max, tests), found.true_positive_rates, found.false_negative_rates, strict=True
    ):
        assert exact <= upper and lower <= 1 - exact
        assert slack is None or (upper <= float(exact) * (1 + slack) + 1e-12)
        assert slack is None or lower >= 1 - float(exact) - slack * float(exact) - 1e-12
    for order, upper in zip(ORDERS, found.divergences, strict=True):
        exact = max(renyi(pair, order) for pair in both)
        assert exact <= upper
        assert slack is None or upper <= float(exact) * (1 + slack)


def floats(matrix: oracles.Matrix) -> list[list[float]]:
    return [[float(entry) for entry in row] for row in matrix]


def datasets(matrix: oracles.Matrix, users: int) -> list[Pair]:
    """All pairs of shuffled outputs of datasets that differ in one user."""
    values = range(len(matrix))
    found: list[Pair] = []
    for others in combinations_with_replacement(values, users - 1):
        for x, y in permutations(values, 2):
            if x < y:
                one, two = (oracles.shuffled_mechanism(matrix, (z, *others)) for z in (x, y))
                zero = Fraction(0)
                found.append({h: (one.get(h, zero), two.get(h, zero)) for h in {*one, *two}})
    return found


def powers(pair: Pair, rounds: int) -> Pair:
    found: dict[Any, tuple[Fraction, Fraction]] = {(): (Fraction(1), Fraction(1))}
    for _ in range(rounds):
        each = product(found.items(), pair.items())
        found = {(*a, b): (p * r, q * s) for (a, (p, q)), (b, (r, s)) in each}
    return found


SYMMETRIC = [[Fraction(7, 8), Fraction(1, 8)], [Fraction(1, 8), Fraction(7, 8)]]
BINARY = [[Fraction(7, 8), Fraction(1, 8)], [Fraction(1, 4), Fraction(3, 4)]]
TERNARY = [[Fraction(x) / 10 for x in row] for row in ([7, 2, 1], [1, 8, 1], [2, 2, 6])]


@pytest.mark.parametrize("rounds", [1, 3])
def test_readings_of_one_pair_are_exact(rounds: int) -> None:
    """Of one user there is one pair of datasets: all readings are those of its composition."""
    round_ = Shuffle(RandomizedResponse(2, gamma=0.25), 1)
    check(of(round_, rounds), [powers(datasets(SYMMETRIC, 1)[0], rounds)], 1e-3)


@pytest.mark.parametrize(
    ("users", "analysis", "matrix"),
    covering([1, 3, 4], ["best", "clones", "stronger-clones"], [BINARY, TERNARY]),
)
def test_no_attacker_on_any_dataset_does_better(
    users: int, analysis: str, matrix: oracles.Matrix
) -> None:
    randomizer = FiniteRandomizer(floats(matrix))
    check(of(Shuffle(randomizer, users, analysis=analysis)), datasets(matrix, users))


@pytest.mark.parametrize("rounds", [2, 3])
def test_composed_rounds(rounds: int) -> None:
    round_ = Shuffle(RandomizedResponse(2, gamma=0.25), 2)
    pairs = [powers(pair, rounds) for pair in datasets(SYMMETRIC, 2)]
    check(of(round_, rounds), pairs)
    check(of(Accountant().compose(round_, rounds)), pairs)


def test_different_rounds_in_one_account() -> None:
    two = Shuffle(FiniteRandomizer(floats(BINARY)), 2)
    three = Shuffle(FiniteRandomizer(floats(TERNARY)), 3)
    pairs: list[Pair] = []
    for a in datasets(BINARY, 2):
        for b in datasets(TERNARY, 3):
            each = product(a.items(), b.items())
            pairs.append({(x, y): (p * r, q * s) for (x, (p, q)), (y, (r, s)) in each})
    check(of(Accountant().compose(two).compose(three)), pairs)


@pytest.mark.parametrize("neighbours", ["replace", "remove"])
def test_only_sums(neighbours: str) -> None:
    p, q = Fraction(3, 4), Fraction(1, 8)
    round_ = Aggregate(UnaryEncoding(k=3, p=0.75, q=0.125), users=3, neighbours=neighbours)
    check(of(round_), map(_as_pair, neighbouring_sums(3, 1, 3, p, q, neighbours)))


def _as_pair(pair: Any) -> Pair:
    one, two = pair
    unit = sum(one.values())
    return {y: (Fraction(one.get(y, 0), unit), Fraction(two.get(y, 0), unit)) for y in {*one, *two}}


def test_thresholds_have_infinite_divergences() -> None:
    from oracles.noise import shown

    rate, threshold = Fraction(1, 4), 3
    found = of(SampleThreshold(0.25, threshold, neighbours="remove"))
    pairs = []
    for others in range(12):
        one, two = shown(rate, threshold, others)
        pairs.append(dict(enumerate(zip(one, two, strict=True))))
    check(found, pairs)
    assert found.divergences == (math.inf,) * len(ORDERS)
    noisy = risk(Shuffle(NoisyHistogram(poisson=0.01), users=1000))
    assert noisy.advantage.upper < 0.3 and noisy.divergences[0] == math.inf


@pytest.mark.parametrize(("sigma", "rounds"), covering([0.5, 1.0, 4.0, 300.0], [1, 10]))
def test_central_gaussian_noise_in_closed_form(sigma: float, rounds: int) -> None:
    """Dong, Roth, Su 2022: a Gaussian mechanism is its trade-off curve."""
    shift, rates = math.sqrt(rounds) / sigma, (1e-5, 1e-3, 0.01, 0.1, 0.5, 0.9)
    found = risk(GaussianNoise(sigma), rounds, false_positive_rates=rates, orders=[1, 1.5, 2, 64])
    for rate, upper, lower in zip(
        rates, found.true_positive_rates, found.false_negative_rates, strict=True
    ):
        exact = NORMAL.cdf(NORMAL.inv_cdf(rate) + shift)
        assert exact * (1 - 1e-12) <= upper <= exact * (1 + 1e-3)
        missed = math.erfc((NORMAL.inv_cdf(rate) + shift) / math.sqrt(2)) / 2
        assert missed * (1 - 1e-3) - 1e-13 <= lower <= missed * (1 + 1e-12)
    advantage = 2 * NORMAL.cdf(shift / 2) - 1
    assert found.advantage.lower * (1 - 1e-9) <= advantage <= found.advantage.upper * (1 + 1e-9)
    for order, value in zip(found.orders, found.divergences, strict=True):
        assert order * shift**2 / 2 * (1 - 1e-12) <= value <= order * shift**2 / 2 * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_central_laplace_noise_in_closed_form(scale: float) -> None:
    """Mironov 2017, Table II."""
    orders = [1.0, 1.5, 2.0, 10.0, 100.0]
    found = risk(LaplaceNoise(scale), 3, orders=orders)
    for order, value in zip(orders, found.divergences, strict=True):
        loss = 1 / scale
        if order == 1:
            exact = loss + math.expm1(-loss)
        else:
            terms = [(order, (order - 1) * loss), (order - 1, -order * loss)]
            logs = [math.log(n / (2 * order - 1)) + power for n, power in terms]
            exact = float(np.logaddexp(logs[0], logs[1])) / (order - 1)
        assert 3 * exact * (1 - 1e-9) <= value <= 3 * exact * (1 + 1e-3)


@pytest.mark.parametrize("sigma", [0.7, 2.0])
def test_local_gaussian_noise_is_no_worse_shuffled(sigma: float) -> None:
    some: Any = {"false_positive_rates": [0.01], "rtol": 0.1}
    alone = risk(Shuffle(Gaussian(sigma), 1), orders=[1, 2, 8], **some)
    for order, value in zip(alone.orders, alone.divergences, strict=True):
        assert value == pytest.approx(order / (2 * sigma**2), rel=1e-9)
    crowd = risk(Shuffle(Gaussian(sigma), 500), orders=[1, 2], **some)
    assert all(0 < b < a / 2 for a, b in zip(alone.divergences, crowd.divergences, strict=False))


def test_poisson_batches_and_random_allocation_have_finite_divergences() -> None:
    """Moments of the likelihood ratio; of a step of Gaussian noise, E_Q[r^k] = e^(k(k-1)/2 s^2)."""

    def moment(k: int) -> float:
        return math.exp(k * (k - 1) / (2 * sigma**2))

    sigma, rate, steps, rounds = 1.2, 0.01, 5, 3
    some: Any = {"false_positive_rates": [0.01], "rtol": 0.03}  # narrow enough for the divergences
    noise = GaussianNoise(sigma, neighbours="remove")
    sampled = risk(PoissonSampled(noise, rate), rounds, orders=[2, 5, 8], **some)
    for order, value in zip((2, 5, 8), sampled.divergences, strict=True):
        terms = (
            math.comb(order, k) * (1 - rate) ** (order - k) * rate**k * moment(k)
            for k in range(order + 1)
        )
        exact = rounds * math.log(math.fsum(terms)) / (order - 1)
        assert exact <= value <= 1.02 * exact
    epoch = risk(RandomAllocation(sigma, steps), rounds, orders=[2, 3, 32], **some)
    three = steps * moment(3) + 3 * steps * (steps - 1) * moment(2)
    three += steps * (steps - 1) * (steps - 2)
    each = [math.log(1 + (moment(2) - 1) / steps), math.log(three / steps**3) / 2]
    for value, alone in zip(epoch.divergences, each, strict=False):
        assert rounds * alone <= value <= 1.02 * rounds * alone
    assert epoch.divergences[2] <= (1 + 1e-9) * rounds * 16 / sigma**2  # no more than the noise
    kept = RandomAllocation(sigma, steps, epochs=rounds, kept=True)
    alone = risk(kept, orders=[32], **some).divergences[0]
    assert alone <= (1 + 1e-9) * rounds * 16 / sigma**2


def test_divergences_tend_to_the_largest_loss_and_grow() -> None:
    round_ = Shuffle(PureLDP(3.0), 20)
    found = risk(round_, 2, orders=[1, 2, 4, 16, 64, 1e3, 1e6]).divergences
    assert list(found) == sorted(found)
    assert 5.99 < found[-1] <= 6.0001


def test_a_guarantee_alone_says_as_much_as_its_definition() -> None:
    epsilon, delta, rate = 0.7, 1e-3, 0.02
    found = risk(ApproximateDP(epsilon, delta), false_positive_rates=[rate, 0.9])
    few = delta + math.exp(epsilon) * rate
    assert few <= found.true_positive_rates[0] * (1 + 1e-12) <= few * (1 + 1e-9)
    missed = math.exp(-epsilon) * (1 - delta - 0.9)
    assert missed * (1 - 1e-9) <= found.false_negative_rates[1] <= missed * (1 + 1e-12)


def test_rounding_goes_to_the_safe_side() -> None:
    """In exact arithmetic on the same floats; e^epsilon with many digits."""
    import mpmath

    draw = np.random.default_rng(7)
    epsilon, delta = draw.uniform(0, 60, 100), 10 ** draw.uniform(-20, 0, 100)
    accused = np.concatenate([[0.0, 1.0], 10 ** draw.uniform(-12, 0, 20)])
    with mpmath.workdps(60):
        for e, d in zip(epsilon.tolist(), delta.tolist(), strict=True):
            one = np.array([e]), np.array([d]), accused
            upper, lower = true_positive_rates(*one), false_negative_rates(*one)
            grown = mpmath.exp(mpmath.mpf(e))
            for a, high, low in zip(accused.tolist(), upper.tolist(), lower.tolist(), strict=True):
                rest = 1 - mpmath.mpf(d) - mpmath.mpf(a)
                missed = max(0, 1 - mpmath.mpf(d) - grown * a, rest / grown)
                assert low <= missed and high >= 1 - missed
                assert low >= missed - 1e-13 and high <= 1 - missed + 1e-13 * (1 + high)


def test_infinite_epsilon_and_nothing_lost() -> None:
    nothing = true_positive_rates(np.array([math.inf]), np.array([0.25]), np.array([0.0, 0.5]))
    assert nothing.tolist() == pytest.approx([0.25, 1.0])
    alike = risk(Shuffle(FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]]), 3), orders=[2])
    assert alike.advantage == (0, 0) and alike.divergences == (0.0,)
    assert alike.true_positive_rates == pytest.approx(alike.false_positive_rates)
    told = risk(Shuffle(FiniteRandomizer([[1, 0], [0, 1]]), 1))
    assert told.false_negative_rates == (0, 0, 0) and told.divergences[0] == math.inf


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        ({"what": "a round"}, InvalidParameter, "neither a round nor an accountant"),
        ({"what": Accountant(), "rounds": 3}, InvalidParameter, "rounds=3"),
        ({"false_positive_rates": [1.5]}, OutOfRange, "false_positive_rate=1.5"),
        ({"false_positive_rates": 0.5}, InvalidParameter, "is not a list"),
        ({"orders": [0.5]}, OutOfRange, "order=0.5"),
        ({"orders": 2}, InvalidParameter, "orders=2"),
        ({"orders": [math.nan]}, InvalidParameter, "nan"),
    ],
)
def test_bad_input_is_one_sentence(wrong: dict[str, Any], kind: Any, said: str) -> None:
    with pytest.raises(kind, match=said):
        risk(**{"what": Shuffle(PureLDP(1.0), 10), **wrong})


def test_the_shell_says_what_python_says(tmp_path: Path) -> None:
    protocol = ("--randomizer", "rr", "--k", "3", "--eps0", "2", "--users", "500", "--rounds", "5")
    asked = ("--false-positive-rate", "0.1%,0.05", "--order", "1,3", "--rtol", "0.1")
    found = risk(
        Shuffle(RandomizedResponse(3, eps0=2.0), 500), 5,
        false_positive_rates=[0.001, 0.05], orders=[1, 3], rtol=0.1,
    )  # fmt: skip
    report = json.loads(ok("risk", *protocol, *asked, "--json"))
    assert report["advantage"] == found.advantage._asdict()
    assert report["false_positive_rate"] == [0.001, 0.05]
    assert tuple(report["true_positive_rate_upper"]) == found.true_positive_rates
    assert tuple(report["false_negative_rate_lower"]) == found.false_negative_rates
    assert tuple(report["renyi_divergence_upper"]) == found.divergences
    assert ok("risk", *protocol, *asked, "--csv") == found.to_csv()
    text = ok("risk", *protocol, *asked, "--plot", str(tmp_path / "tradeoff.svg"))
    assert text.startswith(f"{found}\n") and "adversary" in text
    assert "no attacker is here" in (tmp_path / "tradeoff.svg").read_text()
    assert run("risk", *protocol, "--order", "0.5").returncode == 2


def test_printed_values_are_rounded_to_the_safe_side() -> None:
    found = risk(Shuffle(PureLDP(4.0), 10_000), false_positive_rates=[0.01], orders=[2])
    (row,) = [line for line in str(found).splitlines() if line.strip().startswith("1 %")]
    percents = [float(word) for word in row.replace("%", " ").split()]
    assert percents[1] >= 100 * found.true_positive_rates[0]
    assert percents[2] <= 100 * found.false_negative_rates[0]


def test_statements_have_it_in_plain_words() -> None:
    """delta + e^epsilon a, for the pair that is printed: 1e-6 + e^0.8539 / 100, rounded up."""
    said = ok("epsilon", "--eps0", "4", "--users", "1e4", "--rounds", "4", "--delta", "1e-6")
    least = 100 * (1e-6 + math.exp(0.8539) / 100)
    found = " ".join(said.split()).partition("the true positive rate is at most ")[2]
    assert least <= float(found.split()[0]) <= least + 0.001
    none = run(
        "epsilon", "--view", "threshold", "--rate", "0.1", "--threshold", "20", "--delta", "0"
    ).stdout
    assert none.startswith("No epsilon is certified") and "true positive rate" not in none


def test_the_picture_and_the_table_of_notebooks() -> None:
    found = risk(Shuffle(PureLDP(2.0), 100), orders=[2])
    axes = found.plot(title="mine")
    assert axes.get_title() == "mine" and axes.get_ylabel() == "false negative rate"
    drawn = axes.lines[1]
    assert np.all(np.asarray(drawn.get_ydata()) <= 1 - np.asarray(drawn.get_xdata()) + 1e-12)
    assert "Rényi" in found._repr_html_() and "advantage at most" in found._repr_html_()
    assert found.columns == ("reading", "at", "lower", "upper")
