"""From one round to many, as practitioners do it: basic and advanced composition, subsampling, and
from Renyi to approximate differential privacy.

Dwork, Roth: The Algorithmic Foundations of Differential Privacy (2014), Theorems 3.16 and 3.20;
Balle, Barthe, Gaboardi: Privacy Amplification by Subsampling (2018), Theorem 9.
A round is given as a function from its delta to its epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .._support import validate
from ..errors import InvalidParameter, OutOfRange
from .bound import (
    ADVANCED,
    BASIC,
    ROUNDS_BY,
    SAMPLES_BY,
    BoundValue,
    PublishedBound,
    checked_delta,
    sampled_users,
)


def epsilon_of_rdp(order: float, rdp: float, delta: float) -> float:
    """Canonne, Kamath, Steinke 2020, Proposition 12: (order, rdp)-RDP is (epsilon, delta)-DP with

    epsilon = rdp + (log(1/delta) + (order-1) log(1 - 1/order) - log(order)) / (order - 1).

    >>> round(epsilon_of_rdp(32.0, 0.1, 1e-6), 6)
    0.402115
    """
    order, rdp, delta = validate.real("order", order), float(rdp), checked_delta(delta)
    if not order > 1:
        raise InvalidParameter(f"order={order:g} is not above 1; give a larger order.")
    gain = (-math.log(delta) - math.log(order)) / (order - 1) + math.log1p(-1 / order)
    return max(rdp + gain, 0.0)


def climb(value: Callable[[float], float], start: float, factor: float, top: float) -> float:
    """The x of start, start factor, start factor^2, ... <= top with the least value.

    The search goes up and ends after four values in a row that are no improvement.

    >>> climb(lambda x: (x - 10) ** 2, 1.0, 2.0, 1000.0)
    8.0
    """
    x, best, least, since = start, start, math.inf, 0
    while x <= top and since < 4:
        y = value(x)
        best, least, since = (x, y, 0) if y < least else (best, least, since + 1)
        x *= factor
    return best


T = TypeVar("T")
Value = TypeVar("Value", float, BoundValue)
Single = Callable[[float], float]

#: Shares of delta that are tried for the slack delta' of advanced composition.
SHARES = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def basic(single: Single, rounds: int, delta: float) -> float:
    """k rounds of (epsilon, delta/k) are (k epsilon, delta)-DP (Dwork, Roth 2014, Theorem 3.16).

    >>> basic(lambda delta: 0.1, 30, 1e-6)
    3.0
    """
    rounds, delta = validate.count("rounds", rounds, validate.MAX_ROUNDS), checked_delta(delta)
    return rounds * single(delta / rounds)


def advanced(single: Single, rounds: int, delta: float) -> float:
    """Advanced composition (Dwork, Roth 2014, Theorem 3.20), with the best split of `SHARES`.

    k adaptive rounds of (epsilon, d)-DP are (epsilon', k d + d')-DP with
    epsilon' = epsilon sqrt(2 k log(1/d')) + k epsilon (e^epsilon - 1); here d' = share * delta and
    d = (1 - share) delta / k.

    >>> round(advanced(lambda delta: 0.01, 1000, 1e-6), 4)
    1.7634
    """
    rounds, delta = validate.count("rounds", rounds, validate.MAX_ROUNDS), checked_delta(delta)

    def with_slack(share: float) -> float:
        epsilon = single((1 - share) * delta / rounds)
        if epsilon >= 300:  # basic composition is better and e^epsilon may overflow
            return math.inf
        slack = math.sqrt(2 * rounds * -math.log(share * delta))
        return epsilon * slack + rounds * epsilon * math.expm1(epsilon)

    return _least(with_slack, SHARES)


def better(single: Single, rounds: int, delta: float) -> BoundValue:
    """The smaller of basic and advanced composition; one round is left alone.

    >>> better(lambda delta: 0.1, 1, 1e-6).epsilon
    0.1
    >>> better(lambda delta: 0.1, 2, 1e-6)
    BoundValue(epsilon=0.2, composition='basic theorem')
    """
    if rounds == 1:
        return BoundValue(single(delta), BASIC)
    rules = ((basic, BASIC), (advanced, ADVANCED))
    return _least(lambda rule: BoundValue(rule[0](single, rounds, delta), rule[1]), rules)


def _least(epsilon: Callable[[T], Value], choices: Iterable[T]) -> Value:
    """The smallest epsilon of those choices for which there is one; if there is none, why."""
    values, reason = [], None
    for choice in choices:
        try:
            values.append(epsilon(choice))
        except OutOfRange as error:
            reason = error
    if reason is not None and not values:
        raise reason
    return min(values)


def subsampled(single: Single, sample_rate: float) -> Single:
    """A round of a fixed-size fraction q of the users, drawn without replacement.

    (epsilon, delta) becomes (log(1 + q (e^epsilon - 1)), q delta) for replace-one neighbours
    (Balle, Barthe, Gaboardi 2018, Theorem 9). For delta >= q nothing is left to prove.

    >>> round(subsampled(lambda delta: 1.0, 0.1)(1e-6), 6)
    0.158565
    """

    def sampled(delta: float) -> float:
        if sample_rate == 1:
            return single(delta)
        if delta >= sample_rate:
            return 0.0
        epsilon = single(delta / sample_rate)
        if epsilon > 300:
            return epsilon + math.log(sample_rate) + math.exp(-epsilon) / sample_rate
        return math.log1p(sample_rate * math.expm1(epsilon))

    return sampled


def for_one_round(
    name: str,
    source: str,
    applies_to: str,
    round_: Callable[[Any, int, float], float],
    proven: bool = True,
) -> PublishedBound:
    """A bound for one round of (randomizer, users, delta), carried over sampling and rounds."""

    def rule(
        randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
    ) -> BoundValue:
        sampled = sampled_users(users, sample_rate)

        def single(of: float) -> float:
            return round_(randomizer, sampled, of)

        return better(subsampled(single, sample_rate), rounds, delta)

    ways = f"{ROUNDS_BY}the better of basic and advanced composition (Dwork, Roth 2014, Theorems "
    ways += f"3.16 and 3.20){SAMPLES_BY}Balle, Barthe, Gaboardi 2018, Theorem 9"
    return PublishedBound(name, source + ways, applies_to, rule, proven)
