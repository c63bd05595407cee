"""A few losses term by term, and tables of profiles that are expensive."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shuffledp import Accountant, FiniteRandomizer, PureLDP, Shuffle
from shuffledp._support.numeric import Side
from shuffledp.composition.composed_profile import Table, sum_of_losses
from shuffledp.composition.pld import PLD
from shuffledp.guarantee import best_effort
from shuffledp.profiles.closed_form import GaussianProfile


def pld(step: float, index: list[int], masses: list[float], infinite: float) -> PLD:
    return PLD(step, np.array(index), np.array(masses), infinite)


ONE = pld(0.25, [-3, 0, 1, 6], [0.25, 0.5, 0.125, 0.0625], 0.0625)
OTHER = pld(0.25, [-8, -1, 4], [0.125, 0.5, 0.375], 0.0)
FAR = pld(0.25, [-1, 100_000], [0.75, 0.25], 0.0)


def exact(plds: list[PLD], epsilon: float) -> float:
    """Every choice of losses, whose masses are dyadic."""
    total = float(1 - math.prod((1 - Fraction(pld.infinite) for pld in plds), start=Fraction(1)))
    every = (zip(pld.index.tolist(), pld.masses.tolist(), strict=True) for pld in plds)
    for chosen in product(*every):
        loss = plds[0].step * sum(index for index, _ in chosen)
        if loss > epsilon:
            total += math.prod(mass for _, mass in chosen) * -math.expm1(epsilon - loss)
    return total


CHOICES = [[], [ONE], [OTHER], [FAR], [ONE, ONE], [OTHER, ONE, OTHER], [FAR, OTHER]]


@pytest.mark.parametrize("others", CHOICES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.25, 0.9, 1.5, 2.6])
def test_sums(others: list[PLD], epsilon: float) -> None:
    plds = [ONE, *others]
    parts = [
        (pld, sum(pld is one for one in plds)) for pld in {id(one): one for one in plds}.values()
    ]
    truth = exact(plds, epsilon)
    at = np.array([epsilon])
    low = float(sum_of_losses(parts, Side.LOWER)(at).lower[0])
    high = float(sum_of_losses(parts, Side.UPPER)(at).upper[0])
    assert low <= truth * (1 + 1e-15) and truth * (1 - 1e-15) <= high
    assert high - low <= 1e-10 * truth + 1e-290


@pytest.mark.parametrize("step", [2.0**-70, 1e-300])
def test_lattices_on_which_the_largest_sum_has_no_index(step: float) -> None:
    tiny = PLD(step, ONE.index, ONE.masses, ONE.infinite)
    truth = exact([tiny, tiny], 0.0)
    low = float(sum_of_losses([(tiny, 2)], Side.LOWER)(np.zeros(1)).lower[0])
    high = float(sum_of_losses([(tiny, 2)], Side.UPPER)(np.zeros(1)).upper[0])
    assert low <= truth * (1 + 1e-15) and truth * (1 - 1e-15) <= high
    assert high - low <= 1e-11


def test_samples_of_messages_that_say_all_or_nothing() -> None:
    """Whoever takes part is seen to, and the only finite losses are roundings."""
    randomizer = FiniteRandomizer(((0.0, 1.0), (1.0, 0.0), (1.0, 0.0)))
    round_ = Shuffle(randomizer, 2, sample_rate=0.9, sampling="poisson", messages=3)
    for epsilon in (0.0, 1.0):
        lower, upper = round_.delta_bounds(epsilon)
        assert lower <= 0.9 <= upper <= 0.9001


def test_a_loss_error_is_charged() -> None:
    moved = PLD(0.25, ONE.index, ONE.masses, ONE.infinite, loss_error=0.01)
    epsilon = np.array([0.0, 0.4])
    for side in (Side.LOWER, Side.UPPER):
        samples = sum_of_losses([(moved, 1), (OTHER, 1)], side)(epsilon)
        found = samples.upper if side is Side.UPPER else samples.lower
        for value, e in zip(found.tolist(), epsilon.tolist(), strict=True):
            away = exact([ONE, OTHER], max(e - side * 0.01, 0.0))
            assert side * (value - away) >= -1e-12


@pytest.mark.parametrize("points", [3, 40, 400])
def test_tables(points: int) -> None:
    """A profile that is known everywhere, from some of its values with errors."""
    profile = GaussianProfile(0.7)
    truth = profile.sampler(40.0, 1e-3)
    places = np.linspace(0.0, 4.0, points)
    known = truth(places)
    table = Table(places, known.lower * 0.9999, known.upper * 1.0001)
    epsilon = np.linspace(0.0, 6.0, 301)
    found, exactly = table(epsilon), truth(epsilon)
    assert (found.lower <= exactly.upper).all() and (exactly.lower <= found.upper).all()
    if points == 400:
        inside = epsilon < 3.5
        assert (found.upper - found.lower <= 0.02 * exactly.upper)[inside].all()


def test_a_table_far_beyond_its_last_epsilon() -> None:
    """Without a warning that something overflows."""
    table = Table(np.array([0.0, 1.0]), np.array([0.5, 0.1]), np.array([0.6, 0.2]))
    found = table(np.array([50.0, 700.0, 1e6]))
    assert found.lower.tolist() == [0.0] * 3
    assert found.upper.tolist() == [0.2] * 3


def test_a_table_knows_no_lower_value_where_alpha_is_no_double() -> None:
    table = Table(np.array([0.0, 700.0]), np.array([0.5, 0.4]), np.array([0.6, 0.5]))
    found = table(np.array([700.0, 701.0, 1e6]))
    assert found.lower[0] > 0.3
    assert found.lower[1:].tolist() == found.fall_low[1:].tolist() == [0.0, 0.0]
    assert (found.upper >= 0.5).all()


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
def test_samples_of_bundles_whose_losses_exceed_700(sampling: str) -> None:
    """Whoever of the two takes part is seen, up to e^-200; five messages lose 1000 at most."""
    round_ = Shuffle(PureLDP(200.0), 2, sample_rate=0.5, sampling=sampling, messages=5)
    for epsilon in (
        (0.0, 599.0, 701.0, 710.0, 900.0) if sampling == "fixed" else (1.0, 650.0, 705.0)
    ):
        lower, upper = best_effort(round_.delta_bounds, epsilon)
        assert lower <= 0.5 <= upper <= 0.5001
    assert round_.get_delta(1000.1) == 0


def test_rounds_whose_losses_exceed_the_range_of_a_double() -> None:
    """Two rounds, in each of which whoever of the two takes part is seen, up to e^-200."""
    round_ = Shuffle(PureLDP(200.0), 2, sample_rate=0.5, messages=5)
    twice = Accountant().compose(round_, 2)
    for epsilon in (0.0, 650.0, 900.0):
        lower, upper = best_effort(twice.delta_bounds, epsilon)
        assert lower <= 0.75 * (1 + 1e-12) and 0.75 <= upper <= 0.7501
    # only if the user takes part in both rounds, losses are that large
    lower, upper = best_effort(twice.delta_bounds, 1200.0)
    assert lower <= 0.25 <= upper
