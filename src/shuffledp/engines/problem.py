"""What the engines are asked for, and what they answer.

The delta of a round of n users at epsilon is E[(S)_+]/n: every user draws a message from what all
send alike, the blanket, and S adds up their scores, each of which says how much likelier the
message is from one value in question than e^epsilon times from the other. The engines know nothing
of this: they get scores and their probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import BOTH, UNIT, Array, Side


@dataclass(frozen=True)
class ScoreSums:
    """E[(S)_+] of sums of `users` scores, a row for each.

    scores and probabilities: [rows, values], each row of probabilities with sum <= 1; the rest of
    the mass scores 0. `magnitudes` times 16 units bounds the error of the scores themselves,
    `error` plus 16 units the relative error of the probabilities. The `threshold` >= 0 of each row,
    which has a relative error of at most 16 units, is subtracted from the sum of the scores.

    As alpha grows, each score falls by its `falls` >= 0, with a relative error of 16 units, and the
    sum by `held` more; who is not interested in slopes leaves them out.

    There may be one more user, whose scores have the probabilities `last`, with the sum 1.
    Of bounds on other `sides` than these nothing will be made: they may be trivial.
    """

    scores: Array
    probabilities: Array
    magnitudes: Array
    threshold: Array
    users: int
    error: float = 0.0
    falls: Array | None = None
    held: float = 0.0
    last: Array | None = None
    sides: Sequence[Side] = BOTH

    def rows(self, index: NDArray[np.intp]) -> ScoreSums:
        if all_in_order(index, len(self.scores)):
            return self
        return replace(
            self,
            scores=self.scores[index],
            probabilities=self.probabilities[index],
            magnitudes=self.magnitudes[index],
            threshold=self.threshold[index],
            falls=None if self.falls is None else self.falls[index],
            last=None if self.last is None else self.last[index],
        )

    def by_law(self) -> list[NDArray[np.intp]]:
        """The rows with the same probabilities, together."""
        laws, law = np.unique(self.probabilities, axis=0, return_inverse=True)
        order = np.argsort(law.reshape(-1), kind="stable")
        return np.split(order, np.cumsum(np.bincount(law.reshape(-1)))[:-1]) if len(laws) else []

    def without(self, gone: NDArray[np.bool_], mass: Array) -> ScoreSums:
        """Given that no user has one of these scores, whose probabilities add up to `mass`."""
        return replace(
            self,
            scores=np.where(gone, 0.0, self.scores),
            probabilities=np.where(gone, 0.0, self.probabilities) / (1 - mass)[:, None],
            magnitudes=np.where(gone, 0.0, self.magnitudes),
            error=2 * self.error + (40 + self.scores.shape[1]) * UNIT,
            falls=None if self.falls is None else np.where(gone, 0.0, self.falls),
        )

    @cached_property
    def common(self) -> tuple[Array, Array, Array]:
        """The most likely score of each row, its magnitude and its probability; it is 0 where most
        of the mass is left over."""
        most, rows = self.probabilities.argmax(axis=1), np.arange(len(self.scores))
        likely = self.probabilities[rows, most]
        rest = np.maximum(1 - self.probabilities.sum(axis=1), 0.0)
        own = likely > rest
        return (
            np.where(own, self.scores[rows, most], 0.0),
            np.where(own, self.magnitudes[rows, most], 0.0),
            np.where(own, likely, rest),
        )

    @property
    def others(self) -> Array:
        """How many users have another score than the most likely one, on average."""
        number: Array = self.users * (1 - self.common[2])
        return number

    @property
    def slopes(self) -> Array:
        """The falls of all values."""
        return np.zeros(self.scores.shape) if self.falls is None else self.falls


def all_in_order(index: NDArray[np.intp], rows: int) -> bool:
    """Are these rows, none of them twice, all that there are, as they are? Few of them are seldom
    parted, and copying takes as long as a step of the work."""
    return len(index) == rows and bool((index[1:] > index[:-1]).all())


class Bracket(NamedTuple):
    """lower <= E[(S)_+] <= upper, and a line below it: for every other alpha, E[(S)_+] is at least
    `lower` minus some slope times the change of alpha; that slope lies between the last two."""

    lower: Array
    upper: Array
    slope_low: Array
    slope_high: Array


def without_slope(lower: Array, upper: Array) -> Bracket:
    """A bracket that says nothing of slopes."""
    return Bracket(lower, upper, np.zeros(len(lower)), np.full(len(lower), np.inf))
