"""Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta: Amplification by Shuffling."""

from __future__ import annotations

import math

from .._support import validate
from ..errors import OutOfRange
from .bound import checked

SOURCE = (
    "Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019 (SODA), the amplification "
    "by shuffling theorem with its constants"
)


def epsilon(eps0: float, users: int, delta: float) -> float:
    """epsilon = 12 eps0 sqrt(log(1/delta) / n), for eps0 <= 1/2, n >= 1000, delta < 1/100.

    The value is the paper's even where it exceeds eps0.

    >>> from shuffledp.published import erlingsson2019
    >>> round(erlingsson2019.epsilon(0.5, 10_000, 1e-6), 6)
    0.223015
    """
    eps0, (users, delta) = validate.local_epsilon(eps0), checked(users, delta)
    if eps0 > 0.5:
        raise OutOfRange(
            f"eps0={eps0:g} is above 1/2, the limit of the theorem; give a smaller eps0."
        )
    if users < 1000:
        raise OutOfRange(f"users={users} is below 1000, where the theorem starts; give more users.")
    if delta >= 0.01:
        raise OutOfRange(f"delta={delta:g} is not below 1/100, as the theorem asks; lower it.")
    return 12 * eps0 * math.sqrt(-math.log(delta) / users)
