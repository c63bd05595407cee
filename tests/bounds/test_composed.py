"""How lattices of a composition are made finer."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from shuffledp import Accountant, FiniteRandomizer, Gaussian, Laplace, PureLDP, Shuffle
from shuffledp.bounds import composed
from shuffledp.central import GaussianNoise
from shuffledp.composition.compose import Composition
from shuffledp.guarantee import best_effort
from shuffledp.mechanisms import ApproximateDP
from shuffledp.profiles.base import merged
from shuffledp.randomizers import NoisyHistogram, Randomizer


def test_expensive_lattices_have_a_finest_one() -> None:
    quick, expensive = (
        Composition([(Shuffle(randomizer, 100).profile, 2)])
        for randomizer in (PureLDP(1.0), Laplace(1.0))
    )
    assert quick.finest(1e-9) == math.inf
    assert expensive.finest(1e-9) == 1
    assert expensive.finest(1e-3) > 2


def test_a_delta_far_below_what_outlines_tell_is_looked_for_deeper() -> None:
    """It was said to be at most 1e-36 before, after refinements in vain."""
    accountant = Accountant().compose(Shuffle(Gaussian(0.8), 1000), 4)
    lower, upper = best_effort(accountant.delta_bounds, 30.0, rtol=0.5)
    assert 0 < lower < upper < 1e-90
    # 30 is 7.5 in each of four rounds: the union bound of what each may have
    assert lower <= 4 * Shuffle(Gaussian(0.8), 1000).get_delta(7.5)


def test_looking_elsewhere_is_no_refinement_in_vain() -> None:
    """The second lattice of these rounds is for another delta, and as wide as the first."""
    noise = NoisyHistogram(poisson=4.08)
    survey = Shuffle(noise, 3969040, sample_rate=314348 / 3969040)
    lower, upper = Accountant().compose(survey, 10).delta_bounds(0.000638)
    assert 0 < lower <= upper < 1.01 * lower


@pytest.mark.parametrize(("randomizer", "many"), [(PureLDP(4.0), 5), (Laplace(2.0), 3)], ids=repr)
def test_a_curve_is_answered_from_shared_lattices(randomizer: Randomizer, many: int) -> None:
    deltas = np.geomspace(1e-12, 1e-4, many)
    rounds = merged([(Shuffle(randomizer, 10_000).profile, 4)])
    curve, each = Composition(rounds), Composition(rounds)
    ends = float(deltas.min()), float(deltas.max())
    for delta in deltas.tolist():
        shared = composed.epsilon_bounds(curve, delta, 1e-3, curve=ends)
        alone = composed.epsilon_bounds(each, delta, 1e-3)
        assert max(shared.lower, alone.lower) <= min(shared.upper, alone.upper)
        assert shared.upper - shared.lower <= 1e-3 * shared.upper
    at_epsilon = composed.delta_bounds(curve, shared.upper, 1e-3, curve=(0.1, 1.0))
    assert at_epsilon.lower <= delta
    assert len(curve.cached) < len(each.cached)


def test_a_curve_of_which_little_is_known_before() -> None:
    """Rough estimates of log(1/delta) need not grow with epsilon: here they fall."""
    rows = [[F(1), F(0)], [F(15, 16), F(1, 16)]]
    alone = Shuffle(FiniteRandomizer([[float(p) for p in row] for row in rows]), 1, messages=2)
    laws = [[a * b for a in row for b in row] for row in rows]
    epsilons = [0.0, 0.01, 0.05, 0.1, 2.0]
    for epsilon, upper in zip(epsilons, alone.get_delta(epsilons).tolist(), strict=True):
        alpha = F(math.exp(epsilon))
        truth = max(
            sum(max(p - alpha * q, F(0)) for p, q in zip(*pair, strict=True))
            for pair in (laws, laws[::-1])
        )
        assert truth <= F(upper) <= truth * F(1001, 1000) + F(1, 10**12)


def test_arrays_are_answered_like_their_elements() -> None:
    accountant = Accountant().compose(Shuffle(PureLDP(4.0), 10_000), 4)
    deltas = np.array([[0.0, 1.0], [1e-6, 1e-9]])
    lower, upper = accountant.epsilon_bounds(deltas)
    for i, j in np.ndindex(deltas.shape):
        alone = accountant.epsilon_bounds(float(deltas[i, j]))
        assert lower[i, j] <= alone.upper
        assert alone.lower <= upper[i, j]
    assert accountant.get_epsilon([]).shape == (0,)


@pytest.mark.parametrize("rounds", [10, 100])
def test_finite_losses_beyond_the_largest_supported_are_not_infinite(rounds: int) -> None:
    """One loss is 1000, give or take 45, of which all beyond 600 counts as infinite from above."""
    noise = Accountant().compose(GaussianNoise(0.0224)).compose(ApproximateDP(70.0), rounds)
    assert best_effort(noise.delta_bounds, 1e6, rtol=0.05).lower == 0
    lower, upper = best_effort(noise.epsilon_bounds, 1e-20, rtol=0.05)
    assert lower <= 70 * rounds + 1000 + 45 * 10
    assert upper == math.inf
