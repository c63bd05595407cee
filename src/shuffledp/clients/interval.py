"""The client of the piecewise mechanism and of square waves: windows on an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import bits_for, whole_messages
from .described import NumberType
from .entropy import Coin, Source, rounded_at_random
from .mean_client import MeanClient
from .program import NUMBER, Program, message_of


@dataclass(frozen=True)
class IntervalClient(MeanClient):
    """Sends a cell of an interval: one in the window of the number if a coin says so, else one
    outside. The window is at the first cells for 0 and at the last ones for 1.

    A message is the number of a cell.
    """

    share: Fraction  # of the window: no more of the cells are in it
    ratio: Fraction  # at most e^eps0
    cells: int = 1 << 32

    @cached_property
    def window(self) -> int:
        return math.floor(self.share * self.cells)

    @cached_property
    def inside(self) -> Coin:
        weight = self.ratio * self.window
        return Coin.at_most(weight / (weight + self.cells - self.window))

    @property
    def bits(self) -> int:
        return bits_for(self.cells)

    @property
    def limit(self) -> int:
        return self.cells

    @property
    def _shift(self) -> float:
        """By how much the mean message moves if the window moves by a cell."""
        share, inside = Fraction(self.window, self.cells), self.inside.probability
        return float((inside - share) / (1 - share))

    @property
    def line(self) -> tuple[float, float]:
        middle, reach = (self.cells - 1) / 2, self._shift * (self.cells - self.window) / 2
        return middle - reach, middle + reach

    def mean_variance(self, users: float) -> float:
        """The worst numbers are 0 and 1."""
        share, inside = self.window / self.cells, float(self.inside.probability)
        place = (self.cells - self.window) / 2  # of the window, from the middle
        near = place**2 + (self.window**2 - 1) / 12  # mean squares of messages inside and outside
        far = ((self.cells**2 - 1) / 12 - share * near) / (1 - share)
        spread = inside * near + (1 - inside) * far - (self._shift * place) ** 2
        rounding = self._shift**2 / 4
        return (spread + rounding) / (2 * self._shift * place) ** 2 / users

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        start = round(value * (self.cells - self.window))
        place = whole_messages(messages, (), self.cells).astype(np.int64) - start
        return np.asarray((place >= 0) & (place < self.window))

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        start = rounded_at_random(values * (self.cells - self.window), source)
        near = self.inside.toss(source, len(values))
        place = np.empty(len(values), dtype=np.int64)
        for users, size in ((near, self.window), (~near, self.cells - self.window)):
            place[users] = source.below(size, int(users.sum()))
        beyond = np.where(place >= start, place + self.window, place)
        sent = np.where(near, start + place, beyond)
        return sent.astype(np.uint32 if self.cells <= 1 << 32 else np.int64)

    def program(self) -> Program:
        window, rest = str(self.window), str(self.cells - self.window)
        inside = ["add", "start", ["choices", "1", window]]
        outside = ["skip", ["choices", "1", rest], "start", window]
        chosen = ["if", ["coins", "1", str(self.inside.threshold)], inside, outside]
        type_: NumberType = "uint32" if self.cells <= 1 << 32 else "int64"
        return Program(
            NUMBER, message_of("number", type_), ["let", "start", ["round", rest], chosen]
        )
