"""Binary responses of users with different gammas, added up count by count in floats."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .common import Floats

#: Far more than the rounding of the logarithms of factorials up to some thousands.
ERROR = 1e-9


def divergence(own: float, others: Sequence[tuple[float, int]], epsilon: float) -> float:
    """E[h(M)] for a user of randomized response with two values and gamma = own.

    M - 1 is the number of the others, (gamma, users) for each group, who answer at random, and h(m)
    the divergence of one message among m - 1 fair coins. The relative error is below ERROR.
    """
    most = 1 + sum(users for _, users in others)
    logs = np.array([math.lgamma(i + 1) for i in range(most + 1)])
    count = np.ones(1)
    for gamma, users in others:
        count = np.convolve(count, _binomial(users, gamma, logs))
    alpha = math.exp(epsilon)
    kept, other = 2 - own, own  # twice the probabilities of the own value and of the other one
    gain, loss = kept - alpha * other, other - alpha * kept
    total = 0.0
    for m in (np.flatnonzero(count > 1e-60) + 1).tolist():
        ones = np.arange(m + 1)
        sums = np.maximum(ones * gain + (m - ones) * loss, 0.0)
        total += float(count[m - 1]) * float(_binomial(m, 0.5, logs) @ sums) / m
    return total


def _binomial(n: int, p: float, logs: Floats) -> Floats:
    j = np.arange(n + 1)
    of_masses = logs[n] - logs[j] - logs[n - j] + j * math.log(p) + (n - j) * math.log1p(-p)
    return np.asarray(np.exp(of_masses))
