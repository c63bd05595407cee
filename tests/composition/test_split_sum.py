"""Sums with rare large losses against exact rational convolution and closed forms."""

import math
from functools import partial

import numpy as np
import pytest

from oracles.convolution import delta_of_losses
from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp._support.numeric import BOTH, Side
from shuffledp.composition.compose import sums_near
from shuffledp.composition.pld import PLD
from shuffledp.composition.split_sum import split
from shuffledp.composition.tilted_sum import TiltedSum
from shuffledp.composition.tilts import Parts, tilt_for_epsilon

SYMMETRIC = PLD(0.25, np.array([-1, 0, 1]), np.array([0.25, 0.5, 0.25]), 0.0)
#: Losses up to 1.5 with ever smaller masses, and one of 25 far away from them.
USUAL = [0.2, 0.5, 0.2, 1e-2, 1e-4, 1e-7, 1e-11]
RARE = PLD(0.25, np.array([-1, 0, 1, 2, 3, 4, 5, 100]), np.array([*USUAL, 1e-22]), 0.0)
RARER = PLD(0.25, np.array([-2, 0, 2, 80]), np.array([0.3, 0.4, 0.29, 1e-33]), 1e-60)


@pytest.mark.parametrize(
    "parts",
    [
        [(RARE, 2)],
        [(RARE, 7)],
        [(RARER, 9)],
        [(RARE, 3), (RARER, 4)],
        [(SYMMETRIC, 5), (RARE, 2), (RARER, 1)],
    ],
)
def test_delta_against_rational_convolution(parts: Parts) -> None:
    """Before, between and beyond the humps; the sums of one tilt are far too wide there."""
    for epsilon in (0.3, 2.0, 4.6, 12.0, 23.9, 26.3, 30.0, 49.0):
        exact = delta_of_losses(parts, epsilon)
        scale = max(float(exact), 1e-200)
        tilt_for = partial(lambda e, term, _: tilt_for_epsilon(term, e), epsilon)
        apart = split(parts, scale, tilt_for)
        assert apart is not None
        low, high = apart.delta(epsilon, Side.LOWER), apart.delta(epsilon, Side.UPPER)
        assert low <= exact <= high
        assert high - low <= 2e-7 * exact + 1e-250


def test_one_tilt_does_not_fit_what_is_split() -> None:
    parts: Parts = [(RARE, 2)]
    epsilon = 2.2
    assert not TiltedSum(parts, tilt_for_epsilon(parts, epsilon)).sharp(epsilon)


@pytest.mark.parametrize("parts", [[(RARE, 2)], [(RARE, 7)], [(RARE, 3), (RARER, 4)]])
@pytest.mark.parametrize("wrong", [1e-6, 1.0, 1e6])
def test_the_best_of_several_ways_is_sharp_and_sound(parts: Parts, wrong: float) -> None:
    for epsilon in (0.3, 2.2, 12.0, 26.3):
        exact = delta_of_losses(parts, epsilon)
        total = sums_near(parts, epsilon, min(wrong * float(exact), 1.0))
        for near in (0.99, 1.0, 1.01):
            truth = exact if near == 1 else delta_of_losses(parts, near * epsilon)
            low, high = (total.delta(near * epsilon, side) for side in BOTH)
            assert low <= truth <= high
            assert near != 1 or high <= 1.0002 * low


def test_nothing_is_split_where_no_loss_is_rare_and_large() -> None:
    assert split([(SYMMETRIC, 9)], 1e-20, lambda *_: 1.0) is None


@pytest.mark.parametrize(
    ("rounds", "delta"), [(2, 1e-25), (2, 1e-28), (2, 1e-50), (20, 1e-28), (300, 1e-27)]
)
def test_rare_large_losses_of_clones_against_closed_forms(rounds: int, delta: float) -> None:
    """eps0 has the probability (1 - q/2)^(n-1) E/(E+1), and no other loss exceeds 6 or so.

    Ceiling: basic composition. Floor: one round alone, and the event that one round loses eps0
    while the others together lose nothing, or more, which has at least half of what is left.
    """
    users, eps0 = 956378825, 16.50431108713036
    survey = Shuffle(PureLDP(eps0), users)
    accountant = Accountant()
    accountant.compose(survey, rounds=rounds)
    bounds = accountant.epsilon_bounds(delta)
    assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper
    assert bounds.lower <= rounds * survey.get_epsilon(delta / rounds)
    assert bounds.upper >= survey.epsilon_bounds(delta).lower
    small = math.exp(-eps0)
    top = math.exp((users - 1) * math.log1p(-small / (1 + small))) / (1 + small)
    event = 0.5 * rounds * top * (1 - rounds * top)
    if delta < 0.9 * event:
        assert bounds.upper >= eps0 + math.log1p(-delta / event)
    else:
        assert delta > 0.9 * event
    deltas = accountant.delta_bounds(bounds.upper)
    assert deltas.lower <= delta
    assert accountant.delta_bounds(bounds.lower).upper >= delta
