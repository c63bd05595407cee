"""Every engine for sums of scores against balls of many digits, at extreme scales.

Scores from 1e-25 to 1e25 in one law, probabilities down to 1e-30, up to 10^12 users, thresholds
at, within rounding of and far from the mean and the ends of the sum. The truth is the law as given
or any other within the errors that the engines are told of.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from oracles.sums import stop_loss_of_sum
from shuffledp import RandomizedResponse, Shuffle
from shuffledp._support.numeric import Array
from shuffledp.engines import tails
from shuffledp.engines.big_scores import dominant_stop_loss, large_stop_loss
from shuffledp.engines.choice import bound_stop_loss
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.one_positive import one_positive_stop_loss
from shuffledp.engines.problem import ScoreSums, one_user_stop_loss
from shuffledp.engines.rare_scores import rare_stop_loss
from shuffledp.laws.class_law import clone_pair, clones, stronger_clones
from shuffledp.profiles.class_profile import ClassSampler, LawTable

UNIT = Fraction(1, 2**53)
Sides = tuple[Array, Array]
Engine = Callable[[ScoreSums, random.Random], Sides]


@dataclass(frozen=True)
class Case:
    """What an engine is given, and a law within the errors of that."""

    sums: ScoreSums  # one row
    scores: list[Fraction]
    probabilities: list[Fraction]
    threshold: Fraction
    most: int  # users to list beside the two likeliest values

    def truth(self) -> tuple[mpmath.mpf, mpmath.mpf]:
        return stop_loss_of_sum(
            self.scores, self.probabilities, self.sums.users, self.threshold, self.most
        )


def draw_scores(draw: random.Random, size: int) -> list[float]:
    """Close to each other, or over all scales; 0 and equal ones too."""
    centre, spread = draw.uniform(-22, 22), draw.choice([0.0, 1.0, 3.0, 25.0])
    scores = []
    for _ in range(size):
        place = min(max(centre + draw.uniform(-spread, spread), -25.0), 25.0)
        scores.append(draw.choice([-1, 1]) * 10**place)
    kind = draw.random()
    if kind < 0.1:
        scores[draw.randrange(size)] = 0.0
    elif kind < 0.2:
        scores = [-abs(z) for z in scores]
    elif kind < 0.5:
        scores = [abs(z) for z in scores]
    return scores


def draw_law(draw: random.Random, kind: str) -> tuple[list[float], list[float], int, int]:
    """(scores, probabilities, users, users to list) that the reference can do."""
    users = round(10 ** draw.uniform(math.log10(2), 12))
    if kind == "few":
        users, size = draw.choice([(2, 5), (3, 4), (4, 3), (6, 3), (9, 2), (40, 2)])
        weights = [10 ** draw.uniform(-draw.choice([0, 3, 30]), 0) for _ in range(size + 1)]
        if draw.random() < 0.3:
            weights[-1] = 0.0
        masses = [w / math.fsum(weights) for w in weights[:-1]]
        return draw_scores(draw, size), masses, users, users
    if kind == "rare":
        size = draw.choice([1, 2, 3])
        mean = 10 ** draw.uniform(-30, 0)
        masses = [max(mean * draw.random() / users / size, 1e-30) for _ in range(size)]
        return draw_scores(draw, size), masses, users, min(users, 10)
    if kind == "one":
        chance = draw.choice([draw.random(), 10 ** draw.uniform(-30, 0), 1 - 2.0**-50])
        return draw_scores(draw, 1), [chance], users, 0
    if kind == "two":
        chance = draw.choice([draw.random(), 2.0**-53 * draw.randrange(1, 2**20)])
        return draw_scores(draw, 2), [chance, 1 - chance], users, 0
    # one common and some rare
    size = draw.choice([1, 2])
    mean = 10 ** draw.uniform(-20, 0)
    rare = [min(max(mean * draw.random() / users, 1e-30), 0.1) for _ in range(size)]
    left = 1 - math.fsum(rare)
    common = draw.choice([left, left * draw.random(), 10 ** draw.uniform(-3, -0.5)])
    scores = draw_scores(draw, size + 1)
    if draw.random() < 0.5:  # where the rare ones balance the common ones
        scores[1] = -scores[0] * common * users * draw.choice([1.0, 10 ** draw.uniform(-1, 1)])
        if not 1e-25 <= abs(scores[1]) <= 1e25:
            scores[1] = 1.0
    return scores, [common, *rare], users, min(users, 6)


def draw_threshold(draw: random.Random, scores: list[float], masses: list[float], n: int) -> float:
    kind = draw.randrange(6)
    mean = n * math.fsum(z * p for z, p in zip(scores, masses, strict=True))
    largest = max(map(abs, scores))
    held = 0.0
    if kind == 1:
        held = mean
    elif kind == 2:
        held = sum(draw.randrange(0, 4) * z for z in scores)
    elif kind == 3:
        held = n * max(scores)
    elif kind == 4:
        held = largest * 10 ** draw.uniform(-5, 2)
    elif kind == 5:
        held = 10 ** draw.uniform(-25, 25)
    for _ in range(draw.choice([0, 0, 1, 3])):
        held = math.nextafter(held, draw.choice([-math.inf, math.inf]))
    return max(held, 0.0)


def draw_case(draw: random.Random, kind: str, users: int | None = None) -> Case:
    given, masses, n, most = draw_law(draw, kind)
    n = users or n
    threshold = draw_threshold(draw, given, masses, n)
    sizes = [abs(z) * draw.choice([1.0, 1.0, 10 ** draw.uniform(0, 6)]) for z in given]
    error = draw.choice([0.0, 0.0, 1e-13, 1e-9])
    side = draw.choice([0, 0, -1, 1])

    def off() -> Fraction:
        return side * Fraction(draw.choice([1.0, 1.0, draw.random()]))

    truth = [
        Fraction(z) + 16 * UNIT * Fraction(s) * off() for z, s in zip(given, sizes, strict=True)
    ]
    chances = [Fraction(p) * (1 + (16 * UNIT + Fraction(error)) * off()) for p in masses]
    if sum(chances) > 1:
        chances = [p / sum(chances) for p in chances]
    held = Fraction(threshold) * (1 - 16 * UNIT * off())
    scores, probabilities, magnitudes = (np.array([x]) for x in (given, masses, sizes))
    sums = ScoreSums(scores, probabilities, magnitudes, np.array([threshold]), n, error)
    return Case(sums, truth, chances, held, most)


def in_two_scales(case: Case, shift: int) -> ScoreSums:
    """The row of the case, and the same 2^shift times as large."""
    sums, factor = case.sums, np.array([1.0, 2.0**shift])
    rows = sums.rows(np.array([0, 0]))
    return replace(
        rows,
        scores=rows.scores * factor[:, None],
        magnitudes=rows.magnitudes * factor[:, None],
        threshold=rows.threshold * factor,
    )


def by_choice(sums: ScoreSums, draw: random.Random) -> Sides:
    return bound_stop_loss(sums, draw.choice([1e-2, 1e-4, 1e-7]))[:2]


def by_fourier(sums: ScoreSums, draw: random.Random) -> Sides:
    return stop_loss(sums, draw.choice([0.1, 1e-2, 1e-4, 1e-7]))[:2]


def by_rare_scores(sums: ScoreSums, draw: random.Random) -> Sides:
    return rare_stop_loss(sums, draw.choice([60.0, 700.0]))[:2]


def by_dominant_score(sums: ScoreSums, draw: random.Random) -> Sides:
    return dominant_stop_loss(sums, draw.choice([0.1, 1e-2, 1e-4]), large_stop_loss, 0.0)[:2]


def by_one_positive(sums: ScoreSums, draw: random.Random) -> Sides:
    return one_positive_stop_loss(sums, draw.choice([0.1, 1e-2, 1e-4, 1e-6]))[:2]


def by_mean(sums: ScoreSums, draw: random.Random) -> Sides:
    return one_user_stop_loss(sums)[:2]


ENGINES = [by_choice, by_fourier, by_rare_scores, by_dominant_score, by_one_positive, by_mean]
KINDS = ["few", "rare", "bulk", "one", "two"]
#: Of each kind, if they take longer.
CASES = {"by_choice": 8, "by_fourier": 4, "by_dominant_score": 8, "by_one_positive": 8}


def check(engine: Engine, kind: str, seed: int) -> None:
    draw = random.Random(f"{engine.__name__} {kind} {seed}")
    case = draw_case(draw, kind, 1 if engine is by_mean else None)
    shift = draw.randrange(-60, 60)
    low, high = engine(in_two_scales(case, shift), draw)
    lower, upper = case.truth()
    for row, factor in enumerate([mpmath.mpf(1), mpmath.mpf(2) ** shift]):
        assert low[row] <= upper * factor
        assert lower * factor <= high[row]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ENGINES)
def test_sums_at_extreme_scales(engine: Engine, kind: str) -> None:
    for seed in range(CASES.get(engine.__name__, 16)):
        check(engine, kind, seed)


@pytest.mark.parametrize("trials", [50, 900, 20_000])
def test_the_reference_against_whole_numbers(trials: int) -> None:
    """Fair coins: term by term, and by quadrature if there are many."""
    level = trials // 2 + math.isqrt(trials)
    term, exact = math.comb(trials, level), 0
    for j in range(level, trials + 1):
        exact += term * (j - level)
        term = term * (trials - j) // (j + 1)
    lower, upper = stop_loss_of_sum([Fraction(1)], [Fraction(1, 2)], trials, Fraction(level))
    assert fraction(lower) <= Fraction(exact, 2**trials) <= fraction(upper)
    assert upper - lower <= lower * mpmath.mpf(10) ** -60


def test_a_rare_score_far_above_the_threshold() -> None:
    """The level, 1.6e-23 users, is lost beside 20: the sum is nearly always 0 or 10^23."""
    scores = np.array([[1.63e23]])
    sums = ScoreSums(scores, np.array([[6.1e-24]]), scores, np.array([2.686]), 20)
    low, high = rare_stop_loss(sums)[:2]
    lower, upper = stop_loss_of_sum([Fraction(1.63e23)], [Fraction(6.1e-24)], 20, Fraction(2.686))
    assert low[0] <= lower <= upper <= high[0] <= low[0] * (1 + 1e-8)


def test_randomized_response_whose_level_is_within_rounding_of_the_mean() -> None:
    """One of 27204 values, and about 15 of 8e11 messages are random."""
    k, gamma, users, epsilon = 27204, 1.826888026690478e-11, 848170719077, 32.13394528628508
    bounds = Shuffle(RandomizedResponse(k, gamma=gamma), users).delta_bounds(epsilon)
    alpha = fraction(mpmath.exp(mpmath.mpf(epsilon)))
    base = Fraction(gamma) / k
    kept = 1 - Fraction(gamma) + base
    scores = [(kept - alpha * base) / base, (base - alpha * kept) / base, 1 - alpha]
    lower, upper = stop_loss_of_sum(scores, [base, base, (k - 2) * base], users, most=10)
    assert bounds.lower <= lower / users
    assert upper / users <= bounds.upper <= bounds.lower * (1 + 1e-6)


def fraction(x: mpmath.mpf) -> Fraction:
    return Fraction(int(x.man)) * Fraction(2) ** int(x.exp)


@pytest.mark.parametrize("seed", range(20))
def test_binomial_tails(seed: int) -> None:
    """Up to 10^12 trials, chances down to 1e-30 and as near to 1, starts up to the last trial."""
    draw = random.Random(seed)
    trials = round(10 ** draw.uniform(0, 12))
    small = draw.choice(
        [10 ** draw.uniform(-30, -0.31), min(0.5, 10 ** draw.uniform(-3, 3) / trials)]
    )
    p, q = (small, 1 - small) if draw.random() < 0.5 else (1 - small, small)
    exact = Fraction(p) if p == small else 1 - Fraction(q)
    deviation = math.sqrt(trials * p * q)
    level = trials * exact + Fraction(draw.choice([0.0, draw.random() * 40]) * deviation)
    level += Fraction(draw.choice([0.0, 10 ** draw.uniform(-5, 3)]))
    level = min(level, trials - Fraction(1, 2))
    start = math.floor(level) + 1
    gap = float(start - level)
    m, j = np.array(float(trials)), np.array(float(start))
    zeroth, first, error = tails.tail_sums(m, j, p / q)
    got = mpmath.exp(float(tails.log_pmf(m, j, p, q))) * (gap * float(zeroth) + float(first))
    lower, upper = stop_loss_of_sum([Fraction(1)], [exact], trials, Fraction(start) - Fraction(gap))
    allowed = tails.mass_error(deviation) + float(error)
    assert lower < 1e-300 or lower * (1 - allowed) <= got <= upper * (1 + allowed)


@pytest.mark.parametrize("seed", range(30))
def test_clone_laws(seed: int) -> None:
    """Few users, few clones among many, or few that are none; eps0 to 200 and infinite."""
    draw = random.Random(seed)
    eps0 = draw.choice([10 ** draw.uniform(-6, 2.3), draw.uniform(5, 80)])
    epsilon = eps0 * draw.choice([0.0, draw.random(), 1 - 2.0**-53, 1 - 10 ** draw.uniform(-15, 0)])
    if seed % 5 == 0:
        clone = 2 * 10 ** draw.uniform(-30, -0.5)
        weight = draw.random()
        laws = clone_pair(math.inf, clone, weight).laws
        chance, big = Fraction(clone), None
    else:
        law, weight = draw.choice([clones, stronger_clones]), 1.0
        laws = law(eps0).laws
        big = fraction(mpmath.exp(mpmath.mpf(eps0)))
        chance = 1 / big if law is clones else 2 / (big + 1)
    users = min(round(10 ** draw.uniform(0, 12)), max(int(1 / min(chance, 1 - chance)), 8))
    depth, width = draw.choice([50.0, 700.0]), draw.choice([1e-2, 1e-4, 1e-7])
    sampler = ClassSampler(LawTable(laws, users), width, depth=depth)
    samples = sampler(np.array([epsilon]))
    alpha = fraction(mpmath.exp(mpmath.mpf(epsilon)))
    if big is None:
        scores = [2 / chance, -2 * alpha / chance]
    else:
        scale = 2 / (chance * (big + 1))
        scores = [(big - alpha) * scale, (1 - alpha * big) * scale]
    lower, upper = stop_loss_of_sum(scores, [chance / 2] * 2, users, most=14)
    assert samples.lower[0] <= upper * weight / users
    assert lower * weight / users <= samples.upper[0]
