"""The client that adds Laplace or Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from numpy.typing import NDArray

from .base import MeanClient
from .entropy import Source, rounded_at_random
from .exact_noise import exponential, normal, with_sign

#: Binary digits of the scale of the noise in a message, at most.
DIGITS = 40
#: The numbers 0 .. 1 have fewer steps than 2 to this power, so that a float holds each exactly.
_RANGE = 52


@dataclass(frozen=True)
class NoisyClient(MeanClient):
    """Sends the number plus noise, in steps of 2^-40 of the scale of the noise, rounded down.

    The number is first rounded to a step, at random; the noise is drawn exactly. Steps are larger
    where there would be 2^52 of them in [0, 1]: for scales below 2^-12.
    """

    not_specified: ClassVar[str] = "its sampler computes exponentials to any number of digits"

    scale: Fraction  # of the noise: 1/eps0 of Laplace, sigma of Gauss
    gaussian: bool

    @cached_property
    def digits(self) -> int:
        """The scale of the noise is 2^digits steps."""
        return min(DIGITS, math.floor(self.scale * (1 << _RANGE)).bit_length() - 1)

    @cached_property
    def steps(self) -> int:
        """Of which the numbers 0 .. 1 have no more than fit between them."""
        return math.floor((1 << self.digits) / self.scale)

    @property
    def bits(self) -> int:
        return 64

    @property
    def limit(self) -> None:
        return None

    @property
    def line(self) -> tuple[float, float]:
        return -0.5, self.steps - 0.5

    def mean_variance(self, users: float) -> float:
        noise = (1 if self.gaussian else 2) * 4.0**self.digits
        return (noise + 0.25 + 1) / float(self.steps) ** 2 / users  # and two roundings

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        number = rounded_at_random(values * self.steps, source)
        draw = normal if self.gaussian else exponential
        return number + with_sign(source, draw(source, len(values), self.digits))
