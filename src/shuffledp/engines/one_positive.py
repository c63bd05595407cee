"""Far tails of heavy scores: certified E[(S)_+] by conditioning on the one positive score.

Far in the tail nearly all sums are 0 or negative, and under any tilt the positive ones are lost in
rounding errors. But two positive scores are next to impossible. One user has a positive score z,
and the losses of the others matter up to z only: larger ones count as z. So all scores fit on one
lattice and under one tilt. Scores of very different sizes have a lattice and a tilt of their own.

Theory: docs/theory/big-scores.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array
from .fourier import stop_loss
from .problem import LEAST, ROUNDING, ScoreSums, StopLossBounds, without_falls
from .tilted_lattice import lattice_stop_loss
from .tilted_law import TiltedLaw


def one_positive_stop_loss(sums: ScoreSums, width: float) -> StopLossBounds:
    """Return certified bounds on E[(S)_+], without falls.

    Parameters
    ----------
    sums : ScoreSums
        Score laws of n >= 2 users.
    width : float
        Relative width to aim for.

    Notes
    -----
    docs/theory/big-scores.md. The bounds are trivial if half of the scores are positive.
    """
    p, n = sums.probabilities, float(sums.users)
    is_positive = (sums.scores > 0) & (p > 0)
    # what all others add who have a positive score by its error only
    barely = np.where(is_positive, 0.0, sums.scores + ROUNDING * sums.magnitudes)
    mass, error = np.sum(p * is_positive, axis=1), sums.error + (40 + p.shape[1]) * UNIT
    underflow = LEAST + 64 * n * p.shape[1] * 5e-324
    with np.errstate(all="ignore"):  # scores out of all range
        most, errors = sums.trivial_bound(), n * np.sum(p * np.maximum(barely, 0.0), axis=1)
        lower, upper = np.zeros(len(p)), most + underflow
        rows = np.flatnonzero((mass > 0) & (mass < 0.5))
        if len(rows):
            mass, most = mass[rows], most[rows]
            log_none = (n - 1) * np.log1p(-mass)
            slack = np.expm1(2.5 * n * error * mass + 8 * error - 16 * UNIT * log_none)
            low, high, twice = _by_size(sums.rows(rows), is_positive[rows], mass, width)
            low = n * np.exp(log_none) * low * (1 - slack) - underflow
            # two positive scores leave at most the mean of what twice each of them leaves, and more
            # of them count with all that they are
            another = (n - 1) * mass
            several = np.fmin(another / 2 * (n * twice + another * most), most * another)
            high = n * high + several + errors[rows]
            lower[rows] = np.where(low > 0, low, 0.0)
            upper[rows] = np.fmin(high * (1 + slack), most) + underflow
    return without_falls(lower, upper)


def _by_size(
    sums: ScoreSums, is_positive: NDArray[np.bool_], mass: Array, width: float
) -> tuple[Array, Array, Array]:
    """Return bounds on E[(z - T - L)_+; z > 0] and one above E[(2z - T - L')_+; z > 0].

    L is the sum of what n - 1 users lose, given that none of them has a positive score, and L' that
    of n - 2 users. Both are added up over the sizes of z.
    """
    most_sizes = 64  # scores that are smaller than all of these share the last lattice
    log_size = np.log(np.where(is_positive, sums.scores, 1.0))
    top = np.where(is_positive, log_size, -np.inf).max(axis=1, keepdims=True)
    size = np.floor((top - log_size) / np.log(max(tuning.SCORE_RATIO, 1.5)))
    size = np.where(is_positive, np.minimum(size, most_sizes - 1), -1)
    pairs = np.unique((np.arange(len(mass))[:, None] * most_sizes + size)[is_positive])
    row, kind = np.divmod(pairs.astype(np.intp), most_sizes)
    is_last = size[row] == kind[:, None]
    scores, magnitudes = (np.where(is_last, x[row], 0.0) for x in (sums.scores, sums.magnitudes))
    chance = np.sum(sums.probabilities[row] * is_last, axis=1)
    others = sums.without(is_positive, mass).rows(row)

    def left_of(times: float, users: int) -> ScoreSums:
        """Return sums of `times` z and what so many users lose, each up to the largest of these."""
        most = times * scores.max(axis=1, keepdims=True)
        loses_more = others.scores + ROUNDING * others.magnitudes < -most
        return replace(
            others,
            scores=times * scores + np.maximum(others.scores, -most),
            magnitudes=times * magnitudes + np.where(loses_more, most, others.magnitudes),
            users=users,
            falls=None,
            last=np.where(is_last, sums.probabilities[row], 0.0) / chance[:, None],
        )

    problem = left_of(1.0, sums.users - 1)
    twice = chance * stop_loss(left_of(2.0, sums.users - 2), width, solve=_markov_bound).upper
    upper = chance * stop_loss(problem, width, solve=_markov_bound).upper
    total = np.bincount(row, upper, len(mass))[row]
    # Markov's bound is enough of the others, and there are 64 sizes at most
    kept = np.flatnonzero(~(upper < 0.01 * min(width, 1.0) * total))
    # Markov's bounds are a few times too large
    known = np.maximum((total - upper)[kept], 0.0) / (4 * chance[kept])
    found = lattice_stop_loss(problem.rows(kept), width, known)
    upper[kept] = np.fmin(upper[kept], chance[kept] * found.upper)
    lower = chance[kept] * found.lower
    low, high, more = (
        np.bincount(*x, len(mass)).astype(float)
        for x in ((row[kept], lower), (row, upper), (row, twice))
    )
    return low, high, more


def _markov_bound(sums: ScoreSums, unit: Array, width: float, known: Array) -> StopLossBounds:
    """Return Markov's bound for scores in [-1, 1], times unit."""
    return without_falls(np.zeros(len(unit)), TiltedLaw.of(sums, width).markov_bound(unit))
