"""What the engines are asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array


@dataclass(frozen=True)
class ScoreSums:
    """E[(S)_+] of sums of `users` scores, a row for each.

    scores and probabilities: [rows, values], each row of probabilities with sum <= 1; the rest of
    the mass scores 0. `magnitudes` times 16 units bounds the error of the scores themselves,
    `error` plus 16 units the relative error of the probabilities. The `threshold` >= 0 of each row,
    which has a relative error of at most 16 units, is subtracted from the sum of the scores.
    """

    scores: Array
    probabilities: Array
    magnitudes: Array
    threshold: Array
    users: int
    error: float = 0.0

    def rows(self, index: NDArray[np.intp]) -> ScoreSums:
        return ScoreSums(
            self.scores[index],
            self.probabilities[index],
            self.magnitudes[index],
            self.threshold[index],
            self.users,
            self.error,
        )
