"""Binomial masses and tails against exact integer sums."""

import math

import mpmath
import numpy as np
import pytest

from covering import covering
from shuffledp.engines import binomial


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
    zeroth, first = binomial.tail_sums(np.array(float(trials)), np.array(float(start)), odds)
    exact_zeroth, exact_first = exact_sums(trials, start, mpmath.mpf(odds))
    p = odds / (1 + odds)
    allowed = binomial.relative_error(trials, math.sqrt(trials * p * (1 - p)))
    assert abs(zeroth / exact_zeroth - 1) <= allowed
    if exact_first:
        assert abs(first / exact_first - 1) <= allowed
    else:
        assert first == 0


@pytest.mark.parametrize("trials", [1, 2, 3, 7, 20, 60])
def test_fair_tail_sums_against_exact_sums_everywhere(trials: int) -> None:
    for start in range(trials // 2 + 1, trials + 1):
        check(trials, start, 1.0)


@pytest.mark.parametrize(
    ("trials", "deviations"),
    covering(
        [101, 200, 480, 900, 1900, 2500, 10**4, 10**6, 10**8], [0.0, 0.3, 1.0, 4.0, 12.0, 37.0]
    ),
)
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


def test_tail_sums_at_the_switch_between_sum_and_quadrature() -> None:
    """Both rules are used within this range of starts; neither may leave the error bound."""
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
    got = float(binomial.log_pmf(np.array(float(trials)), np.array(float(j)), p, 1 - p))
    with mpmath.workdps(60):
        exact = (
            mpmath.loggamma(trials + 1)
            - mpmath.loggamma(j + 1)
            - mpmath.loggamma(trials - j + 1)
            + j * mpmath.log(mpmath.mpf(p))
            + (trials - j) * mpmath.log1p(-mpmath.mpf(p))
        )
        if exact > -690:
            assert abs(got - exact) <= binomial.relative_error(0, deviation)


def test_log_pmf_at_the_ends() -> None:
    ends = binomial.log_pmf(np.array([0.0, 5.0, 5.0]), np.array([0.0, 0.0, 5.0]), 0.25, 0.75)
    assert ends == pytest.approx([0.0, 5 * math.log(0.75), 5 * math.log(0.25)], rel=1e-15)
