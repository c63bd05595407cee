"""Binomial laws and Hoeffding windows for the paper's accountant.

Nothing here comes from the certified engine: the paper's method is the independent baseline. Point
masses are products of neighbouring ratios, started at the mode, so that rounding errors stay near
1e-13 relative wherever there is mass.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .._support.numeric import Array


@lru_cache(maxsize=2)
def logs(last: int) -> Array:
    """log 0 .. log last, with 0 in place of log 0, which is never used."""
    return np.asarray(np.log(np.maximum(np.arange(last + 1.0), 1.0)))


def binomial(trials: int, p: float) -> Array:
    """The point masses of Bin(trials, p) on 0 .. trials."""
    if p <= 0 or p >= 1 or trials == 0:
        law = np.zeros(trials + 1)
        law[trials if p >= 1 else 0] = 1.0
        return law
    log = logs(trials)
    # log of pmf(j + 1) / pmf(j), j = 0 .. trials - 1
    steps = log[trials:0:-1] - log[1:] + (math.log(p) - math.log1p(-p))
    mode = min(math.floor((trials + 1) * p), trials)
    above, below = np.cumsum(steps[mode:]), np.cumsum(-steps[:mode][::-1])[::-1]
    law = np.exp(np.concatenate((below, [0.0], above)))
    return np.asarray(law / law.sum())


def log_fair_centres(last: int) -> Array:
    """log Pr[Bin(h, 1/2) = h // 2] for h = 0 .. last: a factor h/(h+1) for every odd h."""
    steps = np.zeros(last + 1)
    odd = np.arange(1.0, last + 1, 2)
    steps[1::2] = np.log1p(-1 / (odd + 1))
    return np.cumsum(steps)


def fair_row(h: int, first: int, last: int, log: Array, log_centre: float) -> Array:
    """Pr[Bin(h, 1/2) = a] for a = first .. last, with first <= h // 2 <= last."""
    centre = h // 2
    up, down = last - centre, centre - first
    # pmf(c + d) / pmf(c + d - 1) = (h - c - d + 1) / (c + d), and the same downwards
    rise = log[h - centre - up + 1 : h - centre + 1][::-1] - log[centre + 1 : centre + up + 1]
    fall = log[centre - down + 1 : centre + 1][::-1] - log[h - centre + 1 : h - centre + down + 1]
    row = np.empty(up + down + 1)
    row[down] = log_centre
    row[down + 1 :] = log_centre + np.cumsum(rise)
    row[:down] = (log_centre + np.cumsum(fall))[::-1]
    return np.exp(row, out=row)


def hoeffding_window(trials: int, p: float, tau: float) -> tuple[int, int]:
    """Whole numbers within trials (p -+ c), c = sqrt(log(4/tau) / (2 trials)).

    Bin(trials, p) is outside with probability at most tau / 2 (section 3.2 of the paper).
    """
    radius = math.sqrt(math.log(4 / tau) * trials / 2)
    first, last = math.ceil(trials * p - radius), math.floor(trials * p + radius)
    return max(first, 0), min(last, trials)
