"""The client of any randomizer that is given by its probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from ..errors import InvalidParameter
from .base import Client, MessageForm, bits_for, whole_values
from .counts import Counts, Estimate
from .entropy import Source
from .inversion import Inversion, of_fractions
from .program import Program, WeightsLaw, message_of, whole_value

_UNBIASED = 1e-6  # how far the mean of an estimated count of one user may be from 0 or 1


@dataclass(frozen=True, eq=False)
class MatrixClient(Client):
    """Sends an output with exactly the probability that the matrix says. A message is its number.

    The rows are taken as they are, bit for bit, each divided by its exact sum.
    """

    rows: Array

    @property
    def bits(self) -> int:
        return bits_for(self.rows.shape[1])

    def checked(self, values: Any) -> NDArray[Any]:
        return whole_values(values, len(self.rows))

    def steps(self, value: int) -> list[Fraction]:
        """The distribution function of the outputs but the last."""
        weights = [Fraction(weight) for weight in self.rows[value].tolist()]
        total, sums, so_far = sum(weights), [], Fraction(0)
        for weight in weights[:-1]:
            so_far += weight
            sums.append(so_far / total)
        return sums

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        words, sent = source.words(len(values)), np.empty(len(values), dtype=np.int64)
        for value in np.unique(values).tolist():
            users = np.flatnonzero(values == value)
            law = Inversion(of_fractions(self.steps(value)))
            sent[users] = law.drawn(words[users], source)
        return sent

    def program(self) -> Program:
        laws = []
        for row in self.rows.tolist():
            weights = [Fraction(weight) for weight in row]
            scale = math.lcm(*(weight.denominator for weight in weights))
            laws.append(WeightsLaw(tuple(int(weight * scale) for weight in weights)))
        value, form = whole_value(len(laws)), message_of("number", "int64")
        return Program(value, form, ["law", "value", "1"], tuple(laws))

    @property
    def form(self) -> MessageForm:
        outputs = self.rows.shape[1]
        return MessageForm("value", (), 0, outputs, outputs)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(messages, minlength=self.rows.shape[1])

    @cached_property
    def weights(self) -> Array:
        """How much each output adds to the estimated count of each value."""
        inverse = np.linalg.pinv(self.rows)
        if np.abs(self.rows @ inverse - np.eye(len(self.rows))).max() > _UNBIASED:
            raise InvalidParameter(
                f"the {len(self.rows)} rows of the matrix depend on one another linearly, so that "
                "counts cannot be estimated; give other probabilities."
            )
        return np.asarray(inverse)

    @cached_property
    def _variances(self) -> Array:
        """Of the estimated count of each value (column), by the value of one user (row)."""
        return np.maximum(self.rows @ self.weights**2 - (self.rows @ self.weights) ** 2, 0.0)

    def variance(self, users: float, count: Any) -> float:
        """Of the estimated count of the worst value that so many have, whatever the others do."""
        own = self._variances.diagonal()
        other = (self._variances - np.diag(own)).max(axis=0)
        return float((count * own + (users - count) * other).max())

    def estimate(self, counts: Counts) -> Estimate:
        found = self._checked_counts(counts).tally @ self.weights
        likely = np.clip(found, 0, None)
        likely *= counts.users / max(math.fsum(likely), 1e-300)
        rare = math.sqrt(self.variance(counts.users, 0))
        return Estimate(counts.users, found, np.sqrt(likely @ self._variances), rare)
