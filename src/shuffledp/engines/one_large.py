"""Heavy tails: a sum that is positive because one score is large, if not larger than all others.

Where no tilt fits the sum, it is parted by the number J of large scores, two of which are as good
as impossible: E[(S)_+; J = 0] has a law without large scores, and E[(S)_+; J = 1] that of n - 1
users without and of a last one with a large score, a Fourier integral with a tilt of its own.
docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from . import tuning
from .fourier import at_most, stop_loss
from .problem import Bracket, ScoreSums, without_slope


def large_stop_loss(sums: ScoreSums, width: float, besides: Array) -> Bracket:
    """E[(S)_+] for each row, to about a relative width of it and what there is `besides`."""
    found = np.array(stop_loss(sums, width, besides))
    gap = found[1] - found[0]
    wide = np.flatnonzero(gap > tuning.MISFIT * (found[0] + np.maximum(besides, 0.0)))
    if len(wide) == 0:
        return Bracket(*found)
    large = _large(sums.rows(wide), width)
    wide, large = wide[large.any(axis=1)], large[large.any(axis=1)]
    if len(wide):
        again = _by_large(sums.rows(wide), large, width)
        better = again.upper - again.lower < gap[wide]
        found[:, wide[better]] = np.array(again)[:, better]
    return Bracket(*found)


def _large(sums: ScoreSums, width: float) -> NDArray[np.bool_]:
    """Scores so large that two of them are not worth their time."""
    order = np.argsort(-sums.scores, axis=1)
    tail = np.cumsum(np.take_along_axis(sums.probabilities, order, axis=1), axis=1)
    large = np.zeros(sums.scores.shape, dtype=bool)
    np.put_along_axis(large, order, tail * sums.users < tuning.TWO_LARGE * width, axis=1)
    return large & (sums.scores > 0) & (sums.probabilities > 0)


def _by_large(sums: ScoreSums, large: NDArray[np.bool_], width: float) -> Bracket:
    """By the number of large scores: none, one, or more, which is bounded."""
    n, p = float(sums.users), sums.probabilities
    mass, error = np.sum(p * large, axis=1), sums.error + (40 + p.shape[1]) * UNIT
    log_none = np.log1p(-mass)
    usual = sums.without(large, mass)
    others = replace(sums, probabilities=usual.probabilities, error=usual.error)
    last = np.where(large, p, 0.0) / mass[:, None]
    one = stop_loss(replace(others, users=sums.users - 1, last=last), width)
    none = stop_loss(usual, width)
    slack = np.expm1(2.5 * n * error * mass + 8 * error - 16 * UNIT * n * log_none)
    chances = np.exp(n * log_none), n * mass * np.exp((n - 1) * log_none)
    lower, _, slope_low, slope_high = (
        chances[0] * a + chances[1] * b for a, b in zip(none, one, strict=True)
    )
    upper = chances[0] * none.upper + chances[1] * one.upper
    # two or more: at most the sum of the large scores and of the positive ones among the others
    another = -np.expm1((n - 1) * log_none)
    sizes = np.sum(p * sums.magnitudes * large, axis=1)
    upper += n * another * (sizes + mass * at_most(usual))
    if sums.falls is None:
        return without_slope(lower * (1 - slack), upper * (1 + slack))
    return Bracket(
        lower * (1 - slack), upper * (1 + slack), slope_low * (1 - slack), slope_high * (1 + slack)
    )
