"""The client of Hadamard response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from .base import (
    CountingClient,
    MessageForm,
    Support,
    bits_for,
    countable,
    whole_messages,
)
from .counts import Counts
from .entropy import Coin, Source, Whole
from .program import Program, message_of, whole_value


def parity(numbers: Whole) -> Whole:
    """Of the bits of each number."""
    folded = numbers.copy()
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> shift
    return folded & 1


@dataclass(frozen=True)
class ColumnsClient(CountingClient):
    """Sends a random column of a Hadamard matrix, with probability own one that the value owns.

    A message is the number of a column; column j supports value x if (x + 1) & j has an even number
    of ones.
    """

    ratio: Fraction  # at most e^eps0
    columns: int  # a power of two above k

    @cached_property
    def owned(self) -> Coin:
        return Coin.at_most(self.ratio / (self.ratio + 1))

    @property
    def bits(self) -> int:
        return bits_for(self.columns)

    @property
    def support(self) -> Support:
        return Support(float(self.owned.probability), 0.5)

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        rows = values + 1
        column = source.below(self.columns, len(values))
        # flipping a bit of the row maps the columns that it owns onto the others
        wrong = parity(column & rows) != ~self.owned.toss(source, len(values))
        return np.where(wrong, column ^ (rows & -rows), column)

    def program(self) -> Program:
        column, owned = ["choices", "1", str(self.columns)], str(self.owned.threshold)
        code = ["column", column, ["add", "value", "1"], ["coins", "1", owned]]
        return Program(whole_value(self.k), message_of("number", "int64"), code)

    @property
    def form(self) -> MessageForm:
        return MessageForm("value", (), 0, self.columns, self.columns)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(messages, minlength=countable(self.columns))

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        columns = whole_messages(messages, (), self.columns).astype(np.int64)
        return np.asarray(parity(columns & (int(value) + 1)) == 0)

    def supporters(self, counts: Counts) -> Array:
        """By the fast Walsh-Hadamard transform of the counts of columns."""
        sums = counts.tally.astype(np.int64)
        half = 1
        while half < self.columns:
            pairs = sums.reshape(-1, 2, half)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
            half *= 2
        return (counts.users + sums[1 : self.k + 1]) / 2.0
