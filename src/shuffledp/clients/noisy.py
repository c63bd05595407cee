"""The clients that add Laplace or Gaussian noise, to numbers or to vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from ..errors import InvalidParameter
from .base import Client, MessageForm
from .counts import Counts, MeanEstimate
from .entropy import Source, rounded_at_random
from .exact_noise import exponential, normal, with_sign
from .mean_client import MeanClient, exact_sums, vectors_of

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


#: Vectors whose computed norm exceeds 1 by rounding are accepted, and scaled to 1.
_LONGEST = 1 + 1e-9


@dataclass(frozen=True)
class NoisyVectorClient(Client):
    """Sends a vector plus Gaussian noise in every coordinate, in the steps of a `NoisyClient`.

    Coordinates are rounded towards 0 to a step, so that no vector gets longer; estimates
    are biased by less than a step.
    """

    not_specified: ClassVar[str] = NoisyClient.not_specified

    noise: NoisyClient
    dimension: int

    @property
    def bits(self) -> int:
        return 64 * self.dimension

    @property
    def width(self) -> int:
        return self.dimension

    @property
    def rank(self) -> int:
        return 1

    def checked(self, values: Any) -> Array:
        array, norms = vectors_of(values, self.dimension)
        wrong = np.flatnonzero(~(norms <= _LONGEST))
        if len(wrong):
            raise InvalidParameter(
                f"values[{wrong[0]}] has L2 norm {norms[wrong[0]]:.6g}; scale it to 1 at most."
            )
        # a sum of so many squares errs by as many units at most, to the safe side
        norms = norms * (1 + (self.dimension + 8) * 2.0**-52)
        return np.asarray(array / np.maximum(norms, 1.0)[:, None])

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        number = np.trunc(values * self.noise.steps).astype(np.int64)
        drawn = with_sign(source, normal(source, values.size, self.noise.digits))
        return np.asarray(number + drawn.reshape(values.shape))

    @property
    def form(self) -> MessageForm:
        return MessageForm("sum", (self.dimension,), None, None, self.dimension)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        return exact_sums(messages)

    def mean_variance(self, users: float) -> float:
        """Of each coordinate."""
        return self.noise.mean_variance(users)

    def estimate(self, counts: Counts) -> MeanEstimate:
        users = self._checked_counts(counts).users
        if users == 0:
            raise InvalidParameter("there are 0 messages, which have no mean; give at least one.")
        # noise was rounded down by half a step on average
        mean = (counts.tally / users).astype(float) + 0.5
        error = np.full(self.dimension, math.sqrt(self.mean_variance(users)))
        return MeanEstimate(users, mean / self.noise.steps, error)
