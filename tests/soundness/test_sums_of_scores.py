"""Theorems of docs/theory about sums of scores, in exact fractions on rounds of a few users."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import pytest

import oracles
from oracles import randomizers as written
from shuffledp import PureLDP, RandomizedResponse, Shuffle

Row: TypeAlias = Sequence[Fraction]
ONE = Fraction(1)


def random_law(outputs: int, rng: random.Random, zeros: float = 0.0) -> list[Fraction]:
    weights = [0 if rng.random() < zeros else rng.randint(1, 9) for _ in range(outputs)]
    weights[0] += not any(weights)
    return [Fraction(weight, sum(weights)) for weight in weights]


def shuffled(rows: Sequence[Row]) -> Mapping[tuple[int, ...], Fraction]:
    """The law of the sorted messages of users with these output laws."""
    law: dict[tuple[int, ...], Fraction] = {(): ONE}
    for row in rows:
        longer: dict[tuple[int, ...], Fraction] = {}
        for (messages, mass), (y, chance) in product(law.items(), enumerate(row)):
            key = tuple(sorted((*messages, y)))
            longer[key] = longer.get(key, Fraction(0)) + mass * chance
        law = longer
    return law


def divergence(u: Row, v: Row, others: Sequence[Row], alpha: Fraction) -> Fraction:
    first, second = (shuffled([row, *others]) for row in (u, v))
    return sum((max(p - alpha * second[y], Fraction(0)) for y, p in first.items()), Fraction(0))


def bound(u: Row, v: Row, blanket: Row, users: int, alpha: Fraction) -> Fraction:
    """E[(z_1 + ... + z_n)_+]/n, and the mass of (u - alpha v)_+ that no blanket covers."""
    gains = [a - alpha * b for a, b in zip(u, v, strict=True)]
    score = {Fraction(0): 1 - sum(blanket, Fraction(0))}
    uncovered = Fraction(0)
    for gain, mass in zip(gains, blanket, strict=True):
        if mass:
            score[gain / mass] = score.get(gain / mass, Fraction(0)) + mass
        else:
            uncovered += max(gain, Fraction(0))
    total = {Fraction(0): ONE}
    for _ in range(users):
        longer: dict[Fraction, Fraction] = {}
        for (x, p), (z, q) in product(total.items(), score.items()):
            longer[x + z] = longer.get(x + z, Fraction(0)) + p * q
        total = longer
    mean = sum((p * max(x, Fraction(0)) for x, p in total.items()), Fraction(0))
    return mean / users + uncovered


@pytest.mark.parametrize("seed", range(60))
def test_a_round_is_bounded_by_a_sum_of_scores(seed: int) -> None:
    rng = random.Random(seed)
    outputs, users = rng.randint(2, 4), rng.randint(1, 4)
    u, v = (random_law(outputs, rng, 0.2) for _ in range(2))
    others = [random_law(outputs, rng, 0.3) for _ in range(users - 1)]
    lowest = [min((row[y] for row in others), default=ONE / outputs) for y in range(outputs)]
    blanket = [Fraction(rng.randint(1, 4), 4) * mass for mass in lowest]
    alpha = Fraction(rng.randint(2, 40), 10)
    assert divergence(u, v, others, alpha) <= bound(u, v, blanket, users, alpha)


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_is_an_equality_if_remainders_are_recognized(seed: int) -> None:
    """All others have one law, of which only a part of the last output is not in the blanket."""
    rng = random.Random(seed)
    outputs, users = rng.randint(2, 4), rng.randint(1, 4)
    u, v = ([*random_law(outputs - 1, rng, 0.2), Fraction(0)] for _ in range(2))
    other = random_law(outputs, rng, 0.2)
    blanket = [*other[:-1], other[-1] * Fraction(rng.randint(0, 4), 4)]
    alpha = Fraction(rng.randint(2, 40), 10)
    found = divergence(u, v, [other] * (users - 1), alpha)
    assert found == bound(u, v, blanket, users, alpha)


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_is_above_its_tangent_at_the_largest_loss(seed: int) -> None:
    rng = random.Random(seed)
    outputs, users = rng.randint(2, 4), rng.randint(1, 4)
    u, v = (random_law(outputs, rng) for _ in range(2))
    blanket = [Fraction(rng.randint(0, 3), 40) for _ in range(outputs)]
    ratio = max(a / b for a, b in zip(u, v, strict=True))
    top = [y for y in range(outputs) if u[y] == ratio * v[y]]
    unseen = (1 - sum(blanket) + sum(blanket[y] for y in top)) ** (users - 1)
    slope = sum((v[y] * (unseen if blanket[y] else 1) for y in top), Fraction(0))
    for i in range(9):
        alpha = ratio * Fraction(i, 8)
        if alpha > 0:
            assert bound(u, v, blanket, users, alpha) >= slope * (ratio - alpha)
    assert bound(u, v, blanket, users, ratio) == 0


@pytest.mark.parametrize("ratio", [Fraction(3, 2), Fraction(4), Fraction(15, 2)])
@pytest.mark.parametrize("users", [1, 2, 3, 5])
def test_binary_response_attains_the_clone_pair_up_to_the_largest_loss(
    ratio: Fraction, users: int
) -> None:
    """From alpha_n on; before it the pair may be above (docs/theory/clone-pairs.md)."""
    start = ((users - 1) * ratio + 1) / (users - 1 + ratio)
    own, other = written.likelier([[0], [1]], 2, ratio)
    pair = oracles.clone_pair_fractions(users, ratio, "stronger-clones")
    for i in range(9):
        alpha = 1 + (ratio - 1) * Fraction(i, 8)
        found = max(
            divergence(own, other, [own] * m + [other] * (users - 1 - m), alpha)
            for m in range(users)
        )
        claim = oracles.hockey_stick(pair, alpha)
        assert found <= claim
        if alpha >= start:
            closed = (ratio - alpha) / (ratio + 1) * (ratio / (ratio + 1)) ** (users - 1)
            assert found == claim == closed


def test_the_package_attains_its_bound_from_there_on() -> None:
    """n = 3, eps0 = 2: alpha_n is about e^0.52."""
    round_ = Shuffle(PureLDP(2.0), 3)
    assert round_.get_delta(1.0) == pytest.approx(round_.attained_delta(1.0), rel=1e-3)
    assert round_.get_delta(0.2) > 1.01 * round_.attained_delta(0.2)


def test_two_other_values_may_be_worse_than_one() -> None:
    """The figures of docs/theory/named-randomizers.md: k = 3, E = 4, 8 users, epsilon = 0.8."""
    rows = written.likelier([[0], [1], [2]], 3, Fraction(4))
    alpha = written.exact_exp(0.8)

    def delta(*held: int) -> float:
        return float(divergence(rows[0], rows[1], [rows[x] for x in held], alpha))

    mixed, one = delta(0, 0, 2, 2, 2, 2, 2), max(delta(*[x] * 7) for x in range(3))
    assert [mixed, one] == pytest.approx([0.04201, 0.04121], abs=5e-6)
    survey = Shuffle(RandomizedResponse(3, eps0=math.log(4)), 8)
    assert survey.attained_delta(0.8) == pytest.approx(mixed, rel=1e-3)
