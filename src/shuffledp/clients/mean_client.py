"""The common part of clients whose messages are added up, with a mean linear in the number."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.numeric import Array
from ..errors import InvalidParameter
from .base import Client, MessageForm, in_blocks
from .counts import Counts, MeanEstimate


def unit_values(values: Any) -> Array:
    """Numbers in [0, 1]."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise InvalidParameter(
            f"values={validate.show(values)} is not a list of numbers; give numbers in [0, 1]."
        )
    wrong = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if len(wrong):
        raise InvalidParameter(
            f"values[{wrong[0]}]={array[wrong[0]]} is outside [0, 1]; divide the numbers by "
            "the largest that you allow, and clip them."
        )
    return array.astype(np.float64, copy=False)


def vectors_of(values: Any, dimension: int, kind: str = "vectors") -> tuple[Array, Array]:
    """Vectors of so many numbers, shape [vectors, dimension], and their L2 norms."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] != dimension:
        raise InvalidParameter(
            f"values={validate.show(values)} is not a list of vectors; give {kind} of "
            f"{dimension} numbers."
        )
    return array, np.sqrt(np.einsum("ij,ij->i", array, array, dtype=float))


def exact_sums(messages: NDArray[Any]) -> NDArray[Any]:
    """The exact sum of each column, or of the only one, as Python's whole numbers."""
    rows = messages if messages.ndim == 2 else messages[:, None]

    def parts(block: NDArray[Any]) -> NDArray[Any]:
        # in two parts: the sum of a single one might exceed 64 bits
        whole = block.astype(np.int64, copy=False)
        high = (whole >> 24).sum(axis=0, dtype=np.int64).astype(object)
        low = (whole & ((1 << 24) - 1)).sum(axis=0, dtype=np.int64).astype(object)
        return np.asarray(high * (1 << 24) + low, dtype=object)

    return in_blocks(rows, rows.shape[1], parts)


@dataclass(frozen=True)
class MeanClient(Client):
    """Numbers in [0, 1]; messages are whole numbers whose mean is linear in the number."""

    def checked(self, values: Any) -> NDArray[Any]:
        return unit_values(values)

    @property
    @abstractmethod
    def line(self) -> tuple[float, float]:
        """The mean messages of 0 and of 1."""

    @property
    @abstractmethod
    def limit(self) -> int | None:
        """Messages are below it, and not negative, if there is a limit."""

    @property
    def form(self) -> MessageForm:
        return MessageForm("sum", (), None if self.limit is None else 0, self.limit, 1)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        return exact_sums(messages)

    def estimate(self, counts: Counts) -> MeanEstimate:
        users = self._checked_counts(counts).users
        if users == 0:
            raise InvalidParameter("there are 0 messages, which have no mean; give at least one.")
        zero, one = self.line
        mean = (int(counts.tally[0]) / users - zero) / (one - zero)
        return MeanEstimate(users, mean, math.sqrt(self.mean_variance(users)))
