"""What random allocation is compared with: no amplification, Renyi DP, and Poisson batches.

Feldman, Shenfeld: Privacy amplification by random allocation (2025).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._support.numeric import Array
from ..accountant import repeated
from ..allocation import RandomAllocation
from ..central import GaussianNoise
from ..errors import OutOfRange
from ..mechanisms import PoissonSampled
from .bound import NUMERICAL, RENYI
from .composition_theorems import epsilon_of_rdp

_ORDERS = np.arange(2, 257)


@dataclass(frozen=True)
class TrainingBound:
    """An epsilon for epochs of random allocation, or of another sampler beside it.

    >>> from shuffledp import RandomAllocation
    >>> from shuffledp.published.random_allocation import TRAINING_BOUNDS
    >>> epoch = RandomAllocation(noise_multiplier=1.0, steps=100)
    >>> [round(bound.rule(epoch, 1, 1e-6), 2) for bound in TRAINING_BOUNDS]
    [4.89, 1.45, 0.95]
    """

    name: str
    source: str
    rule: Callable[[RandomAllocation, int, float], float]
    composition: str  # of several epochs
    remark: str = ""  # why it is no bound for random allocation


def _noise_of(epoch: RandomAllocation) -> GaussianNoise:
    """The noise of a step; OutOfRange for what these bounds do not know."""
    if epoch.noise_multiplier is None:
        raise OutOfRange("it is for Gaussian noise; give noise_multiplier.")
    if epoch.kept or epoch.completed is not None:
        raise OutOfRange("it is for whole epochs with fresh allocations; leave the rest out.")
    return GaussianNoise(epoch.noise_multiplier, neighbours="remove")


def _not_amplified(epoch: RandomAllocation, rounds: int, delta: float) -> float:
    return repeated(_noise_of(epoch), epoch.selected * rounds).get_epsilon(delta)


def _poisson(epoch: RandomAllocation, rounds: int, delta: float) -> float:
    step = PoissonSampled(_noise_of(epoch), epoch.selected / epoch.steps)
    return repeated(step, epoch.steps * rounds).get_epsilon(delta)


def _renyi(epoch: RandomAllocation, rounds: int, delta: float) -> float:
    sigma, steps = _noise_of(epoch).sigma, epoch.steps // epoch.selected
    times = rounds * epoch.selected
    there = times * log_moments(sigma, steps) / (_ORDERS - 1)
    missing = times * (1 + (_ORDERS - 1) / steps) / (2 * sigma**2)
    each = (
        min(epsilon_of_rdp(a, d, delta) for a, d in zip(_ORDERS.tolist(), order, strict=True))
        for order in (there.tolist(), missing.tolist())
    )
    return max(each)


def log_moments(sigma: float, steps: int) -> Array:
    """log E[(mean of r_1, ..., r_t)^a] for the orders a = 2 .. 256, r_i the ratio of a step.

    E[r^k] = e^((k^2 - k)/(2 sigma^2)), so that by the multinomial theorem the moment is a! t^-a
    times the coefficient of x^a in (sum over k of E[r^k] x^k / k!)^t: a power of a series of
    positive numbers, by squaring, in logarithms.

    >>> from shuffledp.published.random_allocation import log_moments
    >>> bool(abs(log_moments(1.0, 1)[0] - 1.0) < 1e-12)  # E[r^2] = e
    True
    """
    k = np.arange(_ORDERS[-1] + 1.0)
    log_factorial = np.array([math.lgamma(each + 1) for each in k.tolist()])
    square = (k**2 - k) / (2 * sigma**2) - log_factorial
    power, left = np.where(k == 0, 0.0, -math.inf), steps
    while left:
        power = _log_product(power, square) if left % 2 else power
        square, left = _log_product(square, square), left // 2
    moments: Array = power[2:] + log_factorial[2:] - _ORDERS * math.log(steps)
    return moments


def _log_product(a: Array, b: Array) -> Array:
    """The logarithms of the first coefficients of a product of two series."""
    found = np.empty(len(a))
    for n in range(len(a)):
        terms = a[: n + 1] + b[n::-1]
        peak = terms.max()
        found[n] = peak if math.isinf(peak) else peak + math.log(np.exp(terms - peak).sum())
    return found


TRAINING_BOUNDS = (
    TrainingBound(
        "no amplification",
        "the steps of the example are known to the adversary: composed Gaussian noise",
        _not_amplified,
        NUMERICAL,
    ),
    TrainingBound(
        "Renyi DP of random allocation",
        "integer orders by the multinomial theorem, as in Feldman, Shenfeld 2025, and the other "
        "order by the inequality of the means; epochs add up, converted by Canonne, Kamath, "
        "Steinke 2020",
        _renyi,
        RENYI,
    ),
    TrainingBound(
        "Poisson batches",
        "every example joins each step with probability selected/steps; certified by this package",
        _poisson,
        NUMERICAL,
        "another way to draw batches of the same size on average, not a bound for this one",
    ),
)
