"""Certified E[(S_n)_+] for any score law with finitely many values, at a cost that is flat in n.

S_n is the sum of n scores minus a threshold, with the cumulant generating function n K; K is that
of one score, less its share of the threshold. For any theta > 0 (Bromwich, Laplace),

    E[(S + Z)_+] = 1/(2 pi i) int exp(n K(w) + tau^2 w^2/2) / w^2 dw   over Re w = theta,

where Z ~ N(0, tau^2) is independent. Jensen makes this an upper bound of E[(S)_+], and
(s)_+ >= E[(s + Z)_+] - tau phi(s/tau) gives the lower one, the same integral of 1/w^2 - tau^2.
By Poisson summation the trapezoidal rule adds only positive terms (periodic copies). Everything
that it adds, cuts off or rounds is bounded; docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from . import tuning
from .enumerated import LEAST
from .problem import ScoreSums
from .tilted_law import ROUNDING, TiltedLaw, log_mgf_beyond, tilted

# proof constants: docs/theory.md, "Constants"
_DEEPEST = -700.0  # e^_DEEPEST is near the end of the range of a double


def stop_loss(sums: ScoreSums, width: float) -> tuple[Array, Array]:
    """(lower, upper) of E[(S_n)_+] for each row of `sums`.

    `width` is the variance of the smoothing noise relative to that of the tilted sum, which is
    about the relative width of the bracket in epsilon.
    """
    unit = np.abs(sums.scores).max(axis=1)
    unit = np.where(unit > 0, unit, 1.0)
    scaled = replace(
        sums,
        scores=sums.scores / unit[:, None],
        magnitudes=sums.magnitudes / unit[:, None],
        threshold=sums.threshold / unit,
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lower, upper = _bracket(scaled, unit, width)
    most = at_most(sums)
    upper = np.where(np.isfinite(upper), np.minimum(upper, most), most)
    lower = np.where(np.isfinite(lower), np.maximum(lower, 0.0), 0.0)
    return lower * (1 - 4 * UNIT), upper * (1 + 4 * UNIT) + LEAST


def at_most(sums: ScoreSums) -> Array:
    """(sum of scores)_+ is at most the sum of the (score)_+."""
    gains = np.maximum(sums.scores + ROUNDING * sums.magnitudes, 0.0)
    most: Array = sums.users * np.sum(sums.probabilities * gains, axis=1)
    most *= 1 + (24 + gains.shape[1]) * UNIT + sums.error
    return most


@dataclass(frozen=True)
class Nodes:
    """The trapezoidal rule of each row: `step` = 2 pi / `period`, and how many nodes there are.

    `log_mgf` bounds log E e^(t (S + Z)) at the `others`, some t > theta. A `deep` row is below
    every delta: Markov's bound is all that is said of it.
    """

    period: Array
    step: Array
    count: NDArray[np.intp]
    others: Array
    log_mgf: Array
    deep: NDArray[np.bool_]


def _bracket(sums: ScoreSums, unit: Array, width: float) -> tuple[Array, Array]:
    """stop_loss for scores in [-1, 1], times unit; not finite where the range is left."""
    law = tilted(sums, width)
    nodes = _nodes(law, width)
    smooth, bump, charge, used = _integrals(law, nodes)
    charge += _beyond_the_last(law, used * nodes.step)
    charge += _misplaced(law)
    high, low = np.exp(law.log_scale + law.log_error), np.exp(law.log_scale - law.log_error)
    raised = (smooth + charge) * high
    upper = raised - _noise_of_silence(law)
    lower = (smooth - law.tau**2 * bump - charge) * low - _copies(law, nodes, raised)
    # (s)_+ <= e^(theta s) / (e theta)
    log_markov = law.log_scale + law.log_error + law.log_reach - 1 - np.log(law.theta)
    markov = np.exp(log_markov + np.log(unit)) * (1 + 1e-9)
    deep = nodes.deep
    return np.where(deep, 0.0, lower * unit), np.where(deep, markov, upper * unit)


def _nodes(law: TiltedLaw, width: float) -> Nodes:
    """Period and nodes such that what they miss is small beside the width.

    Their copies, and what is beyond the last node, are e^-cut of the scale; both are charged.
    """
    theta, log_scale, threshold = law.theta, law.log_scale, law.sums.threshold
    cut = min(tuning.CUT - math.log(width), tuning.MOST_CUT)
    others, log_mgf = log_mgf_beyond(law)
    log_mgf -= others * threshold * (1 - 32 * UNIT)
    period = ((log_mgf - log_scale + cut) / (others - theta)).min(axis=0)
    period = np.maximum(period, (np.maximum(-log_scale, 0) + cut + 3) / theta)
    step = 2 * math.pi / period
    wanted = np.ceil(math.sqrt(2 * cut) / (law.tau * step))
    # nothing to resolve: Markov's bound is below every delta
    deep = np.minimum(log_scale, log_scale - np.log(theta)) < _DEEPEST
    usable = np.isfinite(wanted) & ~deep
    affordable = max(tuning.MAX_TERMS // law.sums.scores.shape[1], tuning.SOME_NODES)
    most_nodes = min(tuning.MAX_NODES, affordable)
    count = np.where(usable, np.minimum(wanted, most_nodes), 1).astype(np.intp)
    return Nodes(period, step, count, others, log_mgf, deep)


def _integrals(law: TiltedLaw, nodes: Nodes) -> tuple[Array, Array, Array, NDArray[np.intp]]:
    """The node sums of every row, and how many nodes were used.

    Laws with similar numbers of nodes are evaluated together, all with the most of them.
    """
    smooth, bump, error = np.empty((3, len(law.theta)))
    used, order = nodes.count.copy(), np.argsort(nodes.count)
    while len(order):
        most = int(used[order[-1]])
        cost = most + 1 + math.isqrt(most) * law.sums.scores.shape[1] // 8
        rows = order[-max(1, tuning.PAIRS // cost) :]
        order = order[: -len(rows)]
        smooth[rows], bump[rows], error[rows] = _node_sums(law.rows(rows), nodes.step[rows], most)
        used[rows] = most
    return smooth, bump, error, used


def _beyond_the_last(law: TiltedLaw, end: Array) -> Array:
    """What is missing beyond the last node, t = end: the modulus is at most e^(-tau^2 t^2/2)."""
    last = law.tau * end
    missing: Array = np.exp(-(last**2) / 2) * law.tau / (math.pi * last) * (1 + 1 / last**2)
    return missing


def _misplaced(law: TiltedLaw) -> Array:
    """What the rounding of scores and threshold moves, in units of the scale.

    It matters where S > 0 up to that rounding, which is at most the scale under the tilted law.
    """
    magnitude = float(law.sums.users) * np.sum(law.weights * law.sums.magnitudes, axis=1)
    moved: Array = ROUNDING * (magnitude + law.sums.threshold) * np.exp(law.log_reach)
    return moved


def _noise_of_silence(law: TiltedLaw) -> Array:
    """What the noise adds if nobody scores, from below: the upper side need not have it.

    S = -threshold then; the noise adds tau/sqrt(2 pi) at 0 and, by convexity, at least that less
    half the threshold.
    """
    n, threshold = float(law.sums.users), law.sums.threshold
    active, values = law.sums.probabilities.sum(axis=1), law.sums.scores.shape[1]
    free = np.maximum(1 - active * (1 + law.sums.error) - (24 + values) * UNIT, 0.0)
    log_silent = n * np.log(free)
    silent = np.exp(log_silent - 16 * UNIT * (np.abs(log_silent) + 1))
    noise = law.tau / math.sqrt(2 * math.pi) * (1 - 16 * UNIT) - threshold / 2 * (1 + 16 * UNIT)
    known: Array = silent * np.maximum(noise, 0.0)
    return known


def _node_sums(law: TiltedLaw, step: Array, count: int) -> tuple[Array, Array, Array]:
    """Trapezoidal sums of 1/w^2 and of 1, in units of the scale, and their rounding error."""
    theta, tau, n = law.theta[:, None], law.tau[:, None], float(law.sums.users)
    t = step[:, None] * np.arange(count + 1)  # [laws, nodes]
    change = _characteristic(law.sums.scores, law.weights, step, count)  # E e^(itz) - 1, tilted
    real, imag = change.real, change.imag
    near_one = 2 * real + real**2 + imag**2  # |E e^(itz)|^2 - 1
    far = np.hypot(1 + real, imag)
    log_modulus = n * np.where(
        near_one > -0.5, np.log1p(np.maximum(near_one, -0.5)) / 2, np.log(far)
    )
    turned, held = n * np.arctan2(imag, 1 + real), law.sums.threshold[:, None] * t
    drift = tau**2 * theta * t
    phase = turned - held + drift
    envelope = np.exp(-((tau * t) ** 2) / 2)
    modulus = np.exp(log_modulus) * envelope
    w = theta + 1j * t
    values = modulus * np.exp(1j * phase)
    twice = np.where(np.arange(count + 1) == 0, 1.0, 2.0) * step[:, None] / (2 * math.pi)
    smooth = np.sum(twice * (values / w**2).real, axis=1)
    bump = np.sum(twice * values.real, axis=1)
    # of logarithm and phase; then of the change itself
    exponent = 16 * UNIT * (np.abs(turned) + np.abs(log_modulus) + 2 * held + drift + 8)
    size = _change_error(law, t)
    exponent += n * size / np.maximum(far**2 - size, 1e-300)
    # where that is too much, all that the term can be
    at_most = 2 * envelope * np.exp(n * np.log(np.minimum(far + size + 16 * UNIT, 1.0)))
    charge = np.where(exponent < 0.5, modulus * np.expm1(np.minimum(exponent, 0.5)), at_most)
    weight = 1 / np.abs(w) ** 2 + tau**2
    error = np.sum(twice * charge * weight, axis=1)
    return smooth, bump, error


def _change_error(law: TiltedLaw, t: Array) -> Array:
    """Bound of the error of E e^(itz) - 1 at each node: angles, weights and sums."""
    scores, relative = law.sums.scores, (law.relative + law.change)[:, None]
    moved = t * np.sum(law.weights * np.abs(scores), axis=1)[:, None]  # E |tz|
    size: Array = 32 * UNIT * moved + (2 * relative + 64 * UNIT) * np.minimum(moved, 4.0)
    size += 4 * scores.shape[1] * UNIT * np.minimum(moved, 4.0)
    return size


def _characteristic(scores: Array, weights: Array, step: Array, count: int) -> Array:
    """E e^(i k step z) - 1 for k = 0 .. count: [laws, nodes].

    With k = l m + j, e^(ik step z) = (1 + a_j)(1 + b_l): a product of two small matrices does it,
    and the a_j and b_l are small where the angles are, so nothing cancels.
    """
    inner = math.isqrt(count) + 1
    outer = count // inner + 1

    def turned(angle: Array) -> Array:
        turn: Array = np.empty((*angle.shape, scores.shape[1]), dtype=complex)
        angles = angle[:, :, None] * scores[:, None, :]
        turn.real = -2 * np.sin(angles / 2) ** 2
        turn.imag = np.sin(angles)
        return turn

    a = turned(step[:, None] * np.arange(inner))  # [laws, inner, values]
    b = turned(step[:, None] * (inner * np.arange(outer + 1)))
    b[:, -1] = 1.0  # for the mean of the a_j, in the same product
    b *= weights[:, None, :]
    product = _product(b, a)
    change = product[:, :-1] + product[:, -1:] + b[:, :-1].sum(axis=2)[:, :, None]
    result: Array = change.reshape(len(scores), -1)[:, : count + 1]
    return result


def _product(b: Array, a: Array) -> Array:
    """The matrices b times the transposed a, in tiles so small that no threads are started for
    them: on a busy machine, waiting for those takes far longer than the work."""
    product: Array = np.empty((len(b), b.shape[1], a.shape[1]), dtype=complex)
    side = max(math.isqrt(tuning.UNTHREADED // b.shape[2]), 2)
    for i in range(0, b.shape[1], side):
        for j in range(0, a.shape[1], side):
            tile = b[:, i : i + side] @ a[:, j : j + side].transpose(0, 2, 1)
            product[:, i : i + side, j : j + side] = tile
    return product


def _copies(law: TiltedLaw, nodes: Nodes, raised: Array) -> Array:
    """Bound of what the periodic copies S + j L, j != 0, add to the trapezoidal sum.

    `raised` is an upper bound of the sum itself.
    """
    theta, period, others = law.theta, nodes.period, nodes.others
    decay = np.exp(-theta * period)
    above = (raised + period) * decay / (1 - decay) ** 2
    rate = (others - theta) * period
    below = np.exp(np.minimum(nodes.log_mgf - rate - 1 - np.log(others), 700)) / -np.expm1(-rate)
    total: Array = (above + below.min(axis=0)) * (1 + 1e-6)  # for their own roundings
    return total
