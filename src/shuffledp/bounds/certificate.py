"""What the numerics certify."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatOrArray = TypeVar("FloatOrArray", float, NDArray[np.float64])


class Bounds(NamedTuple, Generic[FloatOrArray]):
    """lower <= exact value of the analyzed pair <= upper; floats, or arrays for array queries.

    >>> from shuffledp import PureLDP, Shuffle
    >>> lower, upper = Shuffle(PureLDP(eps0=1.0), users=100).epsilon_bounds(1e-6)
    >>> lower <= upper <= 1.001 * lower
    True
    """

    lower: FloatOrArray
    upper: FloatOrArray
