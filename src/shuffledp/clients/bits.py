"""The client of unary encoding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import CountingClient, Support, checked_counts, in_blocks, whole_messages
from .counts import Counts, Estimate
from .entropy import Coin, Source, Whole


@dataclass(frozen=True)
class BitsClient(CountingClient):
    """Sends k bits: that of the value is 1 with probability p, each other one with probability q.

    A message is bytes, the bit of value 0 first, with zeros at the end.
    """

    p: Fraction  # at most that of the randomizer
    q: Fraction  # at least that

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

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        own, other = self.coins
        bits = other.toss(source, len(values) * self.k).reshape(len(values), self.k)
        bits[np.arange(len(values)), values] = own.toss(source, len(values))
        return np.packbits(bits, axis=1)

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        array = whole_messages(messages, (-(-self.k // 8),), 256)
        return np.asarray((array[:, int(value) // 8] >> (7 - int(value) % 8)) & 1 == 1)

    def count(self, messages: Any) -> Counts:
        array = whole_messages(messages, (-(-self.k // 8),), 256).astype(np.uint8, copy=False)

        def ones(rows: NDArray[Any]) -> Whole:
            bits = np.unpackbits(rows, axis=1, count=self.countable(self.k))
            return np.asarray(bits.sum(axis=0, dtype=np.int64))

        return Counts(len(array), in_blocks(array, self.k, ones))

    def estimate(self, counts: Counts) -> Estimate:
        return super().estimate(checked_counts(counts, self.k))
