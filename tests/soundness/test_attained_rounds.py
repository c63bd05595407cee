"""What several rounds attain, against the product of the laws of actual neighbouring datasets."""

from __future__ import annotations

import math
import random
import warnings
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

import oracles
from oracles import randomizers as written
from shuffledp import (
    Accountant,
    Aggregate,
    FiniteRandomizer,
    Gaussian,
    Laplace,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
)
from shuffledp.bounds.certified_rounds import CertifiedRounds
from shuffledp.guarantee import best_effort
from shuffledp.laws.class_law import ClassLaws
from shuffledp.laws.matrix_law import pair_law
from shuffledp.mechanisms import ApproximateDP
from shuffledp.profiles.base import PairProfile
from shuffledp.profiles.parts import round_profile
from shuffledp.randomizers import REGISTRY, Randomizer

EPSILONS = (0.0, 0.5, 2.5)
Values = tuple[int, int]


def product_of(pairs: list[oracles.FractionPair]) -> list[tuple[Fraction, Fraction]]:
    joint: dict[tuple[object, ...], tuple[Fraction, Fraction]] = {(): (Fraction(1), Fraction(1))}
    for pair in pairs:
        joint = {
            (*key, other): (p * a, q * b)
            for (key, (p, q)), (other, (a, b)) in product(joint.items(), pair.items())
        }
    return list(joint.values())


def divergence(joint: list[tuple[Fraction, Fraction]], alpha: Fraction) -> Fraction:
    return sum((max(p - alpha * q, Fraction(0)) for p, q in joint), Fraction(0))


def datasets(
    rows: written.Rows, values: tuple[int, int], others: list[int]
) -> oracles.FractionPair:
    first, second = (oracles.shuffled_mechanism(rows, [x, *others]) for x in values)
    return {
        key: (first.get(key, Fraction(0)), second.get(key, Fraction(0)))
        for key in {**first, **second}
    }


def pair_of(rows: written.Rows, values: Values, holder: int, users: int) -> PairProfile:
    matrix = np.array(rows, dtype=float)
    law = ClassLaws((pair_law(matrix[values[0]], matrix[values[1]], matrix[holder]),))
    return PairProfile(round_profile(law, users), round_profile(law.reversed, users))


@pytest.mark.parametrize(("users", "zeros"), [(2, False), (3, True)])
def test_the_larger_order_of_a_product_of_pairs(users: int, zeros: bool) -> None:
    """Two rounds of one pair and one of another, none of them symmetric."""
    rng = random.Random(10 * users + zeros)
    rows = written.random_rows(3, 3, rng, zeros)
    for values, holder in (((0, 1), 2), ((2, 0), 0)):
        pair, other = pair_of(rows, values, holder, users), pair_of(rows, (1, 2), 1, users)
        exact = [datasets(rows, values, [holder] * (users - 1))] * 2
        exact += [datasets(rows, (1, 2), [1] * (users - 1))]
        forth = product_of(exact)
        back = [(q, p) for p, q in forth]
        rounds = CertifiedRounds([(pair, 2), (other, 1)])
        for epsilon in EPSILONS:
            alpha = written.exact_exp(epsilon)
            truth = float(max(divergence(forth, alpha), divergence(back, alpha)))
            bounds = best_effort(rounds.delta_bounds, epsilon, 1e-3)
            assert bounds.lower <= truth * (1 + 1e-9)  # rows were rounded
            assert truth <= bounds.upper * (1 + 1e-9) + 1e-15
            assert bounds.lower >= 0.9 * truth - 1e-12


@pytest.mark.parametrize("zeros", [False, True])
def test_two_rounds_against_all_datasets(zeros: bool) -> None:
    rng = random.Random(zeros)
    pairs, accountant = [], Accountant()
    for _ in range(2):
        matrix = [[float(p) for p in row] for row in written.random_rows(2, 3, rng, zeros)]
        law = partial(oracles.shuffled_mechanism, written.exact_rows(matrix))
        pairs.append(oracles.neighbours(2, 3, law))
        accountant.compose(Shuffle(FiniteRandomizer(matrix), 3))
    products = [product_of([a, b]) for a in pairs[0] for b in pairs[1]]
    for epsilon in EPSILONS:
        alpha = written.exact_exp(epsilon)
        truth = float(max(divergence(joint, alpha) for joint in products))
        attained = accountant.attained_delta(epsilon, rtol=0.01)
        assert attained <= truth * (1 + 1e-12)
        assert attained >= (0.0 if zeros else 0.5) * truth


@pytest.mark.parametrize("name", sorted({*REGISTRY} - {"gaussian", "laplace"}))  # which take long
def test_every_randomizer_attains_more_in_several_rounds(name: str) -> None:
    randomizer = REGISTRY[name](**REGISTRY[name].example)
    survey = Shuffle(randomizer, 20)
    accountant = Accountant().compose(survey, 2)
    attained = accountant.attained_epsilon(1e-4, rtol=0.1)
    assert (
        survey.attained_epsilon(1e-4, rtol=0.1) < attained <= accountant.get_epsilon(1e-4, rtol=0.1)
    )
    if name == "rr":  # the same search for all
        delta = accountant.attained_delta(attained / 2, rtol=0.1)
        upper = accountant.get_delta(attained / 2, rtol=0.1)
        assert survey.attained_delta(attained / 2, rtol=0.1) < delta <= upper


@pytest.mark.parametrize(
    "options",
    [{"sample_rate": 0.5}, {"sample_rate": 0.5, "sampling": "poisson"}, {"messages": 2}],
)
def test_unusual_rounds(options: dict[str, float]) -> None:
    survey = Shuffle(RandomizedResponse(3, eps0=1.0), 100, **options)  # type: ignore[arg-type]
    accountant = Accountant().compose(survey, 3)
    attained = accountant.attained_epsilon(1e-3, rtol=0.05)
    assert 0 < survey.attained_epsilon(1e-3) < attained <= accountant.get_epsilon(1e-3, rtol=0.05)


def test_the_attained_pair_of_one_user_is_the_composition_itself() -> None:
    """Nobody else to hide among: randomized response, in closed form."""
    accountant = Accountant().compose(Shuffle(PureLDP(0.5), 1), 40)
    exact = float(oracles.randomized_response_epsilon(0.5, 40, 1e-6))
    assert exact * (1 - 2e-2) <= accountant.attained_epsilon(1e-6) <= exact * (1 + 1e-12)


@pytest.mark.parametrize(
    ("eps0", "users", "delta", "known"),
    [
        (4.0, 10**4, 1e-6, 0.40663),
        (1.0, 10**4, 1e-6, 0.03800),
        (2.0, 1000, 1e-6, 0.37197),
        (6.0, 10**6, 1e-9, 0.144153),
    ],
)
def test_ternary_randomized_response_attains_most_of_the_general_bound(
    eps0: float, users: int, delta: float, known: float
) -> None:
    """Figures of an independent computation, rounded in the last digit."""
    attained = Shuffle(PureLDP(eps0), users).attained_epsilon(delta)
    assert attained == pytest.approx(known, rel=2e-4)


@pytest.mark.parametrize("users", [2, 3, 4])
def test_pure_ldp_attains_what_binary_and_ternary_response_do(users: int) -> None:
    """Both are eps0-LDP, so that their datasets count, and the worst of them is found."""
    eps0 = 1.5
    grow = written.exact_exp(eps0)
    tables = [
        [[(grow if x == y else 1) / (grow + k - 1) for y in range(k)] for x in range(k)]
        for k in (2, 3)
    ]
    pairs = [datasets(tables[0], (0, 1), [1] * (users - 1))]
    pairs += [datasets(tables[0], (1, 0), [1] * (users - 1))]
    pairs += [datasets(tables[1], (0, 1), [2] * (users - 1))]
    for epsilon in (0.0, 0.1, 0.4, 0.8, 1.4):
        alpha = written.exact_exp(epsilon)
        truth = float(max(divergence([*pair.values()], alpha) for pair in pairs))
        attained = Shuffle(PureLDP(eps0), users).attained_delta(epsilon)
        assert truth * (1 - 1e-3) <= attained <= truth * (1 + 1e-12)


def test_several_rounds_attain_the_larger_of_both_orders() -> None:
    """Independent figures, good to 1e-4: ten rounds of Gaussian noise with sigma = 1.426215 are ten
    random allocations of 100 steps in two orders, 0.94273 and 0.92333."""
    accountant = Accountant().compose(Shuffle(Gaussian(1.426215), 100), 10)
    assert 0.9418 <= accountant.attained_epsilon(1e-5) <= 0.94273 * (1 + 2e-4)


def test_the_ends() -> None:
    survey, noise = Shuffle(RandomizedResponse(3, eps0=1.0), 10), Shuffle(Gaussian(1.0), 10)
    accountant = Accountant().compose(survey, 3)
    assert 3 - 1e-9 <= accountant.attained_epsilon(0) <= 3
    assert accountant.attained_epsilon(1) == 0
    assert accountant.attained_delta(3.0) == accountant.attained_delta(100.0) == 0
    assert Accountant().attained_epsilon(1e-6) == Accountant().attained_delta(0) == 0
    assert Accountant().attained_epsilon(0) == 0
    assert accountant.compose(noise).attained_epsilon(0) == math.inf
    given = ApproximateDP(1.0, 1e-6)
    assert given.attained_epsilon(1e-6) == given.attained_delta(0) == 0
    assert Accountant().compose(given, 2).attained_epsilon(1e-6) == 0
    mixed = Accountant().compose(given).compose(survey, 2)
    assert mixed.attained_delta(0.5) == Accountant().compose(survey, 2).attained_delta(0.5)


@pytest.mark.parametrize("randomizer", [Laplace(eps0=1.0), RandomizedResponse(4, eps0=2.0)])
def test_rounds_that_differ_a_little(randomizer: Randomizer) -> None:
    users = [50, 53]
    accountant = Accountant()
    for n in users:
        accountant.compose(Shuffle(randomizer, n))
    fewest = Accountant().compose(Shuffle(randomizer, 50), 2).attained_epsilon(1e-6, rtol=0.01)
    value = accountant.attained_epsilon(1e-6, rtol=0.01)
    assert 0.95 * fewest <= value <= 1.01 * fewest


def test_a_pair_that_loses_nothing_or_everything_in_one_order() -> None:
    """Value 2 sends one message only: if all others hold it, the other message tells everything in
    one order, whose finite losses are negative, and no lattice fits its positive ones. There is no
    warning."""
    rows = ((0.5, 0.5), (0.25, 0.75), (1.0, 0.0))
    rounds = Accountant().compose(Shuffle(FiniteRandomizer(rows), 1000), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 1 - 0.51**3 < rounds.attained_delta(20.0) <= 1 - 0.25**3


def test_a_missing_user_is_missing_from_all_rounds() -> None:
    """In one order of the neighbours the first kind loses log 5 and the second log 9/5, in the
    other one it is the reverse: no order has log 5 twice."""
    first = Aggregate(UnaryEncoding(4, p=0.5, q=0.1), 50, neighbours="remove")
    second = Aggregate(UnaryEncoding(4, p=0.9, q=0.5), 50, neighbours="remove")
    both = Accountant().compose(first).compose(second)
    assert math.log(9) - 1e-9 <= both.attained_epsilon(0) <= math.log(9)
    assert both.attained_epsilon(0) <= both.get_epsilon(0)
    more = Accountant().compose(first, 3).compose(second)
    exact = 3 * math.log(5) + math.log(9 / 5)
    assert exact - 1e-9 <= more.attained_epsilon(0) <= exact
    twice = Accountant().compose(first, 2)
    assert 2 * math.log(5) - 1e-9 <= twice.attained_epsilon(0) <= 2 * math.log(5)


def test_values_that_no_other_user_covers_are_composed() -> None:
    """Two users, one of whom holds the value that only the third output tells: no output of the
    pair is covered by the other user, and the loss is infinite."""
    survey = Shuffle(FiniteRandomizer([[0.5, 0.5, 0], [0.2, 0.8, 0], [0, 0, 1]]), 2)
    twice = Accountant().compose(survey, 2)
    assert 0.999 <= twice.attained_delta(0.1) <= twice.get_delta(0.1) <= 1
