"""One round against exact enumeration of the analyzed pair, closed forms and published values."""

import math
from fractions import Fraction

import mpmath
import pytest

import oracles
from covering import covering
from shuffledp import PureLDP, Shuffle

ANALYSES = ("clones", "stronger-clones")


def assert_brackets(users: int, eps0: float, epsilon: float, analysis: str) -> None:
    bounds = Shuffle(PureLDP(eps0), users, analysis).delta_bounds(epsilon)
    exact = oracles.clone_profile(users, eps0, epsilon, analysis)
    assert bounds.lower <= exact <= bounds.upper
    # close to eps0 the rounding of the score E - alpha is what limits the relative width
    from_top = max(-math.expm1(epsilon - eps0), 1e-16)
    narrow = bounds.upper - bounds.lower <= (1e-6 + 2e-14 / from_top) * exact + 1e-299
    # and far out the delta of an epsilon next to it: widths are promised in epsilon
    nearby = epsilon * (1 - 1e-4)
    assert narrow or bounds.upper <= oracles.clone_profile(users, eps0, nearby, analysis)


@pytest.mark.parametrize(
    ("users", "eps0", "analysis"),
    covering([1, 2, 3, 5, 17, 60], [1e-3, 0.1, 1.0, 4.0, 20.0], ANALYSES),
)
def test_delta_against_enumeration(users: int, eps0: float, analysis: str) -> None:
    for fraction in (0.0, 1e-9, 0.03, 0.2, 0.5, 0.77, 0.95, 1 - 1e-9):
        assert_brackets(users, eps0, fraction * eps0, analysis)


@pytest.mark.parametrize("users", [78, 82, 91, 95, 100])
def test_delta_where_the_quadrature_takes_over_against_enumeration(users: int) -> None:
    for fraction in (0.5, 0.9, 0.9599999937279997, 0.97, 0.99):
        assert_brackets(users, 1e-3, fraction * 1e-3, "stronger-clones")


@pytest.mark.parametrize("users", [2, 7, 12])
def test_delta_at_the_atoms_against_enumeration(users: int) -> None:
    """Where the profile has its kinks, and one float to either side."""
    for loss, _, _ in oracles.clone_pair_atoms(users, 2.0, "stronger-clones"):
        if 0 <= loss < 2:
            at = float(loss)
            for epsilon in (math.nextafter(at, 0), at, math.nextafter(at, 3)):
                assert_brackets(users, 2.0, epsilon, "stronger-clones")


@pytest.mark.parametrize("analysis", ANALYSES)
def test_delta_against_rational_enumeration(analysis: str) -> None:
    """Nothing but fractions in the reference: E = 3 and alpha = 2, rounded only at the end."""
    for users in range(1, 13):
        pair = oracles.clone_pair_fractions(users, Fraction(3), analysis)
        exact = oracles.hockey_stick(pair, Fraction(2))
        bounds = Shuffle(PureLDP(math.log(3)), users, analysis).delta_bounds(math.log(2))
        assert bounds.lower * (1 - 1e-14) <= float(exact) <= bounds.upper * (1 + 1e-14)


@pytest.mark.parametrize("eps0", [1e-3, 0.5, 4.0, 20.0])
def test_one_user_against_closed_form(eps0: float) -> None:
    """No amplification: delta = (E - alpha)_+ / (E + 1)."""
    alone = Shuffle(PureLDP(eps0), users=1)
    for epsilon in (0.0, 0.3 * eps0, 0.999 * eps0, eps0, 2 * eps0):
        big, alpha = mpmath.exp(mpmath.mpf(eps0)), mpmath.exp(mpmath.mpf(epsilon))
        exact = max(big - alpha, 0) / (big + 1)
        bounds = alone.delta_bounds(epsilon)
        assert bounds.lower <= exact <= bounds.upper
        from_top = max(-math.expm1(epsilon - eps0), 1e-16)
        assert bounds.upper - bounds.lower <= (1e-10 + 2e-14 / from_top) * exact


@pytest.mark.parametrize(
    ("users", "eps0", "epsilon", "analysis"),
    [
        (10**4, 4.0, 0.405, "stronger-clones"),
        (10**4, 4.0, 1.3, "clones"),
        (10**5, 4.0, 0.118153, "stronger-clones"),
        (10**5, 4.0, 0.16977, "clones"),
        (4 * 10**5, 4.0, 0.08, "clones"),
    ],
)
def test_delta_against_mpmath_for_many_users(
    users: int, eps0: float, epsilon: float, analysis: str
) -> None:
    low, high = oracles.clone_profile_large(users, eps0, epsilon, analysis, digits=20)
    bounds = Shuffle(PureLDP(eps0), users, analysis).delta_bounds(epsilon)
    assert bounds.lower <= low
    assert high <= bounds.upper
    assert bounds.upper / bounds.lower < 1.003


@pytest.mark.parametrize(
    ("users", "analysis", "epsilon"),
    [(10**5, "clones", 0.169769747), (10**5, "stronger-clones", 0.118153067)],
)
def test_epsilon_anchors(users: int, analysis: str, epsilon: float) -> None:
    """eps0 = 4, delta = 1e-6; the roots were found with 40 digits."""
    bounds = Shuffle(PureLDP(4.0), users, analysis).epsilon_bounds(1e-6)
    assert bounds.lower <= epsilon + 5e-10
    assert bounds.upper >= epsilon - 5e-10
    assert bounds.upper - bounds.lower < 1e-6


@pytest.mark.parametrize(
    ("round_", "delta", "analysis"),
    covering([(2, 1.0), (9, 3.0), (60, 0.2), (40, 8.0)], [0.3, 1e-3, 1e-9, 1e-60], ANALYSES),
)
def test_epsilon_against_enumeration(
    round_: tuple[int, float], delta: float, analysis: str
) -> None:
    users, eps0 = round_
    atoms = oracles.clone_pair_atoms(users, eps0, analysis)
    exact = max(oracles.epsilon_of_atoms(atoms, delta), mpmath.mpf(0))
    bounds = Shuffle(PureLDP(eps0), users, analysis).epsilon_bounds(delta)
    assert bounds.lower <= exact <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-8 * bounds.upper


def test_pure_dp_and_trivial_delta() -> None:
    survey = Shuffle(PureLDP(4.0), users=10_000)
    assert survey.epsilon_bounds(0.0) == (4.0, 4.0)
    assert survey.epsilon_bounds(1.0) == (0.0, 0.0)
    assert survey.delta_bounds(4.0) == (0.0, 0.0)
    assert survey.get_epsilon(0.9) == 0.0


def test_pair_dominates_every_shuffled_binary_and_ternary_randomized_response() -> None:
    """The real mechanism on all datasets, E = 5: the bound is never below it."""
    for k in (2, 3):
        total = Fraction(5 + k - 1)
        matrix = [[(5 if x == y else 1) / total for y in range(k)] for x in range(k)]
        for users in (2, 3, 4):
            for quarter in range(4, 20, 2):
                alpha = Fraction(quarter, 4)
                truth = oracles.true_profile(matrix, users, alpha)
                survey = Shuffle(PureLDP(math.log(5)), users)
                assert survey.get_delta(math.log(alpha)) >= float(truth) * (1 - 1e-12)
