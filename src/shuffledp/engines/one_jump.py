"""Heavy tails: a sum that is large because one user's score is, in closed form.

No tilt fits scores that are rarely far larger than all others together. With J the number of users
whose score is at least B ("big"), S the sum of the scores minus a threshold T and p = Pr[big],

    E[(S)_+] = E[(S)_+; J = 0] + E[S; J >= 1] + E[(S)_-; J >= 1].

The second term is closed form, the third is next to nothing if B is larger than the sum of the
other scores ever is, and what is left is a law without big scores, which the Fourier integral is
quick for. Scores below -B are raised to it, which raises E[(S)_+] by next to nothing, since such a
user alone outweighs all others. docs/theory.md ("Any score law") has the proofs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import BOTH, UNIT, Array
from . import tuning
from .fourier import at_most, stop_loss
from .problem import ScoreSums
from .tilted_law import ROUNDING


def jump_stop_loss(sums: ScoreSums, width: float) -> tuple[Array, Array]:
    """(lower, upper) of E[(S_n)_+] for each row; as fourier.stop_loss where no score is big."""
    level = np.full(len(sums.scores), np.inf)
    with np.errstate(over="ignore"):
        heavy = np.flatnonzero(_stands_apart(sums))
        if len(heavy):
            level[heavy] = _level(sums.rows(heavy))
    some, none = np.flatnonzero(level < np.inf), np.flatnonzero(level == np.inf)
    if len(some) == 0:
        return stop_loss(sums, width)
    lower, upper = np.empty((2, len(level)))
    lower[some], upper[some] = _split(sums.rows(some), level[some], width)
    if len(none):
        lower[none], upper[none] = stop_loss(sums.rows(none), width)
    return lower, upper


def _stands_apart(sums: ScoreSums) -> NDArray[np.bool_]:
    """Does the largest score exceed what all smaller ones add up to? Then it pays to look for the
    least one that does."""
    z, p = sums.scores, sums.probabilities
    top = z.max(axis=1)
    others = np.minimum(np.abs(z), top[:, None])
    square = np.sum(np.where(z < top[:, None], p * others**2, 0.0), axis=1)
    result: NDArray[np.bool_] = top > sums.threshold + tuning.JUMP * np.sqrt(sums.users * square)
    return result


def _level(sums: ScoreSums) -> Array:
    """B: the least score that exceeds what all smaller ones add up to; infinite without one.

    Any B is sound. The drift and some deviations of the sum without big scores make the third term
    small enough to be forgotten.
    """
    unit = np.maximum(np.abs(sums.scores).max(axis=1, keepdims=True), 1e-300)
    order = np.argsort(np.abs(sums.scores), axis=1)
    z, p = (np.take_along_axis(x, order, axis=1) for x in (sums.scores / unit, sums.probabilities))

    def before(terms: Array) -> Array:
        total: Array = np.cumsum(terms, axis=1) - terms
        return total

    below = np.where(z < 0, p, 0.0)
    raised = np.cumsum(below[:, ::-1], axis=1)[:, ::-1]  # mass that is raised to -z
    n = float(sums.users)
    drift = np.abs(n * (before(p * z) - z * raised))
    deviation = np.sqrt(n * np.maximum(before(p * z**2) + z**2 * raised, 0.0))
    big = z > sums.threshold[:, None] / unit + drift + tuning.JUMP * deviation
    big &= np.cumsum((p * (z > 0))[:, ::-1], axis=1)[:, ::-1] <= 0.5  # of all scores from here on
    # the score itself, not what scaling made of it
    scores = np.take_along_axis(sums.scores, order, axis=1)
    level: Array = np.where(big & (p > 0), scores, np.inf).min(axis=1)
    return level


def _split(sums: ScoreSums, level: Array, width: float) -> tuple[Array, Array]:
    """With the scores from `level` on as big ones and no score below minus it."""
    n, held, p = float(sums.users), sums.threshold, sums.probabilities
    raised = sums.scores < -level[:, None]
    z = np.maximum(sums.scores, -level[:, None])
    # what is surely below the level is exactly at it after being raised
    surely = sums.scores + ROUNDING * sums.magnitudes <= -level[:, None]
    size = np.where(surely, level[:, None], sums.magnitudes)
    big = z >= level[:, None]
    error = sums.error + (24 + z.shape[1]) * UNIT  # relative, of a sum of probabilities or scores
    chance = np.sum(p * big, axis=1)
    log_none = n * np.log1p(-chance)
    slack = 2.5 * n * chance * error - 16 * UNIT * log_none
    some, others = -np.expm1(log_none), -np.expm1((n - 1) * np.log1p(-chance))
    closed, magnitude = (
        n * (np.sum(p * x * big, axis=1) + np.sum(p * x * ~big, axis=1) * others) + sign * some
        for x, sign in ((z, -held), (size, held))
    )
    rest = ScoreSums(
        np.where(big, 0.0, z),
        np.where(big, 0.0, p) / (1 - chance)[:, None],
        np.where(big, 0.0, size),
        held,
        sums.users,
        2 * sums.error + (40 + z.shape[1]) * UNIT,
    )
    low, high = (
        np.exp(log_none + side * slack) * part + closed + side * 6 * error * magnitude
        for side, part in zip(BOTH, stop_loss(rest, width), strict=True)
    )
    least = np.where(big, z - ROUNDING * size, np.inf).min(axis=1)
    high += n * chance * (1 + error) * _far(sums, ROUNDING * size - z, least - held, error)
    # whoever was raised outweighs all others that are not big
    usual = _far(sums, np.where(big, 0.0, z + ROUNDING * size), level + held, error)
    gain = np.minimum(n * np.sum(p * size * big, axis=1) + usual, 1e300)
    low -= n * np.sum(p * raised, axis=1) * gain * (1 + 3 * error)
    upper = np.minimum(high * (1 + 8 * UNIT), at_most(sums))
    return np.maximum(low, 0.0) * (1 - 8 * UNIT), upper


def _far(sums: ScoreSums, x: Array, level: Array, error: float) -> Array:
    """A bound of E[(X - level)_+], X a sum of n - 1 values x with the scores' probabilities.

    (s)_+ <= e^(theta s) / (e theta) for the values up to a few 1/theta, at about the best theta;
    larger ones add at most their mean.
    """

    def bound(theta: Array) -> Array:
        exponent = theta[:, None] * x
        usual = exponent <= tuning.JUMP_USUAL
        growth = sums.probabilities * np.expm1(np.where(usual, exponent, 0.0))
        total = np.sum(growth + (error + 4 * UNIT * np.abs(exponent)) * np.abs(growth), axis=1)
        log_mgf, at_level = (sums.users - 1) * np.log1p(total), theta * level
        log_mgf += 16 * UNIT * (np.abs(log_mgf) + at_level + 8)
        chernoff = np.exp(log_mgf - at_level - 1 - np.log(theta)) * (1 + 1e-9)
        rest = sums.users * np.sum(sums.probabilities * np.where(usual, 0.0, x), axis=1)
        result: Array = chernoff + rest * (1 + 2 * error)
        return np.where(np.isnan(result), np.inf, result)

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        theta = 1 / np.maximum(level, 1e-300)
        best = bound(theta)
        for factor in tuning.JUMP_TILTS:  # far apart first, then nearer and nearer
            for other in (theta * factor, theta / factor):
                found = bound(other)
                theta, best = np.where(found < best, other, theta), np.minimum(found, best)
    return best
