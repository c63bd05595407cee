"""The shuffled Gaussian of the paper: Monte Carlo and grids against a lattice sum."""

import math

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp.reproduce import gaussian_shuffle

Array = NDArray[np.float64]


def gaussian_by_lattice(users: int, sigma: float, epsilon: float) -> float:
    """E[(mean of n log-normals - alpha)_+] by a plain FFT on a fine lattice (mean preserved)."""
    t = np.linspace(-7 * sigma, 7 * sigma, 1_000_001)
    mass = np.exp(-0.5 * (t / sigma) ** 2)
    mass /= mass.sum()
    g = np.exp((2 * t - 1) / (2 * sigma**2))
    step = 2e-4
    size = 1 << math.ceil(math.log2(users * g[-1] / step + 2))
    low = np.floor(g / step).astype(int)
    share = g / step - low
    lattice = np.bincount(low, mass * (1 - share), size) + np.bincount(low + 1, mass * share, size)
    total = np.fft.irfft(np.fft.rfft(lattice) ** users, size)
    mean = np.arange(size) * step / users
    return float((total * np.maximum(mean - math.exp(epsilon), 0)).sum())


def gaussian_closed_form(sigma: float, epsilon: float) -> float:
    """n = 1: the Gaussian mechanism."""
    half, rest = mpmath.mpf(1) / (2 * sigma), epsilon * sigma
    return float(mpmath.ncdf(half - rest) - mpmath.exp(epsilon) * mpmath.ncdf(-half - rest))


def test_lattice_oracle_against_closed_form() -> None:
    for epsilon in (0.0, 0.4, 1.0):
        exact = gaussian_closed_form(2.0, epsilon)
        assert gaussian_by_lattice(1, 2.0, epsilon) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("users", "points"), [(1, 2000), (2, 400), (3, 120), (4, 50)])
def test_sorted_grid_against_lattice(users: int, points: int) -> None:
    epsilons = np.array([0.0, 0.3, 0.6])
    values, evaluations = gaussian_shuffle.on_sorted_grid(users, 2.0, epsilons, points)
    assert evaluations == math.comb(points + users - 1, users)
    exact = [gaussian_by_lattice(users, 2.0, float(e)) for e in epsilons]
    np.testing.assert_allclose(values, exact, rtol=5e-3)


@pytest.mark.parametrize(("users", "points"), [(1, 2000), (2, 400), (3, 160)])
def test_one_dimension_against_the_sorted_grid(users: int, points: int) -> None:
    epsilons = np.array([0.0, 0.3, 0.6])
    exact, _ = gaussian_shuffle.on_sorted_grid(users, 2.0, epsilons, points)
    values = gaussian_shuffle.one_dimensional(users, 2.0, epsilons)
    np.testing.assert_allclose(values, exact, rtol=2e-4)


def test_one_dimension_against_the_normal_limit() -> None:
    """Many users: the mean is nearly normal; the skewness correction is of order 1/sqrt(n)."""
    users, sigma = 10**6, 2.0
    spread = math.sqrt(math.expm1(1 / sigma**2) / users)
    for z in (0.0, 1.0, 2.0):
        (value,) = gaussian_shuffle.one_dimensional(
            users, sigma, np.array([math.log1p(z * spread)])
        )
        normal = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) - z * float(mpmath.ncdf(-z))
        assert value == pytest.approx(spread * normal, rel=5e-3)


@pytest.mark.parametrize("users", [1, 3])
def test_what_the_cube_leaves_out(users: int) -> None:
    """Against the product of the normal probabilities of its sides."""
    edge = mpmath.mpf(gaussian_shuffle.CUBE)
    inside = mpmath.ncdf(edge - 0.5) - mpmath.ncdf(-edge - 0.5)
    inside *= (2 * mpmath.ncdf(edge) - 1) ** (users - 1)
    assert gaussian_shuffle.beyond_the_cube(users, 2.0) == pytest.approx(
        float(1 - inside), rel=1e-6
    )


@pytest.mark.parametrize("where", ["cube", "law"])
@pytest.mark.parametrize("users", [1, 3, 7])
def test_monte_carlo_against_lattice(users: int, where: str) -> None:
    epsilons = np.array([0.0, 0.3])
    estimate = gaussian_shuffle.monte_carlo(users, 2.0, epsilons, 300_000, 5, where)
    assert estimate is not None
    assert estimate.samples == 300_000
    low, high = estimate.band()
    exact = [gaussian_by_lattice(users, 2.0, float(e)) for e in epsilons]
    assert (low <= exact).all()
    assert (exact <= high).all()
    assert (estimate.error < 0.2 * estimate.mean).all()
