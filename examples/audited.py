"""Two clients for `shuffledp audit`: one that is right, and one with a usual mistake.

shuffledp audit --randomizer rr --k 4 --eps0 1 --client examples.audited:wrong
"""

import math

import numpy as np
from numpy.typing import NDArray

K, EPS0 = 4, 1.0
RNG = np.random.default_rng(7)  # so that everybody sees the same; a device takes `secrets`


def right(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The own value with probability e^eps0 / (e^eps0 + k - 1), else one of the others."""
    lies = (values + RNG.integers(1, K, len(values))) % K
    truth = RNG.random(len(values)) < math.exp(EPS0) / (math.exp(EPS0) + K - 1)
    return np.where(truth, values, lies)


def wrong(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The random value should be another one, but may be the own: the truth is told too often."""
    lies = RNG.integers(0, K, len(values))
    truth = RNG.random(len(values)) < math.exp(EPS0) / (math.exp(EPS0) + K - 1)
    return np.where(truth, values, lies)
