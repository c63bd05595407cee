"""The client of unary encoding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from ..errors import InvalidParameter
from .base import (
    CountingClient,
    MessageForm,
    Support,
    countable,
    in_blocks,
    whole_messages,
)
from .described import DescribedValues
from .entropy import Coin, Source, Whole
from .program import Expression, Program, message_of, whole_value

#: The bits of each byte, the highest first.
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)


@dataclass(frozen=True)
class BitsClient(CountingClient):
    """Sends k bits: that of the value is 1 with probability p, each other one with probability q.

    If there may be several `ones`, a value is a vector of k bits with 1 to `ones` ones. A message
    is bytes, the bit of value 0 first, with zeros at the end.
    """

    p: Fraction  # at most that of the randomizer
    q: Fraction  # at least that
    ones: int = 1

    @cached_property
    def coins(self) -> tuple[Coin, Coin]:
        """Of the own bit and of the others."""
        return Coin.at_most(self.p), Coin.at_least(self.q)

    @property
    def bits(self) -> int:
        return self.k

    @property
    def width(self) -> int:
        return self.k

    @property
    def support(self) -> Support:
        own, other = self.coins
        return Support(float(own.probability), float(other.probability))

    @property
    def rank(self) -> int:
        return 0 if self.ones == 1 else 1

    def checked(self, values: Any) -> NDArray[Any]:
        if self.ones == 1:
            return super().checked(values)
        array = np.asarray(values)
        right = array.dtype.kind in "biu" and array.ndim == 2 and array.shape[1] == self.k
        if not right or (array.size and (array.min() < 0 or array.max() > 1)):
            raise InvalidParameter(
                f"values={validate.show(values)} is not a list of vectors of {self.k} bits; give 0 "
                "and 1."
            )
        count = array.sum(axis=1)
        wrong = np.flatnonzero((count < 1) | (count > self.ones))
        if len(wrong):
            raise InvalidParameter(
                f"values[{wrong[0]}] has {count[wrong[0]]} ones; give 1 to {self.ones} of them."
            )
        return array.astype(bool)

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        own, other = self.coins
        if self.ones == 1:
            held = np.zeros((len(values), self.k), dtype=bool)
            held[np.arange(len(values)), values] = True
        else:
            held = values
        bits = other.toss(source, held.size).reshape(held.shape)
        bits[held] = own.toss(source, int(held.sum()))
        return np.packbits(bits, axis=1)

    def program(self) -> Program:
        own, other = (str(coin.threshold) for coin in self.coins)
        value: DescribedValues = whole_value(self.k)
        held: Expression = ["hot", str(self.k), "value"]
        count: Expression = "1"
        if self.ones > 1:
            value = {"kind": "bits", "length": self.k, "ones": self.ones}
            held, count = "value", ["fold", "value", "1"]
        bits = ["where", held, ["coins", str(self.k), other], ["coins", count, own]]
        return Program(value, message_of("list", "uint8", -(-self.k // 8)), ["pack", bits])

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        array = whole_messages(messages, (-(-self.k // 8),), 256)
        return np.asarray((array[:, int(value) // 8] >> (7 - int(value) % 8)) & 1 == 1)

    @property
    def form(self) -> MessageForm:
        return MessageForm("bits", (-(-self.k // 8),), 0, 256, self.k)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        """Bytes of each place by their value, and from these the bits."""
        countable(self.k)

        def octets(rows: NDArray[Any]) -> Whole:
            return np.stack([np.bincount(column, minlength=256) for column in rows.T])

        found = in_blocks(messages, messages.shape[1], octets) @ _BITS  # [bytes, 8]
        return np.asarray(found.ravel()[: self.k])
