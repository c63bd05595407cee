"""Certified E[(S_n)_+] for any score law with finitely many values, at a cost that is flat in n.

With K the cumulant generating function of one score and any theta > 0 (Bromwich, Laplace),

    E[(S + Z)_+] = 1/(2 pi i) int exp(n K(w) + tau^2 w^2/2) / w^2 dw   over Re w = theta,

where Z ~ N(0, tau^2) is independent. Jensen makes this an upper bound of E[(S)_+], and
(s)_+ >= E[(s + Z)_+] - tau phi(s/tau) gives the lower one, the same integral of 1/w^2 - tau^2.
By Poisson summation the trapezoidal rule adds only positive terms (periodic copies). Everything
that it adds, cuts off or rounds is bounded; docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

import math

import numpy as np

from .binomial import Array
from .scores import ClassLaw
from .stop_loss import UNDERFLOW, Samples

_UNIT = 2.0**-53
_MAX_NODES = 1 << 20
_BLOCK = 1 << 17  # (law, node) pairs evaluated at once
_MOST_WAYS = 20_000  # up to so many ways to share out the scores are enumerated instead


def stop_loss(
    scores: Array, probabilities: Array, magnitudes: Array, users: int, width: float
) -> tuple[Array, Array]:
    """(lower, upper) of E[(S_n)_+] for each row of `scores`.

    scores and probabilities: [laws, values], each row of probabilities with sum <= 1; the rest of
    the mass scores 0. `magnitudes` times 16 units bounds the error of the scores themselves.
    `width` is the variance of the smoothing noise relative to that of the tilted sum, which is
    about the relative width of the bracket in epsilon.
    """
    n = float(users)
    unit = np.abs(scores).max(axis=1)
    scores, magnitudes = scores / unit[:, None], magnitudes / unit[:, None]
    theta = _saddle(scores, probabilities, n)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lower, upper = _bracket(scores, probabilities, magnitudes, n, theta, width)
    # (sum of scores)_+ is at most the sum of the (score)_+
    slack = 16 * _UNIT * magnitudes
    most = n * np.sum(probabilities * np.maximum(scores + slack, 0.0), axis=1) * (1 + 1e-12)
    upper = np.where(np.isfinite(upper), np.minimum(upper, most), most)
    lower = np.where(np.isfinite(lower), np.maximum(lower, 0.0), 0.0)
    return lower * unit * (1 - 4 * _UNIT), upper * unit * (1 + 4 * _UNIT)


def _bracket(
    scores: Array, probabilities: Array, magnitudes: Array, n: float, theta: Array, width: float
) -> tuple[Array, Array]:
    """stop_loss for scores in [-1, 1] and a given theta; not finite where the range is left."""
    growth = probabilities * np.expm1(theta[:, None] * scores)
    norm = 1 + growth.sum(axis=1)  # E e^(theta z)
    weights = probabilities * np.exp(theta[:, None] * scores) / norm[:, None]
    variance = n * (np.sum(weights * scores**2, axis=1) - np.sum(weights * scores, axis=1) ** 2)
    deviation = np.sqrt(np.maximum(variance, 1e-300))
    tau = math.sqrt(width) * deviation
    log_scale = n * np.log1p(growth.sum(axis=1)) + (tau * theta) ** 2 / 2
    log_error = 16 * _UNIT * (n * np.abs(growth).sum(axis=1) / norm + np.abs(log_scale) + 8)
    period = np.maximum((np.maximum(-log_scale, 0) + 40) / theta, 14 * deviation)
    step = 2 * math.pi / period
    wanted = np.ceil(9 / (tau * step))
    deep = log_scale < -700  # nothing to resolve: Markov's bound is below every delta
    usable = np.isfinite(wanted) & ~deep
    nodes = np.where(usable, np.minimum(wanted, _MAX_NODES), 1).astype(int)

    # laws with similar numbers of nodes are evaluated together
    smooth, bump, error = np.empty((3, len(theta)))
    order = np.argsort(nodes)
    while len(order):
        rows = order[-max(1, _BLOCK // int(nodes[order[-1]] + 1)) :]
        order = order[: -len(rows)]
        smooth[rows], bump[rows], error[rows] = _integrals(
            scores[rows], weights[rows], n, theta[rows], tau[rows], step[rows], int(nodes[rows[-1]])
        )
        nodes[rows] = nodes[rows[-1]]
    # beyond the last node the modulus is at most e^(-tau^2 t^2/2)
    last = tau * nodes * step
    error += np.exp(-(last**2) / 2) * tau / (math.pi * last) * (1 + 1 / last**2)
    # the scores' own rounding, where S > 0 up to it: at most the scale, under the tilted law
    rounding = 16 * _UNIT * n
    reach = np.exp(theta * rounding * magnitudes.max(axis=1))
    error += rounding * np.sum(weights * magnitudes, axis=1) * reach
    high, low = np.exp(log_scale + log_error), np.exp(log_scale - log_error)
    # if nobody scores, S = 0: what the noise adds there is known, tau/sqrt(2 pi)
    free = np.maximum(1 - probabilities.sum(axis=1) - 8 * _UNIT, 0.0)
    log_silent = n * np.log(free)
    silent = np.exp(log_silent - 16 * _UNIT * (np.abs(log_silent) + 1))
    raised = (smooth + error) * high
    upper = raised - silent * tau / math.sqrt(2 * math.pi) * (1 - 16 * _UNIT)
    copies = _copies(scores, probabilities, n, theta, tau, period, raised)
    lower = (smooth - tau**2 * bump - error) * low - copies
    # (s)_+ <= e^(theta s) / (e theta)
    return np.where(deep, 0.0, lower), np.where(deep, high / (math.e * theta), upper)


def _saddle(scores: Array, probabilities: Array, n: float) -> Array:
    """theta > 0 near the minimum of n K(theta) - 2 log theta, row by row."""
    largest = np.maximum(scores.max(axis=1), 1e-300)
    rms = np.sqrt(np.sum(probabilities * scores**2, axis=1))
    drift = np.maximum(np.sum(probabilities * scores, axis=1), 1e-300)
    low = np.log(np.minimum(1e-3 / (rms * math.sqrt(n)), 0.1 / (n * drift)))
    high = np.log(600 / largest)
    low = np.minimum(low, high - 1)
    for _ in range(30):
        middle = (low + high) / 2
        theta = np.exp(middle)
        w = probabilities * np.exp(theta[:, None] * scores)
        norm = 1 + np.sum(probabilities * np.expm1(theta[:, None] * scores), axis=1)
        rising = n * np.sum(w * scores, axis=1) / norm > 2 / theta
        high, low = np.where(rising, middle, high), np.where(rising, low, middle)
    found: Array = np.exp(low)
    return found


def _integrals(
    scores: Array, weights: Array, n: float, theta: Array, tau: Array, step: Array, count: int
) -> tuple[Array, Array, Array]:
    """Trapezoidal sums of 1/w^2 and of 1, in units of the scale, and their rounding error."""
    t = step[:, None] * np.arange(count + 1)  # [laws, nodes]
    real, imag, size = np.zeros(t.shape), np.zeros(t.shape), np.zeros(t.shape)
    for j in range(scores.shape[1]):
        angle = t * scores[:, j, None]
        q = weights[:, j, None]
        half = np.sin(angle / 2)
        real -= 2 * q * half**2
        imag += q * np.sin(angle)
        size += q * np.minimum(np.abs(angle) * (1 + np.abs(angle)), 4 + np.abs(angle))
    near_one = 2 * real + real**2 + imag**2  # |E e^(itz)|^2 - 1
    size *= 16 * _UNIT  # error of the real and the imaginary part
    far = np.hypot(1 + real, imag)
    log_modulus = n * np.where(
        near_one > -0.5, np.log1p(np.maximum(near_one, -0.5)) / 2, np.log(far)
    )
    phase = n * np.arctan2(imag, 1 + real) + tau[:, None] ** 2 * theta[:, None] * t
    envelope = np.exp(-((tau[:, None] * t) ** 2) / 2)
    modulus = np.exp(log_modulus) * envelope
    w = theta[:, None] + 1j * t
    values = modulus * np.exp(1j * phase)
    twice = np.where(np.arange(count + 1) == 0, 1.0, 2.0) * step[:, None] / (2 * math.pi)
    smooth = np.sum(twice * (values / w**2).real, axis=1)
    bump = np.sum(twice * values.real, axis=1)
    # of logarithm and phase; where that is too much, all that the term can be
    exponent = n * size / np.maximum(far**2, 1e-300) + 16 * _UNIT * (np.abs(phase) + 8)
    at_most = 2 * envelope * np.exp(n * np.log(np.minimum(far + size, 1.0)))
    charge = np.where(exponent < 0.5, modulus * np.expm1(np.minimum(exponent, 0.5)), at_most)
    weight = 1 / np.abs(w) ** 2 + tau[:, None] ** 2
    error = np.sum(twice * charge * weight, axis=1)
    return smooth, bump, error


def _copies(
    scores: Array, probabilities: Array, n: float, theta: Array, tau: Array, period: Array, u: Array
) -> Array:
    """Bound of what the periodic copies S + j L, j != 0, add to the trapezoidal sum."""
    decay = np.exp(-theta * period)
    above = (u + period) * decay / (1 - decay) ** 2
    below = np.full(theta.shape, np.inf)
    for factor in (1.2, 1.5, 2.0, 3.0, 5.0):
        other = factor * theta
        exponent = np.minimum(other[:, None] * scores, 700.0)
        log_mgf = n * np.log1p(np.sum(probabilities * np.expm1(exponent), axis=1))
        rate = (other - theta) * period
        bound = log_mgf + (tau * other) ** 2 / 2 - rate - 1 - np.log(other)
        valid = (exponent < 700.0).all(axis=1)
        copy = np.exp(np.minimum(bound, 700)) / -np.expm1(-rate)
        below = np.where(valid, np.minimum(below, copy), below)
    total: Array = above + below
    return total


def enumerated_stop_loss(
    scores: Array, probabilities: Array, magnitudes: Array, users: int, most: int
) -> tuple[Array, Array]:
    """(lower, upper) of E[(S_n)_+] by adding up every way in which users can share the scores.

    Ways with more than `most` scoring users are left to a bound: given that user i scores, the
    number of others who do is binomial, and (S)_+ is at most the sum of the (score)_+.
    """
    n, active = float(users), probabilities.sum(axis=1)[:, None]
    counts = _ways(most, scores.shape[1])  # [ways, values]
    scoring = counts.sum(axis=1)
    log_factorial = np.cumsum(np.log(np.maximum(np.arange(most + 1), 1)))
    log_falling = np.concatenate([[0.0], np.cumsum(np.log(n - np.arange(most)))])
    ways = log_falling[scoring.astype(int)] - log_factorial[counts.astype(int)].sum(axis=1)
    exponent = ways + np.log(probabilities) @ counts.T  # [laws, ways]
    # of the masses, through their exponents, and of the sum over the ways
    largest = math.log(n) + 8 + float(-np.log(probabilities).min())
    error = 16 * _UNIT * (most + 8) * largest + _UNIT * len(counts)
    total = scores @ counts.T
    slack = 16 * _UNIT * (magnitudes @ counts.T)
    sides = []
    for side in (-1, 1):
        # the others score 0, with probability 1 - active, of which active has a relative error
        silent = np.maximum(1 - active * (1 - side * 16 * _UNIT), 0.0)
        precise = np.log1p(-np.minimum(active * (1 - side * 16 * _UNIT), 0.5))
        rest = (n - scoring) * np.where(active < 0.5, precise, np.log(np.maximum(silent, 5e-324)))
        rest = np.where(scoring == n, 0.0, rest) * (1 - side * 4 * _UNIT)
        value = np.exp(exponent + rest) * np.maximum(total + side * slack, 0.0)
        sides.append(value.sum(axis=1) * (1 + side * error))
    if most < users:
        mean = n * active[:, 0]
        tail = np.exp(most * np.log(mean / most) + most - mean) if most > 0 else np.ones(len(mean))
        tail = np.where(mean < most, tail, 1.0)  # Chernoff
        gains = np.sum(probabilities * np.maximum(scores + 16 * _UNIT * magnitudes, 0.0), axis=1)
        sides[1] += n * gains * np.minimum(tail * (1 + 1e-9), 1.0)
    return sides[0], sides[1]


def _ways(users: int, values: int) -> Array:
    """All vectors of `values` counts with sum at most `users`."""
    rows, left = np.zeros((1, 0)), np.array([users])
    for _ in range(values):
        size = left + 1
        start = np.repeat(np.cumsum(size) - size, size)
        count = np.arange(len(start)) - start
        rows = np.column_stack([np.repeat(rows, size, axis=0), count])
        left = np.repeat(left, size) - count
    return rows


class ClassSampler:
    """Evaluates the profile of `users` users: the largest over several laws of outputs."""

    def __init__(self, laws: tuple[ClassLaw, ...], users: int, width: float) -> None:
        self._laws = laws
        self._users = users
        self._width = min(width, 0.1)

    def __call__(self, epsilon: Array) -> Samples:
        parts = [self._one(law, np.asarray(epsilon, dtype=float)) for law in self._laws]
        lower = np.max([part[0] for part in parts], axis=0)
        upper = np.max([part[1] for part in parts], axis=0)
        return Samples(lower, np.minimum(upper, 1.0))

    def _one(self, law: ClassLaw, epsilon: Array) -> tuple[Array, Array]:
        u, v, blanket = (np.array(column) for column in (law.u, law.v, law.blanket))
        covered = blanket > 0
        alpha, slack = np.exp(epsilon)[:, None], 16 * _UNIT
        open_u, open_v = u[~covered], alpha * v[~covered]
        lower = np.maximum((1 - slack) * open_u - (1 + slack) * open_v, 0.0).sum(axis=1)
        upper = np.maximum((1 + slack) * open_u - (1 - slack) * open_v, 0.0).sum(axis=1)
        q = np.broadcast_to(blanket[covered], (len(epsilon), int(covered.sum())))
        a, b = u[covered] / blanket[covered], v[covered] / blanket[covered]
        scores, magnitudes = a - alpha * b, a + alpha * b
        # from the largest loss on no score is positive: there is nothing to sum
        some = (epsilon < law.max_loss(self._users)) | (b == 0).any()
        if covered.any() and some.any():
            low, high = self._stop_loss(scores[some], q[some], magnitudes[some])
            lower[some] += (1 - slack) * low / self._users
            upper[some] += (1 + slack) * high / self._users
        lower, upper = (1 - slack) * lower, (1 + slack) * upper + UNDERFLOW * some
        return np.where(lower > UNDERFLOW, lower, 0.0), upper

    def _stop_loss(
        self, scores: Array, probabilities: Array, magnitudes: Array
    ) -> tuple[Array, Array]:
        users, values = self._users, scores.shape[1]
        most = min(users, 200)  # scoring users, as many as can be enumerated
        while math.comb(most + values, values) > _MOST_WAYS:
            most -= 1
        if users * float(probabilities[0].sum()) > most / 4 and most < users:
            return stop_loss(scores, probabilities, magnitudes, users, self._width)
        parts = [
            enumerated_stop_loss(scores[rows], probabilities[rows], magnitudes[rows], users, most)
            for rows in (slice(i, i + 32) for i in range(0, len(scores), 32))
        ]
        lower = np.concatenate([part[0] for part in parts])
        upper = np.concatenate([part[1] for part in parts])
        # far in the tail the ways that were left out may matter
        rows = np.flatnonzero(upper > (1 + self._width) * lower)
        if most < users and len(rows):
            low, high = stop_loss(
                scores[rows], probabilities[rows], magnitudes[rows], users, self._width
            )
            lower[rows], upper[rows] = np.maximum(lower[rows], low), np.minimum(upper[rows], high)
        return lower, upper
