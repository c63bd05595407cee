"""The oracles of composition and of real mechanisms agree with hand values and each other."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import pytest
from mpmath import mpf

import oracles
from oracles.common import ALPHAS, as_mpf, close, log_of


def randomized_response(ratio: Fraction, values: int) -> list[list[Fraction]]:
    """Return the matrix of randomized response: the true value is `ratio` times as likely."""
    low = 1 / (ratio + values - 1)
    return [[ratio * low if x == y else low for y in range(values)] for x in range(values)]


def test_compose_against_fractions() -> None:
    first = oracles.clone_pair_fractions(3, Fraction(3), "clones")
    second = oracles.clone_pair_fractions(2, Fraction(7, 2), "stronger-clones")
    exact_pair = {
        (x, y): (first[x][0] * second[y][0], first[x][1] * second[y][1])
        for x, y in product(first, second)
    }
    lists = [
        oracles.clone_pair_atoms(3, log_of(Fraction(3)), "clones"),
        oracles.clone_pair_atoms(2, log_of(Fraction(7, 2)), "stronger-clones"),
    ]
    atoms = oracles.compose_atoms(lists)
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(4), Fraction(10)):
        exact = as_mpf(oracles.hockey_stick(exact_pair, alpha))
        epsilon = log_of(alpha)
        assert close(oracles.delta_of_atoms(atoms, epsilon), exact)
        assert close(oracles.delta_of_product(lists, epsilon), exact)
        if alpha > 1:
            assert close(oracles.epsilon_of_atoms(atoms, exact), epsilon)


def test_compose_four_rounds() -> None:
    lists = [
        oracles.clone_pair_atoms(4, 1.0, "clones"),
        oracles.clone_pair_atoms(3, 1.5, "stronger-clones"),
        oracles.clone_pair_atoms(4, 1.0, "clones"),
        oracles.clone_pair_atoms(5, 0.5, "clones"),
    ]
    atoms = oracles.compose_atoms(lists)
    assert [loss for loss, _, _ in atoms] == sorted(loss for loss, _, _ in atoms)
    for epsilon in (0.0, 0.4, 1.7, 3.9):
        delta = oracles.delta_of_atoms(atoms, epsilon)
        assert delta > 0
        assert close(oracles.delta_of_product(lists, epsilon), delta)
        root = oracles.epsilon_of_atoms(atoms, delta)
        assert abs(root - epsilon) < mpf(10) ** -45
    assert oracles.delta_of_atoms(atoms, 4.0) == 0
    assert close(oracles.epsilon_of_atoms(atoms, 0.0), mpf(4))


def test_infinite_loss() -> None:
    atoms = [
        (mpf(0), mpf("0.25"), mpf("0.25")),
        (mpmath.inf, mpf("0.75"), mpf(0)),
    ]
    twice = oracles.compose_atoms([atoms, atoms])
    assert twice == [(0, mpf("0.0625"), mpf("0.0625")), (mpmath.inf, mpf("0.9375"), 0)]
    assert oracles.delta_of_atoms(twice, 3.0) == mpf("0.9375")
    assert oracles.delta_of_product([atoms, atoms], 3.0) == mpf("0.9375")
    assert oracles.epsilon_of_atoms(twice, 0.9) == mpmath.inf
    assert oracles.epsilon_of_atoms(twice, 0.9375) == 0
    assert close(oracles.epsilon_of_atoms(twice, 0.96875), -mpmath.log(2))
    assert oracles.epsilon_of_atoms(twice, 1.0) == -mpmath.inf
    with pytest.raises(ValueError):
        oracles.epsilon_of_atoms(twice, -0.1)
    with pytest.raises(ValueError):
        oracles.epsilon_of_atoms([], 0.1)


def test_randomized_response_composition() -> None:
    one = oracles.clone_pair_atoms(1, 0.75, "clones")
    atoms = oracles.compose_atoms([one] * 5)
    assert len(atoms) == 6
    for epsilon in (-1.0, 0.0, 0.2, 1.1, 3.7):
        delta = oracles.randomized_response_composition(0.75, 5, epsilon)
        assert close(oracles.delta_of_atoms(atoms, epsilon), delta)
        root = oracles.randomized_response_epsilon(0.75, 5, delta)
        assert abs(root - epsilon) < mpf(10) ** -55
    assert oracles.randomized_response_composition(0.75, 5, 3.75) == 0
    first = oracles.clone_profile(1, 0.75, 0.3, "stronger-clones")
    assert close(oracles.randomized_response_composition(0.75, 1, 0.3), first)


def test_randomized_response_many_rounds() -> None:
    epsilon = oracles.randomized_response_epsilon(0.05, 10_000, 1e-90)
    delta = oracles.randomized_response_composition(0.05, 10_000, epsilon)
    assert close(delta, mpf(1e-90), 1e-55)
    assert 100 < epsilon < 125


def test_shuffled_mechanism_by_hand() -> None:
    matrix = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    law = oracles.shuffled_mechanism(matrix, [0, 1])
    assert law == {(2, 0): Fraction(3, 16), (1, 1): Fraction(10, 16), (0, 2): Fraction(3, 16)}
    assert law == oracles.shuffled_mechanism(matrix, [1, 0])
    with pytest.raises(ValueError):
        oracles.shuffled_mechanism([[Fraction(1, 2), Fraction(1, 4)]], [0])


def test_shuffled_mechanism_against_enumeration() -> None:
    matrix = randomized_response(Fraction(5, 2), 3)
    dataset = [0, 2, 2, 1]
    law: dict[tuple[int, ...], Fraction] = {}
    for outputs in product(range(3), repeat=len(dataset)):
        mass = Fraction(1)
        for value, output in zip(dataset, outputs, strict=True):
            mass *= matrix[value][output]
        counts = tuple(outputs.count(y) for y in range(3))
        law[counts] = law.get(counts, Fraction(0)) + mass
    assert oracles.shuffled_mechanism(matrix, dataset) == law


@pytest.mark.parametrize("users", [1, 2, 3, 4])
@pytest.mark.parametrize("values", [2, 3])
def test_pair_dominates_the_truth(users: int, values: int) -> None:
    ratio = Fraction(5)
    matrix = randomized_response(ratio, values)
    clones = oracles.clone_pair_fractions(users, ratio, "clones")
    stronger = oracles.clone_pair_fractions(users, ratio, "stronger-clones")
    for alpha in ALPHAS:
        truth = oracles.true_profile(matrix, users, alpha)
        refined = oracles.hockey_stick(stronger, alpha)
        assert truth <= refined <= oracles.hockey_stick(clones, alpha)
        if values == 2 and alpha >= 4:
            assert truth == refined
        if alpha == ratio:
            assert truth == 0


def test_symmetric_pair_has_the_profile_it_was_made_from() -> None:
    pair = oracles.clone_pair_fractions(3, Fraction(4), "clones")
    kinks = [p / q for p, q in pair.values()]
    made = oracles.symmetric_pair(lambda alpha: Fraction(oracles.hockey_stick(pair, alpha)), kinks)
    for alpha in (*ALPHAS, Fraction(1, 3), Fraction(7, 8)):
        assert oracles.hockey_stick(made, alpha) == oracles.hockey_stick(pair, alpha)
    assert sum(p for p, _ in made.values()) == sum(q for _, q in made.values()) == 1


def test_adaptive_profile_of_one_choice_is_the_product() -> None:
    first = oracles.clone_pair_fractions(2, Fraction(3), "clones")
    second = oracles.clone_pair_fractions(3, Fraction(5, 2), "stronger-clones")
    both = {
        (*x, *y): (first[x][0] * second[y][0], first[x][1] * second[y][1])
        for x, y in product(first, second)
    }
    for alpha in ALPHAS:
        worst = oracles.adaptive_profile([[first], [second]], alpha)
        assert worst == oracles.hockey_stick(both, alpha)
