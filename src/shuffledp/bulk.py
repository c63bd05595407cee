"""E[(S_n)_+] where one score is common and all others are rare, as if one message were random.

No smoothing fits such a sum: it is one number nearly always and far larger with a small
probability. So all ways in which a few users have the rare scores are listed; given one of them,
the number M of users with the common score is binomial, and (T + M z)_+ is a binomial tail.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from . import binomial
from .binomial import Array
from .enumerated import log_ways, vectors_of_counts
from .scores import ScoreSums

_UNIT = 2.0**-53
_MOST_WAYS = 3000
_MOST_RARE = 60
_SMALL = 1e-13  # ways whose bound is below this share of the largest are not worked out
_ROWS = 64  # worked out at once


def rare_users(users: int, probabilities: Array, depth: float) -> int:
    """How many users with rare scores to list, so that more of them have a probability of at most
    e^-depth, or as many as can be listed; 0 if even those leave out too much."""
    kinds = len(probabilities) - 1
    mean = users * float(np.sort(probabilities)[:-1].sum())
    most = 0
    while most < min(users, _MOST_RARE) and math.comb(most + 1 + kinds, kinds) <= _MOST_WAYS:
        most += 1
        if log_tail(mean, most) < -depth:
            break
    return most if most == users or log_tail(mean, most) < -30 else 0


def bulk_stop_loss(sums: ScoreSums, most: int) -> tuple[Array, Array]:
    """(lower, upper) of E[(S_n)_+] for each row of `sums`, all with the same probabilities.

    Otherwise as enumerated.enumerated_stop_loss, with `most` users of rare scores.
    """
    scores, probabilities, magnitudes = sums.scores, sums.probabilities[0], sums.magnitudes
    users, mass_error, held = sums.users, sums.error, sums.threshold[:, None]
    common = int(probabilities.argmax())
    rare = np.delete(probabilities, common)
    seen = rare > 0
    counts = vectors_of_counts(most, int(seen.sum()))  # [ways, kinds]
    rare, order = rare[seen], np.delete(np.arange(len(probabilities)), common)[seen]
    n, scoring, error = float(users), counts.sum(axis=1), 16 * _UNIT + mass_error
    exponent = log_ways(counts, most, n) + counts @ np.log(rare)
    largest = math.log(n) + 8 + float(-np.log(rare).min(initial=0.0))
    charge = (16 * _UNIT * largest + 2 * mass_error) * (most + 8) + _UNIT * len(counts)
    charge += binomial.relative_error(n, math.sqrt(n) / 2) + 1e-11
    total = scores[:, order] @ counts.T - held  # [laws, ways]
    slack = 16 * _UNIT * (magnitudes[:, order] @ counts.T + held)
    sides = []
    for side in (-1, 1):
        others = float(rare.sum()) * (1 - side * error)
        weight = np.exp(exponent + (n - scoring) * math.log1p(-others) * (1 - side * 4 * _UNIT))
        z = scores[:, common] + side * 16 * _UNIT * magnitudes[:, common]
        value = np.zeros(len(scores))
        for rising in (False, True):
            for rows in _blocks(np.flatnonzero((z >= 0) == rising)):
                # the sum grows, or falls, with the chance of the common score
                p, q = _chance(probabilities, common, error, side if rising else -side)
                given = total[rows] + side * slack[rows]
                value[rows] = _mixture(given, z[rows], weight, n - scoring, p, q, side)
        sides.append(value * (1 + side * charge))
    if most < users:
        tail = math.exp(log_tail(n * float(rare.sum()) * (1 + error), most)) * (1 + 1e-9)
        gains = np.sum(probabilities * np.maximum(scores + 16 * _UNIT * magnitudes, 0.0), axis=1)
        sides[1] += n * gains * min(tail, 1.0) * (1 + mass_error)
    return sides[0], sides[1] + 1e-300 * n * magnitudes.max(axis=1)


def log_tail(mean: float, most: int) -> float:
    """log of Chernoff's bound of Pr[Bin >= most] for a binomial law with this mean."""
    return 0.0 if mean >= most else most * math.log(mean / most) + most - mean if mean else -1e9


def _blocks(rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [part for part in np.split(rows, range(_ROWS, len(rows), _ROWS)) if len(part)]


def _chance(probabilities: Array, common: int, error: float, side: int) -> tuple[float, float]:
    """(p, 1 - p) of the common score given that no rare one is had, rounded up or down."""
    p = float(probabilities[common])
    rare = float(probabilities.sum()) - p
    left = 1 - rare
    p = min(p / left * (1 + side * 4 * error), 1.0)
    if p > 0.5:
        q = max((left - float(probabilities[common])) / left - side * 8 * error, 0.0)
        return 1 - q, q
    return p, 1 - p


def _mixture(
    total: Array, z: Array, weight: Array, trials: Array, p: float, q: float, side: int
) -> Array:
    """Sum over the ways of weight E[(total + M z)_+], M ~ Bin(trials, p); from one side."""
    z = np.broadcast_to(z[:, None], total.shape)
    m = np.broadcast_to(trials, total.shape)
    mean = m * p
    # M at which the sum is 0
    level = np.divide(-total, z, out=np.where(total > 0, -1e300, 1e300), where=z != 0)
    above = level >= mean
    # put and call: one side of the mean is a sum of tails, the other what is left to the mean
    plain = np.where(above == (z < 0), np.maximum(total + mean * z, 0.0), 0.0)
    plain += side * 8 * _UNIT * np.where(plain > 0, np.abs(total) + mean * np.abs(z), 0.0)
    tail = above & (level < m) | ~above & (level > 0)
    with np.errstate(under="ignore"):
        reach: Array = np.where(tail, np.where(above, m - level, level), 0.0)
        at_most = reach * np.abs(z) * weight * _chernoff(level, m, p, q, tail)
        worth = at_most > _SMALL * (at_most + weight * plain).max(axis=1, keepdims=True)
        exact = np.zeros(total.shape)
        for chosen, turned in ((worth & above, False), (worth & ~above, True)):
            k = m[chosen] - level[chosen] if turned else level[chosen]
            k = k - side * 4 * _UNIT * (m[chosen] if turned else k)  # its rounding
            exact[chosen] = _call(m[chosen], k, *((q, p) if turned else (p, q)))
        value = weight * np.maximum(plain + np.abs(z) * exact, 0.0)
        if side > 0:
            value += np.where(worth, 0.0, at_most)
    result: Array = value.sum(axis=1)
    return result


def _chernoff(level: Array, m: Array, p: float, q: float, where: NDArray[np.bool_]) -> Array:
    """A bound of the probability that M is as far from its mean as `level`, or farther."""
    if q == 0 or p == 0:
        return np.zeros(level.shape)
    inside = np.clip(level, 0.0, m)
    deviance = np.zeros(level.shape)
    for x, mean in ((inside, m * p), (m - inside, m * q)):
        x, mean = x[where], mean[where]
        deviance[where] += x * np.log(np.maximum(x, 1e-300) / mean) - x + mean
    return np.exp(-np.maximum(deviance * (1 - 1e-9) - 1e-6 * (1 + np.log1p(m)), 0.0))


def _call(m: Array, k: Array, p: float, q: float) -> Array:
    """E[(M - k)_+] for M ~ Bin(m, p) and m p <= k < m."""
    if len(m) == 0 or p == 0 or q == 0:
        return np.zeros(len(m))
    k = np.maximum(k, m * p)
    start = np.minimum(np.floor(k) + 1, m)
    zeroth, first = binomial.tail_sums(m, start, p / q)
    mass = np.exp(binomial.log_pmf(m, start, p, q))
    result: Array = mass * ((start - k) * zeroth + first)
    return result
