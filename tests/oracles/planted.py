"""Errors of the literature and of public code, planted on purpose for the referee to catch.

Nothing here is right. Every function is what a paper prints or a program does, in exact fractions
where it can be, so that what the tests show is the error itself and not its rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import mpmath
from mpmath import mpf

import oracles


def _binomial(trials: int, chance: Fraction) -> list[Fraction]:
    return [comb(trials, i) * chance**i * (1 - chance) ** (trials - i) for i in range(trials + 1)]


def p0_of_the_paper(users: int, ratio: Fraction) -> oracles.FractionPair:
    """P0 = q/(1-q) (n - a - b)/(2a) P1, q = 1/E: the law of (A, C - A), one message short."""
    q = 1 / ratio
    p1 = {
        (a + 1, c - a): mass * Fraction(comb(c, a), 2**c)
        for c, mass in enumerate(_binomial(users - 1, q))
        for a in range(c + 1)
    }
    pair: oracles.FractionPair = {}
    for (a, b), mass in p1.items():
        p0 = q / (1 - q) * Fraction(users - a - b, 2 * a) * mass
        pair[a, b] = ((ratio * mass + p0) / (ratio + 1), (mass + ratio * p0) / (ratio + 1))
    return pair


def probability_of_a_large_ratio_strong(
    users: int, k: int, gamma: Fraction, alpha: Fraction
) -> Fraction:
    """Pr[N1/N2 >= alpha] with independent N1 - 1, N2 ~ Bin(n - 1, gamma/k), taken as delta."""
    counts = _binomial(users - 1, gamma / k)
    return sum(
        (
            p * q
            for one, p in enumerate(counts)
            for two, q in enumerate(counts)
            if one + 1 >= alpha * two
        ),
        Fraction(0),
    )


def probability_of_a_large_ratio_weak(
    users: int, k: int, gamma: Fraction, alpha: Fraction
) -> Fraction:
    """Pr[ratio >= alpha] of the view of A_w, the dependence of the counts kept, taken as delta."""
    rows = [[gamma / k + (1 - gamma) * (x == y) for y in range(k)] for x in (0, 1)]
    pair = oracles.blanket_pair(rows[0], rows[1], [gamma / k] * k, users)
    return sum((p for p, q in pair.values() if p >= alpha * q), Fraction(0))


def weak_adversary_with_b(users: int, k: int, gamma: Fraction) -> oracles.FractionPair:
    """The view of A_w with gamma/k B where gamma/k (B + 1) belongs."""
    pair: oracles.FractionPair = {}
    for b, chance in enumerate(_binomial(users - 1, gamma)):
        m = b + 1
        for one in range(m + 1):
            for two in range(m + 1 - one):
                ways = comb(m, one) * comb(m - one, two) * (k - 2) ** (m - one - two)
                mass = chance * Fraction(ways, m * k**b)
                pair[one, two, b] = (
                    mass * ((1 - gamma) * one + gamma / k * b),
                    mass * ((1 - gamma) * two + gamma / k * b),
                )
    return pair


def refined_clones(users: int, ratio: Fraction, p: Fraction) -> oracles.FractionPair:
    """A third message, of probability 1 - (E + 1) p, that is taken to be nobody's clone."""
    pair: oracles.FractionPair = {}
    for c, chance in enumerate(_binomial(users - 1, 2 * p)):
        for a in range(c + 1):
            mass, b = chance * Fraction(comb(c, a), 2**c), c - a
            same = 1 - (ratio + 1) * p
            for outcome, up, down in (
                ((a + 1, b), ratio * p, p),
                ((a, b + 1), p, ratio * p),
                ((a, b), same, same),
            ):
                first, second = pair.get(outcome, (Fraction(0), Fraction(0)))
                pair[outcome] = (first + mass * up, second + mass * down)
    return pair


def different_randomizers(users: int, ratio: Fraction, analysis: str) -> oracles.FractionPair:
    """The clone pair, if every user applies *an* eps0-LDP randomizer: each may have their own."""
    return oracles.clone_pair_fractions(users, ratio, analysis)


def reverse_order_with_b(users: int, chance: Fraction, alpha: Fraction) -> Fraction:
    """E[(1 - alpha A/B)_+] where E[(1 - alpha A/(B + 1))_+] belongs; outcomes with B = 0 fall out.

    The divergence of (A, B + 1) from (A + 1, B), with `chance` of a clone.
    """
    return sum(
        (
            mass * Fraction(comb(c, a), 2**c) * max(1 - alpha * Fraction(a, c - a), Fraction(0))
            for c, mass in enumerate(_binomial(users - 1, chance))
            for a in range(c)
        ),
        Fraction(0),
    )


def without_b_zero(users: int, eps0: float, epsilon: float) -> mpf:
    """The clone pair's delta summed over the outcomes (a, b) with a, b >= 1 only."""
    big, alpha = mpmath.exp(eps0), mpmath.exp(epsilon)
    q, total = 1 / big, mpf(0)
    for c in range(1, users):
        mass = comb(users - 1, c) * q**c * (1 - q) ** (users - 1 - c) / mpf(2) ** c / (big + 1)
        if mass < mpf(10) ** -60:
            continue
        for a in range(1, c + 1):
            one, zero = comb(c, a - 1), comb(c, a)
            total += mass * max(big * one + zero - alpha * (one + big * zero), mpf(0))
    return total


def one_sided_sample(senders: int, users: int, ratio: Fraction) -> oracles.FractionPair:
    """(rate P + (1 - rate) Q, Q), composed as if it covered both orders."""
    rate = Fraction(senders, users)
    pair = oracles.clone_pair_fractions(senders, ratio, "stronger-clones")
    return {y: (rate * p + (1 - rate) * q, q) for y, (p, q) in pair.items()}


def renormalized_window(ratio: Fraction, rounds: int, window: int, alpha: Fraction) -> Fraction:
    """Binary randomized response: losses beyond `window` steps cut off, the rest scaled up to 1."""
    chances = _binomial(rounds, ratio / (ratio + 1))
    kept = {2 * j - rounds: p for j, p in enumerate(chances) if abs(2 * j - rounds) <= window}
    total = sum(kept.values(), Fraction(0))
    gains = (p * max(1 - alpha / ratio**loss, Fraction(0)) for loss, p in kept.items())
    return sum(gains, Fraction(0)) / total


def infinite_loss_once(infinite: Fraction, rounds: int) -> Fraction:
    """The mass of infinite loss of one round, whatever the number of rounds."""
    return infinite


def rounds_not_multiplied(users: int, eps0: float, epsilon: float, rounds: int) -> mpf:
    """The delta of one round, whatever the number of rounds."""
    return oracles.clone_profile(users, eps0, epsilon, "stronger-clones")


def one_minus_cdf(ratio: Fraction, rounds: int, least: int) -> float:
    """Pr[X >= least] as 1 - cdf in floats, X the number of answers in favour of P.

    Correctly rounded masses, correctly rounded sum: a safe delta, but for the subtraction.
    """
    masses = _binomial(rounds, ratio / (ratio + 1))
    return 1 - math.fsum(float(mass) for mass in masses[:least])
