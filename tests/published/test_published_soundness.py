"""Published bounds against what real mechanisms leak, and against the certified values."""

import math
from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

import oracles
from covering import covering
from shuffledp import Accountant, FiniteRandomizer, PureLDP, RandomizedResponse, Shuffle
from shuffledp.errors import OutOfRange
from shuffledp.published import BOUNDS, koskela2023
from shuffledp.randomizers import Randomizer, SubsetSelection

PROVEN = [bound for bound in BOUNDS if bound.proven]
Matrix = list[list[Fraction]]

BINARY: Matrix = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
TERNARY: Matrix = [[Fraction(1, 6) + Fraction(1, 2) * (x == y) for y in range(3)] for x in range(3)]
SKEW: Matrix = [
    [Fraction(5, 8), Fraction(2, 8), Fraction(1, 8)],
    [Fraction(1, 8), Fraction(4, 8), Fraction(3, 8)],
]
MECHANISMS: list[tuple[Randomizer, Matrix]] = [
    (RandomizedResponse(2, gamma=0.5), BINARY),
    (RandomizedResponse(3, gamma=0.5), TERNARY),
    (FiniteRandomizer([[float(p) for p in row] for row in SKEW]), SKEW),
]


def values(
    randomizer: Randomizer, users: int, rate: float, rounds: int, delta: float
) -> dict[str, float]:
    found = {}
    for bound in PROVEN:
        try:
            found[bound.name] = bound.epsilon(randomizer, users, rate, rounds, delta)
        except OutOfRange:
            continue
    return found


@pytest.mark.parametrize(
    ("mechanism", "users", "delta"), covering(MECHANISMS, [2, 3, 5], [0.3, 0.05, 1e-3])
)
def test_one_round_against_enumeration(
    mechanism: tuple[Randomizer, Matrix], users: int, delta: float
) -> None:
    randomizer, matrix = mechanism
    found = values(randomizer, users, 1.0, 1, delta)
    assert len(found) >= 5
    for name, epsilon in found.items():
        alpha = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**12))
        assert oracles.true_profile(matrix, users, alpha) <= delta, name


def _atoms(matrix: Matrix, users: int, rate: Fraction, reverse: bool) -> list[oracles.Atom]:
    """All others hold value 0, the user in question 0 or 1; a fraction `rate` of all sends."""
    sent = int(users * rate)
    away = oracles.shuffled_mechanism(matrix, [0] * sent)
    laws = [oracles.shuffled_mechanism(matrix, [0] * (sent - 1) + [x]) for x in (1, 0)]
    zero = Fraction(0)
    one, other = ({y: rate * law[y] + (1 - rate) * away.get(y, zero) for y in law} for law in laws)
    pair = {y: (one[y], other[y]) for y in one}
    if reverse:
        pair = {y: (q, p) for y, (p, q) in pair.items()}
    return oracles.atoms_of_pair(pair)


COLLECTED = [
    (6, Fraction(1), 2),
    (5, Fraction(1), 4),
    (8, Fraction(1, 2), 1),
    (8, Fraction(1, 4), 3),
]


@pytest.mark.parametrize(("mechanism", "collected"), covering(MECHANISMS, COLLECTED, every=3))
def test_rounds_and_sampling_against_enumeration(
    mechanism: tuple[Randomizer, Matrix], collected: tuple[int, Fraction, int]
) -> None:
    (randomizer, matrix), (users, rate, rounds) = mechanism, collected
    both = [_atoms(matrix, users, rate, reverse) for reverse in (False, True)]
    delta = 0.1 if rounds % 2 else 1e-3
    found = values(randomizer, users, float(rate), rounds, delta)
    assert len(found) >= 4
    name = min(found, key=lambda bound: found[bound])  # the divergence falls with epsilon
    leaked = max(oracles.delta_of_product([a] * rounds, mpf(found[name])) for a in both)
    assert leaked <= delta * (1 + mpf("1e-9")), name


def _binary_response(users: int, eps0: float, epsilon: float) -> mpf:
    """Divergence of binary randomized response, all others alike, by summing over the count."""
    with mpmath.workdps(20):
        large = 1 / (1 + mpmath.exp(-mpf(eps0)))
        small, alpha, n = 1 - large, mpmath.exp(mpf(epsilon)), users - 1
        mass, total, before = small**n, mpf(0), mpf(0)
        for i in range(users + 1):  # so many answers 1; the others hold 1
            p = mass * large + before * small  # the user in question holds 0
            q = mass * small + before * large
            total += max(q - alpha * p, mpf(0))
            before, mass = mass, mass * (n - i) / (i + 1) * large / small if i < n else mpf(0)
        return total


@pytest.mark.parametrize(
    ("eps0", "users", "delta", "name"),
    [
        (0.5, 1000, 9e-3, "Erlingsson et al. 2019"),
        (1.0, 1500, 1e-6, "Balle et al. 2019, closed form"),
        (2.0, 1000, 1e-2, "Feldman et al. 2021, closed form"),
        (0.2, 700, 1e-10, "Feldman et al. 2021, closed form"),
    ],
)
def test_many_users_against_enumeration(eps0: float, users: int, delta: float, name: str) -> None:
    found = values(RandomizedResponse(2, eps0=eps0), users, 1.0, 1, delta)
    assert name in found
    # the divergence falls with epsilon: the smallest value is the one at risk
    assert _binary_response(users, eps0, min(found.values())) <= delta


@pytest.mark.parametrize(
    ("randomizer", "asked"),
    covering(
        [
            PureLDP(0.3),
            PureLDP(4.0),
            RandomizedResponse(2, eps0=1.0),
            RandomizedResponse(10, gamma=0.6),
            SubsetSelection(10, 3, 1.0),
        ],
        [(10, 1e-2), (500, 1e-8), (10**6, 1e-6)],
    ),
    ids=repr,
)
def test_certified_value_is_never_above(randomizer: Randomizer, asked: tuple[int, float]) -> None:
    users, delta = asked
    ours = Shuffle(randomizer, users).epsilon_bounds(delta).lower
    for name, epsilon in values(randomizer, users, 1.0, 1, delta).items():
        assert ours <= epsilon, name


@pytest.mark.parametrize(
    ("randomizer", "rounds"), [(PureLDP(2.0), 200), (RandomizedResponse(3, gamma=0.5), 3)]
)
def test_certified_composition_is_never_above(randomizer: Randomizer, rounds: int) -> None:
    accountant = Accountant()
    accountant.compose(Shuffle(randomizer, 30), rounds=rounds)
    ours = accountant.epsilon_bounds(1e-6).lower
    for name, epsilon in values(randomizer, 30, 1.0, rounds, 1e-6).items():
        assert ours <= epsilon, name


def test_strong_adversary_formula_is_not_a_bound() -> None:
    """The counts of the two values are not independent: the printed formula is too low here."""
    k, gamma, users, alpha = 2, Fraction(4, 5), 100, 5
    share = gamma / k
    exact = Fraction(0)
    # n1, n2 ~ Multinomial(n; share, share, rest): (1-gamma)/(n share) E[(n1 - alpha n2)_+]
    for n1 in range(users + 1):
        for n2 in range(users - n1 + 1):
            rest = users - n1 - n2
            ways = math.comb(users, n1) * math.comb(users - n1, n2)
            law = ways * share ** (n1 + n2) * (1 - 2 * share) ** rest
            exact += law * max(n1 - alpha * n2, 0)
    exact *= (1 - gamma) / (users * share)
    formula = koskela2023.strong_delta(k, float(gamma), users, math.log(alpha))
    assert formula < 0.5 * float(exact)
    assert float(exact) == pytest.approx(8.06e-12, rel=1e-2)
