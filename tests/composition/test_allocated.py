"""Random allocation against exact enumeration, quadrature, Monte Carlo and published figures."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from oracles import randomizers as written
from shuffledp import Accountant, Gaussian, RandomAllocation, ShuffledBatches
from shuffledp.bounds.certified_rounds import OneOrder
from shuffledp.central import GaussianNoise, LaplaceNoise
from shuffledp.composition.allocated import allocated
from shuffledp.guarantee import best_effort
from shuffledp.laws.density_law import DensityLaw
from shuffledp.mechanisms import ApproximateDP, GivenPLD, GivenProfile
from shuffledp.profiles.base import PairProfile, merged, swapped
from shuffledp.profiles.class_profile import DensityProfile
from shuffledp.profiles.closed_form import GaussianProfile

F = Fraction
#: P- and Q-masses of the outcomes of one step.
StepPair = list[tuple[Fraction, Fraction]]
EPSILONS = (0.0, 0.5, 2.0)
PAIRS: dict[str, StepPair] = {
    "two outcomes": [(F(3, 4), F(1, 3)), (F(1, 4), F(2, 3))],
    "three outcomes": [(F(1, 2), F(1, 10)), (F(3, 10), F(3, 10)), (F(1, 5), F(3, 5))],
    "P alone": [(F(1, 10), F(0)), (F(2, 5), F(1, 2)), (F(1, 2), F(1, 2))],
    "Q alone": [(F(0), F(1, 5)), (F(2, 3), F(2, 5)), (F(1, 3), F(2, 5))],
    "both alone": [(F(1, 50), F(0)), (F(0), F(1, 10)), (F(49, 50), F(9, 10))],
    "rare": [(F(1, 1000), F(1, 10**6)), (F(999, 1000), F(999_999, 10**6))],
}


def given(pair: StepPair) -> GivenPLD:
    """The pair as a mechanism: its losses and P-masses, and the P-mass that Q excludes."""
    both = [(p, q) for p, q in pair if p and q]
    losses = [math.log(p / q) for p, q in both]
    infinite = float(sum(p for p, q in pair if not q))
    return GivenPLD(losses, [float(p) for p, _ in both], infinite, neighbours="remove")


def divergences(joint: StepPair, epsilon: float) -> tuple[float, float]:
    """H(P||Q) and H(Q||P)."""
    alpha = written.exact_exp(epsilon)
    there = sum((max(p - alpha * q, F(0)) for p, q in joint), F(0))
    missing = sum((max(q - alpha * p, F(0)) for p, q in joint), F(0))
    return float(there), float(missing)


def transcripts(pair: StepPair, subsets: list[tuple[int, ...]], steps: int) -> StepPair:
    """All outcomes of the steps, P if the value takes part in one of these subsets of them."""
    found = []
    for outcome in product(pair, repeat=steps):
        q = math.prod((each[1] for each in outcome), start=F(1))
        p = sum(
            math.prod(outcome[i][0] if i in chosen else outcome[i][1] for i in range(steps))
            for chosen in subsets
        )
        found.append((F(p) / len(subsets), q))
    return found


def orders(mechanism: RandomAllocation) -> list[OneOrder]:
    parts = mechanism.parts
    return [OneOrder(each) for each in (merged(parts), swapped(parts))]


def examine(mechanism: RandomAllocation, joint: StepPair, *, exact: bool) -> None:
    """lower <= truth <= upper in both orders; the truth is in the bracket if that is exact."""
    both = orders(mechanism)
    for epsilon in EPSILONS if exact else EPSILONS[1:2]:
        for rounds, truth in zip(both, divergences(joint, epsilon), strict=True):
            lower, upper = best_effort(rounds.delta_bounds, epsilon, 1e-3)
            assert truth <= upper * (1 + 1e-12) + 1e-15
            if exact:
                assert lower <= truth * (1 + 1e-12)
                assert lower >= 0.99 * truth - 1e-12


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_one_step_of_several(name: str, steps: int) -> None:
    pair = PAIRS[name]
    joint = transcripts(pair, [(i,) for i in range(steps)], steps)
    examine(RandomAllocation(steps=steps, mechanism=given(pair)), joint, exact=True)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("steps", "completed"), [(2, 1), (4, 3), (5, 2)])
def test_a_run_that_stops_early(name: str, steps: int, completed: int) -> None:
    pair = PAIRS[name]
    joint = transcripts(pair, [(i,) if i < completed else () for i in range(steps)], completed)
    stopped = RandomAllocation(steps=steps, mechanism=given(pair), completed=completed)
    examine(stopped, joint, exact=True)


@pytest.mark.parametrize(
    ("name", "steps", "selected"),
    [("two outcomes", 2, 2), ("two outcomes", 5, 3), ("both alone", 2, 2), ("both alone", 3, 2)],
)
def test_several_steps_of_each_example(name: str, steps: int, selected: int) -> None:
    pair = PAIRS[name]
    joint = transcripts(pair, list(combinations(range(steps), selected)), steps)
    blocks = RandomAllocation(steps=steps, selected=selected, mechanism=given(pair))
    examine(blocks, joint, exact=selected == steps)


@pytest.mark.parametrize("steps", [3, 5])
def test_every_number_of_selected_steps(steps: int) -> None:
    """At one epsilon, roughly: the bound is never below the truth of a uniform subset."""
    pair, epsilon = PAIRS["two outcomes"], 0.3
    for selected in range(1, steps + 1):
        joint = transcripts(pair, list(combinations(range(steps), selected)), steps)
        blocks = RandomAllocation(steps=steps, selected=selected, mechanism=given(pair))
        for rounds, truth in zip(orders(blocks), divergences(joint, epsilon), strict=True):
            assert truth <= best_effort(rounds.delta_bounds, epsilon, 0.05).upper * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_steps_that_depend_on_earlier_ones(seed: int) -> None:
    """A later step applies a kernel that depends on all results so far, not on the allocation."""
    rng, pair, steps = random.Random(seed), PAIRS["three outcomes"], 3
    kernels: dict[tuple[int, ...], list[list[Fraction]]] = {}

    def kernel(history: tuple[int, ...]) -> list[list[Fraction]]:
        if history not in kernels:
            rows = [[F(rng.randint(0, 4)) + F(1, 8) for _ in range(2)] for _ in pair]
            kernels[history] = [[x / sum(row) for x in row] for row in rows]
        return kernels[history]

    joint = []
    for outcome in product(range(2), repeat=steps):
        laws = []
        for i, result in enumerate(outcome):
            rows = kernel(outcome[:i])
            laws.append(
                tuple(
                    sum((mass[side] * row[result] for mass, row in zip(pair, rows, strict=True)))
                    for side in (0, 1)
                )
            )
        q = math.prod(law[1] for law in laws)
        p = sum(math.prod(law[int(i != j)] for j, law in enumerate(laws)) for i in range(steps))
        joint.append((F(p) / steps, F(q)))
    examine(RandomAllocation(steps=steps, mechanism=given(pair)), joint, exact=False)


@pytest.mark.parametrize("delta", [0.0, 0.03])
def test_guarantees_are_those_of_their_worst_pair(delta: float) -> None:
    """An (epsilon, delta) guarantee is attained by four outcomes; so is a list of one."""
    grown, d = F(3, 2), F(delta)
    usual = (1 - d) / (1 + grown)
    pair = [(d, F(0)), (F(0), d), (usual * grown, usual), (usual, usual * grown)]
    joint = transcripts(pair, [(i,) for i in range(3)], 3)
    epsilon = math.log(1.5)
    for inner in (
        ApproximateDP(epsilon, delta, neighbours="remove"),
        GivenProfile([epsilon], [delta], neighbours="remove"),
    ):
        both = orders(RandomAllocation(steps=3, mechanism=inner))
        for at in EPSILONS:
            for rounds, truth in zip(both, divergences(joint, at), strict=True):
                lower, upper = best_effort(rounds.delta_bounds, at, 1e-3)
                assert lower * (1 - 1e-9) <= truth <= upper * (1 + 1e-9) + 1e-15
                assert lower >= 0.99 * truth - 1e-12


def gaussian_truth(sigma: float, steps: int, epsilon: float) -> tuple[float, float]:
    """Both orders by quadrature: the last step in closed form, the others by trapezoids.

    The integrand is analytic, so that trapezoids converge faster than any power of their width.
    """
    y = np.linspace(-9.0, 9.0 + 2 / sigma, 2001 if steps == 2 else 321)
    weight = np.exp(-(y**2) / 2) / math.sqrt(2 * math.pi) * (y[1] - y[0])
    ratio = np.exp(y / sigma - 1 / (2 * sigma**2))
    rest, mass = np.zeros(1), np.ones(1)
    for _ in range(steps - 1):
        rest = (rest[:, None] + ratio[None, :]).ravel()
        mass = (mass[:, None] * weight[None, :]).ravel()
    alpha = math.exp(epsilon)

    def normal(x: np.ndarray) -> np.ndarray:
        return np.array([math.erfc(-value / math.sqrt(2)) / 2 for value in x.tolist()])

    def call(strike: np.ndarray) -> np.ndarray:
        """E[(L - strike)_+] of one ratio L."""
        k = np.maximum(strike, 1e-300)
        d = -sigma * np.log(k) - 1 / (2 * sigma)
        inside = normal(d + 1 / sigma) - k * normal(d)
        return np.where(strike > 0, inside, 1 - strike)

    there = float(mass @ call(steps * alpha - rest)) / steps
    strike = steps / alpha - rest
    missing = alpha * float(mass @ (call(strike) - (1 - strike))) / steps
    return there, missing


@pytest.mark.parametrize(
    ("sigma", "steps"), [(0.4, 1), (0.4, 2), (0.9, 3), (1.0, 1), (1.0, 2), (3.0, 2), (3.0, 3)]
)
def test_gaussian_steps_against_quadrature(sigma: float, steps: int) -> None:
    both = orders(RandomAllocation(sigma, steps))
    for epsilon in (0.0, 0.2, 0.7 / sigma):
        truths = gaussian_truth(sigma, steps, epsilon)
        for rounds, truth in zip(both, truths, strict=True):
            lower, upper = rounds.delta_bounds(epsilon, 1e-4)
            assert lower * (1 - 1e-7) - 1e-13 <= truth <= upper * (1 + 1e-7) + 1e-13
            assert upper <= 1.01 * truth + 1e-12


@pytest.mark.parametrize(
    ("sigma", "steps", "epsilon"),
    [(0.3, 10, 4.0), (0.5, 100, 1.0), (0.7, 1000, 0.02), (1.0, 2000, 0.0), (5.0, 10, 0.02)],
)
def test_gaussian_steps_against_samples(sigma: float, steps: int, epsilon: float) -> None:
    """delta is the mean of (1 - alpha/mean ratio)_+ with the example there, in [0, 1]."""
    rng, number = np.random.default_rng(steps), max(2_000_000 // steps, 1000)
    draws = rng.standard_normal((number, steps))
    draws[:, 0] += 1 / sigma
    ratio = np.mean(np.exp(draws / sigma - 1 / (2 * sigma**2)), axis=1)
    seen = np.maximum(1 - math.exp(epsilon) / ratio, 0.0)
    lower, upper = orders(RandomAllocation(sigma, steps))[0].delta_bounds(epsilon, 1e-3)
    margin = 6 * float(seen.std()) / math.sqrt(number)
    assert lower - margin <= seen.mean() <= upper + margin
    assert margin < 0.3 * upper  # or the comparison would say nothing


@pytest.mark.parametrize(("sigma", "steps", "epochs"), [(0.5, 1000, 1), (1.0, 100, 1), (2.0, 8, 1)])
def test_lattices_of_losses_agree_with_cells_of_outputs(
    sigma: float, steps: int, epochs: int
) -> None:
    """The shuffled Gaussian whose other users all hold 0 is the same pair, by another way."""
    law = DensityLaw(Gaussian(sigma), attained=True)
    by_cells = PairProfile(
        *(DensityProfile(DensityLaw(law.density, True, order=order), steps) for order in (1, 0))
    )
    by_losses = allocated(GaussianProfile(1 / sigma), steps)
    for a, b in ((by_cells, by_losses), (by_cells.swapped, by_losses.swapped)):
        first, second = (OneOrder([(pair, epochs)]).epsilon_bounds(1e-6, 0.02) for pair in (a, b))
        assert first.lower <= second.upper
        assert second.lower <= first.upper


@pytest.mark.parametrize(
    ("steps", "sigma", "epochs", "delta", "there", "missing"),
    [
        (1000, 1.0, 1, 1e-6, 0.17173, 0.14943),
        (1000, 1.0, 10, 1e-6, 0.54005, 0.52218),
        (500, 0.834432, 10, 1e-5, 1.01552, 0.89918),
        (64, 2.0, 1, 1e-8, 0.32954, 0.31785),
    ],
)
def test_figures_of_an_independent_transform(
    steps: int, sigma: float, epochs: int, delta: float, there: float, missing: float
) -> None:
    """An FFT on a linear lattice of ratios, good to 1e-4."""
    allocation = RandomAllocation(sigma, steps)
    parts = [(part, epochs * count) for part, count in allocation.parts]
    for order, figure in ((merged(parts), there), (swapped(parts), missing)):
        lower, upper = OneOrder(order).epsilon_bounds(delta, 1e-3)
        assert lower * (1 - 1e-4) <= figure <= upper * (1 + 1e-4)
        assert upper - lower <= 1e-3 * upper
    if epochs == 1:  # more of them repeat the bounds from below
        assert upper < there * (1 - 1e-3) < allocation.get_epsilon(delta)  # of the worse order
        assert allocation.attained_epsilon(delta) >= (1 - 1.2e-3) * there


@pytest.mark.parametrize(
    ("steps", "sigma", "epochs"),
    [
        (100, 0.6770, 1),
        (1000, 0.4520, 1),
        (10_000, 0.3532, 1),
        (100_000, 0.2970, 1),
        (100, 1.426215, 10),
        (1000, 1.4289, 100),
    ],
)
def test_published_noise_for_a_tenth_of_total_variation(
    steps: int, sigma: float, epochs: int
) -> None:
    """Ertan and van Dijk 2026: the sigma at which delta(0) is 0.1, as many digits as printed."""
    lower, upper = Accountant().compose(RandomAllocation(sigma, steps), epochs).delta_bounds(0.0)
    assert lower - 1e-4 <= 0.1 <= upper + 1e-4
    assert upper - lower <= 1e-4


def test_blocks_are_epochs_of_fewer_steps() -> None:
    """2 of 16 steps are bounded by two epochs of 1 of 8."""
    some, (one, count) = RandomAllocation(1.0, 16, selected=2), RandomAllocation(1.0, 8).parts[0]
    assert some.parts == [(one, 2 * count)]
    lower, upper = some.epsilon_bounds(1e-8)
    # an FFT on a linear lattice of ratios has 4.6856
    assert lower <= 4.6856 * (1 + 1e-4)
    assert upper >= 4.6856 * (1 - 1e-4)


def test_kept_steps_are_one_epoch_with_less_noise() -> None:
    kept = RandomAllocation(2.0, 100, epochs=4, kept=True).epsilon_bounds(1e-6)
    single = RandomAllocation(1.0, 100).epsilon_bounds(1e-6)
    assert kept.lower <= single.upper
    assert single.lower <= kept.upper
    fresh = Accountant().compose(RandomAllocation(2.0, 100), 4)
    assert fresh.get_epsilon(1e-6, rtol=0.05) < kept.lower


@pytest.mark.parametrize(
    "inner",
    [GaussianNoise(0.7, neighbours="remove"), LaplaceNoise(1.5, neighbours="remove")],
    ids=repr,
)
def test_more_steps_hide_more(inner: GaussianNoise | LaplaceNoise) -> None:
    found = [
        RandomAllocation(steps=t, mechanism=inner).epsilon_bounds(1e-5, rtol=0.02)
        for t in (1, 2, 99)
    ]
    assert all(few.lower > many.upper for few, many in pairwise(found))


def test_laplace_steps_against_samples() -> None:
    scale, steps, epsilon, number = 0.5, 20, 0.5, 50_000
    rng = np.random.default_rng(7)
    draws = rng.laplace(0.0, scale, (number, steps))
    draws[:, 0] += 1
    ratio = np.mean(np.exp((np.abs(draws) - np.abs(draws - 1)) / scale), axis=1)
    seen = np.maximum(1 - math.exp(epsilon) / ratio, 0.0)
    noise = LaplaceNoise(scale, neighbours="remove")
    lower, upper = orders(RandomAllocation(steps=steps, mechanism=noise))[0].delta_bounds(
        epsilon, 1e-3
    )
    margin = 6 * float(seen.std()) / math.sqrt(number)
    assert lower - margin <= seen.mean() <= upper + margin
    assert margin < 0.1 * upper


@pytest.mark.parametrize(
    ("sigma", "steps", "epsilon", "figure", "error"),
    [
        (0.4, 10_000, 4.0, 0.228, 0.003),
        (0.8, 1000, 1.0, 0.01879, 3e-4),
        (1.0, 100, 1.0, 0.0172, 1.5e-4),
    ],
)
def test_what_shuffled_batches_leak(
    sigma: float, steps: int, epsilon: float, figure: float, error: float
) -> None:
    """Monte Carlo of the two mixtures, with its standard error."""
    leaked = ShuffledBatches(sigma, steps).attained_delta(epsilon)
    assert figure - 4 * error <= leaked <= figure + 4 * error
    assert leaked > RandomAllocation(sigma, steps).get_delta(epsilon)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_shuffled_batches_against_quadrature(steps: int) -> None:
    """The two mixtures on a fine grid of outcomes; the certified value is below, and close."""
    sigma, epsilon = 0.9, 0.6
    x = np.linspace(-7.0, 9.0, 8001 if steps < 3 else 161)
    q, one, two = (
        np.exp(-((x - mean) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
        for mean in (0.0, 1.0, 2.0)
    )
    step = x[1] - x[0]

    def mixture(law: np.ndarray) -> np.ndarray:
        total: np.ndarray = np.zeros((len(x),) * steps) if steps < 3 else np.zeros((len(x),) * 3)
        for i in range(steps):
            factors = [law if i == j else q for j in range(steps)]
            joint = factors[0]
            for factor in factors[1:]:
                joint = joint[..., None] * factor
            total += joint / steps
        return total

    if steps == 2:
        x, q, one, two = x[::8], q[::8], one[::8], two[::8]
        step *= 8
    gain = mixture(two) - math.exp(epsilon) * mixture(one)
    truth = float(np.maximum(gain, 0.0).sum()) * step**steps
    found = ShuffledBatches(sigma, steps).attained_delta(epsilon)
    assert 0.995 * truth <= found <= 1.002 * truth
