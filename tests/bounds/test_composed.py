"""How lattices of a composition are made finer."""

import math

import pytest

from shuffledp import Accountant, Gaussian, Laplace, PureLDP, Shuffle
from shuffledp._support.numeric import Bounds
from shuffledp.bounds.composed import _finer
from shuffledp.composition.compose import Composition
from shuffledp.composition.grading import Fineness
from shuffledp.errors import NotCertified
from shuffledp.randomizers import NoisyHistogram


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


def test_no_finer_than_is_wanted_or_worth_its_time() -> None:
    first, wanted = Fineness(2.0, 4.0), Fineness(3.0, 9.0)
    assert first.towards(wanted, Fineness(math.inf, math.inf)) == wanted
    assert first.towards(wanted, Fineness(2.5, 6.0)) == (2.5, 6.0)
    assert first.towards(wanted, Fineness(1.0, 5.0)) == (2.0, 5.0)
    quick, dear = (
        Composition([(Shuffle(randomizer, 100).profile, 2)]).lattices
        for randomizer in (PureLDP(1.0), Laplace(1.0))
    )
    assert min(quick.finest(1e-9)) == math.inf
    assert dear.finest(1e-9) == (1, 1)
    assert dear.finest(1e-3).resolution > 2


def test_a_delta_far_below_what_outlines_tell_is_looked_for_deeper() -> None:
    """It was said to be at most 1e-36 before, after refinements in vain."""
    accountant = Accountant().compose(Shuffle(Gaussian(0.8), 1000), 4)
    with pytest.raises(NotCertified) as raised:
        accountant.delta_bounds(30.0)
    assert 0 < raised.value.bounds.lower < raised.value.bounds.upper < 1e-90
    # 30 is 7.5 in each of four rounds: the union bound of what each may have
    assert raised.value.bounds.lower <= 4 * Shuffle(Gaussian(0.8), 1000).get_delta(7.5)


def test_looking_elsewhere_is_no_refinement_in_vain() -> None:
    """The second lattice of these rounds is for another delta, and as wide as the first."""
    noise = NoisyHistogram(poisson=4.08)
    survey = Shuffle(noise, 3969040, sample_rate=314348 / 3969040)
    lower, upper = Accountant().compose(survey, 10).delta_bounds(0.000638)
    assert 0 < lower <= upper < 1.01 * lower
