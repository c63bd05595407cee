"""Direct convolution against exact sums and against the Fourier engine."""

import math
from fractions import Fraction

import numpy as np
import pytest

from oracles.scores import LAWS, THRESHOLDS, Law, columns, stop_loss_by_counting, twelve_decades
from shuffledp.engines.convolved import convolved_stop_loss
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.problem import ScoreSums


def both_sides(sums: ScoreSums) -> tuple[float, float]:
    lower, upper = (float(side[0]) for side in convolved_stop_loss(sums))
    return lower, upper


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("users", [1, 2, 3, 7, 24])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_against_enumeration(law: Law, users: int, threshold: Fraction) -> None:
    truth = float(stop_loss_by_counting(law, users, threshold))
    lower, upper = both_sides(ScoreSums(*columns(law, threshold), users))
    assert lower <= truth * (1 + 1e-14)
    assert truth * (1 - 1e-14) <= upper


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
        lower, upper = both_sides(sums)
        low, high = (float(side[0]) for side in stop_loss(sums, 1e-6)[:2])
        assert lower <= high
        assert low <= upper
        assert upper <= 1.05 * lower


def test_heavy_tails_against_a_sum_over_the_largest() -> None:
    scores, masses, truth = twelve_decades()
    sums = ScoreSums(scores[None], masses[None], np.abs(scores)[None], np.zeros(1), 2)
    lower, upper = both_sides(sums)
    assert lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= upper <= 1.01 * lower
