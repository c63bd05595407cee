"""H(m) of bits of two kinds against whole numbers and many digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from covering import covering
from oracles import bits
from shuffledp._support.numeric import Side
from shuffledp.engines.tilted_bits import Ranges
from shuffledp.engines.two_binomials import TwoBinomials
from shuffledp.laws.binary_law import BinaryLaw

#: q < p: alike, far apart, very unlike, sure, nearly equal.
CASES = [
    (0.25, 0.75),
    (0.018, 0.982),
    (0.001, 0.3),
    (0.7, 0.9999),
    (0.0, 0.4),
    (0.3, 1.0),
    (0.0, 1.0),
    (0.1, 0.1001),
    (1e-9, 2e-9),
    (0.5, 0.75),
]
USERS = [1, 2, 3, 7, 25]


def law_of(q: float, p: float) -> BinaryLaw:
    return BinaryLaw(p, 1 - p, q, 1 - q)


def exact_pair(q: float, p: float) -> tuple[Fraction, Fraction]:
    return Fraction(p), Fraction(q)


def places(law: BinaryLaw, users: int) -> list[float]:
    top = law.max_loss(users, law.orders)
    return [0.0, 1e-9 * top, 0.02 * top, 0.3 * top, 0.8 * top, 0.999 * top]


def rows(epsilon: float, first: list[int], last: list[int]) -> Ranges:
    size = len(first)
    return Ranges(np.full(size, epsilon), np.array(first, float), np.array(last, float))


@pytest.mark.parametrize(("case", "users"), covering(CASES, USERS))
def test_single_m_against_whole_numbers(case: tuple[float, float], users: int) -> None:
    q, p = case
    law, others = law_of(q, p), users - 1
    every = list(range(users))
    for epsilon in places(law, users):
        below, above = bits.alphas(epsilon)
        upper = TwoBinomials(law.pair(Side.UPPER), others).upper_over(rows(epsilon, every, every))
        found = TwoBinomials(law.pair(Side.LOWER), others).lower_at(rows(epsilon, every, every))
        lower = found.lower
        for m in every:
            most = bits.divergence(*exact_pair(q, p), m, others, below)
            least = bits.divergence(*exact_pair(q, p), m, others, above)
            assert lower[m] <= most
            assert least <= upper[m]
            # a difference of nearly equal numbers is known as well as they are
            noise = 1e-13 * (p + math.exp(epsilon) * q)
            assert upper[m] - lower[m] <= 1e-7 * float(most) + noise


@pytest.mark.parametrize(("q", "p"), CASES)
def test_ranges_of_m_are_bounded(q: float, p: float) -> None:
    law, others = law_of(q, p), 15
    first, last = (
        list(x) for x in zip(*((a, b) for b in range(16) for a in range(b)), strict=True)
    )
    for epsilon in places(law, 16):
        above = bits.alphas(epsilon)[1]
        exact = [bits.divergence(*exact_pair(q, p), m, others, above) for m in range(16)]
        upper = TwoBinomials(law.pair(Side.UPPER), others).upper_over(rows(epsilon, first, last))
        for a, b, bound in zip(first, last, upper, strict=True):
            assert max(exact[a : b + 1]) <= bound


@pytest.mark.parametrize(("q", "p"), CASES)
def test_slopes_make_lines_below(q: float, p: float) -> None:
    """A fixed event is a line in alpha below H."""
    law, others = law_of(q, p), 6
    for epsilon in places(law, 7):
        found = TwoBinomials(law.pair(Side.LOWER), others).lower_at(
            rows(epsilon, list(range(7)), list(range(7)))
        )
        below, above = bits.alphas(epsilon)
        for m in range(7):
            lower, low, high = (Fraction(float(column[m])) for column in found)
            assert low <= high
            if high < 1:
                assert high - low <= Fraction(1, 10**9)
            for factor in (Fraction(1, 2), Fraction(9, 10), Fraction(11, 10), 2):
                alpha = above * factor
                slope, start = (low, below) if factor < 1 else (high, above)
                line = lower - slope * (alpha - start)
                assert line <= bits.divergence(*exact_pair(q, p), m, others, alpha)


@pytest.mark.parametrize(
    ("others", "p", "epsilon"),
    [
        (10**4, 0.98, 0.3),
        (10**5, 0.9, 0.01),
        (10**6, 0.6, 5e-3),
        (10**8, 1e-5, 1.2e-6),
        (10**10, 2e-9, 2e-9),
    ],
)
def test_many_users_who_hold_one_value(others: int, p: float, epsilon: float) -> None:
    """m = M: one binomial law, its tails summed up in 40 digits."""
    q = p / 4
    law = law_of(q, p)
    with mpmath.workdps(40):
        one, two, alpha = mpmath.mpf(p), mpmath.mpf(q), mpmath.exp(mpmath.mpf(epsilon))
        a, b = one - alpha * two, alpha * (1 - two) - (1 - one)
        tilted = one * b / (one * b + (1 - one) * a)
        t = int(mpmath.floor(others * tilted)) + 1
        exact = max(_one_binomial(others, one, a, b, t + i) for i in (-1, 0, 1, 2))
    here = rows(epsilon, [others], [others])
    upper = float(TwoBinomials(law.pair(Side.UPPER), others).upper_over(here)[0])
    lower = float(TwoBinomials(law.pair(Side.LOWER), others).lower_at(here).lower[0])
    assert lower <= exact <= upper
    assert upper - lower <= 1e-6 * exact


def _one_binomial(n: int, p: mpmath.mpf, a: mpmath.mpf, b: mpmath.mpf, t: int) -> mpmath.mpf:
    """a Pr[X >= t-1] - b Pr[X >= t]."""
    mass = mpmath.exp(
        mpmath.loggamma(n + 1)
        - mpmath.loggamma(t)
        - mpmath.loggamma(n - t + 2)
        + (t - 1) * mpmath.log(p)
        + (n - t + 1) * mpmath.log1p(-p)
    )
    total, k, first = mpmath.mpf(0), t, mass
    while mass > first * mpmath.mpf(10) ** -25:
        mass *= (n - k + 1) * p / (k * (1 - p))
        total, k = total + mass, k + 1
    return a * first - (b - a) * total


@pytest.mark.parametrize("rare", [1e-20, 1e-12, 5e-11, 3e-10])
def test_many_users_of_whom_hardly_any_deviates(rare: float) -> None:
    """Nothing that is rare may be lost beside 1, for any of 10^10 users."""
    others, epsilon = 10**10, 2.0
    law = BinaryLaw(1 - rare, rare, rare, 1 - rare)
    with mpmath.workdps(60):
        p, alpha = 1 - mpmath.mpf(rare), mpmath.exp(epsilon)
        a, b = p - alpha * (1 - p), alpha * p - (1 - p)
        tails, mass, best = mpmath.mpf(0), p**others, mpmath.mpf(0)
        for zeros in range(60):  # the event that at most so many of all messages are 0
            before, tails = tails, tails + mass
            best = max(best, a * tails - b * before)
            mass *= (others - zeros) * (1 - p) / ((zeros + 1) * p)
    here = rows(epsilon, [others], [others])
    upper = float(TwoBinomials(law.pair(Side.UPPER), others).upper_over(here)[0])
    lower = float(TwoBinomials(law.pair(Side.LOWER), others).lower_at(here).lower[0])
    assert lower <= best <= upper
    assert upper - lower <= 1e-9 * best


def test_wide_ranges_of_many_users_are_bounded_closely() -> None:
    """All m at once: hardly more than the largest of some of them."""
    others = 10**8
    law = law_of(1 / 8, 7 / 8)
    some = [0, 1, others // 3, others // 2, others - 1, others]
    single = TwoBinomials(law.pair(Side.LOWER), others).lower_at(rows(1e-3, some, some)).lower
    upper = TwoBinomials(law.pair(Side.UPPER), others).upper_over(rows(1e-3, [0], [others]))
    assert single.max() <= upper[0] <= 1.1 * single.max()
