"""Laplace and Gaussian: closed forms, quadrature, Monte Carlo, real mechanisms on a few cells."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import oracles
from covering import covering
from oracles.heavy_tails import delta_of_one_large_score, normal_tail
from shuffledp import Accountant, Gaussian, Laplace, Shuffle
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.guarantee import best_effort
from shuffledp.randomizers import DensityRandomizer


@pytest.mark.parametrize(("sigma", "share"), covering([0.5, 2.0, 30.0], [0.0, 0.7, 3.0, 6.0]))
def test_one_user_against_the_gaussian_mechanism(sigma: float, share: float) -> None:
    epsilon = share / sigma
    with mp.workdps(40):
        s, e = mpf(sigma), mpf(epsilon)
        truth = mp.ncdf(1 / (2 * s) - e * s) - mp.exp(e) * mp.ncdf(-1 / (2 * s) - e * s)
    bounds = Shuffle(Gaussian(sigma), users=1).delta_bounds(epsilon)
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper <= 1.05 * bounds.lower
    attained = Shuffle(Gaussian(sigma), users=1).attained_delta(epsilon)
    assert 0.99 * truth <= attained <= truth


@pytest.mark.parametrize(
    ("eps0", "share"), covering([0.1, 2.0, 9.0, 45.0, 200.0], [0.0, 0.3, 0.9, 0.999])
)
def test_one_user_against_the_laplace_mechanism(eps0: float, share: float) -> None:
    epsilon = share * eps0
    truth = -math.expm1((epsilon - eps0) / 2)
    bounds = Shuffle(Laplace(eps0), users=1).delta_bounds(epsilon)
    assert bounds.lower <= truth * (1 + 1e-14)
    assert truth * (1 - 1e-14) <= bounds.upper <= 1.01 * bounds.lower


@pytest.mark.slow
@pytest.mark.parametrize("eps0", [200.0])
def test_hardly_any_laplace_noise(eps0: float) -> None:
    """The blanket has mass e^(-eps0/2): nobody is ever in it, and users do not hide one another.

    If all others hold 0, one message near 1 is told from none: the ratio is that of the message
    over the number of users.
    """
    users, round_ = 6, Shuffle(Laplace(eps0), users=6)
    for epsilon in (0.3 * eps0, 0.999 * eps0):
        alone = -math.expm1((epsilon - eps0) / 2)
        bounds = round_.delta_bounds(epsilon)
        assert bounds.lower <= alone * (1 + 1e-14)
        assert alone * (1 - users * math.exp(-eps0 / 2)) <= bounds.upper * (1 + 1e-14)
        assert bounds.upper <= 1.01 * bounds.lower
    assert round_.epsilon_bounds(1e-6).lower >= 0.999 * eps0
    seen = -math.expm1((0.9 * eps0 + math.log(users) - eps0) / 2)
    assert 0.99 * seen <= round_.attained_delta(0.9 * eps0) <= -math.expm1(-0.05 * eps0)
    assert 0.999 * (eps0 - math.log(users)) <= round_.attained_epsilon(1e-6) <= eps0


def scores(name: str, parameter: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Blanket scores and masses at the middles of many narrow cells of the output."""
    edges = np.linspace(-14.0, 15.0, 300_001) * (parameter if name == "gaussian" else 1.0)
    t, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    if name == "gaussian":
        rows = [
            np.exp(-(((t - x) / parameter) ** 2) / 2) / (parameter * math.sqrt(2 * math.pi))
            for x in (0, 1)
        ]
    else:
        rows = [parameter / 2 * np.exp(-parameter * np.abs(t - x)) for x in (0, 1)]
    blanket = np.minimum(*rows)
    return (rows[0] - alpha * rows[1]) / blanket, blanket * width


@pytest.mark.parametrize(
    ("name", "parameter", "epsilon"),
    [("gaussian", 2.0, 0.1), ("gaussian", 1.0, 0.5), ("laplace", 2.0, 0.1), ("laplace", 2.0, 0.5)],
)
def test_blanket_of_two_users_against_quadrature(
    name: str, parameter: float, epsilon: float
) -> None:
    """E[(z1 + z2)_+]/2 by sorting: the second score exceeds minus the first."""
    z, mass = scores(name, parameter, math.exp(epsilon))
    z, mass = np.append(z, 0.0), np.append(mass, 1 - mass.sum())
    order = np.argsort(z)
    z, mass = z[order], mass[order]
    above = np.append(np.cumsum((mass)[::-1])[::-1], 0.0)
    gain = np.append(np.cumsum((mass * z)[::-1])[::-1], 0.0)
    start = np.searchsorted(z, -z)
    truth = float(mass @ (gain[start] + z * above[start])) / 2
    randomizer = Gaussian(parameter) if name == "gaussian" else Laplace(parameter)
    bounds = Shuffle(randomizer, users=2).delta_bounds(epsilon)
    assert bounds.lower <= truth * (1 + 1e-5)
    assert truth * (1 - 1e-5) <= bounds.upper
    assert bounds.upper <= 1.02 * bounds.lower


def test_attained_of_two_users_against_black_scholes() -> None:
    """E[(mean of two lognormals - alpha)_+]: the inner expectation is a call price."""
    sigma = 1.0
    alpha, s = math.exp(0.3), 1 / sigma

    def inner(strike: mpf) -> mpf:  # E[(X - strike)_+], X = exp(sN - s^2/2)
        if strike <= 0:
            return 1 - strike
        d = -mp.log(strike) / s + s / 2
        return mp.ncdf(d) - strike * mp.ncdf(d - s)

    with mp.workdps(20):
        forward = mp.quad(
            lambda x: mp.npdf(x) * inner(2 * mpf(alpha) - mp.exp(s * x - s * s / 2)) / 2,
            [-9, -4, -2, 0, 1, 2, 3, 4, 6, 9],
        )
    attained = Shuffle(Gaussian(sigma), users=2).attained_delta(0.3, rtol=1e-3)
    assert 0.99 * forward <= attained <= forward * (1 + mpf("1e-9"))


@pytest.mark.parametrize("users", [3, 7])
def test_attained_against_monte_carlo(users: int) -> None:
    """The paper's setting, sigma = 2, epsilon = 0.3: 0.00695 at n = 7, above the other order."""
    draws = np.random.default_rng(7).normal(size=(400_000, users))
    ratio = np.exp(draws / 2 - 1 / 8).mean(axis=1)
    alpha = math.exp(0.3)
    round_ = Shuffle(Gaussian(2.0), users=users)
    attained = round_.attained_delta(0.3, rtol=1e-3)
    sample = np.maximum(ratio - alpha, 0.0)
    reverse = np.maximum(1 - alpha * ratio, 0.0)
    error = 5 * sample.std() / math.sqrt(len(sample))
    assert abs(sample.mean() - attained) < error + 0.002 * attained
    assert reverse.mean() < attained  # the worse order counts
    assert attained < round_.delta_bounds(0.3).lower  # the blanket is above it
    if users == 7:
        assert attained == pytest.approx(0.00695, abs=5e-6)


def cell_masses(randomizer: DensityRandomizer, x: float, edges: list[float]) -> list[Fraction]:
    """Mass of each cell for input x, in [0, 1], from the distribution function."""
    if isinstance(randomizer, Gaussian):
        below = [1 - normal_tail((edge - x) / randomizer.sigma) for edge in edges]
    else:
        assert isinstance(randomizer, Laplace)
        b = randomizer.eps0
        below = [
            math.exp(b * (e - x)) / 2 if e < x else 1 - math.exp(-b * (e - x)) / 2 for e in edges
        ]
    masses = np.diff([0.0, *below, 1.0])
    rational = [Fraction(float(mass)) for mass in masses]
    return [*rational[:-1], 1 - sum(rational[:-1], Fraction(0))]


@pytest.mark.parametrize(
    "randomizer",
    [
        pytest.param(Gaussian(0.5), marks=pytest.mark.slow),
        Gaussian(1.0),
        Laplace(1.0),
        Laplace(5.0),
    ],
)
def test_upper_against_every_dataset_of_five_values_seen_in_cells(
    randomizer: Gaussian | Laplace,
) -> None:
    """Seeing only cells of the outputs is less than seeing them: never above the upper bound."""
    edges = [-0.5, 0.1, 0.5, 0.9, 1.5]
    matrix = tuple(tuple(cell_masses(randomizer, x / 4, edges)) for x in range(5))
    for users in (1, 2, 3):
        for alpha in (Fraction(1), Fraction(3, 2), Fraction(4)):
            truth = oracles.true_profile(matrix, users, alpha)
            delta = Shuffle(randomizer, users).get_delta(math.log(alpha), rtol=0.05)
            assert float(truth) <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("c", "x"), covering([1.0, 1.2, 2.0, 5.0, 40.0], [0.1, 0.3, 0.5, 0.8]))
def test_the_ends_are_the_worst_values(c: float, x: float) -> None:
    """Property 2 of a density, by a sum over a grid, whose own error is below 1e-6."""
    t = np.linspace(-30, 31, 200_001)
    for rate, power in ((0.5, 2), (3.0, 2), (1.0, 1), (6.0, 1)):
        zero, one, middle = (np.exp(-rate * np.abs(t - y) ** power) for y in (0.0, 1.0, x))
        omega = np.minimum(zero, one)
        end, inside = (np.maximum(row - c * omega, 0.0).sum() for row in (zero, middle))
        assert inside <= end * (1 + 1e-6) + 1e-6


def test_a_density_of_ones_own() -> None:
    """Gaussian noise again, by the door in the documentation, has the same profile."""

    class Noise(DensityRandomizer):
        name = "noise"
        max_loss = math.inf

        def tails(self, loss):  # type: ignore[no-untyped-def]
            return Gaussian(2.0).tails(loss)

        def describe(self) -> str:
            return "noise"

    ours = Shuffle(Noise(), users=1000).get_epsilon(1e-6)
    assert ours == Shuffle(Gaussian(2.0), users=1000).get_epsilon(1e-6)


def test_parameters() -> None:
    with pytest.raises(OutOfRange, match="sigma"):
        Shuffle(Gaussian(0.01), users=10)
    with pytest.raises(InvalidParameter, match="sigma"):
        Gaussian(float("nan"))
    with pytest.raises(InvalidParameter, match="eps0"):
        Laplace(-1.0)
    assert Shuffle(Gaussian(1.0), users=10).get_epsilon(0.0) == math.inf
    assert Shuffle(Laplace(1.0), users=10).get_epsilon(0.0) == 1.0


@pytest.mark.parametrize(
    ("sigma", "users", "epsilon", "low", "high"),
    [
        (1.0, 1000, 0.25, 1.023e-7, 1.038e-7),
        (1.0, 10, 1.0, 7.79e-3, 7.94e-3),
        (0.5, 1000, 3.0, 1.5318e-5, 1.5331e-5),
        (0.5, 10**5, 0.5, 8.3279e-7, 8.3280e-7),  # a convolution, in extended precision
        (0.5, 10**8, 0.01, 4.468e-10, 4.470e-10),  # 4.469e-10, to four digits
    ],
)
def test_heavy_tails_against_another_program(
    sigma: float, users: int, epsilon: float, low: float, high: float
) -> None:
    """Brackets by quadrature of the moment generating function, without cells."""
    lower, upper = Shuffle(Gaussian(sigma), users).delta_bounds(epsilon)
    assert lower <= high
    assert low <= upper
    assert upper <= 1.02 * lower


def test_one_score_beyond_all_others_against_a_plain_convolution() -> None:
    delta = delta_of_one_large_score(1000, 5.0)
    lower, upper = Shuffle(Gaussian(0.5), 1000).delta_bounds(5.0)
    assert lower <= delta * (1 + 5e-4)
    assert delta * (1 - 5e-4) <= upper


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "users", "rounds"),
    [(0.3, 1000, 1), (0.33, 6342, 889)],
)
def test_little_noise_is_known_to_a_thousandth(sigma: float, users: int, rounds: int) -> None:
    """Heavy tails, where no tilt fits, from one round to hundreds."""
    accountant = Accountant().compose(Shuffle(Gaussian(sigma), users), rounds)
    lower, upper = accountant.epsilon_bounds(1e-8)
    assert lower <= upper <= (1 + 1e-3) * lower + 1e-9


@pytest.mark.parametrize(
    ("randomizer", "users", "rounds", "delta"),
    [
        (Laplace(6.96), 26, 2, 4e-12),  # one atom nearly alone: cells are too wide, not samples
        (Gaussian(0.3), 30, 20, 1e-8),  # samples wider than the cells beside them
    ],
)
def test_little_noise_of_few_users_is_refined(
    randomizer: Laplace | Gaussian, users: int, rounds: int, delta: float
) -> None:
    """Where a first lattice is too coarse for one reason a second one mends that."""
    accountant = Accountant().compose(Shuffle(randomizer, users), rounds)
    lower, upper = accountant.epsilon_bounds(delta)
    assert lower <= upper <= (1 + 1e-3) * lower
    assert lower <= rounds * Shuffle(randomizer, users).get_epsilon(delta / rounds)


def test_both_sides_of_a_delta_far_below_those_of_outlines() -> None:
    """Outlines of densities reach down to e^-60 only; a delta below has a bracket nevertheless."""
    bounds = best_effort(Shuffle(Gaussian(1.0), users=1000).delta_bounds, 10.0)
    assert 0 < bounds.lower <= bounds.upper < math.exp(-100)
