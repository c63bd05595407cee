"""The client that sends one bit for a number."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import whole_messages
from .entropy import Coin, Source, rounded_at_random
from .mean_client import MeanClient
from .program import NUMBER, Program, message_of


@dataclass(frozen=True)
class OneBitClient(MeanClient):
    """Rounds the number to 0 or 1 at random, and flips the bit if a coin says so."""

    ratio: Fraction  # at most e^eps0

    @cached_property
    def keep(self) -> Coin:
        return Coin.at_most(self.ratio / (self.ratio + 1))

    @property
    def bits(self) -> int:
        return 1

    @property
    def limit(self) -> int:
        return 2

    @property
    def line(self) -> tuple[float, float]:
        kept = self.keep.probability
        return float(1 - kept), float(kept)

    def mean_variance(self, users: float) -> float:
        zero, one = self.line
        return 0.25 / (one - zero) ** 2 / users  # of the number 1/2

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        return np.asarray(whole_messages(messages, (), 2) == value)

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        bits = rounded_at_random(values, source) == 1
        kept = self.keep.toss(source, len(values))
        return np.asarray(bits == kept, dtype=np.uint8)

    def program(self) -> Program:
        code = ["equal", ["round", "1"], ["coins", "1", str(self.keep.threshold)]]
        return Program(NUMBER, message_of("number", "uint8"), code)
