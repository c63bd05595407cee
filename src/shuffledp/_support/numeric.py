"""Numbers: arrays, the unit of rounding, the side on which a bound errs, and brackets."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Half the distance of 1 from the next double: the relative error of one rounded operation.
UNIT = 2.0**-53
#: Added to upper values of sums: terms that underflow in double precision are below it in total.
UNDERFLOW = 1e-300


class Side(IntEnum):
    """On which side of the truth a number may be; as a factor, the direction of rounding.

    >>> 1 + Side.UPPER * 0.25, 1 + Side.LOWER * 0.25
    (1.25, 0.75)
    """

    LOWER = -1
    UPPER = 1

    @property
    def other(self) -> Side:
        return Side(-self)


BOTH = (Side.LOWER, Side.UPPER)

FloatOrArray = TypeVar("FloatOrArray", float, NDArray[np.float64])


def log_share(share: float, rest: float) -> float:
    """log(share), where share + rest = 1: from `rest` where share is near 1 and has lost digits."""
    return math.log(share) if share < 0.5 else math.log1p(-rest)


def erfc(x: Array) -> Array:
    """The complementary error function of each number, shape [numbers]."""
    return np.array([math.erfc(value) for value in x.tolist()])


def digest(numbers: Array) -> str:
    """The SHA-256 of doubles, row by row, little-endian."""
    import hashlib  # slow to load

    return hashlib.sha256(numbers.astype("<f8").tobytes()).hexdigest()


class Bounds(NamedTuple, Generic[FloatOrArray]):
    """Certified bounds: lower <= exact value of the analyzed pair <= upper.

    Attributes
    ----------
    lower : float or ndarray
        Not above the exact value; an array for array queries.
    upper : float or ndarray
        Not below the exact value: the number to publish. Same shape as `lower`.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle
    >>> lower, upper = Shuffle(PureLDP(eps0=1.0), users=100).epsilon_bounds(1e-6)
    >>> lower <= upper <= 1.001 * lower
    True
    """

    lower: FloatOrArray
    upper: FloatOrArray

    def _repr_html_(self: Any) -> str:
        from .tables import html_bounds  # only notebooks need it

        return html_bounds(np.ravel(self.lower).tolist(), np.ravel(self.upper).tolist())
