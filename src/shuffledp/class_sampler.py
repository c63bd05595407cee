"""Evaluates the profile of laws over classes of outputs, by whichever engine fits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .binomial import Array
from .convolved import convolved_stop_loss
from .enumerated import enumerated_stop_loss
from .fourier import stop_loss
from .scores import ClassLaw
from .stop_loss import UNDERFLOW, Samples

_SLACK = 16 * 2.0**-53
_MOST_WAYS = 20_000  # up to so many ways to share out the scores are enumerated
_ROUGH = 0.01  # width at which laws are compared before the largest are evaluated finely
_HEAVY = 1.2  # bounds further apart than this tell of a heavy tail,
_MANY = 64  # if there are so many values
_FEW_USERS = 1 << 22
_ROWS = 1 << 12  # (law, epsilon) pairs prepared at once


class ClassSampler:
    """The profile of `users` users: at each epsilon, the largest over several laws of outputs.

    If only one side of it is wanted, -1 or 1, then the other may be as wide as it comes.
    """

    def __init__(self, laws: Sequence[ClassLaw], users: int, width: float, side: int = 0) -> None:
        self._users = users
        self._sides = (side,) if side else (-1, 1)
        self._heavy = False  # did a tail prove to be too heavy for the Fourier engine?
        self._width = min(width, 0.1)
        values = max(len(law.u) for law in laws)
        # [laws, values], filled up with classes without mass
        self._u, self._v, self._blanket = (
            np.array([[*column, *[0.0] * (values - len(column))] for column in columns])
            for columns in zip(*((law.u, law.v, law.blanket) for law in laws), strict=True)
        )
        self._error = max(law.mass_error for law in laws)
        covered = self._blanket > 0
        safe = np.where(covered, self._blanket, 1.0)
        self._a = np.where(covered, self._u / safe, 0.0)
        self._b = np.where(covered, self._v / safe, 0.0)
        # from the largest loss on no score is positive: there is nothing to sum
        self._end = np.array([law.max_loss(users) for law in laws])
        self._end[(covered & (self._v == 0) & (self._u > 0)).any(axis=1)] = math.inf

    def __call__(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        chunk = max(1, _ROWS // len(self._u))
        parts = [self._evaluate(e) for e in np.split(epsilon, range(chunk, len(epsilon), chunk))]
        lower, upper = (np.concatenate(side) for side in zip(*parts, strict=True))
        return Samples(lower, np.minimum(upper, 1.0))

    def _evaluate(self, epsilon: Array) -> tuple[Array, Array]:
        laws = len(self._u)
        law, where = (index.ravel() for index in np.indices((laws, len(epsilon))))
        if laws == 1:
            return self._pairs(law, epsilon, self._width)
        rough = self._pairs(law, epsilon[where], max(self._width, _ROUGH))
        lower, upper = (side.reshape(laws, -1) for side in rough)
        if self._width < _ROUGH:
            # only laws that may be the largest at this epsilon need to be known well
            law, where = np.nonzero(upper > lower.max(axis=0))
            lower[law, where], upper[law, where] = self._pairs(law, epsilon[where], self._width)
        return lower.max(axis=0), upper.max(axis=0)

    def _pairs(self, law: NDArray[np.intp], epsilon: Array, width: float) -> tuple[Array, Array]:
        """(lower, upper) of each pair of a law and an epsilon."""
        alpha, slack = np.exp(epsilon)[:, None], _SLACK + self._error
        uncovered = self._blanket[law] == 0
        open_u, open_v = self._u[law] * uncovered, alpha * self._v[law] * uncovered
        lower = np.maximum((1 - slack) * open_u - (1 + slack) * open_v, 0.0).sum(axis=1)
        upper = np.maximum((1 + slack) * open_u - (1 - slack) * open_v, 0.0).sum(axis=1)
        a, b = self._a[law], self._b[law]
        some = (epsilon < self._end[law]) & ~uncovered.all(axis=1)
        if some.any():
            scores, magnitudes = (a - alpha * b)[some], (a + alpha * b)[some]
            low, high = self._stop_loss(scores, self._blanket[law[some]], magnitudes, width)
            lower[some] += (1 - _SLACK) * low / self._users
            upper[some] += (1 + _SLACK) * high / self._users
        lower, upper = (1 - _SLACK) * lower, (1 + _SLACK) * upper + UNDERFLOW * some
        return np.where(lower > UNDERFLOW, lower, 0.0), upper

    def _stop_loss(
        self, scores: Array, probabilities: Array, magnitudes: Array, width: float
    ) -> tuple[Array, Array]:
        users, values = self._users, scores.shape[1]
        if users == 1:
            slack, error = _SLACK * magnitudes, self._error + 2.0**-53 * (values + 8)
            low, high = (
                np.sum(probabilities * np.maximum(scores + side * slack, 0.0), axis=1)
                * (1 + side * error)
                for side in (-1, 1)
            )
            return low, high
        most = 0  # scoring users, as many as can be enumerated
        while most < min(users, 200) and math.comb(most + 1 + values, values) <= _MOST_WAYS:
            most += 1
        lower, upper = np.zeros(len(scores)), np.full(len(scores), np.inf)
        few = users * probabilities.sum(axis=1) <= most / 4 if most < users else upper > 0
        rare = np.flatnonzero(few)
        for rows in np.split(rare, range(32, len(rare), 32)):
            if len(rows):
                lower[rows], upper[rows] = enumerated_stop_loss(
                    scores[rows], probabilities[rows], magnitudes[rows], users, most, self._error
                )
        # far in the tail the ways that were left out may matter
        rows = np.flatnonzero(upper > (1 + width) * lower)
        if most < users and len(rows) and not self._heavy:
            low, high = stop_loss(
                scores[rows], probabilities[rows], magnitudes[rows], users, width, self._error
            )
            lower[rows], upper[rows] = np.maximum(lower[rows], low), np.minimum(upper[rows], high)
        # no single scale fits a heavy tail: where few users meet one, sum without transforms
        rows = np.flatnonzero(upper > _HEAVY * lower)
        if values > _MANY and users <= _FEW_USERS and width < _ROUGH and len(rows):
            self._heavy = True
            for side in self._sides:
                value = convolved_stop_loss(
                    scores[rows], probabilities[rows], magnitudes[rows], users, side, self._error
                )
                if side < 0:
                    lower[rows] = np.maximum(lower[rows], value)
                else:
                    upper[rows] = np.minimum(upper[rows], value)
        return lower, upper
