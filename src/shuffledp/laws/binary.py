"""The law of randomizers with two messages: how rarely and how often one of them is sent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, NoReturn

from .._support.numeric import UNIT, Side

# proof constants: docs/theory.md, "Constants"
#: Relative error of the probabilities that a law is made from, unless they are exact.
_ENTRIES = 16 * UNIT


class Order(IntEnum):
    """Which of the two values in question is the first one."""

    FORWARD = 0  # the one that sends more 1s
    BACKWARD = 1


class BinaryPair(NamedTuple):
    """Two laws of one bit: it is 1 with probability p, or with probability q < p.

    Each of the numbers has a relative error of at most 4 units, their difference too.
    """

    p: float
    not_p: float
    q: float
    not_q: float
    gap: float  # p - q

    @property
    def flipped(self) -> BinaryPair:
        """The same with 0 and 1 exchanged: what the other law sends more often is a 1."""
        return BinaryPair(self.not_q, self.q, self.not_p, self.p, self.gap)


@dataclass(frozen=True)
class BinaryLaw:
    """Every value sends 1 with some probability in [q, p], and both ends occur.

    Given are q, p and their complements, each with a relative error of at most `error`.
    """

    p: float
    not_p: float
    q: float
    not_q: float
    known_loss: float | None = None  # the largest loss of one user, if it is known better
    error: float = _ENTRIES

    def pair(self, side: Side) -> BinaryPair:
        """An interval [q, p] that contains the true one if side is UPPER, else is inside of it.

        Whatever is sent in the smaller interval is a post-processing of what is in the larger.
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
    def telling(self) -> bool:
        """Do messages depend on values? A tiny probability may tell what its complement hides."""
        return self.p > self.q or self.not_q > self.not_p

    @property
    def orders(self) -> tuple[Order, ...]:
        """Those that have to be looked at: one if both are alike."""
        return (Order.FORWARD,) if self.symmetric else (Order.FORWARD, Order.BACKWARD)

    def seen_from(self, order: Order) -> tuple[float, float, float, float]:
        """p, 1 - p, q and 1 - q of the message that the first sends more often."""
        if order is Order.FORWARD:
            return self.p, self.not_p, self.q, self.not_q
        return self.not_q, self.q, self.not_p, self.p

    def bounded(self, orders: Sequence[Order]) -> bool:
        return all(self.seen_from(order)[2] > 0 for order in orders)

    def revealed(self, orders: Sequence[Order]) -> float:
        """How likely a message is that only one of the two values can send; 0 if there is none."""
        return max(
            high for high, _, low, _ in (*map(self.seen_from, orders), (0.0,) * 4) if not low
        )

    @property
    def symmetric(self) -> bool:
        return self.q == self.not_p and self.p == self.not_q

    def max_loss(self, users: int, orders: Sequence[Order]) -> float:
        """An upper bound of the finite losses, with whatever the other users hold.

        A message that only one of two values can send gives itself away, unless others send it too:
        then all but one of them may.
        """
        if self.known_loss is not None:
            return self.known_loss
        losses = [2.0**-50]
        for high, other, low, _ in map(self.seen_from, orders):
            ratio = high / low if low > 0 else max(users * other, 1.0)
            losses.append(math.log(ratio) * (1 + 2.0**-47) + 2.0**-47)
        return max(losses)

    def thinned(self, rate: float) -> NoReturn:
        raise NotImplementedError("of sampled rounds as one only the blanket is known")

    def worst(self, epsilon: float, users: int) -> BinaryLaw:
        return self

    @property
    def reversed(self) -> BinaryLaw:
        return self  # of both orders
