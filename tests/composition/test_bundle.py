"""Numbers of senders between some for which a composition is known."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import comb, lcm

import numpy as np
import pytest

from covering import covering
from shuffledp import PureLDP, RandomizedResponse, Shuffle
from shuffledp._support.numeric import Side
from shuffledp.composition.bundle import BundledRounds, Hiding
from shuffledp.laws.class_law import ClassLaw
from shuffledp.profiles.base import Samples

HIDING = Fraction(1, 5)
NODES = (170, 190, 215, 235)


def ways(trials: int, most: int) -> list[int]:
    """5^trials Pr[Bin(trials, 1/5) = c] up to `most`, in whole numbers."""
    return [comb(trials, c) * 4 ** (trials - c) for c in range(most + 1)]


@cache
def at_most(trials: int, most: int) -> Fraction:
    """Pr[Bin(trials, HIDING) <= most]."""
    return Fraction(sum(ways(trials, most)), 5**trials)


@cache
def mean_square(trials: int) -> Fraction:
    """E[1/(1 + c)^2]: one that falls smoothly."""
    unit = lcm(*range(1, trials + 2))
    total = sum(n * (unit // (1 + c)) ** 2 for c, n in enumerate(ways(trials, trials)))
    return Fraction(total, 5**trials * unit**2)


#: Means of functions that fall with the numbers of others who hide a user in each round. Steps fall
#: at one number only: the mean falls as binomial masses do, with logarithms that bend downwards.
MEANS: list[tuple[int, Callable[[int], Fraction]]] = [
    *((1, lambda t, k=k: at_most(t - 1, k)) for k in (15, 30, 40, 55)),
    (1, lambda t: mean_square(t - 1)),
    (2, lambda t: mean_square(t - 1) ** 2),
    *((2, lambda t, k=k: at_most(2 * (t - 1), k)) for k in (50, 80, 100)),
    *((6, lambda t, k=k: at_most(6 * (t - 1), k)) for k in (230, 250)),
    *((3, lambda t, k=k: at_most(t - 1, k) ** 3) for k in (30, 40)),
]


@pytest.mark.parametrize(("case", "width"), covering(MEANS, [0.0, 1e-4]))
def test_between_two_counts(case: tuple[int, Callable[[int], Fraction]], width: float) -> None:
    rounds, mean = case
    counts, at = np.arange(NODES[1], NODES[2] + 1), {}
    for node in NODES:
        known = np.full((len(counts), 1), float(mean(node)))
        at[node] = Samples(known * (1 - width), known * (1 + width), 0 * known, 0 * known)
    hiding = Hiding(float(HIDING), rounds)
    lower = hiding.bound(NODES[:3], counts, at, Side.LOWER)[:, 0]
    upper = hiding.bound(NODES[1:], counts, at, Side.UPPER)[:, 0]
    exact = [mean(count) for count in counts.tolist()]
    for low, value, high in zip(lower, exact, upper, strict=True):
        assert low * (1 - 1e-15) <= value <= high * (1 + 1e-15)
    if exact[0] < 5 * exact[-1]:  # far less apart than the counts on both sides
        apart = float(exact[0] - exact[-1])
        assert (upper - lower).max() < 0.8 * apart + 8 * width * float(exact[0])


def test_logarithms_bend_no_more_than_said() -> None:
    """Of masses of so many others: the largest bend is at the most of them and the first count."""
    for first, last in ((150, 200), (900, 950)):
        bent = Hiding(0.2, 1).bent(first, last)
        assert bent
        bend, missed = bent
        most = max(c for c in range(first) if _bend(first, c) <= bend)
        assert HIDING * (1 - at_most(last - 1, most)) <= Fraction(missed)


def _bend(count: int, others: int) -> float:
    """Minus the second difference of the logarithm of Bin(count - 1, .)(others) in the count."""
    masses = [comb(count - 1 + i, others) for i in range(3)]
    return float(np.log(float(Fraction(masses[1] ** 2, masses[0] * masses[2]))))


def test_beside_every_count_by_itself() -> None:
    randomizer = RandomizedResponse(5, eps0=4.0)
    asked = Shuffle(randomizer, users=60, sample_rate=0.2, sampling="poisson", messages=2)
    (mixture, _), *_ = asked.parts
    assert isinstance(mixture, BundledRounds)
    epsilon = np.array([0.0, 1.0, 2.5])
    found = mixture.sampler(40.0, 1e-3)(epsilon)
    lower, upper = np.zeros((2, len(epsilon)))
    masses = [comb(60, t) * 0.2**t * 0.8 ** (60 - t) for t in range(61)]
    for t in range(1, 30):
        one = mixture.profile(t).sampler(40.0, 1e-3)(epsilon)
        lower, upper = lower + masses[t] * one.lower, upper + masses[t] * one.upper
    rest = masses[0] + sum(masses[30:])
    assert (found.lower <= upper + rest).all()
    assert (found.upper >= lower).all()
    assert (found.upper - found.lower < 0.02 * found.upper).all()


def test_many_senders_are_certified() -> None:
    found = Shuffle(
        PureLDP(4.0), users=3000, sample_rate=0.3, sampling="poisson", messages=5
    ).epsilon_bounds(1e-6)
    assert found.upper - found.lower < 1e-3 * found.upper
    assert found.lower < 2.5306 < found.upper  # to four digits with narrower brackets


def test_laws_that_are_not_alike_in_both_orders_are_left_alone() -> None:
    assert ClassLaw((0.6, 0.4), (0.4, 0.6), (0.3, 0.3)).is_symmetric
    assert not ClassLaw((0.6, 0.4), (0.4, 0.6), (0.3, 0.4)).is_symmetric
