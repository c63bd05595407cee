"""The client of local hashing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import (
    CountingClient,
    Support,
    bits_for,
    checked_counts,
    countable,
    in_blocks,
    whole_messages,
)
from .counts import Counts, Estimate
from .entropy import Source, Whole, Words
from .program import PRIME as PRIME
from .program import Program, message_of, whole_value
from .response import ResponseClient

_P, _LOW, _MIDDLE = np.uint64(PRIME), np.uint64(2**31 - 1), np.uint64(2**30 - 1)
_30, _31, _61 = np.uint64(30), np.uint64(31), np.uint64(61)


def _reduced(number: Words) -> Words:
    """Modulo 2^61 - 1."""
    once = (number & _P) + (number >> _61)
    return np.where(once >= _P, once - _P, once)


def times(a: Words, b: Words) -> Words:
    """The product modulo 2^61 - 1 of numbers below it: 2^61 is 1, so parts may be moved down."""
    high_a, low_a, high_b, low_b = a >> _31, a & _LOW, b >> _31, b & _LOW
    middle = high_a * low_b + low_a * high_b  # below 2^62, times 2^31
    moved = (middle >> _30) + ((middle & _MIDDLE) << _31)
    return _reduced(((high_a * high_b) << np.uint64(1)) + moved + low_a * low_b)


def hashed(a: Words, b: Words, c: Words, x: Words, g: int) -> Words:
    """((a x + b) x + c mod 2^61 - 1) mod g."""
    inner = _reduced(times(a, x) + b)
    return _reduced(times(inner, x) + c) % np.uint64(g)


@dataclass(frozen=True)
class HashClient(CountingClient):
    """Sends a hash function to g values, and g-ary randomized response on the hashed value.

    The function is a random polynomial of degree 2 modulo 2^61 - 1, then modulo g: on any three
    values it is independent and uniform, up to a relative 2^-61 g. A message is a, b, c and the
    answer.
    """

    g: int
    ratio: Fraction  # at most e^eps0

    @cached_property
    def answer(self) -> ResponseClient:
        return ResponseClient(self.g, self.ratio)

    @property
    def bits(self) -> int:
        return 3 * 61 + bits_for(self.g)

    @property
    def support(self) -> Support:
        return Support(self.answer.support.own, 1 / self.g)

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        seeds = source.below(PRIME, 3 * len(values)).reshape(3, len(values)).astype(np.uint64)
        a, b, c = seeds
        hash_ = hashed(a, b, c, values.astype(np.uint64), self.g).astype(np.int64)
        answers = self.answer.messages(hash_, source)
        return np.stack([a, b, c, answers.astype(np.uint64)], axis=1)

    def program(self) -> Program:
        seed = ["choices", "3", str(PRIME)]
        answer = [
            "let",
            "hashed",
            ["hash", "seed", "value", str(self.g)],
            self.answer.code("hashed"),
        ]
        code = ["let", "seed", seed, ["join", "seed", answer]]
        return Program(whole_value(self.k), message_of("list", "uint64", 4), code)

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        array = whole_messages(messages, (4,), PRIME).astype(np.uint64, copy=False)
        a, b, c, answer = array.T
        return np.asarray(hashed(a, b, c, np.full(len(a), value, np.uint64), self.g) == answer)

    def count(self, messages: Any) -> Counts:
        array = whole_messages(messages, (4,), PRIME).astype(np.uint64, copy=False)
        values = np.arange(countable(self.k), dtype=np.uint64)

        def matches(rows: NDArray[Any]) -> Whole:
            a, b, c, answer = rows.T[:, :, None]  # [users, values]
            return np.asarray((hashed(a, b, c, values, self.g) == answer).sum(axis=0))

        return Counts(len(array), in_blocks(array, self.k, matches))

    def estimate(self, counts: Counts) -> Estimate:
        return super().estimate(checked_counts(counts, self.k))
