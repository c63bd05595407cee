"""Laws of integer noise from their definitions, exactly or in many digits; nothing is tilted."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, comb

import mpmath
from mpmath import mpf

#: Masses of consecutive outcomes; the number of the first does not matter for a shift.
Masses = list[mpf]


def discrete_gaussian(sigma: float, reach: int) -> Masses:
    weights = [mpmath.exp(-(mpf(x) ** 2) / (2 * mpf(sigma) ** 2)) for x in range(-reach, reach + 1)]
    total = mpmath.fsum(weights)
    return [weight / total for weight in weights]


def discrete_laplace(scale: float, reach: int) -> Masses:
    theta = mpmath.exp(-1 / mpf(scale))
    return [(1 - theta) / (1 + theta) * theta ** abs(x) for x in range(-reach, reach + 1)]


def coins(count: int) -> Masses:
    return [mpf(comb(count, x)) / 2**count for x in range(count + 1)]


def skellam(mu: float, reach: int) -> Masses:
    """Two Poisson laws, convolved term by term."""
    each = [mpmath.exp(-mpf(mu))]
    while len(each) < 3 * reach + 60:
        each.append(each[-1] * mpf(mu) / len(each))
    half = [
        mpmath.fsum(each[j] * each[j + x] for j in range(len(each) - reach))
        for x in range(reach + 1)
    ]
    return half[:0:-1] + half


def polya_difference(shape: float, scale: float, reach: int) -> Masses:
    """The difference of two negative binomial variables, convolved term by term."""
    theta = mpmath.exp(-1 / mpf(scale))
    each = [(1 - theta) ** mpf(shape)]
    while len(each) < reach + ceil(60 * scale) + 60:
        s = len(each)
        each.append(each[-1] * theta * (s + mpf(shape) - 1) / s)
    half = [
        mpmath.fsum(each[j] * each[j + x] for j in range(len(each) - reach))
        for x in range(reach + 1)
    ]
    return half[:0:-1] + half


def convolved(masses: Masses, times: int) -> Masses:
    total = [mpf(1)]
    for _ in range(times):
        longer = [mpf(0)] * (len(total) + len(masses) - 1)
        for i, a in enumerate(total):
            for j, b in enumerate(masses):
                longer[i + j] += a * b
        total = longer
    return total


def shifted(masses: Masses, shift: int, is_cut: bool = True) -> tuple[Masses, Masses]:
    """The noise plus the shift, and the noise: on all outcomes, or, if the law is infinite and was
    cut, on those at which both masses are known."""
    if is_cut:
        return masses[:-shift], masses[shift:]
    none = [mpf(0)] * shift
    return none + masses, masses + none


def divergence(pair: tuple[Masses, Masses], epsilon: float) -> mpf:
    alpha = mpmath.exp(mpf(epsilon))
    return mpmath.fsum(p - alpha * q for p, q in zip(*pair, strict=True) if p > alpha * q)


def exact_coins_divergence(count: int, shift: int, alpha: Fraction) -> Fraction:
    """As a fraction, for a rational e^epsilon."""
    total = Fraction(0)
    for x in range(count + shift + 1):
        p = Fraction(comb(count, x - shift), 2**count) if x >= shift else Fraction(0)
        total += max(p - alpha * Fraction(comb(count, x), 2**count), Fraction(0))
    return total


def wide_gaussian_tail(sigma: float, first: int) -> mpf:
    """Pr[X >= first] for a large sigma: Euler and Maclaurin's formula around the integral."""
    s, m = mpf(sigma), mpf(first)
    z = m / s
    mass = mpmath.exp(-(z**2) / 2)
    total = s * mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(z / mpmath.sqrt(2)) + mass / 2
    for k, bernoulli in ((2, mpf(1) / 6), (4, -mpf(1) / 30), (6, mpf(1) / 42), (8, -mpf(1) / 30)):
        # the derivative of order k - 1 is minus a Hermite polynomial times the mass
        derivative = -_hermite(k - 1, z) * mass / s ** (k - 1)
        total -= bernoulli / mpmath.factorial(k) * derivative
    return total / (s * mpmath.sqrt(2 * mpmath.pi))


def _hermite(order: int, z: mpf) -> mpf:
    before, here = mpf(1), z
    for k in range(1, order):
        before, here = here, z * here - k * before
    return here


def untilted_tail(log_cf: Callable[[mpf], mpf], deviation: float, first: mpf) -> mpf:
    """Pr[X >= first] of a wide symmetric law, from its characteristic function at equidistant
    angles: the sum over the outcomes of half a period of 140 deviations."""
    nodes, period = 1600, int(140 * deviation) | 1
    count, total = (period - 1) // 2, mpf(0)
    for j in range(1, nodes):
        t = 2 * mpmath.pi * j / period
        kernel = mpmath.sin(count * t / 2) / mpmath.sin(t / 2)
        total += 2 * mpmath.exp(log_cf(t)) * kernel * mpmath.cos(t * (first + mpf(count - 1) / 2))
    return (total + count) / period
