"""Both polygons of a discretized profile against the exact profile, between the lattice points."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import oracles
from covering import covering
from shuffledp import Accountant, Gaussian, Shuffle
from shuffledp._support.numeric import Array
from shuffledp.composition.pld import PLD, Sampled, lower_pld, upper_pld
from shuffledp.laws.class_law import clone_pair, stronger_clones
from shuffledp.profiles.base import Samples
from shuffledp.profiles.class_profile import ClassSampler, LawTable


def discretize(users: int, eps0: float, top: float, divisions: int) -> tuple[PLD, PLD]:
    law = stronger_clones(eps0)
    step = top / divisions
    index = np.arange(divisions + 1)
    epsilon = step * index.astype(float)
    epsilon[-1] = top
    samples = ClassSampler(LawTable(law.laws, users), 1e-9, depth=100.0)(epsilon)
    return upper_pld(step, Sampled(index, samples)), lower_pld(step, Sampled(index, samples))


def profile_of(pld: PLD, epsilon: float) -> mpmath.mpf:
    """Hockey stick of the PLD's pair in many digits; the symmetry makes negative losses matter."""
    terms = [
        mpmath.mpf(float(mass)) * (1 - mpmath.exp(mpmath.mpf(epsilon) - loss))
        for mass, loss in zip(pld.masses, pld.losses.tolist(), strict=True)
        if loss > epsilon
    ]
    return mpmath.fsum(terms) + pld.infinite


@pytest.mark.parametrize(
    ("round_", "part", "divisions"),
    covering(
        [(1, 1.0), (2, 2.0), (15, 3.0), (40, 6.0)],
        [1.0, 0.6],
        [1, 2, 5, 30],
        every=4,
    ),
)
def test_polygons_enclose_the_exact_profile(
    round_: tuple[int, float], part: float, divisions: int
) -> None:
    """At, around and between all lattice points, for losses of both signs."""
    users, eps0 = round_
    upper, lower = discretize(users, eps0, part * eps0, divisions)
    grid = np.linspace(0, part * eps0, divisions + 1).tolist()
    points = [a + w * (b - a) for a, b in pairwise(grid) for w in (0, 0.02, 0.5, 0.97)]
    for epsilon in [-0.5 * eps0, -1e-3, *points, 1.1 * eps0]:
        exact = oracles.clone_profile(users, eps0, epsilon, "stronger-clones")
        assert profile_of(lower, epsilon) <= exact
        # at a corner the polygon touches the profile: leave an ulp to the evaluation point
        assert exact <= profile_of(upper, epsilon - 1e-14)


def test_masses_are_probabilities_up_to_directed_rounding() -> None:
    upper, lower = discretize(60, 1.0, 1.0, 64)
    assert 1 <= upper.masses.sum() + upper.infinite <= 1 + 1e-9
    assert 1 - 1e-9 <= lower.masses.sum() <= 1
    assert (upper.masses > 0).all()
    assert (lower.masses > 0).all()


def test_the_error_is_of_second_order_on_both_sides() -> None:
    """Halving the step makes the bracket of the mean square loss about four times narrower."""
    gaps = []
    for divisions in (64, 128, 256):
        upper, lower = discretize(5000, 1.0, 0.2, divisions)
        gaps.append(upper.masses @ upper.losses**2 - lower.masses @ lower.losses**2)
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.15)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.15)


def test_what_is_beyond_the_lattice_becomes_infinite_loss_above_and_nothing_below() -> None:
    upper, lower = discretize(15, 3.0, 1.0, 16)
    exact = oracles.clone_profile(15, 3.0, 1.0, "stronger-clones")
    assert upper.infinite == pytest.approx(float(exact), rel=1e-6)
    assert upper.infinite >= exact
    assert lower.infinite == 0


def test_infinite_loss_of_the_strong_adversary_on_both_sides() -> None:
    """A profile that ends flat: polygons stay on their sides and keep the infinite mass."""
    gamma, users = Fraction(1, 2), 4
    atoms = oracles.atoms_of_pair(oracles.strong_pair(3, gamma, users))
    law = clone_pair(math.inf, 1 / 3, 0.5)
    step, index = math.log(5) / 40, np.arange(41)
    sampler = ClassSampler(LawTable(law.laws, users), 1e-9, depth=100.0)
    samples = sampler(step * index.astype(float))
    sampled = Sampled(index, samples, flat=True)
    upper, lower = upper_pld(step, sampled), lower_pld(step, sampled)
    for epsilon in np.linspace(0, 2, 60).tolist():
        exact = oracles.delta_of_atoms(atoms, epsilon)
        assert profile_of(lower, epsilon) <= exact
        assert exact <= profile_of(upper, epsilon - 1e-14)
    assert lower.infinite == pytest.approx(upper.infinite, rel=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-3])
def test_without_slopes_wide_samples_still_enclose_the_exact_profile(noise: float) -> None:
    """Chords of any span bound the slopes, however wide the brackets of the samples are."""
    users, eps0, divisions = 15, 3.0, 40
    step, index = eps0 / divisions, np.arange(divisions + 1)
    exact = [
        oracles.clone_profile(users, eps0, e, "stronger-clones") for e in (step * index).tolist()
    ]
    exact[-1] = mpmath.mpf(0)
    values = np.array([float(x) for x in exact])
    draw = np.random.default_rng(1)
    lower = values * (1 - noise * draw.random(len(values)) - 2e-16)
    upper = values * (1 + noise * draw.random(len(values)) + 2e-16)
    pld = lower_pld(step, Sampled(index, Samples.without_falls(lower, upper)))
    for epsilon in np.linspace(0, eps0, 173).tolist():
        truth = oracles.clone_profile(users, eps0, epsilon, "stronger-clones")
        assert profile_of(pld, epsilon) <= truth


def test_a_straight_profile_keeps_its_largest_loss_although_its_samples_are_wide() -> None:
    """Randomized response of one user: f = (E - alpha)/(E + 1), all of the mass at eps0."""
    eps0, divisions, noise = 5.0, 100, 1e-3
    step, index = eps0 / divisions, np.arange(divisions + 1)
    alpha = np.exp(step * index)
    values = np.maximum((math.exp(eps0) - alpha) / (math.exp(eps0) + 1), 0.0)
    values[-1] = 0.0
    lower, upper = values * (1 - noise), values * (1 + noise)
    slope = np.where(index == divisions, 1 / (math.exp(eps0) + 1) * (1 - 1e-12), 0.0)
    unknown = np.full(len(slope), np.inf)
    pld = lower_pld(step, Sampled(index, Samples(lower, upper, slope, unknown)))
    assert pld.masses @ pld.losses >= (1 - 2 * noise) * eps0 * math.tanh(eps0 / 2)


def test_a_sample_that_nothing_is_known_of_does_not_become_infinite_loss() -> None:
    """A profile falls: what is known of it at one epsilon holds at all larger ones."""
    index = np.arange(4)
    known = Samples.without_falls(np.zeros(4), np.array([0.5, 1e-3, 1e-9, 1.0]))
    assert upper_pld(1.0, Sampled(index, known)).infinite == 1e-9


def test_little_noise_in_several_rounds_has_an_upper_bound() -> None:
    """The last sample, far in the tail of 10^5 users, was not resolved: infinite was all."""
    accountant = Accountant().compose(Shuffle(Gaussian(0.3), 100_000), 10)
    assert accountant.get_epsilon(1e-8, rtol=0.01) <= 1.01 * 20.22


def test_a_kink_next_to_the_end_of_a_cell_costs_next_to_nothing_from_below() -> None:
    """The line behind it, drawn on to the cell's other end, is far below the profile there."""
    losses, middle = np.array([-1.0, -0.3, 0.1005, 1.25]), np.array([0.25, 0.35])
    ends = np.array([[1.0, 1.0], np.exp(losses[[0, 3]])])
    low, high = np.linalg.solve(ends, [1 - middle.sum(), 1 - middle @ np.exp(losses[1:3])])
    q = np.array([low, *middle, high])
    p, step = q * np.exp(losses), 2.0**-10

    def sampled(first: Array, second: Array) -> Sampled:
        kinks = np.log(first / second)
        last = round(kinks.max() / step)
        near = (math.floor(kink / step) + i for kink in kinks[kinks > 0] for i in (1, 2))
        index = np.array(sorted({0, *(i for i in near if i < last), last}), dtype=np.int64)
        gains = first - np.exp(step * index)[:, None] * second
        value = np.maximum(gains, 0.0).sum(axis=1) * (index < last)
        slope = np.where(gains > -1e-12, second, 0.0).sum(axis=1)
        return Sampled(index, Samples(value * (1 - 1e-13), value * (1 + 1e-13), slope, slope))

    pld = lower_pld(step, sampled(p, q), sampled(q, p))
    kept = float(pld.masses @ np.maximum(-np.expm1(-pld.losses), 0.0))
    exact = float(np.maximum(p - q, 0.0).sum())
    assert 0.999 * exact <= kept <= exact


@pytest.mark.parametrize("seed", range(4))
def test_rounding_between_many_corners_adds_no_mass(seed: int) -> None:
    """A loss of log 3 with mass 9/16, or of -log 3, or 0: a straight profile, whose samples are
    known to a few units. Corners that rounding bends downwards must not count as straight."""
    rng, top = np.random.default_rng(seed), 1 << 17
    step = math.log(3) / top * (1 + 2**-46)
    index = np.unique(np.concatenate([[0, 1, top - 1, top], rng.integers(110_000, top - 1, 400)]))
    with mpmath.workdps(40):
        exact = [max(9 - 3 * mpmath.exp(mpmath.mpf(step) * int(i)), 0) / 16 for i in index]
        value = np.array([float(one) for one in exact])
        slope = np.where(index > 0, 3 / 16, 7 / 16) * (1 - 1e-13)
        lower = np.maximum(value - 2e-15, 0.0)
        high = np.append((slope * (1 + 2e-13))[:-1], 1.0)
        samples = Samples(lower, value * (1 + 5e-14), slope, high)
        pld = lower_pld(step, Sampled(index, samples))
        for epsilon, delta in zip((step * index).tolist(), exact, strict=True):
            found = mpmath.fsum(
                mpmath.mpf(mass) * -mpmath.expm1(epsilon - mpmath.mpf(step) * int(place))
                for place, mass in zip(pld.index, pld.masses.tolist(), strict=True)
                if step * place > epsilon
            )
            assert found <= delta + 1e-15  # losses are rounded, which their sum is charged with
