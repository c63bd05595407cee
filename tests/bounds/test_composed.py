"""How lattices of a composition are made finer."""

import math

import pytest

from shuffledp._support.numeric import Bounds
from shuffledp.bounds.composed import _finer
from shuffledp.composition.grading import Fineness


def test_what_is_too_wide_is_made_finer() -> None:
    first, bounds = Fineness(), Bounds(1.0, 1.1)
    cells = _finer(first, bounds, 2.0, above=1.1)
    assert cells.resolution > 1.4
    assert cells.sharpness == 1
    samples = _finer(first, bounds, 2.0, above=1.0)
    assert samples.resolution == 1
    assert samples.sharpness > 2
    both = _finer(first, bounds, 4.0, above=1.05)
    assert min(both) > 1.4


@pytest.mark.parametrize(
    ("bounds", "excess", "above"),
    [
        (Bounds(0.0, 1.0), 1.01, 1.0),
        (Bounds(0.0, math.inf), 64.0, math.inf),
        (Bounds(1.0, math.inf), 64.0, 2.0),
        (Bounds(1.0, 1.1), 1.01, 0.9),
        (Bounds(1.0, 1.1), 1.01, 1.0785),
        (Bounds(1.0, 1.1), 1e300, 1.05),
    ],
)
def test_something_always_becomes_finer_and_nothing_without_bound(
    bounds: Bounds[float], excess: float, above: float
) -> None:
    resolution, sharpness = _finer(Fineness(), bounds, excess, above)
    assert resolution * sharpness > 1.1
    assert 1 <= resolution <= 8
    assert 1 <= sharpness <= 64
