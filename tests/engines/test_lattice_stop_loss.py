"""Sums on a lattice against exact sums and against the Fourier engine."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from covering import covering
from oracles.scores import LAWS, THRESHOLDS, Law, columns, stop_loss_by_counting, twelve_decades
from shuffledp import tuning
from shuffledp.engines.big_scores import dominant_stop_loss
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.problem import ScoreSums, StopLossBounds
from shuffledp.engines.tilted_lattice import lattice_stop_loss


def both_sides(sums: ScoreSums, width: float = 1e-3) -> tuple[float, float]:
    lower, upper = (float(side[0]) for side in lattice_stop_loss(sums, width)[:2])
    return lower, upper


@pytest.mark.parametrize(("law", "users", "threshold"), covering(LAWS, [2, 3, 7, 24], THRESHOLDS))
def test_against_enumeration(law: Law, users: int, threshold: Fraction) -> None:
    truth = float(stop_loss_by_counting(law, users, threshold))
    for width in (0.1, 1e-3, 1e-5):
        lower, upper = both_sides(ScoreSums(*columns(law, threshold), users), width)
        assert lower <= truth * (1 + 1e-14)
        assert truth * (1 - 1e-14) <= upper
    heavy = max(law[0]) > 50  # left to one dominant score
    assert heavy or upper - lower < 0.001 * truth + 1e-6


@pytest.mark.parametrize("points", [1, 8, 50])
@pytest.mark.parametrize("seed", range(12))
def test_random_laws_on_coarse_lattices(
    seed: int, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With steps as large as the scores, and a common score that is none of the multiples."""
    monkeypatch.setattr(tuning, "MOST_POINTS", points)
    draw = random.Random(f"lattice {seed}")
    size = draw.choice([1, 2, 3])
    scores = tuple(Fraction(draw.randrange(-(2**9), 2**9), 7) for _ in range(size))
    weights = [Fraction(1, 2 ** draw.randrange(0, 14)) for _ in range(size + 1)]
    law = scores, tuple(w / sum(weights) for w in weights[:-1])
    users, threshold = draw.choice([2, 3, 9]), Fraction(draw.choice([0, 1, 30]), 3)
    truth = float(stop_loss_by_counting(law, users, threshold))
    sums = ScoreSums(*columns(law, threshold), users)
    lower, upper = both_sides(sums, draw.choice([0.1, 1e-4]))
    assert lower <= truth * (1 + 1e-13)
    assert truth * (1 - 1e-13) <= upper


@pytest.mark.parametrize("points", [8, 1 << 12])
@pytest.mark.parametrize(("law", "users", "threshold"), covering(LAWS, [1, 2, 7], THRESHOLDS))
def test_one_more_user_with_a_law_of_their_own(
    law: Law, users: int, threshold: Fraction, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of either sign, between the multiples, with chances that differ a thousandfold."""
    monkeypatch.setattr(tuning, "MOST_POINTS", points)
    draw = random.Random(f"last {law} {users}")
    weights = [Fraction(1, 2 ** draw.randrange(0, 30)) for _ in law[0]]
    last = [weight / sum(weights) for weight in weights]
    truth = sum(
        chance * stop_loss_by_counting(law, users, threshold - score)
        for score, chance in zip(law[0], last, strict=True)
    )
    chances = np.array([[float(chance) for chance in last]])
    sums = ScoreSums(*columns(law, threshold), users, last=chances)
    for width in (0.1, 1e-3, 1e-5):
        lower, upper, fall_low, fall_high = (float(x[0]) for x in lattice_stop_loss(sums, width))
        assert lower <= float(truth) * (1 + 1e-13)
        assert float(truth) * (1 - 1e-13) <= upper
        assert (fall_low, fall_high) == (0.0, math.inf if lower > 0 else 0.0)
    assert points == 8 or upper - lower < 0.001 * truth + 1e-3


@pytest.mark.parametrize("engine", [lattice_stop_loss, stop_loss])
@pytest.mark.parametrize("width", [1e-2, 1e-4])
@pytest.mark.parametrize("digits", [40, 60])
def test_one_more_user_who_outweighs_nearly_all_others(
    engine: Callable[..., StopLossBounds], width: float, digits: int
) -> None:
    """3000 users, half of whom gain 1, one in 10^digits gains 2000, and one who loses 4000."""
    scores, rare = np.array([[1.0, 2000.0, -4000.0]]), 10.0**-digits
    sums = ScoreSums(
        scores,
        np.array([[0.5, rare, 0.0]]),
        np.abs(scores),
        np.zeros(1),
        3000,
        last=np.array([[0.0, 0.0, 1.0]]),
    )
    # of one large score, by Hoeffding: 500 more than half of the others gain 1
    most = 3000 * rare * 1000 * math.exp(-2 * 500**2 / 3000) + (3000 * rare) ** 2 * 2000
    lower, upper = (float(side[0]) for side in engine(sums, width)[:2])
    assert lower <= most
    # two large scores, and a quarter of the others
    assert upper >= math.comb(3000, 2) * rare**2 * 500


def test_a_scale_that_is_in_range_by_its_noise_alone() -> None:
    """Scores of 10^100, of which half of the users have one, and a probability of 10^-332."""
    users, least = 20_000, 12_743
    truth = Fraction(math.comb(users, least + 1), 2**users) * 10**100  # of one term
    score, chance = np.array([[1e100]]), np.array([[0.5]])
    sums = ScoreSums(score, chance, score, np.array([least * 1e100]), users)
    for width in (0.3, 0.1, 1e-3):
        lower, upper = both_sides(sums, width)
        assert Fraction(lower) <= 6 * truth  # of all terms
        assert truth * (1 - Fraction(1, 10**9)) <= Fraction(upper)


@pytest.mark.parametrize("users", [10, 1000])
def test_many_scores_against_fourier(users: int) -> None:
    """A smooth law of 300 scores: both engines enclose the same number, closely."""
    x = np.linspace(-3, 3, 300)
    masses = np.exp(-(x**2) / 2)
    masses *= 0.8 / masses.sum()
    scores = np.exp(x / 2) - 1.03 * math.exp(1 / 8)
    for threshold in (0.0, 0.1 * math.sqrt(users)):
        held = np.array([threshold])
        sums = ScoreSums(scores[None], masses[None], np.abs(scores)[None], held, users)
        lower, upper = both_sides(sums, 1e-6)
        low, high = (float(side[0]) for side in stop_loss(sums, 1e-6)[:2])
        assert lower <= high
        assert low <= upper
        assert upper <= 1.0001 * lower


def test_a_common_score_of_many_users_is_not_moved() -> None:
    """10^5 users, of whom three have one of 300 scores and all others -1/7 ... of a step."""
    x = np.linspace(-2, 2, 299)
    masses = np.exp(-(x**2)) / np.exp(-(x**2)).sum() * 3e-5
    scores, p = np.append(50 * x, -1e-3 / 7)[None], np.append(masses, 1 - 3e-5)[None]
    sums = ScoreSums(scores, p, np.abs(scores), np.zeros(1), 10**5)
    lower, upper = both_sides(sums, 1e-5)
    low, high = (float(side[0]) for side in stop_loss(sums, 1e-5)[:2])
    assert lower <= high
    assert low <= upper
    assert upper <= 1.001 * lower


def test_heavy_tails_against_a_sum_over_the_largest() -> None:
    scores, masses, truth = twelve_decades()
    sums = ScoreSums(scores[None], masses[None], np.abs(scores)[None], np.zeros(1), 2)
    lower, upper = (
        float(side[0]) for side in dominant_stop_loss(sums, 1e-3, lattice_stop_loss, 0.0)[:2]
    )
    assert lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= upper <= 1.01 * lower


@pytest.mark.parametrize("threshold", [0, 2])
@pytest.mark.parametrize("users", [2, 3])
def test_sums_that_need_users_whose_share_is_lost_in_the_errors(users: int, threshold: int) -> None:
    """Who scores 0 is one in 10^9, or nobody: the error of the probabilities is as large."""
    gains, idle, error = Fraction(1, 10**7), Fraction(1, 10**9), 2e-9
    scores, falls = (Fraction(10), Fraction(-20)), (Fraction(7), Fraction(1))
    given = gains, 1 - gains - idle
    law = scores, (gains, (1 - gains))  # nobody, which is within the error
    sums = ScoreSums(
        *columns((scores, given), Fraction(threshold)), users, error, np.array([[7.0, 1.0]])
    )
    lower, upper, slope, _ = (float(side[0]) for side in lattice_stop_loss(sums, 1e-3))
    for after in (Fraction(0), Fraction(-1, 10)):
        moved = tuple(z - after * fall for z, fall in zip(scores, falls, strict=True))
        truth = stop_loss_by_counting((moved, law[1]), users, Fraction(threshold))
        assert Fraction(lower) - after * Fraction(slope) <= truth
    assert stop_loss_by_counting((scores, given), users, Fraction(threshold)) <= Fraction(upper)
