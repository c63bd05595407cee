"""Heavy tails: sums with one score that outweighs all others and one that is as far below 0.

One user has a big score z, one a low score y, and the sum S of all others is near its mean m. By
Jensen E[(z + y + S)_+] is at least (z + y + m)_+, and it is larger by half the deviation of S at
most. docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from .problem import ScoreSums


class OneOfEach(NamedTuple):
    """E[(S)_+; one score is big, one low, no other either] lies between value - error and value +
    error + more. What is behind the value falls by `fall` as alpha grows, up to `relative`."""

    value: Array
    error: Array
    more: Array
    fall: Array
    relative: Array


def one_of_each(
    sums: ScoreSums, big: NDArray[np.bool_], low: NDArray[np.bool_], error: float
) -> OneOfEach:
    """For n >= 2 users and disjoint sets of big and low scores; `error` is the relative one of a
    sum of probabilities or scores."""
    n, z, p, size = float(sums.users), sums.scores, sums.probabilities, sums.magnitudes
    usual = ~(big | low)
    left_out, p_big, p_low = (np.sum(p * part, axis=1) for part in (~usual, big, low))
    each = (n - 2) / (1 - left_out)  # times a mean over the usual scores: that of n - 2 users

    def of_others(x: Array) -> Array:
        mean: Array = each * np.sum(p * x * usual, axis=1)
        return mean

    log_none = (n - 2) * np.log1p(-left_out)
    ways = n * (n - 1) * np.exp(log_none)
    drift = of_others(z) - sums.threshold
    some = np.flatnonzero((p_big > 0) & (p_low > 0))
    value, fall = np.zeros((2, len(z)))
    held = of_others(sums.slopes) + sums.held
    for i in some.tolist():
        value[i], fall[i] = _pairs(sums, i, big[i], low[i], float(drift[i]), float(held[i]))
    sizes = np.sum(p * size * big, axis=1) * p_low + np.sum(p * size * low, axis=1) * p_big
    sizes += p_big * p_low * (of_others(size) + sums.threshold)
    relative = 12 * error + np.expm1(2.5 * n * error * left_out - 16 * UNIT * log_none)
    # in a unit: squares of scores may be out of range
    near = np.where(usual, z, 0.0)
    unit = np.maximum(np.abs(near).max(axis=1), 1e-300)
    deviation = unit * np.sqrt(of_others((near / unit[:, None]) ** 2)) * (1 + relative)
    more = p_big * p_low * deviation / 2 * (1 + relative)
    return OneOfEach(ways * value, ways * relative * sizes, ways * more, ways * fall, relative)


def _pairs(
    sums: ScoreSums,
    row: int,
    big: NDArray[np.bool_],
    low: NDArray[np.bool_],
    drift: float,
    held: float,
) -> tuple[float, float]:
    """The sum of p_z p_y (z + y + drift)_+ over the big scores z and the low ones y, and that of
    p_z p_y (fall_z + fall_y + held) over the pairs for which it is positive."""
    z, p, falls = sums.scores[row], sums.probabilities[row], sums.slopes[row]
    order = np.flatnonzero(big)[np.argsort(z[big])]
    # of the scores from each on: mass, mass times score, mass times fall
    above = np.zeros((3, len(order) + 1))
    parts = p[order] * np.stack([np.ones(len(order)), z[order], falls[order]])
    above[:, :-1] = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1]
    needed = -(z[low] + drift)
    mass, score, fall = above[:, np.searchsorted(z[order], needed, side="right")]
    value = p[low] @ np.maximum(score - needed * mass, 0.0)
    return float(value), float(p[low] @ (fall + (falls[low] + held) * mass))
