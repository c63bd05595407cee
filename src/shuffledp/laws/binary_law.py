"""Laws of binary messages: one bit per user, or several bits that are summed column by column.

Theory: docs/theory/binary-messages.md, docs/theory/sums.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, NoReturn

from .._support.numeric import UNIT, Side
from .class_law import Law

# proof constants: docs/theory/constants.md
#: Relative error of the probabilities that a law is made from, unless they are exact.
_ENTRIES = 16 * UNIT


class ValueOrder(IntEnum):
    """Which of the two values in question is the first one."""

    FORWARD = 0  # the one that sends more 1s
    BACKWARD = 1


class BinaryPair(NamedTuple):
    """Two laws of one bit: it is 1 with probability p, or with probability q < p.

    Each of the numbers, and their difference, has a relative error of at most 4 units of rounding.
    """

    p: float
    not_p: float
    q: float
    not_q: float
    gap: float  # p - q

    def in_order(self, order: ValueOrder) -> BinaryPair:
        """The pair with bits relabelled so that 1 is what the first value sends more often."""
        if order is ValueOrder.FORWARD:
            return self
        return BinaryPair(self.not_q, self.q, self.not_p, self.p, self.gap)


@dataclass(frozen=True)
class BinaryLaw(Law):
    """Every value sends 1 with some probability in [q, p], and both ends occur.

    Parameters
    ----------
    p, not_p, q, not_q : float
        The largest and the smallest probability of a 1, each with its complement.
    known_loss : float, optional
        The largest loss of one user, if it is known more precisely than from these.
    error : float
        Relative error of each of the four probabilities.
    """

    p: float
    not_p: float
    q: float
    not_q: float
    known_loss: float | None = None
    error: float = _ENTRIES

    def pair(self, side: Side) -> BinaryPair:
        """An interval [q, p] that contains the true one if side is UPPER, else lies inside it.

        The messages of the smaller interval are a post-processing of those of the larger one.
        """
        less, more = 1 - side * self.error, 1 + side * self.error
        if self.p <= 0.5:
            q, p = self.q * less, min(self.p * more, 1.0)
            return BinaryPair(p, 1 - p, q, 1 - q, p - q)
        if self.q >= 0.5:
            not_p, not_q = self.not_p * less, min(self.not_q * more, 1.0)
            return BinaryPair(1 - not_p, not_p, 1 - not_q, not_q, not_q - not_p)
        q, not_p = self.q * less, self.not_p * less
        return BinaryPair(1 - not_p, not_p, q, 1 - q, (0.5 - q) + (0.5 - not_p))

    @property
    def depends_on_value(self) -> bool:
        """Whether messages depend on values; of p and 1 - p the smaller one is the precise one."""
        return self.p > self.q or self.not_q > self.not_p

    @property
    def orders(self) -> tuple[ValueOrder, ...]:
        """The orders that differ: one if the law is symmetric."""
        return (
            (ValueOrder.FORWARD,) if self.symmetric else (ValueOrder.FORWARD, ValueOrder.BACKWARD)
        )

    def seen(self, orders: Sequence[ValueOrder]) -> list[BinaryPair]:
        """The pairs of the two ends in each order, not rounded to a side."""
        pair = BinaryPair(self.p, self.not_p, self.q, self.not_q, self.p - self.q)
        return [pair.in_order(order) for order in orders]

    def bounded(self, orders: Sequence[ValueOrder]) -> bool:
        return all(pair.q > 0 for pair in self.seen(orders))

    def revealed(self, orders: Sequence[ValueOrder]) -> float:
        """The largest probability of a message that only one of the values can send, or 0."""
        return max((pair.p for pair in self.seen(orders) if not pair.q), default=0.0)

    @property
    def symmetric(self) -> bool:
        return self.q == self.not_p and self.p == self.not_q

    def max_loss(self, users: int, orders: Sequence[ValueOrder]) -> float:
        """An upper bound of the finite losses, whatever the other users hold.

        A message that only one of two values can send reveals the value, unless other users send
        it too; then all of them but one may have sent it.
        """
        if self.known_loss is not None:
            return self.known_loss
        losses = [2.0**-50]
        for pair in self.seen(orders):
            ratio = pair.p / pair.q if pair.q > 0 else max(users * pair.not_p, 1.0)
            losses.append(math.log(ratio) * (1 + 2.0**-47) + 2.0**-47)
        return max(losses)

    def thinned(self, rate: float) -> NoReturn:
        raise NotImplementedError("sampled rounds as a whole are known for the blanket only")


@dataclass(frozen=True)
class BitColumns:
    """Bits that are sent independently and added up column by column.

    Parameters
    ----------
    law : BinaryLaw
        A 1 is sent as 1 with the larger probability of this law, a 0 with the smaller one.
    columns : int
        Length of a value, which is a vector of bits.
    ones : int
        The most bits of a value that are 1; at least one bit is.
    zero : bool
        Whether the vector of zeros exists, too; it stands for no value at all.
    """

    law: BinaryLaw
    columns: int = 1
    ones: int = 1
    zero: bool = False

    @property
    def differing(self) -> tuple[tuple[int, int], ...]:
        """Numbers of columns where only the first or only the second value has a 1: maximal pairs.

        Both are `ones` if there are twice as many columns. Otherwise the two values differ in all
        columns at most, and each has a 1 that the other lacks, unless there is a single column.
        """
        least = min(max(self.columns - self.ones, 1), self.ones)
        most = min(self.ones, max(self.columns - 1, 1))
        return tuple(
            (first, min(self.ones, self.columns - first)) for first in range(least, most + 1)
        )

    @property
    def relations(self) -> tuple[str, ...]:
        """The neighbouring relations that are defined."""
        return ("replace", "remove") if self.zero else ("replace",)
