"""Certified E[(S)_+] where one score is common and all others are rare, or users are few.

No smoothing fits such a sum: it is nearly always one number, and far larger with a small
probability. So all ways in which a few users have the rare scores are listed. Given one of them,
the number M of users with the common score is binomial, and E[(T + M z)_+] is a binomial stop-loss.

With few users, all ways are listed. Evidence that the integral cannot replace this: without it, the
bounds on delta of randomized response with 15 random among 8e11 messages are [0, 0.94]
(tests/soundness/test_engines.py), and 3 of 600 random questions of benchmarks.atlas stay
unanswered.

Theory: docs/theory/big-scores.md.
"""

from __future__ import annotations

import math

import numpy as np

from .. import tuning
from .._support.numeric import BOTH, UNIT, Array, Side
from . import tails
from .problem import LEAST, ScoreSums, StopLossBounds, without_falls


def rare_stop_loss(sums: ScoreSums, depth: float = 80.0) -> StopLossBounds:
    """Return certified bounds on E[(S)_+], without falls, by listing the users with rare scores.

    Parameters
    ----------
    sums : ScoreSums
        Score laws, [rows, values].
    depth : float
        Users are listed until more of them have a probability of at most e^-depth; with the
        default, deltas down to 1e-24 are resolved.

    Returns
    -------
    StopLossBounds
        Trivial for laws of which too many ways would have to be listed.
    """
    lower, upper = np.zeros(len(sums.scores)), np.full(len(sums.scores), np.inf)
    laws, law = np.unique(sums.probabilities, axis=0, return_inverse=True)
    for i, probabilities in enumerate(laws):
        rows = np.flatnonzero(law.reshape(-1) == i)
        most = listed_users(sums.users, probabilities, depth)
        if most:
            lower[rows], upper[rows] = stop_loss_by_listing(sums.rows(rows), most)
    return without_falls(lower, upper)


def listed_users(users: int, probabilities: Array, depth: float) -> int:
    """Return how many users with rare scores to list.

    More of them have a probability of at most e^-depth, unless that takes too many ways; then as
    many as possible are listed, or 0 if these leave out more than e^-30. It is 0, too, if even the
    common score is so rare that the squared odds against it exceed the range of a double.
    """
    if probabilities.max() < 1e-150:
        return 0
    kinds = len(probabilities) - 1
    mean = users * float(np.sort(probabilities)[:-1].sum())
    most = 0
    while most < min(users, 60) and math.comb(most + 1 + kinds, kinds) <= tuning.MOST_WAYS:
        most += 1
        if _log_tail(mean, most) < -depth:
            break
    return most if most == users or _log_tail(mean, most) < -30 else 0


def stop_loss_by_listing(sums: ScoreSums, most: int) -> tuple[Array, Array]:
    """Return lower and upper bounds on E[(S)_+] for rows with the same probabilities.

    Parameters
    ----------
    sums : ScoreSums
        Score laws, [rows, values], with equal rows of probabilities.
    most : int
        Ways with up to this number of users with rare scores are listed. The others are bounded:
        given that user i has a rare score, the number of other such users is binomial, and (S)_+ is
        at most the sum of the (score)_+.
    """
    scores, probabilities, magnitudes = sums.scores, sums.probabilities[0], sums.magnitudes
    users, threshold = sums.users, sums.threshold[:, None]
    common = int(probabilities.argmax())
    order = np.delete(np.arange(len(probabilities)), common)
    order = order[probabilities[order] > 0]
    rare = probabilities[order]
    counts = _vectors_of_counts(most, len(rare))  # [ways, kinds]
    n, listed = float(users), counts.sum(axis=1)
    exponent = _log_ways(counts, most, n) + counts @ np.log(rare)
    charge = _exponent_error(rare, n, most, sums.error) + UNIT * len(counts) + 1e-11
    margin = (20 + len(probabilities)) * UNIT + sums.error  # relative, of sums of probabilities
    total = scores[:, order] @ counts.T - threshold  # [rows, ways]
    slack = (20 + len(rare)) * UNIT * (magnitudes[:, order] @ counts.T + threshold)
    underflow = LEAST + 1e-305 * n * magnitudes.max(axis=1)
    sides = []
    for side in BOTH:
        others = float(rare.sum()) * (1 - side * margin)
        weight = np.exp(exponent + (n - listed) * math.log1p(-others) * (1 - side * 16 * UNIT))
        z = scores[:, common] + side * 20 * UNIT * magnitudes[:, common]
        value = np.zeros(len(scores))
        for rising in (False, True):
            # the sum grows, or falls, with the chance of the common score
            moved = side if rising else side.other
            p, q = _common_chance(float(probabilities[common]), rare, margin, moved)
            chosen = np.flatnonzero((z >= 0) == rising)
            batch = max(tuning.AT_ONCE // len(counts), 1)
            for i in range(0, len(chosen), batch):
                rows = chosen[i : i + batch]
                given = total[rows] + side * slack[rows]
                value[rows] = _mixture(given, z[rows], weight, n - listed, p, q, side)
        sides.append(value * math.exp(side * charge) + side * underflow)
    if most < users:
        gains = np.sum(probabilities * np.maximum(scores + 20 * UNIT * magnitudes, 0.0), axis=1)
        tail = math.exp(_log_tail(n * float(rare.sum()) * (1 + margin), most))
        sides[1] += n * gains * tail * (1 + 1e-9 + margin)
    return sides[0], sides[1]


def _log_tail(mean: float, most: int) -> float:
    """Return the log of Chernoff's bound on Pr[X >= most] for a binomial X with this mean."""
    return 0.0 if mean >= most else most * math.log(mean / most) + most - mean if mean else -1e9


def _common_chance(common: float, rare: Array, margin: float, side: Side) -> tuple[float, float]:
    """Return (p, 1 - p) of the common score given that the score is not rare.

    p is moved by more than its error, up if side is UPPER, else down; the smaller of p and 1 - p
    is exact.
    """
    left = 1 - float(rare.sum())
    p = common / left * (1 + side * 2 * margin / left)
    if p <= 0.5:
        return p, 1 - p
    # left - common is exact (Sterbenz); docs/theory/big-scores.md has the error
    q = max((left - common) / left - side * margin / left * (1 + 2 * margin / left), 0.0)
    return 1 - q, q


def _mixture(
    total: Array, z: Array, weight: Array, trials: Array, p: float, q: float, side: Side
) -> Array:
    """Return a bound on the sum over the ways of weight E[(total + M z)_+], M ~ Bin(trials, p).

    Parameters
    ----------
    total : Array
        Sums of the rare scores, [rows, ways].
    z : Array
        The common score of each row.
    weight, trials : Array
        Probability of each way, and how many users are left.
    p, q : float
        The chance of the common score among these, and 1 - p.
    side : Side
        Whether the bound is an upper or a lower one.
    """
    z = np.broadcast_to(z[:, None], total.shape)
    m = np.broadcast_to(trials, total.shape)
    size, mean = np.abs(z), m * p
    with np.errstate(over="ignore"):  # M at which the sum is 0
        level = np.divide(-total, z, out=np.where(total > 0, -1e300, 1e300), where=z != 0)
    above = level >= mean
    # put-call parity: one side of the mean is a sum of tails, the other what is left to the mean.
    # Both hold on either side, so it does not matter on which side rounding sees the level.
    plain = total + mean * z + side * 8 * UNIT * (np.abs(total) + mean * size)
    plain = np.where(above == (z < 0), plain, 0.0)
    tail = above & (level < m) | ~above & (level > 0)
    # the level is between the neighbours of its rounded value: E[(M - k)_+] falls with k,
    # E[(k - M)_+] grows
    safe = np.where(above == (side is Side.UPPER), 0.0, np.inf)
    level = np.clip(np.nextafter(level, safe), 0.0, m)
    with np.errstate(under="ignore"):
        call, put = tail & above, tail & ~above
        exact = np.zeros(total.shape)
        exact[call] = _call(m[call], level[call], p, q, side)
        exact[put] = _put(m[put], level[put], p, q, side)
        value = weight * np.maximum(plain + size * exact, 0.0)
    bound: Array = value.sum(axis=1)
    return bound


def _call(m: Array, k: Array, p: float, q: float, side: Side) -> Array:
    """Return a bound on E[(M - k)_+] for M ~ Bin(m, p) and k from m p to m."""
    start = np.minimum(np.floor(k) + 1, m)
    return _binomial_stop_loss(m, start, start - k, p, q, side)


def _put(m: Array, k: Array, p: float, q: float, side: Side) -> Array:
    """Return a bound on E[(k - M)_+] for M ~ Bin(m, p) and k from 0 to m p.

    It is the call of m - M at m - k, without rounding m - k.
    """
    last = np.maximum(np.ceil(k) - 1, 0.0)
    return _binomial_stop_loss(m, m - last, k - last, q, p, side)


def _binomial_stop_loss(
    m: Array, start: Array, gap: Array, p: float, q: float, side: Side
) -> Array:
    """Return a bound on E[(M - (start - gap))_+], 0 <= gap <= 1 and start above the mean of M."""
    if len(m) == 0 or p == 0 or q == 0:
        return np.zeros(len(m))
    zeroth, first, error = tails.tail_sums(m, start, p / q)
    error = error + tails.mass_error(math.sqrt(float(m.max())) / 2)
    mass = np.exp(tails.log_pmf(m, start, p, q))
    result: Array = mass * (gap * zeroth + first) * np.maximum(1 + side * error, 0.0)
    return result


def _exponent_error(probabilities: Array, users: float, most: int, mass_error: float) -> float:
    """Return a bound on the error of log(ways * masses), with up to `most` masses in a product.

    Each of `most` steps adds at most `largest` with a relative error of 8 units, and a rounding of
    all that was added before; then the errors of the masses themselves.
    """
    positive = probabilities[probabilities > 0]
    largest = math.log(users) + 8 - float(np.log(positive).min(initial=0.0))
    return (UNIT * (most + 24) * largest + 2 * mass_error) * (most + 8)


def _log_ways(counts: Array, most: int, users: float) -> Array:
    """Return the log of the number of ways to choose the users with these counts."""
    log_factorial = np.cumsum(np.log(np.maximum(np.arange(most + 1), 1)))
    log_falling = np.concatenate([[0.0], np.cumsum(np.log(users - np.arange(most)))])
    way, value = np.nonzero(counts > 1)  # 0! = 1! = 1
    several = log_factorial[counts[way, value].astype(int)]
    ways: Array = log_falling[counts.sum(axis=1).astype(int)]
    return ways - np.bincount(way, several, len(counts))


def _vectors_of_counts(users: int, values: int) -> Array:
    """Return all vectors of `values` counts with sum at most `users`: [ways, values]."""
    rows, left = np.zeros((1, 0)), np.array([users])
    for _ in range(values):
        size = left + 1
        start = np.repeat(np.cumsum(size) - size, size)
        count = np.arange(len(start)) - start
        rows = np.column_stack([np.repeat(rows, size, axis=0), count])
        left = np.repeat(left, size) - count
    return rows
