"""Gaussian noise on values in [0, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ..errors import OutOfRange
from .density import DensityRandomizer, Tails

_SMALLEST, _LARGEST = 0.1, 1000.0


@dataclass(frozen=True)
class Gaussian(DensityRandomizer):
    """The value, in [0, 1], plus Gaussian noise of standard deviation sigma; not eps0-LDP.

    >>> from shuffledp import Gaussian
    >>> Gaussian(sigma=2.0)
    Gaussian(sigma=2.0)
    """

    sigma: float

    def __post_init__(self) -> None:
        sigma = validate.real("sigma", self.sigma)
        if not _SMALLEST <= sigma <= _LARGEST:
            raise OutOfRange(
                f"sigma={sigma:g} is outside [{_SMALLEST:g}, {_LARGEST:g}], the range that is "
                "certified; choose a value inside it."
            )
        object.__setattr__(self, "sigma", sigma)

    @property
    def name(self) -> str:
        return "gaussian"

    @property
    def largest(self) -> float:
        return math.inf

    def tails(self, loss: Array) -> Tails:
        # for input 0 the loss (1 - 2t)/(2 sigma^2) is normal: mean 1/(2 sigma^2), deviation 1/sigma
        scaled, shift = self.sigma * loss / math.sqrt(2), 1 / (2 * math.sqrt(2) * self.sigma)
        zero, one, rest = (_erfc(x) / 2 for x in (scaled - shift, scaled + shift, shift - scaled))
        # erfc changes by 2 x^2 + 2 times a relative change of its argument, at most
        error = 2.0**-53 * (16 + 8 * (scaled + shift) ** 2)
        return Tails(zero, one, rest, error)

    def describe(self) -> str:
        return f"values in [0, 1] plus Gaussian noise of standard deviation {self.sigma:g}"


def _erfc(x: Array) -> Array:
    return np.array([math.erfc(value) for value in x.tolist()])
