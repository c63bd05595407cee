"""The exact law of what a client sends: every outcome of its coins and dice, with its probability.

The two primitives, coins and uniform whole numbers, are replaced by branches; all else is the code
under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp.clients import Client, Source
from shuffledp.clients.entropy import Coin


class Branches(Source):
    """Answers as it was told, and keeps what else could have been answered."""

    def __init__(self, told: list[int]) -> None:
        super().__init__()
        self.told, self.made, self.chances = told, 0, list[list[Fraction]]()

    def choose(self, chances: list[Fraction]) -> int:
        self.chances.append(chances)
        self.made += 1
        if self.made > len(self.told):
            self.told.append(next(i for i, chance in enumerate(chances) if chance))
        return self.told[self.made - 1]

    def below(self, limit: int, size: int) -> NDArray[np.int64]:
        chances = [Fraction(1, limit)] * limit
        return np.array([self.choose(chances) for _ in range(size)], dtype=np.int64)

    def coin(self, probability: Fraction, size: int) -> NDArray[np.bool_]:
        chances = [1 - probability, probability]
        return np.array([self.choose(chances) == 1 for _ in range(size)], dtype=np.bool_)

    def words(self, size: int) -> NDArray[np.uint64]:
        """Whatever is rounded at random is rounded down: give numbers that need no rounding."""
        return np.full(size, 2**64 - 1, dtype=np.uint64)


def laws_of(client: Client, value: Any, monkeypatch: pytest.MonkeyPatch) -> dict[bytes, Fraction]:
    """The probability of every message, as bytes of its whole numbers, for one user's value."""
    law: dict[bytes, Fraction] = {}
    for message, mass in outcomes(client, value, monkeypatch):
        key = np.atleast_1d(message).astype(np.int64).tobytes()
        law[key] = law.get(key, Fraction(0)) + mass
    return law


def outcomes(
    client: Client, value: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[NDArray[Any], Fraction]]:
    """Every way in which the client may come to a message."""

    def toss(coin: Coin, source: Source, size: int) -> NDArray[np.bool_]:
        assert isinstance(source, Branches)
        return source.coin(coin.probability, size)

    with monkeypatch.context() as patch:
        patch.setattr(Coin, "toss", toss)
        told: list[int] = []
        while True:
            source = Branches(told)
            message = client.randomize(np.asarray([value]), source)[0]
            mass = Fraction(1)
            for choice, chances in zip(source.told, source.chances, strict=True):
                mass *= chances[choice]
            yield message, mass
            told = _next(source)
            if not told:
                return


def _next(source: Branches) -> list[int]:
    """The last choice that has another possible answer gets it; all later ones are made anew."""
    for place in range(source.made - 1, -1, -1):
        chances = source.chances[place]
        for other in range(source.told[place] + 1, len(chances)):
            if chances[other]:
                return [*source.told[:place], other]
    return []
