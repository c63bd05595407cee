"""Certified E[(S_n)_+] for any score law with finitely many values, at a cost that is flat in n.

S_n is the sum of n scores minus a threshold, with the cumulant generating function n K; K is that
of one score, less its share of the threshold. For any theta > 0 (Bromwich, Laplace),

    E[(S + Z)_+] = 1/(2 pi i) int exp(n K(w) + tau^2 w^2/2) / w^2 dw   over Re w = theta,

where Z ~ N(0, tau^2) is independent. Jensen makes this an upper bound of E[(S)_+], and
(s)_+ >= s Phi(s/tau) = E[(s + Z)_+] - tau phi(s/tau) gives the lower one, the same integral of
1/w^2 - tau^2. For any weight in [0, 1] E[(S)_+] >= E[weight S], whatever alpha is: with the weight
Phi(S/tau) at one alpha that is a line below the profile, whose slope is one more integral.
By Poisson summation the trapezoidal rule adds only positive terms (periodic copies). Everything
that it adds, cuts off or rounds is bounded; docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from . import tuning
from .copies import Beyond
from .enumerated import LEAST
from .nodes import Missing, Nodes, change_error, characteristic, lively_blocks
from .problem import Bracket, ScoreSums
from .tilted_law import ROUNDING, TiltedLaw, tilted

# proof constants: docs/theory.md, "Constants"
_DEEPEST = -700.0  # e^_DEEPEST is near the end of the range of a double

#: From scores in [-1, 1], their unit and a width to a bracket, not finite where the range is left.
Solver = Callable[[ScoreSums, Array, float], Bracket]


def stop_loss(sums: ScoreSums, width: float, solve: Solver | None = None) -> Bracket:
    """E[(S_n)_+] for each row of `sums`, and a line below it.

    `width` is the variance of the smoothing noise relative to that of the tilted sum, which is
    about the relative width of the bracket in epsilon. Another way to `solve` may be given.
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
        lower, upper, slope_low, slope_high = (solve or _bracket)(scaled, unit, width)
    most = at_most(sums)
    known = np.isfinite(lower) & (lower > 0)  # else the line is 0 itself
    return Bracket(
        np.where(known, lower, 0.0) * (1 - 4 * UNIT),
        np.where(np.isfinite(upper), np.minimum(upper, most), most) * (1 + 4 * UNIT) + LEAST,
        np.where(known & (slope_low > 0), slope_low, 0.0) * (1 - 4 * UNIT),
        np.where(known, np.where(np.isnan(slope_high), np.inf, slope_high), 0.0) * (1 + 4 * UNIT),
    )


def at_most(sums: ScoreSums) -> Array:
    """(sum of scores)_+ is at most the sum of the (score)_+."""
    gains = np.maximum(sums.scores + ROUNDING * sums.magnitudes, 0.0)
    most: Array = sums.users * np.sum(sums.probabilities * gains, axis=1)
    if sums.last is not None:
        most += np.sum(sums.last * gains, axis=1)
    most *= 1 + (24 + gains.shape[1]) * UNIT + sums.error
    return most


def _bracket(sums: ScoreSums, unit: Array, width: float) -> Bracket:
    """stop_loss for scores in [-1, 1], times unit; not finite where the range is left.

    Rows that would need too many nodes get more noise: narrow brackets of them are out of reach.
    """
    cut, noise = cut_off(width), np.full(len(unit), width)
    found, affordable = _with_noise(sums, unit, noise, cut)
    again = np.flatnonzero(affordable > noise)
    if len(again):
        more = _with_noise(sums.rows(again), unit[again], affordable[again], cut, last=True)
        found[:, again] = more[0]
    return Bracket(*found)


def _with_noise(
    sums: ScoreSums, unit: Array, noise: Array, cut: float, last: bool = False
) -> tuple[Array, Array]:
    """The bracket of each row with this variance of the noise, [4, rows], and the one from which on
    there are not too many nodes. Rows with less are not evaluated; or, at last, what their further
    nodes may have is charged."""
    law = tilted(sums, noise)
    beyond, hopeless = Beyond(law), deep(law)
    period = beyond.period(cut)
    wanted = np.where(hopeless, 1.0, math.sqrt(2 * cut) / (law.tau * 2 * math.pi / period))
    nodes = _nodes(wanted, period)
    most = np.where(np.isfinite(wanted), np.maximum(wanted / nodes.number, 1.0), 1.0)
    (smooth, bump, slope, charge, slope_charge), share = _integrals(law, nodes, cut, last)
    missing, slope_missing = _beyond_the_last(law, nodes)
    charge, slope_charge = charge + missing + _misplaced(law), slope_charge + slope_missing
    high, low = np.exp(law.log_scale + law.log_error), np.exp(law.log_scale - law.log_error)
    raised = (smooth + charge) * high
    upper = raised - _noise_of_silence(law)
    lower = (smooth - law.tau**2 * bump - charge) * low - beyond.copies(period, raised)
    found = np.array(
        [
            np.where(hopeless, 0.0, lower * unit),
            np.where(hopeless, markov(law, unit), upper * unit),
            (slope - slope_charge) * low - beyond.slope_copies(period),
            (slope + slope_charge) * high,
        ]
    )
    return found, noise * (most * share) ** 2


def cut_off(width: float) -> float:
    """-log of what may be left out, relative to the scale."""
    return min(tuning.CUT - math.log(width), tuning.MOST_CUT)


def deep(law: TiltedLaw) -> NDArray[np.bool_]:
    """Is there nothing to resolve, Markov's bound being below every delta?"""
    below: NDArray[np.bool_] = (
        np.minimum(law.log_scale, law.log_scale - np.log(law.theta)) < _DEEPEST
    )
    return below


def markov(law: TiltedLaw, unit: Array) -> Array:
    """(s)_+ <= e^(theta s) / (e theta), times unit."""
    log_bound = law.log_scale + law.log_error + law.log_reach - 1 - np.log(law.theta)
    bound: Array = np.exp(log_bound + np.log(unit)) * (1 + 1e-9)
    return bound


def _nodes(wanted: Array, period: Array) -> Nodes:
    """So many that what is beyond the last one is e^-cut of the scale; it is charged."""
    usable = np.isfinite(wanted)
    count = np.where(usable, np.minimum(np.ceil(wanted), tuning.MAX_NODES), 1).astype(np.intp)
    return Nodes(2 * math.pi / period, count)


def _integrals(law: TiltedLaw, nodes: Nodes, cut: float, last: bool) -> tuple[Array, Array]:
    """The node sums of every row and their errors, [5, rows], as _node_sums; and how many times too
    far the nodes of a row go, which is then evaluated at `last` only.

    Rows with similar numbers of blocks that matter are evaluated together.
    """
    found, order = np.zeros((5, len(law.theta))), np.argsort(nodes.number)
    share, size, values = np.ones(len(order)), tuning.BLOCK_NODES, law.sums.scores.shape[1]
    while len(order):
        together = max(1, tuning.LOOKED * size // int(nodes.number[order[-1]] + size))
        rows, order = order[-together:], order[:-together]
        part, rule = law.rows(rows), Nodes(nodes.step[rows], nodes.number[rows])
        missing = Missing(part, rule)
        blocks, rank = lively_blocks(part, rule, cut, missing).ranked()
        kept = rank < tuning.MOST_BLOCKS
        too_far = blocks.where(rank == tuning.MOST_BLOCKS)
        share[rows[too_far.row]] = rule.number[too_far.row] / too_far.first
        missing.add(blocks.where(~kept), size, np.zeros((~kept).sum()))
        found[3, rows] += missing.value
        found[4, rows] += missing.slope * part.most_fall
        kept &= last | (share[rows[blocks.row]] == 1)
        row, first, rank = blocks.row[kept], blocks.first[kept], rank[kept]
        counts = np.bincount(row, minlength=len(rows))
        left = np.argsort(counts)
        while len(left):
            most = max(int(counts[left[-1]]), 1)
            cost = most * size + (size + 3 * most) * values // 8
            some, left = np.split(left, [max(len(left) - max(1, tuning.PAIRS // cost), 0)])[::-1]
            place = np.full(len(rows), -1)
            place[some] = np.arange(len(some))
            mine = place[row] >= 0
            starts = np.full((len(some), most), -1)
            starts[place[row[mine]], rank[mine]] = first[mine]
            found[:, rows[some]] += _node_sums(part.rows(some), rule.step[some], starts)
    return found, share


def _beyond_the_last(law: TiltedLaw, nodes: Nodes) -> tuple[Array, Array]:
    """What is missing beyond the last node, t = end: the modulus is at most e^(-tau^2 t^2/2)."""
    size = tuning.BLOCK_NODES
    last = law.tau * nodes.step * ((nodes.number // size + 1) * size - 1)
    mass = np.exp(-(last**2) / 2) / (math.pi * last) * (1 + 1e-9)
    return mass * law.tau * (1 + 1 / last**2), mass / last * law.most_fall


def _misplaced(law: TiltedLaw) -> Array:
    """What the rounding of scores and threshold moves, in units of the scale.

    It matters where S > 0 up to that rounding, which is at most the scale under the tilted law.
    """
    magnitude = float(law.sums.users) * np.sum(law.weights * law.sums.magnitudes, axis=1)
    magnitude += law.of_last(law.sums.magnitudes)
    moved: Array = ROUNDING * (magnitude + law.sums.threshold) * np.exp(law.log_reach)
    return moved


def _noise_of_silence(law: TiltedLaw) -> Array:
    """What the noise adds if nobody scores, from below: the upper side need not have it.

    S = -threshold then; the noise adds tau/sqrt(2 pi) at 0 and, by convexity, at least that less
    half the threshold.
    """
    n, threshold = float(law.sums.users), law.sums.threshold
    if law.last is not None:
        return np.zeros(len(threshold))  # somebody scores
    active, values = law.sums.probabilities.sum(axis=1), law.sums.scores.shape[1]
    free = np.maximum(1 - active * (1 + law.sums.error) - (24 + values) * UNIT, 0.0)
    log_silent = n * np.log(free)
    silent = np.exp(log_silent - 16 * UNIT * (np.abs(log_silent) + 1))
    noise = law.tau / math.sqrt(2 * math.pi) * (1 - 16 * UNIT) - threshold / 2 * (1 + 16 * UNIT)
    known: Array = silent * np.maximum(noise, 0.0)
    return known


def _node_sums(law: TiltedLaw, step: Array, starts: Array) -> Array:
    """Trapezoidal sums of 1/w^2, of 1 and of the slope, in units of the scale; then the errors of
    the first two together, and of the slope. `starts` are the first nodes of blocks, -1 for none.
    """
    users, held = float(law.sums.users), law.sums.threshold[:, None]
    theta, tau = law.theta[:, None], law.tau[:, None]
    index = (starts[:, :, None] + np.arange(tuning.BLOCK_NODES)).reshape(len(step), -1)
    used = np.repeat(starts >= 0, tuning.BLOCK_NODES, axis=1)
    t = step[:, None] * np.maximum(index, 0)  # [rows, nodes]
    twice = np.where(index == 0, 1.0, 2.0) * used * step[:, None] / (2 * math.pi)
    change, falling, last, last_falling = characteristic(law, step, np.maximum(starts, 0))
    real, imag = change.real, change.imag
    near_one = 2 * real + real**2 + imag**2  # |E~ e^(itz)|^2 - 1
    far = np.hypot(1 + real, imag)
    log_far = np.where(near_one > -0.5, np.log1p(np.maximum(near_one, -0.5)) / 2, np.log(far))
    angle, drift = np.arctan2(imag, 1 + real), tau**2 * theta * t
    envelope = np.exp(-((tau * t) ** 2) / 2)
    phase = (users - 1) * angle - held * t + drift
    w, others = theta + 1j * t, np.exp((users - 1) * log_far) * envelope
    base = others * np.exp(1j * phase) * twice
    values = base * (1 + change) * last
    falls = (users * falling + law.sums.held * (1 + change)) * last + (1 + change) * last_falling
    # the relative error of logarithm and phase; then of the change itself
    exponent = 16 * UNIT * (users * (np.abs(angle) - log_far) + 2 * held * t + drift + 8)
    size = change_error(law, np.arange(len(step))[:, None], t)
    exponent += users * size / np.maximum(far**2 - size, 1e-300)
    # where that is too much, all that a term can be, twice
    small, grown = exponent < 0.5, np.expm1(np.minimum(exponent, 0.5))
    at_most = np.exp((users - 1) * np.log(np.minimum(far + size + 16 * UNIT, 1.0))) * envelope
    last_error = law.last_error(np.ones(law.weights.shape), t)
    charge = others * far * (np.abs(last) * grown + 2 * last_error)
    charge = np.where(small, charge, 2 * at_most) * twice
    err = users * law.fall_error(t) + law.sums.held * size
    err += law.most_fall[:, None] * last_error + law.last_error(law.sums.slopes, t)
    err += law.of_last(law.sums.slopes)[:, None] * size
    slope_charge = others * (np.abs(falls) * grown + 2 * err)
    slope_charge = np.where(small, slope_charge, 2 * at_most * law.most_fall[:, None]) * twice
    return np.array(
        [
            np.sum((values / w**2).real, axis=1),
            np.sum(values.real, axis=1),
            np.sum((base * falls / w).real, axis=1),
            np.sum(charge * (1 / np.abs(w) ** 2 + tau**2), axis=1),
            np.sum(slope_charge / np.abs(w), axis=1),
        ]
    )
