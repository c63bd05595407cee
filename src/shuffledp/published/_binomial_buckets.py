"""Binomial tails and buckets of binomial counts, on top of the package's tail sums."""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import Array
from ..engines import tails


def interval(trials: int, p: float, q: float, depth: float) -> tuple[int, int]:
    """(low, high) such that Bin(trials, p) leaves it with probability below 2 e^-depth (Bernstein).

    >>> interval(100, 0.5, 0.5, 10.0)
    (24, 76)
    """
    mean = trials * p
    reach = depth / 3 + math.sqrt((depth / 3) ** 2 + 2 * depth * mean * q)
    return max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))


def at_least(trials: int, start: Array, p: float, q: float) -> tuple[Array, Array]:
    """(Pr[X >= start], Pr[X < start]) for X ~ Bin(trials, p), q = 1 - p; the smaller is accurate.

    >>> above, below = at_least(2, np.array([0.0, 1.0, 3.0]), 0.5, 0.5)
    >>> above.round(9).tolist(), below.round(9).tolist()
    ([1.0, 0.75, 0.0], [0.0, 0.25, 1.0])
    """
    n = np.array(float(trials))
    above, below = np.zeros(start.shape), np.zeros(start.shape)
    right = (start > trials * p) & (start >= 1) & (start <= trials)
    left = ~right & (start >= 1) & (start <= trials)
    j = start[right]
    above[right] = np.exp(tails.log_pmf(n, j, p, q)) * tails.tail_sums(n, j, p / q)[0]
    j = trials - start[left] + 1  # failures, at least as many
    below[left] = np.exp(tails.log_pmf(n, j, q, p)) * tails.tail_sums(n, j, q / p)[0]
    below[right], above[left] = 1 - above[right], 1 - below[left]
    above[start < 1], below[start > trials] = 1.0, 1.0
    return above, below


def masses(trials: int, edges: Array, p: float, q: float) -> Array:
    """Pr[edges[i] <= X < edges[i+1]] for X ~ Bin(trials, p), each from its accurate side.

    >>> masses(2, np.array([0.0, 1.0, 3.0]), 0.5, 0.5).round(9).tolist()
    [0.25, 0.75]
    """
    if trials == 0:
        return ((edges[:-1] <= 0) & (edges[1:] > 0)).astype(float)
    above, below = at_least(trials, edges, p, q)
    return np.maximum(np.where(below[1:] < 0.5, np.diff(below), -np.diff(above)), 0.0)
