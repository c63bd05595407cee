"""Certified E[(S_n)_+] for three-point score laws: the profile of one shuffled round.

Given the number c of clones among the other users, n+ - n- is a sum of m = c + 1 fair signs, the
privacy loss is 2 artanh(tanh(eps0/2) (n+ - n-)/m), and the divergence H_c is a binomial stop-loss.
More clones are a post-processing of fewer, so H_c falls with c: a bucket of counts is bounded from
above by its first count and from below by its last. The number of buckets does not depend on n.
"""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines import tails as binomial
from ..laws.three_point import ThreePointLaw
from . import tuning
from .samples import Samples

# proof constants: docs/theory.md, "Constants"
#: The threshold of the stop-loss is that of an epsilon within this relative distance.
_EPSILON_ERROR = 2.0**-48


class ThreePointSampler:
    """Evaluates the profile of a three-point law for `users` users.

    `depth` is log(1/delta) of the smallest delta that has to be resolved relatively.
    """

    def __init__(self, law: ThreePointLaw, users: int, depth: float) -> None:
        self._law = law
        first, last = _buckets(law, users - 1, depth)
        weights, errors = bucket_masses(users - 1, law.clone, law.other, first)
        self._counts, where = np.unique(np.concatenate([first, last]), return_inverse=True)
        # weight of each evaluated count in the upper and the lower mixture
        size = len(self._counts)
        at_first, at_last = where[: len(first)], where[len(first) :]
        self._upper = np.bincount(at_first, weights, size)
        self._lower = np.bincount(at_last, weights, size)
        self._lower_error = np.bincount(at_last, errors, size)
        # for the masses of the clone count, for H_c, and for the sum over the buckets
        most = float(self._counts[-1]) + 1
        given_count = binomial.relative_error(most, math.sqrt(most) / 2)
        counted = binomial.relative_error(users - 1, math.sqrt((users - 1) * law.clone * law.other))
        self._charge = 3 * counted + given_count + 2 * UNIT * (size + 8)

    def __call__(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        rows = max(1, tuning.BLOCK // len(self._counts))
        parts = [self._evaluate(e) for e in np.split(epsilon, range(rows, len(epsilon), rows))]
        return Samples(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _evaluate(self, epsilon: Array) -> tuple[Array, Array, Array, Array]:
        value, slope = _given_count(self._law.eps0, self._counts[None, :], epsilon[:, None])
        value, slope = self._law.weight * value, self._law.weight * slope
        charge = self._charge
        slope_error = slope @ self._lower_error
        slope_low = (1 - charge) * (slope @ self._lower) - slope_error
        slope_high = (1 + charge) * (slope @ self._lower) + slope_error
        # df = -alpha Q(loss > epsilon) d epsilon
        shift = epsilon * np.exp(epsilon) * _EPSILON_ERROR
        upper = (1 + charge) * (value @ self._upper + shift * (slope @ self._upper)) + UNDERFLOW
        lower = (1 - charge) * (value @ self._lower) - shift * slope_high
        at_top = epsilon >= self._law.eps0  # the loss never exceeds eps0: exactly zero
        beyond = epsilon > self._law.eps0
        return (
            np.where(at_top | (lower < UNDERFLOW), 0.0, lower),
            np.where(at_top, 0.0, np.minimum(upper, 1.0)),
            np.where(beyond, 0.0, np.maximum(slope_low, 0.0)),
            np.where(beyond, 0.0, slope_high),
        )


def _given_count(eps0: float, count: Array, epsilon: Array) -> tuple[Array, Array]:
    """H_c(e^epsilon) and Q_c(loss > epsilon) given `count` clones, broadcast; epsilon <= eps0.

    With m = c + 1 and X ~ Bin(m, 1/2) positive signs, the loss exceeds epsilon iff X > k with
    k = m (1 + tanh(epsilon/2) / tanh(eps0/2)) / 2, and with T = tanh(eps0/2) the divergence is
    H_c = T (1 + alpha) (2/m) E[(X - k)_+].
    """
    m = count + 1.0
    epsilon = np.minimum(epsilon, eps0)
    contrast = math.tanh(eps0 / 2)
    # the threshold from the centre, and from the top where that is the accurate side
    centre = m * (np.tanh(epsilon / 2) / contrast) / 2
    top = m * (np.expm1(epsilon - eps0) / (math.expm1(-eps0) * (1 + np.exp(epsilon))))
    near_top = centre > top
    from_top = m - np.maximum(np.ceil(top) - 1, 0)
    from_centre = np.floor(np.minimum(m / 2 + centre, m - 0.5)) + 1
    start = np.where(near_top, from_top, from_centre)  # the first X above k
    gap = np.where(near_top, top - (m - start), (start - m / 2) - centre)  # start - k

    zeroth, first = binomial.tail_sums(np.broadcast_to(m, start.shape), start, 1.0)
    mass = np.exp(binomial.log_pmf(m, start, 0.5, 0.5)) * (2 / m)
    value = contrast * (1 + np.exp(epsilon)) * mass * np.maximum(gap * zeroth + first, 0.0)
    # sum of Q(X) = (2/m) pmf(X) (X + E (m - X)) / (E + 1) over X >= start
    heavy = 1 / (1 + math.exp(-eps0))
    light = heavy * math.exp(-eps0)
    slope = mass * (zeroth * (start * light + (m - start) * heavy) - contrast * first)
    return value, slope


def _buckets(law: ThreePointLaw, others: int, depth: float) -> tuple[Array, Array]:
    """First and last evaluated count of each bucket of 0..others.

    Counts whose probability cannot matter at `depth` share a few buckets, every other count is
    evaluated; correctness does not depend on it.
    """
    mean, variance = others * law.clone, others * law.clone * law.other
    low = max(0.0, math.floor(mean - bernstein(variance, depth)))
    high = min(float(others), math.ceil(mean + bernstein(variance, tuning.ABOVE)))
    halvings = low * 0.5 ** np.arange(1, tuning.HALVINGS + 1)
    edges = np.concatenate([[0.0], np.floor(halvings[::-1]), np.arange(low, high + 1)])
    first = np.unique(edges)
    following = np.append(first[1:], others + 1.0)
    # a bucket of one count is exact; a wider one borrows the next bucket's first count
    last = np.where(following - first == 1, first, np.minimum(following, others))
    return first, last


def bernstein(variance: float, depth: float) -> float:
    """A distance from the mean that a sum of bounded terms exceeds with probability < e^-depth."""
    return depth / 3 + math.sqrt((depth / 3) ** 2 + 2 * depth * variance)


def bucket_masses(trials: int, p: float, q: float, first: Array) -> tuple[Array, Array]:
    """Probability of each bucket of Bin(trials, p), and a bound of its absolute error.

    Buckets start at `first`, from 0 on, and end before the next; q = 1 - p to full precision.
    """
    if trials == 0:
        return np.ones(1), np.zeros(1)
    n = float(trials)
    below = np.zeros(len(first) + 1)  # Pr[C < first]
    above = np.zeros(len(first) + 1)  # Pr[C >= first]
    below[-1] = above[0] = 1.0
    left = np.flatnonzero(first[1:] - 1 < n * p) + 1
    right = np.flatnonzero(first[1:] - 1 >= n * p) + 1
    edge = first[left] - 1
    below[left] = np.exp(binomial.log_pmf(np.array(n), edge, p, q))
    below[left] *= binomial.tail_sums(np.array(n), n - edge, q / p)[0]
    above[left] = 1 - below[left]
    edge = first[right]
    above[right] = np.exp(binomial.log_pmf(np.array(n), edge, p, q))
    above[right] *= binomial.tail_sums(np.array(n), edge, p / q)[0]
    below[right] = 1 - above[right]
    use_left = below[1:] <= 0.5
    masses = np.where(use_left, np.diff(below), -np.diff(above))
    above[left] = 1.0  # 1 - below, where it was used, has the absolute error of a number near 1
    relative = binomial.relative_error(n, math.sqrt(n * p * q))
    errors = 2 * relative * np.where(use_left, below[1:], above[:-1])
    return np.maximum(masses, 0.0), errors
