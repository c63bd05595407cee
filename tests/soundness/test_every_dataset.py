"""upper >= the truth on every dataset and attained <= its supremum, over many randomizers.

A cell is (mechanism, pair of neighbouring datasets in one order, epsilon). Floats decide the clear
cells, exact whole numbers all others: see oracles/grid.py.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from oracles import randomizers as written
from oracles.grid import Exact, Floats, Verdict, judge
from shuffledp import FiniteRandomizer, PureLDP, RandomizedResponse, Shuffle, UnaryEncoding
from shuffledp.profiles.base import PrivacyProfile
from shuffledp.profiles.parts import round_profile
from shuffledp.randomizers import HadamardResponse, LocalHashing, Randomizer, SubsetSelection

ANALYSES = ("best", "blanket", "stronger-clones", "clones")
RATIOS = (Fraction(1001, 1000), Fraction(3, 2), Fraction(4), Fraction(20), Fraction(3000))
INSIDE = np.array([0, 0.01, 0.1, 0.25, 0.4, 0.6, 0.8, 0.95, 0.999])
AT_THE_TOP = np.array([1 - 1e-6, 1 - 1e-9, 1 - 1e-12, 1 - 1e-15, 1.0, 1 + 1e-15])


def side(profile: PrivacyProfile, epsilons: Floats, which: str) -> Floats:
    """What the certified profile says at many epsilons at once; constant from max_loss on."""
    samples = profile.sampler(60.0, 1e-4)(np.minimum(epsilons, profile.max_loss))
    values = np.array(getattr(samples, which))
    if profile.bounded:
        values[epsilons >= profile.max_loss] = 0.0
    return values


@lru_cache(maxsize=100)  # several analyses have the same largest loss
def reached(randomizer: Randomizer, users: int, epsilons: tuple[float, ...]) -> Floats:
    actual = round_profile(randomizer.attained_law(), users)
    return side(actual, np.array(epsilons), "lower")


def examine(
    randomizers: list[Randomizer], cases: list[written.Rows], users: int, analysis: str, at: Floats
) -> Verdict:
    """Judge one analysis of randomizers whose exact matrices, of one shape, are known."""
    epsilons, upper, attained = [], [], []
    for randomizer in randomizers:
        survey = Shuffle(randomizer, users, analysis)
        epsilons.append(at * survey.profile.max_loss)
        upper.append(side(survey.profile, epsilons[-1], "upper"))
        attained.append(reached(randomizer, users, tuple(epsilons[-1].tolist())))
    return judge(cases, users, np.array(epsilons), np.array(upper), np.array(attained))


def drawn(inputs: int, count: int, seed: int) -> Iterator[written.Rows]:
    """Vertices of the LDP polytope, mixtures of them, and matrices without and with zeros."""
    rng = random.Random(seed)
    for i in range(count):
        ratio = rng.choice(RATIOS)
        if i % 2 == 0:
            yield written.ldp_vertex(inputs, ratio, rng)
        elif i % 8 == 1 and inputs < 4:
            one, other = (written.ldp_vertex(inputs, ratio, rng) for _ in range(2))
            yield written.either_of(one, other, Fraction(rng.randint(1, 9), 10))
        else:
            yield written.random_rows(inputs, rng.randint(2, 4), rng, zeros=i % 8 == 3)


def by_shape(inputs: int, count: int, seed: int) -> Iterator[list[list[list[float]]]]:
    """Matrices of floats, grouped by their number of outputs."""
    groups: dict[int, list[list[list[float]]]] = {}
    for rows in drawn(inputs, count, seed):
        groups.setdefault(len(rows[0]), []).append([[float(p) for p in row] for row in rows])
    return iter(groups.values())


def examine_drawn(users: int, inputs: int, count: int, at: Floats) -> int:
    """Examine every analysis of `count` random randomizers; the number of cells."""
    cells = 0
    for matrices in by_shape(inputs, count, seed=1000 * users + inputs):
        if math.comb(users + len(matrices[0][0]) - 1, users) > 130:
            continue
        made = [FiniteRandomizer(matrix) for matrix in matrices]
        rows = [written.exact_rows(matrix) for matrix in matrices]
        for analysis in ANALYSES[1:]:
            kept = [i for i, randomizer in enumerate(made) if analysis in randomizer.analyses]
            if kept:
                chosen, cases = [made[i] for i in kept], [rows[i] for i in kept]
                verdict = examine(list(chosen), cases, users, analysis, at)
                assert not verdict.broken, verdict.broken[:3]
                cells += verdict.cells
    return cells


@pytest.mark.parametrize(
    ("users", "inputs", "count", "least"),
    [
        (1, 2, 16, 600),
        (1, 4, 12, 2_000),
        (2, 3, 16, 5_000),
        (3, 2, 16, 1_500),
        (3, 4, 8, 15_000),
        (4, 3, 12, 12_000),
        (5, 3, 8, 12_000),
        (7, 2, 8, 1_500),
    ],
)
def test_random_randomizers_against_every_dataset(
    users: int, inputs: int, count: int, least: int
) -> None:
    assert examine_drawn(users, inputs, count, INSIDE) >= least


@pytest.mark.parametrize(("users", "inputs"), [(1, 2), (2, 2), (3, 3)])
def test_random_randomizers_at_their_largest_loss(users: int, inputs: int) -> None:
    """Where a bound becomes 0: an eps0 that is one rounding too small shows here."""
    assert examine_drawn(users, inputs, 8, AT_THE_TOP) >= 150


def test_eps0_of_a_matrix_is_not_rounded_down() -> None:
    """The smallest case that was found: one user, two values, ratio 3/2."""
    matrix = [[0.6, 0.4], [0.4, 0.6]]
    randomizer = FiniteRandomizer(matrix)
    rows = written.exact_rows(matrix)
    ratio = max(rows[0][y] / rows[1][y] for y in (0, 1))
    assert written.exact_exp(randomizer.eps0) >= max(ratio, 1 / ratio)
    for gamma in (0.3, 0.9991058165528159, 3.407283299618989e-08):
        exact = 1 + 7 * (1 - Fraction(gamma)) / Fraction(gamma)
        assert written.exact_exp(RandomizedResponse(7, gamma=gamma).eps0) >= exact


def named(eps0: float) -> list[tuple[Randomizer, written.Rows]]:
    ratio, root = written.exact_exp(eps0), written.exact_exp(Fraction(eps0) / 2)
    gamma = min(0.9, 3 * math.exp(-eps0))
    return [
        (PureLDP(eps0), written.likelier([[0], [1]], 2, ratio)),
        (RandomizedResponse(2, eps0=eps0), written.likelier([[0], [1]], 2, ratio)),
        (RandomizedResponse(3, eps0=eps0), written.likelier([[0], [1], [2]], 3, ratio)),
        (
            RandomizedResponse(3, gamma=gamma),
            written.randomized_response(3, Fraction(gamma)),
        ),
        (RandomizedResponse(4, eps0=eps0), written.subset_selection(4, 1, ratio)),
        (SubsetSelection(3, 2, eps0), written.subset_selection(3, 2, ratio)),
        (SubsetSelection(4, 2, eps0), written.subset_selection(4, 2, ratio)),
        (UnaryEncoding(2, eps0), written.unary_encoding(2, root)),
        (UnaryEncoding(3, eps0), written.unary_encoding(3, root)),
        (HadamardResponse(3, eps0), written.hadamard_response(3, ratio)),
        (HadamardResponse(4, eps0), written.hadamard_response(4, ratio)),
        (LocalHashing(2, eps0), written.local_hashing(3, 2, ratio)),
    ]


@pytest.mark.parametrize(
    ("users", "eps0", "half"),
    [(1, 1e-3, 0), (1, 25.0, 1), (2, 0.5, 1), (2, 25.0, 0), (3, 1e-3, 1), (3, 8.0, 0)],
)
def test_named_randomizers_against_every_dataset(users: int, eps0: float, half: int) -> None:
    """Every analysis, those of randomized response with the strong adversary included. Each half
    of the randomizers with every number of users and a small, a usual and a large eps0."""
    at = np.concatenate([INSIDE, AT_THE_TOP[[0, 2, 4]]])
    for randomizer, rows in named(eps0)[half::2]:
        if math.comb(users + len(rows[0]) - 1, users) > 200:
            continue
        for analysis in randomizer.analyses:
            verdict = examine([randomizer], [rows], users, analysis, at)
            assert not verdict.broken, (randomizer, analysis, verdict.broken[:3])


@pytest.mark.parametrize(("users", "k"), [(12, 2), (6, 3), (4, 4)])
def test_more_users_of_randomized_response(users: int, k: int) -> None:
    for eps0 in (math.log(4), 3.0):
        rows = written.subset_selection(k, 1, written.exact_exp(eps0))
        for analysis in (*ANALYSES[1:], "strong"):
            randomizer = RandomizedResponse(k, eps0=eps0)
            verdict = examine([randomizer], [rows], users, analysis, INSIDE)
            assert not verdict.broken, (eps0, analysis, verdict.broken[:3])


@pytest.mark.parametrize("users", [1, 4])
def test_published_numbers_against_every_dataset(users: int) -> None:
    """get_delta and attained_delta themselves, not the sampler behind them."""
    at = INSIDE[::3]
    for matrices in by_shape(3, 3, seed=users):
        for matrix in matrices:
            for analysis in FiniteRandomizer(matrix).analyses:
                survey = Shuffle(FiniteRandomizer(matrix), users, analysis)
                epsilons = at * survey.profile.max_loss
                upper = survey.get_delta(epsilons)
                attained = np.array([survey.attained_delta(e) for e in epsilons.tolist()])
                rows = written.exact_rows(matrix)
                verdict = judge([rows], users, epsilons[None], upper[None], attained[None])
                assert not verdict.broken, (matrix, analysis, verdict.broken[:3])


def test_the_referee_can_fail() -> None:
    """A claim that is wrong by one unit in the last place, or not a number, is refuted exactly."""
    rows = written.subset_selection(2, 1, Fraction(4))
    epsilons = np.log(np.array([[1.25, 2.0, 3.5]]))
    referee = Exact(rows, 2)
    for others in ((0,), (1,)):
        truth = np.array([[float(referee.divergence(others, (0, 1), e)) for e in epsilons[0]]])
        above, below = np.nextafter(truth, 1), np.nextafter(truth, 0)
        assert (0, 1) not in {
            b.values for b in judge([rows], 2, epsilons, above).broken if b.others == others
        }
        broken = [b for b in judge([rows], 2, epsilons, below).broken if b.others == others]
        assert [b.epsilon for b in broken if b.values == (0, 1)] == epsilons[0].tolist()
        assert {b.what for b in broken} == {"upper below the truth"}
    assert len(judge([rows], 2, epsilons, truth * math.nan).broken) == 12
    best = np.array(
        [[max(referee.divergence((x,), (0, 1), e) for x in (0, 1)) for e in epsilons[0]]],
        dtype=float,
    )
    above, below = np.nextafter(best, 1), np.nextafter(best, 0)
    assert not judge([rows], 2, epsilons, above, attained=below).broken
    broken = judge([rows], 2, epsilons, above, attained=above).broken
    assert [b.what for b in broken] == ["attained above the truth"] * 3
