"""One round and many: certified answers and sums of losses, beside exact products."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from unittest.mock import patch

import mpmath
import numpy as np

import oracles
from oracles.attacker import caught, renyi
from shuffledp import (
    Accountant,
    FiniteRandomizer,
    Gaussian,
    Laplace,
    PureLDP,
    Shuffle,
    choose,
    risk,
)
from shuffledp._support.numeric import BOTH
from shuffledp.composition.pld import PLD
from shuffledp.composition.tilted_sum import LatticeTooLong, TiltedSum, tilt_for_epsilon
from shuffledp.mechanisms import ApproximateDP

from .common import Checked, asked


@cache
def exact_rounds() -> tuple[mpmath.mpf, mpmath.mpf]:
    return (
        oracles.randomized_response_composition(0.5, 40, 3.0),
        oracles.randomized_response_epsilon(0.5, 40, 1e-6),
    )


@cache
def exact_mixture() -> list[oracles.Atom]:
    atoms = [oracles.clone_pair_atoms(*kind, "stronger-clones") for kind in KINDS]
    return oracles.compose_atoms(atoms)


KINDS = [(5, 2.0), (10, 0.75), (11, 0.75)]  # users, eps0; the last two are alike


@cache
def exact_mixture_answers() -> tuple[mpmath.mpf, mpmath.mpf]:
    atoms = exact_mixture()
    return oracles.delta_of_atoms(atoms, 1.0), oracles.epsilon_of_atoms(atoms, 1e-3)


@cache
def exact_one_round() -> tuple[mpmath.mpf, mpmath.mpf]:
    atoms = oracles.clone_pair_atoms(9, 0.75, "stronger-clones")
    return oracles.delta_of_atoms(atoms, 0.3), oracles.epsilon_of_atoms(atoms, 1e-3)


def repeated_rounds() -> Iterator[Checked]:
    repeated = Accountant().compose(Shuffle(PureLDP(0.5), 1), 40)
    delta, epsilon = exact_rounds()
    yield asked(repeated.delta_bounds, 3.0, rtol=1e-3), (delta, delta)
    yield asked(repeated.epsilon_bounds, 1e-6, rtol=1e-3), (epsilon, epsilon)


def attained_rounds() -> Iterator[Checked]:
    repeated = Accountant().compose(Shuffle(PureLDP(0.5), 1), 40)
    epsilon = exact_rounds()[1]
    yield (repeated.attained_epsilon(1e-6), math.inf), (epsilon, epsilon)


def mixed_rounds() -> Iterator[Checked]:
    mixture = Accountant()
    for users, eps0 in KINDS:
        mixture.compose(Shuffle(PureLDP(eps0), users))
    delta, epsilon = exact_mixture_answers()
    yield asked(mixture.delta_bounds, 1.0, rtol=1e-3), (delta, delta)
    yield asked(mixture.epsilon_bounds, 1e-3, rtol=1e-3), (epsilon, epsilon)


def one_round() -> Iterator[Checked]:
    one = Shuffle(PureLDP(0.75), 9)
    delta, epsilon = exact_one_round()
    yield asked(one.delta_bounds, 0.3, rtol=1e-3), (delta, delta)
    yield asked(one.epsilon_bounds, 1e-3, rtol=1e-3), (epsilon, epsilon)


@cache
def exact_near_top(epsilon: float) -> mpmath.mpf:
    return oracles.clone_profile(9, 0.75, epsilon, "stronger-clones")


def near_the_top() -> Iterator[Checked]:
    for share in (2.0**-45, 2.0**-30, 2.0**-10):
        epsilon = 0.75 * (1 - share)
        exact = exact_near_top(epsilon)
        yield asked(Shuffle(PureLDP(0.75), 9).delta_bounds, epsilon, rtol=1e-3), (exact, exact)


@cache
def exact_two_rounds() -> mpmath.mpf:
    atoms = oracles.clone_pair_atoms(9, 0.75, "stronger-clones")
    return oracles.delta_of_atoms(oracles.compose_atoms([atoms, atoms]), 0.5)


@cache
def exact_normal_epsilon() -> mpmath.mpf:
    """Two rounds of one user at delta = 0.02, with sigma = 2."""
    with mpmath.workdps(30):
        mu, delta = mpmath.sqrt(0.5), mpmath.mpf(0.02)
        return mpmath.findroot(lambda e: mpmath.log(normal_delta(mu, e) / delta), (1.2, 1.3))


def normal_delta(mu: mpmath.mpf, epsilon: float | mpmath.mpf) -> mpmath.mpf:
    """Of a central Gaussian mechanism."""
    left, right = (mpmath.ncdf(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
    return left - mpmath.exp(epsilon) * right


def two_laplaces() -> tuple[Accountant, mpmath.mpf]:
    """With delta at 1: both losses have an atom there, and a density of e^(x/2)/4 below it."""
    return Accountant().compose(Shuffle(Laplace(1.0), 1), 2), 1 - 1.25 * mpmath.exp(-0.5)


def densities() -> Iterator[Checked]:
    """What two rounds attain, and the bound."""
    twice, exact = two_laplaces()
    yield (twice.attained_delta(1.0), twice.get_delta(1.0)), (exact, exact)


def too_wide_at_first() -> Iterator[Checked]:
    normal = Accountant().compose(Shuffle(Gaussian(2.0), 1), 2)
    exact = exact_normal_epsilon()
    yield asked(normal.epsilon_bounds, 0.02, rtol=1e-3), (exact, exact)


def one_laplace() -> Iterator[Checked]:
    exact = 1 - mpmath.exp((mpmath.mpf(0.25) - 1) / 2)
    yield asked(Shuffle(Laplace(1.0), 1).delta_bounds, 0.25, rtol=1e-3), (exact, exact)
    near = 0.25 * (1 - 1e-12), 0.25 * (1 + 1e-12)  # delta is rounded
    yield asked(Shuffle(Laplace(1.0), 1).epsilon_bounds, float(exact), rtol=1e-3), near


def narrow_brackets() -> Iterator[Checked]:
    twice, exact = two_laplaces()
    yield asked(twice.delta_bounds, 1.0, rtol=1e-4), (exact, exact)
    narrow = Accountant().compose(Shuffle(PureLDP(0.75), 9), 2)
    exact = exact_two_rounds()
    yield asked(narrow.delta_bounds, 0.5, rtol=1e-5), (exact, exact)
    near = 0.118153067 - 5e-10, 0.118153067 + 5e-10  # the root, found with 40 digits
    yield asked(Shuffle(PureLDP(4.0), 10**5).epsilon_bounds, 1e-6, rtol=1e-3), near


def infinite_losses() -> Iterator[Checked]:
    """Deltas that only infinite losses have."""
    pair = FiniteRandomizer([[0.5, 0.3, 0.2], [0.2, 0.8, 0.0]])  # delta = 0.2 + (0.5 - 0.2 alpha)_+
    exact = mpmath.log(2.5)
    near = exact * (1 - 1e-12), exact * (1 + 1e-12)  # of a matrix of doubles
    yield asked(Shuffle(pair, 1).epsilon_bounds, 0.2, rtol=1e-3), near


def infinite_losses_twice() -> Iterator[Checked]:
    known = Accountant().compose(ApproximateDP(1.0, 2.0**-10), 2)
    exact = mpmath.mpf(2)
    yield asked(known.epsilon_bounds, 1 - (1 - 2.0**-10) ** 2, rtol=1e-3), (exact, exact)


def calibrated() -> Iterator[Checked]:
    """So many rounds have a loss of at most 2: they must have it."""
    rounds = Accountant().remaining_rounds(Shuffle(PureLDP(0.5), 1), 2.0, 1e-3, rtol=1e-2)
    exact = exact_epsilon(rounds) if rounds else mpmath.mpf(0)
    yield (0.0, 2.0), (exact, exact)


def chosen() -> Iterator[Checked]:
    """Noise shares that add up to a central Gaussian mechanism, twice, within (1, 1e-4): of the
    randomizers for means the one whose truth is known. None may be found."""
    with (
        patch("shuffledp.tools.choose.REGISTRY", {"gaussian": Gaussian}),
        patch("shuffledp.tools.choose.SUMMED", {}),
    ):
        table = choose(16, task="mean", view="aggregate", rounds=2, epsilon=1.0, delta=1e-4)
        # the error of the mean within another epsilon, as in a picture, says the noise for it
        others = [4 * choice.error_at(2.0) for choice in table]
    for choice, other in zip(table, others, strict=True):
        upper = choice.epsilon.upper
        yield (upper, math.inf), (mpmath.mpf(0), mpmath.mpf(1))
        for sigma, epsilon in ((choice.parameters["sigma"], upper), (other, 2.0)):
            exact = normal_delta(mpmath.sqrt(2) / (mpmath.mpf(sigma) * 4), epsilon)
            yield (0.0, 1e-4), (exact, exact)


@cache
def exact_epsilon(rounds: int) -> mpmath.mpf:
    return oracles.randomized_response_epsilon(0.5, rounds, 1e-3)


# Sums of losses

RARE = PLD(0.25, np.array([-1, 0, 1, 2, 3, 100]), np.array([0.25, 0.5, 0.24, 2e-3, 1e-7, 1e-22]), 0)
TIMES = 4


@cache
def exact_sum(epsilon: float) -> mpmath.mpf:
    law = {0: Fraction(1)}
    for _ in range(TIMES):
        after: dict[int, Fraction] = {}
        for at, mass in law.items():
            for step, more in zip(RARE.index.tolist(), RARE.masses.tolist(), strict=True):
                after[at + step] = after.get(at + step, Fraction(0)) + mass * Fraction(more)
        law = after
    with mpmath.workdps(60):
        return mpmath.fsum(
            mpmath.mpf(p.numerator) / p.denominator * -mpmath.expm1(epsilon - mpmath.mpf(s) / 4)
            for s, p in law.items()
            if s / 4 > epsilon
        )


def sums_of_losses() -> Iterator[Checked]:
    parts = [(RARE, TIMES)]
    for epsilon in (0.3, 2.2, 12.0, 26.0):
        exact = exact_sum(epsilon)
        try:
            total = TiltedSum(parts, tilt_for_epsilon(parts, epsilon))
        except LatticeTooLong:
            continue
        lower, upper = (total.delta(epsilon, side) for side in BOTH)
        yield (lower, upper), (exact, exact)


@cache
def exact_readings() -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """Binary randomized response with eps0 = 2, twice: what is caught, and divergences."""
    e = mpmath.exp(2)
    p, q = e / (e + 1), 1 / (e + 1)
    pair = {(0, 0): (q * q, p * p), 1: (2 * p * q, 2 * p * q), (1, 1): (p * p, q * q)}
    return (
        caught(pair, mpmath.mpf("0.01")),
        renyi(pair, Fraction(2)),
        renyi(pair, Fraction(10)),
    )


def readings() -> Iterator[Checked]:
    found = risk(Shuffle(PureLDP(2.0), 1), 2, false_positive_rates=[0.01], orders=[2, 10])
    uppers = (*found.true_positive_rates, *found.divergences)
    for upper, exact in zip(uppers, exact_readings(), strict=True):
        yield (0.0, upper), (exact, exact)
    (missed,) = found.false_negative_rates
    yield (missed, 1.0), (1 - exact_readings()[0],) * 2
    few = risk(Shuffle(Gaussian(1.0), 1), orders=[2, 3])
    for order, upper in zip(few.orders, few.divergences, strict=True):
        yield (0.0, upper), (mpmath.mpf(order) / 2,) * 2
