"""Where a decreasing function crosses a level, as a bracket that has been evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable


def crossing(
    f: Callable[[float], float], level: float, guess: float, top: float, rtol: float = 1e-9
) -> tuple[float, float]:
    """(low, high) with f(low) > level >= f(high), 0 <= low < high <= top, of relative width rtol.

    f(top) <= level is taken as known. Where f(0) <= level already, (0, 0). False position on
    log f, which is close to a smooth curve, with the Illinois rule; both ends are certificates.
    """

    def height(x: float) -> float:
        value = f(x)
        return math.log(value / level) if value > 0 else -50.0

    low, high = 0.0, top
    y_low, y_high = math.nan, -50.0
    x, stretch = min(max(guess, 1e-12 * top), (1 - 1e-6) * top), 1e-5
    # walk from the guess until both ends are known
    while True:
        y = height(x)
        if y > 0:
            low, y_low = x, y
            if high < top or x >= top * (1 - rtol):
                break
            x = min(x * (1 + stretch), (x + top) / 2)
        else:
            high, y_high = x, y
            if low > 0:
                break
            if x < 1e-12 * top or stretch > 1e6:
                y = height(0.0)
                if y <= 0:
                    return 0.0, 0.0
                low, y_low = 0.0, y
                break
            x = x / (1 + stretch)
        stretch *= 16
    side = 0
    for _ in range(200):
        if high - low <= rtol * high:
            break
        x = low + (high - low) * y_low / (y_low - y_high)
        margin = 0.25 * rtol * high
        x = min(max(x, low + margin), high - margin)
        y = height(x)
        if y > 0:
            low, y_low = x, y
            y_high *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            high, y_high = x, y
            y_low *= 0.5 if side == -1 else 1.0
            side = -1
    return low, high
