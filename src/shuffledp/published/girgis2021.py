"""Girgis, Data, Diggavi: Renyi DP of the Subsampled Shuffle Model (NeurIPS 2021)."""

from __future__ import annotations

import math

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ..errors import OutOfRange
from .bound import checked_delta, sampled_users
from .composition_theorems import climb, epsilon_of_rdp

PAPER = "Girgis, Data, Diggavi 2021 (NeurIPS), Theorem 1"
_MOST = 10_000  # no larger order is tried


def rdp(eps0: float, users: int, sample_rate: float, order: int) -> float:
    """Renyi DP of one round, order an integer >= 2 (upper bound of the paper, Theorem 1).

    With rate g, k = g n users who send, E = e^eps0 and kbar = floor((k-1)/(2E)) + 1 it is
    1/(order-1) times the logarithm of

        1 + 4 C(order, 2) g^2 (E-1)^2 / (kbar E)
          + sum over j = 3 .. order of C(order, j) g^j j Gamma(j/2) (2 (E^2-1)^2 / (kbar E^2))^(j/2)
          + ((1 + g (E^2-1)/E)^order - 1 - order g (E^2-1)/E) exp(-(k-1) / (8E)).

    The randomizer is discrete, the k users are drawn without replacement, neighbours are
    replace-one. The theorem is stated for a sample of k out of n users; a round without sampling
    is refused, since the paper on the plain shuffle model has another bound for it. Public code
    has (E^2-1)/(2E) in the last line, which makes epsilon smaller by 2 to 8 % at eps0 = 3,
    n = 1e5, g = 0.01; the larger value is kept here.

    >>> from shuffledp.published import girgis2021
    >>> round(girgis2021.rdp(3.0, 100_000, 0.01, 2), 6)
    0.00037
    """
    eps0, sent = _checked(eps0, users, sample_rate)
    return float(_rdp(eps0, sent, sample_rate, validate.count("order", order, _MOST, least=2)))


def epsilon(eps0: float, users: int, sample_rate: float, rounds: int, delta: float) -> float:
    """Rounds add up; converted at the best integer order (Canonne, Kamath, Steinke 2020).

    >>> from shuffledp.published import girgis2021
    >>> round(girgis2021.epsilon(3.0, 100_000, 0.01, 1000, 1e-5), 3)
    4.475
    """
    eps0, sent = _checked(eps0, users, sample_rate)
    rounds, delta = validate.count("rounds", rounds, validate.MAX_ROUNDS), checked_delta(delta)

    def at(order: float) -> float:
        whole = max(2, round(order))
        return epsilon_of_rdp(whole, rounds * _rdp(eps0, sent, sample_rate, whole), delta)

    rough = climb(at, 2.0, 1.1, _MOST)
    low, high = max(2, math.floor(rough / 1.1)), min(math.ceil(rough * 1.1), _MOST)
    stride = max(1, (high - low) // 20)
    return min(at(order) for order in range(low, high + 1, stride))


def _checked(eps0: float, users: int, sample_rate: float) -> tuple[float, int]:
    eps0, users = validate.local_epsilon(eps0), validate.count("users", users, 10**12)
    sent = sampled_users(users, sample_rate)
    if sent == users:
        raise OutOfRange(
            f"sample_rate={sample_rate:g} means no sampling, for which the theorem is not meant; "
            "give a sample_rate below 1."
        )
    return eps0, sent


def _rdp(eps0: float, sent: int, rate: float, order: int) -> float:
    log_kbar = math.log(math.floor((sent - 1) / 2 * math.exp(-eps0)) + 1)
    log_excess = eps0 + math.log(-math.expm1(-2 * eps0))  # of (E^2 - 1) / E
    log_rate = math.log(rate)
    j = np.arange(2, order + 1, dtype=float)
    choose = math.lgamma(order + 1) - _log_gamma(j + 1) - _log_gamma(order - j + 1)
    # C(order, j) g^j ((E^2-1)/E)^j, the terms of the last line of the formula
    binomial = choose + j * (log_rate + log_excess)
    rare = binomial - (sent - 1) / 8 * math.exp(-eps0)
    common = binomial + np.log(j) + _log_gamma(j / 2) + j / 2 * (math.log(2) - log_kbar)
    # 4 (E-1)^2 / (kbar E) in place of ((E^2-1)/E)^2 2 Gamma(1) 2 / kbar
    square = 2 * (eps0 + math.log(-math.expm1(-eps0))) - eps0
    common[0] = choose[0] + 2 * log_rate + math.log(4) + square - log_kbar
    total = np.logaddexp.reduce(np.concatenate([common, rare]), initial=0.0)  # log(1 + their sum)
    return float(total) / (order - 1)


def _log_gamma(x: Array) -> Array:
    return np.fromiter((math.lgamma(value) for value in x), float, len(x))
