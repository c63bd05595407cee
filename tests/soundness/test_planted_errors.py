"""The referee proves itself: every known error is planted, run, and caught with its figure.

Each test shows three numbers: what the planted version claims, the exact truth, and that the
package is on the right side of it. docs/theory/errata.md lists the tests beside the errata.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest

import oracles
from oracles import planted
from oracles import randomizers as written
from oracles.convolution import lattice_delta
from oracles.grid import Exact, judge
from shuffledp import Accountant, PureLDP, RandomizedResponse, Shuffle

HALF, FOUR = Fraction(1, 2), Fraction(4)
RESPONSE = {1: Fraction(4, 5), -1: Fraction(1, 5)}  # losses of binary randomized response, E = 4


def up(value: float) -> float:
    return math.nextafter(value, math.inf)


def worst_dataset(rows: written.Rows, users: int, epsilon: float) -> Fraction:
    """The truth: every dataset, values 0 and 1 in both orders."""
    referee = Exact(rows, users)
    return max(
        referee.divergence(others, values, epsilon)
        for others in combinations_with_replacement(range(len(rows)), users - 1)
        for values in ((0, 1), (1, 0))
    )


def test_p0_of_the_paper_is_refuted() -> None:
    """Erratum 1: n = 10, E = 4, alpha = 2: claims 0.0132, binary randomized response has 0.0537."""
    claim = oracles.hockey_stick(planted.p0_of_the_paper(10, FOUR), 2)
    epsilon = math.log(2)
    rows = written.likelier([[0], [1]], 2, FOUR)
    truth = worst_dataset(rows, 10, epsilon)
    assert (float(claim), float(truth)) == pytest.approx((0.0132, 0.0537), abs=5e-5)
    assert claim < truth <= Fraction(Shuffle(PureLDP(up(math.log(4))), 10).get_delta(epsilon))
    # the figure of docs/paper.md: the pair itself has 25/96
    small = planted.p0_of_the_paper(3, Fraction(3))
    assert oracles.hockey_stick(small, Fraction(3, 2)) == Fraction(13, 96)
    # and the machinery of the suite says so: one claim, every dataset, decided exactly
    table = np.array([[epsilon]])
    assert judge([rows], 10, table, np.array([[float(claim)]])).broken
    ours = Shuffle(PureLDP(up(math.log(4))), 10, "clones").get_delta(table)
    assert not judge([rows], 10, table, ours).broken


def test_probability_taken_as_divergence_is_loose_for_the_strong_adversary() -> None:
    """Erratum 2: n = 4, k = 3, gamma = 1/2, alpha = 3/2: 0.7301 against 0.3067."""
    alpha = Fraction(3, 2)
    claim = planted.probability_of_a_large_ratio_strong(4, 3, HALF, alpha)
    rows = written.randomized_response(3, HALF)
    view = oracles.view_with_betas(rows, [0, 1, 2], 0, 1, own=True)
    truth = oracles.hockey_stick(view, alpha)
    assert (float(claim), float(truth)) == pytest.approx((0.7301, 0.3067), abs=5e-5)
    ours = Shuffle(RandomizedResponse(3, gamma=0.5), 4, "strong").get_delta(math.log(1.5))
    assert ours == pytest.approx(float(truth), rel=1e-3)


def test_probability_taken_as_divergence_is_loose_for_the_weak_adversary() -> None:
    """Erratum 2: 0.5054 against 0.2195."""
    alpha = Fraction(3, 2)
    claim = planted.probability_of_a_large_ratio_weak(4, 3, HALF, alpha)
    rows = written.randomized_response(3, HALF)
    truth = oracles.hockey_stick(oracles.view_with_betas(rows, [0, 1, 2], 0, 1, own=False), alpha)
    assert (float(claim), float(truth)) == pytest.approx((0.5054, 0.2195), abs=5e-5)
    ours = Shuffle(RandomizedResponse(3, gamma=0.5), 4, "blanket").get_delta(math.log(1.5))
    assert ours == pytest.approx(float(truth), rel=1e-3)


def test_refined_clones_with_a_small_p_are_refuted() -> None:
    """Erratum 4: n = 12, k = 3, gamma = 1/2, alpha = 3.5: claims 2.05e-5, the truth is 9.63e-4."""
    epsilon = math.log(3.5)
    claim = oracles.hockey_stick(planted.refined_clones(12, FOUR, Fraction(1, 6)), Fraction(7, 2))
    truth = worst_dataset(written.randomized_response(3, HALF), 12, epsilon)
    assert (float(claim), float(truth)) == pytest.approx((2.05e-5, 9.63e-4), rel=2e-3)
    for analysis in ("blanket", "stronger-clones", "clones", "strong"):
        survey = Shuffle(RandomizedResponse(3, gamma=0.5), 12, analysis)
        assert claim < truth <= Fraction(survey.get_delta(epsilon))


def test_refined_clones_hold_at_the_p_that_is_proven() -> None:
    """With p = 1/(E + 1) there is no third message: the pair of the package."""
    pair = planted.refined_clones(5, FOUR, Fraction(1, 5))
    right = oracles.clone_pair_fractions(5, FOUR, "stronger-clones")
    for alpha in (Fraction(1), Fraction(2), Fraction(7, 2)):
        assert oracles.hockey_stick(pair, alpha) == oracles.hockey_stick(right, alpha)


def test_different_randomizers_are_refuted() -> None:
    """One of ten users sends a or b, the others c or d, E = 4, alpha = 2: claims 0.0614 (clones:
    0.1226), the truth is 0.4."""
    own = written.likelier([[0], [1]], 2, FOUR)
    old = [[*row, Fraction(0), Fraction(0)] for row in own]
    new = [[Fraction(0), Fraction(0), *row] for row in own]
    laws = [oracles.shuffled_users([old] + [new] * 9, [x] + [0] * 9, 4) for x in (0, 1)]
    truth = oracles.hockey_stick(oracles.as_pair(*laws), 2)
    assert truth == Fraction(2, 5)
    for analysis, figure in (("stronger-clones", 0.0614), ("clones", 0.1226)):
        claim = oracles.hockey_stick(planted.different_randomizers(10, FOUR, analysis), 2)
        assert float(claim) == pytest.approx(figure, abs=5e-5)
        # only users with the same randomizer hide each other: here one
        alone = Shuffle(PureLDP(up(math.log(4))), 1, analysis).get_delta(math.log(2))
        assert claim < truth <= Fraction(alone)
        # the package says whose number it prints
        words = Shuffle(PureLDP(up(math.log(4))), 10, analysis).explained.assumption
        assert words.startswith("all honest users of a round apply the same eps0-LDP randomizer")
    # 10^4 users, eps0 = 4, delta = 1e-6: 0.411 is printed, and 4 is true of the one who differs
    assert 0.4108 < Shuffle(PureLDP(4.0), 10_000).get_epsilon(1e-6) < 0.4109
    assert Shuffle(PureLDP(4.0), 1).epsilon_bounds(1e-6).lower > 3.9999


def test_one_sided_subsampling_taken_as_closed_is_refuted() -> None:
    """Erratum 3: 1 of 3 users sends, E = 4, two rounds, alpha = 3/2: claims 0.10, truth 0.14."""
    alpha, rate = Fraction(3, 2), Fraction(1, 3)
    rows = written.likelier([[0], [1]], 2, FOUR)
    menu = oracles.neighbours(2, 3, partial(oracles.fixed_size_sample, rows, senders=1))
    truth = oracles.adaptive_profile([menu, menu], alpha)
    one_sided = planted.one_sided_sample(1, 3, FOUR)
    assert (oracles.adaptive_profile([[one_sided]] * 2, alpha), truth) == (
        Fraction(1, 10),
        Fraction(14, 100),
    )
    # closed symmetrically before it is composed, the same profile holds
    pair = oracles.clone_pair_fractions(1, FOUR, "stronger-clones")
    closed = oracles.symmetric_pair(
        lambda a: rate * oracles.hockey_stick(pair, 1 + (a - 1) / rate),
        [1 + rate * (p / q - 1) for p, q in pair.values()],
    )
    for a in (Fraction(1), Fraction(5, 4), alpha, Fraction(2), Fraction(3)):
        bound = oracles.adaptive_profile([[closed]] * 2, a)
        assert oracles.adaptive_profile([menu, menu], a) <= bound


def test_b_instead_of_b_plus_one_is_refuted() -> None:
    """The reverse order, n = 30, a quarter of clones, alpha = 2: claims 0.0771, truth 0.1060."""
    claim = planted.reverse_order_with_b(30, Fraction(1, 4), Fraction(2))
    pair: oracles.FractionPair = {}
    for c in range(30):
        chance = math.comb(29, c) * Fraction(1, 4) ** c * Fraction(3, 4) ** (29 - c)
        for a in range(c + 1):
            mass = chance * Fraction(math.comb(c, a), 2**c)
            for outcome, which in (((a, c - a + 1), 0), ((a + 1, c - a), 1)):
                masses = list(pair.get(outcome, (Fraction(0), Fraction(0))))
                masses[which] += mass
                pair[outcome] = (masses[0], masses[1])
    truth = oracles.hockey_stick(pair, Fraction(2))
    assert (float(claim), float(truth)) == pytest.approx((0.0771, 0.1060), abs=5e-5)
    # it is the strong adversary on randomized response of k = 2 with gamma = 1/4, up to 1 - gamma
    survey = Shuffle(RandomizedResponse(2, gamma=0.25), 30, "strong")
    ours = survey.get_delta(math.log(2) * (1 - 1e-15))
    assert Fraction(3, 4) * truth <= Fraction(ours)
    assert ours == pytest.approx(0.75 * float(truth), rel=1e-3)


def test_b_instead_of_b_plus_one_loses_mass() -> None:
    """The same slip in the view of A_w: its masses add up to 0.766, and delta is 0.2590."""
    pair = planted.weak_adversary_with_b(4, 3, HALF)
    assert float(sum(p for p, _ in pair.values())) == pytest.approx(0.7656, abs=5e-5)
    claim = oracles.hockey_stick(pair, Fraction(3, 2))
    assert float(claim) == pytest.approx(0.2590, abs=5e-5)  # the truth is 0.2195


def test_dropped_b_zero_atoms_are_refuted() -> None:
    """Erratum 6: n = 1000, eps0 = 4, epsilon = 3: claims 1.21e-13, the pair has 6.33e-5."""
    claim = planted.without_b_zero(1000, 4.0, 3.0)
    truth = oracles.clone_profile(1000, 4.0, 3.0, "clones")
    assert (float(claim), float(truth)) == pytest.approx((1.2132e-13, 6.3299e-5), rel=1e-4)
    bounds = Shuffle(PureLDP(4.0), 1000, "clones").delta_bounds(3.0)
    assert claim < bounds.lower <= truth <= bounds.upper


def test_renormalized_truncation_is_refuted() -> None:
    """Erratum 6: 60 rounds, E = 4, window 40 steps, alpha = 4^38: claims 0.1313, truth 0.3162."""
    alpha = FOUR**38
    claim = planted.renormalized_window(FOUR, 60, 40, alpha)
    truth = lattice_delta(RESPONSE, FOUR, 60, alpha)
    assert (float(claim), float(truth)) == pytest.approx((0.1313, 0.3162), abs=5e-5)
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(up(math.log(4))), 1), rounds=60)
    assert claim < truth <= Fraction(accountant.get_delta(38 * math.log(4) * (1 - 1e-15)))


def test_infinite_loss_counted_once_is_refuted() -> None:
    """Erratum 6: one user under A_s, gamma = 3/4, ten rounds: claims 0.25, the truth is 0.9437."""
    claim = planted.infinite_loss_once(Fraction(1, 4), 10)
    truth = lattice_delta({0: Fraction(3, 4)}, Fraction(2), 10, Fraction(2), Fraction(1, 4))
    assert (float(claim), float(truth)) == pytest.approx((0.25, 0.9437), abs=5e-5)
    accountant = Accountant()
    accountant.compose(Shuffle(RandomizedResponse(2, gamma=0.75), 1, "strong"), rounds=10)
    assert claim < truth <= Fraction(accountant.get_delta(math.log(2)))


def test_unmultiplied_round_count_is_refuted() -> None:
    """n = 100, eps0 = 1, epsilon = 1/2: claims 1.70e-6, two rounds alone have 1.79e-4."""
    claim = planted.rounds_not_multiplied(100, 1.0, 0.5, 50)
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(1.0), 100), rounds=50)
    bounds = accountant.delta_bounds(0.5)
    atoms = oracles.clone_pair_atoms(100, 1.0, "stronger-clones")
    two = oracles.delta_of_product([atoms, atoms], 0.5)
    assert two <= bounds.lower <= bounds.upper
    assert (float(claim), float(two)) == pytest.approx((1.702e-6, 1.792e-4), rel=1e-3)


def test_one_minus_cdf_tails_are_refuted() -> None:
    """400 rounds, E = 4, alpha = 4^359: claims 0, the truth is 4.4e-18."""
    alpha = FOUR ** (2 * 380 - 401)
    truth = lattice_delta(RESPONSE, FOUR, 400, alpha)
    assert planted.one_minus_cdf(FOUR, 400, 380) <= 0
    assert float(truth) == pytest.approx(4.40e-18, rel=1e-2)
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(up(math.log(4))), 1), rounds=400)
    assert truth <= Fraction(accountant.get_delta(359 * math.log(4) * (1 - 1e-15)))


def test_the_planted_versions_are_right_where_they_should_be() -> None:
    """They differ from the truth by the error alone: undone, they agree with the references."""
    wide = planted.renormalized_window(FOUR, 60, 60, FOUR**38)
    assert wide == lattice_delta(RESPONSE, FOUR, 60, FOUR**38)
    with mpmath.workdps(60):
        one = planted.rounds_not_multiplied(7, 1.0, 0.25, 1)
        assert one == oracles.clone_profile(7, 1.0, 0.25, "stronger-clones")
    tail = sum(mass for loss, mass in ((2 * j - 40, m) for j, m in _masses(40)) if loss > 20)
    assert planted.one_minus_cdf(FOUR, 40, 31) == pytest.approx(float(tail), rel=1e-9)


def _masses(rounds: int) -> list[tuple[int, Fraction]]:
    chance = Fraction(4, 5)
    return [
        (j, math.comb(rounds, j) * chance**j * (1 - chance) ** (rounds - j))
        for j in range(rounds + 1)
    ]
