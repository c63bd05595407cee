"""Heavy tails: a sum that is large because one user's score is, in closed form.

No tilt fits scores that are rarely far larger than all others together. Call a score big if it is
at least B and low if it is below -B. A user with a low score outweighs all others, so that such
sums count for next to nothing. With J the number of users whose score is big, none being low,

    E[(S)_+] = E[(S)_+; J = 0] + E[S; J >= 1] + E[(S)_-; J >= 1].

The second term is closed form, the third is next to nothing if B is larger than the sum of the
other scores ever is, and what is left is a law without big or low scores, which the Fourier
integral is quick for. docs/theory.md ("Any score law") has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from . import tuning
from .fourier import at_most
from .one_large import large_stop_loss
from .one_of_each import one_of_each
from .problem import Bracket, ScoreSums, without_slope
from .tilted_law import ROUNDING

#: From sums of scores, a width and what there is besides, to which the width is relative too.
Engine = Callable[[ScoreSums, float, Array], Bracket]


def jump_stop_loss(
    sums: ScoreSums, width: float, solve: Engine = large_stop_loss, least: float = 0.0
) -> Bracket:
    """E[(S_n)_+] for each row; left to the engine that `solve`s where no score is big.

    What is below `least` need not be known well.
    """
    level = np.full(len(sums.scores), np.inf)
    with np.errstate(over="ignore"):
        heavy = np.flatnonzero(_stands_apart(sums))
        if len(heavy):
            level[heavy] = _level(sums.rows(heavy))
    some, none = np.flatnonzero(level < np.inf), np.flatnonzero(level == np.inf)
    if len(some) == 0:
        return solve(sums, width, np.full(len(level), least))
    found = np.empty((4, len(level)))
    found[:, some] = _split(sums.rows(some), level[some], width, solve, least)
    if len(none):
        found[:, none] = solve(sums.rows(none), width, np.full(len(none), least))
    return Bracket(*found)


def _stands_apart(sums: ScoreSums) -> NDArray[np.bool_]:
    """Does the largest score exceed what all smaller ones add up to? Then it pays to look for the
    least one that does."""
    z, p, n = sums.scores, sums.probabilities, float(sums.users)
    top = np.maximum(z.max(axis=1), 1e-300)
    others = np.where(z < top[:, None], np.maximum(z / top[:, None], -1.0), 0.0)
    drift, square = np.sum(p * others, axis=1), np.sum(p * others**2, axis=1)
    spread = np.sqrt(n * np.maximum(square - drift**2, 0.0))
    result: NDArray[np.bool_] = sums.threshold / top + tuning.JUMP * spread < 1
    return result


def _level(sums: ScoreSums) -> Array:
    """B: the least score that exceeds what all smaller ones add up to; infinite without one.

    Any B is sound if half of the law is nearer to 0. The drift and some deviations of the sum
    without big scores make the third term small enough to be forgotten.
    """
    unit = np.maximum(np.abs(sums.scores).max(axis=1, keepdims=True), 1e-300)
    order = np.argsort(np.abs(sums.scores), axis=1)
    z, p = (np.take_along_axis(x, order, axis=1) for x in (sums.scores / unit, sums.probabilities))

    def before(terms: Array) -> Array:
        total: Array = np.cumsum(terms, axis=1) - terms
        return total

    below = np.where(z < 0, p, 0.0)
    low = np.cumsum(below[:, ::-1], axis=1)[:, ::-1]  # mass that is low if z is big: next to none
    n, mean, square = float(sums.users), before(p * z) - z * low, before(p * z**2) + z**2 * low
    deviation = np.sqrt(n * np.maximum(square - mean**2, 0.0))
    big = z > sums.threshold[:, None] / unit + n * np.abs(mean) + tuning.JUMP * deviation
    big &= np.cumsum(p[:, ::-1], axis=1)[:, ::-1] <= 0.5  # of all scores that far from 0
    # the score itself, not what scaling made of it
    scores = np.take_along_axis(sums.scores, order, axis=1)
    level: Array = np.where(big & (p > 0), scores, np.inf).min(axis=1)
    return level


def _split(
    sums: ScoreSums, level: Array, width: float, solve: Engine = large_stop_loss, least: float = 0.0
) -> Bracket:
    """With the scores from `level` on as big ones and those below minus it as low ones."""
    n, held, z, p = float(sums.users), sums.threshold, sums.scores, sums.probabilities
    size = sums.magnitudes
    big, low = z >= level[:, None], z < -level[:, None]
    usual = ~(big | low)
    error = sums.error + (24 + z.shape[1]) * UNIT  # relative, of a sum of probabilities or scores
    some_low, left_out = np.sum(p * low, axis=1), np.sum(p * ~usual, axis=1)
    chance = np.sum(p * big, axis=1) / (1 - some_low)  # of a big score if it is not low
    some, others = (-np.expm1(m * np.log1p(-chance)) for m in (n, n - 1))
    log_none_low, log_none = (n - 1) * np.log1p(-some_low), n * np.log1p(-left_out)
    none_low = np.exp(log_none_low)

    def closed(x: Array, once: Array | float) -> Array:
        """E[sum of x + once; some score is big, none low]."""
        mean = np.sum(p * x * big, axis=1) + np.sum(p * x * usual, axis=1) * others
        total: Array = none_low * (n * mean + once * some * (1 - some_low))
        return total

    slack = (
        2.5 * n * error * mass - 16 * UNIT * log
        for mass, log in ((some_low, log_none_low), (left_out, log_none))
    )
    closed_error, none_error = (np.expm1(x) for x in slack)
    closed_error += 6 * error
    none, with_big = np.exp(log_none), closed(z, -held)
    with np.errstate(over="ignore"):
        besides = (with_big + least) / np.maximum(none, 1e-300)
    rest = solve(sums.without(~usual, left_out), width, besides)
    charge = closed_error * closed(size, held)
    down, up = none / (1 + none_error), none * (1 + none_error)
    lower = down * rest.lower + with_big - charge
    with_low, upper = _some_low(sums, big, low, error), at_most(sums)
    if Side.UPPER in sums.sides:
        smallest_big = np.where(big, z - ROUNDING * size, np.inf).min(axis=1)
        negative = _far(sums, np.where(low, 0.0, ROUNDING * size - z), smallest_big - held, error)
        with np.errstate(over="ignore"):
            negative = np.minimum(negative, 1e300) * n * np.sum(p * big, axis=1) * (1 + error)
        above = up * rest.upper + with_big + charge + negative + with_low.upper
        upper = np.minimum(above * (1 + 8 * UNIT), upper)
    lower = np.maximum(lower + with_low.lower, 0.0) * (1 - 8 * UNIT)
    if sums.falls is None:
        return without_slope(lower, upper)
    fall = closed(sums.falls, sums.held)
    slope_low = down * rest.slope_low + fall * (1 - closed_error) + with_low.slope_low
    slope_high = up * rest.slope_high + fall * (1 + closed_error) + with_low.slope_high
    known = lower > 0
    slopes = np.where(known, np.maximum(slope_low, 0.0), 0.0), np.where(known, slope_high, 0.0)
    return Bracket(lower, upper, *slopes)


def _some_low(
    sums: ScoreSums, big: NDArray[np.bool_], low: NDArray[np.bool_], error: float
) -> Bracket:
    """E[(S)_+; some score is low].

    Whoever has a low score outweighs all others that are not big. One of each may be close; more
    of them than that are next to impossible.
    """
    n, p, size = float(sums.users), sums.probabilities, sums.magnitudes
    p_big, p_low, sum_big = (np.sum(x, axis=1) for x in (p * big, p * low, p * size * big))
    ahead, pair = np.full(len(p), 1e300), one_of_each(sums, big, low, error)
    surely = pair.value > pair.error
    if Side.UPPER in sums.sides:
        level = np.where(low, sums.scores + ROUNDING * size, -np.inf).max(axis=1)
        usual = np.where(big | low, 0.0, sums.scores + ROUNDING * size)
        ahead = np.minimum(_far(sums, usual, sums.threshold - level, error), 1e300)
    some_big = n * sum_big * np.minimum(n * p_low * (p_big + p_low / 2) * n, 1.0)
    with_big = pair.value + pair.error + pair.more + some_big
    with np.errstate(over="ignore"):
        above = n * p_low * ahead + np.minimum(with_big, n * p_low * n * sum_big)
    above = np.where(p_low > 0, above * (1 + 6 * error), 0.0)
    return Bracket(
        np.where(surely, pair.value - pair.error, 0.0),
        above,
        np.where(surely, pair.fall * (1 - pair.relative), 0.0),
        np.where(surely, pair.fall * (1 + pair.relative), 0.0),
    )


def _far(sums: ScoreSums, x: Array, level: Array, error: float) -> Array:
    """A bound of E[(X - level)_+], X a sum of n - 1 values x with the scores' probabilities.

    (s)_+ <= e^(theta s) / (e theta) for the values up to a few 1/theta, at about the best theta.
    Of larger ones what exceeds a part of the level counts, and all of them if there are several;
    the others need to reach the rest of the level only.
    """
    mean = sums.users * np.sum(sums.probabilities * x, axis=1)
    above = np.maximum(level - np.maximum(mean, 0.0), 0.0)

    def bound(theta: Array, part: Array) -> Array:
        exponent = theta[:, None] * x
        usual = exponent <= tuning.JUMP_USUAL
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
        lowest = np.full(len(level), np.inf)
        for part in (0 * above, min(tuning.JUMP_SHARE, 1.0) * above):
            theta = 1 / np.maximum(level, 1e-300)
            best = bound(theta, part)
            for factor in tuning.JUMP_TILTS:  # far apart first, then nearer and nearer
                for other in (theta * factor, theta / factor):
                    found = bound(other, part)
                    theta, best = np.where(found < best, other, theta), np.minimum(found, best)
            lowest = np.minimum(lowest, best)
    return lowest
