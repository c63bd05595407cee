"""Sums with one common and some rare scores against exact sums in many digits."""

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shuffledp import Accountant, RandomizedResponse, Shuffle, UnaryEncoding
from shuffledp.engines.choice import bound_stop_loss
from shuffledp.engines.problem import ScoreSums
from shuffledp.engines.rare_scores import listed_users, stop_loss_by_listing
from shuffledp.randomizers import HadamardResponse, Randomizer


def exact_stop_loss(
    scores: list[float], probabilities: list[float], users: int, threshold: float
) -> mpmath.mpf:
    """E[(S_n)_+] over all vectors of counts."""
    z, p = ([mpmath.mpf(x) for x in each] for each in (scores, probabilities))
    silent, total = 1 - mpmath.fsum(p), mpmath.mpf(0)
    for counts in itertools.product(range(users + 1), repeat=len(z)):
        left = users - sum(counts)
        value = mpmath.fsum(c * x for c, x in zip(counts, z, strict=True)) - threshold
        if left < 0 or value <= 0:
            continue
        ways = math.factorial(users) // math.prod(map(math.factorial, [*counts, left]))
        mass = mpmath.fprod(x**c for c, x in zip(counts, p, strict=True))
        total += ways * mass * silent**left * value
    return total


def sums_of(
    scores: list[float], probabilities: list[float], users: int, threshold: float = 0.0
) -> ScoreSums:
    z, p = np.array([scores]), np.array([probabilities])
    return ScoreSums(z, p, np.abs(z), np.array([threshold]), users)


@pytest.mark.parametrize("seed", range(24))
def test_stop_loss_against_enumeration(seed: int) -> None:
    """Common scores of either sign and 0, with and without users that score nothing."""
    draw = random.Random(seed)
    users, kinds = draw.choice([(2, 4), (3, 3), (5, 3), (9, 3), (30, 2), (90, 2)])
    rare = [10 ** draw.uniform(-12, -2) for _ in range(kinds - 1)]
    full = seed % 2 == 0
    common = 1 - math.fsum(rare) if full else draw.uniform(0.01, 0.99)
    while sum(map(Fraction, [common, *rare])) > 1:
        common = math.nextafter(common, 0)
    probabilities = [common, *rare]
    scores = [draw.choice([-1, 1]) * 10 ** draw.uniform(-3, 3) for _ in probabilities]
    scores[0] *= seed % 7 > 0
    threshold = 10 ** draw.uniform(-3, 2) if seed % 3 == 0 else 0.0
    exact = exact_stop_loss(scores, probabilities, users, threshold)
    for depth in (60.0, 700.0):
        most = listed_users(users, np.array(probabilities), depth)
        assert most > 0
        low, high = stop_loss_by_listing(sums_of(scores, probabilities, users, threshold), most)
        assert low[0] <= exact <= high[0]
        if not full:  # what is left out, and what underflows; an error of 1e-16 may be all of 1 - p
            left_out = users * 1e3 * mpmath.exp(-depth) if most < users else 0
            assert high[0] - low[0] <= 1e-8 * exact + left_out + 1e-290


@pytest.mark.parametrize("scale", [1e-140, 1e-160, 1e-200, 1e-290])
def test_common_scores_of_next_to_no_probability(scale: float) -> None:
    """The odds against the most likely score exceed the range of a double, or their square does."""
    scores, masses = np.array([[0.75, -0.5]]), np.array([[scale, scale / 8]])
    for threshold in (0.0, 0.25, 0.75, 1.0):
        sums = ScoreSums(scores, masses, np.abs(scores), np.array([threshold]), 3)
        low, high = bound_stop_loss(sums, 1e-3)[:2]
        one_positive = 3 * Fraction(scale) * (Fraction(3, 4) - Fraction(threshold))
        most = max(one_positive, Fraction(0)) + 6 * Fraction(scale) ** 2
        least = one_positive * (1 - 4 * Fraction(scale)) - 6 * Fraction(scale) ** 2
        assert Fraction(low[0]) <= most
        assert least <= Fraction(high[0])


def test_many_users_against_a_sum_over_the_common_score() -> None:
    """One rare positive score, 1000 users: E[(c T - M)_+] term by term."""
    users, p, common = 1000, 2e-5, 0.25
    for gain in (50.0, 235.0, 450.0):
        exact, rest = mpmath.mpf(0), 1 - mpmath.mpf(p) - mpmath.mpf(common)
        odds = common / rest
        for c in range(1, 19):
            # chance of c rare scores and m common ones, from m = 0 on
            chance = mpmath.binomial(users, c) * mpmath.mpf(p) ** c * rest ** (users - c)
            for m in range(min(math.ceil(c * gain), users - c + 1)):
                exact += chance * max(c * gain - m, 0)
                chance *= odds * (users - c - m) / (m + 1)
        low, high = stop_loss_by_listing(sums_of([gain, -1.0], [p, common], users), 20)
        assert low[0] <= exact * (1 + 1e-20)
        assert exact <= high[0]
        assert high[0] - low[0] <= 1e-7 * exact


def test_rounds_that_lose_nearly_everything_against_the_event_that_all_do() -> None:
    """The event that nobody else answers at random in any round has a loss of rounds * eps0."""
    users, eps0, rounds, delta = 300, 20.0, 10**4, 1e-6
    accountant = Accountant()
    accountant.compose(Shuffle(RandomizedResponse(2, eps0=eps0), users), rounds=rounds)
    bounds = accountant.epsilon_bounds(delta)
    p = 1 / (mpmath.exp(eps0) + 1)
    event = ((1 - p) * (1 - 2 * p) ** (users - 1)) ** rounds
    floor = rounds * eps0 + mpmath.log1p(-delta / event)
    assert floor <= bounds.upper <= rounds * eps0 * (1 + 1e-12)
    assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper


def epsilon_on_a_grid(
    k: int, eps0: float, users: int, rounds: int, delta: float, up: bool
) -> float:
    """The blanket pair of k-ary randomized response, every loss rounded to a grid, in floats.

    Of n i.i.d. messages, n0 are x0, n1 are x1 and m another value; the pair has the densities
    (E n0 + n1 + m)/n and (n0 + E n1 + m)/n with respect to that.
    """
    big, step = math.exp(eps0), 1e-3
    p = 1 / (big + k - 1)
    n0, n1, m = (a.ravel().astype(float) for a in np.mgrid[:8, :8, : users + 1])
    inside = n0 + n1 + m <= users
    n0, n1, m = n0[inside], n1[inside], m[inside]
    log_factorial = np.cumsum(np.log(np.maximum(np.arange(users + 1), 1)))
    rest = users - n0 - n1 - m
    log_mass = log_factorial[users] - sum(log_factorial[x.astype(int)] for x in (n0, n1, m, rest))
    log_mass += (n0 + n1) * math.log(p) + m * math.log((k - 2) * p) + rest * math.log1p(-k * p)
    first, second = big * n0 + n1 + m, n0 + big * n1 + m
    some = first > 0
    mass = np.exp(log_mass[some]) * first[some] / users
    loss = np.log(first[some] / second[some]) / step
    index = (np.ceil(loss) if up else np.floor(loss)).astype(int)
    half = math.ceil(eps0 / step) + 1
    size = 1 << math.ceil(math.log2(2 * rounds * half + 2))
    spectrum = np.fft.rfft(np.bincount(index + half, mass, size))
    law = np.maximum(np.fft.irfft(spectrum**rounds, size), 0.0)
    losses = step * (np.arange(size) - rounds * half)

    def excess(epsilon: float) -> float:
        above = losses > epsilon
        return float(law[above] @ -np.expm1(epsilon - losses[above]))

    low, high = 0.0, rounds * eps0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > delta else (low, middle)
    return high


def test_composed_randomized_response_with_rare_clones_against_a_grid() -> None:
    """One message of 20 hits one of the two values: the sum of a few large losses."""
    k, eps0, users, rounds, delta = 1000, 8.0, 100, 20, 1e-6
    accountant = Accountant()
    accountant.compose(Shuffle(RandomizedResponse(k, eps0=eps0), users), rounds=rounds)
    bounds = accountant.epsilon_bounds(delta)
    below, above = (epsilon_on_a_grid(k, eps0, users, rounds, delta, up) for up in (False, True))
    assert bounds.upper >= below * (1 - 1e-6)
    assert bounds.lower <= above * (1 + 1e-6)
    assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper
    assert above - below <= 1e-2 * bounds.upper


@pytest.mark.parametrize(
    ("randomizer", "users", "rounds", "delta"),
    [
        (RandomizedResponse(10**6, eps0=15.0), 10**4, 10**4, 1e-6),
        (HadamardResponse(100, 20.0), 10**7, 10**4, 1e-6),
        (HadamardResponse(2, 39.86), 4796, 191, 3.5e-49),
        # of its classes two tell nothing and one is next to impossible
        (UnaryEncoding(75, q=0.000619), 877420, 206, 1.7e-5),
        # few atoms, of whose slopes no engine tells
        (UnaryEncoding(10, q=0.00371), (17731, 2447), 84, 1.4e-10),
    ],
)
def test_about_one_random_message_in_a_round_is_certified(
    randomizer: Randomizer, users: int | tuple[int, int], rounds: int, delta: float
) -> None:
    """Narrow, and below basic composition; half the rounds alone lose less."""
    every, some = (users, users) if isinstance(users, int) else users
    survey = Shuffle(randomizer, every, sample_rate=some / every)
    accountant, half = Accountant(), Accountant()
    accountant.compose(survey, rounds=rounds)
    half.compose(survey, rounds=rounds // 2)
    bounds = accountant.epsilon_bounds(delta)
    assert bounds.upper - bounds.lower <= 1e-3 * bounds.upper
    assert bounds.lower <= rounds * survey.get_epsilon(delta / rounds)
    assert half.epsilon_bounds(delta, rtol=0.1).lower <= bounds.upper
