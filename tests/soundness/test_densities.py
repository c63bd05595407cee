"""Gaussian and Laplace noise so small that few users hardly hide each other, against lattices."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import cycle

import numpy as np
import pytest

from oracles.densities import Ratio, attained, blanket, gaussian_ratio, laplace_ratio
from shuffledp import Gaussian, Laplace, Shuffle, tuning
from shuffledp._support.numeric import UNIT, Array
from shuffledp.laws.density_law import DensityLaw, Tails
from shuffledp.profiles.parts import round_profile
from shuffledp.randomizers import DensityRandomizer

NOISE: list[tuple[DensityRandomizer, Ratio]] = [
    (Gaussian(0.15), gaussian_ratio(0.15)),
    (Laplace(9.0), laplace_ratio(9.0)),
    (Gaussian(0.5), gaussian_ratio(0.5)),
]
NAMES = [repr(randomizer) for randomizer, _ in NOISE]


def named(value: object) -> str:
    """The randomizer of a pair in NOISE, or a number of users."""
    return repr(value[0] if isinstance(value, tuple) else value)


ACCURATE = 1e-6  # relative error of the references


@pytest.mark.parametrize(("randomizer", "ratio"), NOISE, ids=NAMES)
def test_both_orders_of_attained_profiles_enclose_the_truth(
    randomizer: DensityRandomizer, ratio: Ratio
) -> None:
    """Coarse cells too: bounds of refinements are combined, so that each must hold by itself."""
    for users, epsilon in ((2, 0.0), (3, 0.0), (7, 1.0), (20, 3.0)):
        truths = attained(ratio, users, epsilon)
        for width in (0.02, 1e-5):
            profile = round_profile(randomizer.attained_law(), users)
            samples = profile.sampler(25.0, width)(np.array([epsilon]))
            assert samples.lower[0] <= max(truths) * (1 + ACCURATE)
            assert max(truths) * (1 - ACCURATE) <= samples.upper[0]


@pytest.mark.parametrize(
    ("users", "noise"), list(zip(cycle([3, 20]), NOISE, strict=False)), ids=named
)
def test_attained_values_reach_the_truth(
    users: int, noise: tuple[DensityRandomizer, Ratio]
) -> None:
    randomizer, ratio = noise
    round_ = Shuffle(randomizer, users)
    for epsilon in (0.0, 3.0):
        truth = max(attained(ratio, users, epsilon))
        assert (1 - 5e-4) * truth <= round_.attained_delta(epsilon) <= truth * (1 + ACCURATE)
    # delta is 1e-7 away from the truth, and so is epsilon times its slope
    slope = truth - max(attained(ratio, users, epsilon + 1e-3))
    found = round_.attained_epsilon(truth)
    assert epsilon * (1 - 5e-3) <= found <= epsilon + 1e-3 * ACCURATE * truth / slope + 1e-9


@pytest.mark.parametrize(
    ("users", "noise"), list(zip(cycle([3, 2]), NOISE, strict=False)), ids=named
)
def test_analyzed_pairs_are_answered(users: int, noise: tuple[DensityRandomizer, Ratio]) -> None:
    """At the usual width, and on both sides of the truth. Merged cells are below it, by a share
    that goes with the square of their width."""
    randomizer, ratio = noise
    end = min(randomizer.max_loss, 50.0 if users == 2 else 45.0)
    for epsilon in (0.0, 1.0):
        coarse, fine = (blanket(ratio, users, epsilon, end, nodes) for nodes in (250, 500))
        truth = fine + (fine - coarse) / 3
        lower, upper = Shuffle(randomizer, users).delta_bounds(epsilon)
        assert fine <= upper <= truth * (1 + 1e-3)
        assert truth * (1 - 1e-3) <= lower <= truth * (1 + 1e-5)


def test_epsilon_where_one_message_stands_out() -> None:
    """Attained datasets have delta at an epsilon just there, which no upper bound is below."""
    users = 20
    round_, ratio, delta = Shuffle(Gaussian(0.3), users), gaussian_ratio(0.3), 1e-2
    found = round_.attained_epsilon(delta)
    assert max(attained(ratio, users, found * (1 - 1e-4))) >= delta
    assert max(attained(ratio, users, found * (1 + 1e-3))) <= delta
    assert max(attained(ratio, users, round_.epsilon_bounds(delta).upper)) <= delta


class TwoLosses:
    """Losses just above 0 and, for input 1 a hundred times as likely, just below 60, and a few of
    60."""

    max_loss = 60.0

    def tails(self, loss: Array) -> Tails:
        losses, ones = np.array([2.0**-40, 60 - 2.0**-47, 60.0]), np.array([1.0, 100.0, 1e-6])
        ones /= ones @ (1 + np.exp(losses))
        beyond = loss[:, None] <= losses
        one, zero = (np.sum(beyond * part, axis=1) for part in (ones, ones * np.exp(losses)))
        return Tails(zero, one, 1 - zero, np.full(len(loss), 4 * UNIT))


def test_one_wide_cell_is_split_outwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the outputs whose loss is negative, E[(c - r)_+] with the ratios r of a law above is no
    smaller than what the cell's near end alone counts, up to the error of the masses."""
    monkeypatch.setattr(tuning, "MOST_CELLS", 1.0)
    density = TwoLosses()
    law = DensityLaw(density)
    (above,) = law.enclosed(law.cells(0.1, 25.0, 2), 2).above.laws
    rows = [row for row in zip(above.u, above.v, above.blanket, strict=True) if row[0] == row[2]]
    level = Fraction(math.exp(40.0))
    found = sum(
        (max(level * Fraction(w) - Fraction(v), Fraction(0)) for _, v, w in rows), Fraction(0)
    )
    tails = density.tails(np.array([0.0, 1.0]))
    near = Fraction(float(tails.one[0])) - Fraction(float(tails.one[1]))
    exact = near * (level - Fraction(math.exp(2.0**-40)))
    assert exact <= found * (1 + Fraction(above.mass_error))
