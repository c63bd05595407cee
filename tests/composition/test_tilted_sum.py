"""Sums of losses against exact rational convolution."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from oracles.convolution import delta_of_losses
from shuffledp._support.numeric import Side
from shuffledp._support.transforms import fast_length
from shuffledp.composition.pld import PLD
from shuffledp.composition.tilted_sum import (
    CountedPLDs,
    TiltedSum,
    cumulants,
    tilt_for_delta,
    tilt_for_epsilon,
)


def pld(step: float, first: int, masses: list[float], infinite: float = 0.0) -> PLD:
    return PLD(step, first + np.arange(len(masses)), np.array(masses), infinite)


SKEWED = pld(0.25, -2, [0.3, 0.25, 0.2, 0.15, 0.0625, 0.03, 0.0075])
SYMMETRIC = pld(0.25, -1, [0.25, 0.5, 0.25])
FAR = PLD(0.25, np.array([-40, 0, 40]), np.array([1e-12, 1 - 2e-12, 1e-12]), 0.0)
LEAKY = pld(0.25, -1, [0.3, 0.4, 0.2], 0.1)


@pytest.mark.parametrize(
    "parts",
    [
        [(SKEWED, 1)],
        [(SKEWED, 9)],
        [(SYMMETRIC, 30)],
        [(SKEWED, 4), (SYMMETRIC, 7)],
        [(FAR, 3), (SYMMETRIC, 12)],
        [(LEAKY, 3), (SKEWED, 2)],
    ],
)
def test_delta_against_rational_convolution(parts: CountedPLDs) -> None:
    top = sum(count * float(pld.losses[-1]) for pld, count in parts)
    for epsilon in (0.0, 0.1, 0.25, 0.6 * top, 0.9 * top, top - 0.01):
        exact = delta_of_losses(parts, epsilon)
        total = TiltedSum(parts, tilt_for_epsilon(parts, epsilon))
        low, high = total.delta(epsilon, Side.LOWER), total.delta(epsilon, Side.UPPER)
        assert low <= exact <= high
        assert high - low <= 1e-9 * exact


@pytest.mark.parametrize("scale", [1.0, 300.0, 2000.0])
@pytest.mark.parametrize("parts", [[(SKEWED, 9)], [(LEAKY, 3), (FAR, 2)], [(SYMMETRIC, 300)]])
def test_many_epsilons_at_once(parts: CountedPLDs, scale: float) -> None:
    """With steps far below 1, and with longer ones than running sums have factors for."""
    scaled = [(replace(pld, step=pld.step * scale), count) for pld, count in parts]
    epsilon = scale * np.array([0.0, 0.1, 0.25, 1.3, 2.0, 3.5, 7.0, 20.5, 100.0])
    deltas = [delta_of_losses(scaled, e) for e in epsilon.tolist()]
    for tilt in (0.0, 1.0, 4.0):
        total = TiltedSum(scaled, tilt / scale)
        low, high = (total.deltas(epsilon, side) for side in (Side.LOWER, Side.UPPER))
        for least, exact, most in zip(low, deltas, high, strict=True):
            assert least <= exact <= most
    for e, exact in zip(epsilon.tolist(), deltas, strict=True):
        centred = TiltedSum(scaled, tilt_for_epsilon(scaled, e))
        least, most = (centred.delta(e, side) for side in (Side.LOWER, Side.UPPER))
        assert least <= exact <= most
        assert most - least <= 1e-9 * exact + 1e-290


@pytest.mark.parametrize("tilt", [0.0, 0.5, 3.0, 40.0])
def test_any_tilt_gives_valid_bounds(tilt: float) -> None:
    parts = [(SKEWED, 6), (SYMMETRIC, 3)]
    total = TiltedSum(parts, tilt)
    for epsilon in (0.0, 0.3, 1.0, 3.0, 6.0):
        exact = delta_of_losses(parts, epsilon)
        assert total.delta(epsilon, Side.LOWER) <= exact <= total.delta(epsilon, Side.UPPER)


def test_aliasing_is_charged() -> None:
    """With enough rounds the window is far shorter than the support, and everything folds."""
    coin = PLD(1.0, np.array([-1, 1]), np.array([0.5, 0.5]), 0.0)
    parts = [(coin, 2000)]
    total = TiltedSum(parts, 0.0)
    assert len(total._losses) < 2000
    for epsilon in (0.0, 70.0, 180.0):
        tail = (
            sum(
                math.comb(2000, j) * -mpmath.expm1(epsilon - (2 * j - 2000))
                for j in range(1000, 2001)
                if 2 * j - 2000 > epsilon
            )
            / mpmath.mpf(2) ** 2000
        )
        total = TiltedSum(parts, tilt_for_epsilon(parts, epsilon))
        low, high = total.delta(epsilon, Side.LOWER), total.delta(epsilon, Side.UPPER)
        assert low <= tail <= high
        assert high - low <= 1e-8 * tail


def test_a_far_loss_of_next_to_no_mass_moves_no_window() -> None:
    """Below the centre the window is bounded by tilts at which e^(tilt * loss) is beyond a double.

    Relative to it, all other masses underflowed, and the window began above the centre.
    """
    near = pld(2.0**-12, -200, [1 / 512] * 401)
    far = PLD(near.step, np.append(-80_000, near.index), np.append(5e-324, near.masses), 0.0)
    epsilon = 0.3
    delta = delta_of_losses([(near, 40)], epsilon)
    for tilt in np.geomspace(0.5, 30.0, 12).tolist():
        total = TiltedSum([(far, 40)], tilt)
        assert total.delta(epsilon, Side.LOWER) <= delta <= total.delta(epsilon, Side.UPPER)


def test_infinite_mass_counts_every_round() -> None:
    leaky = PLD(1.0, np.array([0]), np.array([0.9]), 0.1)
    delta = TiltedSum([(leaky, 5)], 0.0).delta(3.0, Side.UPPER)
    assert delta == pytest.approx(1 - 0.9**5, rel=1e-12)
    assert delta >= 1 - Fraction(9, 10) ** 5 - Fraction(1, 10**15)


def test_tilt_for_delta_lands_near_the_root() -> None:
    parts = [(SKEWED, 50)]
    for delta in (1e-3, 1e-10, 1e-25):
        tilt = tilt_for_delta(parts, delta)
        high = TiltedSum(parts, tilt).delta(cumulants(parts, tilt).mean, Side.UPPER)
        assert abs(math.log(high / delta)) < 0.1 * -math.log(delta)


def test_round_up_is_on_the_ladder() -> None:
    for size in [*range(1, 300), 12345, 2**20 + 1]:
        rounded = fast_length(size)
        assert size <= rounded <= 1.25 * size + 1
        assert rounded < 8 or rounded // (rounded & -rounded) in (1, 3, 5, 7)
