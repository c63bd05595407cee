"""Sums of scores, E[(S)_+], and certified bounds on them: the interface of all engines.

The delta of a round of n users at epsilon is at most E[(S)_+]/n. Every user draws a message from
the blanket, the part of the message law that all users share, or has the score 0, and S adds up the
scores of these messages. The score of a message is (u - e^epsilon v)/blanket, where u and v are its
probabilities for the two values in question. What no blanket covers is added by the callers. The
engines know nothing of this: they get scores and their probabilities.

Theory: docs/theory/engines.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import BOTH, UNIT, Array, Side

# proof constants: docs/theory/constants.md
ROUNDING = 20 * UNIT  # error of scaled scores, relative to their magnitudes, and of the threshold
#: More than underflow can take from, or add to, a sum: 4 units of 5e-324 for each term.
LEAST = 1e-315


@dataclass(frozen=True)
class ScoreSums:
    """Sums S of independent scores less a threshold, one problem per row.

    Attributes
    ----------
    scores : Array
        Shape [rows, values].
    probabilities : Array
        Shape [rows, values], with row sums of at most 1. The remaining mass has score 0. Each has a
        relative error of at most `error` plus 16 units.
    magnitudes : Array
        Shape [rows, values]; 16 units of these bound the error of the scores.
    threshold : Array
        Shape [rows], >= 0, subtracted from the sum; relative error of at most 16 units.
    users : int
        Number of scores in a sum, besides that of the one more user of `last`.
    error : float
        Relative error of the probabilities.
    falls : Array or None
        Shape [rows, values], >= 0: the decrease of each score per unit of alpha, with a relative
        error of 16 units. None if no falls are needed.
    threshold_rise : float
        The increase of the threshold per unit of alpha.
    last : Array or None
        Shape [rows, values], with row sums of 1: the probabilities of the score of one more user.
    sides : Sequence[Side]
        The bounds that are needed; the others may be trivial.
    """

    scores: Array
    probabilities: Array
    magnitudes: Array
    threshold: Array
    users: int
    error: float = 0.0
    falls: Array | None = None
    threshold_rise: float = 0.0
    last: Array | None = None
    sides: Sequence[Side] = BOTH

    def rows(self, index: NDArray[np.intp]) -> ScoreSums:
        """Return the problems of some rows."""
        return replace(
            self,
            scores=self.scores[index],
            probabilities=self.probabilities[index],
            magnitudes=self.magnitudes[index],
            threshold=self.threshold[index],
            falls=None if self.falls is None else self.falls[index],
            last=None if self.last is None else self.last[index],
        )

    def without(self, excluded: NDArray[np.bool_], mass: Array) -> ScoreSums:
        """Return the law conditioned on no user having an excluded score.

        Parameters
        ----------
        excluded : NDArray[np.bool_]
            Shape [rows, values].
        mass : Array
            The total probability of the excluded scores of each row.
        """
        return replace(
            self,
            scores=np.where(excluded, 0.0, self.scores),
            probabilities=np.where(excluded, 0.0, self.probabilities) / (1 - mass)[:, None],
            magnitudes=np.where(excluded, 0.0, self.magnitudes),
            error=2 * self.error + (40 + self.scores.shape[1]) * UNIT,
            falls=None if self.falls is None else np.where(excluded, 0.0, self.falls),
        )

    @cached_property
    def common(self) -> tuple[Array, Array, Array]:
        """The most likely score of each row, its magnitude and its probability.

        The score is 0 where the remaining mass is the most likely.
        """
        most, rows = self.probabilities.argmax(axis=1), np.arange(len(self.scores))
        likely = self.probabilities[rows, most]
        rest = np.maximum(1 - self.probabilities.sum(axis=1), 0.0)
        is_listed = likely > rest
        return (
            np.where(is_listed, self.scores[rows, most], 0.0),
            np.where(is_listed, self.magnitudes[rows, most], 0.0),
            np.where(is_listed, likely, rest),
        )

    @property
    def expected_uncommon(self) -> Array:
        """The expected number of users whose score is not the most likely one."""
        number: Array = self.users * (1 - self.common[2])
        return number

    @property
    def all_falls(self) -> Array:
        """The falls of all values, 0 if none were given."""
        return np.zeros(self.scores.shape) if self.falls is None else self.falls

    def trivial_bound(self) -> Array:
        """Return the upper bound on E[(S)_+] that adds up the means of all (score)_+."""
        gains = np.maximum(self.scores + ROUNDING * self.magnitudes, 0.0)
        bound: Array = self.users * np.sum(self.probabilities * gains, axis=1)
        if self.last is not None:
            bound += np.sum(self.last * gains, axis=1)
        bound *= 1 + (24 + gains.shape[1]) * UNIT + self.error
        return bound


class StopLossBounds(NamedTuple):
    """Bounds lower <= E[(S)_+] <= upper, and a line below E[(S)_+] as a function of alpha.

    At any other alpha, E[(S)_+] is at least `lower` minus a fall times the change of alpha, for
    some fall between `fall_low` and `fall_high`.
    """

    lower: Array
    upper: Array
    fall_low: Array
    fall_high: Array


def without_falls(lower: Array, upper: Array) -> StopLossBounds:
    """Return bounds whose falls are unknown."""
    return StopLossBounds(lower, upper, np.zeros(len(lower)), np.full(len(lower), np.inf))


def one_user_stop_loss(sums: ScoreSums) -> StopLossBounds:
    """Return bounds on E[(S)_+] for one user: a mean over the scores.

    Parameters
    ----------
    sums : ScoreSums
        Score laws of one user, shape [rows, values].

    Returns
    -------
    StopLossBounds
        One entry per row, without falls.
    """
    threshold = sums.threshold[:, None]
    # the errors of the law, and the roundings here
    scores, slack = sums.scores - threshold, 32 * UNIT * (sums.magnitudes + threshold)
    error = sums.error + 32 * UNIT + UNIT * scores.shape[1]
    lower, upper = (
        np.sum(sums.probabilities * np.maximum(scores + side * slack, 0.0), axis=1)
        * (1 + side * error)
        + side * LEAST
        for side in BOTH
    )
    return without_falls(lower, upper)
