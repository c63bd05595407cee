"""E[(sum of n i.i.d. scores - threshold)_+] in balls that contain it (Arb, through FLINT).

Numbers are fractions until the last step; every rounding and every part that is left out widens
the ball of the result. Two of the values, 0 included, may be common; all others have to be rare or
the users few, since the ways in which users have them are listed one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import mpmath
from flint import arb, ctx, fmpq, fmpz

_BITS = 450
_FEW = 600  # terms that are added up one by one
_CUT = 170  # e^-_CUT is negligible
_NEGLIGIBLE = 1e-80
_NODES = 200


def stop_loss_of_sum(
    scores: Sequence[Fraction],
    probabilities: Sequence[Fraction],
    users: int,
    threshold: Fraction = Fraction(0),
    most: int | None = None,
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """(lower, upper), apart by no more than about 1e-60 of the value plus what is left out: ways
    in which more than `most` users have other than the two likeliest values.

    Beyond those, (S)_+ is at most the sum of the (z_i)_+, so they add at most
    n E[z_+] Pr[Bin(n - 1, rare) >= most].
    """
    law: dict[Fraction, Fraction] = {Fraction(0): 1 - sum(probabilities, Fraction(0))}
    if law[Fraction(0)] < 0:
        raise ValueError("the probabilities add up to more than 1")
    for z, p in zip(scores, probabilities, strict=True):
        law[z] = law.get(z, Fraction(0)) + p
    values = sorted((z for z in law if law[z] > 0), key=lambda z: -law[z])
    (base, *second), rare = values[:2], values[2:]
    top = second[0] if second else base
    common = law[base] + (law[top] if second else 0)
    most = users if most is None or not rare else min(most, users)
    before, ctx.prec = ctx.prec, _BITS
    try:
        total = arb(0)
        for counts in _counts(len(rare), most):
            left = users - sum(counts)
            way = _exact(common) ** left if left else arb(1)
            for i in range(users - left):
                way *= users - i
            for c, z in zip(counts, rare, strict=True):
                way *= _exact(law[z]) ** c / math.factorial(c)
            fixed = sum((c * z for c, z in zip(counts, rare, strict=True)), -threshold)
            fixed += left * base
            share = law[top] / common if second else Fraction(0)
            total += way * _linear(left, share, fixed, top - base)
        if most < users:
            gain = sum((law[z] * max(z, Fraction(0)) for z in law), Fraction(0))
            chance = sum((law[z] for z in rare), Fraction(0))
            beyond = _exact(users * gain) * tail(users - 1, most, chance)
            total += beyond * arb(0.5, 0.5)
        return _ends(total)
    finally:
        ctx.prec = before


def _counts(kinds: int, most: int) -> Iterator[tuple[int, ...]]:
    """All vectors of counts with sum at most `most`."""
    if kinds == 0:
        yield ()
        return
    for first in range(most + 1):
        for others in _counts(kinds - 1, most - first):
            yield (first, *others)


def _exact(x: Fraction | int) -> arb:
    x = Fraction(x)
    return arb(fmpq(fmpz(x.numerator), fmpz(x.denominator)))


def _ends(x: arb) -> tuple[mpmath.mpf, mpmath.mpf]:
    with mpmath.workprec(4 * _BITS):  # exact
        low, high = (mpmath.mpf(tuple(map(int, end.man_exp()))) for end in (x.lower(), x.upper()))
        return max(low, mpmath.mpf(0)), high


def _linear(trials: int, p: Fraction, fixed: Fraction, slope: Fraction) -> arb:
    """E[(fixed + slope M)_+] for M ~ Bin(trials, p)."""
    if slope == 0 or trials == 0 or p == 0:
        return _exact(max(fixed, Fraction(0)))
    if slope > 0:
        return _exact(slope) * _call(trials, p, -fixed / slope)
    # trials - M ~ Bin(trials, 1 - p)
    return _exact(-slope) * _call(trials, 1 - p, trials + fixed / slope)


def _call(trials: int, p: Fraction, level: Fraction) -> arb:
    """E[(M - level)_+]: m p Pr[M' >= j - 1] - level Pr[M >= j], M' of one trial less."""
    mean = trials * p
    if level >= trials:
        return arb(0)
    if level <= 0:
        return _exact(mean - level)
    if level < mean:  # the other side of the mean, where the tail is small
        return _exact(mean - level) + _call_above(trials, 1 - p, trials - level)
    return _call_above(trials, p, level)


def _call_above(trials: int, p: Fraction, level: Fraction) -> arb:
    """The same for a level that may be below the mean by rounding only."""
    start = max(math.floor(level) + 1, 0)
    if start > trials:
        return arb(0)
    if trials - start <= _FEW:
        odds = _exact(p / (1 - p)) if p < 1 else None
        if odds is None:
            return _exact(trials - level)
        term, total = _mass(trials, start, p), arb(0)
        for j in range(start, trials + 1):
            total += term * _exact(j - level)
            term *= odds * (trials - j) / (j + 1)
        return total
    return _exact(trials * p) * tail(trials - 1, start - 1, p) - _exact(level) * tail(
        trials, start, p
    )


def _log_choose(trials: int, j: int) -> arb:
    return arb(trials + 1).lgamma() - arb(j + 1).lgamma() - arb(trials - j + 1).lgamma()


def _mass(trials: int, j: int, p: Fraction) -> arb:
    """Pr[Bin(trials, p) = j]."""
    if p == 1:
        return arb(1 if j == trials else 0)
    chosen = arb(math.comb(trials, j)) if trials <= 2000 else _log_choose(trials, j).exp()
    return chosen * (_exact(p).log() * j + (_exact(1 - p)).log() * (trials - j)).exp()


def tail(trials: int, start: int, p: Fraction) -> arb:
    """Pr[Bin(trials, p) >= start], for a start above the mean or a law of few trials.

    Pr[X = start] times the sum of the ratios Pr[X = start + i] / Pr[X = start], which is
    start int over [0, 1] of (1 - v)^(start - 1) (1 + odds v)^(trials - start) dv.
    """
    if start <= 0 or p == 1:
        return arb(1 if start <= trials else 0)
    if start > trials or p == 0:
        return arb(0)
    odds, length = p / (1 - p), 0.0
    if trials > _FEW and start < trials:
        length = _length(trials, start, float(odds))
    if 0 < length <= 0.25 and odds * Fraction(length) <= Fraction(1, 4):
        return _mass(trials, start, p) * start * _integral(trials, start, odds, length)
    total, term, step, j = arb(0), arb(1), _exact(odds), start
    while j < trials and not (j > start and term < _NEGLIGIBLE):
        total += term
        term *= step * (trials - j) / (j + 1)
        j += 1
    # from here on the ratios of neighbours are below the last one
    if j == trials:
        total += term
    else:
        last = odds * (trials - j) / (j + 1)
        if last >= 1:
            raise ValueError("a tail that starts far below the mean")
        total += term / _exact(1 - last) * arb(0.5, 0.5)
    return _mass(trials, start, p) * total


def _length(trials: int, start: int, odds: float) -> float:
    """About V where the integrand is e^-_CUT."""
    slope = max((start - 1) - odds * (trials - start), 0.0)
    curvature = (start - 1) + odds**2 * (trials - start)
    return 2 * _CUT / (slope + math.sqrt(slope**2 + 2 * _CUT * curvature) + 1e-300)


def _integral(trials: int, start: int, odds: Fraction, length: float) -> arb:
    """The integral of `tail` over [0, V] by 200 nodes, and what is beyond V.

    phi = log of the integrand is concave and 0 at 0, so beyond V it is at most phi(V) v/V. On the
    ellipse with parameter 3 around [0, V] (half axes 5V/6 and 2V/3) at v = x + iy, log|1 - v| is at
    most log(1 - x) + y^2/(2 (1 - x)^2), likewise for 1 + rho v. With phi(V) near -_CUT and V, rho V
    <= 1/4 that makes the integrand less than e^(3 + 0.6 _CUT) there.
    """
    rho, size = _exact(odds), arb(length)

    def integrand(v: arb) -> arb:
        return ((1 - v).log() * (start - 1) + (1 + rho * v).log() * (trials - start)).exp()

    total = arb(0)
    for node, weight in _rule():
        total += weight * integrand(size * node)
    total *= size
    total += size * arb(3 + _CUT * 3 // 5).exp() * 5 * arb(3) ** (2 - 2 * _NODES) * arb(0, 1)
    end = integrand(size)
    return total + end * size / -end.log() * arb(0.5, 0.5)


@cache
def _rule() -> list[tuple[arb, arb]]:
    """Gauss-Legendre on [0, 1]."""
    pairs = (arb.legendre_p_root(_NODES, k, weight=True) for k in range(_NODES))
    return [((1 + node) / 2, weight / 2) for node, weight in pairs]
