"""Noise messages and thresholds from their definitions, in many digits."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import mpmath
import numpy as np
from mpmath import mpf

from shuffledp.laws.noise_law import BinomialCounts, Noise, PoissonNoise

#: Of outcomes, the masses under the two laws of a pair.
Pair = tuple[list[mpf], list[mpf]]


def masses(noise: Noise, least: float = 1e-60) -> list[mpf]:
    """Pr[N = 0], Pr[N = 1], ... until they are below `least`."""
    if isinstance(noise, BinomialCounts):
        q, n = mpf(noise.one), noise.trials
        return [mpmath.binomial(n, s) * q**s * (1 - q) ** (n - s) for s in range(n + 1)]
    if isinstance(noise, PoissonNoise):
        found, typical = [mpmath.exp(-mpf(noise.mean))], noise.mean
    else:
        theta, shape = mpf(noise.theta), mpf(noise.shape)
        found, typical = [(1 - theta) ** shape], noise.shape * noise.theta / noise.rest
    while len(found) < typical or found[-1] > least:
        s = len(found)
        if isinstance(noise, PoissonNoise):
            found.append(found[-1] * noise.mean / s)
        else:
            found.append(found[-1] * theta * (s + shape - 1) / s)
    return found


def one_more(noise: Noise, least: float = 1e-60) -> Pair:
    """The counts N + 1 and N, up to where their masses end or were cut off."""
    found = masses(noise, least)
    if isinstance(noise, BinomialCounts):
        return [mpf(0), *found], [*found, mpf(0)]
    return [mpf(0), *found[:-1]], found


def reversed_pair(pair: Pair) -> Pair:
    return pair[1], pair[0]


def product(a: Pair, b: Pair) -> Pair:
    first, second = ([x * y for x in a[i] for y in b[i]] for i in (0, 1))
    return first, second


def divergence(pair: Pair, epsilon: float) -> mpf:
    alpha = mpmath.exp(mpf(epsilon))
    return mpmath.fsum(p - alpha * q for p, q in zip(*pair, strict=True) if p > alpha * q)


def told(pair: Pair, epsilon: float) -> mpf:
    """Q's mass of the losses above epsilon: minus the slope of the divergence in alpha."""
    alpha = mpmath.exp(mpf(epsilon))
    return mpmath.fsum(q for p, q in zip(*pair, strict=True) if p > alpha * q)


def shown(rate: Fraction, threshold: int, others: int) -> tuple[list[Fraction], list[Fraction]]:
    """What is shown of a bin with `others` + 1 reports, and with `others`: nothing or a count."""

    def counts(reports: int) -> list[Fraction]:
        found = [
            comb(reports, s) * rate**s * (1 - rate) ** (reports - s) for s in range(others + 2)
        ]
        return [sum(found[:threshold], Fraction(0)), *found[threshold:]]

    return counts(others + 1), counts(others)


def worst_bin(
    rate: float, threshold: int, epsilons: Sequence[float], most: int, more: bool
) -> list[tuple[float, int]]:
    """The largest divergence over all numbers of other reports up to `most`, and that number: every
    one by itself, from the definition, with masses by recursion, all terms of which are positive.
    Masses that are no floats any more, even if there were a million of them, are left out.
    """
    p, alphas = np.longdouble(rate), np.exp(np.array(epsilons, dtype=np.longdouble))
    least, order = np.longdouble("1e-340"), np.argsort(alphas).tolist()
    best = [(0.0, -1)] * len(epsilons)
    row, fewest = np.ones(1, dtype=np.longdouble), 0  # the masses of counts from `fewest` on
    for others in range(most + 1):
        row = np.append(row, 0)
        following = row * (1 - p)
        following[1:] += row[:-1] * p
        hidden = max(threshold - fewest, 0)
        first, second = (
            np.append(counts[:hidden].sum(), counts[hidden:]) for counts in (following, row)
        )
        if not more:
            first, second = second, first
        for i in order:
            excess = first - alphas[i] * second
            above = excess > 0  # and so it was for all smaller alphas
            first, second = first[above], second[above]
            best[i] = max(best[i], (float(excess[above].sum()), others))
        kept = np.flatnonzero(following >= least)
        row, fewest = following[kept[0] : kept[-1] + 1], fewest + int(kept[0])
    return best
