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
from .integrals import of_few_values, of_many_values
from .nodes import Nodes
from .problem import Bracket, ScoreSums, without_slope
from .tilted_law import ROUNDING, TiltedLaw, tilted

# proof constants: docs/theory.md, "Constants"
_DEEPEST = -700.0  # e^_DEEPEST is near the end of the range of a double

#: From scores in [-1, 1], their unit, a width and what there is besides, in their unit too, to a
#: bracket, not finite where the range is left.
Solver = Callable[[ScoreSums, Array, float, Array], Bracket]


def stop_loss(
    sums: ScoreSums, width: float, besides: Array | None = None, solve: Solver | None = None
) -> Bracket:
    """E[(S_n)_+] for each row of `sums`, and a line below it.

    `width` is the variance of the smoothing noise relative to that of the tilted sum, which is
    about the relative width of the bracket in epsilon; or more, if what there is `besides` in each
    row, to which the width is relative too, exceeds all that E[(S_n)_+] may be. Another way to
    `solve` may be given.
    """
    besides = np.zeros(len(sums.scores)) if besides is None else besides
    unit = np.abs(sums.scores).max(axis=1)
    unit = np.where(unit > 0, unit, 1.0)
    scaled = replace(
        sums,
        scores=sums.scores / unit[:, None],
        magnitudes=sums.magnitudes / unit[:, None],
        threshold=sums.threshold / unit,
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lower, upper, slope_low, slope_high = (solve or _bracket)(
            scaled, unit, width, besides / unit
        )
    most = at_most(sums)
    if sums.falls is None:
        slope_low, slope_high = without_slope(lower, upper)[2:]
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


def _bracket(sums: ScoreSums, unit: Array, width: float, besides: Array) -> Bracket:
    """stop_loss for scores in [-1, 1], times unit; not finite where the range is left.

    Rows that would need too many nodes get more noise: narrow brackets of them are out of reach.
    """
    law, cut = exact_enough(tilted(sums, width), width, besides)
    law = law.with_noise(np.where(_soon_over(law, cut), tuning.QUIETER, 1.0))  # it costs no nodes
    found, affordable = _with_noise(law, unit, cut)
    again = np.flatnonzero(affordable > 1)
    if len(again):
        law = law.rows(again).with_noise(affordable[again])
        found[:, again] = _with_noise(law, unit[again], cut[again], last=True)[0]
    return Bracket(*found)


def exact_enough(law: TiltedLaw, width: float, besides: Array) -> tuple[TiltedLaw, Array]:
    """With as much more noise as what there is `besides` leaves room for, and with -log of what may
    then be left out of each row, relative to the scale."""
    most = np.maximum(tuning.MOST_NOISE / (law.tau * law.theta) ** 2, 1.0)
    spare = np.clip(besides / markov(law), 1.0, most)
    spare = np.where(np.isfinite(spare), spare, 1.0)
    return law.with_noise(spare), np.clip(tuning.CUT - np.log(width * spare), 1.0, tuning.MOST_CUT)


def _with_noise(law: TiltedLaw, unit: Array, cut: Array, last: bool = False) -> tuple[Array, Array]:
    """The bracket of each row, [4, rows], and the variance of the noise, over that of the law, from
    which on not too many nodes matter. Rows with less are not evaluated; or, at last, what their
    further nodes may have is charged."""
    many = law.sums.scores.shape[1] > tuning.FEW_TURNED
    most = tuning.LOOKED if many else tuning.MAX_NODES
    beyond, hopeless = Beyond(law), deep(law)
    period = beyond.period(cut)
    wanted = _wanted(law, period, cut, hopeless)
    excess = wanted / most
    if (excess > 1).any():
        law = law.with_noise(np.where(np.isfinite(excess), np.maximum(excess, 1.0), 1.0) ** 2)
        beyond, hopeless = Beyond(law), deep(law)
        period = beyond.period(cut)
        wanted = _wanted(law, period, cut, hopeless)
    nodes = _nodes(wanted, period, most)
    integrals = of_many_values if many else of_few_values
    sums_at_nodes, share = integrals(law, nodes, cut, last)
    smooth, bump, slope, charge, slope_charge = sums_at_nodes
    missing, slope_missing = _beyond_the_last(law, nodes)
    charge, slope_charge = charge + missing + _misplaced(law), slope_charge + slope_missing
    high, low = np.exp(law.log_scale + law.log_error), np.exp(law.log_scale - law.log_error)
    raised = (smooth + charge) * high
    upper = raised - _noise_of_silence(law)
    lower = (smooth - law.tau**2 * bump - charge) * low - beyond.copies(period, raised)
    found = np.zeros((4, len(unit)))
    found[:2] = lower * unit, upper * unit
    if hopeless.any():
        found[0, hopeless], found[1, hopeless] = 0.0, markov(law, unit)[hopeless]
    if law.sums.falls is not None:
        found[2] = (slope - slope_charge) * low - beyond.slope_copies(period)
        found[3] = (slope + slope_charge) * high
    return found, share**2


def _wanted(law: TiltedLaw, period: Array, cut: Array, hopeless: NDArray[np.bool_]) -> Array:
    """So many nodes that what is beyond the last one is e^-cut of the scale."""
    return np.where(hopeless, 1.0, np.sqrt(2 * cut) / (law.tau * 2 * math.pi / period))


def _soon_over(law: TiltedLaw, cut: Array) -> NDArray[np.bool_]:
    """Is the integrand next to nothing, by the scores alone, long before the noise makes it so?
    About, by the turns of the scores at some node."""
    turn = (np.sqrt(2 * cut) / (tuning.LONG_BEFORE * law.tau))[:, None] * law.sums.scores
    decay = law.sums.users * np.sum(law.weights * np.minimum(turn**2 / 2, 0.5), axis=1)
    over: NDArray[np.bool_] = decay > tuning.SURELY_OVER * cut
    return over


def deep(law: TiltedLaw) -> NDArray[np.bool_]:
    """Is there nothing to resolve, Markov's bound being below every delta?"""
    below: NDArray[np.bool_] = (
        np.minimum(law.log_scale, law.log_scale - np.log(law.theta)) < _DEEPEST
    )
    return below


def markov(law: TiltedLaw, unit: Array | float = 1.0) -> Array:
    """(s)_+ <= e^(theta s) / (e theta), times unit."""
    log_bound = law.log_scale + law.log_error + law.log_reach - 1 - np.log(law.theta)
    bound: Array = np.exp(log_bound + np.log(unit)) * (1 + 1e-9)
    return bound


def _nodes(wanted: Array, period: Array, most: int) -> Nodes:
    """As many as are wanted, or so many at most; what is beyond the last one is charged."""
    usable = np.isfinite(wanted)
    count = np.where(usable, np.minimum(np.ceil(wanted), most), 1).astype(np.intp)
    return Nodes(2 * math.pi / period, count)


def _beyond_the_last(law: TiltedLaw, nodes: Nodes) -> tuple[Array, Array]:
    """What is missing beyond the last node, t = end: the modulus is at most e^(-tau^2 t^2/2)."""
    last = law.tau * nodes.step * nodes.number
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
