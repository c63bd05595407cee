"""Matrices of any size and shape: which pairs are evaluated, and what bounds the others."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from covering import covering
from shuffledp import (
    FiniteRandomizer,
    RandomizedResponse,
    Shuffle,
    compare,
    tuning,
)
from shuffledp.accountant import repeated
from shuffledp.laws.class_law import ClassLaw
from shuffledp.laws.matrix_law import Matrix, PairsLaw, pair_law
from shuffledp.profiles.class_profile import ClassSampler, LawTable
from shuffledp.profiles.pairs_profile import PairsProfile
from shuffledp.profiles.parts import round_profile

EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 2.0])


def random_rows(seed: int, inputs: int, outputs: int, zeros: float = 0.0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(outputs), inputs) + 0.01
    rows[:, 1:][rng.random((inputs, outputs - 1)) < zeros] = 0.0
    normalized: NDArray[np.float64] = rows / rows.sum(axis=1, keepdims=True)
    return normalized


def enumerated(law: ClassLaw, users: int, alpha: float, idle: int = 0) -> float:
    """The divergence of docs/theory/scores.md by adding up every outcome of every user."""
    u, v, w = (np.array(column) for column in (law.u, law.v, law.blanket))
    total = float(np.maximum(u - alpha * v, 0.0)[w == 0].sum()) * users
    u, v, w = u[w > 0], v[w > 0], w[w > 0]
    scores = np.append((u - alpha * v) / w, 0.0)
    masses = np.append(w, max(1 - w.sum(), 0.0))
    held = idle * (alpha - 1)
    for outcome in itertools.combinations_with_replacement(range(len(scores)), users):
        counts = np.bincount(outcome, minlength=len(scores))
        ways = math.factorial(users) / math.prod(math.factorial(c) for c in counts.tolist())
        gain = max(float(scores @ counts) - held, 0.0)
        total += ways * float(np.prod(masses**counts)) * gain
    return total / (users + idle)


def all_laws(rows: NDArray[np.float64]) -> list[ClassLaw]:
    pairs_ = itertools.permutations(range(len(rows)), 2)
    return [pair_law(rows[i], rows[j], rows.min(axis=0)) for i, j in pairs_]


@pytest.mark.parametrize("zeros", [0.0, 0.2])
@pytest.mark.parametrize(("users", "idle"), [(1, 0), (3, 0), (3, 4)])
def test_the_largest_pair_against_enumeration(zeros: float, users: int, idle: int) -> None:
    rows = random_rows(1, 14, 4, zeros)
    epsilons = EPSILONS[::2]
    found = PairsProfile(Matrix(rows), users, idle).sampler(100.0, 1e-4)(epsilons)
    for i, alpha in enumerate(np.exp(epsilons).tolist()):
        truth = max(enumerated(law, users, alpha, idle) for law in all_laws(rows))
        assert found.lower[i] <= truth * (1 + 1e-12) + 1e-15
        assert truth <= found.upper[i] * (1 + 1e-12) + 1e-15
        assert found.upper[i] <= found.lower[i] * 1.001 + 1e-12


@pytest.mark.parametrize("zeros", [0.0, 0.2])
@pytest.mark.parametrize(
    ("users", "idle", "rate"), [(40, 0, 1.0), (5000, 5000, 1.0), (600, 0, 0.3)]
)
def test_pruning_is_the_same_as_evaluating_every_pair(
    zeros: float, users: int, idle: int, rate: float
) -> None:
    rows = random_rows(2, 6, 7, zeros)
    law, laws = PairsLaw(Matrix(rows)), all_laws(rows)
    if rate < 1:
        law, laws = law.thinned(rate), [one.thinned(rate) for one in laws]
    profile = round_profile(law, users, idle)
    each = [ClassSampler(LawTable((law,), users, idle), 1e-4)(EPSILONS) for law in laws]
    lower = np.max([samples.lower for samples in each], axis=0)
    upper = np.max([samples.upper for samples in each], axis=0)
    found = profile.sampler(700.0, 1e-4)(EPSILONS)
    assert (found.lower <= upper).all()
    assert (lower <= found.upper).all()
    assert (found.upper <= 1.01 * upper + 1e-290).all()
    assert (found.lower >= 0.99 * lower - 1e-290).all()
    assert profile.max_loss == max(law.max_loss(users, idle) for law in laws)
    assert profile.bounded == all(law.bounded(idle) for law in laws)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_bounds_of_pairs_and_the_dominating_law_are_above_every_pair(
    seed: int, zeros: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "LEVELS", [200, 8][seed % 2])
    monkeypatch.setattr(tuning, "MOST_WORK", [400_000, 0][seed % 2])
    rows, users, idle = random_rows(seed, 6, 5, zeros), 1 + seed % 3, seed % 2
    profile = PairsProfile(Matrix(rows), users, idle)
    for epsilon in EPSILONS.tolist():
        alpha = math.exp(epsilon)
        bound = profile.bounds._bounds(epsilon)
        above = enumerated(profile.dominating, users, alpha, idle)
        for i, j in itertools.permutations(range(len(rows)), 2):
            truth = enumerated(profile.law(i, j), users, alpha, idle)
            assert truth <= bound[i, j]
            assert truth <= above * (1 + 1e-12) + 1e-15


def test_bounds_of_pairs_of_many_users() -> None:
    """Where the sum is nearly normal the bounds are close, and above all the same."""
    rows, users = random_rows(7, 8, 6), 10**6
    profile = PairsProfile(Matrix(rows), users)
    largest = max(
        float(ClassSampler(LawTable((law,), users), 1e-4)(np.array([0.02])).lower[0])
        for law in all_laws(rows)
    )
    bound = profile.bounds._bounds(0.02)
    for i, j in itertools.permutations(range(len(rows)), 2):
        value = ClassSampler(LawTable((profile.law(i, j),), users), 1e-4)(np.array([0.02]))
        assert value.lower[0] <= bound[i, j]
    assert bound.max() <= 2 * largest


def test_pairs_that_are_not_evaluated_count_with_their_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, users = random_rows(3, 20, 6), 300
    close = PairsProfile(Matrix(rows), users).sampler(700.0, 1e-4)(EPSILONS)
    for name, value in (("LEADERS", 1), ("MOST_WORK", 0)):
        monkeypatch.setattr(tuning, name, value)
    wide = PairsProfile(Matrix(rows), users).sampler(700.0, 1e-4)(EPSILONS)
    assert (wide.upper >= close.lower).all()
    assert (wide.lower <= close.upper).all()


def test_a_large_matrix_of_randomized_response() -> None:
    k, named = 300, RandomizedResponse(300, eps0=3.0)
    rows = np.ones((k, k)) + np.eye(k) * math.expm1(3.0)
    matrix = FiniteRandomizer((rows / rows.sum(axis=1, keepdims=True)).tolist())
    users = 10**6
    found, known = (Shuffle(r, users).epsilon_bounds(1e-6) for r in (matrix, named))
    assert found.upper == pytest.approx(known.upper, rel=1e-3)
    assert found.lower <= known.upper
    assert known.lower <= found.upper
    attained = Shuffle(matrix, users).attained_epsilon(1e-6)
    assert 0.99 * known.lower <= attained <= found.upper


@pytest.mark.parametrize("users", [1000, 10**5])
def test_a_hundred_inputs_and_outputs(users: int) -> None:
    """The bracket is narrow, and holds what is attained."""
    rows = np.random.default_rng(7).dirichlet(np.full(100, 20.0), size=100)
    survey = Shuffle(FiniteRandomizer(rows.tolist()), users)
    bounds = survey.epsilon_bounds(1e-6)
    assert bounds.lower <= bounds.upper <= 1.001 * bounds.lower
    assert 0 < survey.attained_epsilon(1e-6) <= bounds.upper


def test_attained_values_of_larger_matrices_are_below_and_near() -> None:
    """The likely values are found among all: a matrix of 13 inputs has 2028 triples."""
    rows, users = random_rows(5, 13, 6), 1000
    likely = Shuffle(FiniteRandomizer(rows.tolist()), users).attained_delta(0.1)
    laws = {
        pair_law(rows[i], rows[j], rows[x])
        for i, j in itertools.permutations(range(13), 2)
        for x in range(13)
    }
    best = ClassSampler(LawTable(tuple(laws), users), 1e-3)(np.array([0.1]))
    assert 0.5 * best.lower[0] <= likely <= best.upper[0]


def test_repr_is_short_and_values_compare() -> None:
    rows = random_rows(0, 20, 25)
    one, same, other = (FiniteRandomizer(r.tolist()) for r in (rows, rows.copy(), rows[::-1]))
    assert repr(one).startswith("FiniteRandomizer(20 x 25, sha256 ")
    assert len(repr(Shuffle(one, 10))) < 120
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "matrix"
    assert len(str(compare(Shuffle(one, 100), 1, 1e-6))) < 4000
    small = FiniteRandomizer([[0.75, 0.25], [0.5, 0.5]])
    assert repr(small) == "FiniteRandomizer(matrix=((0.75, 0.25), (0.5, 0.5)))"
    assert eval(repr(small), {"FiniteRandomizer": FiniteRandomizer}) == small


TINY = 1e-99
DEGENERATE = {
    "disjoint rows": [[0, 0, 1], [1, 0, 0]],
    "two of three disjoint": [[1, 0], [0.25, 0.75], [0, 1]],
    "identity": np.eye(3).tolist(),
    "one-hot rows, two of them equal": [[1, 0, 0], [1, 0, 0], [0, 1, 0]],
    "a column of zeros": [[0.3, 0, 0.7], [0.6, 0, 0.4]],
    "one common column": [[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [0.5, 0, 0, 0.5]],
    "a tiny common column": [[TINY, 1, 0], [TINY, 0, 1]],
    "tiny probabilities": [[TINY, 0.5, 0.5], [0.5, TINY, 0.5]],
    "a tiny difference": [[TINY, 1], [0, 1]],
    "2 x 50": random_rows(8, 2, 50, 0.3).tolist(),
    "50 x 2": [[1, 0], [0, 1], *random_rows(9, 48, 2).tolist()],
    "14 disjoint rows": np.eye(14).tolist(),
}


@pytest.mark.parametrize(
    ("name", "users", "sampling"),
    covering(list(DEGENERATE), [1, 2, 30, 10**6], [None, "fixed", "poisson"], every=6),
)
def test_every_matrix_has_an_answer(name: str, users: int, sampling: str | None) -> None:
    if sampling == "fixed" and users == 1:
        return
    sampled = {} if sampling is None else {"sample_rate": 0.5, "sampling": sampling}
    round_ = Shuffle(FiniteRandomizer(DEGENERATE[name]), users, **sampled)  # type: ignore[arg-type]
    epsilon, delta = round_.get_epsilon(1e-6), round_.get_delta(0.1)
    assert epsilon >= 0
    assert 0 <= delta <= 1
    if users <= 30:  # for many users, scores of 1e98 take half a minute, and compositions long
        assert round_.attained_epsilon(1e-6, rtol=0.01) <= epsilon
        assert round_.attained_delta(0.1) <= delta
        ten = repeated(round_, 10)
        if sampling is None:
            assert ten.get_epsilon(1e-6, rtol=0.05) >= epsilon * (1 - 1e-3)
        else:
            assert ten.get_delta(0.1, rtol=0.05) >= delta * (1 - 1e-3) - 1e-13


@pytest.mark.parametrize("sampling", ["fixed", "poisson"])
@pytest.mark.parametrize("rows", [[[0.5, 0.5]] * 2, [[0.2, 0.3, 0.5]] * 3, [[0, 1]] * 2])
def test_equal_rows_lose_nothing(rows: list[list[float]], sampling: str) -> None:
    randomizer = FiniteRandomizer(rows)
    assert randomizer.eps0 == 0
    for rate in (1.0, 0.5):
        round_ = Shuffle(randomizer, 30, sample_rate=rate, sampling=sampling)
        for asked in (round_, repeated(round_, 1), repeated(round_, 10)):
            assert asked.epsilon_bounds([0, 1e-6]).upper.tolist() == [0, 0]
            assert asked.delta_bounds([0, 0.1]).upper.tolist() == [0, 0]
        assert round_.attained_epsilon(0) == round_.attained_delta(0) == 0


def test_disjoint_rows_are_told_apart() -> None:
    round_ = Shuffle(FiniteRandomizer(np.eye(2).tolist()), 30, sample_rate=0.5)
    assert round_.get_epsilon(1e-6) == math.inf
    assert round_.delta_bounds(1.0).lower == pytest.approx(0.5)
    # the value is seen in some of ten rounds, unless the user is in no sample
    assert repeated(round_, 10).delta_bounds(1.0).upper == pytest.approx(1 - 0.5**10)


@pytest.mark.parametrize("users", [1, 30])
def test_a_tiny_chance_of_infinite_loss_stays_tiny_in_ten_rounds(users: int) -> None:
    round_ = Shuffle(FiniteRandomizer([[TINY, 1], [0, 1]]), users)
    assert 9.99 * TINY <= repeated(round_, 10).get_delta(0.1) < 1e-12
