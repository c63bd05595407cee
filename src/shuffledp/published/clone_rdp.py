"""Renyi DP of the clone pairs, evaluated numerically, added over rounds and converted.

The route that Feldman, McMillan, Talwar propose for many rounds (2021, 2023): the pairs
are those of 2021, Theorem 3.2 ("clones"), and of 2023 with p = 1/(e^eps0 + 1) ("stronger-clones").
Given c clones the pair is P = 1 + T y, Q = 1 - T y relative to the mean y of m = c + 1 fair signs,
T = tanh(eps0/2), so that

    exp((order-1) RDP) = E_C E[g(y)],   g(y) = (1 + T y)^order (1 - T y)^(1-order).

g is convex, so the inner expectation falls with c: counts are put into buckets that count with
their lowest c, on the safe side. The inner sum is exact for few clones; for many it takes every
s-th term, s at most half a standard deviation, with a relative error near e^(-8 pi^2) (Poisson
summation).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ..engines import tails
from ..errors import InvalidParameter
from ._binomial_buckets import interval, masses
from .bound import checked_delta
from .composition_theorems import climb, epsilon_of_rdp

PAPER = "Renyi DP of the pair of Feldman, McMillan, Talwar"
#: From eps0 to the probability that a message is a clone, and 1 less that.
_CHANCES: dict[str, Callable[[float], tuple[float, float]]] = {
    "clones": lambda eps0: (math.exp(-eps0), -math.expm1(-eps0)),
    "stronger-clones": lambda eps0: (
        2 * math.exp(-eps0) / (1 + math.exp(-eps0)),
        math.tanh(eps0 / 2),
    ),
}
_BUCKETS = 100
_EXACT = 400  # up to so many signs every term is summed
_HIGHEST = 1e7  # no larger order is tried
_LOG_FACTORIALS = np.array([math.lgamma(i + 1.0) for i in range(_EXACT + 1)])


def rdp(eps0: float, users: int, order: float, *, analysis: str = "stronger-clones") -> float:
    """Renyi divergence of the pair of one round, order > 1, not below the exact value.

    >>> from shuffledp.published import clone_rdp
    >>> round(clone_rdp.rdp(1.0, 2, 2.0), 6)  # C ~ Bin(1, 2/(e+1)), by hand
    0.584474
    """
    order = validate.real("order", order)
    if not 1 < order <= _HIGHEST:
        raise InvalidParameter(f"order={order:g} is outside (1, {_HIGHEST:g}]; give one inside.")
    eps0, buckets = _checked(eps0, users, analysis, 40.0)
    return _rdp(eps0, *buckets, order)


def epsilon(
    eps0: float, users: int, rounds: int, delta: float, *, analysis: str = "stronger-clones"
) -> float:
    """Rounds add up; converted at the best real order (Canonne, Kamath, Steinke 2020).

    >>> from shuffledp.published import clone_rdp
    >>> round(clone_rdp.epsilon(4.0, 10_000, 4, 1e-6), 3)
    0.923
    """
    rounds, delta = validate.count("rounds", rounds, validate.MAX_ROUNDS), checked_delta(delta)
    eps0, buckets = _checked(eps0, users, analysis, 40.0 - math.log(delta))

    def at(above_one: float) -> float:
        order = 1 + above_one
        return epsilon_of_rdp(order, rounds * _rdp(eps0, *buckets, order), delta)

    rough = climb(at, 2e-2, 2.0, _HIGHEST / 2)
    return min(at(rough * 2 ** (step / 6)) for step in range(-5, 6))


def _checked(
    eps0: float, users: int, analysis: str, depth: float
) -> tuple[float, tuple[Array, Array]]:
    """eps0 and the buckets: the lowest count of each and its probability."""
    eps0 = validate.local_epsilon(eps0)
    users = validate.count("users", users, validate.MAX_USERS)
    if analysis not in _CHANCES:
        raise InvalidParameter(
            f"analysis={validate.show(analysis)} is unknown; choose one of {', '.join(_CHANCES)}."
        )
    (clone, other), others = _CHANCES[analysis](eps0), users - 1
    if others <= 2 * _BUCKETS:
        edges = np.arange(others + 2, dtype=float)
    else:  # fine where the mass is, coarser below, where a little may matter, a ladder at the end
        least, _ = interval(others, clone, other, depth)
        low, high = interval(others, clone, other, 10.0)
        grids = [np.floor(least * 0.8 ** np.arange(150))]
        for start, end in ((least, low), (low, high + 1)):
            grids.append(np.arange(start, end, max(1, (end - start) // _BUCKETS), dtype=float))
        edges = np.unique(np.concatenate([[0.0], *grids, [others + 1.0]]))
    return eps0, (edges[:-1], masses(others, edges, clone, other))


def _rdp(eps0: float, counts: Array, weights: Array, order: float) -> float:
    used = weights > 0
    logs = _log_excess(eps0, counts[used] + 1, order) + np.log(weights[used])
    total = float(_log_sum(logs[None, :])[0])
    # log(1 + excess)
    grown = total + math.log1p(math.exp(-total)) if total > 0 else math.log1p(math.exp(total))
    return grown / (order - 1)


def _log_excess(eps0: float, signs: Array, order: float) -> Array:
    """log(E[g(y)] - 1) for each number of signs; the part of g linear in y has mean 0."""
    # Hoeffding: with g(y) <= exp(pull y), what lies beyond y = reach / signs is below e^-75 / signs
    pull = (order - 0.5) * eps0
    reach = pull + np.sqrt(pull**2 + 2 * signs * (75 + np.log(signs)))
    # where the order is so large that the end y = 1 matters, fewer signs: larger, and safe
    smooth = (signs > _EXACT) & (reach < signs)
    signs = np.where(smooth, signs, np.minimum(signs, _EXACT))
    step = np.where(smooth, np.floor(np.sqrt(signs) / 4), 1.0)
    reach = np.minimum(reach, signs)
    result = np.empty(signs.shape)
    for group in (smooth, ~smooth):  # of similar numbers of terms
        if group.any():
            result[group] = _log_sums(eps0, signs[group], step[group], reach[group], order)
    return result


def _log_sums(eps0: float, signs: Array, step: Array, reach: Array, order: float) -> Array:
    """log of the sum over every step-th y within reach / signs, for each number of signs."""
    half = math.ceil(float((reach / 2 / step).max()))
    terms = np.arange(-half, half + 1, dtype=float)
    positive: Array = np.floor(signs / 2)[:, None] + step[:, None] * terms
    m = signs[:, None]
    valid = (positive >= 0) & (positive <= m)
    positive = np.where(valid, positive, np.floor(m / 2))
    mass = _log_fair(m, positive) + np.log(step)[:, None]
    return _log_sum(np.where(valid, mass + _log_bend(eps0, positive, m, order), -np.inf))


def _log_fair(signs: Array, positive: Array) -> Array:
    """log Pr[Bin(signs, 1/2) = positive]; of few signs from a table, since every order asks."""
    if signs.max() > _EXACT:
        return tails.log_pmf(signs, positive, 0.5, 0.5)
    n, k = signs.astype(int), positive.astype(int)
    return np.asarray(
        _LOG_FACTORIALS[n] - _LOG_FACTORIALS[k] - _LOG_FACTORIALS[n - k] - n * math.log(2)
    )


def _log_bend(eps0: float, positive: Array, signs: Array, order: float) -> Array:
    """log(g(y) - 1 - y g'(0)), y = (2 positive - signs) / signs."""
    s = math.tanh(eps0 / 2) * (2 * positive - signs) / signs
    heavy = 1 / (1 + math.exp(-eps0))
    light = heavy * math.exp(-eps0)
    # log(1 +- s), near -+1 from sums of positive numbers
    up = np.log(2 * (heavy * positive + light * (signs - positive)) / signs)
    down = np.log(2 * (light * positive + heavy * (signs - positive)) / signs)
    inner = np.abs(s) < 0.5
    near = np.where(inner, s, 0.0)
    up, down = np.where(inner, np.log1p(near), up), np.where(inner, np.log1p(-near), down)
    x = order * up + (1 - order) * down  # log g = (2 order - 1) artanh(s) + log(1 - s^2)/2
    slope = 2 * order - 1
    bend = np.expm1(np.minimum(x, 600.0)) - slope * s
    small = np.abs(x) < 1e-2
    z, r = np.where(small, x, 0.0), np.where(small, s, 0.0)
    series = z**2 / 2 * (1 + z / 3 * (1 + z / 4 * (1 + z / 5 * (1 + z / 6 * (1 + z / 7)))))
    cubic = r**3 / 3 * (1 + r**2 * (3 / 5 + r**2 * (3 / 7 + r**2 / 3)))
    bend = np.where(small, series + slope * cubic + np.log1p(-r * r) / 2, bend)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(x > 600, x, np.log(np.maximum(bend, 0.0))))


def _log_sum(logs: Array) -> Array:
    """log of the sum of e^logs along the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0])
