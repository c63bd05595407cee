"""Confidence intervals for a probability, exact and certified (Clopper, Pearson 1934)."""

from __future__ import annotations

import math

import numpy as np

from ..engines.tails import log_pmf, relative_error, tail_sums

_STEPS = 30  # at most, of a search whose result is checked wherever it ends
_NEAR = 1e-5  # of the logarithmic distance of the bound from the observed share


def proportion_bounds(successes: int, trials: int, error: float) -> tuple[float, float]:
    """A lower and an upper bound of a probability, each of which fails with probability <= error.

    The lower one is a p with Pr[Bin(trials, p) >= successes] <= error, certified.

    >>> lower, upper = proportion_bounds(50, 100, 0.025)
    >>> round(lower, 4), round(upper, 4)
    (0.3983, 0.6017)
    """
    return _lower(successes, trials, error), 1 - _lower(trials - successes, trials, error)


def _lower(successes: int, trials: int, error: float) -> float:
    """0 if nothing is certified to be above it."""
    if successes == 0:
        return 0.0
    target, top = math.log(error), math.log(successes / trials)
    # about where Chernoff's bound is the error; then Newton's method in log p
    x = top - math.sqrt(-2 * target * max(1 - successes / trials, 1 / trials) / successes)
    for _ in range(_STEPS):
        value, slope = _log_tail(successes, trials, x)
        step = (value - target) / slope
        x = min(x - step, top)
        if abs(step) <= _NEAR * (top - x):
            break
    margin = _NEAR * (top - x) + 1e-12
    for _ in range(_STEPS):
        if _log_tail(successes, trials, x - margin)[0] <= target:
            return math.exp(x - margin) * (1 - 1e-15)  # the complement is rounded once more
        margin *= 4
    return 0.0


def _log_tail(successes: int, trials: int, log_p: float) -> tuple[float, float]:
    """log Pr[Bin(trials, p) >= successes], rounded up, and its derivative in log p; p is no more
    than the observed share."""
    p = math.exp(log_p) * (1 + 1e-15)  # no less than meant
    m, j = np.array([float(trials)]), np.array([float(successes)])
    if p >= 1:
        return 0.0, float(successes)
    sums = float(tail_sums(m, j, p / (1 - p))[0][0])
    error = relative_error(trials, math.sqrt(trials * p * (1 - p)))
    log_mass = float(log_pmf(m, j, p, 1 - p)[0])
    # d/dp Pr[Bin >= j] = (j/p) Pr[Bin = j]
    return log_mass + math.log(sums) + error + 1e-12 * (1 + abs(log_mass)), successes / sums
