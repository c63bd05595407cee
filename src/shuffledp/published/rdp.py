"""From Renyi to approximate differential privacy, and the search for an order."""

from __future__ import annotations

import math
from collections.abc import Callable

from .._support import validate
from ..errors import InvalidParameter
from .bound import checked_delta


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
