"""What a randomizer says of itself: the law of one message, without users, samples or rounds."""

from __future__ import annotations

from typing import Protocol


class Law(Protocol):
    """How likely which messages are: from the user in question for either of two values, and from
    every other user at least (the blanket) or exactly (of actual datasets).

    `shuffledp.profiles` makes a profile of a law and a number of users.
    """

    def thinned(self, rate: float) -> Law:
        """The law if every user, with probability 1 - rate, sends an empty message instead."""
        ...

    def worst(self, epsilon: float, users: int) -> Law:
        """Of several laws the one that, with so many users, is about the largest at an epsilon."""
        ...

    @property
    def reversed(self) -> Law:
        """The law with the two values in question swapped, if it is of one order of them."""
        ...
