"""Noise messages: products of counts in many digits, and the real mechanism enumerated."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from covering import covering
from oracles import noise as oracle
from shell import ok
from shuffledp import Accountant, Shuffle, calibrate
from shuffledp.accountant import repeated
from shuffledp.errors import InvalidParameter, ShuffleDPError
from shuffledp.guarantee import best_effort
from shuffledp.randomizers import NoisyHistogram
from shuffledp.randomizers.exact import exp_bracket

EPSILONS = (0.0, 1.5)
LAWS: list[dict[str, Any]] = [
    {"poisson": 1.5},
    {"bernoulli": 0.4},
    {"bernoulli": 0.9},
    {"negative_binomial": (0.8, 0.5)},
    {"negative_binomial": (0.25, 0.5)},
]


#: Of four counts there are too many combinations, unless each has few values.
CASES = [
    (law, neighbours, messages)
    for law, neighbours, messages in covering(LAWS, ("replace", "remove"), (1, 2))
    if messages == 1 or neighbours == "remove" or "bernoulli" in law
]


@pytest.mark.parametrize(("law", "neighbours", "messages"), CASES, ids=str)
def test_against_products_of_counts(law: dict[str, Any], neighbours: str, messages: int) -> None:
    """Every combination of counts; remove-one in the worse of both orders."""
    users = 4
    round_ = Shuffle(NoisyHistogram(**law), users, messages=messages, neighbours=neighbours)
    noise = round_.law.of_users(users)  # type: ignore[attr-defined]
    with mpmath.workdps(30):
        one = oracle.one_more(noise, 1e-13)
        each = oracle.product(one, oracle.reversed_pair(one)) if neighbours == "replace" else one
        pair = oracle.product(each, each) if messages == 2 else each
        asked = repeated(round_, 1)  # which keeps what it composes of several counts
        for epsilon in EPSILONS:
            both = (pair, oracle.reversed_pair(pair))
            truth = float(max(oracle.divergence(order, epsilon) for order in both))
            # of rounds that tell nearly all, several counts together may have wide brackets
            is_one = len(round_.parts) * messages == 1
            bounds = best_effort(asked.delta_bounds, epsilon, rtol=1e-3 if is_one else 0.01)
            assert bounds.lower - 1e-10 <= truth <= bounds.upper + 1e-10
            assert bounds.upper <= (1.001 if is_one else 1.02) * truth
            assert 0 < round_.attained_delta(epsilon, rtol=1e-3) <= truth + 1e-10


def outputs(data: tuple[int, ...], values: int, q: Fraction) -> dict[tuple[int, ...], Fraction]:
    """All users send their value and, for each value, a dummy with probability q."""
    law = {tuple(Counter(data)[v] for v in range(values)): Fraction(1)}
    for _ in data:
        for v in range(values):
            following: dict[tuple[int, ...], Fraction] = {}
            for counts, mass in law.items():
                for dummy, p in ((0, 1 - q), (1, q)):
                    new = tuple(c + dummy * (i == v) for i, c in enumerate(counts))
                    following[new] = following.get(new, Fraction(0)) + mass * p
            law = following
    return law


@pytest.mark.parametrize(
    ("users", "values", "q"),
    [
        (1, 2, Fraction(1, 2)),
        (3, 2, Fraction(1, 2)),
        (3, 2, Fraction(1, 4)),
        (2, 3, Fraction(1, 4)),
    ],
)
def test_the_real_mechanism_on_all_datasets(users: int, values: int, q: Fraction) -> None:
    asked = repeated(Shuffle(NoisyHistogram(bernoulli=float(q)), users), 1)
    laws = {
        data: outputs(data, values, q) for data in itertools.product(range(values), repeat=users)
    }
    for epsilon in (0.0, 0.3, 1.0):
        alpha = exp_bracket(Fraction(epsilon), 40)[0]
        truth = Fraction(0)
        for a, b in itertools.product(laws, repeat=2):
            if sum(x != y for x, y in zip(a, b, strict=True)) == 1:
                first, second = laws[a], laws[b]
                gain = [p - alpha * second.get(y, Fraction(0)) for y, p in first.items()]
                truth = max(truth, sum((g for g in gain if g > 0), Fraction(0)))
        bounds = best_effort(asked.delta_bounds, epsilon)
        assert truth <= Fraction(bounds.upper)
        assert bounds.lower <= float(truth) * (1 + 1e-12)
        assert bounds.upper <= float(truth) * 1.002 + 1e-9


@pytest.mark.parametrize(("dummies", "k"), [(1, 2), (3, 2), (3, 3), (5, 4), (9, 3)])
def test_uniform_dummies_against_multinomials(dummies: int, k: int) -> None:
    round_ = Shuffle(NoisyHistogram(dummies=dummies, k=k), 7)

    def law(own: int) -> Counter[tuple[int, ...]]:
        found: Counter[tuple[int, ...]] = Counter()
        for drawn in itertools.combinations_with_replacement(range(k), dummies):
            counts = Counter(drawn)
            ways = math.factorial(dummies) // math.prod(map(math.factorial, counts.values()))
            counts[own] += 1
            found[tuple(counts[v] for v in range(k))] += ways
        return found

    for epsilon in (0.0, 0.3, 1.0, 2.0):
        alpha = exp_bracket(Fraction(epsilon), 40)[0]
        first, second = law(0), law(1)
        gain = sum(max(n - alpha * second[y], Fraction(0)) for y, n in first.items())
        truth = float(gain / k**dummies)
        bounds = round_.delta_bounds(epsilon)
        assert bounds.lower * (1 - 1e-12) <= truth <= bounds.upper * (1 + 1e-15)
        assert bounds.upper <= truth * (1 + 1e-3) + 1e-12
        assert round_.attained_delta(epsilon) == pytest.approx(truth, rel=1e-2)


@pytest.mark.parametrize(
    ("epsilon", "delta", "neighbours", "mean"),
    [
        (1.0, 1e-6, "replace", 42.6545),
        (0.5, 1e-6, "replace", 136.096),
        (1.0, 1e-6, "remove", 34.0679),
        (0.5, 1e-6, "remove", 90.1428),
    ],
)
def test_the_smallest_means(epsilon: float, delta: float, neighbours: str, mean: float) -> None:
    def made(poisson: float) -> Shuffle:
        return Shuffle(NoisyHistogram(poisson=poisson), 10**5, neighbours=neighbours)

    found = calibrate("poisson", made, epsilon=epsilon, delta=delta)
    assert found.value * 1e5 == pytest.approx(mean, rel=1e-3)
    assert found.achieved.upper <= epsilon


def test_only_honest_users_make_noise() -> None:
    noise = NoisyHistogram(poisson=1e-3)
    fewer = Shuffle(noise, 100_000, colluding=30_000, dropouts=0.2).delta_bounds(0.5)
    assert fewer == Shuffle(noise, 50_000).delta_bounds(0.5)


def test_samples_send_their_own_noise_only() -> None:
    """The theorem for a sample of any mechanism, of the round of the sample."""
    noise = NoisyHistogram(poisson=0.01)
    whole = Shuffle(noise, 10_000)
    sampled = Shuffle(noise, 100_000, sample_rate=0.1)
    rate, epsilon = 0.1, 0.05
    inner = math.log1p(math.expm1(epsilon) / rate)
    assert sampled.get_delta(epsilon) == pytest.approx(rate * whole.get_delta(inner), rel=0.02)
    poisson = Shuffle(noise, 100_000, sample_rate=0.1, sampling="poisson").get_delta(epsilon)
    assert poisson == pytest.approx(sampled.get_delta(epsilon), rel=0.2)


@pytest.mark.parametrize("users", [10**3, 10**9])
@pytest.mark.parametrize("law", [{"poisson": 1.0}, {"bernoulli": 0.5}], ids=str)
def test_narrow_at_every_number_of_users(users: int, law: dict[str, Any]) -> None:
    for neighbours in ("replace", "remove"):
        round_ = Shuffle(NoisyHistogram(**law), users, neighbours=neighbours)
        lower, upper = round_.epsilon_bounds(1e-8)
        assert 0 < upper <= 1.001 * lower
        many = Accountant().compose(round_, 100).epsilon_bounds(1e-8)
        assert upper < many.upper <= 1.001 * many.lower


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "given in 0 ways; give exactly one of"),
        ({"poisson": 1.0, "bernoulli": 0.5}, "given in 2 ways"),
        ({"poisson": 0}, "poisson=0 is outside"),
        ({"bernoulli": 1}, r"bernoulli=1 is outside \(0, 1\)"),
        ({"negative_binomial": 1.0}, "negative_binomial and theta go together"),
        ({"negative_binomial": (1.0, 2.0)}, "theta=2.0 is outside"),
        ({"negative_binomial": (1.0, 0.5, 3)}, "negative_binomial=.* is not a number"),
        ({"poisson": 1.0, "theta": 0.5}, "negative_binomial and theta go together"),
        ({"dummies": 10}, "dummies needs k, the number of values"),
        ({"dummies": 1.5, "k": 2}, "dummies=1.5 is not whole"),
        ({"dummies": 10, "k": 1}, "k=1 is below 2"),
    ],
)
def test_bad_noise(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ShuffleDPError, match=said):
        NoisyHistogram(**wrong)


def test_what_has_no_meaning_says_why() -> None:
    with pytest.raises(InvalidParameter, match="sees the number of messages"):
        Shuffle(NoisyHistogram(dummies=10, k=2), 5, neighbours="remove")
    with pytest.raises(InvalidParameter, match="any number of messages"):
        NoisyHistogram(poisson=1.0).exact()


def test_the_shell_finds_the_mean() -> None:
    asked = "--randomizer noisy-histogram --users 1e5 --epsilon 1 --delta 1e-8"
    assert "poisson = 0.000621" in ok("calibrate", "--find", "poisson", *asked.split())
    said = ok("epsilon", *["--randomizer", "noisy-histogram", "--poisson", "1e-3"],
              *["--users", "1e5", "--delta", "1e-8", "--neighbours", "remove"])  # fmt: skip
    assert "remove-one" in said and "dummies" in said


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_variance_of_a_count_is_that_of_the_noise(law: dict[str, Any]) -> None:
    """Moments of the probabilities of the number of dummies, one by one."""

    def chance(s: int) -> float:
        if "poisson" in law:
            return float(math.exp(-1.5) * 1.5**s / math.factorial(s))
        if "bernoulli" in law:
            return float({0: 1 - law["bernoulli"], 1: law["bernoulli"]}.get(s, 0.0))
        r, theta = law["negative_binomial"]
        ways = math.gamma(s + r) / math.gamma(r) / math.factorial(s)
        return float(ways * theta**s * (1 - theta) ** r)

    first, second = (sum(s**power * chance(s) for s in range(100)) for power in (1, 2))
    randomizer = NoisyHistogram(**law)
    for count in (0, 3):
        expected = 7 * (second - first**2)
        assert randomizer.count_variance(7, count) == pytest.approx(expected, rel=1e-9)
    # the value and the dummies of 16 values, of 4 bits each
    assert randomizer.bits_of(16, 7) == pytest.approx(4 * (1 + 16 * first), rel=1e-9)


def test_the_variance_of_a_count_among_uniform_dummies() -> None:
    """Each of them is the value or not."""
    randomizer = NoisyHistogram(dummies=3, k=4)
    laws = list(itertools.product(range(4), repeat=3))
    counts = [Fraction(sum(value == 0 for value in law)) for law in laws]
    mean = sum(counts) / len(laws)
    variance = sum((count - mean) ** 2 for count in counts) / len(laws)
    assert randomizer.count_variance(100) == pytest.approx(float(variance))
    # a device sends the value alone; the dummies are the shuffler's
    assert randomizer.bits_of(4, 100) == NoisyHistogram(binomial=3, k=4).bits_of(4, 100) == 2


@pytest.mark.parametrize("noise", [{"binomial": 2, "value_rate": 0.5}, {"poisson": 1.0}])
def test_nothing_is_attained_by_several_values_that_may_not_exist(noise: dict[str, float]) -> None:
    """With k = 3, two values of a user cannot both change to two others."""
    for k in (2, 3):
        survey = Shuffle(NoisyHistogram(k=k, **noise), 1, messages=2)  # type: ignore[arg-type]
        assert survey.attained_delta(0.4) == 0


@pytest.mark.parametrize(
    ("shape", "theta", "users", "epsilon"),
    [(8e-8, 3e-9, 1, 0.00037), (1.9e-9, 1.4e-7, 10, 0.0013), (2.2e-8, 1e-7, 1, 0.6)],
)
def test_next_to_no_noise_hides_next_to_nothing(
    shape: float, theta: float, users: int, epsilon: float
) -> None:
    """All losses of one order are infinite up to 1e-15 of the mass, so that none of the others has
    a mass that counts. What two neighbours have in common is summed over all counts."""
    noise = NoisyHistogram(negative_binomial=shape, theta=theta)
    lower, upper = Shuffle(noise, users).delta_bounds(epsilon)
    with mpmath.workdps(40):
        r, t = mpmath.mpf(shape) * users, mpmath.mpf(theta)
        mass = [mpmath.binomial(s + r - 1, s) * t**s * (1 - t) ** r for s in range(12)]
        shared = mpmath.fsum(
            min(mass[i - 1] * mass[j], mpmath.exp(epsilon) * mass[i] * mass[j - 1])
            for i, j in itertools.product(range(1, 12), repeat=2)
        )
        assert lower <= 1 - shared <= upper
    assert upper - lower < 1e-6
