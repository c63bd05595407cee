"""Balle, Bell, Gascon, Nissim: The Privacy Blanket of the Shuffle Model (CRYPTO 2019).

Theorem 3.1 is the closed form for k-ary randomized response. Section 5 bounds every randomizer by

    delta <= 1/(gamma n) E[(L_1 + ... + L_M)_+],   M ~ Bin(n, gamma),

with gamma the mass of the blanket and L = (R(x0) - e^epsilon R(x1)) / blanket at a draw from the
normalized blanket, of mean 1 - e^epsilon; the expectation is bounded through Hoeffding's or
Bennett's inequality, from the range or the largest value and the second moment of L.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._support import validate
from ..errors import OutOfRange
from ..randomizers import Laplace, RandomizedResponse
from .bound import checked, local_epsilon_of, smallest_epsilon

PAPER = "Balle, Bell, Gascon, Nissim 2019 (CRYPTO)"


def closed_form(k: int, gamma: float, users: int, delta: float) -> float:
    """Theorem 3.1: k-ary randomized response is (epsilon, delta)-DP for epsilon <= 1 with

    gamma = max(14 k log(2/delta) / ((n-1) epsilon^2), 27 k / ((n-1) epsilon)), solved for epsilon.

    >>> from shuffledp.published import balle2019
    >>> round(balle2019.closed_form(k=4, gamma=0.25, users=10_000, delta=1e-6), 6)
    0.570111
    """
    k = validate.count("k", k, 10**12, least=2)
    gamma, (users, delta) = validate.probability("gamma", gamma), checked(users, delta)
    if users < 2:
        raise OutOfRange(f"users={users} leaves nobody to hide among; give at least 2 users.")
    answers = (users - 1) * gamma / k
    epsilon = max(math.sqrt(14 * math.log(2 / delta) / answers), 27 / answers)
    if epsilon > 1:
        raise OutOfRange(
            f"The formula gives epsilon={epsilon:.6g}, above 1, where the theorem ends; give more "
            "users or a larger gamma (a smaller eps0)."
        )
    return epsilon


@dataclass(frozen=True)
class Blanket:
    """What Section 5 needs to know of a randomizer, each as a function of alpha = e^epsilon."""

    eps0: float
    mass: float  # gamma, or a lower bound of it
    highest: Callable[[float], float]  # upper bound of L
    spread: Callable[[float], float]  # upper bound of the range of L
    moment: Callable[[float], float]  # upper bound of E[L^2]


def generic(eps0: float) -> Blanket:
    """Any eps0-LDP randomizer: gamma is between e^-eps0 and 1.

    >>> round(generic(1.0).mass, 6)
    0.367879
    """
    eps0 = validate.local_epsilon(eps0)
    ratio, mass = math.exp(eps0), math.exp(-eps0)
    return Blanket(
        eps0,
        mass,
        highest=lambda alpha: ratio - alpha / ratio,
        spread=lambda alpha: (alpha + 1) * (ratio - 1 / ratio),
        moment=lambda alpha: ratio * (alpha**2 + 1) - 2 * mass * alpha / ratio**2,
    )


def randomized_response(k: int, eps0: float) -> Blanket:
    """k-ary randomized response, exactly: gamma = k / (e^eps0 + k - 1).

    >>> round(randomized_response(4, 1.0).mass, 6)
    0.699511
    """
    k, eps0 = validate.count("k", k, 10**12, least=2), validate.local_epsilon(eps0)
    mass = k / (math.expm1(eps0) + k)
    truth = math.expm1(eps0) / (math.expm1(eps0) + k)  # 1 - mass
    return Blanket(
        eps0,
        mass,
        highest=lambda alpha: mass * (1 - alpha) + truth * k,
        spread=lambda alpha: truth * k * (alpha + 1),
        moment=lambda alpha: mass * (1 + truth) * (alpha - 1) ** 2 + truth**2 * k * (alpha**2 + 1),
    )


def laplace(eps0: float) -> Blanket:
    """Laplace noise of scale 1/eps0 on [0, 1], exactly: gamma = e^(-eps0/2).

    >>> round(laplace(1.0).mass, 6)
    0.606531
    """
    eps0 = validate.local_epsilon(eps0)
    half = math.exp(eps0 / 2)
    return Blanket(
        eps0,
        1 / half,
        highest=lambda alpha: half - alpha / half,
        spread=lambda alpha: (alpha + 1) * (half - 1 / half),
        moment=lambda alpha: (
            (alpha**2 + 1) / 3 * (2 * half + half**-2) - 2 * alpha * (2 / half - half**-2)
        ),
    )


def blanket_of(randomizer: Any) -> Blanket:
    """The blanket that the paper computes for this randomizer, else the generic one.

    >>> from shuffledp import PureLDP, RandomizedResponse
    >>> round(blanket_of(RandomizedResponse(k=4, eps0=1.0)).mass, 6)
    0.699511
    >>> round(blanket_of(PureLDP(eps0=1.0)).mass, 6)
    0.367879
    """
    eps0 = local_epsilon_of(randomizer)
    if isinstance(randomizer, RandomizedResponse):
        return randomized_response(randomizer.k, eps0)
    return laplace(eps0) if isinstance(randomizer, Laplace) else generic(eps0)


def hoeffding_delta(blanket: Blanket, users: int, epsilon: float) -> float:
    """delta = b^2 / (4 a gamma n) (1 - gamma (1 - e^(-2 a^2/b^2)))^n with a = e^epsilon - 1 and b
    the range of L.

    >>> f"{hoeffding_delta(generic(1.0), 10_000, 0.2):.5g}"
    '1.5253e-08'
    """
    a = math.expm1(epsilon)
    if a == 0:
        return 1.0
    b = blanket.spread(1 + a)
    mean = math.log1p(blanket.mass * math.expm1(-2 * (a / b) ** 2))
    return _exp(math.log(b) + math.log(b / a) - math.log(4 * blanket.mass * users) + users * mean)


def bennett_delta(blanket: Blanket, users: int, epsilon: float) -> float:
    """delta = E[e^(-M (c/b^2) phi(a b/c)); M >= 1] b / (gamma n log(1 + a b/c)), M ~ Bin(n, gamma),

    phi(u) = (1+u) log(1+u) - u, a = e^epsilon - 1, b the largest value and c the second moment of
    L: Pr[L_1 + ... + L_m > t], integrated over t > 0 with phi replaced by its tangent at a b/c.

    >>> f"{bennett_delta(generic(1.0), 10_000, 0.2):.5g}"
    '1.5505e-08'
    """
    a = math.expm1(epsilon)
    b, c = blanket.highest(1 + a), blanket.moment(1 + a)
    u = a * b / c if b > 0 else 0.0
    if u <= 0:
        return 1.0
    decay = (c / b) / b * _phi(u)
    gamma, n = blanket.mass, users
    # (1 - gamma + gamma e^-decay)^n - (1 - gamma)^n without cancellation
    odds = math.exp(-decay) * gamma / (1 - gamma)
    exponent = n * math.log1p(odds)
    log_sum = n * math.log1p(-gamma) + (
        exponent if exponent > 40 else math.log(math.expm1(exponent)) if exponent > 0 else -math.inf
    )
    return _exp(log_sum + math.log(b / (gamma * n * math.log1p(u))))


def hoeffding(blanket: Blanket, users: int, delta: float) -> float:
    """The smallest epsilon with hoeffding_delta <= delta, on the safe side; at most eps0.

    >>> round(hoeffding(generic(1.0), 10_000, 1e-6), 6)
    0.166634
    """
    users, delta = checked(users, delta)
    return smallest_epsilon(lambda e: hoeffding_delta(blanket, users, e), blanket.eps0, delta)


def bennett(blanket: Blanket, users: int, delta: float) -> float:
    """The smallest epsilon with bennett_delta <= delta, on the safe side; at most eps0.

    >>> round(bennett(generic(1.0), 10_000, 1e-6), 6)
    0.166166
    """
    users, delta = checked(users, delta)
    return smallest_epsilon(lambda e: bennett_delta(blanket, users, e), blanket.eps0, delta)


def _phi(u: float) -> float:
    if u < 1e-3:  # the closed form cancels
        return u * u * (1 / 2 - u * (1 / 6 - u * (1 / 12 - u * (1 / 20 - u / 30))))
    return (1 + u) * math.log1p(u) - u


def _exp(x: float) -> float:
    return math.exp(x) if x < 0 else 1.0
