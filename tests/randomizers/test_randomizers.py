"""Named randomizers: their bounds against enumeration."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import oracles
from covering import covering
from oracles.randomizers import Rows, randomized_response
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    adversaries,
)
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.randomizers import HadamardResponse, LocalHashing, Randomizer, SubsetSelection


@pytest.mark.parametrize(("k", "users"), covering([2, 3, 4], [1, 2, 4, 6]))
def test_randomized_response_against_the_adversaries_views(k: int, users: int) -> None:
    """strong and blanket against rational enumeration of what the adversary sees."""
    gamma = Fraction(1, 2)
    matrix = randomized_response(k, gamma)
    views = {
        "strong": oracles.strong_pair(k, gamma, users),
        "blanket": oracles.blanket_pair(matrix[0], matrix[1], [gamma / k] * k, users),
    }
    for analysis, pair in views.items():
        survey = Shuffle(RandomizedResponse(k, gamma=0.5), users, analysis)
        for alpha in (Fraction(1), Fraction(9, 8), Fraction(3, 2), Fraction(5, 2), Fraction(7)):
            exact = float(oracles.hockey_stick(pair, alpha))
            bounds = survey.delta_bounds(math.log(alpha))
            assert bounds.lower <= exact * (1 + 1e-13)
            assert exact * (1 - 1e-13) <= bounds.upper
            assert bounds.upper - bounds.lower <= 2e-3 * exact + 1e-290


def test_strong_adversary_of_the_errata() -> None:
    """n = 4, k = 3, gamma = 1/2, alpha = 3/2: 0.3067 and 0.2195, not 0.7301 and 0.5054."""
    randomizer = RandomizedResponse(3, gamma=0.5)
    for analysis, value in (("strong", 0.3067), ("blanket", 0.2195)):
        bounds = Shuffle(randomizer, 4, analysis).delta_bounds(math.log(1.5))
        assert bounds.upper == pytest.approx(value, abs=2e-4)


def test_anchors_of_randomized_response() -> None:
    """n = 1000, k = 4, gamma = 0.25."""
    randomizer = RandomizedResponse(4, gamma=0.25)
    for delta, strong, blanket, attained in (
        (1e-4, 0.530762, 0.389063, 0.388951),
        (1e-7, 0.877334, 0.628892, 0.628416),
    ):
        for analysis, value in (("strong", strong), ("blanket", blanket)):
            bounds = Shuffle(randomizer, 1000, analysis).epsilon_bounds(delta)
            assert bounds.lower - 5e-7 <= value <= bounds.upper + 5e-7
        got = Shuffle(randomizer, 1000).attained_epsilon(delta)
        assert attained * (1 - 1e-4) <= got <= attained + 5e-7


RANDOM = np.random.default_rng(7)


def random_matrix(inputs: int, outputs: int, zeros: bool) -> Rows:
    counts = RANDOM.integers(0 if zeros else 1, 6, (inputs, outputs))
    counts[:, 0] += 1
    return [[Fraction(int(c), int(row.sum())) for c in row] for row in counts]


@pytest.mark.parametrize("case", range(12))
def test_any_matrix_dominates_the_truth_and_attains_its_datasets(case: int) -> None:
    """upper >= the real mechanism on all datasets >= attained, with and without zeros."""
    users, inputs = 2 + case % 3, 2 + case % 2
    matrix = random_matrix(inputs, 3, zeros=case % 4 == 3)
    randomizer = FiniteRandomizer([[float(p) for p in row] for row in matrix])
    survey = Shuffle(randomizer, users)
    for alpha in (Fraction(1), Fraction(5, 4), Fraction(2)):
        truth = float(oracles.true_profile(matrix, users, alpha))
        epsilon = math.log(alpha)
        assert survey.get_delta(epsilon) >= truth * (1 - 1e-12)
        homogeneous = max(
            oracles.hockey_stick(
                {
                    h: (p, oracles.shuffled_mechanism(matrix, [b, *[x] * (users - 1)]).get(h, 0))
                    for h, p in oracles.shuffled_mechanism(matrix, [a, *[x] * (users - 1)]).items()
                },
                alpha,
            )
            for a, b in itertools.permutations(range(inputs), 2)
            for x in range(inputs)
        )
        attained = survey.attained_delta(epsilon)
        assert attained <= float(homogeneous) * (1 + 1e-12) <= truth * (1 + 2e-12)
        assert attained >= 0.99 * float(homogeneous)


@pytest.mark.parametrize("case", range(8))
def test_blanket_of_any_matrix_against_enumeration(case: int) -> None:
    """Both sides of the bracket, for the worst pair of inputs."""
    users = 1 + case % 5
    matrix = random_matrix(3, 3, zeros=case % 2 == 1)
    blanket = [min(column) for column in zip(*matrix, strict=True)]
    survey = Shuffle(FiniteRandomizer([[float(p) for p in row] for row in matrix]), users)
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(4)):
        exact = max(
            oracles.hockey_stick(oracles.blanket_pair(a, b, blanket, users), alpha)
            for a, b in itertools.permutations(matrix, 2)
        )
        bounds = survey.delta_bounds(math.log(alpha))
        assert bounds.lower <= float(exact) * (1 + 1e-12)
        assert float(exact) * (1 - 1e-12) <= bounds.upper


@pytest.mark.parametrize("analysis", ["blanket", "strong"])
def test_composed_rounds_against_convolved_atoms(analysis: str) -> None:
    """Two rounds of randomized response and one of a clone analysis; A_s has infinite losses."""
    gamma = Fraction(1, 2)
    matrix = randomized_response(3, gamma)
    pair = (
        oracles.strong_pair(3, gamma, 4)
        if analysis == "strong"
        else oracles.blanket_pair(matrix[0], matrix[1], [gamma / 3] * 3, 4)
    )
    atoms = [oracles.atoms_of_pair(pair)] * 2 + [oracles.clone_pair_atoms(5, 1.0, "clones")]
    accountant = Accountant()
    accountant.compose(Shuffle(RandomizedResponse(3, gamma=0.5), 4, analysis), rounds=2)
    accountant.compose(Shuffle(PureLDP(1.0), 5, "clones"))
    for epsilon in (0.0, 0.3, 1.0, 2.0, 3.5):
        exact = oracles.delta_of_product(atoms, epsilon)
        bounds = accountant.delta_bounds(epsilon)
        assert bounds.lower <= exact * (1 + mpmath.mpf(1e-13))
        assert exact * (1 - mpmath.mpf(1e-13)) <= bounds.upper


def test_infinite_loss_counts_every_round() -> None:
    """strong: with probability (1 - gamma) E[2^-c] a message gives its sender away."""
    survey = Shuffle(RandomizedResponse(4, gamma=0.25), 30, "strong")
    lost = 0.75 * (1 - 0.125 / 2) ** 29  # c ~ Bin(29, 2 gamma / k)
    assert survey.get_delta(100.0) == pytest.approx(lost, rel=1e-9)
    assert survey.get_epsilon(0.5 * lost) == math.inf
    assert survey.get_epsilon(0.0) == math.inf
    accountant = Accountant()
    accountant.compose(survey, rounds=10)
    bounds = accountant.delta_bounds(1000.0)
    assert bounds.lower <= 1 - (1 - lost) ** 10 <= bounds.upper
    assert bounds.upper - bounds.lower < 1e-6
    assert accountant.get_epsilon(5 * lost) == math.inf


EPS0 = math.log(4)
LADDER: list[Randomizer] = [RandomizedResponse(3, eps0=EPS0), SubsetSelection(5, 2, EPS0)]
LADDER += [UnaryEncoding(2, EPS0), HadamardResponse(3, EPS0), LocalHashing(3, EPS0)]


@pytest.mark.parametrize("users", [10**3, 10**9])
def test_the_ladder_of_adversaries(users: int) -> None:
    """strong >= blanket >= attained and clones >= stronger clones >= blanket, for every kind."""
    for randomizer in LADDER:
        values = {}
        for analysis in randomizer.analyses:
            values[analysis] = Shuffle(randomizer, users, analysis).epsilon_bounds(1e-6)
        assert values["best"] == values["blanket"]
        assert values["blanket"].lower <= values["stronger-clones"].upper
        assert values["stronger-clones"].lower <= values["clones"].upper
        if "strong" in values:
            assert values["blanket"].lower <= values["strong"].upper
        assert Shuffle(randomizer, users).attained_epsilon(1e-6) <= values["blanket"].upper
        for bounds in values.values():
            assert bounds.upper - bounds.lower <= max(1e-3 * bounds.upper, 1e-6)


def test_adversaries_table() -> None:
    rows = {
        r.analysis: r for r in adversaries(RandomizedResponse(4, gamma=0.25), 1000, 1e-6, rounds=2)
    }
    assert list(rows) == ["strong", "clones", "stronger-clones", "blanket", "best", "attained"]
    assert rows["attained"].upper is None
    assert rows["attained"].lower <= rows["blanket"].lower <= rows["strong"].lower
    assert rows["attained"].lower > 0.99 * rows["blanket"].lower


def test_two_ways_to_give_randomized_response() -> None:
    by_gamma = RandomizedResponse(4, gamma=0.25)
    assert by_gamma.eps0 == pytest.approx(math.log(13))
    by_eps0 = RandomizedResponse(4, eps0=math.log(13))
    assert by_eps0.gamma == pytest.approx(0.25)
    assert repr(by_gamma) == "RandomizedResponse(k=4, gamma=0.25)"
    assert repr(by_eps0).startswith("RandomizedResponse(k=4, eps0=2.56")
    assert hash(by_gamma) == hash(RandomizedResponse(4, gamma=0.25))


def test_randomized_response_of_two_values_is_stronger_clones() -> None:
    named = Shuffle(RandomizedResponse(2, eps0=1.5), 500, "blanket").delta_bounds([0.0, 0.1, 0.4])
    generic = Shuffle(PureLDP(1.5), 500).delta_bounds([0.0, 0.1, 0.4])
    assert (named.lower <= generic.upper).all()
    assert (generic.lower <= named.upper).all()


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: RandomizedResponse(4), InvalidParameter, "neither eps0 nor gamma"),
        (lambda: RandomizedResponse(4, gamma=0.2, eps0=1.0), InvalidParameter, "in two ways"),
        (lambda: RandomizedResponse(1, gamma=0.2), InvalidParameter, "k=1"),
        (lambda: RandomizedResponse(4, gamma=0.0), InvalidParameter, "gamma=0.0"),
        (lambda: RandomizedResponse(4, gamma=1.0), InvalidParameter, "gamma=1.0"),
        (lambda: RandomizedResponse(2.5, eps0=1.0), InvalidParameter, "k=2.5"),  # type: ignore[arg-type]
        (lambda: SubsetSelection(4, 4, 1.0), OutOfRange, "size=4"),
        (lambda: SubsetSelection(4, 0, 1.0), InvalidParameter, "size=0"),
        (lambda: UnaryEncoding(4, -1.0), InvalidParameter, "eps0=-1.0"),
        (lambda: LocalHashing(1, 1.0), InvalidParameter, "g=1"),
        (lambda: HadamardResponse(0, 1.0), InvalidParameter, "k=0"),
        (lambda: FiniteRandomizer([[0.5, 0.5]]), InvalidParameter, "1 rows"),
        (lambda: FiniteRandomizer([[0.5, 0.5], [1.0]]), InvalidParameter, "lengths"),
        (lambda: FiniteRandomizer([[0.5, 0.6], [0.5, 0.5]]), InvalidParameter, "row 1 sums to 1.1"),
        (lambda: FiniteRandomizer([[0.5, 0.5], [-0.5, 1.5]]), InvalidParameter, "row 2"),
        (lambda: FiniteRandomizer([[0.5, "x"], [0.5, 0.5]]), InvalidParameter, "'x'"),  # type: ignore[list-item]
        (lambda: FiniteRandomizer(3), InvalidParameter, "matrix=3"),  # type: ignore[arg-type]
        (lambda: Shuffle(UnaryEncoding(4, 1.0), 9, "strong"), InvalidParameter, "'strong'"),
    ],
)
def test_bad_parameters(make: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("users", "eps0"), covering([100, 10**4, 10**6, 10**8], [10.0, 15.0, 20.0])
)
def test_rare_blanket_messages_against_the_binomial_engine(users: int, eps0: float) -> None:
    """Hardly anybody answers at random: the ways to do so are counted, not smoothed."""
    named = Shuffle(RandomizedResponse(2, eps0=eps0), users, "blanket")
    generic = Shuffle(PureLDP(eps0), users)
    epsilons = [0.0, 0.3 * eps0, 0.9 * eps0, 0.999 * eps0]
    ours, reference = named.delta_bounds(epsilons), generic.delta_bounds(epsilons)
    assert (ours.lower <= reference.upper).all()
    assert (reference.lower <= ours.upper).all()
    for delta in (0.5, 1e-3, 1e-30):
        bounds = named.epsilon_bounds(delta)
        assert bounds.upper - bounds.lower <= max(1e-3 * bounds.upper, 1e-6)


def test_extreme_laws() -> None:
    """Cancelling free mass, scores that round to zero, disjoint supports, nothing to learn."""
    huge = Shuffle(RandomizedResponse(10**12, eps0=0.5), 2).delta_bounds(0.4)
    assert huge.lower <= 2.58679e-25 <= huge.upper
    nearly = Shuffle(RandomizedResponse(2, eps0=1.0), 1).delta_bounds(math.nextafter(1.0, 0))
    assert nearly.lower <= 8.1e-17 <= nearly.upper
    revealing = Shuffle(FiniteRandomizer([[1, 0], [0, 1]]), 10)
    assert revealing.get_delta(1.0) == pytest.approx(1.0)
    assert revealing.get_epsilon(0.1) == math.inf
    constant = Accountant()
    constant.compose(Shuffle(FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]]), 10), rounds=3)
    assert constant.get_epsilon(1e-6) < 1e-9
    assert Shuffle(RandomizedResponse(2, eps0=1.0), 10).attained_epsilon(0.0) <= 1.0
    with pytest.raises(InvalidParameter, match="below 1e-100"):
        FiniteRandomizer([[1e-155, 1 - 1e-155], [0.5, 0.5]])


@pytest.mark.parametrize("delta", [1e-14, 1e-50, 1e-100])
def test_deep_deltas_of_a_named_randomizer(delta: float) -> None:
    bounds = Shuffle(RandomizedResponse(4, eps0=2.0), 10**4).epsilon_bounds(delta)
    assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("users", [3, 5])
def test_attained_of_few_users_against_all_datasets_of_two_values(k: int, users: int) -> None:
    """The others hold any two of the values 0, 1, 2: the worst such dataset, exactly."""
    matrix = randomized_response(k, Fraction(1, 2))
    round_ = Shuffle(RandomizedResponse(k, gamma=0.5), users)
    values = range(min(k, 3))
    datasets = [
        others
        for others in itertools.combinations_with_replacement(values, users - 1)
        if len(set(others)) <= 2
    ]
    for alpha in (Fraction(11, 10), Fraction(3, 2), Fraction(5, 2)):
        truth = max(
            oracles.hockey_stick(
                oracles.as_pair(
                    oracles.shuffled_mechanism(matrix, (0, *others)),
                    oracles.shuffled_mechanism(matrix, (1, *others)),
                ),
                alpha,
            )
            for others in datasets
        )
        attained = round_.attained_delta(math.log(alpha))
        assert float(truth) * (1 - 1e-4) <= attained <= float(truth) * (1 + 1e-12)
