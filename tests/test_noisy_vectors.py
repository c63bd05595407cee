"""Sums of vectors with noise: every small shift by enumeration, lemmas in many digits, clients."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import shell
from oracles import integer_noise as oracle
from shuffledp import Accountant, Aggregate, Gaussian, Plan, Shuffle, audit, simulate
from shuffledp.central import GaussianNoise
from shuffledp.clients import Counts
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.laws.integer_noise import DiscreteGaussianLaw, FairCoins, IntegerNoise, SkellamLaw
from shuffledp.profiles.shifted_noise import normal_shift, shifts_within
from shuffledp.randomizers import NoiseShares
from shuffledp.records import described

LAWS: list[IntegerNoise] = [
    *(SkellamLaw(mu) for mu in (0.24, 0.6, 3.0, 7.99, 8.01, 20.0)),
    *(DiscreteGaussianLaw(sigma) for sigma in (0.6, 1.0, 2.5)),
    *(DiscreteGaussianLaw(sigma, n) for sigma, n in ((0.75, 2), (0.8, 3), (0.75, 5), (1.1, 6))),
]


def masses(law: IntegerNoise, reach: int) -> list[mpmath.mpf]:
    """Pr[X = 0], Pr[X = 1], ... from the definition."""
    match law:
        case SkellamLaw(mu):
            t = 2 * mpmath.mpf(mu)
            return [mpmath.exp(-t) * mpmath.besseli(x, t) for x in range(reach)]
        case DiscreteGaussianLaw(sigma, shares):
            each = oracle.discrete_gaussian(sigma, math.ceil(18 * sigma) + 2)
            total = oracle.convolved(each, shares)
            return total[len(total) // 2 :][:reach]
    raise TypeError(law)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_log_masses_bend_no_more(law: IntegerNoise) -> None:
    """At every place where the definition has digits; shares have one period of the lattice."""
    with mpmath.workdps(60):
        known = masses(law, 40)
        known = [mass for mass in known if mass > mpmath.mpf(10) ** -45]
        logs = [mpmath.log(mass) for mass in known]
        bends = [2 * logs[x] - logs[abs(x - 1)] - logs[x + 1] for x in range(len(logs) - 1)]
        assert max(bends) <= law.curvature <= 1.25 * max(bends)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_normal_quantiles_of_tails_are_no_farther_apart(law: IntegerNoise) -> None:
    """Pr[N >= z(x)] = Pr[X >= x]: the distance of neighbouring z is the normal shift at most."""
    with mpmath.workdps(60):
        known, tail, quantiles = masses(law, 150), mpmath.mpf(0), []
        for mass in reversed(known):
            tail += mass
            if tail > mpmath.mpf(10) ** -30:
                quantiles.append(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail))
        # that of x = 0 is minus that of x = 1
        quantiles[-1] = -quantiles[-2]
        apart = max(a - b for a, b in itertools.pairwise(quantiles))
        assert apart <= normal_shift(law) <= 1.2 * apart


def test_bessel_functions_and_variances_of_the_noise() -> None:
    """The closed form, whose proof starts at t = 4; and what the bound costs in variance."""
    with mpmath.workdps(40):
        four = mpmath.besseli(1, 4) / mpmath.besseli(0, 4)
        assert four >= 1 - mpmath.mpf(1) / 8 - mpmath.mpf(1) / 128 - mpmath.mpf(1) / 256
        for t in (16, 17.5, 100, 1e4):
            exact = 2 * mpmath.log(mpmath.besseli(0, t) / mpmath.besseli(1, t))
            found = SkellamLaw(t / 2).curvature
            assert exact <= found <= exact * (1 + 0.3 / t**2)
    for variance in (0.47, 1.0, 2.5, 10.0, 1e3):
        assert normal_shift(SkellamLaw(variance / 2)) ** -2 > variance - 0.73
        assert normal_shift(DiscreteGaussianLaw(math.sqrt(variance))) ** -2 > variance - 0.12
    for size in (1e6, 1e12):
        assert normal_shift(SkellamLaw(size / 2)) ** -2 == pytest.approx(size, rel=1e-6)
        assert normal_shift(DiscreteGaussianLaw(2.0, int(size))) ** -2 == pytest.approx(4 * size)


def vectors(norm: float, dimension: int) -> list[tuple[int, ...]]:
    reach = range(-math.floor(norm), math.floor(norm) + 1)
    every = itertools.product(reach, repeat=dimension)
    return [vector for vector in every if sum(x * x for x in vector) <= norm**2]


@pytest.mark.parametrize(
    ("noise", "users", "missing"),
    [
        ({"skellam": 0.4}, 1, 0),
        ({"skellam": 0.3}, 3, 1),
        ({"discrete_gaussian": 0.8}, 2, 0),
        ({"discrete_gaussian": 0.9}, 4, 1),
    ],
    ids=repr,
)
def test_no_direction_has_more(noise: dict[str, Any], users: int, missing: int) -> None:
    """Two coordinates, all pairs of vectors: the law of the two noisy sums, cell by cell."""
    norm, honest = math.sqrt(2), users - missing
    round_of = NoiseShares(**noise, dimension=2, norm=norm)
    with mpmath.workdps(25):
        match noise:
            case {"skellam": mu}:
                one = oracle.skellam(mu * honest, 16)
            case {"discrete_gaussian": sigma}:
                one = oracle.convolved(oracle.discrete_gaussian(sigma, 9), honest)
        middle = len(one) // 2
        law = np.array([float(x) for x in one[max(middle - 16, 0) : middle + 17]])
    cut = 4 * (1 - law.sum()) + 1e-12
    held = vectors(norm, 2)
    differences = {
        "remove": set(held),
        "replace": {tuple(np.subtract(a, b).tolist()) for a in held for b in held},
    }
    for neighbours, shifts in differences.items():
        round_ = Aggregate(round_of, users, neighbours, dropouts=missing)
        for epsilon in (0.0, 0.5, 2.0, 4.0):
            _, upper = round_.delta_bounds(epsilon, rtol=0.1)
            worst = 0.0
            for shift in shifts:
                moved = [np.pad(law, (8 + each, 8 - each)) for each in shift]
                still = np.pad(law, 8)
                gap = np.outer(*moved) - math.exp(epsilon) * np.outer(still, still)
                worst = max(worst, float(gap[gap > 0].sum()))
            assert worst <= upper + cut
            assert round_.attained_delta(epsilon, rtol=0.1) <= worst + cut


def test_bounds_are_near_what_is_attained() -> None:
    """Half a per cent above an actual pair of datasets, where the noise has the variance 100."""
    shares = NoiseShares(skellam=0.05, dimension=100, norm=5.0)
    for neighbours, within in (("replace", 1.006), ("remove", 1.006)):
        round_ = Aggregate(shares, 1000, neighbours)
        assert round_.get_epsilon(1e-6) <= within * round_.attained_epsilon(1e-6)
    assert shifts_within(math.sqrt(30), 9) == [{5: 1, 2: 1, 1: 1}, {1: 9}]
    assert shifts_within(30.5, 2) == [{30: 1, 5: 1}, {21: 2}]
    for neighbours, distance in (("replace", 60.0), ("remove", 30.0)):
        gaussian = GaussianNoise(2 * math.sqrt(1000), distance)
        summed = Aggregate(
            NoiseShares(discrete_gaussian=2.0, dimension=7, norm=30.0), 1000, neighbours
        )
        assert 1 <= summed.get_epsilon(1e-6) / gaussian.get_epsilon(1e-6) < 1.0002


def renyi_epsilon(variance: float, l2: float, l1: float, delta: float) -> float:
    """Agarwal, Kairouz, Liu 2021 for Skellam noise, at the best whole order."""

    def at(order: int) -> float:
        first = ((2 * order - 1) * l2**2 + 6 * l1) / (4 * variance**2)
        renyi = order * l2**2 / (2 * variance) + min(first, 3 * l1 / (2 * variance))
        return renyi + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)

    return min(map(at, range(2, 500)))


def test_the_renyi_bound_is_larger() -> None:
    """Whole vectors of the squared norm 100 have an L1 norm of at most 100."""
    published = renyi_epsilon(100.0, 10.0, 100.0, 1e-6)
    assert published == pytest.approx(5.265, abs=1e-3)
    shares = NoiseShares(skellam=0.05, dimension=10_000, norm=5.0)
    assert Aggregate(shares, 1000).get_epsilon(1e-6) < 0.94 * published


def test_dimensions_do_not_matter_and_everything_composes() -> None:
    few, many = (
        Aggregate(NoiseShares(discrete_gaussian=3.0, dimension=d, norm=12.5), 10**6, dropouts=0.2)
        for d in (2, 10**6)
    )
    assert few.get_epsilon(1e-9) == many.get_epsilon(1e-9)
    account = Accountant().compose(few, 10).compose(Aggregate(Gaussian(0.1, 5), 10**4), 3)
    lower, upper = account.epsilon_bounds(1e-6)
    assert 0 < account.attained_epsilon(1e-6, rtol=0.1) <= upper <= 1.001 * lower
    sampled = Aggregate(NoiseShares(skellam=1.0, dimension=3, norm=2.0), 10_000, sample_rate=0.01)
    assert sampled.get_epsilon(1e-6) < Aggregate(sampled.randomizer, 100).get_epsilon(1e-6)


@pytest.mark.parametrize(("neighbours", "distance"), [("replace", 2.0), ("remove", 1.0)])
def test_gaussian_vectors_are_one_gaussian_mechanism(neighbours: str, distance: float) -> None:
    round_ = Aggregate(Gaussian(0.5, dimension=300), 900, neighbours, colluding=300, dropouts=200)
    central = GaussianNoise(10.0, distance)
    assert round_.get_epsilon(1e-6) == pytest.approx(central.get_epsilon(1e-6), rel=1e-12)
    assert round_.attained_epsilon(1e-6) == pytest.approx(central.get_epsilon(1e-6), rel=1e-6)
    said = described(round_)
    assert said["analysis"] == "gaussian" and said["parameters"] == {"sigma": 0.5, "dimension": 300}
    assert any("L2 sensitivity of the sum is 2 for replace-one" in x for x in said["assumptions"])
    number = Aggregate(Gaussian(0.5), 400, neighbours)  # numbers in [0, 1] are no vectors
    assert number.get_epsilon(1e-6) == pytest.approx(GaussianNoise(10.0).get_epsilon(1e-6))


def test_what_is_said_of_integer_vectors() -> None:
    said = described(Aggregate(NoiseShares(skellam=1.0, dimension=3, norm=6.0), 100))
    assert said["analysis"] == "integer-vectors" and "upper bound, not exact" in said["theorem"]
    assert any("is 12 for replace-one" in text for text in said["assumptions"])
    printed = shell.ok(
        *("epsilon", "--randomizer", "noise-shares", "--skellam", "1", "--dimension", "3"),
        *("--norm", "6", "--view", "aggregate", "--users", "100", "--delta", "1e-6"),
    )
    assert "upper bound, not exact" in " ".join(printed.split())


def test_vectors_in_a_plan(tmp_path: Any) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "[target]\nepsilon = 9.0\ndelta = 1e-6\n"
        "[[rounds]]\nname = 'a'\nrandomizer = 'noise-shares'\nskellam = 1.0\ndimension = 3\n"
        "norm = 6.0\nview = 'aggregate'\nusers = 100\n"
        "[[rounds]]\nname = 'b'\nrandomizer = 'gaussian'\nsigma = 2.0\ndimension = 4\n"
        "view = 'aggregate'\nusers = 100\n"
    )
    account = Accountant().compose(Aggregate(NoiseShares(skellam=1.0, dimension=3, norm=6.0), 100))
    account = account.compose(Aggregate(Gaussian(2.0, 4), 100))
    spent = Plan.read(plan).ledger().total
    assert spent.upper == pytest.approx(account.get_epsilon(1e-6), rel=1e-3)


def test_what_is_refused() -> None:
    wrong: list[tuple[Any, str]] = [
        (lambda: Shuffle(Gaussian(1.0, 3), 10), "protects vectors in sums only"),
        (lambda: Gaussian(1.0, 0), "dimension=0 is below 1"),
        (lambda: NoiseShares(binomial=1, dimension=2, norm=3), "coins have a largest sum"),
        (
            lambda: NoiseShares(discrete_laplace=1.0, complete=3, dimension=2, norm=3),
            "losses grow with the L1 norm",
        ),
        (lambda: NoiseShares(skellam=1.0, dimension=2), "dimension and norm go together"),
        (lambda: NoiseShares(skellam=1.0, dimension=2, norm=2, k=3), "give either k or largest"),
        (lambda: NoiseShares(skellam=1.0, dimension=2, norm=0.5), "norm=0.5 is outside"),
        (
            lambda: Aggregate(NoiseShares(skellam=0.01, dimension=2, norm=2), 3).get_epsilon(1e-6),
            "too little noise in a coordinate",
        ),
        (
            lambda: Aggregate(
                NoiseShares(discrete_gaussian=0.6, dimension=2, norm=2), 200
            ).get_epsilon(1e-6),
            "sigma=0.6 of 200 discrete Gaussian shares is below 0.85",
        ),
        (lambda: Gaussian(1.0, 3).randomize([[3.0, 0, 0]]), "has L2 norm 3; scale it"),
        (lambda: Gaussian(1.0, 3).randomize([[0.5, 0.5]]), "give vectors of 3 numbers"),
        (
            lambda: NoiseShares(skellam=1.0, dimension=2, norm=2).randomize([[2, 1]]),
            "values[0] has L2 norm 2.23607, above norm=2",
        ),
        (
            lambda: NoiseShares(skellam=1.0, dimension=2, norm=2).randomize([[0.5, 1]]),
            "is not a list of vectors of 2 whole numbers",
        ),
    ]
    for make, text in wrong:
        with pytest.raises((InvalidParameter, OutOfRange)) as caught:
            make()
        message = str(caught.value)
        assert text in message and message.endswith(".") and ". " not in message
    with pytest.raises(OutOfRange):
        normal_shift(FairCoins(100))


def test_messages_and_estimates_of_vectors() -> None:
    rng = np.random.default_rng(5)
    unit = rng.normal(size=(400, 3)) + np.array([1.0, 0.0, 0.0])
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    whole = np.trunc(6 * unit).astype(int)
    for randomizer, held in (
        (Gaussian(0.3, 3), unit),
        (NoiseShares(skellam=0.5, dimension=3, norm=6.0), whole),
        (NoiseShares(discrete_gaussian=1.5, dimension=3, norm=6.0), whole),
    ):
        errors = []
        for _ in range(40):
            found = randomizer.estimate(randomizer.randomize(held, rng=rng))
            errors.append((found.mean - held.mean(axis=0)) / found.standard_error)
        assert abs(np.mean(errors)) < 6 / math.sqrt(120) and 0.6 < np.var(errors) < 1.6
        assert randomizer.randomize(held[0], rng=rng).shape == (3,)
        assert randomizer.mean_variance(400) == pytest.approx(found.standard_error[0] ** 2)
        simulated = simulate(Aggregate(randomizer, 400), held, rng)
        assert (abs(simulated.estimated - simulated.true) < 8 * simulated.standard_errors).all()
        assert audit(randomizer, trials=20_000, confidence=1 - 1e-9).holds

        def half(values: Any, randomizer: Any = randomizer) -> Any:
            """Noise that is halved."""
            return randomizer.randomize(values) // 2

        assert not audit(randomizer, half, trials=20_000).holds
    assert Gaussian(0.3, 3).bits == 192


def test_no_gaussian_vector_gets_longer() -> None:
    """What is noised has a norm of 1 at most, exactly, whatever rounding did before."""
    client = Gaussian(0.37, 5).client
    rng = np.random.default_rng(2)
    unit = rng.normal(size=(500, 5))
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    steps = Gaussian(0.37, 5).client.noise.steps  # type: ignore[attr-defined]
    for vector in client.checked(unit):
        rounded = np.trunc(vector * steps)
        assert sum(int(x) ** 2 for x in rounded) <= steps**2
    assert Fraction(steps) * Fraction(0.37) <= 2**client.noise.digits  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "shares",
    [
        NoiseShares(skellam=0.5, k=3),
        NoiseShares(binomial=3, k=3),
        NoiseShares(binomial=2, largest=9),
        NoiseShares(discrete_gaussian=1.5, dimension=3, norm=2.5),
    ],
    ids=repr,
)
def test_sums_modulo_a_group(shares: NoiseShares) -> None:
    """What a group of the least size leaves of messages and sums is decoded, at both ends."""
    rng, users = np.random.default_rng(9), 200
    values: dict[str, list[Any]] = {
        "k": [[0] * users, [2] * users, [-1] * users],
        "largest": [[0] * users, [9] * users],
        "norm": [[[2, 0, -1]] * users, [[-2, 1, 0]] * users],
    }
    (kind,) = (name for name in values if getattr(shares, name) is not None)
    least = 64
    while True:  # the smallest power of two that is not refused
        try:
            shares.estimate(Counts(users, np.zeros(shares.client.width, dtype=int), modulus=least))
            break
        except InvalidParameter as error:
            assert "use a larger group" in str(error)
            least *= 2
    for held in values[kind]:
        messages = shares.randomize(held, rng=rng)
        counts = shares.count(messages)
        for modulus in (least, 2**32, 2**64, 2**128 - 7 * 2**66 + 1):
            reduced = (messages.astype(object) % modulus).sum(axis=0) % modulus
            lifted = shares.client.lifted(Counts(users, np.atleast_1d(reduced), modulus=modulus))
            assert lifted.tally.tolist() == counts.tally.tolist()


def test_what_discrete_gaussian_shares_lose_from_the_least_noise_on() -> None:
    """As docs/theory/integer-vectors.md says."""

    def is_supported(sigma: float, shares: int) -> bool:
        return DiscreteGaussianLaw(sigma, shares).curvature <= 3

    def lost(sigma: float, shares: int) -> float:
        return shares * sigma**2 - normal_shift(DiscreteGaussianLaw(sigma, shares)) ** -2

    for shares in (*range(1, 60), 100, 1000, 10**6):
        low, least = 0.3, 2.0
        while least - low > 1e-9:
            middle = (low + least) / 2
            low, least = (low, middle) if is_supported(middle, shares) else (middle, least)
        if shares >= 10:
            assert least == pytest.approx(math.sqrt(math.log(4 * shares + 2)) / math.pi, rel=0.02)
        elif shares > 1:
            assert 0.61 <= least <= 0.71
        assert all(0 < lost(factor * least, shares) < 0.13 for factor in (1.3, 1.4, 1.7, 2.5))
        assert lost(least, shares) < (0.13 if shares >= 50 else 3.8)
    assert lost(0.626, 10) > 2.5 and lost(0.63, 12) > 3.5
