"""Polygons from lists of losses and Gaussian noise, against many digits."""

import mpmath
import numpy as np
import pytest

from shuffledp.profiles.closed_form import GaussianProfile, Polygon
from shuffledp.profiles.subsampled import SubsampledProfile


@pytest.mark.parametrize("number", [1, 2, 30])
def test_lines_before_the_last_corner_stay_below(number: int) -> None:
    """The value at the last corner is exact, but not the slope of the cell before it."""
    rng = np.random.default_rng(number)
    for _ in range(100):
        masses, losses = rng.dirichlet(np.ones(number)), np.sort(rng.uniform(0.01, 3, number))
        polygon = Polygon.of_losses(losses, masses, 0.0)
        samples = polygon(polygon.epsilon)
        places = [mpmath.mpf(float(loss)) for loss in losses]
        for begin, end in ((-2, -1), (0, 1)):
            start, stop = (mpmath.mpf(float(polygon.epsilon[i])) for i in (begin, end))
            with mpmath.workdps(40):
                truth = mpmath.fsum(
                    mpmath.mpf(float(mass)) * -mpmath.expm1(start - loss)
                    for mass, loss in zip(masses, places, strict=True)
                    if loss > start
                )
                before = mpmath.exp(stop) - mpmath.exp(start)
                line = samples.lower[end] + samples.fall_low[end] * before
            assert line <= truth


@pytest.mark.parametrize(
    ("rate", "shift"), [(1.0, 3.0), (1.0, 30.0), (0.3, 12.0), (1e-3, 3.0), (1e-3, 30.0)]
)
def test_lines_beyond_the_largest_supported_loss_stay_below(shift: float, rate: float) -> None:
    """Losses beyond it count as nothing from below: no line through 0 may fall there."""
    full = GaussianProfile(shift)
    profile = SubsampledProfile(full, rate) if rate < 1 else full
    top = profile.max_loss
    places = np.append([0.5 * top, top * (1 - 1e-9), top], top + np.array([1e-6, 1.0, 5.0, 6.9]))
    samples = profile.sampler(100.0, 1e-3)(places)
    with mpmath.workdps(330):
        alphas = [mpmath.exp(mpmath.mpf(float(place))) for place in places]
        truth = [rate * _gaussian(shift, 1 + (alpha - 1) / mpmath.mpf(rate)) for alpha in alphas]
        for i, alpha in enumerate(alphas):
            assert samples.lower[i] <= truth[i] <= samples.upper[i]
            for j, other in enumerate(alphas):
                fall = samples.fall_low[i] if j < i else samples.fall_high[i]
                line = samples.lower[i] - float(fall) * (other - alpha)
                assert line <= truth[j] * (1 + mpmath.mpf(10) ** -12)


def _gaussian(shift: float, alpha: mpmath.mpf) -> mpmath.mpf:
    """The divergence of two normal variables that are so far apart."""
    middle, half = mpmath.log(alpha) / shift, mpmath.mpf(shift) / 2
    return mpmath.ncdf(half - middle) - alpha * mpmath.ncdf(-half - middle)
