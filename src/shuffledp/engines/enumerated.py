"""E[(S_n)_+] by adding up every way in which users can share the scores, if they are few."""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import BOTH, UNIT, Array
from .problem import ScoreSums

# proof constants: docs/theory.md, "Constants"
#: More than is lost, or gained, by rounding below the range of a double: 4 units of 5e-324 a term.
LEAST = 1e-315


def enumerated_stop_loss(sums: ScoreSums, most: int) -> tuple[Array, Array]:
    """(lower, upper) of E[(S_n)_+] for each row.

    Ways with more than `most` scoring users are left to a bound: given that user i scores, the
    number of others who do is binomial, and (S)_+ is at most the sum of the (score)_+.
    """
    scores, probabilities, magnitudes = sums.scores, sums.probabilities, sums.magnitudes
    n, active = float(sums.users), probabilities.sum(axis=1)[:, None]
    counts = vectors_of_counts(most, scores.shape[1])  # [ways, values]
    scoring = counts.sum(axis=1)
    # values without mass pad the rows: e^-1e6 is 0
    log_mass = np.log(probabilities, out=np.full(scores.shape, -1e6), where=probabilities > 0)
    exponent = log_ways(counts, most, n) + log_mass @ counts.T  # [laws, ways]
    held = sums.threshold[:, None]
    total = scores @ counts.T - held
    slack = (20 + min(most, scores.shape[1])) * UNIT * (magnitudes @ counts.T + held)
    # a way may have a mass below the range of a double and a sum that makes up for it: the largest
    # sum of a row is part of the exponent
    scale = (total + slack).max(axis=1, keepdims=True)
    scale = np.where(scale > 0, scale, 1.0)
    exponent += np.log(scale)
    error = exponent_error(probabilities, n, most, sums.error)
    error += UNIT * (16 * float(np.abs(np.log(scale)).max()) + len(counts))
    margin = (20 + scores.shape[1]) * UNIT + sums.error  # relative, of sums of probabilities
    sides = []
    for side in BOTH:
        # the others score 0, with probability 1 - active, of which active has a relative error
        scoring_mass = active * (1 - side * margin)
        silent = np.maximum(1 - scoring_mass, 0.0)
        precise = np.log1p(-np.minimum(scoring_mass, 0.5))
        rest = (n - scoring) * np.where(active < 0.5, precise, np.log(np.maximum(silent, 5e-324)))
        rest = np.where(scoring == n, 0.0, rest) * (1 - side * 16 * UNIT)
        value = np.exp(exponent + rest) * np.maximum((total + side * slack) / scale, 0.0)
        sides.append(value.sum(axis=1) * math.exp(side * error) + side * LEAST)
    if most < sums.users:
        sides[1] += _beyond(sums, most, margin)
    return sides[0], sides[1]


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
    chosen = counts.astype(int)
    ways: Array = log_falling[chosen.sum(axis=1)] - log_factorial[chosen].sum(axis=1)
    return ways


def vectors_of_counts(users: int, values: int) -> Array:
    """All vectors of `values` counts with sum at most `users`."""
    rows, left = np.zeros((1, 0)), np.array([users])
    for _ in range(values):
        size = left + 1
        start = np.repeat(np.cumsum(size) - size, size)
        count = np.arange(len(start)) - start
        rows = np.column_stack([np.repeat(rows, size, axis=0), count])
        left = np.repeat(left, size) - count
    return rows
