"""The client of subset selection."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from ..errors import InvalidParameter
from .base import (
    CountingClient,
    MessageForm,
    Support,
    bits_for,
    countable,
    in_blocks,
    whole_messages,
)
from .entropy import Coin, Source, Whole
from .program import Expression, Program, message_of, whole_value

_DENSE = 64  # times the size: of no more values a table tells which were chosen


def subsets(source: Source, of: int, size: int, users: int) -> Whole:
    """Uniform subsets of 0 .. of - 1, one a row, exactly (Floyd's algorithm)."""
    chosen = np.empty((users, size), dtype=np.int64)
    table = np.zeros((users, of), dtype=bool) if of <= _DENSE * size else None
    rows = np.arange(users)
    for i in range(size):
        last = of - size + i
        drawn = source.below(last + 1, users)
        if table is None:
            taken = (chosen[:, :i] == drawn[:, None]).any(axis=1)
        else:
            taken = table[rows, drawn]
        chosen[:, i] = np.where(taken, last, drawn)
        if table is not None:
            table[rows, chosen[:, i]] = True
    return chosen


@dataclass(frozen=True)
class SubsetsClient(CountingClient):
    """Sends a subset of the values with the own one if a coin says so, else one without it.

    A message is the sorted list of its values.
    """

    size: int
    ratio: Fraction  # at most e^eps0

    @cached_property
    def inside(self) -> Coin:
        weight = self.ratio * self.size
        return Coin.at_most(weight / (weight + self.k - self.size))

    @property
    def bits(self) -> int:
        return self.size * bits_for(self.k)

    @property
    def width(self) -> int:
        return self.k if self.k <= _DENSE * self.size else self.size

    @property
    def support(self) -> Support:
        own = self.inside.probability
        return Support(float(own), float((self.size - own) / (self.k - 1)))

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        with_own = self.inside.toss(source, len(values))
        sent = np.empty((len(values), self.size), dtype=np.int64)
        for holds in (True, False):
            users = np.flatnonzero(with_own == holds)
            others = subsets(source, self.k - 1, self.size - holds, len(users))
            own = values[users, None]
            sent[users, : self.size - holds] = others + (others >= own)
            sent[users, self.size - holds :] = own
        sent.sort(axis=1)
        return sent

    def program(self) -> Program:
        def others(size: int) -> Expression:
            return ["skip", ["subset", str(size), str(self.k - 1)], "value", "1"]

        coin = ["coins", "1", str(self.inside.threshold)]
        own = ["join", others(self.size - 1), "value"] if self.size > 1 else "value"
        chosen = ["if", coin, own, others(self.size)]
        form = message_of("list", "int64", self.size)
        return Program(whole_value(self.k), form, ["sort", chosen])

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        return np.asarray((whole_messages(messages, (self.size,), self.k) == value).any(axis=1))

    @property
    def form(self) -> MessageForm:
        return MessageForm("set", (self.size,), 0, self.k, self.k)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        values = countable(self.k)

        def add(rows: NDArray[Any]) -> NDArray[Any]:
            _check_distinct(rows)
            return np.bincount(rows.ravel(), minlength=values)

        return in_blocks(messages, self.size, add)


def _check_distinct(rows: NDArray[Any]) -> None:
    """Refuse messages that have a value more than once; `randomize` sorts their values."""
    if (rows[:, 1:] > rows[:, :-1]).all():
        return
    ranked = np.sort(rows, axis=1)
    wrong = np.flatnonzero((ranked[:, 1:] == ranked[:, :-1]).any(axis=1))
    if len(wrong):
        raise InvalidParameter(
            f"messages has {validate.show(rows[wrong[0]].tolist())}, in which a value is repeated; "
            "give what randomize returned."
        )
