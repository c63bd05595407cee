"""Heavy tails: certified E[(S)_+] by conditioning on the few big scores.

No tilt fits scores that are rarely far larger than all others together. There are two cases, and
in both what remains without the big scores is a law that the integral or the lattice is quick for.

*Dominant scores* (`dominant_stop_loss`). Call a score big if it is at least B and low if it is
below -B, with B larger than the sum of the other scores is likely to be. With J the number of users
whose score is big, none being low,

    E[(S)_+] = E[(S)_+; J = 0] + E[S; J >= 1] + E[(S)_-; J >= 1].

The second term is closed form and the third is negligible. A user with a low score outweighs all
others that are not big. If one score z is big and one, y, is low, the sum S'' of the others is near
its mean m: E[(z + y + S'')_+] is at least (z + y + m)_+ (Jensen) and larger by at most half the
deviation of S''. More of them than that are bounded.

*Large scores* (`large_stop_loss`). A score may make the sum positive without dominating it. Where
the integral's bounds are wide, scores so large that two of them are negligible are split off:
E[(S)_+; one large score] is an integral of n - 1 users and a last one with a law, and a tilt, of
its own.

Theory: docs/theory/big-scores.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array, Side
from .fourier import stop_loss
from .problem import ROUNDING, ScoreSums, StopLossBounds, without_falls

#: From sums of scores, a width, and the part of the value that is known from elsewhere.
Engine = Callable[[ScoreSums, float, Array], StopLossBounds]


def large_stop_loss(sums: ScoreSums, width: float, known: Array) -> StopLossBounds:
    """Return bounds by the integral, with large scores split off where these are too wide.

    Parameters
    ----------
    sums : ScoreSums
        Score laws of n >= 2 users.
    width : float
        Relative width to aim for, of E[(S)_+] plus `known`.
    known : Array
        A part of the value of each row that is known from elsewhere.
    """
    found = np.array(stop_loss(sums, width, known))
    gap = found[1] - found[0]
    # a relative gap of 2 % means that no tilt fits
    wide = np.flatnonzero(gap > 0.02 * (found[0] + np.maximum(known, 0.0)))
    if len(wide) == 0:
        return StopLossBounds(*found)
    large = _large_scores(sums.rows(wide), width)
    wide, large = wide[large.any(axis=1)], large[large.any(axis=1)]
    if len(wide):
        again = _condition_on_large(sums.rows(wide), large, width)
        better = again.upper - again.lower < gap[wide]
        found[:, wide[better]] = np.array(again)[:, better]
    return StopLossBounds(*found)


def _large_scores(sums: ScoreSums, width: float) -> NDArray[np.bool_]:
    """Return scores so large that two of them are negligible: [rows, values]."""
    order = np.argsort(-sums.scores, axis=1)
    tail = np.cumsum(np.take_along_axis(sums.probabilities, order, axis=1), axis=1)
    large = np.zeros(sums.scores.shape, dtype=bool)
    # expected users with a large score: two of them matter by about the square of this
    np.put_along_axis(large, order, tail * sums.users < tuning.TWO_LARGE * width, axis=1)
    return large & (sums.scores > 0) & (sums.probabilities > 0)


def _condition_on_large(sums: ScoreSums, large: NDArray[np.bool_], width: float) -> StopLossBounds:
    """Return bounds by the number of large scores: none, one, or more, which is bounded."""
    n, p = float(sums.users), sums.probabilities
    mass, error = np.sum(p * large, axis=1), sums.error + (40 + p.shape[1]) * UNIT
    log_none = np.log1p(-mass)
    usual = sums.without(large, mass)
    # the same law, with the large scores at probability 0: the one more user has one of them
    others = replace(sums, probabilities=usual.probabilities, error=usual.error)
    last = np.where(large, p, 0.0) / mass[:, None]
    one = stop_loss(replace(others, users=sums.users - 1, last=last), width)
    none = stop_loss(usual, width)
    slack = np.expm1(2.5 * n * error * mass + 8 * error - 16 * UNIT * n * log_none)
    chances = np.exp(n * log_none), n * mass * np.exp((n - 1) * log_none)
    lower, upper, fall_low, fall_high = (
        chances[0] * a + chances[1] * b for a, b in zip(none, one, strict=True)
    )
    # two or more: at most the sum of the large scores and of the positive ones among the others
    another = -np.expm1((n - 1) * log_none)
    sizes = np.sum(p * sums.magnitudes * large, axis=1)
    upper = upper + n * another * (sizes + mass * usual.trivial_bound())
    if sums.falls is None:
        return without_falls(lower * (1 - slack), upper * (1 + slack))
    return StopLossBounds(
        lower * (1 - slack), upper * (1 + slack), fall_low * (1 - slack), fall_high * (1 + slack)
    )


def dominant_stop_loss(
    sums: ScoreSums, width: float, solve: Engine, least: float
) -> StopLossBounds:
    """Return certified bounds on E[(S)_+] with dominant scores in closed form.

    Parameters
    ----------
    sums : ScoreSums
        Score laws of n >= 2 users.
    width : float
        Relative width to aim for.
    solve : Engine
        Evaluates rows without a dominant score, and what remains of the others.
    least : float
        Values below this need no accuracy.
    """
    with np.errstate(over="ignore"):
        level = _dominance_level(sums)
    big, usual = np.flatnonzero(level < np.inf), np.flatnonzero(level == np.inf)
    # values below `least` need no accuracy, as if that much were known from elsewhere
    known = np.full(len(level), least)
    if len(big) == 0:
        return solve(sums, width, known)
    found = np.empty((4, len(level)))
    found[:, big] = _condition_on_big(sums.rows(big), level[big], width, solve, least)
    if len(usual):
        found[:, usual] = solve(sums.rows(usual), width, known[usual])
    return StopLossBounds(*found)


def _dominance_level(sums: ScoreSums) -> Array:
    """Return B, the least score that exceeds what all smaller ones are likely to add up to, or inf.

    Any B is sound if half of the law is nearer to 0. The drift and DOMINANCE deviations of the sum
    without big scores make the third term negligible.
    """
    unit = np.maximum(np.abs(sums.scores).max(axis=1, keepdims=True), 1e-300)
    order = np.argsort(np.abs(sums.scores), axis=1)
    z, p = (np.take_along_axis(x, order, axis=1) for x in (sums.scores / unit, sums.probabilities))

    def sum_before(terms: Array) -> Array:
        total: Array = np.cumsum(terms, axis=1) - terms
        return total

    negative = np.where(z < 0, p, 0.0)
    low = np.cumsum(negative[:, ::-1], axis=1)[:, ::-1]  # mass that is low if z is big
    n, mean = float(sums.users), sum_before(p * z) - z * low
    deviation = np.sqrt(n * np.maximum(sum_before(p * z**2) + z**2 * low - mean**2, 0.0))
    big = z > sums.threshold[:, None] / unit + n * np.abs(mean) + tuning.DOMINANCE * deviation
    big &= np.cumsum(p[:, ::-1], axis=1)[:, ::-1] <= 0.5  # of all scores that far from 0
    # the score itself, not its scaled value
    scores = np.take_along_axis(sums.scores, order, axis=1)
    level: Array = np.where(big & (p > 0), scores, np.inf).min(axis=1)
    return level


def _condition_on_big(
    sums: ScoreSums,
    level: Array,
    width: float,
    solve: Engine,
    least: float,
) -> StopLossBounds:
    """Return bounds by the number of scores from `level` on; scores below -level are low.

    Parameters
    ----------
    sums : ScoreSums
        Score laws of n >= 2 users.
    level : Array
        B > 0 of each row; at most half of the law is as far from 0.
    width, solve, least
        As in `dominant_stop_loss`.
    """
    n, threshold, z, p = float(sums.users), sums.threshold, sums.scores, sums.probabilities
    size = sums.magnitudes
    big, low = z >= level[:, None], z < -level[:, None]
    usual = ~(big | low)
    error = sums.error + (24 + z.shape[1]) * UNIT  # relative, of a sum of probabilities or scores
    p_low, p_excluded = np.sum(p * low, axis=1), np.sum(p * ~usual, axis=1)
    chance = np.sum(p * big, axis=1) / (1 - p_low)  # of a big score if it is not low
    p_any, p_another = (-np.expm1(m * np.log1p(-chance)) for m in (n, n - 1))
    log_none_low, log_none = (n - 1) * np.log1p(-p_low), n * np.log1p(-p_excluded)
    none_low = np.exp(log_none_low)

    def mean_with_big(x: Array, once: Array | float) -> Array:
        """Return E[sum of x + once; some score is big, none low]."""
        mean = np.sum(p * x * big, axis=1) + np.sum(p * x * usual, axis=1) * p_another
        total: Array = none_low * (n * mean + once * p_any * (1 - p_low))
        return total

    slack = (
        2.5 * n * error * mass - 16 * UNIT * log
        for mass, log in ((p_low, log_none_low), (p_excluded, log_none))
    )
    closed_error, none_error = (np.expm1(x) for x in slack)
    closed_error += 6 * error
    none, with_big = np.exp(log_none), mean_with_big(z, -threshold)
    with np.errstate(over="ignore"):
        known = (with_big + least) / np.maximum(none, 1e-300)
    rest = solve(sums.without(~usual, p_excluded), width, known)
    charge = closed_error * mean_with_big(size, threshold)
    down, up = none / (1 + none_error), none * (1 + none_error)
    with_low, upper = _mean_with_low(sums, big, low, error), sums.trivial_bound()
    lower = down * rest.lower + with_big - charge + with_low.lower
    lower = np.maximum(lower, 0.0) * (1 - 8 * UNIT)
    if Side.UPPER in sums.sides:
        smallest_big = np.where(big, z - ROUNDING * size, np.inf).min(axis=1)
        negative = _tail_mean(
            sums, np.where(low, 0.0, ROUNDING * size - z), smallest_big - threshold, error
        )
        with np.errstate(over="ignore"):
            negative = np.minimum(negative, 1e300) * n * np.sum(p * big, axis=1) * (1 + error)
        above = up * rest.upper + with_big + charge + negative + with_low.upper
        upper = np.minimum(above * (1 + 8 * UNIT), upper)
    if sums.falls is None:
        return without_falls(lower, upper)
    fall = mean_with_big(sums.falls, sums.threshold_rise)
    fall_low = down * rest.fall_low + fall * (1 - closed_error) + with_low.fall_low
    fall_high = up * rest.fall_high + fall * (1 + closed_error) + with_low.fall_high
    is_positive = lower > 0
    return StopLossBounds(
        lower,
        upper,
        np.where(is_positive, np.maximum(fall_low, 0.0), 0.0),
        np.where(is_positive, fall_high, 0.0),
    )


def _mean_with_low(
    sums: ScoreSums, big: NDArray[np.bool_], low: NDArray[np.bool_], error: float
) -> StopLossBounds:
    """Return bounds on E[(S)_+; some score is low].

    It is at most the sum of the big scores and the excess of the others' sum over a low score. One
    big and one low score may nearly cancel; more of them than that are next to impossible.
    """
    n, p, size = float(sums.users), sums.probabilities, sums.magnitudes
    p_big, p_low, sum_big = (np.sum(x, axis=1) for x in (p * big, p * low, p * size * big))
    excess, pair = np.full(len(p), 1e300), _one_big_and_one_low(sums, big, low, error)
    is_positive = pair.value > pair.error
    if Side.UPPER in sums.sides:
        level = np.where(low, sums.scores + ROUNDING * size, -np.inf).max(axis=1)
        usual = np.where(big | low, 0.0, sums.scores + ROUNDING * size)
        excess = np.minimum(_tail_mean(sums, usual, sums.threshold - level, error), 1e300)
    more = n * sum_big * np.minimum(n * p_low * (p_big + p_low / 2) * n, 1.0)
    with_big = pair.value + pair.error + pair.spread + more
    with np.errstate(over="ignore"):
        upper = n * p_low * excess + np.minimum(with_big, n * p_low * n * sum_big)
    return StopLossBounds(
        np.where(is_positive, pair.value - pair.error, 0.0),
        np.where(p_low > 0, upper * (1 + 6 * error), 0.0),
        np.where(is_positive, pair.fall * (1 - pair.relative), 0.0),
        np.where(is_positive, pair.fall * (1 + pair.relative), 0.0),
    )


class _PairMean(NamedTuple):
    """Bounds on E[(S)_+; one score is big, one low, no other either].

    It is between value - error and value + error + spread.
    fall: minus the change of the value with alpha, with the relative error `relative`.
    """

    value: Array
    error: Array
    spread: Array
    fall: Array
    relative: Array


def _one_big_and_one_low(
    sums: ScoreSums, big: NDArray[np.bool_], low: NDArray[np.bool_], error: float
) -> _PairMean:
    """Return the mean over pairs of a big and a low score, the others at their mean."""
    n, z, p, size = float(sums.users), sums.scores, sums.probabilities, sums.magnitudes
    usual = ~(big | low)
    p_excluded, p_big, p_low = (np.sum(p * part, axis=1) for part in (~usual, big, low))
    each = (n - 2) / (1 - p_excluded)  # times a mean over the usual scores: that of n - 2 users

    def mean_of_others(x: Array) -> Array:
        mean: Array = each * np.sum(p * x * usual, axis=1)
        return mean

    log_none = (n - 2) * np.log1p(-p_excluded)
    ways = n * (n - 1) * np.exp(log_none)
    drift = mean_of_others(z) - sums.threshold
    value, fall = np.zeros((2, len(z)))
    fall_of_rest = mean_of_others(sums.all_falls) + sums.threshold_rise
    for i in np.flatnonzero((p_big > 0) & (p_low > 0)).tolist():
        value[i], fall[i] = _sum_over_pairs(
            sums, i, big[i], low[i], float(drift[i]), float(fall_of_rest[i])
        )
    sizes = np.sum(p * size * big, axis=1) * p_low + np.sum(p * size * low, axis=1) * p_big
    sizes += p_big * p_low * (mean_of_others(size) + sums.threshold)
    relative = 12 * error + np.expm1(2.5 * n * error * p_excluded - 16 * UNIT * log_none)
    # in a unit, since squares of scores may be out of range
    inner = np.where(usual, z, 0.0)
    unit = np.maximum(np.abs(inner).max(axis=1), 1e-300)
    deviation = unit * np.sqrt(mean_of_others((inner / unit[:, None]) ** 2)) * (1 + relative)
    spread = p_big * p_low * deviation / 2 * (1 + relative)
    return _PairMean(ways * value, ways * relative * sizes, ways * spread, ways * fall, relative)


def _sum_over_pairs(
    sums: ScoreSums,
    row: int,
    big: NDArray[np.bool_],
    low: NDArray[np.bool_],
    drift: float,
    fall_of_rest: float,
) -> tuple[float, float]:
    """Return sums over the pairs of a big score z and a low score y of one row.

    The first is that of p_z p_y (z + y + drift)_+, the second that of p_z p_y (fall_z + fall_y +
    fall_of_rest) over the pairs for which z + y + drift is positive.
    """
    z, p, falls = sums.scores[row], sums.probabilities[row], sums.all_falls[row]
    order = np.flatnonzero(big)[np.argsort(z[big])]
    # sums over the scores from each one on: mass, mass times score, mass times fall
    above = np.zeros((3, len(order) + 1))
    parts = p[order] * np.stack([np.ones(len(order)), z[order], falls[order]])
    above[:, :-1] = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]
    needed = -(z[low] + drift)
    mass, score, fall = above[:, np.searchsorted(z[order], needed, side="right")]
    value = p[low] @ np.maximum(score - needed * mass, 0.0)
    return float(value), float(p[low] @ (fall + (falls[low] + fall_of_rest) * mass))


def _tail_mean(sums: ScoreSums, x: Array, level: Array, error: float) -> Array:
    """Return an upper bound on E[(X - level)_+] for a negligible tail.

    Parameters
    ----------
    sums : ScoreSums
        Gives the probabilities and the number of users.
    x : Array
        Values with the scores' probabilities, [rows, values]; X is the sum of n - 1 of them.
    level : Array
        The level of each row.
    error : float
        Relative error of a sum of probabilities.

    Notes
    -----
    (s)_+ <= e^(theta s)/(e theta) for the values up to 3/theta, at about the best theta. Of larger
    values, what exceeds 0.6 of the distance of the level from the mean counts, and all of it if
    there are several; the other values then need to reach the rest of the level only.
    """
    mean = sums.users * np.sum(sums.probabilities * x, axis=1)
    part = 0.6 * np.maximum(level - np.maximum(mean, 0.0), 0.0)  # left to a larger value

    def bound(theta: Array) -> Array:
        """Return the bound at one tilt."""
        exponent = theta[:, None] * x
        usual = exponent <= 3.0
        growth = sums.probabilities * np.expm1(np.where(usual, exponent, 0.0))
        total = np.sum(growth + (error + 4 * UNIT * np.abs(exponent)) * np.abs(growth), axis=1)
        log_mgf, at_level = (sums.users - 1) * np.log1p(total), theta * (level - part)
        log_mgf += 16 * UNIT * (np.abs(log_mgf) + at_level + 8)
        chernoff = np.exp(log_mgf - at_level - 1 - np.log(theta)) * (1 + 1e-9)
        chance = np.where(usual, 0.0, sums.probabilities)
        rest = np.sum(chance * np.maximum(x - part[:, None], 0.0), axis=1)
        several = np.where(part > 0, np.minimum(sums.users * chance.sum(axis=1), 1.0), 0.0)
        rest += several * np.sum(chance * np.maximum(x, 0.0), axis=1)
        result: Array = chernoff + sums.users * rest * (1 + 4 * error)
        return np.where(np.isnan(result), np.inf, result)

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        theta = 1 / np.maximum(level, 1e-300)
        lowest = bound(theta)
        for factor in (300.0, 30.0, 6.0, 2.5, 1.5):  # a coarse search that gets finer
            for other in (theta * factor, theta / factor):
                found = bound(other)
                theta, lowest = np.where(found < lowest, other, theta), np.minimum(found, lowest)
    return lowest
