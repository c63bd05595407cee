"""The engine for any score law against exact sums and against the binomial engine."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.engines.enumerated import enumerated_stop_loss
from shuffledp.engines.fourier import stop_loss
from shuffledp.engines.problem import ScoreSums
from shuffledp.laws.three_point import ThreePointLaw
from shuffledp.profiles.clone_sampler import ThreePointSampler

Law = tuple[list[Fraction], list[Fraction]]


def exact(law: Law, users: int, threshold: Fraction = Fraction(0)) -> Fraction:
    """E[(S_n)_+] by enumerating how many users have which score."""
    scores, masses = law
    values = [*scores, Fraction(0)]
    weights = [*masses, 1 - sum(masses, Fraction(0))]
    total = Fraction(0)
    for cuts in itertools.combinations(range(users + len(values) - 1), len(values) - 1):
        edges = [-1, *cuts, users + len(values) - 1]
        counts = [b - a - 1 for a, b in itertools.pairwise(edges)]
        value = sum(c * z for c, z in zip(counts, values, strict=True)) - threshold
        if value > 0:
            ways = math.factorial(users)
            mass = Fraction(1)
            for c, w in zip(counts, weights, strict=True):
                ways //= math.factorial(c)
                mass *= w**c
            total += ways * mass * value
    return total


LAWS = [
    ([Fraction(3), Fraction(-4)], [Fraction(1, 4), Fraction(1, 4)]),
    (
        [Fraction(7, 3), Fraction(-5), Fraction(-1, 2)],
        [Fraction(1, 10), Fraction(1, 10), Fraction(3, 5)],
    ),
    ([Fraction(100), Fraction(-1)], [Fraction(1, 1000), Fraction(1, 2)]),
    ([Fraction(1), Fraction(2), Fraction(-3), Fraction(-4)], [Fraction(1, 5)] * 4),
]


THRESHOLDS = [Fraction(0), Fraction(1, 3), Fraction(4)]


def sums_of(law: Law, users: int, threshold: Fraction = Fraction(0)) -> ScoreSums:
    scores, masses = (np.array([[float(x) for x in column]]) for column in law)
    return ScoreSums(scores, masses, np.abs(scores), np.array([float(threshold)]), users)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("users", [1, 2, 5, 12, 24])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_stop_loss_against_enumeration(law: Law, users: int, threshold: Fraction) -> None:
    truth = float(exact(law, users, threshold))
    for width in (1e-2, 1e-4, 1e-7):
        lower, upper = stop_loss(sums_of(law, users, threshold), width)
        assert lower[0] <= truth * (1 + 1e-14)
        assert truth * (1 - 1e-14) <= upper[0]
    if users >= 12:
        assert upper[0] - lower[0] <= 2e-3 * truth


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_enumerated_sums_against_enumeration(law: Law, threshold: Fraction) -> None:
    for users, most in ((5, 5), (12, 12), (12, 6)):
        lower, upper = enumerated_stop_loss(sums_of(law, users, threshold), most)
        truth = float(exact(law, users, threshold))
        assert lower[0] <= truth * (1 + 1e-14)
        assert truth * (1 - 1e-14) <= upper[0]
        if most == users:
            assert upper[0] - lower[0] <= 1e-11 * truth


@pytest.mark.parametrize("users", [10**3, 10**5, 10**8, 10**10])
@pytest.mark.parametrize("eps0", [0.5, 3.0, 8.0])
def test_stop_loss_against_the_binomial_engine(users: int, eps0: float) -> None:
    """Two engines that share nothing, on the law that both can do."""
    law = ThreePointLaw.stronger_clones(eps0)
    epsilon = min(2 * eps0 / math.sqrt(1 + users * law.clone), 0.9 * eps0) * np.array([0.1, 1, 3])
    epsilon = np.minimum(epsilon, 0.9 * eps0)
    reference = ThreePointSampler(law, users, 300.0, 1e-6)(epsilon)
    big, alpha = math.exp(eps0), np.exp(epsilon)
    scores = np.stack([big - alpha, 1 - alpha * big], axis=1)
    masses = np.full(scores.shape, 1 / (big + 1))
    sums = ScoreSums(scores, masses, np.abs(scores), np.zeros(len(scores)), users)
    lower, upper = stop_loss(sums, 1e-5)
    assert (lower / users <= reference.upper).all()
    assert (upper / users >= reference.lower).all()
    if users * law.clone > 100:
        assert (upper - lower <= 0.01 * upper).all()
