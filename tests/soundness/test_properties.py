"""What must hold whatever the parameters: order of the bracket, monotonicity, domination."""

import math

import mpmath
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import oracles
from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp.guarantee import best_effort

eps0s = st.floats(1e-3, 20)
few_users = st.integers(1, 40)
many_users = st.floats(0, 10).map(lambda x: round(10**x))
deltas = st.floats(-100, math.log10(0.5)).map(lambda x: 10.0**x)
analyses = st.sampled_from(["clones", "stronger-clones"])
fractions = st.floats(0, 1)
EXAMPLES = settings(max_examples=6)
# the exact product of three rounds grows with the cube of their outcomes: fewer users
mixtures = st.one_of(
    st.lists(st.tuples(few_users, eps0s, analyses), min_size=2, max_size=2),
    st.lists(st.tuples(st.integers(1, 14), eps0s, analyses), min_size=3, max_size=3),
)


@EXAMPLES
@given(few_users, eps0s, fractions, analyses)
def test_single_round_brackets_the_exact_delta(
    users: int, eps0: float, fraction: float, analysis: str
) -> None:
    epsilon = fraction * eps0
    bounds = Shuffle(PureLDP(eps0), users, analysis).delta_bounds(epsilon)
    assert bounds.lower <= oracles.clone_profile(users, eps0, epsilon, analysis) <= bounds.upper


@EXAMPLES
@given(mixtures, fractions)
@example([(1, 20.0, "clones"), (40, 1e-3, "clones")], 0.999)
def test_composition_brackets_the_exact_delta(
    kinds: list[tuple[int, float, str]], fraction: float
) -> None:
    accountant = Accountant()
    for users, eps0, analysis in kinds:
        accountant.compose(Shuffle(PureLDP(eps0), users, analysis))
    epsilon = fraction * math.fsum(eps0 for _, eps0, _ in kinds)
    bounds = accountant.delta_bounds(epsilon, rtol=0.1)
    atoms = [oracles.clone_pair_atoms(*kind) for kind in kinds]
    assert bounds.lower <= oracles.delta_of_product(atoms, epsilon) <= bounds.upper


@EXAMPLES
@given(few_users, eps0s, st.integers(2, 30), deltas)
def test_composed_epsilon_falls_between_bounds_of_composed_delta(
    users: int, eps0: float, rounds: int, delta: float
) -> None:
    """epsilon and delta queries are two readings of one curve."""
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(eps0), users), rounds=rounds)
    bounds = accountant.epsilon_bounds(delta)
    assert 0 <= bounds.lower <= bounds.upper <= rounds * eps0 * (1 + 1e-15)
    assert accountant.delta_bounds(bounds.upper).lower <= delta
    if bounds.lower > 0:
        assert accountant.delta_bounds(bounds.lower).upper >= delta


@EXAMPLES
@given(many_users, eps0s, deltas, analyses)
def test_single_round_is_monotone(users: int, eps0: float, delta: float, analysis: str) -> None:
    """More users, a smaller eps0 or a larger delta never cost more, up to the bracket."""
    here = Shuffle(PureLDP(eps0), users, analysis)
    epsilon = here.epsilon_bounds(delta)
    assert 0 <= epsilon.lower <= epsilon.upper <= eps0
    assert Shuffle(PureLDP(eps0), 2 * users, analysis).epsilon_bounds(delta).lower <= epsilon.upper
    assert Shuffle(PureLDP(eps0 * 1.1), users, analysis).get_epsilon(delta) >= epsilon.lower
    assert here.get_epsilon(delta / 3) >= epsilon.lower
    assert Shuffle(PureLDP(eps0), users, "clones").get_epsilon(delta) >= epsilon.lower


@EXAMPLES
@given(many_users, eps0s, deltas)
def test_delta_falls_with_epsilon(users: int, eps0: float, delta: float) -> None:
    survey = Shuffle(PureLDP(eps0), users)
    epsilon = survey.get_epsilon(delta)
    assume(0 < epsilon < eps0)
    curve = survey.delta_bounds([0.0, 0.5 * epsilon, 0.9 * epsilon, epsilon])
    assert (curve.lower <= curve.upper).all()
    assert (curve.upper[1:] <= curve.upper[:-1] * (1 + 1e-9)).all()
    assert curve.upper[-1] <= delta * (1 + 1e-6)


@settings(max_examples=2)
@given(many_users, eps0s, st.integers(2, 10**5), deltas)
@example(956378825, 16.50431108713036, 2, 1e-25)  # rare losses of eps0 far from all others
def test_composition_is_monotone_and_below_basic_composition(
    users: int, eps0: float, rounds: int, delta: float
) -> None:
    def of(rounds: int) -> Accountant:
        accountant = Accountant()
        accountant.compose(Shuffle(PureLDP(eps0), users), rounds=rounds)
        return accountant

    # smaller deltas may be wide where rare losses are far from all others: then none is narrow
    is_narrow = delta >= 1e-24
    bounds = best_effort(of(rounds).epsilon_bounds, delta, rtol=1e-3 if is_narrow else 0.1)
    if is_narrow:
        assert bounds.upper - bounds.lower <= max(1e-3 * bounds.upper, 1e-6)
    assert of(2 * rounds).get_epsilon(delta, rtol=0.1) >= bounds.lower
    # basic composition: k rounds of (epsilon, delta/k) are (k epsilon, delta)
    alone = Shuffle(PureLDP(eps0), users).get_epsilon(delta / rounds)
    assert bounds.lower <= rounds * alone * (1 + 1e-12)


@settings(max_examples=2)  # all there is to find is an order that matters
@given(st.permutations([(3, 1.0), (500, 2.0), (10**6, 0.5), (1, 0.1)]), deltas)
def test_order_of_rounds_does_not_matter(kinds: list[tuple[int, float]], delta: float) -> None:
    first, second = Accountant(), Accountant()
    for users, eps0 in kinds:
        first.compose(Shuffle(PureLDP(eps0), users))
    for users, eps0 in sorted(kinds):
        second.compose(Shuffle(PureLDP(eps0), users))
    assert first.epsilon_bounds(delta, rtol=0.05) == second.epsilon_bounds(delta, rtol=0.05)


def test_neighbouring_losses_of_one_ulp_do_not_fool_the_lattice() -> None:
    """eps0 that differ by one float must not be merged, dropped or counted twice."""
    one, other = 1.0, math.nextafter(1.0, 2)
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(one), users=3))
    accountant.compose(Shuffle(PureLDP(other), users=3))
    atoms = [oracles.clone_pair_atoms(3, e, "stronger-clones") for e in (one, other)]
    for epsilon in (0.0, 0.7, 1.9, 1.999999):
        bounds = accountant.delta_bounds(epsilon)
        exact = oracles.delta_of_product(atoms, epsilon)
        assert isinstance(exact, mpmath.mpf)
        assert bounds.lower <= exact <= bounds.upper
