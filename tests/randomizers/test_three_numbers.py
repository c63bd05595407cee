"""VariationRatio: the numbers of mechanisms from their definitions, and bounds by enumeration."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import mpmath
import numpy as np
import pytest

from oracles import as_pair, hockey_stick, shuffled_mechanism
from shell import ok, run
from shuffledp import Accountant, PureLDP, Shuffle, calibrate, compare
from shuffledp.errors import InvalidParameter, OutOfRange
from shuffledp.randomizers import VariationRatio
from shuffledp.tools.statement import without_trust

Rows = list[list[Fraction]]
Numbers = tuple[Fraction, Fraction, Fraction]


def numbers_of(rows: Rows, protected: list[tuple[int, int]]) -> Numbers:
    """p, beta and q by their definitions: neighbours differ in one of the protected pairs."""
    pairs = [(rows[i], rows[j]) for pair in protected for i, j in permutations(pair)]
    p = max(a / b for u, v in pairs for a, b in zip(u, v, strict=True) if a)
    apart = (sum((abs(a - b) for a, b in zip(u, v, strict=True)), Fraction(0)) for u, v in pairs)
    q = max(a / b for u, _ in pairs for nu in rows for a, b in zip(u, nu, strict=True) if a)
    return p, max(apart) / 2, q


def rounded_up(numbers: Numbers) -> tuple[float, float, float]:
    p, beta, q = (math.nextafter(float(x), math.inf) for x in numbers)
    return p, beta, q


def truth(rows: Rows, protected: list[tuple[int, int]], users: int, alpha: Fraction) -> Fraction:
    """The largest divergence over all datasets of neighbours that differ in a protected pair."""
    worst = Fraction(0)
    for others in combinations_with_replacement(range(len(rows)), users - 1):
        for pair in protected:
            for order in permutations(pair):
                laws = [shuffled_mechanism(rows, [x, *others]) for x in order]
                worst = max(worst, hockey_stick(as_pair(*laws), alpha))
    return worst


def drawn(values: int, outputs: int, seed: int) -> Rows:
    chance = random.Random(seed)
    rows = [[chance.choice((1, 1, 2, 3, 7)) for _ in range(outputs)] for _ in range(values)]
    return [[Fraction(x, sum(row)) for x in row] for row in rows]


@pytest.mark.parametrize("users", [2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_truth_is_never_above_the_bound(users: int, seed: int) -> None:
    rows, protected = drawn(3, 3, seed), [(0, 1)]
    numbers = numbers_of(rows, protected)
    survey = Shuffle(VariationRatio(*rounded_up(numbers)), users)
    for share in (0, 0.2, 0.6, 0.95):
        alpha = Fraction(1 + share * float(numbers[0] - 1)).limit_denominator(100)
        bound = survey.get_delta(math.nextafter(math.log(alpha), 0))
        assert truth(rows, protected, users, alpha) <= Fraction(bound)


@pytest.mark.parametrize(
    "numbers",
    [
        (Fraction(3), Fraction(2, 5), Fraction(4)),
        (Fraction(3), Fraction(1, 2), Fraction(3)),
        (Fraction(2), Fraction(1, 10), Fraction(11, 10)),
        (Fraction(9), Fraction(1, 4), Fraction(30)),
    ],
)
def test_a_randomizer_with_these_numbers_attains_the_bound(numbers: Numbers) -> None:
    p, beta, q = numbers
    light = beta / (p - 1)
    rest = 1 - (p + 1) * light
    u, v = [p * light, light, rest], [light, p * light, rest]
    nu = [max(a, b) / q for a, b in zip(u, v, strict=True)]
    rows: Rows = [[*u, Fraction(0)], [*v, Fraction(0)], [*nu, 1 - sum(nu, Fraction(0))]]
    assert numbers_of(rows[:2], [(0, 1)])[:2] == (p, beta)
    randomizer = VariationRatio(*map(float, numbers))
    for users in (2, 3, 4):
        survey = Shuffle(randomizer, users)
        for alpha in (Fraction(1), 1 + (p - 1) / 3, 1 + 4 * (p - 1) / 5):
            laws = [shuffled_mechanism(rows, [x] + [2] * (users - 1)) for x in (0, 1)]
            exact = float(hockey_stick(as_pair(*laws), alpha))
            found = survey.delta_bounds(math.log(alpha))
            assert found.lower * (1 - 1e-12) <= exact <= found.upper * (1 + 1e-12)
            assert survey.attained_delta(math.log(alpha)) <= exact * (1 + 1e-12)


@pytest.mark.parametrize("eps0", [1e-3, 4.0, 150.0])
@pytest.mark.parametrize("options", [{}, {"sample_rate": 0.5}, {"colluding": 100, "messages": 2}])
def test_the_numbers_of_pure_ldp_give_its_brackets(eps0: float, options: dict[str, float]) -> None:
    ratio = math.exp(eps0)
    mine = VariationRatio(ratio, (ratio - 1) / (ratio + 1), ratio)
    here, there = (
        Shuffle(each, 1000, **options).epsilon_bounds(1e-5, rtol=1e-2)  # type: ignore[arg-type]
        for each in (mine, PureLDP(eps0))
    )
    slack = 1e-9 * there.upper
    assert here.lower <= there.upper + slack and there.lower <= here.upper + slack


def test_it_composes_with_everything() -> None:
    mine = VariationRatio(math.e, math.tanh(0.5), math.e)
    brackets = []
    for each in (mine, PureLDP(1.0)):
        accountant = Accountant()
        accountant.compose(Shuffle(each, 500), rounds=3)
        accountant.compose(Shuffle(PureLDP(2.0), 1000))
        brackets.append(accountant.epsilon_bounds(1e-6))
    assert brackets[0].lower <= brackets[1].upper * (1 + 1e-9)
    assert brackets[1].lower <= brackets[0].upper * (1 + 1e-9)


@pytest.mark.parametrize(("name", "factor"), [("p", 2.0), ("beta", 1.3), ("q", 1.5)])
def test_the_bound_grows_in_each_number(name: str, factor: float) -> None:
    for numbers in ({"p": 4.0, "beta": 0.3, "q": 4.0}, {"p": 2.0, "beta": 0.2, "q": 9.0}):
        larger = {**numbers, name: factor * numbers[name]}
        for users in (2, 300):
            few, many = (
                Shuffle(VariationRatio(**each), users).delta_bounds(0.05)
                for each in (numbers, larger)
            )
            assert few.upper < many.lower


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((2.0, 0.5, 3.0), "beta=0.5 is above 0.333333333"),
        ((3.0, 0.4, 1.3), "q=1.3 is below 1 \\+ beta = 1.4"),
        ((1.0, 0.1, 2.0), "p=1.0"),
        ((math.inf, 0.1, 2.0), "p=inf"),
        ((2.0, 0.0, 2.0), "beta=0.0"),
    ],
)
def test_contradictory_numbers_are_refused(numbers: tuple[float, ...], said: str) -> None:
    with pytest.raises((InvalidParameter, OutOfRange), match=said):
        VariationRatio(*numbers)


def test_the_shell_and_the_statement_say_what_is_assumed() -> None:
    words = ["--randomizer", "variation-ratio", "--p", "3", "--beta", "0.4", "--q", "4"]
    text = ok("epsilon", *words, "--users", "1000", "--delta", "1e-6")
    assert "within a factor of p" in " ".join(text.split())
    wrong = run("epsilon", *words[:-1], "1.1", "--users", "1000", "--delta", "1e-6")
    assert (wrong.returncode, "1 + beta" in wrong.stderr) == (2, True)
    asked = ["--users", "1000", "--epsilon", "1", "--delta", "1e-6"]
    sought = run("calibrate", "--find", "q", *words[:-2], *asked)
    assert (sought.returncode, "cannot be looked for" in sought.stderr) == (2, True)
    randomizer = VariationRatio(3.0, 0.4, 4.0)
    assert "epsilon = 1.0986" in without_trust(Shuffle(randomizer, 100), 1)
    found = calibrate("users", lambda n: Shuffle(randomizer, n), epsilon=0.5, delta=1e-6)
    assert found.achieved.upper <= 0.5
    for ask in ("client", "exact"):
        with pytest.raises(InvalidParameter, match="many randomizers"):
            getattr(randomizer, ask)()


# the table of docs/theory/three-numbers.md, from the definitions of the mechanisms


@pytest.mark.parametrize(("k", "ratio"), [(2, 3), (3, 3), (7, 2), (5, 50)])
def test_numbers_of_randomized_response(k: int, ratio: int) -> None:
    rows = [[Fraction(ratio if x == y else 1, ratio + k - 1) for y in range(k)] for x in range(k)]
    found = numbers_of(rows, [(0, 1), (1, 2 % k)] if k > 2 else [(0, 1)])
    assert found == (Fraction(ratio), Fraction(ratio - 1, ratio + k - 1), Fraction(ratio))


@pytest.mark.parametrize(
    ("eps", "near", "far"), [(1.0, 1.0, 1.0), (2.0, 0.3, 1.0), (0.5, 4.0, 9.0)]
)
def test_numbers_of_laplace_noise(eps: float, near: float, far: float) -> None:
    """Values 0 and `near`, another user at `far` from 0 and at most that from `near`."""

    step = 1e-3 / eps
    at = np.arange(-30 / eps, far + 30 / eps, step)
    own, second, other = (eps / 2 * np.exp(-eps * np.abs(at - x)) for x in (0.0, near, far))
    distance = np.abs(own - second).sum() * step / 2
    assert distance == pytest.approx(1 - math.exp(-eps * near / 2), rel=1e-4)
    assert (own / second).max() == pytest.approx(math.exp(eps * near))
    assert (own / other).max() == pytest.approx(math.exp(eps * far))


def planar_distance(scaled: float) -> float:
    """1 - 2 G(c) of the chapter, c = eps d/2."""

    def inner(theta: mpmath.mpf) -> mpmath.mpf:
        reach = scaled / mpmath.cos(theta)
        return (1 + reach) * mpmath.exp(-reach)

    with mpmath.workdps(20):
        return float(1 - 2 / mpmath.pi * mpmath.quad(inner, [0, 1, 1.4, mpmath.pi / 2]))


@pytest.mark.parametrize(("eps", "near"), [(1.0, 1.0), (0.3, 2.0), (2.0, 3.0)])
def test_numbers_of_planar_laplace_noise(eps: float, near: float) -> None:
    """The distance by summing the two densities over a fine grid of the plane."""
    step, reach = 0.08 / eps, 22 / eps
    x = np.arange(-reach, reach, step) + step / 2
    here, there = (
        eps**2 / (2 * math.pi) * np.exp(-eps * np.hypot(x[:, None] - place, x[None, : len(x)]))
        for place in (0.0, near)
    )
    distance = np.abs(here - there).sum() * step**2 / 2
    assert distance == pytest.approx(planar_distance(eps * near / 2), abs=1e-3)
    assert (here / there).max() <= math.exp(eps * near) * (1 + 1e-9)
    assert (here / there).max() == pytest.approx(math.exp(eps * near), rel=1e-3)
    ratio = math.exp(eps * near)
    assert distance < (ratio - 1) / (ratio + 1)  # smaller than the ratio alone would say


@pytest.mark.parametrize(("of_keys", "of_values"), [(2, 3), (5, 2), (2, 9), (1, 4), (3, 20)])
def test_numbers_of_privkv(of_keys: int, of_values: int) -> None:
    """Outputs: no key, key and +, key and -. Values: +1, -1, 1/2, no key; and several keys."""
    yes, right = Fraction(of_keys, of_keys + 1), Fraction(of_values, of_values + 1)
    positive = [1 - yes, yes * right, yes * (1 - right)]
    negative = [1 - yes, yes * (1 - right), yes * right]
    between = [(3 * a + b) / 4 for a, b in zip(positive, negative, strict=True)]
    without = [yes, (1 - yes) / 2, (1 - yes) / 2]
    laws = [positive, negative, between, without]
    every = [(i, j) for i in range(4) for j in range(i)]
    ratio = max(Fraction(of_values), 2 * of_keys * right)
    signs = yes * (2 * right - 1)
    if 2 * of_keys >= of_values + 1:
        missing = 2 * yes - 1
    else:
        missing = (of_keys * right - Fraction(1, 2)) / (of_keys + 1)
    assert numbers_of(laws, every) == (ratio, max(signs, missing), ratio)
    # of two keys, a user draws one: all pairs of the four laws for each, and one key at a time
    both = [[x / 2 for x in (*a, *b)] for a in laws for b in laws]
    everything = [(i, j) for i in range(16) for j in range(i)]
    assert numbers_of(both, everything) == (ratio, max(signs, missing), ratio)
    one = [(i, j) for i, j in everything if i // 4 == j // 4 or i % 4 == j % 4]
    assert numbers_of(both, one) == (ratio, max(signs, missing) / 2, ratio)


@pytest.mark.parametrize("analysis", ["best", "variation-ratio"])
def test_samples_are_analyzed_together_with_the_shuffle(analysis: str) -> None:
    """One of two users is drawn; the other one's law is far from both laws of the first. The
    theorem for samples of any mechanism would give 0 here."""
    numbers = VariationRatio(p=2.0, beta=0.2, q=100.0)
    u, v, other = (0.4, 0.2, 0.4, 0.0), (0.2, 0.4, 0.4, 0.0), (0.004, 0.004, 0.004, 0.988)
    survey = Shuffle(numbers, 2, sample_rate=0.5, analysis=analysis)
    for alpha in (1.0, 1.3, 1.6, 1.9):
        laws = zip(u, v, other, strict=True)
        truth = sum(max((a + c) / 2 - alpha * (b + c) / 2, 0.0) for a, b, c in laws)
        assert survey.get_delta(math.log(alpha)) >= truth * (1 - 1e-12)


def test_samples_of_several_messages_are_refused() -> None:
    numbers = VariationRatio(p=2.0, beta=0.2, q=100.0)
    with pytest.raises(InvalidParameter, match="give sample_rate=1 or messages=1"):
        Shuffle(numbers, 10, sample_rate=0.5, messages=2)
    assert Shuffle(numbers, 10, messages=2).get_delta(0.1) > 0


def test_no_more_is_attained_than_the_ratio_to_others_allows() -> None:
    """Others may hold one of the two values, so that u <= q v."""
    numbers = VariationRatio(p=100.0, beta=0.4, q=1.5)
    assert Shuffle(numbers, 10).attained_epsilon(0) <= math.log(1.5)


def test_bounds_for_every_pair_of_values_do_not_apply() -> None:
    rows = compare(Shuffle(VariationRatio(3.0, 0.4, 3.0), 1000), 1, 1e-6).rows
    reasons = {row.name: row.reason for row in rows}
    said = reasons["Feldman et al. 2021, numerical"]
    assert said is not None and "does not say that every pair of values is eps0-LDP" in said
    assert not any("any finite eps0" in (reason or "") for reason in reasons.values())
