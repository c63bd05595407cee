"""Published bounds: their formulas against multi-precision arithmetic and enumeration."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import oracles
from covering import covering
from shuffledp.published import (
    balle2019,
    clone_rdp,
    erlingsson2019,
    feldman2021,
    girgis2021,
    koskela2023,
)
from shuffledp.published import composition_theorems as theorems
from shuffledp.published.composition_theorems import epsilon_of_rdp


def close(value: float, reference: mpf, rtol: float = 1e-11) -> bool:
    return bool(abs(value - reference) <= rtol * abs(reference))


@pytest.mark.parametrize(("eps0", "users", "delta"), [(0.5, 1000, 9e-3), (0.1, 10**9, 1e-12)])
def test_erlingsson_against_mpmath(eps0: float, users: int, delta: float) -> None:
    reference = 12 * mpf(eps0) * mpmath.sqrt(mpmath.log(1 / mpf(delta)) / users)
    assert close(erlingsson2019.epsilon(eps0, users, delta), reference)


@pytest.mark.parametrize(
    ("k", "gamma", "users", "delta"),
    [(4, 0.25, 10_000, 1e-6), (2, 0.9, 300, 1e-2), (2, 0.6, 101, 0.9)],  # last: 27 k decides
)
def test_balle_closed_form_solves_the_formula(
    k: int, gamma: float, users: int, delta: float
) -> None:
    eps = mpf(balle2019.closed_form(k, gamma, users, delta))
    needed = max(
        14 * k * mpmath.log(2 / mpf(delta)) / ((users - 1) * eps**2), 27 * k / ((users - 1) * eps)
    )
    assert close(gamma, needed)


def laws(name: str, eps0: mpf) -> tuple[mpf, ...]:
    """(gamma, b_plus, range, second moment) at alpha as printed, as functions."""
    big = mpmath.exp(eps0)
    if name == "generic":
        return (
            1 / big,
            lambda al: big * (1 - al / big**2),
            lambda al: (al + 1) * (big - 1 / big),
            lambda al: big * (al**2 + 1) - 2 * al / big**3,
        )
    gamma = 4 / (big + 3)
    values = [(big, 1), (1, big), (1, 1), (1, 1)]  # R(x0), R(x1) over the blanket, 4 outputs

    def scores(al: mpf) -> list[mpf]:
        return [gamma * (u - al * v) for u, v in values]

    return (
        gamma,
        lambda al: max(scores(al)),
        lambda al: max(scores(al)) - min(scores(al)),
        lambda al: sum(z**2 for z in scores(al)) / 4,
    )


@pytest.mark.parametrize("name", ["generic", "rr"])
@pytest.mark.parametrize(
    ("eps0", "users", "eps"), [(1.0, 10_000, 0.2), (3.0, 500, 1.5), (0.01, 50, 0.004)]
)
def test_balle_blanket_bounds_against_mpmath(
    name: str, eps0: float, users: int, eps: float
) -> None:
    blanket = (
        balle2019.generic(eps0) if name == "generic" else balle2019.randomized_response(4, eps0)
    )
    gamma, highest, spread, moment = laws(name, mpf(eps0))
    alpha = mpmath.exp(mpf(eps))
    a, b, b_plus, c = alpha - 1, spread(alpha), highest(alpha), moment(alpha)
    hoeffding = b**2 / (4 * a * gamma * users)
    hoeffding *= (1 - gamma * (1 - mpmath.exp(-2 * a**2 / b**2))) ** users
    assert close(balle2019.hoeffding_delta(blanket, users, eps), min(hoeffding, mpf(1)), 1e-10)
    u = a * b_plus / c
    decay = c / b_plus**2 * ((1 + u) * mpmath.log(1 + u) - u)
    bennett = mpmath.fsum(
        mpmath.binomial(users, m) * gamma**m * (1 - gamma) ** (users - m) * mpmath.exp(-m * decay)
        for m in range(1, users + 1)
        if users <= 500
    )
    if users > 500:
        bennett = (1 - gamma + gamma * mpmath.exp(-decay)) ** users - (1 - gamma) ** users
    bennett *= b_plus / (gamma * users * mpmath.log(1 + u))
    assert close(balle2019.bennett_delta(blanket, users, eps), min(bennett, mpf(1)), 1e-10)


def test_laplace_blanket_against_quadrature() -> None:
    eps0, alpha = 1.7, 1.4
    blanket = balle2019.laplace(eps0)

    def density(x: float, y: float) -> float:
        return eps0 / 2 * math.exp(-eps0 * abs(x - y))

    # midpoints of cells that respect the kinks at multiples of 1/4
    y = np.arange(-15, 16, 1 / 256) + 1 / 512
    table = {x: np.array([density(x, t) for t in y]) for x in (0.0, 0.25, 0.5, 1.0)}
    lowest = np.minimum(table[0.0], table[1.0])
    assert blanket.mass == pytest.approx(lowest.sum() / 256, rel=1e-4)
    for x0, x1 in product(table, repeat=2):
        score = blanket.mass * (table[x0] - alpha * table[x1]) / lowest
        second = float((lowest / blanket.mass * score**2).sum()) / 256
        assert score.max() <= blanket.highest(alpha) * (1 + 1e-12)
        assert second <= blanket.moment(alpha) * (1 + 1e-4)
        if (x0, x1) == (0.0, 1.0):
            assert second == pytest.approx(blanket.moment(alpha), rel=1e-4)
            assert score.max() == pytest.approx(blanket.highest(alpha), rel=1e-12)
            assert np.ptp(score) == pytest.approx(blanket.spread(alpha), rel=1e-12)


@pytest.mark.parametrize("eps0", [0.01, 1.0, 4.0])
def test_feldman_closed_form_against_mpmath(eps0: float) -> None:
    big = mpmath.exp(mpf(eps0))
    noise = (
        8 * mpmath.sqrt(big * mpmath.log(4 / mpf(1e-6))) / mpmath.sqrt(100_000) + 8 * big / 10**5
    )
    reference = mpmath.log(1 + (big - 1) / (big + 1) * noise)
    assert close(feldman2021.closed_form(eps0, 100_000, 1e-6), reference)


def given_clones(ratio: Fraction, clones: int, alpha: Fraction) -> Fraction:
    """H of the clone pair given the number of clones, from its definition."""
    total = Fraction(0)
    for a in range(clones + 2):  # A + Delta = a
        here, before = (math.comb(clones, j) if j >= 0 else 0 for j in (a, a - 1))
        p, q = here + ratio * before, ratio * here + before
        total += max(p - alpha * q, Fraction(0)) / ((ratio + 1) * 2**clones)
    return total


@pytest.mark.parametrize(("users", "step"), [(150, 7), (60, 1), (20, 100), (1, 1)])
def test_feldman_numerical_against_enumeration(users: int, step: int) -> None:
    ratio, delta = Fraction(3), 1e-3
    bounds = feldman2021.numerical(math.log(3), users, delta, step=step)
    others = users - 1

    def delta_at(eps: float, end: int) -> Fraction:
        total = Fraction(0)
        for first in range(0, others + 1, step):
            last = min(first + step - 1, others)
            mass = sum(
                math.comb(others, c) * Fraction(1, 3) ** c * Fraction(2, 3) ** (others - c)
                for c in range(first, last + 1)
            )
            total += mass * given_clones(ratio, (first, last)[end], Fraction(math.exp(eps)))
        return total

    assert delta_at(bounds.upper * (1 + 1e-12), 0) <= delta < delta_at(bounds.upper - 1e-8, 0)
    assert delta_at(bounds.lower + 1e-8, 1) <= delta < delta_at(bounds.lower * (1 - 1e-12), 1)


def test_feldman_numerical_against_the_figures_of_its_code() -> None:
    # the code's bisection ends on a grid, above the root
    grid = 0.537804 / 1024
    bounds = feldman2021.numerical(4.0, 100_000, 1e-6, step=100)
    assert 0.167539 - grid < bounds.lower <= 0.167539
    assert 0.172791 - grid < bounds.upper <= 0.172791


def test_feldman_numerical_brackets_the_pair_against_mpmath() -> None:
    bounds = feldman2021.numerical(4.0, 10_000, 1e-6)
    upper = oracles.clone_profile_large(10_000, 4.0, bounds.upper, "clones")[0]
    lower = oracles.clone_profile_large(10_000, 4.0, bounds.lower, "clones")[1]
    assert upper <= 1e-6 * (1 + 1e-9)
    assert lower >= 1e-6 * (1 - 1e-9)
    assert bounds.upper - bounds.lower < 1e-8


@pytest.mark.parametrize("order", [2, 3, 18, 200])
@pytest.mark.parametrize(("eps0", "users", "rate"), [(3.0, 100_000, 0.01), (0.5, 60, 0.25)])
def test_girgis_against_mpmath(eps0: float, users: int, rate: float, order: int) -> None:
    big, g, sent = mpmath.exp(mpf(eps0)), mpf(rate), round(rate * users)
    kbar = mpmath.floor((sent - 1) / (2 * big)) + 1
    total = 1 + 4 * mpmath.binomial(order, 2) * g**2 * (big - 1) ** 2 / (kbar * big)
    base = 2 * (big**2 - 1) ** 2 / (kbar * big**2)
    total += mpmath.fsum(
        mpmath.binomial(order, j) * g**j * j * mpmath.gamma(mpf(j) / 2) * base ** (mpf(j) / 2)
        for j in range(3, order + 1)
    )
    x = g * (big**2 - 1) / big
    total += ((1 + x) ** order - 1 - order * x) * mpmath.exp(-(sent - 1) / (8 * big))
    assert close(girgis2021.rdp(eps0, users, rate, order), mpmath.log(total) / (order - 1), 1e-10)


@pytest.mark.parametrize("rounds", [10, 1000, 10_000])
def test_girgis_finds_the_best_order(rounds: int) -> None:
    every = min(
        epsilon_of_rdp(order, rounds * girgis2021.rdp(3.0, 100_000, 0.01, order), 1e-5)
        for order in range(2, 60)
    )
    assert girgis2021.epsilon(3.0, 100_000, 0.01, rounds, 1e-5) == pytest.approx(every, rel=1e-12)


@pytest.mark.parametrize(
    ("case", "analysis"),
    covering(
        [(1, 1.0, 2.0), (50, 1.0, 1.5), (60, 4.0, 3.3), (100, 0.001, 1.01), (40, 30.0, 40.0)],
        ["clones", "stronger-clones"],
    ),
)
def test_clone_rdp_against_enumeration(case: tuple[int, float, float], analysis: str) -> None:
    users, eps0, order = case
    atoms = oracles.clone_pair_atoms(users, eps0, analysis)
    moment = mpmath.fsum(q * (p / q) ** mpf(order) for _, p, q in atoms)
    reference = mpmath.log(moment) / (mpf(order) - 1)
    assert close(clone_rdp.rdp(eps0, users, order, analysis=analysis), reference, 1e-10)


@pytest.mark.parametrize("order", [1.5, 5.0, 100.0])
def test_clone_rdp_with_buckets_is_above_and_close(order: float) -> None:
    # n = 1e4, eps0 = 1: about 5400 clones, the sum over signs skips terms, counts are in buckets
    eps0, others = 1.0, 9_999
    big, contrast = mpmath.exp(mpf(eps0)), mpmath.tanh(mpf(eps0) / 2)
    # E[1/m] for m - 1 ~ Bin(others, q) is (1 - (1-q)^n) / (n q), and E y^2 = 1/m
    q = 2 / (big + 1)
    inverse = (1 - (1 - q) ** (others + 1)) / ((others + 1) * q)
    value = clone_rdp.rdp(eps0, others + 1, order)
    # g = (1 + T y) exp(2 (order-1) artanh(T y)) has a power series with positive coefficients
    least = mpmath.log(1 + 2 * order * (order - 1) * contrast**2 * inverse) / (order - 1)
    assert value >= least * (1 - 1e-12)
    if order < 10:
        assert value <= least * mpf("1.01")


@pytest.mark.parametrize(("users", "k", "gamma"), [(4, 3, "1/2"), (5, 2, "1/3"), (6, 4, "4/5")])
@pytest.mark.parametrize("alpha", ["11/10", "3/2", "3"])
def test_koskela_formulas_against_enumeration(users: int, k: int, gamma: str, alpha: str) -> None:
    g, al, n = Fraction(gamma), Fraction(alpha), users - 1
    share = g / k
    law = [math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(n + 1)]
    strong = sum(law[i] * law[j] for i in range(n + 1) for j in range(n + 1) if i + 1 >= al * j)
    uniform = [share] * k
    first, second = ([share + (1 - g) * (y == x) for y in range(k)] for x in (0, 1))
    weak = Fraction(0)
    for counts, (p, _) in oracles.blanket_pair(first, second, uniform, users).items():
        random = share * sum(counts)
        if (1 - g) * counts[0] + random >= al * ((1 - g) * counts[1] + random):
            weak += p
    eps = math.log(al)
    assert koskela2023.strong_delta(k, float(g), users, eps) == pytest.approx(float(strong), 1e-11)
    assert koskela2023.weak_delta(k, float(g), users, eps) == pytest.approx(float(weak), 1e-11)


def test_koskela_figures() -> None:
    assert round(koskela2023.strong_delta(3, 0.5, 4, math.log(1.5)), 4) == 0.7301
    assert round(koskela2023.weak_delta(3, 0.5, 4, math.log(1.5)), 4) == 0.5054


def test_composition_against_mpmath() -> None:
    def single(delta: float) -> float:
        return 0.01 * math.sqrt(-math.log(delta))

    assert theorems.basic(single, 50, 1e-6) == pytest.approx(50 * single(2e-8), rel=1e-14)
    best = min(
        (eps := mpf(single((1 - share) * 1e-6 / 500)))
        * mpmath.sqrt(1000 * mpmath.log(1 / (share * mpf(1e-6))))
        + 500 * eps * (mpmath.exp(eps) - 1)
        for share in theorems.SHARES
    )
    assert close(theorems.advanced(single, 500, 1e-6), best)
    many, few = (theorems.better(single, rounds, 1e-6) for rounds in (500, 2))
    assert many == (theorems.advanced(single, 500, 1e-6), "advanced theorem")
    assert few == (theorems.basic(single, 2, 1e-6), "basic theorem")
    sampled = theorems.subsampled(single, 0.25)
    assert close(sampled(1e-6), mpmath.log(1 + (mpmath.exp(mpf(single(4e-6))) - 1) / 4))
    assert theorems.subsampled(lambda delta: 400.0, 0.5)(1e-6) == pytest.approx(
        400 - math.log(2), rel=1e-15
    )
    assert sampled(0.3) == 0
