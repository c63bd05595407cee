"""Certified tails against exact integer sums and against many digits."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from covering import covering
from shuffledp.engines import tails
from shuffledp.engines.tails import Shape, integrals, log_negative_binomial, log_pmf, log_poisson


def exact_sums(trials: int, start: int, odds: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """sum r_i and sum i r_i, r_i = pmf(start + i)/pmf(start), in 200-bit fixed point."""
    one = 1 << 200
    top, bottom = int(odds.man), 1
    if odds.exp >= 0:
        top <<= int(odds.exp)
    else:
        bottom = 1 << -int(odds.exp)
    term, zeroth, first, i = one, one, 0, 0
    while term > 1 << 60 and start + i < trials:
        term = term * (trials - start - i) * top // ((start + i + 1) * bottom)
        i += 1
        zeroth += term
        first += i * term
    return mpmath.mpf(zeroth) / one, mpmath.mpf(first) / one


def check(trials: int, start: int, odds: float) -> None:
    zeroth, first, error = tails.tail_sums(np.array(float(trials)), np.array(float(start)), odds)
    exact_zeroth, exact_first = exact_sums(trials, start, mpmath.mpf(odds))
    p = odds / (1 + odds)
    allowed = float(error) + tails.mass_error(math.sqrt(trials * p * (1 - p)))
    assert allowed <= 2e-9 + tails.mass_error(math.sqrt(trials * p * (1 - p)))
    assert abs(zeroth / exact_zeroth - 1) <= allowed
    if exact_first:
        assert abs(first / exact_first - 1) <= allowed
    else:
        assert first == 0


@pytest.mark.parametrize("trials", [1, 2, 3, 7, 20, 60])
def test_fair_tail_sums_against_exact_sums_everywhere(trials: int) -> None:
    for start in range(trials // 2 + 1, trials + 1):
        check(trials, start, 1.0)


@pytest.mark.parametrize("trials", [101, 200, 480, 900, 1900, 2500, 10**4, 10**6, 10**8])
@pytest.mark.parametrize("deviations", [0.0, 0.3, 1.0, 4.0, 12.0, 37.0])
def test_fair_tail_sums_against_exact_sums(trials: int, deviations: float) -> None:
    start = math.floor(trials / 2 + deviations * math.sqrt(trials) / 2) + 1
    if start <= trials:
        check(trials, start, 1.0)


@pytest.mark.parametrize(
    ("trials", "mean"),
    [
        (trials, mean)
        for trials in (5, 100, 10**4, 10**7, 10**10)
        for mean in (0.01, 3.0, 40.0, 900.0, 5000.0)
        if mean < trials
    ],
)
@pytest.mark.parametrize("deviations", [0.1, 2.0, 9.0])
def test_biased_tail_sums_against_exact_sums(trials: int, mean: float, deviations: float) -> None:
    p = mean / trials
    start = math.floor(mean + deviations * math.sqrt(mean * (1 - p))) + 1
    if start <= trials:
        check(trials, start, p / (1 - p))  # the tail above
    start = trials - math.ceil(mean - deviations * math.sqrt(mean * (1 - p))) + 1
    if trials * (1 - p) < start <= trials:
        check(trials, start, (1 - p) / p)  # and the one below, seen from the other end


def test_tail_sums_from_the_mean_to_far_beyond_it() -> None:
    for start in range(460, 640, 3):
        check(900, start, 1.0)


@pytest.mark.parametrize(
    ("trials", "p", "deviations"),
    covering(
        [1, 2, 15, 16, 17, 40, 10**3, 10**6, 10**10],
        [0.5, 0.25, 2.0**-20],
        [-20.0, -3.0, -0.5, 0.0, 0.5, 3.0, 20.0],
        every=3,
    ),
)
def test_log_pmf_against_mpmath(trials: int, p: float, deviations: float) -> None:
    deviation = math.sqrt(trials * p * (1 - p))
    j = min(max(round(trials * p + deviations * deviation), 0), trials)
    got = float(tails.log_pmf(np.array(float(trials)), np.array(float(j)), p, 1 - p))
    with mpmath.workdps(60):
        exact = (
            mpmath.loggamma(trials + 1)
            - mpmath.loggamma(j + 1)
            - mpmath.loggamma(trials - j + 1)
            + j * mpmath.log(mpmath.mpf(p))
            + (trials - j) * mpmath.log1p(-mpmath.mpf(p))
        )
        if exact > -690:
            assert abs(got - exact) <= tails.mass_error(deviation)


def test_log_pmf_at_the_ends() -> None:
    ends = tails.log_pmf(np.array([0.0, 5.0, 5.0]), np.array([0.0, 0.0, 5.0]), 0.25, 0.75)
    assert ends == pytest.approx([0.0, 5 * math.log(0.75), 5 * math.log(0.25)], rel=1e-15)


#: a, b, rho, whether the interval ends at 1.
SHAPES = [
    (0.0, -1.0, 1e9, True),
    (0.0, 0.0, 1.0, True),
    (1.0, 3.5, 0.2, True),
    (0.5, 40.0, 0.01, True),
    (0.001, 0.5, 1e-3, True),
    (99.0, 42.0, 0.0, True),
    (1e6, 1e6 - 50, 0.0, True),
    (1e6, 20.0, 5e4, True),
    (3e5, -0.99, 1e7, True),
    (5e4, 5e4, 0.99, True),
    (1e-2, -1.0, 1.0, False),
    (42.6, 41.0, 1.0, False),
    (1e6, 0.999e6, 1.0, False),
]


def exact(a: float, b: float, rho: float, ends: bool) -> tuple[mpf, mpf]:
    def weight(x: mpf) -> mpf:
        fall = (1 - x) ** mpf(a) if ends else mpmath.exp(-a * x)
        return fall * ((1 + rho * x) ** mpf(b) if rho else mpmath.exp(b * x))

    if ends:
        pieces = [mpf(0), *(mpf(2) ** -i for i in range(40, 0, -2)), mpf(1) / 2]
        pieces += [1 - mpf(2) ** -i for i in range(2, 40, 2)] + [mpf(1)]
    else:
        pieces = [mpf(0), *(mpf(2) ** i / a for i in range(-20, 14))]
    return mpmath.quad(weight, pieces), mpmath.quad(lambda x: x * weight(x), pieces)


@pytest.mark.parametrize("shape", SHAPES)
def test_integrals(shape: tuple[float, float, float, bool]) -> None:
    a, b, rho, ends = shape
    with mpmath.workdps(20):
        truth = exact(*shape)
        found = integrals(Shape(np.array([a]), np.array([b]), rho, ends))
        for value, wanted in zip(found[:2], truth, strict=True):
            assert abs(mpf(float(value[0])) / wanted - 1) <= found.error[0]
        assert found.error[0] < 1e-9


@pytest.mark.parametrize("scale", [1e9, 1e12, 1e15])
def test_normal_limit(scale: float) -> None:
    """At its mean a tail of Poisson noise is nearly half of a normal law: I0 ~ sqrt(pi/(2 a))."""
    found = integrals(Shape(np.array([scale]), np.array([scale]), 0.0, True))
    assert found.zeroth[0] == pytest.approx(np.sqrt(np.pi / 2 / scale), rel=2 / np.sqrt(scale))
    assert found.first[0] == pytest.approx(1 / scale, rel=3 / np.sqrt(scale))
    assert found.error[0] < 1e-5


@pytest.mark.parametrize("mean", [0.3, 42.6545, 1e6, 1e12])
def test_poisson_masses(mean: float) -> None:
    counts = np.unique(
        np.floor(np.maximum(mean + np.sqrt(mean) * np.array([-20, -1, 0, 3, 20]), 0))
    )
    with mpmath.workdps(40):
        for count, found in zip(counts, log_poisson(mean, counts), strict=True):
            truth = count * mpmath.log(mpf(mean)) - mean - mpmath.loggamma(mpf(count) + 1)
            assert float(truth) == pytest.approx(found, abs=1e-12 * (1 + np.sqrt(mean) / 100))


@pytest.mark.parametrize(
    ("shape", "theta"), [(1.0, 0.5), (1.37, 0.99), (15.9, 0.1), (60.0, 1 - 1e-6), (1e9, 0.25)]
)
def test_negative_binomial_masses(shape: float, theta: float) -> None:
    mean = shape * theta / (1 - theta)
    counts = np.unique(np.floor(mean * np.array([0.0, 0.5, 1.0, 1.5]) + np.array([0, 1, 0, 2])))
    counts = counts[(np.abs(counts - mean) < 30 * np.sqrt(mean / (1 - theta))) | (counts == 0)]
    with mpmath.workdps(40):
        r, t = mpf(shape), mpf(theta)
        found = log_negative_binomial(shape, theta, 1 - theta, counts)
        for count, log_mass in zip(counts, found, strict=True):
            truth = mpmath.loggamma(count + r) - mpmath.loggamma(mpf(count) + 1)
            truth += count * mpmath.log(t) + r * mpmath.log(1 - t) - mpmath.loggamma(r)
            assert float(truth) == pytest.approx(log_mass, rel=1e-14, abs=1e-10)


def test_binomial_tail_is_a_point_mass_times_an_integral() -> None:
    m, j, p = 30, 12, 0.25
    found = integrals(Shape(np.array([j - 1.0]), np.array([m - j - 1.0]), p / (1 - p), True))
    mass = np.exp(log_pmf(np.array(float(m)), np.array([float(j)]), p, 1 - p))
    tail = mass * j * (found.zeroth + p / (1 - p) * found.first)
    truth = sum(
        mpmath.binomial(m, s) * mpf(p) ** s * mpf(1 - p) ** (m - s) for s in range(j, m + 1)
    )
    assert tail[0] == pytest.approx(float(truth), rel=1e-10)


def test_weights_of_the_rule() -> None:
    """The charge of the quadrature is mostly for numpy's weights: in many digits."""
    places, weights = np.polynomial.legendre.leggauss(tails._NODES)
    with mpmath.workdps(40):
        for place, weight in zip(places.tolist(), weights.tolist(), strict=True):
            root = mpmath.findroot(lambda x: mpmath.legendre(tails._NODES, x), mpf(place))
            slope = mpmath.diff(lambda x: mpmath.legendre(tails._NODES, x), root)
            assert abs(root - place) <= 1e-15
            assert abs(mpf(weight) * (1 - root**2) * slope**2 / 2 - 1) <= 3e-13
    assert tails._QUADRATURE >= 1e-12


@pytest.mark.parametrize("x", [1.0, 1.25, 2.0, 7.3, 15.0, 15.999, 16.0, 40.5, 1e9])
def test_the_error_of_stirlings_formula(x: float) -> None:
    with mpmath.workdps(40):
        at = mpf(x)
        exact = mpmath.loggamma(at + 1) - (at + mpf(1) / 2) * mpmath.log(at) + at
        exact -= mpmath.log(2 * mpmath.pi) / 2
        assert abs(exact - float(tails.stirling_error(np.array([x]))[0])) <= 3e-14
