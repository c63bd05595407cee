"""E[(S_n)_+] where one score is common and all others are rare, as if one message were random.

No smoothing fits such a sum: it is one number nearly always and far larger with a small
probability. So all ways in which a few users have the rare scores are listed; given one of them,
the number M of users with the common score is binomial, and (T + M z)_+ is a binomial tail.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import BOTH, UNIT, Array, Side
from . import tails as binomial
from . import tuning
from .enumerated import LEAST, exponent_error, log_ways, vectors_of_counts
from .problem import ScoreSums


def rare_users(users: int, probabilities: Array, depth: float) -> int:
    """How many users with rare scores to list, so that more of them have a probability of at most
    e^-depth, or as many as can be listed; 0 if even those leave out too much."""
    kinds = len(probabilities) - 1
    mean = users * float(np.sort(probabilities)[:-1].sum())
    most = 0
    while (
        most < min(users, tuning.MOST_RARE)
        and math.comb(most + 1 + kinds, kinds) <= tuning.MOST_RARE_WAYS
    ):
        most += 1
        if log_tail(mean, most) < -depth:
            break
    return most if most == users or log_tail(mean, most) < -tuning.LEAVES_OUT else 0


def rare_stop_loss(sums: ScoreSums, most: int) -> tuple[Array, Array]:
    """(lower, upper) of E[(S_n)_+] for each row of `sums`, all with the same probabilities.

    Otherwise as enumerated.enumerated_stop_loss, with `most` users of rare scores.
    """
    scores, probabilities, magnitudes = sums.scores, sums.probabilities[0], sums.magnitudes
    users, held = sums.users, sums.threshold[:, None]
    common = int(probabilities.argmax())
    order = np.delete(np.arange(len(probabilities)), common)
    order = order[probabilities[order] > 0]
    rare = probabilities[order]
    counts = vectors_of_counts(most, len(rare))  # [ways, kinds]
    n, scoring = float(users), counts.sum(axis=1)
    exponent = log_ways(counts, most, n) + counts @ np.log(rare)
    charge = exponent_error(rare, n, most, sums.error) + UNIT * len(counts) + 1e-11
    margin = (20 + len(probabilities)) * UNIT + sums.error  # relative, of sums of probabilities
    total = scores[:, order] @ counts.T - held  # [laws, ways]
    slack = (20 + len(rare)) * UNIT * (magnitudes[:, order] @ counts.T + held)
    underflow = LEAST + 1e-305 * n * magnitudes.max(axis=1)
    sides = []
    for side in BOTH:
        others = float(rare.sum()) * (1 - side * margin)
        weight = np.exp(exponent + (n - scoring) * math.log1p(-others) * (1 - side * 16 * UNIT))
        z = scores[:, common] + side * 20 * UNIT * magnitudes[:, common]
        value = np.zeros(len(scores))
        for rising in (False, True):
            # the sum grows, or falls, with the chance of the common score
            moved = side if rising else side.other
            p, q = _chance(float(probabilities[common]), rare, margin, moved)
            for rows in _blocks(np.flatnonzero((z >= 0) == rising)):
                given = total[rows] + side * slack[rows]
                value[rows] = _mixture(given, z[rows], weight, n - scoring, p, q, side)
        sides.append(value * math.exp(side * charge) + side * underflow)
    if most < users:
        gains = np.sum(probabilities * np.maximum(scores + 20 * UNIT * magnitudes, 0.0), axis=1)
        tail = math.exp(log_tail(n * float(rare.sum()) * (1 + margin), most))
        sides[1] += n * gains * tail * (1 + 1e-9 + margin)
    return sides[0], sides[1]


def log_tail(mean: float, most: int) -> float:
    """log of Chernoff's bound of Pr[Bin >= most] for a binomial law with this mean."""
    return 0.0 if mean >= most else most * math.log(mean / most) + most - mean if mean else -1e9


def _blocks(rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    size = tuning.RARE_ROWS
    return [part for part in np.split(rows, range(size, len(rows), size)) if len(part)]


def _chance(common: float, rare: Array, margin: float, side: Side) -> tuple[float, float]:
    """(p, 1 - p) of the common score given that no rare one is had, moved up if side is UPPER,
    else down, by more than its error; the smaller of the two is exact."""
    left = 1 - float(rare.sum())
    p = common / left * (1 + side * 2 * margin / left)
    if p <= 0.5:
        return p, 1 - p
    q = max((left - common) / left - side * 3 * margin / left, 0.0)
    return 1 - q, q


def _mixture(
    total: Array, z: Array, weight: Array, trials: Array, p: float, q: float, side: Side
) -> Array:
    """Sum over the ways of weight E[(total + M z)_+], M ~ Bin(trials, p).

    An upper bound if side is UPPER, else a lower one.
    """
    z = np.broadcast_to(z[:, None], total.shape)
    m = np.broadcast_to(trials, total.shape)
    size, mean = np.abs(z), m * p
    with np.errstate(over="ignore"):  # M at which the sum is 0
        level = np.divide(-total, z, out=np.where(total > 0, -1e300, 1e300), where=z != 0)
    above = level >= mean
    # put and call: one side of the mean is a sum of tails, the other what is left to the mean. Both
    # hold on either side, so it does not matter on which side rounding sees the level.
    plain = total + mean * z + side * 8 * UNIT * (np.abs(total) + mean * size)
    plain = np.where(above == (z < 0), plain, 0.0)
    tail = above & (level < m) | ~above & (level > 0)
    # the level is between the neighbours of its rounded value: E[(M - k)_+] falls with k,
    # E[(k - M)_+] grows
    safe = np.where(above == (side is Side.UPPER), 0.0, np.inf)
    level = np.clip(np.nextafter(level, safe), 0.0, m)
    with np.errstate(under="ignore"):
        reach: Array = np.where(tail, np.where(above, m - level, level), 0.0)
        at_most = reach * size * weight * _chernoff(level, m, p, q, tail)
        largest = (at_most + weight * np.maximum(plain, 0.0)).max(axis=1, keepdims=True)
        worth = at_most > tuning.SMALL * largest
        exact = np.zeros(total.shape)
        up, down = worth & above, worth & ~above
        exact[up] = _call(m[up], level[up], p, q)
        exact[down] = _put(m[down], level[down], p, q)
        n = float(trials.max())
        exact *= 1 + side * binomial.relative_error(n, math.sqrt(n) / 2)
        value = weight * np.maximum(plain + size * exact, 0.0)
        if side is Side.UPPER:
            value += np.where(worth, 0.0, at_most)
    result: Array = value.sum(axis=1)
    return result


def _chernoff(level: Array, m: Array, p: float, q: float, where: NDArray[np.bool_]) -> Array:
    """A bound of the probability that M is as far from its mean as `level`, or farther."""
    if q == 0 or p == 0:
        return np.zeros(level.shape)
    deviance, x, trials = np.zeros(level.shape), level[where], m[where]
    for count, mean in ((x, trials * p), (trials - x, trials * q)):
        e = (count - mean) / mean
        deviance[where] += mean * ((1 + e) * np.log1p(np.maximum(e, UNIT - 1)) - e)
    return np.exp(-np.maximum(deviance * (1 - 1e-9) - 1e-6, 0.0))


def _call(m: Array, k: Array, p: float, q: float) -> Array:
    """E[(M - k)_+] for M ~ Bin(m, p) and k from m p to m."""
    start = np.minimum(np.floor(k) + 1, m)
    return _tail(m, start, start - k, p, q)


def _put(m: Array, k: Array, p: float, q: float) -> Array:
    """E[(k - M)_+] for M ~ Bin(m, p) and k from 0 to m p: the call of m - M and m - k, without
    rounding m - k."""
    last = np.maximum(np.ceil(k) - 1, 0.0)
    return _tail(m, m - last, k - last, q, p)


def _tail(m: Array, start: Array, gap: Array, p: float, q: float) -> Array:
    """E[(M - (start - gap))_+] for M ~ Bin(m, p), 0 <= gap <= 1 and start above the mean."""
    if len(m) == 0 or p == 0 or q == 0:
        return np.zeros(len(m))
    zeroth, first = binomial.tail_sums(m, start, p / q)
    mass = np.exp(binomial.log_pmf(m, start, p, q))
    result: Array = mass * (gap * zeroth + first)
    return result
