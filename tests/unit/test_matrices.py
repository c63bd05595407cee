"""Matrices: large ones against all pairs one by one, degenerate ones, and how they are shown."""

import math
from typing import Any

import numpy as np
import pytest

from shuffledp import (
    Accountant,
    FiniteRandomizer,
    RandomizedResponse,
    Shuffle,
    compare,
)
from shuffledp.dominating import dominating_law
from shuffledp.pairs import Matrix, PairsProfile, pair_law
from shuffledp.profile import ClassProfile
from shuffledp.queries import anyway


def random_rows(seed: int, inputs: int, outputs: int, zeros: bool) -> Any:
    draw = np.random.default_rng(seed)
    rows = draw.dirichlet(np.full(outputs, draw.choice([0.5, 3.0, 30.0])), size=inputs)
    if zeros:
        rows *= draw.random(rows.shape) > 0.15
        rows[:, 0] += 0.05
    return rows / rows.sum(axis=1, keepdims=True)


def one_by_one(rows: Any, users: int, idle: int, epsilon: float) -> tuple[float, float]:
    """(lower, upper) of the largest delta, each pair evaluated by itself."""
    base, found = rows.min(axis=0), []
    for i in range(len(rows)):
        for j in range(len(rows)):
            if i != j:
                profile = ClassProfile((pair_law(rows[i], rows[j], base),), users, idle)
                found.append(profile.sampler(700.0, 1e-5)(np.array([epsilon])))
    return max(s.lower[0] for s in found), max(s.upper[0] for s in found)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("zeros", [False, True])
def test_pruned_pairs_against_all_pairs(seed: int, zeros: bool) -> None:
    inputs, outputs = 5 + seed % 3, 4 + seed % 4
    rows = random_rows(seed, inputs, outputs, zeros)
    users, idle = [(3, 0), (40, 0), (3000, 0), (200, 100)][seed % 4]
    profile = PairsProfile(Matrix(rows), users, idle)
    for share in (0.0, 0.01, 0.1, 0.5, 0.95):
        epsilon = share * min(profile.max_loss, 8.0)
        samples = profile.sampler(700.0, 1e-4)(np.array([epsilon]))
        lower, upper = one_by_one(rows, users, idle, epsilon)
        assert samples.lower[0] <= upper * (1 + 1e-12)
        assert lower <= samples.upper[0]
        # 1e-4 in epsilon is so much more in a delta of e^-x
        depth = -math.log(max(upper, 1e-300))
        assert samples.upper[0] <= max((1.01 + 3e-4 * depth) * upper, 1e-250)


@pytest.mark.parametrize("seed", range(30))
def test_the_dominating_law_is_above_every_pair(seed: int) -> None:
    """E(z - t)_+ of every pair is at most that of the dominating law, at every t and alpha."""
    rows = random_rows(seed, 6, 5, zeros=seed % 2 == 1)
    base = rows.min(axis=0)
    law = dominating_law(rows, base)

    def stop_loss(law: Any, alpha: float, t: float) -> tuple[float, float]:
        u, v, w = (np.array(side) for side in (law.u, law.v, law.blanket))
        covered, score = w > 0, u - alpha * v
        inside = np.maximum(score[covered] - t * w[covered], 0.0).sum()
        return float(inside), float(np.maximum(score[~covered], 0.0).sum())

    for i in range(len(rows)):
        for j in range(len(rows)):
            pair = pair_law(rows[i], rows[j], base)
            for alpha in (1.0, 1.3, 4.0):
                for t in (-9.0, -2.0, -0.5, 0.0, 0.3, 1.0, 5.0):
                    for one, above in zip(
                        stop_loss(pair, alpha, t), stop_loss(law, alpha, t), strict=True
                    ):
                        # below all scores both are a mean: equal up to rounding
                        assert one <= above * (1 + 1e-12) + 1e-12


def test_a_large_matrix_of_randomized_response() -> None:
    k, ratio = 60, math.exp(2.0)
    rows = np.full((k, k), 1 / (ratio + k - 1))
    np.fill_diagonal(rows, ratio / (ratio + k - 1))
    bounds = Shuffle(FiniteRandomizer(rows.tolist()), 10_000).epsilon_bounds(1e-6)
    known = Shuffle(RandomizedResponse(k, eps0=2.0), 10_000).epsilon_bounds(1e-6)
    assert bounds.lower <= known.upper
    assert known.lower <= bounds.upper <= 1.001 * known.upper


@pytest.mark.parametrize("users", [100, 10**5])
def test_a_hundred_inputs_and_outputs(users: int) -> None:
    """The bracket holds a pair that is evaluated by itself, and what is attained."""
    rows = np.random.default_rng(7).dirichlet(np.full(100, 20.0), size=100)
    survey = Shuffle(FiniteRandomizer(rows.tolist()), users)
    bounds = anyway(survey.epsilon_bounds, 1e-6)
    assert bounds.lower <= bounds.upper <= 1.01 * bounds.lower
    assert 0 < survey.attained_epsilon(1e-6) <= bounds.upper


def test_large_matrices_are_shown_by_a_digest() -> None:
    rows = np.random.default_rng(3).dirichlet(np.ones(30), size=30).tolist()
    large, again = FiniteRandomizer(rows), FiniteRandomizer(rows)
    assert len(repr(large)) < 60 and "30 x 30" in repr(large)
    assert large == again and hash(large) == hash(again)
    assert large != FiniteRandomizer(np.eye(30).tolist())
    assert len(str(compare(Shuffle(large, 100)))) < 4000
    assert repr(FiniteRandomizer([[0.75, 0.25], [0.5, 0.5]])) == (
        "FiniteRandomizer(matrix=((0.75, 0.25), (0.5, 0.5)))"
    )


DEGENERATE: dict[str, list[list[float]]] = {
    "disjoint rows": [[0, 0, 1], [1, 0, 0]],
    "two certain values": [[1, 0], [0.25, 0.75], [0, 1]],
    "equal rows": [[0.5, 0.5], [0.5, 0.5]],
    "one output": [[1, 0], [1, 0]],
    "identity": np.eye(4).tolist(),
    "a column of zeros": [[0.5, 0, 0.5], [0.25, 0, 0.75]],
    "a tiny entry": [[1e-99, 1 - 1e-99], [1, 0]],
    "one common output": [[0.5, 0.5, 0], [0.5, 0, 0.5]],
    "wide": np.random.default_rng(1).dirichlet(np.ones(50), size=2).tolist(),
    "tall": np.random.default_rng(2).dirichlet(np.ones(2), size=14).tolist(),
}


@pytest.mark.parametrize("rows", DEGENERATE.values(), ids=list(DEGENERATE))
@pytest.mark.parametrize("users", [1, 2, 30, 10**6])
def test_degenerate_matrices_are_answered(rows: list[list[float]], users: int) -> None:
    randomizer = FiniteRandomizer(rows)
    sampled = Shuffle(randomizer, users, sample_rate=0.5, sampling="poisson")
    rounds: list[Any] = [Shuffle(randomizer, users), sampled]
    rounds += [Shuffle(randomizer, users, sample_rate=0.5)] if users % 2 == 0 else []
    rounds += [Accountant().compose(Shuffle(randomizer, users), 10)]
    for asked in rounds:
        for delta in (0, 1e-6, 0.3):
            assert 0 <= asked.get_epsilon(delta) <= math.inf
        for epsilon in (0.0, 0.5, 3.0):
            upper = asked.get_delta(epsilon)
            assert 0 <= upper <= 1
            if isinstance(asked, Shuffle):
                assert asked.attained_delta(epsilon) <= upper
    if len(set(map(tuple, rows))) == 1:
        assert all(asked.get_epsilon(0) == asked.get_delta(0.0) == 0 for asked in rounds)


def test_disjoint_rows_tell_everything() -> None:
    survey = Shuffle(FiniteRandomizer([[0, 0, 1], [1, 0, 0]]), 5)
    assert tuple(survey.delta_bounds(3.0)) == pytest.approx((1, 1))
    assert survey.get_epsilon(1e-6) == math.inf
    assert tuple(survey.epsilon_bounds(0.5)) == (math.inf, math.inf)
