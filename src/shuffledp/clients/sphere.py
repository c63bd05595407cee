"""The client of PrivUnit."""

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
from .base import Client, MessageForm, whole_messages
from .caps import cap_moment, cap_share
from .counts import Counts, MeanEstimate
from .entropy import Coin, Source
from .exact_noise import normal, with_sign
from .mean_client import exact_sums, vectors_of

# proof constants: docs/theory/constants.md
_DIGITS = 52  # of normal variables
_SHORT = 2.0**-29  # more likely than that a normal vector is below 2^-16 times its usual length
_TILT = 2.0**-35  # how far the rounding of longer ones moves a product of unit vectors
_SHARE_ERROR = 1e-9  # relative, of computed shares of the sphere
#: A coordinate is a whole multiple of 2^-30.
_UNIT = 1 << 30


@dataclass(frozen=True)
class SphereClient(Client):
    """Draws unit vectors until one is accepted: one in the cap of the own vector always, others if
    a coin says so. A message has the coordinates times 2^30, as whole numbers.
    """

    not_specified: ClassVar[str] = "its sampler draws normal variables and compares floats"

    dimension: int
    share: float  # no cap is a larger share of the sphere
    ratio: Fraction  # at most e^eps0

    @property
    def _tilt(self) -> float:
        return _TILT + (self.dimension + 8) * 2.0**-51  # and products of floats

    def _most(self, threshold: float) -> float:
        """An upper bound of the share of the drawn vectors that is in a cap."""
        share = cap_share(self.dimension, max(threshold - self._tilt, 0.0))
        return share * (1 + _SHARE_ERROR) + _SHORT

    @cached_property
    def threshold(self) -> float:
        """Where caps begin that are no larger than the share."""
        low, high = 0.0, 1.0
        while high - low > 1e-13:
            middle = (low + high) / 2
            low, high = (low, middle) if self._most(middle) <= self.share else (middle, high)
        return high

    @cached_property
    def apart(self) -> float:
        """An upper bound of how far the shares of two caps are apart, relatively."""
        least = cap_share(self.dimension, min(self.threshold + self._tilt, 1.0))
        least = least * (1 - _SHARE_ERROR) - _SHORT
        return self.share / least - 1

    @cached_property
    def outside(self) -> Coin:
        """Is a vector accepted that is not in the cap?"""
        # E' <= (E + 1)/(1 + apart) - 1 makes up for caps that differ a little
        ratio = (self.ratio + 1) / (1 + Fraction(self.apart)) - 1
        return Coin.at_least(1 / max(ratio, Fraction(1)))

    @property
    def bits(self) -> int:
        return 32 * self.dimension

    @property
    def width(self) -> int:
        return self.dimension

    @property
    def rank(self) -> int:
        return 1

    def checked(self, values: Any) -> Array:
        array, norms = vectors_of(values, self.dimension, "unit vectors")
        wrong = np.flatnonzero(~(np.abs(norms - 1) <= 1e-6))
        if len(wrong):
            raise InvalidParameter(
                f"values[{wrong[0]}] has length {norms[wrong[0]]:.6g}; scale it to length 1."
            )
        return np.asarray(array / norms[:, None])

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        sent = np.empty(values.shape, dtype=np.int32)
        open_ = np.arange(len(values))
        while len(open_):
            drawn = normal(source, values[open_].size, _DIGITS)
            vectors = np.ldexp(with_sign(source, drawn) + 0.5, -_DIGITS).reshape(-1, self.dimension)
            length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            along = np.einsum("ij,ij->i", vectors, values[open_])
            accepted = along >= self.threshold * length
            accepted |= self.outside.toss(source, len(open_))
            unit = vectors[accepted] / length[accepted, None]
            sent[open_[accepted]] = np.rint(unit * _UNIT)
            open_ = open_[~accepted]
        return sent

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        vectors = whole_messages(messages, (self.dimension,), None) / float(_UNIT)
        length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        return np.asarray(vectors @ np.asarray(value, dtype=float) >= self.threshold * length)

    @property
    def form(self) -> MessageForm:
        return MessageForm("sum", (self.dimension,), -_UNIT, _UNIT + 1, self.dimension)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        return exact_sums(messages)

    @cached_property
    def length(self) -> float:
        """The mean length of a message along the own vector."""
        more = float(1 / self.outside.probability) - 1
        share = cap_share(self.dimension, self.threshold)
        return more * cap_moment(self.dimension, self.threshold) / (1 + more * share)

    def mean_variance(self, users: float) -> float:
        """Of a coordinate of the estimated mean, for the worst vectors."""
        along = self._along
        across = (1 - along) / (self.dimension - 1)
        return max(along - self.length**2, across) / self.length**2 / users

    @cached_property
    def _along(self) -> float:
        """The mean square of a message along the own vector."""
        d, t = self.dimension, self.threshold
        more, share = float(1 / self.outside.probability) - 1, cap_share(d, t)
        # by parts: the integral of t^2 over the cap is (share + (d-1) t moment)/d
        inside = (share + (d - 1) * t * cap_moment(d, t)) / d
        return (1 / d + more * inside) / (1 + more * share)

    def estimate(self, counts: Counts) -> MeanEstimate:
        users = self._checked_counts(counts).users
        if users == 0:
            raise InvalidParameter("there are 0 messages, which have no mean; give at least one.")
        if self.length == 0:
            raise InvalidParameter(
                "messages tell nothing at so small an eps0 and so large a dimension; give a larger "
                "eps0."
            )
        mean = counts.tally.astype(float) / (users * _UNIT * self.length)
        error = np.full(self.dimension, math.sqrt(self.mean_variance(users)))
        return MeanEstimate(users, mean, error)
