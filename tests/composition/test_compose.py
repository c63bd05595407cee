"""Compositions against brute-force convolution of the exact atoms and against closed forms."""

import copy
import math
import pickle
import threading
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import oracles
from covering import covering
from shuffledp import Accountant, Gaussian, PureLDP, Shuffle, tuning
from shuffledp.bounds.composed import delta_bounds, epsilon_bounds
from shuffledp.composition.compose import Composition
from shuffledp.errors import InvalidParameter
from shuffledp.laws.density_law import DensityLaw
from shuffledp.profiles.base import PairProfile
from shuffledp.profiles.class_profile import DensityProfile
from shuffledp.randomizers import NoisyHistogram

Kind = tuple[int, float, str]  # users, eps0, analysis


def accountant_of(*kinds: Kind) -> Accountant:
    accountant = Accountant()
    for users, eps0, analysis in kinds:
        accountant.compose(Shuffle(PureLDP(eps0), users, analysis))
    return accountant


def atoms_of(*kinds: Kind) -> list[list[oracles.Atom]]:
    return [oracles.clone_pair_atoms(*kind) for kind in kinds]


S, C = "stronger-clones", "clones"
MIXTURES: list[list[Kind]] = [
    [(2, 1.0, S), (2, 1.0, S)],
    [(5, 2.0, S), (9, 0.7, C)],
    [(60, 1.0, S), (40, 2.0, C)],
    [(1, 3.0, S), (7, 1.5, S), (4, 0.4, C)],
    [(6, 8.0, S), (3, 0.01, S), (10, 2.5, C)],
    [(2, 0.5, S), (3, 1.0, C), (4, 2.0, S), (5, 3.0, C)],
    [(1, 20.0, S), (8, 1e-3, S), (2, 5.0, C), (8, 1.0, S)],
]


@pytest.mark.parametrize("kinds", MIXTURES)
def test_delta_against_convolved_atoms(kinds: list[Kind]) -> None:
    accountant, atoms = accountant_of(*kinds), atoms_of(*kinds)
    total = sum(eps0 for _, eps0, _ in kinds)
    epsilons = [fraction * total for fraction in (0.0, 0.3, 0.999)]
    for epsilon, lower, upper in zip(epsilons, *accountant.delta_bounds(epsilons), strict=True):
        assert lower <= oracles.delta_of_product(atoms, epsilon) <= upper


@pytest.mark.parametrize(("kinds", "delta"), covering(MIXTURES[:5], [0.2, 1e-3, 1e-8, 1e-30]))
def test_epsilon_against_convolved_atoms(kinds: list[Kind], delta: float) -> None:
    """delta(epsilon) falls: the exact epsilon is in the bracket iff delta is in its image."""
    atoms = atoms_of(*kinds)
    bounds = accountant_of(*kinds).epsilon_bounds(delta)
    assert oracles.delta_of_product(atoms, bounds.upper) <= delta
    assert bounds.lower == 0 or oracles.delta_of_product(atoms, bounds.lower) >= delta
    assert bounds.upper - bounds.lower <= max(1e-3 * bounds.upper, 1e-6)


@pytest.mark.parametrize(
    ("eps0", "rounds", "delta"),
    covering([0.01, 0.5, 3.0], [2, 30, 5000], [0.1, 1e-6, 1e-90], every=3),
)
def test_one_user_is_repeated_randomized_response(eps0: float, rounds: int, delta: float) -> None:
    """A binomial sum, far below the floor of a plain FFT."""
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(eps0), users=1), rounds=rounds)
    exact = max(oracles.randomized_response_epsilon(eps0, rounds, delta), mpmath.mpf(0))
    bounds = accountant.epsilon_bounds(delta)
    assert bounds.lower <= exact <= bounds.upper
    assert bounds.upper - bounds.lower <= 1e-4 * bounds.upper
    at = float(exact) * 0.99
    exact_delta = oracles.randomized_response_composition(eps0, rounds, at)
    deltas = accountant.delta_bounds(at)
    assert deltas.lower <= exact_delta <= deltas.upper


def test_four_identical_rounds_against_convolved_atoms() -> None:
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(2.0), users=12), rounds=4)
    atoms = atoms_of((12, 2.0, S)) * 4
    for epsilon in (0.0, 0.5, 2.0, 5.0):
        bounds = accountant.delta_bounds(epsilon)
        assert bounds.lower <= oracles.delta_of_product(atoms, epsilon) <= bounds.upper


def test_anchor_four_rounds() -> None:
    """n = 10^4, eps0 = 4: delta(1.0) = 1.8996e-13 after two rounds and 3.3135e-8 after four."""
    for rounds, exact in ((2, 1.8996e-13), (4, 3.3135e-8)):
        accountant = Accountant()
        accountant.compose(Shuffle(PureLDP(4.0), users=10_000), rounds=rounds)
        bounds = accountant.delta_bounds(1.0, rtol=1e-4)
        assert bounds.lower < exact * (1 + 2e-5)
        assert bounds.upper > exact * (1 - 2e-5)
        assert bounds.upper / bounds.lower < 1.003


def test_rounds_multiply_exactly_once() -> None:
    survey = Shuffle(PureLDP(3.0), users=500)
    at_once, one_by_one, named = Accountant(), Accountant(), Accountant()
    at_once.compose(survey, rounds=3)
    for _ in range(3):
        one_by_one.compose(survey)
    named.compose(Shuffle(PureLDP(3), 500, "stronger-clones"), rounds=2)
    named.compose(survey)
    expected = at_once.epsilon_bounds(1e-7, rtol=0.05)
    assert one_by_one.epsilon_bounds(1e-7, rtol=0.05) == expected
    assert named.epsilon_bounds(1e-7, rtol=0.05) == expected
    assert at_once.delta_bounds(0.4, rtol=0.05) == one_by_one.delta_bounds(0.4, rtol=0.05)


def test_composing_can_be_chained_and_counts_may_be_positional() -> None:
    survey, other = Shuffle(PureLDP(3.0), users=500), Shuffle(PureLDP(1.0), users=50)
    accountant = Accountant()
    assert accountant.compose(survey, 2).compose(other) is accountant
    assert accountant.rounds == ((survey, 2), (other, 1))
    with pytest.raises(InvalidParameter, match="rounds=0 is below 1"):
        accountant.compose(survey, 0)
    assert accountant.total_rounds == 3


def test_one_composed_round_is_the_round() -> None:
    survey = Shuffle(PureLDP(4.0), users=10_000)
    accountant = Accountant()
    accountant.compose(survey)
    assert accountant.epsilon_bounds(1e-6) == survey.epsilon_bounds(1e-6)
    assert accountant.delta_bounds(0.3) == survey.delta_bounds(0.3)


def test_single_round_and_composition_engines_agree() -> None:
    """A second round of next to no loss: two engines, one answer."""
    survey = Shuffle(PureLDP(4.0), users=10_000)
    accountant = Accountant()
    accountant.compose(survey)
    accountant.compose(Shuffle(PureLDP(1e-3), users=10**10))
    alone, together = survey.epsilon_bounds(1e-6), accountant.epsilon_bounds(1e-6)
    assert together.lower <= alone.upper * (1 + 1e-6)
    assert together.upper >= alone.lower


def test_pure_dp_is_the_sum_rounded_up() -> None:
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(0.1), users=100), rounds=3)
    accountant.compose(Shuffle(PureLDP(1.7), users=5))
    exact = 3 * mpmath.mpf(0.1) + mpmath.mpf(1.7)
    bounds = accountant.epsilon_bounds(0.0)
    assert exact <= bounds.upper <= exact * (1 + mpmath.mpf(2) ** -52)
    assert accountant.delta_bounds(bounds.upper) == (0.0, 0.0)


def test_empty_accountant_loses_nothing() -> None:
    assert Accountant().epsilon_bounds([0.0, 1e-6]).upper.tolist() == [0.0, 0.0]
    assert Accountant().delta_bounds(0.0) == (0.0, 0.0)


def test_copies_are_independent() -> None:
    survey = Shuffle(PureLDP(1.0), users=100)
    first = Accountant()
    first.compose(survey, rounds=2)
    before = first.get_epsilon(1e-5, rtol=0.05)
    for twin in (first.copy(), copy.copy(first), copy.deepcopy(first)):
        twin.compose(survey)
        assert twin.total_rounds == 3
        assert twin.get_epsilon(1e-5, rtol=0.05) > before
    assert first.total_rounds == 2
    assert first.get_epsilon(1e-5, rtol=0.05) == before


def test_a_printed_accountant_says_what_was_composed() -> None:
    accountant = accountant_of((100, 1.0, S), (5000, 2.0, C))
    accountant.compose(Shuffle(PureLDP(1.0), 100, S), rounds=41)
    assert str(accountant).splitlines() == [
        "rounds  users  analysis         randomizer",
        "    42    100  stronger-clones  PureLDP(eps0=1.0)",
        "     1  5,000  clones           PureLDP(eps0=2.0)",
        "43 rounds in all, replace-one neighbours",
    ]
    assert repr(accountant) == "<Accountant: 43 rounds of 2 kinds>"


def test_narrower_brackets_on_request() -> None:
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(4.0), users=100), rounds=2)
    wide, narrow = accountant.epsilon_bounds(1e-6), accountant.epsilon_bounds(1e-6, rtol=3e-5)
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper
    assert math.isclose(narrow.lower, narrow.upper, rel_tol=3e-5)


def test_an_answer_is_never_for_fewer_rounds_than_were_composed() -> None:
    """One thread asks while another composes; what is asked afterwards counts every round."""
    survey = Shuffle(PureLDP(2.0), users=1000)
    expected = Accountant()
    expected.compose(survey, rounds=40)
    accountant = Accountant()
    accountant.compose(survey, rounds=2)
    asking = threading.Thread(
        target=lambda: [accountant.get_epsilon(1e-6, rtol=0.05) for _ in range(3)]
    )
    asking.start()
    workers = [
        threading.Thread(target=accountant.compose, args=(survey,), kwargs={"rounds": 2})
        for _ in range(19)
    ]
    for worker in workers:
        worker.start()
    for worker in [*workers, asking]:
        worker.join()
    assert accountant.total_rounds == 40
    assert accountant.get_epsilon(1e-6, rtol=0.05) == expected.get_epsilon(1e-6, rtol=0.05)


def test_an_accountant_survives_pickling() -> None:
    accountant = accountant_of((100, 1.0, S), (5000, 2.0, C))
    twin = pickle.loads(pickle.dumps(accountant))
    assert twin.rounds == accountant.rounds
    assert twin.get_epsilon(1e-6, rtol=0.05) == accountant.get_epsilon(1e-6, rtol=0.05)


@pytest.mark.parametrize(
    ("kinds", "epsilon"),
    [
        # largest losses that almost coincide with lattice points, and with each other
        ([(1, 1.0, S), (1, 0.5 * (1 + 9e-15), S)], 1.5000000000000044),
        ([(1, 1.0, S), (1, 1 + 9e-15, S)], 2.000000000000009),
        # close to the largest loss of all
        ([(2, 0.029835986826468413, C), (2, 3.2773708201520673e-4, S)], 0.030163),
        ([(6, 6.5, S), (10, 3.75e-4, S)], 6.50037),
    ],
)
def test_delta_close_to_the_largest_loss(kinds: list[Kind], epsilon: float) -> None:
    bounds = accountant_of(*kinds).delta_bounds(epsilon)
    assert bounds.lower <= oracles.delta_of_product(atoms_of(*kinds), epsilon) <= bounds.upper


def test_rounds_of_very_different_scale() -> None:
    """Many rounds of one user decide; their losses must sit on the lattice."""
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(1.26871864469453), 1, C), rounds=469_487)
    accountant.compose(Shuffle(PureLDP(10.94734284840965), 1, C), rounds=19)
    accountant.compose(Shuffle(PureLDP(10.949278929726018), 188_927), rounds=118)
    bounds = accountant.epsilon_bounds(1e-6)
    assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper
    far = Accountant()
    far.compose(Shuffle(PureLDP(0.003214932666799516), 105_353_898, C), rounds=681)
    delta = far.delta_bounds(0.00016841307770471323)
    assert 0 < delta.lower <= delta.upper < 1e-80
    total_variation = Accountant()
    total_variation.compose(Shuffle(PureLDP(20.0), 1))
    total_variation.compose(Shuffle(PureLDP(1e-3), 10**10), rounds=10**6)
    assert total_variation.delta_bounds(0.0).lower > 0.999


def test_the_order_of_the_kinds_does_not_matter() -> None:
    """Not even in the last bit, and whatever the profiles are called."""
    rounds = [(Shuffle(PureLDP(eps0), users).profile, 2) for users, eps0 in ((50, 1.0), (9, 0.5))]
    rounds.append((Shuffle(PureLDP(1.0), 60).profile, 1))
    answers = set()
    for order in (rounds, rounds[::-1], [*rounds[1:], rounds[0]]):
        composition = Composition(order)
        answers.add((epsilon_bounds(composition, 1e-5, 0.05), delta_bounds(composition, 1.0, 0.05)))
    assert len(answers) == 1


def test_deltas_are_trivial_where_every_lattice_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    composition = Composition([(Shuffle(PureLDP(1.0), 50).profile, 3)])
    monkeypatch.setattr(tuning, "MAX_POINTS", 1)
    lower, upper = composition.deltas(np.array([0.1, 1.0]), 1e-6, 1e-3)
    assert lower.tolist() == [0.0, 0.0]
    assert upper.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rounds", [2, 20])
def test_infinite_losses_decide(rounds: int) -> None:
    """Poisson noise of mean 1 that is 0 tells everything: with probability 1/e in each round."""
    accountant = Accountant().compose(Shuffle(NoisyHistogram(poisson=0.5), 2), rounds=rounds)
    told = -math.expm1(rounds * math.log1p(-math.exp(-1)))
    assert accountant.epsilon_bounds(told * (1 - 1e-9)).lower == math.inf
    assert accountant.epsilon_bounds((1 + told) / 2).upper < math.inf
    lower, upper = accountant.delta_bounds(1e3)
    assert told * (1 - 1e-9) <= lower <= told * (1 + 1e-9)
    assert told <= upper <= 1.001 * told


def test_a_pair_with_large_losses_in_one_order_only() -> None:
    """Few negative losses are large, and many small: both are sampled as finely as they count."""
    law = DensityLaw(Gaussian(1.0), attained=True)
    orders = (DensityProfile(replace(law, order=order), 10, 990) for order in (0, 1))
    lower, upper = epsilon_bounds(Composition([(PairProfile(*orders), 1000)]), 1e-6, 1e-3)
    assert 0 < upper - lower <= 1e-3 * upper
