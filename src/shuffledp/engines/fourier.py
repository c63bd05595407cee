"""Certified E[(S)_+] by a Fourier (Bromwich) integral, at a cost that is flat in n.

S is the sum of n scores minus a threshold, with the cumulant generating function n K; K is that
of one score, less its share of the threshold. For any theta > 0 (Bromwich, Laplace),

    E[(S + Z)_+] = 1/(2 pi i) int exp(n K(w) + tau^2 w^2/2) / w^2 dw   over Re w = theta,

where Z ~ N(0, tau^2) is independent. By Jensen this is an upper bound on E[(S)_+], and
(s)_+ >= s Phi(s/tau) = E[(s + Z)_+] - tau phi(s/tau) gives the lower bound: the same integral of
1/w^2 - tau^2. For any weight in [0, 1], E[(S)_+] >= E[weight S] whatever alpha is. With the weight
Phi(S/tau) at one alpha that is a line below the profile, and its slope is one more integral.

The trapezoidal rule adds only positive terms (Poisson summation): the periodic copies. Aliasing,
truncation and rounding errors are all charged to the safe side.

Theory: docs/theory/fourier.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array
from .characteristic_function import (
    CharacteristicFunction,
    OmittedNodes,
    Quadrature,
    cosine_less_one_and_sine,
    evaluate,
    evaluate_first_nodes,
    number_of_relevant_nodes,
    relevant_blocks,
)
from .problem import LEAST, ROUNDING, ScoreSums, StopLossBounds, without_falls
from .tilted_law import Aliases, TiltedLaw

#: Returns bounds for scores in [-1, 1], times the unit by which the scores were divided. Its
#: arguments are the scaled sums, the unit, the width and the known part of the value over the unit.
#: The bounds are not finite where the range of a double is left.
Solver = Callable[[ScoreSums, Array, float, Array], StopLossBounds]


def stop_loss(
    sums: ScoreSums, width: float, known: Array | None = None, solve: Solver | None = None
) -> StopLossBounds:
    """Return certified bounds on E[(S)_+] and a line below it.

    Parameters
    ----------
    sums : ScoreSums
        Score laws, shape [rows, values]; n >= 1 users.
    width : float
        Variance of the smoothing noise relative to that of the tilted sum. This is about the
        relative width of the bounds in epsilon. The result may be wider, never wrong.
    known : Array or None
        A part of the value of each row that is known from elsewhere: the width is relative to the
        sum of both, so that more noise is used where the known part dominates.
    solve : Solver or None
        Another method for scaled scores, with the same errors outside of it.

    Returns
    -------
    StopLossBounds
        One entry per row.

    Notes
    -----
    docs/theory/fourier.md. Where the range of a double is left, the trivial bounds 0 and
    n E[(score)_+] are returned.
    """
    known = np.zeros(len(sums.scores)) if known is None else known
    unit = np.abs(sums.scores).max(axis=1)
    unit = np.where(unit > 0, unit, 1.0)
    scaled = replace(
        sums,
        scores=sums.scores / unit[:, None],
        magnitudes=sums.magnitudes / unit[:, None],
        threshold=sums.threshold / unit,
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lower, upper, fall_low, fall_high = (solve or _integral)(scaled, unit, width, known / unit)
    most = sums.trivial_bound()
    if sums.falls is None:
        fall_low, fall_high = without_falls(lower, upper)[2:]
    is_positive = np.isfinite(lower) & (lower > 0)  # otherwise the line is 0 itself
    fall_high = np.where(np.isnan(fall_high), np.inf, fall_high)
    return StopLossBounds(
        np.where(is_positive, lower, 0.0) * (1 - 4 * UNIT),
        np.where(np.isfinite(upper), np.minimum(upper, most), most) * (1 + 4 * UNIT) + LEAST,
        np.where(is_positive & (fall_low > 0), fall_low, 0.0) * (1 - 4 * UNIT),
        np.where(is_positive, fall_high, 0.0) * (1 + 4 * UNIT),
    )


def _integral(sums: ScoreSums, unit: Array, width: float, known: Array) -> StopLossBounds:
    """Return the bounds for scores in [-1, 1], times unit.

    Rows that would need more than MAX_NODES nodes get more noise instead.
    """
    law, cut = TiltedLaw.of(sums, width).with_affordable_noise(width, known)
    # where the scores alone make the integrand decay, less noise needs no more nodes
    law = law.with_noise(np.where(_ends_early(law, cut), 1 / 4, 1.0))
    most, aliases = max(tuning.MAX_NODES, 1), Aliases(law)
    too_many = _wanted_nodes(law, aliases.period(cut), cut) / most
    if (too_many > 1).any():
        law = law.with_noise(np.where(np.isfinite(too_many), np.maximum(too_many, 1.0), 1.0) ** 2)
        aliases = Aliases(law)
    period, out_of_range = aliases.period(cut), law.is_out_of_range
    wanted = _wanted_nodes(law, period, cut)
    number = np.where(np.isfinite(wanted), np.minimum(np.ceil(wanted), most), 1)
    rule = Quadrature(2 * math.pi / period, number.astype(np.intp))
    has_many_values = sums.scores.shape[1] > tuning.MANY_VALUES
    node_sums = _node_sums_of_many_values if has_many_values else _node_sums
    smooth, density, fall, error, fall_error = node_sums(law, rule, cut)
    beyond, fall_beyond = _beyond_last_node(law, rule)
    error, fall_error = error + beyond + _score_error(law), fall_error + fall_beyond
    high, low = np.exp(law.log_scale + law.log_error), np.exp(law.log_scale - law.log_error)
    upper = (smooth + error) * high
    lower = (smooth - law.tau**2 * density - error) * low - aliases.of_value(period, upper)
    upper -= _noise_if_all_scores_are_zero(law)
    falls = np.zeros((2, len(unit)))
    if sums.falls is not None:
        falls[0] = (fall - fall_error) * low - aliases.of_fall(period)
        falls[1] = (fall + fall_error) * high
    return StopLossBounds(
        np.where(out_of_range, 0.0, lower * unit),
        np.where(out_of_range, law.markov_bound(unit), upper * unit),
        *falls,
    )


def _ends_early(law: TiltedLaw, cut: Array) -> NDArray[np.bool_]:
    """Whether the integrand is negligible at half the nodes by the scores alone: an estimate.

    Without it, outlines are wider: log(1/delta) of a composition with delta = 1e-100 is estimated
    as 194 instead of 210, and 230 is right.
    """
    turn = (np.sqrt(2 * cut) / (2 * law.tau))[:, None] * law.sums.scores
    decay = law.sums.users * np.sum(law.weights * np.minimum(turn**2 / 2, 0.5), axis=1)
    is_negligible: NDArray[np.bool_] = decay > 1.5 * cut
    return is_negligible


def _wanted_nodes(law: TiltedLaw, period: Array, cut: Array) -> Array:
    """Return how many nodes it takes for the rest to be e^-cut of the scale."""
    wanted = np.sqrt(2 * cut) / (law.tau * 2 * math.pi / period)
    return np.where(law.is_out_of_range, 1.0, wanted)


def _beyond_last_node(law: TiltedLaw, rule: Quadrature) -> tuple[Array, Array]:
    """Return bounds on the value and the fall beyond the last node, by the noise alone."""
    last = law.tau * rule.step * rule.number
    mass = np.exp(-(last**2) / 2) / (math.pi * last) * (1 + 1e-9)
    return mass * law.tau * (1 + 1 / last**2), mass / last * law.mean_fall_bound


def _score_error(law: TiltedLaw) -> Array:
    """Return what the rounding of scores and threshold changes, in units of the scale.

    It matters where S > 0 up to that rounding, which has at most the scale under the tilted law.
    """
    magnitude = float(law.sums.users) * np.sum(law.weights * law.sums.magnitudes, axis=1)
    magnitude += law.mean_of_last(law.sums.magnitudes)
    error: Array = ROUNDING * (magnitude + law.sums.threshold) * np.exp(law.log_rounding)
    return error


def _noise_if_all_scores_are_zero(law: TiltedLaw) -> Array:
    """Return a lower bound on what the noise adds where S = -threshold, to subtract it above.

    The noise adds tau/sqrt(2 pi) at 0 and, by convexity, at least that less half the threshold.
    """
    n, threshold = float(law.sums.users), law.sums.threshold
    if law.last is not None:
        return np.zeros(len(threshold))
    active, values = law.sums.probabilities.sum(axis=1), law.sums.scores.shape[1]
    free = np.maximum(1 - active * (1 + law.sums.error) - (24 + values) * UNIT, 0.0)
    log_mass = n * np.log(free)
    mass = np.exp(log_mass - 16 * UNIT * (np.abs(log_mass) + 1))
    noise = law.tau / math.sqrt(2 * math.pi) * (1 - 16 * UNIT) - threshold / 2 * (1 + 16 * UNIT)
    added: Array = mass * np.maximum(noise, 0.0)
    return added


def _node_sums(law: TiltedLaw, rule: Quadrature, cut: Array) -> Array:
    """Return the trapezoidal sums of each row and their errors, as `_sums_at`: [5, rows].

    The relevant blocks of all rows are evaluated one after the other, as if each were a row.
    """
    rows = len(law.theta)
    if rows > 1 and rows * int(rule.number.max()) > 256 * tuning.AT_ONCE:  # to bound the memory
        halves = np.array_split(np.arange(rows), 2)
        parts = [_node_sums(law.rows(half), rule.rows(half), cut[half]) for half in halves]
        return np.concatenate(parts, axis=1)
    omitted = OmittedNodes(law, rule)
    blocks = relevant_blocks(law, rule, cut, omitted)
    sums, within = np.zeros((5, rows)), np.arange(tuning.BLOCK_NODES)
    sums[3:] = omitted.value, omitted.fall * law.mean_fall_bound
    # smaller batches have more overhead, larger ones leave the cache
    together = max(1, tuning.AT_ONCE // 2 // (len(within) * (1 + law.sums.scores.shape[1] // 8)))
    for i in range(0, len(blocks.row), together):
        part = blocks.where(slice(i, i + together))
        at_nodes = evaluate(law, rule.step, part)
        index = part.first[:, None] + within
        found = _sums_at(law.rows(part.row), rule.step[part.row], index, at_nodes)
        sums += [np.bincount(part.row, column, rows) for column in found]
    return sums


def _node_sums_of_many_values(law: TiltedLaw, rule: Quadrature, cut: Array) -> Array:
    """Return the sums of `_node_sums` by transforms, at all nodes up to the last relevant one."""
    omitted = OmittedNodes(law, rule)
    number = number_of_relevant_nodes(law, rule, cut, omitted)
    sums, order = np.zeros((5, len(number))), np.argsort(number)
    while len(order):
        count = int(number[order[-1]])
        together = max(1, tuning.AT_ONCE // 8 // count)
        rows, order = order[-together:], order[:-together]
        part, step = law.rows(rows), rule.step[rows]
        index = np.where(np.arange(count) < number[rows][:, None], np.arange(count), -1)
        sums[:, rows] = _sums_at(part, step, index, evaluate_first_nodes(part, step, count))
    sums[3:] += omitted.value, omitted.fall * law.mean_fall_bound
    return sums


def _sums_at(
    law: TiltedLaw, step: Array, index: NDArray[np.integer], at_nodes: CharacteristicFunction
) -> Array:
    """Return the trapezoidal sums over some nodes, in units of the scale.

    Parameters
    ----------
    law : TiltedLaw
        The law of each row.
    step : Array
        The distance of the nodes of each row.
    index : NDArray
        Nodes to sum over, [rows, nodes]; -1 for none.
    at_nodes : CharacteristicFunction
        Values at these nodes.

    Returns
    -------
    Array
        Shape [5, rows]: the sums of 1/w^2, of 1 and of the fall; the error of the first two
        together, and that of the fall.
    """
    users, threshold = float(law.sums.users), law.sums.threshold[:, None]
    theta, tau = law.theta[:, None], law.tau[:, None]
    t = step[:, None] * np.maximum(index, 0)
    node_weights = np.where(index == 0, 1.0, 2.0) * (index >= 0) * step[:, None] / (2 * math.pi)
    change, change_error = at_nodes.change, at_nodes.change_error
    last, last_error = at_nodes.last, at_nodes.last_error
    real, imag = change.real, change.imag
    square = np.maximum(2 * real + real**2 + imag**2, -1.0)  # |E~ e^(itz)|^2 - 1
    modulus, log_modulus = np.sqrt(1 + square), np.log1p(square) / 2
    angle, drift = np.arctan2(imag, 1 + real), tau**2 * theta * t
    phase = (users - 1) * angle - threshold * t + drift
    others = np.exp((users - 1) * log_modulus - (tau * t) ** 2 / 2) * node_weights
    cosine_less_one, sine = cosine_less_one_and_sine(phase)
    base = others * (1 + cosine_less_one) + 1j * (others * sine)
    terms, w_squared = base * (1 + change) * last, theta**2 + t**2  # w = theta + it
    # the relative error of logarithm and phase; then of the change itself
    exponent = users * (np.abs(angle) - log_modulus) + 2 * threshold * t + drift + 8
    exponent *= 16 * UNIT
    exponent += users * change_error / np.maximum(modulus**2 - change_error, 1e-300)
    # a node with a larger error counts as 0, and all that it could be is charged
    unresolved = ~((exponent < 0.5) & (change_error < 0.25))
    growth = np.expm1(np.minimum(exponent, 0.5))
    error = others * modulus * (np.abs(last) * growth + 2 * last_error)
    largest = np.zeros(t.shape)
    if unresolved.any():
        log_largest = np.log(np.fmin(modulus + change_error + 16 * UNIT, 1.0))
        largest = 2 * node_weights * np.exp((users - 1) * log_largest - (tau * t) ** 2 / 2)
        largest *= 1 + 1e-9
        error, terms = np.where(unresolved, largest, error), np.where(unresolved, 0.0, terms)
    sums = np.zeros((5, len(step)))
    real, imag = terms.real.copy(), terms.imag.copy()
    sums[0] = np.sum((real * (theta**2 - t**2) + imag * (2 * theta * t)) / w_squared**2, axis=1)
    sums[1] = np.sum(real, axis=1)
    sums[3] = np.sum(error * (1 / w_squared + tau**2), axis=1)
    if law.sums.falls is not None:
        falls = (law.sums.threshold_rise * (1 + change) + users * at_nodes.falling) * last
        falls = falls + (1 + change) * at_nodes.last_falling
        fall_error = users * at_nodes.falling_error + law.sums.threshold_rise * change_error
        fall_error += law.mean_fall_bound[:, None] * last_error + at_nodes.last_falling_error
        fall_error += law.mean_of_last(law.sums.all_falls)[:, None] * change_error
        error = others * (np.abs(falls) * growth + 2 * fall_error)
        error = np.where(unresolved, largest * law.mean_fall_bound[:, None], error)
        falls = falls * base
        fall = (falls.real * theta + falls.imag * t) / w_squared
        sums[2] = np.sum(np.where(unresolved, 0.0, fall), axis=1)
        sums[4] = np.sum(error / np.sqrt(w_squared), axis=1)
    return sums
