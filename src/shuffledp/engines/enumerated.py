"""E[(S_n)_+] by adding up every way in which users can share the scores, if they are few."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain, combinations_with_replacement

import numpy as np

from .._support.numeric import BOTH, UNIT, Array, Side
from . import tuning
from .problem import Bracket, ScoreSums, without_slope

# proof constants: docs/theory.md, "Constants"
#: More than is lost, or gained, by rounding below the range of a double: 4 units of 5e-324 a term.
LEAST = 1e-315


def enumerated_stop_loss(sums: ScoreSums, most: int) -> Bracket:
    """E[(S_n)_+] for each row, with a line below it.

    Ways with more than `most` scoring users are left to a bound: given that user i scores, the
    number of others who do is binomial, and (S)_+ is at most the sum of the (score)_+.
    """
    values = sums.scores.shape[1]
    listed = _kept if values <= tuning.FEW_VALUES else _listed
    counts, logs = listed(most, values, sums.users)
    found = np.empty((4, len(sums.scores)))
    at_once = max(tuning.WAYS_AT_ONCE // len(counts), 1)
    for same in sums.by_law():
        # a way may have a mass below the range of a double and a sum that makes up for it: what
        # no sum exceeds is part of the mass
        gains = sums.scores[same] + 20 * UNIT * sums.magnitudes[same]
        unit = max(most * float(gains.max()), 1.0)
        masses = _masses(sums.rows(same[:1]), counts, logs, most, unit)
        for start in range(0, len(same), at_once):
            rows = same[start : start + at_once]
            found[:, rows] = _summed(sums.rows(rows), counts, masses, unit)
    if most < sums.users:
        found[1] += _beyond(sums, most, _margin(sums))
    return Bracket(*found)


def _margin(sums: ScoreSums) -> float:
    """Relative error of sums of probabilities."""
    return float((20 + sums.scores.shape[1]) * UNIT + sums.error)


def _listed(most: int, values: int, users: int) -> tuple[Array, Array]:
    """Vectors of counts, [ways, values], and the logarithms of in how many ways users have them."""
    counts = vectors_of_counts(most, values)
    return counts, log_ways(counts, most, float(users))


_kept = lru_cache(maxsize=8)(_listed)


def _masses(sums: ScoreSums, counts: Array, logs: Array, most: int, unit: float) -> list[Array]:
    """The probability of each way times `unit`, from below and from above; one row."""
    n, law = float(sums.users), sums.probabilities[0]
    active, scoring = float(law.sum()), counts.sum(axis=1)
    # values without mass pad the rows: e^-1e6 is 0
    log_mass = np.log(law, out=np.full(law.shape, -1e6), where=law > 0)
    exponent = logs + counts @ log_mass + math.log(unit)
    error = exponent_error(law, n, most, sums.error) + UNIT * 16 * math.log(unit)
    silent = n - scoring  # users, who score 0 with probability 1 - active
    sides = []
    for side in BOTH:
        scoring_mass = active * (1 - side * _margin(sums))
        if scoring_mass < 0.5:
            log_silent = math.log1p(-scoring_mass)
        else:
            log_silent = math.log(1 - scoring_mass) if scoring_mass < 1 else -math.inf
        rest = np.multiply(silent, log_silent, out=np.zeros(len(silent)), where=silent > 0)
        sides.append(np.exp(exponent + rest * (1 - side * 16 * UNIT)) * math.exp(side * error))
    return sides


def _summed(sums: ScoreSums, counts: Array, masses: list[Array], unit: float) -> Array:
    """[4, rows]: sums over all ways, for rows of the law with these masses."""
    held, ways = sums.threshold[:, None], counts.T
    total = sums.scores @ ways - held  # [rows, ways]
    values = sums.scores.shape[1]
    slack = (20 + values) * UNIT * (sums.magnitudes @ ways + held)
    below, error = np.maximum(total - slack, 0.0), (len(counts) + values + 40) * UNIT

    def added(part: Array, side: Side, least: float) -> Array:
        mass = masses[side > 0]
        total: Array = np.einsum("rw,w->r", part / unit, mass) * (1 + side * error) + side * least
        return total

    found = np.array(without_slope(np.empty(len(total)), np.empty(len(total))))
    found[0] = added(below, Side.LOWER, LEAST)
    found[1] = added(np.maximum(total + slack, 0.0), Side.UPPER, LEAST)
    if sums.falls is not None:
        # a line belongs to an event, whatever alpha is: to the ways that count below
        falls = sums.falls @ ways + sums.held
        least, falls = LEAST * (1 + float(falls.max())), falls * (below > 0)
        found[2] = np.maximum(added(falls, Side.LOWER, least), 0.0)
        found[3] = added(falls, Side.UPPER, least)
    return found


def _beyond(sums: ScoreSums, most: int, margin: float) -> Array:
    """n E[z_+] times Chernoff's bound of `most` or more scoring users among the others."""
    n, probabilities = float(sums.users), sums.probabilities
    gains = np.maximum(sums.scores + 20 * UNIT * sums.magnitudes, 0.0)
    gain = np.sum(probabilities * gains, axis=1)
    mean = np.maximum(n * probabilities.sum(axis=1) * (1 + margin), 1e-300)
    log_tail = most * np.log(mean / most) + most - mean if most > 0 else np.zeros(len(mean))
    log_tail = np.where(mean < most, log_tail, 0.0)
    beyond = np.exp(log_tail + np.log(np.maximum(n * gain, 1e-300)))
    result: Array = beyond * (1 + 1e-9 + margin)
    return result


def one_user_stop_loss(sums: ScoreSums) -> tuple[Array, Array]:
    """(lower, upper) of E[(S)_+] for each row, if there is one user: a mean over the scores."""
    held = sums.threshold[:, None]
    # what the errors of the law leave, and the roundings here
    scores, slack = sums.scores - held, 32 * UNIT * (sums.magnitudes + held)
    error = sums.error + 32 * UNIT + UNIT * scores.shape[1]
    low, high = (
        np.sum(sums.probabilities * np.maximum(scores + side * slack, 0.0), axis=1)
        * (1 + side * error)
        + side * LEAST
        for side in BOTH
    )
    return low, high


def exponent_error(probabilities: Array, users: float, most: int, mass_error: float) -> float:
    """Bound of the error of log(ways * masses), with up to `most` masses in a product.

    Each of `most` steps adds at most `largest` with a relative error of 8 units, and a rounding of
    all that was added before; then the errors of the masses themselves.
    """
    some = probabilities[probabilities > 0]
    largest = math.log(users) + 8 - float(np.log(some).min(initial=0.0))
    return (UNIT * (most + 24) * largest + 2 * mass_error) * (most + 8)


def log_ways(counts: Array, most: int, users: float) -> Array:
    """log of how many ways there are to choose the users with these counts, `most` at most."""
    log_factorial = np.cumsum(np.log(np.maximum(np.arange(most + 1), 1)))
    log_falling = np.concatenate([[0.0], np.cumsum(np.log(users - np.arange(most)))])
    way, value = np.nonzero(counts > 1)  # 0! = 1! = 1
    several = log_factorial[counts[way, value].astype(int)]
    ways: Array = log_falling[counts.sum(axis=1).astype(int)]
    return ways - np.bincount(way, several, len(counts))


def vectors_of_counts(users: int, values: int) -> Array:
    """All vectors of `values` counts with sum at most `users`."""
    if values > users:
        return _counts_of_choices(users, values)
    rows, left = np.zeros((1, 0)), np.array([users])
    for _ in range(values):
        size = left + 1
        start = np.repeat(np.cumsum(size) - size, size)
        count = np.arange(len(start)) - start
        rows = np.column_stack([np.repeat(rows, size, axis=0), count])
        left = np.repeat(left, size) - count
    return rows


def _counts_of_choices(users: int, values: int) -> Array:
    """The same if there are more values than users: each user chooses one, or none, in order."""
    ways = math.comb(users + values, users)
    choices = chain.from_iterable(combinations_with_replacement(range(values + 1), users))
    chosen = np.fromiter(choices, dtype=np.intp, count=ways * users).reshape(ways, users)
    counts, every = np.zeros((ways, values + 1)), np.arange(ways)
    for choice in chosen.T:
        counts[every, choice] += 1
    return counts[:, :values]
