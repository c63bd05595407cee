"""Sums that are positive only if one score is, against exact sums and a convolution of normals."""

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from covering import covering
from oracles.scores import LAWS, THRESHOLDS, Law, columns, stop_loss_by_counting
from shuffledp import Accountant, FiniteRandomizer, Gaussian, Shuffle, tuning
from shuffledp.engines.one_positive import one_positive_stop_loss
from shuffledp.engines.problem import ScoreSums


def both_sides(sums: ScoreSums, width: float) -> tuple[float, float]:
    lower, upper, fall_low, fall_high = (float(x[0]) for x in one_positive_stop_loss(sums, width))
    assert (fall_low, fall_high) == (0.0, math.inf)
    return lower, upper


@pytest.mark.parametrize(("law", "users", "threshold"), covering(LAWS, [2, 3, 7], THRESHOLDS))
def test_any_law_is_enclosed(law: Law, users: int, threshold: Fraction) -> None:
    """Also if positive scores are common: wide, and true."""
    truth = float(stop_loss_by_counting(law, users, threshold))
    for width in (0.1, 1e-3, 1e-5):
        lower, upper = both_sides(ScoreSums(*columns(law, threshold), users), width)
        assert lower <= truth * (1 + 1e-14)
        assert truth * (1 - 1e-14) <= upper


@pytest.mark.parametrize("points", [4, 64, 1 << 12])
@pytest.mark.parametrize("seed", range(10))
def test_rare_positive_scores_on_coarse_and_fine_lattices(
    seed: int, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "MOST_POINTS", points)
    draw = random.Random(f"positive {seed}")
    high = [Fraction(draw.randrange(1, 2**12), 7) for _ in range(draw.choice([1, 2]))]
    low = [-Fraction(draw.randrange(0, 2**9), 3) for _ in range(draw.choice([1, 2]))]
    chances = [Fraction(draw.randrange(1, 9), 10**9) for _ in high]
    chances += [Fraction(draw.randrange(1, 9), 20) for _ in low]
    users, threshold = draw.choice([2, 3, 9]), Fraction(draw.choice([0, 1, 30]), 3)
    law = tuple(high + low), tuple(chances)
    truth = float(stop_loss_by_counting(law, users, threshold))
    sums = ScoreSums(*columns(law, threshold), users)
    lower, upper = both_sides(sums, 1e-6)
    assert lower <= truth * (1 + 1e-13)
    assert truth * (1 - 1e-13) <= upper
    if points > 64:
        assert upper - lower <= 0.02 * truth + 1e-9 * float(sum(high))


@pytest.mark.parametrize(
    ("sigma", "epsilon"), [(0.3, 18.0), (0.3, 22.0), (0.5, 11.0), (0.2, 11.5), (0.15, 21.2)]
)
def test_two_users_with_little_noise_against_quadrature(sigma: float, epsilon: float) -> None:
    """The blanket's delta: one user's ratio r exceeds alpha and what the other one, who is idle or
    in either half of the blanket, takes from it. The probability of both being above is nothing."""
    with mpmath.workdps(18):  # the comparison needs 6
        s, alpha = mpmath.mpf(sigma), mpmath.exp(epsilon)

        def tail(loss: mpmath.mpf, side: int) -> mpmath.mpf:  # log r beyond it, under either input
            return mpmath.ncdf(-s * loss + side / (2 * s))

        def call(level: mpmath.mpf) -> mpmath.mpf:  # E[(r - level)_+] under input 1
            return tail(mpmath.log(level), 1) - level * tail(mpmath.log(level), -1)

        def density(loss: mpmath.mpf) -> mpmath.mpf:  # of log r under input 1, from 0 on
            return s * mpmath.npdf(s * loss + 1 / (2 * s))

        idle = 1 - 2 * mpmath.ncdf(-1 / (2 * s))
        cuts = [0, 1, 2, 4, 8, 16, 32]
        near = mpmath.quad(
            lambda x: density(x) * call(2 * alpha - mpmath.exp(x)), [0, 4, epsilon / 2, epsilon]
        )
        far = mpmath.quad(lambda x: density(x) * call(alpha * (1 + mpmath.exp(x)) - 1), cuts)
        truth = idle * call(alpha) + near + far
    lower, upper = Shuffle(Gaussian(sigma), 2).delta_bounds(epsilon)
    assert lower <= truth * (1 + mpmath.mpf(10) ** -6)
    assert truth * (1 - mpmath.mpf(10) ** -6) <= upper
    assert upper <= 1.001 * lower


@pytest.mark.parametrize(("sigma", "users", "delta"), [(0.3, 10, 1e-8), (0.4, 50, 1e-6)])
def test_little_noise_and_few_users_read_as_one_number(
    sigma: float, users: int, delta: float
) -> None:
    bounds = Shuffle(Gaussian(sigma), users).epsilon_bounds(delta)
    assert bounds.upper - bounds.lower <= 1e-4 * bounds.upper


def test_scores_of_all_sizes_in_many_rounds() -> None:
    """Ten users hide each other's messages by a factor of ten at most in each of 100 rounds, of
    which one user alone has a Gaussian mechanism."""
    sigma, delta = 0.15, 1e-6
    bounds = (
        Accountant().compose(Shuffle(Gaussian(sigma), 10), 100).epsilon_bounds(delta, rtol=0.05)
    )
    with mpmath.workdps(50):
        mu = 10 / mpmath.mpf(sigma)

        def delta_alone(epsilon: mpmath.mpf) -> mpmath.mpf:
            below = mpmath.ncdf(-mu / 2 - epsilon / mu)
            return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * below

        assert delta_alone(mpmath.mpf(bounds.lower)) >= delta
        assert delta_alone(mpmath.mpf(bounds.upper) + 100 * math.log(10)) <= delta


def test_so_many_users_that_their_errors_add_up() -> None:
    scores = np.array([[1.0, -1.0]])
    sums = ScoreSums(scores, np.array([[1e-20, 0.5]]), np.abs(scores), np.zeros(1), 10**13)
    lower, upper = both_sides(sums, 1e-3)
    # next to certainly, more users lose 1 than gain it; and no more than all gains can be gained
    assert lower <= 1e-200
    assert lower <= upper <= 1.001 * 10**13 * 1e-20


@pytest.mark.parametrize(
    ("scores", "chances", "threshold", "users"),
    [
        ([1e300, -1.0], [1e-165, 0.5], 2.5e300, 3),  # three positive scores, or nothing
        ([1.2e308, 1.0, -1e300], [0.0, 1e-9, 0.5], 0.0, 3),
        ([1.2e308, 1.0, -1.5e308], [1e-9, 1e-9, 1 - 2e-9], 0.0, 3),
        ([1e-10, -1e308], [1e-9, 0.5], 0.0, 4),
        ([2.1e-303, 1.7e-299], [6.7e-18, 4.2e-20], 0.0, 4),
        ([5e-324, -5e-324], [1e-9, 0.5], 0.0, 2),
    ],
)
def test_scores_at_the_ends_of_the_range(
    scores: list[float], chances: list[float], threshold: float, users: int
) -> None:
    law = tuple(map(Fraction, scores)), tuple(map(Fraction, chances))
    truth = stop_loss_by_counting(law, users, Fraction(threshold))
    sums = ScoreSums(*columns(law, Fraction(threshold)), users)
    lower, upper = both_sides(sums, 1e-4)
    assert Fraction(lower) <= truth
    assert upper == math.inf or truth <= Fraction(upper)


@pytest.mark.parametrize(("name", "value"), [("MOST_POINTS", 0), ("SCORE_RATIO", 1e9)])
def test_scores_that_nobody_has_where_no_bound_is_finite(
    name: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, name, value)
    law = tuple(map(Fraction, (5, 3, -1))), tuple(map(Fraction, (0.0, 1e-9, 0.5)))
    truth = stop_loss_by_counting(law, 4)
    lower, upper = both_sides(ScoreSums(*columns(law), 4), 1e-4)
    assert Fraction(lower) <= truth
    assert upper == math.inf or truth <= Fraction(upper)


@pytest.mark.parametrize("given", [0.0, -1e-18])
def test_a_score_whose_error_makes_it_positive(given: float) -> None:
    """One in 10^100 has the score that is positive for certain."""
    most = Fraction(given) + 15 * Fraction(1, 2**53)
    chances = tuple(map(Fraction, (1e-100, 0.5, 0.25)))
    truth = stop_loss_by_counting(((Fraction(1), most, Fraction(-1)), chances), 5)
    scores, masses = np.array([[1.0, given, -1.0]]), np.array([[float(x) for x in chances]])
    sums = ScoreSums(scores, masses, np.ones((1, 3)), np.zeros(1), 5)
    lower, upper = both_sides(sums, 1e-4)
    assert 0.0 < lower <= 1e-98
    assert truth <= Fraction(upper)


def test_a_width_for_which_any_bound_is_enough() -> None:
    law = tuple(map(Fraction, (5, 3, -1))), tuple(map(Fraction, (1e-9, 1e-9, 0.5)))
    truth = stop_loss_by_counting(law, 4)
    lower, upper = both_sides(ScoreSums(*columns(law), 4), 1000.0)
    assert Fraction(lower) <= truth <= Fraction(upper)


def test_more_users_than_bounds_hold_for_and_a_score_that_nobody_has() -> None:
    scores = np.array([[5.0, 3.0, -1.0]])
    chances = np.array([[0.0, 1e-9, 0.5]])
    lower, upper = both_sides(ScoreSums(scores, chances, np.abs(scores), np.zeros(1), 10**8), 1e-4)
    assert 0.0 <= lower <= upper


@pytest.mark.parametrize("small", [1, 40])
def test_scores_that_all_others_outweigh_do_not_drown_the_rest(small: int) -> None:
    """A billion users have them for one whose score makes the sum positive.

    From above, what two of them leave is known by Markov's bound only.
    """
    users, large, rare, often = 400, 300, Fraction(1, 10**17), Fraction(1, 10**8)
    loses = Fraction(1, 2)
    unit = 2 * 10**17
    lost, rest = int(loses * unit), int((1 - loses - rare - often) * unit)
    ways = sum(
        math.comb(users - 1, k) * lost**k * rest ** (users - 1 - k) * (large - k)
        for k in range(large)
    )
    one = users * rare * Fraction(ways, unit ** (users - 1))
    more = users * rare * (users * often * (large + small) + users * rare * large)
    law = tuple(map(Fraction, (large, small, -1))), (rare, often, loses)
    lower, upper = both_sides(ScoreSums(*columns(law, Fraction(0)), users), 1e-4)
    assert Fraction(lower) <= one + more
    assert one <= Fraction(upper)
    assert one <= 1.005 * Fraction(lower)
    assert upper <= 5 * lower


def test_small_scores_of_many_users_do_not_vanish() -> None:
    scores, chances = np.full((1, 300), 2e-124), np.full((1, 300), 1e-200)
    sums = ScoreSums(scores, chances, scores, np.zeros(1), 4_000_000)
    truth = 4_000_000 * 300 * Fraction(2e-124) * Fraction(1e-200)
    assert truth <= Fraction(both_sides(sums, 1e-4)[1])


def test_one_user_with_many_outputs_next_to_the_largest_loss() -> None:
    """A rule for several users was asked, too, if the bracket of one was wider than asked for."""
    size = 7000
    one = np.append(2.0**-20, np.full(size - 1, (1 - 2.0**-20) / (size - 1)))
    ratios = np.exp(np.linspace(-0.6, 0.6, size - 1))
    zero = np.append(2.0**-19, ratios * ((1 - 2.0**-19) / ratios.sum()))
    round_ = Shuffle(FiniteRandomizer([zero / zero.sum(), one / one.sum()]), 1)
    for gap in (1e-8, 1e-10):
        epsilon = math.log(2) - gap
        bounds = round_.delta_bounds(epsilon)
        alpha = Fraction(float(mpmath.exp(epsilon)))
        rows = [list(map(Fraction, (row / row.sum()).tolist())) for row in (zero, one)]
        exact = sum(max(p - alpha * q, 0) for p, q in zip(*rows, strict=True))
        assert bounds.lower <= exact * Fraction(1 + 1e-4)
        assert exact * Fraction(1 - 1e-4) <= bounds.upper
