"""Gaussian noise with sigma = 1/2 where one message stands out from all others."""

from __future__ import annotations

import math

import numpy as np


def normal_tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def normal_tails(x: np.ndarray) -> np.ndarray:
    return np.fromiter(map(math.erfc, (x / math.sqrt(2)).tolist()), float, len(x)) / 2


def delta_of_one_large_score(users: int, epsilon: float) -> float:
    """The blanket's delta, to 5e-4, where either one score is far larger than all others or their
    sum is not positive.

    The others' sum on a lattice by one transform, the large score in closed form; the step adds a
    few in 10^4 to the variance of the sum.
    """
    big, step, points = 10.5, 10.0, 1 << 21
    alpha = math.exp(epsilon)
    (high, likely), (low, mirrored) = _ratios(big, 20_000), _ratios(22.0, 40_000)
    scores = np.concatenate([high - alpha, 1 - alpha * low])
    masses = np.concatenate([likely, mirrored])
    masses, scores = masses[scores > -1e7], scores[scores > -1e7]
    place = np.floor(scores / step).astype(int)
    part = scores / step - place
    law_of_one = np.bincount(place % points, masses * (1 - part), points)
    law_of_one += np.bincount((place + 1) % points, masses * part, points)
    law_of_one[0] += 1 - 2 * normal_tail(1.0)
    others = np.fft.irfft(np.fft.rfft(law_of_one) ** (users - 1), points)
    seen = np.flatnonzero(others > 1e-13)
    total = step * np.where(seen < points // 2, seen, seen - points)
    level = np.maximum(np.log(np.maximum(alpha - total, 1e-9)), big)
    gain = normal_tails((level - 2) / 2) + (total - alpha) * normal_tails((level + 2) / 2)
    return float(others[seen] @ gain)


def _ratios(end: float, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratios R(0)/R(1) from 1 to e^end and their probabilities under R(1)."""
    edges = np.linspace(0.0, end, cells + 1)
    one, zero = (normal_tails((edges + side * 2) / 2) for side in (1, -1))
    mass = -np.diff(one)
    return -np.diff(zero) / mass, mass
