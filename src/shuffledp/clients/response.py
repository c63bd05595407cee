"""The client of k-ary randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import (
    CountingClient,
    MessageForm,
    Support,
    bits_for,
    countable,
    whole_messages,
)
from .entropy import Coin, Source
from .program import Expression, Program, message_of, whole_value


@dataclass(frozen=True)
class ResponseClient(CountingClient):
    """Sends the own value if a coin says so, else any of the others. A message is a value."""

    ratio: Fraction  # at most e^eps0

    @cached_property
    def truth(self) -> Coin:
        return Coin.at_most(self.ratio / (self.ratio + self.k - 1))

    @property
    def bits(self) -> int:
        return bits_for(self.k)

    @property
    def support(self) -> Support:
        own = self.truth.probability
        return Support(float(own), float((1 - own) / (self.k - 1)))

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        sent = values.copy()
        lies = np.flatnonzero(~self.truth.toss(source, len(values)))
        others = source.below(self.k - 1, len(lies))
        sent[lies] = others + (others >= values[lies])
        return sent

    def code(self, own: str) -> Expression:
        """The answer to the value of this name."""
        other = ["skip", ["choices", "1", str(self.k - 1)], own, "1"]
        return ["if", ["coins", "1", str(self.truth.threshold)], own, other]

    def program(self) -> Program:
        return Program(whole_value(self.k), message_of("number", "int64"), self.code("value"))

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        return np.asarray(whole_messages(messages, (), self.k) == value)

    @property
    def form(self) -> MessageForm:
        return MessageForm("value", (), 0, self.k, self.k)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(messages, minlength=countable(self.k))
