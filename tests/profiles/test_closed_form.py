"""Polygons from lists of losses, against sums in many digits."""

import mpmath
import numpy as np
import pytest

from shuffledp.profiles.closed_form import Polygon


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
