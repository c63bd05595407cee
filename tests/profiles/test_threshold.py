"""Counts that are shown above a threshold, against every number of other reports."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from covering import covering
from oracles import noise as oracle
from shuffledp.profiles.one_more import ThresholdProfile

CASES = [(0.3, 1), (0.5, 4), (0.9, 6), (0.1, 3), (0.02, 2), (0.25, 20)]


@pytest.mark.parametrize(("case", "more"), covering(CASES, [True, False]))
def test_against_every_number_of_others(case: tuple[float, int], more: bool) -> None:
    """Up to 500 of them. Where the worst is beyond, the others are no larger."""
    rate, threshold = case
    profile = ThresholdProfile(rate, threshold, more)
    shares = np.array([0.0, 0.01, 0.2, 0.5, 0.7, 0.9, 0.95, 1.0, 1.2])
    epsilon = np.unique(np.append(shares * profile.max_loss, [0.1, 0.5, 1.0, 2.0, 4.0]))
    samples = profile.sampler(700.0, 1e-3)(epsilon)
    worst = oracle.worst_bin(rate, threshold, epsilon.tolist(), 500, more)
    for i, (truth, others) in enumerate(worst):
        assert samples.upper[i] >= truth * (1 - 1e-12) - 1e-290, epsilon[i]
        if others < 500:
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
    shown = [oracle.shown(p, threshold, others)[:: 1 if more else -1] for others in range(60)]
    for alpha in (Fraction(1), Fraction(9, 8), Fraction(5, 4), Fraction(3, 2), Fraction(4)):
        found = profile.sampler(700.0, 1e-3)(np.array([math.log(alpha)]))
        truth = Fraction(0)
        for first, second in shown:
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
    slope = (samples.fall_low + samples.fall_high) / 2
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


@pytest.mark.parametrize(
    ("rate", "epsilon"), [(0.9999, 4.605170185937982), (0.9995, 6.214608098322081), (0.9999, 0.1)]
)
def test_a_large_threshold_is_reached_with_all_reports(rate: float, epsilon: float) -> None:
    """K other reports, all of them kept, and one more, which is kept or not."""
    threshold = 10**6
    found = ThresholdProfile(rate, threshold, more=True).sampler(700.0, 1e-3)(np.array([epsilon]))
    with mpmath.workdps(40):
        p, alpha = mpmath.mpf(rate), mpmath.exp(mpmath.mpf(epsilon))
        gain = (threshold + 1) * (1 - p) - alpha
        assert float(found.upper[0]) >= p**threshold * (p + max(gain, 0))


@pytest.mark.parametrize("beyond", [2, 3, 5, 8])
def test_one_report_less_of_many_that_are_nearly_all_kept(beyond: int) -> None:
    """Where the worst bin changes: K - 1 and some more reports."""
    rate, threshold = 0.999999, 10**6
    profile = ThresholdProfile(rate, threshold, more=False)
    epsilon = math.log(beyond / (threshold - 1 + beyond) / (1 - rate))
    found = profile.sampler(700.0, 1e-3)(np.array([epsilon]))
    largest = mpmath.mpf(0)
    with mpmath.workdps(40):
        p, alpha = mpmath.mpf(rate), mpmath.exp(mpmath.mpf(epsilon))
        least = int(mpmath.ceil((threshold - 1) / (1 - alpha * (1 - p))))
        for reports in range(max(least - 1, threshold), least + 2):
            gain = mpmath.mpf(0)
            below = [mpmath.mpf(0), mpmath.mpf(0)]
            for not_kept in range(60):  # of the other reports, more than that are very unlikely
                one, two = (
                    mpmath.binomial(n, kept) * (1 - p) ** (n - kept) * p**kept
                    for n, kept in (
                        (reports - 1, reports - 1 - not_kept),
                        (reports, reports - 1 - not_kept),
                    )
                )
                if reports - 1 - not_kept >= threshold:
                    gain += max(one - alpha * two, 0)
                else:
                    below = [below[0] + one, below[1] + two]
            largest = max(largest, gain + max(below[0] - alpha * below[1], 0))
    assert found.upper[0] >= largest


def test_one_report_without_a_threshold() -> None:
    """Nobody else: 1 - alpha (1 - p) is lost."""
    rate, epsilon = 0.999994748413829, 12.156980397959353
    found = ThresholdProfile(rate, 1, more=False).sampler(700.0, 1e-3)(np.array([epsilon]))
    with mpmath.workdps(40):
        exact = 1 - mpmath.exp(mpmath.mpf(epsilon)) * (1 - mpmath.mpf(rate))
        assert float(found.lower[0]) <= exact <= float(found.upper[0])


@pytest.mark.parametrize("epsilon", [2e-15, 1e-12, 5e-10, 9.9e-10])
def test_bins_so_full_that_no_count_is_hidden(epsilon: float) -> None:
    """A million of 10^15 reports: the worst bin has more the larger epsilon is, and soon no count
    is below the threshold. Chernoff: it is with probability exp(-mean (1 - K/mean)^2/2) at most."""
    rate, threshold = 1e-9, 10**6
    found = ThresholdProfile(rate, threshold, more=False).sampler(700.0, 1e-3)(np.array([epsilon]))
    mean = threshold / (1 - epsilon / rate)
    log_hidden = -mean * (1 - threshold / mean) ** 2 / 2
    assert found.lower[0] <= (math.exp(log_hidden) if log_hidden > -600 else 1e-260)


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("rate", ["1/4", "7/8"])
def test_a_bin_of_known_size(rate: str, more: bool) -> None:
    """Of which enough reports are kept on average: the event may begin, or end, beyond K."""
    p, threshold = Fraction(rate), 3
    for reports in (math.ceil((threshold - 1) / p), 12, 40):
        profile = ThresholdProfile(float(p), threshold, more, reports)
        first, second = oracle.shown(p, threshold, reports - 1)[:: 1 if more else -1]
        for alpha in (Fraction(1), Fraction(9, 8), Fraction(5, 4), Fraction(2), Fraction(7)):
            near = math.log(alpha)
            found = profile.sampler(700.0, 1e-3)(np.array([max(near - 1e-15, 0.0), near + 1e-15]))
            gains = (max(a - alpha * b, Fraction(0)) for a, b in zip(first, second, strict=True))
            truth = sum(gains, Fraction(0))
            assert Fraction(found.lower[1]) <= truth <= Fraction(found.upper[0])
            assert found.upper[0] <= found.lower[1] * (1 + 1e-9) + 1e-12
