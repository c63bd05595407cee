"""The clone pair, in exact fractions and in multi-precision.

The analyzed pair of laws for n users and E = exp(eps0) is

    Delta ~ Bernoulli(E / (E + 1)),  C ~ Binomial(n - 1, q),  A given C ~ Binomial(C, 1/2),
    P = law of (A + Delta, C - A + 1 - Delta),  Q = law of (A + 1 - Delta, C - A + Delta),

with q = 1 / E for the analysis "clones" and q = 2 / (E + 1) for "stronger-clones".
Its profile is delta(epsilon) = sum over outcomes of (P - exp(epsilon) Q)_+.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb

import mpmath
import numpy as np
from mpmath import mpf

from .common import DIGITS, GUARD_DIGITS, Atom, FractionPair, Real


def clone_pair_fractions(users: int, ratio: Fraction, analysis: str) -> FractionPair:
    """Return {outcome: (P, Q)} exactly, for E = `ratio`, by enumerating C, A, and Delta."""
    ratio = Fraction(ratio)
    if users < 1 or ratio < 1:
        raise ValueError("need users >= 1 and ratio >= 1")
    if analysis == "clones":
        q = 1 / ratio
    elif analysis == "stronger-clones":
        q = 2 / (ratio + 1)
    else:
        raise ValueError(f"unknown analysis: {analysis!r}")
    p_law: dict[tuple[int, int], Fraction] = {}
    q_law: dict[tuple[int, int], Fraction] = {}
    for c in range(users):
        prob_c = comb(users - 1, c) * q**c * (1 - q) ** (users - 1 - c)
        for a in range(c + 1):
            prob_a = Fraction(comb(c, a), 2**c)
            for bit, prob_bit in ((1, ratio / (ratio + 1)), (0, 1 / (ratio + 1))):
                mass = prob_c * prob_a * prob_bit
                under_p = (a + bit, c - a + 1 - bit)
                under_q = (a + 1 - bit, c - a + bit)
                p_law[under_p] = p_law.get(under_p, Fraction(0)) + mass
                q_law[under_q] = q_law.get(under_q, Fraction(0)) + mass
    zero = Fraction(0)
    outcomes = sorted(p_law.keys() | q_law.keys())
    return {y: (p_law.get(y, zero), q_law.get(y, zero)) for y in outcomes}


def _clone_odds(users: int, eps0: mpf, analysis: str) -> tuple[mpf, mpf]:
    """Return (q, 1 - q) at the working precision, without cancellation for a small eps0."""
    if users < 1 or not 0 <= eps0 < mpmath.inf:
        raise ValueError("need users >= 1 and a finite eps0 >= 0")
    big = mpmath.exp(eps0)
    excess = mpmath.expm1(eps0)
    if analysis == "clones":
        return 1 / big, excess / big
    if analysis == "stronger-clones":
        return 2 / (big + 1), excess / (big + 1)
    raise ValueError(f"unknown analysis: {analysis!r}")


def clone_pair_atoms(users: int, eps0: Real, analysis: str, digits: int = DIGITS) -> list[Atom]:
    """Return the atoms (loss, P mass, Q mass) of the clone pair, by increasing loss.

    All outcomes (a, b) with a + b = c + 1 and all c = 0 .. users - 1 are enumerated. Outcomes
    with the same a : b have exactly the same loss and are merged. Meant for users <= 300 or so.
    """
    return list(_atoms(users, eps0, analysis, digits))


@cache
def _atoms(users: int, eps0: Real, analysis: str, digits: int) -> tuple[Atom, ...]:
    with mpmath.workdps(digits + GUARD_DIGITS):
        eps0 = mpf(eps0)
        big = mpmath.exp(eps0)
        q, rest = _clone_odds(users, eps0, analysis)
        merged: dict[Fraction, tuple[mpf, mpf]] = {}
        for c in range(users):
            prob_c = comb(users - 1, c) * q**c * rest ** (users - 1 - c)
            if prob_c == 0:
                continue
            scale = mpmath.ldexp(prob_c, -c) / (big + 1)
            for a in range(c + 2):
                from_one = comb(c, a - 1) if a > 0 else 0  # Delta = 1 under P, 0 under Q
                from_zero = comb(c, a)  # Delta = 0 under P, 1 under Q
                p_mass, q_mass = merged.get(Fraction(a, c + 1), (mpf(0), mpf(0)))
                p_mass += scale * (big * from_one + from_zero)
                q_mass += scale * (from_one + big * from_zero)
                merged[Fraction(a, c + 1)] = (p_mass, q_mass)
        # The loss grows with a / (c + 1).
        return tuple(
            (mpmath.log(merged[key][0] / merged[key][1]), *merged[key]) for key in sorted(merged)
        )


def clone_profile(users: int, eps0: Real, epsilon: Real, analysis: str) -> mpf:
    """Return delta(epsilon) of the clone pair, summed over every c = 0 .. users - 1.

    Given C = c, P > exp(epsilon) Q holds for the outcomes with a first count a >= cut, and both
    laws of a are mixtures of Binomial(c, 1/2) and the same shifted by one. So the divergence is

        H_c = ((E - alpha) N(cut - 1) - (alpha E - 1) N(cut)) / (2**c (E + 1)),

    where N(j) counts the subsets of c elements with j or more members. These counts are exact
    integers, carried from c to c + 1 by Pascal's rule. Nothing is dropped, for any number of
    users; the time grows like users**2. A negative epsilon is allowed.
    """
    with mpmath.workdps(DIGITS + GUARD_DIGITS):
        eps0, epsilon = mpf(eps0), mpf(epsilon)
        q, rest = _clone_odds(users, eps0, analysis)
        if epsilon >= eps0:
            return mpf(0)
        if epsilon <= -eps0:
            return -mpmath.expm1(epsilon)
        big, alpha = mpmath.exp(eps0), mpmath.exp(epsilon)
        gain = alpha * mpmath.expm1(eps0 - epsilon)  # E - alpha
        cost = mpmath.expm1(eps0 + epsilon)  # alpha E - 1
        share = gain / (gain + cost)  # P > alpha Q if and only if b < (a + b) share
        odds = q / rest
        weight = rest ** (users - 1)  # Pr[C = c]
        total = mpf(0)
        below, pick, tail = 0, 1, 0  # cut - 1, binomial(c, cut - 1), N(cut)
        for c in range(users):
            if below < c + 1 - int(mpmath.ceil((c + 1) * share)):
                pick = pick * (c - below) // (below + 1)
                below += 1
                tail -= pick
            divergence = gain * (tail + pick) - cost * tail
            total += weight * mpmath.ldexp(divergence, -c)
            tail = 2 * tail + pick
            pick = pick * (c + 1) // (c + 1 - below)
            weight = weight * odds * (users - 1 - c) / (c + 1)
        return total / (big + 1)


def _excess_series(last: int, size: int, bits: int) -> tuple[int, int]:
    """Return (sum of t_k, sum of k t_k) over k = 0 .. last, in units of 2**-bits.

    Here t_k = binomial(size, last - k) / binomial(size, last) and last < size / 2. All terms are
    positive, at most 1, and rounded down; the first one is exactly 1.
    """
    term = 1 << bits
    mass, moment, step = 0, 0, 0
    while term:
        mass += term
        moment += step * term
        term = term * (last - step) // (size - last + step + 1)
        step += 1
    return mass, moment


def clone_profile_large(
    users: int, eps0: Real, epsilon: Real, analysis: str, digits: int = 40
) -> tuple[mpf, mpf]:
    """Return (lower, upper) brackets of delta(epsilon) of the clone pair, for epsilon >= 0.

    Given C = c, the sum over the outcomes (a, b), a + b = m = c + 1, with P > alpha Q is

        H_c = (E - 1) (1 + alpha) / (2**c (E + 1) m) * sum over b < m share of
              binomial(m, b) (m share - b),   share = (E - alpha) / ((E - 1) (1 + alpha)),

    a sum of positive terms. The values of c form a window around the mode of C. It grows on both
    sides until the mass left out, bounded by a geometric series and taken with 0 <= H_c <= 1, is
    below 10**-digits of the sum. Rounding is covered by a further 10**-digits on each side.
    """
    with mpmath.workdps(digits + GUARD_DIGITS):
        eps0, epsilon = mpf(eps0), mpf(epsilon)
        q, rest = _clone_odds(users, eps0, analysis)
        if epsilon < 0:
            raise ValueError("need epsilon >= 0")
        if epsilon >= eps0:
            return mpf(0), mpf(0)
        alpha = mpmath.exp(epsilon)
        spread = mpmath.expm1(eps0) * (1 + alpha)
        share = alpha * mpmath.expm1(eps0 - epsilon) / spread
        factor = spread / (mpmath.exp(eps0) + 1)
        bits = mpmath.mp.prec + 3 * users.bit_length()

        def divergence(c: int) -> mpf:
            m = c + 1
            last = int(mpmath.ceil(m * share)) - 1  # the largest b that counts
            mass, moment = _excess_series(last, m, bits)
            series = mpmath.ldexp((m * share - last) * mass + moment, -bits)
            return factor / m * mpmath.ldexp(mpmath.binomial(m, last), -c) * series

        odds = q / rest
        small = mpf(10) ** -digits
        mode = min(int(users * q), users - 1)
        peak = mpmath.binomial(users - 1, mode) * q**mode * rest ** (users - 1 - mode)
        total, dropped = peak * divergence(mode), mpf(0)
        c, weight = mode, peak
        while c > 0:  # downward: the ratios Pr[C = c - 1] / Pr[C = c] decrease
            ratio = c / ((users - c) * odds)
            if ratio < 1 and weight * ratio / (1 - ratio) < small * total:
                dropped += weight * ratio / (1 - ratio)
                break
            c, weight = c - 1, weight * ratio
            total += weight * divergence(c)
        c, weight = mode, peak
        while c < users - 1:  # upward: the ratios Pr[C = c + 1] / Pr[C = c] decrease
            ratio = (users - 1 - c) * odds / (c + 1)
            if ratio < 1 and weight * ratio / (1 - ratio) < small * total:
                dropped += weight * ratio / (1 - ratio)
                break
            c, weight = c + 1, weight * ratio
            total += weight * divergence(c)
        return total * (1 - small), (total + dropped) * (1 + small)


def clone_profile_bracket(
    users: int, eps0: float, epsilon: float, buckets: int = 24
) -> tuple[float, float]:
    """Return (lower, upper) brackets of delta(epsilon) of the stronger clones, for any users.

    H_c of `clone_profile_large` falls with c, because one more clone is a post-processing: counts
    in a bucket lie between those of its first and of its last count. Doubles are used, so that both
    sides get a relative 1e-8; counts beyond 13 standard deviations have less than 1e-30.
    """
    alpha, q = float(mpmath.exp(epsilon)), 2 / (float(mpmath.exp(eps0)) + 1)
    spread = float(mpmath.expm1(eps0)) * (1 + alpha)
    share = alpha * float(mpmath.expm1(eps0 - epsilon)) / spread

    def divergence(c: int) -> float:
        m = c + 1
        last = int(np.ceil(m * share)) - 1  # the largest b that counts
        steps = np.arange(min(last, int(12 * m**0.5) + 50), dtype=float)
        terms = np.append(1.0, np.cumprod((last - steps) / (m - last + steps + 1)))
        series = (m * share - last) * terms.sum() + terms @ np.arange(len(terms))
        with mpmath.workdps(40):
            log_ways = mpmath.loggamma(m + 1) - mpmath.loggamma(last + 1)
            log_ways -= mpmath.loggamma(m - last + 1) + c * mpmath.log(2)
        return float(mpmath.exp(log_ways)) * spread * q / 2 / m * float(series)

    mean, reach = (users - 1) * q, 13 * (users * q * (1 - q)) ** 0.5 + 60
    counts = np.arange(max(int(mean - reach), 0), min(int(mean + reach), users - 1) + 1.0)
    ratios = (users - 1 - counts[:-1]) / (counts[:-1] + 1) * (q / (1 - q))
    log_mass = np.append(0.0, np.cumsum(np.log(ratios)))
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    alike = np.searchsorted(np.cumsum(mass), np.linspace(0, 1, buckets)[1:-1])
    edges = np.unique(np.append(np.linspace(0, len(counts), buckets // 2 + 1).astype(int), alike))
    weights = np.add.reduceat(mass, edges[:-1])
    upper, lower = (
        sum(w * divergence(int(counts[i])) for w, i in zip(weights, places, strict=True))
        for places in (edges[:-1], edges[1:] - 1)
    )
    return lower * (1 - 1e-8), upper * (1 + 1e-8) + 1e-30
