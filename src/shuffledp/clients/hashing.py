"""The client of local hashing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter
from .base import (
    CountingClient,
    MessageForm,
    Support,
    bits_for,
    countable,
    whole_messages,
)
from .entropy import Source, Whole, Words
from .program import PRIME as PRIME
from .program import Program, message_of, whole_value
from .response import ResponseClient

_P, _LOW, _MIDDLE = np.uint64(PRIME), np.uint64(2**31 - 1), np.uint64(2**30 - 1)
_TOGETHER = 1 << 15  # hashes that are followed at a time: they fit a cache
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

    @property
    def form(self) -> MessageForm:
        return MessageForm("hash", (4,), 0, PRIME, self.k)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        countable(self.k)
        array = messages.astype(np.uint64, copy=False)
        if len(array) and array[:, 3].max() >= self.g:
            raise InvalidParameter(
                f"messages has the answer {array[:, 3].max()}, outside 0 .. {self.g - 1}; give "
                "what randomize returned."
            )
        found = np.zeros(self.k, dtype=np.int64)
        for start in range(0, len(array), _TOGETHER):
            found += self._matches(np.ascontiguousarray(array[start : start + _TOGETHER].T))
        return found

    def _matches(self, columns: Words) -> Whole:
        """How many of some messages, [4, messages], have the hash of each value as their answer.

        The polynomial is followed from value to value by its differences, which takes additions
        alone: h(x + 1) - h(x) = a (2 x + 1) + b, and this grows by 2 a. A few messages are followed
        from several values at once. h + g - answer is a multiple of g = 2^s d, d odd, if and only
        if its product with 1/d modulo 2^64, rotated by s bits, is at most (2^64 - 1)/g (Granlund,
        Montgomery 1994).
        """
        a, b, c, answer = columns
        starts = max(1, min(self.k, _TOGETHER // len(a)))
        steps = -(-self.k // starts)
        x = (np.arange(starts, dtype=np.uint64) * np.uint64(steps))[:, None]  # [starts, messages]
        inner = _reduced(times(a, x) + b)
        hash_ = _reduced(times(inner, x) + c)
        first = _reduced(inner + times(a, _reduced(x + np.uint64(1))))
        second, to_multiple = _reduced(a + a), np.uint64(self.g) - answer
        shift = (self.g & -self.g).bit_length() - 1
        inverse = np.uint64(pow(self.g >> shift, -1, 1 << 64))
        limit, right, left = map(np.uint64, ((2**64 - 1) // self.g, shift, 64 - shift))
        work, other = np.empty_like(hash_), np.empty_like(hash_)
        match = np.empty(hash_.shape, dtype=bool)
        found = np.empty((starts, steps), dtype=np.int64)
        for step in range(steps):
            np.add(hash_, to_multiple, out=work)
            np.multiply(work, inverse, out=work)
            if shift:
                np.left_shift(work, left, out=other)
                np.right_shift(work, right, out=work)
                np.bitwise_or(work, other, out=work)
            np.less_equal(work, limit, out=match)
            found[:, step] = np.count_nonzero(match) if starts == 1 else match.sum(axis=1)
            for number, more in ((hash_, first), (first, second)):
                np.add(number, more, out=number)
                np.subtract(number, _P, out=work)  # below 0 wraps to above all others
                np.minimum(number, work, out=number)
        return found.ravel()[: self.k]
