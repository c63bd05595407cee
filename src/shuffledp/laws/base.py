"""What a randomizer states about itself: the law of one message, without users or rounds.

Theory: docs/theory/scores.md.
"""

from __future__ import annotations

from typing import Protocol


class Law(Protocol):
    """The probabilities of messages, from the differing user and from every other user.

    The differing user has one of two values. The other users have at least the probabilities of
    the blanket, or exactly those of an actual dataset. `shuffledp.profiles` makes a profile of a
    law and a number of users.
    """

    def thinned(self, rate: float) -> Law:
        """The law if every user, with probability 1 - rate, sends an empty message instead."""
        ...

    def worst(self, epsilon: float, users: int) -> Law:
        """Of several laws the one whose profile is about the largest at epsilon, for a guess."""
        return self

    @property
    def reversed(self) -> Law:
        """The law with the two values swapped; itself if it is of both orders."""
        return self
