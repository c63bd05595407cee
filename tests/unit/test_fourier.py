"""The engine for any score law against exact sums and against the binomial engine."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.fourier import stop_loss
from shuffledp.scores import ThreePointLaw
from shuffledp.stop_loss import ThreePointSampler


def exact(scores: list[Fraction], masses: list[Fraction], users: int) -> Fraction:
    """E[(S_n)_+] by enumerating how many users have which score."""
    values = [*scores, Fraction(0)]
    weights = [*masses, 1 - sum(masses, Fraction(0))]
    total = Fraction(0)
    for cuts in itertools.combinations(range(users + len(values) - 1), len(values) - 1):
        edges = [-1, *cuts, users + len(values) - 1]
        counts = [b - a - 1 for a, b in itertools.pairwise(edges)]
        value = sum(c * z for c, z in zip(counts, values, strict=True))
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


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("users", [1, 2, 5, 12, 30])
@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-7])
def test_stop_loss_against_enumeration(
    law: tuple[list[Fraction], list[Fraction]], users: int, width: float
) -> None:
    scores = np.array([[float(z) for z in law[0]]])
    masses = np.array([[float(q) for q in law[1]]])
    lower, upper = stop_loss(scores, masses, np.abs(scores), users, width)
    truth = float(exact(*law, users))
    assert lower[0] <= truth * (1 + 1e-14)
    assert truth * (1 - 1e-14) <= upper[0]
    if width == 1e-7 and users >= 12:
        assert upper[0] - lower[0] <= 2e-3 * truth


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
    lower, upper = stop_loss(scores, masses, np.abs(scores), users, 1e-5)
    assert (lower / users <= reference.upper).all()
    assert (upper / users >= reference.lower).all()
    if users * law.clone > 100:
        assert (upper - lower <= 0.01 * upper).all()
