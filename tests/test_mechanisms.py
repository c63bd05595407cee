"""Given guarantees against exact sums over their atoms, alone and composed with shuffled rounds."""

import itertools
import math
import pickle
import random
from typing import Any, cast

import mpmath
import numpy as np
import pytest

import oracles
from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.mechanisms import ApproximateDP, GivenPLD, GivenProfile

Pair = list[tuple[mpmath.mpf, mpmath.mpf]]  # probabilities of each outcome under P and Q


def approximate_pair(epsilon: float, delta: float) -> Pair:
    """The four outcomes of the worst (epsilon, delta)-DP mechanism."""
    e, d = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
    large, small = (1 - d) * e / (1 + e), (1 - d) / (1 + e)
    return [(d, mpmath.mpf(0)), (large, small), (small, large), (mpmath.mpf(0), d)]


def hockey_stick(pairs: list[Pair], epsilon: float) -> mpmath.mpf:
    """Of the product, by enumeration of all outcomes."""
    alpha = mpmath.exp(mpmath.mpf(epsilon))
    terms = []
    for outcome in itertools.product(*pairs):
        p = mpmath.fprod(a for a, _ in outcome)
        q = mpmath.fprod(b for _, b in outcome)
        terms.append(max(p - alpha * q, mpmath.mpf(0)))
    return mpmath.fsum(terms)


@pytest.mark.parametrize(
    "kinds",
    [
        [(1.0, 1e-3)],
        [(0.5, 0.0), (1.5, 1e-6)],
        [(0.3, 0.1), (0.7, 1e-9), (0.7, 1e-9), (2.0, 0.0)],
        [(0.0, 1e-4), (0.4, 1e-5), (0.0, 1e-4)],
    ],
)
def test_approximate_dp_against_enumeration(kinds: list[tuple[float, float]]) -> None:
    accountant, pairs = Accountant(), [approximate_pair(*kind) for kind in kinds]
    for kind in kinds:
        accountant.compose(ApproximateDP(*kind))
    total = sum(epsilon for epsilon, _ in kinds)
    for fraction in (0.0, 0.1, 0.37, 0.8, 0.999, 1.2):
        bounds = accountant.delta_bounds(fraction * total)
        exact = hockey_stick(pairs, fraction * total)
        assert bounds.lower <= exact <= bounds.upper
        assert bounds.upper <= exact * 1.01 + 1e-12


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-160, 1e-21])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_tiny_epsilons_can_be_composed(epsilon: float, delta: float) -> None:
    composed = Accountant().compose(ApproximateDP(epsilon, delta), rounds=3)
    assert composed.get_epsilon(1e-5) == 0
    assert composed.get_epsilon(0.0) >= 3 * epsilon
    exact = 1 - (1 - mpmath.mpf(delta)) ** 3
    lower, upper = composed.delta_bounds(0.1)
    assert lower <= exact <= upper <= exact * (1 + 1e-9)


def test_tiny_losses_can_be_composed() -> None:
    given = GivenPLD([1e-200, -1e-200], [0.5, 0.5])
    composed = Accountant().compose(given, rounds=4)
    assert composed.get_epsilon(1e-5) == 0
    assert composed.get_epsilon(0.0) >= 4e-200
    assert GivenPLD([1e-200, 0.0], [1e-200, 1.0], symmetric=True).get_epsilon(0.0) == 1e-200


def test_approximate_dp_says_what_it_was_told() -> None:
    assert ApproximateDP(1.0, 1e-6).get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-9)
    assert ApproximateDP(1.0, 1e-6).get_delta([1.0, 7.0]).tolist() == [1e-6, 1e-6]
    assert ApproximateDP(1.0, 1e-6).epsilon_bounds(0.99e-6) == (math.inf, math.inf)
    assert ApproximateDP(0.7).get_epsilon(0) == 0.7
    assert ApproximateDP(0.0, 1e-6).epsilon_bounds(1e-6) == (0, 0)


def test_nothing_but_infinite_loss() -> None:
    accountant = Accountant()
    accountant.compose(ApproximateDP(0.0, 1e-8), rounds=100)
    exact = 1 - (1 - mpmath.mpf(1e-8)) ** 100
    bounds = accountant.delta_bounds(0.5)
    assert bounds.lower <= exact <= bounds.upper <= exact * (1 + 1e-6)
    assert accountant.get_epsilon(1.01e-6) == 0
    assert accountant.epsilon_bounds(0.99e-6) == (math.inf, math.inf)


def test_a_profile_of_randomized_response_is_randomized_response() -> None:
    """Two rounds of 1-DP randomized response from their true profile at all corners."""
    pair = approximate_pair(1.0, 0.0)
    corners = [0.0, 2.0]
    given = GivenProfile(corners, [float(hockey_stick([pair, pair], e)) for e in corners])
    for epsilon in (0.0, 0.4, 1.1, 1.9):
        bounds = given.delta_bounds(epsilon)
        exact = hockey_stick([pair, pair], epsilon)
        assert bounds.upper >= exact * (1 - 1e-15)
        assert bounds.upper <= exact * (1 + 1e-9)


def test_a_profile_is_the_convex_hull_of_its_guarantees() -> None:
    """A guarantee above the chord of its neighbours adds nothing; one below another replaces it."""
    plain = GivenProfile([0.5, 2.0], [1e-2, 1e-6])
    more = GivenProfile([2.0, 1.0, 0.5, 2.5, 2.0], [1e-6, 9.9e-3, 1e-2, 1e-5, 1e-3])
    for epsilon in (0.0, 0.3, 0.5, 1.0, 1.7, 2.0, 3.0):
        assert more.delta_bounds(epsilon) == plain.delta_bounds(epsilon)
    # between the guarantees: the chord in e^epsilon
    weight = (math.exp(2) - math.exp(1)) / (math.exp(2) - math.exp(0.5))
    assert plain.get_delta(1.0) == pytest.approx(weight * 1e-2 + (1 - weight) * 1e-6, rel=1e-12)
    # at 0, total variation: the best of what each guarantee implies
    implied = [d + (1 - d) * math.tanh(e / 2) for e, d in ((0.5, 1e-2), (2.0, 1e-6))]
    assert plain.get_delta(0.0) == pytest.approx(min(implied), rel=1e-12)


def asymmetric() -> tuple[Pair, GivenPLD]:
    """Outcomes with a loss of either sign, one that only P has and one that only Q has."""
    p = [0.5, 0.25, 0.125, 0.0625, 0.0625, 0.0]
    q = [0.25, 0.25, 0.3125, 0.125, 0.0, 0.0625]
    losses = [math.log(a / b) for a, b in zip(p[:4], q[:4], strict=True)]
    pair = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(p, q, strict=True)]
    return pair, GivenPLD(losses, p[:4], 0.0625)


def test_an_asymmetric_pld_covers_both_orders() -> None:
    pair, given = asymmetric()
    swapped = [(q, p) for p, q in pair]
    for epsilon in (0.0, 0.2, 0.5, 0.69, 0.8, 1.0):
        exact = max(hockey_stick([pair], epsilon), hockey_stick([swapped], epsilon))
        assert exact <= given.get_delta(epsilon) <= exact + 1e-12
    accountant = Accountant()
    accountant.compose(given, rounds=2)
    accountant.compose(ApproximateDP(0.4, 1e-3))
    other = approximate_pair(0.4, 1e-3)
    for epsilon in (0.0, 0.3, 0.9, 1.5):
        orders = ([pair, pair, other], [swapped, swapped, other])
        assert accountant.get_delta(epsilon) >= max(hockey_stick(o, epsilon) for o in orders)


def test_both_orders_given_are_those_derived() -> None:
    _, given = asymmetric()
    losses, masses = np.array(given.losses), np.array(given.masses)
    reverse = GivenPLD(-losses, masses * np.exp(-losses), 0.0625)
    both = GivenPLD(losses, masses, 0.0625, reverse=reverse)
    for epsilon in (0.0, 0.4, 0.8, 2.0):
        assert both.get_delta(epsilon) == pytest.approx(given.get_delta(epsilon), rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_larger_order_is_charged_with_its_own_rounding(seed: int) -> None:
    """Of one order there are infinite losses only, as many as the other order's delta, a sum of
    rounded terms, is before rounding: to the next double below."""
    draw = random.Random(seed)
    losses = [draw.uniform(0.1, 3.0) for _ in range(10)]
    masses = [draw.random() / 20 for _ in losses]
    terms = zip(losses, masses, strict=True)
    with mpmath.workdps(40):
        truth = mpmath.fsum(mpmath.mpf(m) * -mpmath.expm1(-mpmath.mpf(x)) for x, m in terms)
        infinite = float(truth)
        if infinite > truth:
            infinite = math.nextafter(infinite, 0.0)
        left = [*masses, 1 - math.fsum(masses)]
        other = GivenPLD([*losses, -0.5], left, symmetric=True)
        lower, upper = GivenPLD([-1.0], [1 - infinite], infinite, reverse=other).delta_bounds(0.0)
        assert lower <= truth <= upper


def test_mass_is_missing_however_large_a_rare_loss_is() -> None:
    """Q has 4e-13 where P has nothing; one loss of P that Q never sees is 500."""
    given = GivenPLD(losses=[4e-13, 500.0], masses=[1.0, 1e-20])
    assert 3.9e-13 < given.get_delta(1.0) < 4.1e-13


def test_missing_mass_is_infinite_loss() -> None:
    given = GivenPLD([0.1, -0.1], [0.5, 0.4], symmetric=True)
    assert given.epsilon_bounds(0.09) == (math.inf, math.inf)
    assert given.get_delta(1.0) == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize("rounds", [1, 3])
def test_given_and_shuffled_against_convolved_atoms(rounds: int) -> None:
    """delta of the product = sum over the atoms of one of mass times profile of the other."""
    survey = [oracles.clone_pair_atoms(6, 1.5, "stronger-clones")] * rounds
    epsilon0, delta0 = 0.8, 1e-4
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(1.5), users=6), rounds=rounds)
    accountant.compose(ApproximateDP(epsilon0, delta0))
    pair = [(p, mpmath.log(p / q)) for p, q in approximate_pair(epsilon0, delta0) if p > 0 < q]
    for epsilon in (0.0, 0.3, 1.0, 1.9):
        exact = delta0 + mpmath.fsum(
            p * oracles.delta_of_product(survey, float(epsilon - loss))
            for p, loss in pair
            if epsilon >= loss
        )
        # below epsilon = 0 the profile of the rounds is 1 - alpha + alpha f(1/alpha)
        for p, loss in pair:
            if epsilon < loss:
                alpha = mpmath.exp(epsilon - loss)
                mirrored = oracles.delta_of_product(survey, float(loss - epsilon))
                exact += p * (1 - alpha + alpha * mirrored)
        bounds = accountant.delta_bounds(epsilon)
        assert bounds.lower * (1 - 1e-13) <= exact <= bounds.upper * (1 + 1e-13)


def test_given_mechanisms_are_values() -> None:
    _, pld = asymmetric()
    for mechanism in (pld, ApproximateDP(1.0, 1e-6), GivenProfile([1.0], [1e-3])):
        twin = pickle.loads(pickle.dumps(mechanism))
        assert twin == mechanism
        assert hash(twin) == hash(mechanism)
        accountant = Accountant()
        accountant.compose(mechanism)
        accountant.compose(twin)
        assert len(accountant.rounds) == 1
        assert "given" in str(accountant)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ApproximateDP(-1.0), InvalidParameter, "epsilon=-1 is negative"),
        (lambda: ApproximateDP(1.0, 1.5), InvalidParameter, r"delta=1.5 is outside \[0, 1\]"),
        (lambda: ApproximateDP(1.0, math.nan), InvalidParameter, "not finite"),
        (lambda: ApproximateDP(501.0), OutOfRange, "above 500"),
        (lambda: GivenProfile([1.0, 2.0], [0.1]), InvalidParameter, "2 epsilons and 1 deltas"),
        (lambda: GivenProfile([], []), InvalidParameter, "empty"),
        (lambda: GivenProfile(cast(Any, "1"), [0.1]), InvalidParameter, "not a list"),
        (lambda: GivenPLD([1.0], [0.5, 0.5]), InvalidParameter, "1 losses and 2 masses"),
        (lambda: GivenPLD([1.0], [-0.5]), InvalidParameter, "probabilities >= 0"),
        (lambda: GivenPLD([1.0], [1.2]), InvalidParameter, "sum to 1.2"),
        (lambda: GivenPLD([-2.0], [0.9]).profile, InvalidParameter, "Q = P e"),
        (lambda: GivenPLD([900.0], [0.5]), OutOfRange, "beyond 500"),
        (lambda: GivenPLD([1.0], [0.5], 1.5), InvalidParameter, r"outside \[0, 1\]"),
        (lambda: GivenPLD(cast(Any, [[1.0]]), [0.5]), InvalidParameter, "not a number"),
        (lambda: GivenPLD([np.inf], np.array([0.5])), InvalidParameter, "not finite"),
        (
            lambda: GivenPLD(np.array(1.0), [0.5]),
            InvalidParameter,
            r"losses=array\(1.\) is not a list",
        ),
        (lambda: GivenPLD([1], [1], symmetric=cast(Any, "no")), InvalidParameter, "symmetric='no'"),
        (lambda: GivenPLD([1.0], [0.5], reverse=cast(Any, 3)), InvalidParameter, "not a GivenPLD"),
        (
            lambda: GivenPLD([1.0], [0.5], symmetric=True, reverse=GivenPLD([1.0], [0.5])),
            InvalidParameter,
            "contradicts",
        ),
        (lambda: Accountant().compose(cast(Any, 0.5)), InvalidParameter, "not a round"),
    ],
)
def test_mistakes_are_named_in_one_sentence(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_the_least_epsilon_of_a_guarantee_is_as_documented() -> None:
    for given in (ApproximateDP(1e-25), GivenProfile([1e-25], [0.0])):
        assert 0 < given.epsilon_bounds(1e-30).lower <= given.get_epsilon(0) == 1e-20
        assert "between 0 and 1e-20 counts as 1e-20" in " ".join((given.__doc__ or "").split())
