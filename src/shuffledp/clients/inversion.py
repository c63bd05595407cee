"""Whole numbers of any law, drawn exactly: a uniform number is held against the distribution
function, of which as many digits are computed as it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import count

import numpy as np

from .entropy import BITS, Source, Whole, Words

#: Whole numbers below and above 2^bits times the probabilities of 0, of 0 or 1, of 0 to 2, ...
Steps = Callable[[int], Iterable[tuple[int, int]]]

# a proof constant: docs/theory/constants.md
_MORE_DIGITS = 30  # than are relied on: up to 10^9 roundings of masses stay far below


@dataclass(frozen=True)
class Inversion:
    """j, if j steps are at or below a uniform number in [0, 1)."""

    steps: Steps

    @cached_property
    def _table(self) -> tuple[Words, Words]:
        """The first 64 bits of the steps, and those that leave open on which side of one a number
        is."""
        floors: list[int] = []
        unsure: list[int] = []
        last = (1 << BITS) - 1
        for low, high in self.steps(BITS):
            floors.append(min(low, last))
            unsure += range(low, min(high, last + 1))
            if low >= last:  # what follows is as near to 1
                unsure.append(last)
                break
        return np.array(floors, dtype=np.uint64), np.array(unsure, dtype=np.uint64)

    def draw(self, source: Source, size: int) -> Whole:
        """So many of them."""
        return self.drawn(source.words(size), source)

    def drawn(self, words: Words, source: Source) -> Whole:
        """Those of uniform numbers with these first bits."""
        floors, unsure = self._table
        found = np.searchsorted(floors, words, side="right").astype(np.int64)
        for i in np.flatnonzero(np.isin(words, unsure)).tolist():
            found[i] = self.settled(int(words[i]), source)
        return found

    def settled(self, digits: int, source: Source) -> int:
        """The same for one number with these first bits; more are drawn until it is clear."""
        bits = BITS
        while True:
            found, clear = 0, True
            for low, high in self.steps(bits):
                if digits < high:
                    clear = digits < low
                    break
                found += 1
            if clear:
                return found
            digits, bits = (digits << BITS) | int(source.words(1)[0]), bits + BITS


def of_fractions(steps: list[Fraction]) -> Steps:
    """Of a law with finitely many outcomes; the last step, which is 1, may be left out."""

    def scaled(bits: int) -> Iterator[tuple[int, int]]:
        for step in steps:
            low, rest = divmod(step.numerator << bits, step.denominator)
            yield low, low + (rest > 0)

    return scaled


def of_masses(
    first: Callable[[Context], Decimal], ratio: Callable[[Context, int], Decimal]
) -> Steps:
    """Of a law by the probability of 0, and the quotients of that of j + 1 and that of j.

    All of it is computed with the given context: Python's operators would round to 28 digits.
    """

    def scaled(bits: int) -> Iterator[tuple[int, int]]:
        # numbers up to 2^bits in full
        context, size = Context(prec=bits + 2 * _MORE_DIGITS), Decimal(1 << bits)
        slack = context.power(10, -(bits + _MORE_DIGITS))
        mass = first(context)
        total = Decimal(0)
        for j in count():
            total = context.add(total, mass)
            part, error = context.multiply(total, size), context.multiply(slack, size)
            yield int(context.subtract(part, error)), int(context.add(part, error)) + 1
            mass = context.multiply(mass, ratio(context, j))

    return scaled


def decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
