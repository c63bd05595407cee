"""The oracles agree with hand values and with each other."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import pytest
from mpmath import mpf

import oracles
from covering import covering
from oracles.common import ALPHAS, as_mpf, close, log_of

ANALYSES = ("clones", "stronger-clones")


def score_form(users: int, ratio: Fraction, alpha: Fraction, analysis: str) -> Fraction:
    """Return E[(z_1 + ... + z_n)_+] / n for the three-point score law of the clone pair.

    Enumerated: the numbers of positive and of negative scores.
    """
    prob = 1 / (2 * ratio) if analysis == "clones" else 1 / (ratio + 1)
    up = (ratio - alpha) / (ratio + 1) / prob
    down = (1 - alpha * ratio) / (ratio + 1) / prob
    total = Fraction(0)
    for i in range(users + 1):
        for j in range(users + 1 - i):
            ways = comb(users, i) * comb(users - i, j)
            mass = ways * prob ** (i + j) * (1 - 2 * prob) ** (users - i - j)
            total += mass * max(i * up + j * down, Fraction(0))
    return total / users


# The pair in exact fractions


@pytest.mark.parametrize("analysis", ANALYSES)
def test_one_user_by_hand(analysis: str) -> None:
    ratio = Fraction(7, 2)
    pair = oracles.clone_pair_fractions(1, ratio, analysis)
    assert pair == {
        (1, 0): (Fraction(7, 9), Fraction(2, 9)),
        (0, 1): (Fraction(2, 9), Fraction(7, 9)),
    }
    for alpha in ALPHAS:
        assert oracles.hockey_stick(pair, alpha) == max(ratio - alpha, Fraction(0)) / (ratio + 1)
    for epsilon in (0.0, 0.3, 1.2, 1.9, 2.0, 3.0):
        big = mpmath.exp(mpf(2))
        hand = max(big - mpmath.exp(mpf(epsilon)), mpf(0)) / (big + 1)
        assert close(oracles.clone_profile(1, 2.0, epsilon, analysis), hand)
        lower, upper = oracles.clone_profile_large(1, 2.0, epsilon, analysis)
        assert lower <= hand <= upper


@pytest.mark.parametrize(("analysis", "q"), [("clones", (1, 3)), ("stronger-clones", (1, 2))])
def test_two_users_by_hand(analysis: str, q: tuple[int, int]) -> None:
    # E = 3: Delta = 1 with probability 3/4. Without a clone the outcome is (1, 0) or (0, 1).
    # With a clone, (2, 0) needs A = 1 and Delta = 1 (under P); (1, 1) is the rest.
    q_prob = Fraction(*q)
    pair = oracles.clone_pair_fractions(2, Fraction(3), analysis)
    expected = {
        (1, 0): (1 - q_prob) * Fraction(3, 4),
        (0, 1): (1 - q_prob) * Fraction(1, 4),
        (2, 0): q_prob * Fraction(3, 8),
        (1, 1): q_prob * Fraction(1, 2),
        (0, 2): q_prob * Fraction(1, 8),
    }
    assert pair == {(a, b): (mass, expected[b, a]) for (a, b), mass in expected.items()}
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)):
        # Both (1, 0) and (2, 0) have likelihood ratio 3; (1, 1) has 1.
        by_hand = (3 - alpha) / 4 * (1 - q_prob / 2)
        assert oracles.hockey_stick(pair, alpha) == by_hand


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize("users", [1, 2, 3, 6])
def test_pair_masses_symmetry_and_score_form(users: int, analysis: str) -> None:
    ratio = Fraction(5, 2)
    pair = oracles.clone_pair_fractions(users, ratio, analysis)
    assert sum(p for p, _ in pair.values()) == sum(q for _, q in pair.values()) == 1
    assert all(pair[b, a] == (q, p) for (a, b), (p, q) in pair.items())
    for alpha in ALPHAS:
        value = oracles.hockey_stick(pair, alpha)
        assert value == score_form(users, ratio, alpha, analysis)
        assert oracles.hockey_stick(pair, 1 / alpha) == 1 - 1 / alpha + value / alpha


def test_hockey_stick_refuses_floats() -> None:
    with pytest.raises(TypeError):
        oracles.hockey_stick({0: (Fraction(1), Fraction(1))}, 1.5)


# Multi-precision against fractions


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize("users", [1, 2, 3, 5, 8])
def test_fractions_against_multi_precision(users: int, analysis: str) -> None:
    ratio = Fraction(17, 3)
    eps0 = log_of(ratio)
    pair = oracles.clone_pair_fractions(users, ratio, analysis)
    atoms = oracles.clone_pair_atoms(users, eps0, analysis)
    by_loss: dict[Fraction, list[Fraction]] = {}
    for p, q in pair.values():
        merged = by_loss.setdefault(p / q, [Fraction(0), Fraction(0)])
        merged[0] += p
        merged[1] += q
    assert len(atoms) == len(by_loss)
    for (loss, p_mass, q_mass), key in zip(atoms, sorted(by_loss), strict=True):
        assert abs(loss - log_of(key)) < mpf(10) ** -60
        assert close(p_mass, as_mpf(by_loss[key][0]))
        assert close(q_mass, as_mpf(by_loss[key][1]))
    for alpha in (Fraction(1), Fraction(5, 4), Fraction(2), Fraction(7, 2), Fraction(16, 3)):
        exact = as_mpf(oracles.hockey_stick(pair, alpha))
        epsilon = log_of(alpha)
        assert close(oracles.clone_profile(users, eps0, epsilon, analysis), exact)
        assert close(oracles.delta_of_atoms(atoms, epsilon), exact)
        lower, upper = oracles.clone_profile_large(users, eps0, epsilon, analysis)
        assert lower <= exact <= upper
        assert close(lower, upper, 1e-38)
        back = oracles.hockey_stick(pair, 1 / alpha)
        assert close(oracles.clone_profile(users, eps0, -epsilon, analysis), as_mpf(back))


@pytest.mark.parametrize("analysis", ANALYSES)
def test_edges(analysis: str) -> None:
    assert oracles.clone_profile(5, 1.5, 1.5, analysis) == 0
    assert oracles.clone_profile_large(5, 1.5, 2.0, analysis) == (0, 0)
    assert oracles.clone_profile(5, 0.0, 0.0, analysis) == 0
    assert close(oracles.clone_profile(5, 0.5, -0.75, analysis), 1 - mpmath.exp(mpf(-0.75)))
    assert all(loss == 0 for loss, _, _ in oracles.clone_pair_atoms(5, 0.0, analysis))
    for users, eps0, name in ((0, 1.0, analysis), (5, -1.0, analysis), (5, 1.0, "other")):
        with pytest.raises(ValueError):
            oracles.clone_profile(users, eps0, 0.5, name)
    with pytest.raises(ValueError):
        oracles.clone_pair_fractions(3, Fraction(1, 2), analysis)
    with pytest.raises(ValueError):
        oracles.clone_profile_large(5, 1.0, -0.5, analysis)


def test_floats_are_converted_exactly() -> None:
    by_float = oracles.clone_profile(3, 0.1, 0.05, "clones")
    binary = mpf((0.1).as_integer_ratio()[0]) / (0.1).as_integer_ratio()[1]
    assert close(by_float, oracles.clone_profile(3, binary, 0.05, "clones"))
    assert not close(by_float, oracles.clone_profile(3, mpf("0.1"), 0.05, "clones"), 1e-18)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_atoms_against_profile(analysis: str) -> None:
    atoms = oracles.clone_pair_atoms(40, 3.0, analysis)
    assert close(mpmath.fsum(p for _, p, _ in atoms), mpf(1))
    for epsilon in (0.0, 0.7, 2.0, 2.9, 2.9999999):
        profile = oracles.clone_profile(40, 3.0, epsilon, analysis)
        assert close(oracles.delta_of_atoms(atoms, epsilon), profile)
        assert close(oracles.epsilon_of_atoms(atoms, profile), mpf(epsilon)) or epsilon == 0
    assert all(close(p, q * mpmath.exp(loss)) for loss, p, q in atoms[::50])


# Many users


@pytest.mark.parametrize(("users", "eps0"), [(1, 2.0), (40, 3.0), (500, 0.5), (1500, 6.0)])
def test_bracket_of_counts_against_full_sum(users: int, eps0: float) -> None:
    for share in (0.0, 0.1, 0.9):
        exact = oracles.clone_profile(users, eps0, share * eps0, "stronger-clones")
        lower, upper = oracles.clone_profile_bracket(users, eps0, share * eps0, 10**4)
        assert lower <= exact <= upper
        assert upper - lower <= 1e-7 * upper + 1e-29


@pytest.mark.parametrize(("eps0", "analysis"), covering([1e-9, 0.25, 4.0, 9.0, 300.0], ANALYSES))
def test_large_against_full_sum(eps0: float, analysis: str) -> None:
    for share in (0.0, 0.1, 0.5, 0.999999999):
        exact = oracles.clone_profile(300, eps0, share * eps0, analysis)
        lower, upper = oracles.clone_profile_large(300, eps0, share * eps0, analysis)
        assert lower <= exact <= upper
        assert close(lower, upper, 1e-38)


def test_large_anchors() -> None:
    # The first anchor is confirmed by clone_profile and by the score form in double precision.
    lower, upper = oracles.clone_profile_large(10_000, 4.0, 0.405, "stronger-clones")
    assert close(lower, mpf(1.26633969068e-6), 1e-11)
    assert close(lower, upper, 1e-38)
    assert close(lower, oracles.clone_profile(10_000, 4.0, 0.405, "stronger-clones"), 1e-38)
    for analysis, epsilon in (("clones", 0.169770), ("stronger-clones", 0.118153)):
        # The anchors of epsilon have six digits, so delta is 1e-6 to about four.
        lower, upper = oracles.clone_profile_large(100_000, 4.0, epsilon, analysis)
        assert abs(lower - 1e-6) < 5e-11
        assert close(lower, upper, 1e-38)
