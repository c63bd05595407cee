"""The characteristic function of many scores, by transforms, against sums term by term."""

import cmath
import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from covering import covering
from oracles.scores import LAWS, THRESHOLDS, Law, columns, stop_loss_by_counting
from shuffledp import Gaussian, tuning
from shuffledp._support.numeric import Array
from shuffledp.engines import characteristic_function
from shuffledp.engines.characteristic_function import (
    OmittedNodes,
    Quadrature,
    evaluate_first_nodes,
    number_of_relevant_nodes,
)
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.problem import ScoreSums
from shuffledp.engines.tilted_law import TiltedLaw
from shuffledp.laws.density_law import DensityLaw
from shuffledp.profiles.class_profile import ClassSampler, LawTable


def some_law(draw: random.Random, values: int, last: bool) -> TiltedLaw:
    """Scores over some decades, of either sign; the largest is 1, as the engine has it."""
    decades = draw.choice([0.5, 3, 8])
    sizes = [10 ** -draw.uniform(0, decades) for _ in range(values - 1)] + [1.0]
    scores = np.array([[draw.choice([-1, 1]) * size for size in sizes]])
    scores[0, -1] = 1.0
    masses = np.array([[draw.random() ** 4 for _ in sizes]])
    masses *= draw.uniform(0.1, 1) / masses.sum()
    falls = np.array([[draw.uniform(0, 3) for _ in sizes]])
    one_more = np.full(scores.shape, 1 / values) if last else None
    users = draw.choice([2, 50, 10**6])
    sums = ScoreSums(scores, masses, np.abs(scores), np.zeros(1), users, falls=falls, last=one_more)
    return TiltedLaw.of(sums, 1e-4)


def term_by_term(weights: Array, scores: Array, t: float, less: float = 0.0) -> complex:
    terms = [w * (cmath.exp(1j * t * z) - less) for w, z in zip(weights, scores, strict=True)]
    return complex(math.fsum(x.real for x in terms), math.fsum(x.imag for x in terms))


@pytest.mark.parametrize("kernel", [(5.0, 1.64, 14), (3.0, 1.0, 3), (2.5, 0.3, 1), (40.0, 6.0, 30)])
@pytest.mark.parametrize("seed", range(8))
def test_every_error_is_within_its_bound(
    seed: int, kernel: tuple[float, float, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where grids are too coarse and kernels too short: the bound says so."""
    for name, value in zip(("_OVERSAMPLING", "_DEVIATION", "_REACH"), kernel, strict=True):
        monkeypatch.setattr(characteristic_function, name, value)
    draw = random.Random(f"gridded {seed}")
    law, nodes = some_law(draw, draw.choice([3, 80]), last=seed % 2 == 0), draw.choice([5, 300])
    step = np.array([10 ** draw.uniform(-3, 0.5)])
    found, scores, falls = (
        evaluate_first_nodes(law, step, nodes),
        law.sums.scores[0],
        law.sums.all_falls[0],
    )
    kinds = [
        (found.change, found.change_error, law.weights[0], 1.0),
        (found.falling, found.falling_error, law.weights[0] * falls, 0.0),
    ]
    if law.last is not None:
        kinds += [
            (found.last, found.last_error, law.last[0], 0.0),
            (found.last_falling, found.last_falling_error, law.last[0] * falls, 0.0),
        ]
    for (sums, errors, weights, less), node in itertools.product(
        kinds, {0, 1, nodes // 3, nodes - 1}
    ):
        truth = term_by_term(weights, scores, float(step[0]) * node, less)
        assert (
            abs(complex(np.asarray(sums)[0, node]) - truth) <= np.asarray(errors)[0, node] + 1e-15
        )


def test_it_has_twelve_digits() -> None:
    law = some_law(random.Random("digits"), 400, last=False)
    found = evaluate_first_nodes(law, np.array([0.05]), 4000)
    assert np.asarray(found.change_error).max() < 5e-12


@pytest.mark.parametrize("seed", range(2, 12))
def test_nodes_that_are_left_out_are_charged(seed: int) -> None:
    draw = random.Random(f"left out {seed}")
    law, count = some_law(draw, 80, last=False), draw.choice([40, 1000])
    spread = math.sqrt(law.sums.users * float(np.sum(law.weights * law.sums.scores**2)))
    nodes = Quadrature(np.array([draw.uniform(0.1, 3) / spread]), np.array([count]))
    missing = OmittedNodes(law, nodes)
    (number,) = number_of_relevant_nodes(law, nodes, np.array([draw.choice([5.0, 20.0])]), missing)
    assert number <= count + 1
    theta, tau, step = float(law.theta[0]), float(law.tau[0]), float(nodes.step[0])
    left_out = []
    for node in range(number, count + 1):
        t = step * node
        size = abs(1 + term_by_term(law.weights[0], law.sums.scores[0], t, 1.0))
        value = size ** (law.sums.users - 1) * math.exp(-((tau * t) ** 2) / 2) * step / math.pi
        left_out.append(value * (1 / (theta**2 + t**2) + tau**2))
    assert math.fsum(left_out) <= missing.value[0]


def test_no_node_is_left_out_unseen() -> None:
    """If all matter, the one at the end does, too: only those beyond it are charged as such."""
    law, nodes = (
        some_law(random.Random("all"), 80, last=False),
        Quadrature(np.ones(1), np.array([7])),
    )
    missing = OmittedNodes(law, nodes)
    assert number_of_relevant_nodes(law, nodes, np.array([np.inf]), missing).tolist() == [8]
    assert missing.value[0] == 0


@pytest.mark.parametrize(("law", "users", "threshold"), covering(LAWS, [2, 5, 24], THRESHOLDS))
def test_sums_of_few_values_by_transforms(
    law: Law, users: int, threshold: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "MANY_VALUES", 0)
    truth = float(stop_loss_by_counting(law, users, threshold))
    for width in (1e-2, 1e-4, 1e-7):
        lower, upper, *_ = stop_loss(ScoreSums(*columns(law, threshold), users), width)
        assert lower[0] <= truth * (1 + 1e-14)
        assert truth * (1 - 1e-14) <= upper[0]


@pytest.mark.parametrize("users", [30, 3000, 10**7])
def test_both_ways_to_the_same_sum(users: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heavy tail of 150 scores: by transforms and by products of matrices."""
    x = np.linspace(-2, 6, 150)
    masses = np.exp(-(x**2) / 2)
    masses *= 0.3 / masses.sum()
    mean, spread = float(masses @ np.exp(x)) / 0.3, math.sqrt(float(masses @ np.exp(2 * x)))
    scores = np.exp(x) - mean - 5 * spread / math.sqrt(users)
    sums = ScoreSums(
        scores[None], masses[None], np.abs(scores)[None], np.zeros(1), users, falls=np.exp(x)[None]
    )
    brackets = []
    for few in (0, 10**6):
        monkeypatch.setattr(tuning, "MANY_VALUES", few)
        brackets.append([float(side[0]) for side in stop_loss(sums, 1e-5)])
    (low, high, *slopes), (other_low, other_high, *other_slopes) = brackets
    assert low <= other_high
    assert other_low <= high <= 1.01 * low
    assert slopes[0] <= other_slopes[1] * (1 + 1e-2)
    assert other_slopes[0] <= slopes[1] * (1 + 1e-2)


@pytest.mark.parametrize("epsilon", [9.54, 11.15])
def test_asking_for_more_than_nodes_can_give_costs_little(epsilon: float) -> None:
    """Rows that would need too many nodes get as much noise as ends where the nodes do: a bracket
    three hundred times as wide as of a coarser question came of less."""
    law = Gaussian(0.3).law("blanket")
    assert isinstance(law, DensityLaw)
    laws = law.enclosed(law.cells(1.9e-4, 37.0, 1000), 1000).below.laws
    coarse, fine = (
        ClassSampler(LawTable(laws, 1000), width, depth=37.0)(np.array([epsilon]))
        for width in (2.3e-5, 1e-6)
    )
    assert fine.upper[0] / fine.lower[0] <= coarse.upper[0] / coarse.lower[0]
    assert max(fine.lower[0], coarse.lower[0]) <= min(fine.upper[0], coarse.upper[0])
