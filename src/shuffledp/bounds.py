"""What the numerics certify."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Bounds(NamedTuple):
    """lower <= exact value of the analyzed pair <= upper; floats, or arrays for array queries."""

    lower: float | NDArray[np.float64]
    upper: float | NDArray[np.float64]
