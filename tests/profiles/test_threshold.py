"""Counts that are shown above a threshold, against every number of other reports."""

import math
from fractions import Fraction

import numpy as np
import pytest

from covering import covering
from oracles import noise as oracle
from shuffledp.profiles.threshold import ThresholdProfile

CASES = [(0.3, 1), (0.5, 4), (0.9, 6), (0.1, 3), (0.02, 2), (0.25, 20)]


@pytest.mark.parametrize(("case", "more"), covering(CASES, [True, False]))
def test_against_every_number_of_others(case: tuple[float, int], more: bool) -> None:
    """Up to 1,000 of them. Where the worst is beyond, the others are no larger."""
    rate, threshold = case
    profile = ThresholdProfile(rate, threshold, more)
    shares = np.array([0.0, 0.01, 0.2, 0.5, 0.7, 0.9, 0.95, 1.0, 1.2])
    epsilon = np.unique(np.append(shares * profile.max_loss, [0.1, 0.5, 1.0, 2.0, 4.0]))
    samples = profile.sampler(700.0, 1e-3)(epsilon)
    worst = oracle.worst_bin(rate, threshold, epsilon.tolist(), 1000, more)
    for i, (truth, others) in enumerate(worst):
        assert samples.upper[i] >= truth * (1 - 1e-12) - 1e-290, epsilon[i]
        if others < 1000:
            assert samples.lower[i] <= truth * (1 + 1e-12), epsilon[i]
            if truth > 1e-200:
                assert samples.upper[i] <= truth * (1 + 1e-8), epsilon[i]


@pytest.mark.parametrize(
    ("rate", "threshold", "delta", "others"),
    [(0.105, 20, 6.480e-15, 28), (0.105, 11, 3.087e-9, 14), (0.25, 20, 9.234e-9, 26)],
)
def test_known_figures(rate: float, threshold: int, delta: float, others: int) -> None:
    found = ThresholdProfile(rate, threshold, more=True).sampler(50.0, 1e-3)(np.ones(1))
    assert found.upper[0] == pytest.approx(delta, rel=2e-4)
    (truth, at), *_ = oracle.worst_bin(rate, threshold, [1.0], 200, more=True)
    assert at == others
    assert found.lower[0] <= truth <= found.upper[0]
    reverse = ThresholdProfile(rate, threshold, more=False).sampler(50.0, 1e-3)(np.ones(1))
    assert reverse.upper[0] == 0  # for alpha >= 1/(1-p) the other order loses nothing


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize(("rate", "threshold"), [("1/4", 1), ("1/2", 3), ("3/4", 2), ("1/8", 2)])
def test_fractions(rate: str, threshold: int, more: bool) -> None:
    p = Fraction(rate)
    profile = ThresholdProfile(float(p), threshold, more)
    for alpha in (Fraction(1), Fraction(9, 8), Fraction(5, 4), Fraction(3, 2), Fraction(4)):
        found = profile.sampler(700.0, 1e-3)(np.array([math.log(alpha)]))
        truth = Fraction(0)
        for others in range(60):
            first, second = oracle.shown(p, threshold, others)[:: 1 if more else -1]
            gains = (max(a - alpha * b, Fraction(0)) for a, b in zip(first, second, strict=True))
            truth = max(truth, sum(gains, Fraction(0)))
        assert truth <= Fraction(found.upper[0])
        if (alpha, rate) != (Fraction(9, 8), "1/8"):  # there the worst has 63 others
            assert float(truth) == pytest.approx(found.lower[0], rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("more", [True, False])
def test_slopes_are_of_lines_below(more: bool) -> None:
    profile = ThresholdProfile(0.2, 5, more)
    epsilon = np.linspace(0.0, profile.max_loss, 40)
    samples = profile.sampler(700.0, 1e-3)(epsilon)
    alpha = np.exp(epsilon)
    slope = (samples.slope_low + samples.slope_high) / 2
    lines = samples.lower[:, None] - slope[:, None] * (alpha - alpha[:, None])
    assert (lines <= samples.upper * (1 + 1e-9) + 1e-15).all()


@pytest.mark.parametrize("rate", [1e-9, 1e-3, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("threshold", [1, 2, 1000, 10**6])
def test_extremes_are_answered(rate: float, threshold: int) -> None:
    for more in (True, False):
        profile = ThresholdProfile(rate, threshold, more)
        found = profile.sampler(700.0, 1e-3)(np.linspace(0, 1.1 * profile.max_loss, 50))
        assert (found.lower <= found.upper).all()
        assert (np.diff(found.upper) <= 1e-9 * found.upper[:-1] + 1e-13).all()
