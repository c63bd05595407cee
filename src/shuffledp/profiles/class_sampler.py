"""The profile of laws over classes of outputs: from laws and epsilons to sums of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines.choice import Choice
from ..engines.problem import ScoreSums
from ..laws.classes import ClassLaw
from . import tuning
from .samples import Samples

# proof constants: docs/theory.md, "Constants"
_SLACK = 16 * UNIT


class ClassSampler:
    """The profile of `users` users: at each epsilon, the largest over several laws of outputs.

    What is below e^-depth need not be known well. The users may be a random subset of them and
    `idle` others.
    """

    def __init__(
        self,
        laws: Sequence[ClassLaw],
        users: int,
        width: float,
        depth: float = 700.0,
        idle: int = 0,
    ) -> None:
        self._users, self._idle = users, idle
        self._width = min(width, tuning.WIDEST)
        values = max(len(law.u) for law in laws)
        # [laws, values], filled up with classes without mass
        self._u, self._v, self._blanket = (
            np.array([[*column, *[0.0] * (values - len(column))] for column in columns])
            for columns in zip(*((law.u, law.v, law.blanket) for law in laws), strict=True)
        )
        self._error = max(law.mass_error for law in laws)
        self._choice = Choice(users, values, users * math.exp(-depth))
        covered = self._blanket > 0
        safe = np.where(covered, self._blanket, 1.0)
        self._a = np.where(covered, self._u / safe, 0.0)
        self._b = np.where(covered, self._v / safe, 0.0)
        # from the largest loss on no score is positive: there is nothing to sum
        self._end = np.array([law.max_loss(users, idle) for law in laws])
        self._last_slope = 0.0  # nothing is known of it
        if not idle:
            self._end[(covered & (self._v == 0) & (self._u > 0)).any(axis=1)] = math.inf
            top = self._end.max()
            last = (law for law, end in zip(laws, self._end, strict=True) if end == top)
            self._last_slope = max(last_slope(law, users, top) for law in last)

    def __call__(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        lower, upper = self.largest(epsilon, np.ones((len(self._u), len(epsilon)), dtype=bool))
        slope = np.where(epsilon == self._end.max(), self._last_slope, 0.0)
        return Samples(lower, np.minimum(upper, 1.0), slope)

    def largest(
        self, epsilon: Array, wanted: NDArray[np.bool_], known: Array | None = None
    ) -> tuple[Array, Array]:
        """(lower, upper) at each epsilon of the largest delta of the laws `wanted` there.

        wanted: [laws, epsilons]. Laws that stay below `known` lower values need not be known well.
        """
        known = np.zeros(len(epsilon)) if known is None else known
        chunk = max(1, tuning.ROWS // len(self._u))
        parts = [
            self._evaluate(epsilon[i : i + chunk], wanted[:, i : i + chunk], known[i : i + chunk])
            for i in range(0, len(epsilon), chunk)
        ]
        lower, upper = (np.concatenate(side) for side in zip(*parts, strict=True))
        return lower, upper

    def _evaluate(
        self, epsilon: Array, wanted: NDArray[np.bool_], known: Array
    ) -> tuple[Array, Array]:
        law, where = np.nonzero(wanted)
        if len(self._u) == 1:
            return self._pairs(law, epsilon, self._width)
        lower, upper = np.zeros(wanted.shape), np.zeros(wanted.shape)
        rough = self._pairs(law, epsilon[where], max(self._width, tuning.ROUGH))
        lower[law, where], upper[law, where] = rough
        if self._width < tuning.ROUGH:
            # only laws that may be the largest at this epsilon need to be known well
            law, where = np.nonzero(upper > np.maximum(lower.max(axis=0), known))
            lower[law, where], upper[law, where] = self._pairs(law, epsilon[where], self._width)
        return lower.max(axis=0), upper.max(axis=0)

    def _pairs(self, law: NDArray[np.intp], epsilon: Array, width: float) -> tuple[Array, Array]:
        """(lower, upper) of each pair of a law and an epsilon."""
        alpha, slack = np.exp(epsilon)[:, None], _SLACK + self._error
        uncovered = self._blanket[law] == 0
        open_u, open_v = self._u[law] * uncovered, alpha * self._v[law] * uncovered
        lower = np.maximum((1 - slack) * open_u - (1 + slack) * open_v, 0.0).sum(axis=1)
        upper = np.maximum((1 + slack) * open_u - (1 - slack) * open_v, 0.0).sum(axis=1)
        population = self._users + self._idle
        lower, upper = (side * (self._users / population) for side in (lower, upper))
        a, b = self._a[law], self._b[law]
        some = (epsilon < self._end[law]) & ~uncovered.all(axis=1)
        if some.any():
            scores, magnitudes = (a - alpha * b)[some], (a + alpha * b)[some]
            idle = self._idle * np.expm1(epsilon[some])  # each of them scores 1 - alpha
            masses = self._blanket[law[some]]
            sums = ScoreSums(scores, masses, magnitudes, idle, self._users, self._error)
            low, high = self._choice.solve(sums, width)
            lower[some] += (1 - _SLACK) * low / population
            upper[some] += (1 + _SLACK) * high / population
        lower, upper = (1 - _SLACK) * lower, (1 + _SLACK) * upper + UNDERFLOW * some
        return np.where(lower > UNDERFLOW, lower, 0.0), upper


def last_slope(law: ClassLaw, users: int, largest: float) -> float:
    """Pr[loss = largest] under v, from below: minus the profile's slope where it reaches 0.

    The loss is the largest if the user's own message has the largest u/v and every other message
    is no part of the blanket or has that u/v too. 0 if the law does not have that loss.
    """
    if not law.bounded() or law.mass_error or law.max_loss(users) < largest:
        return 0.0
    rows = list(zip(law.u, law.v, law.blanket, strict=True))
    top = max(u / v for u, v, _ in rows if v > 0) * (1 - 2.0**-51)
    others = math.fsum(w for u, v, w in rows if u < top * v) * (1 + _SLACK)
    log_alone = (users - 1) * math.log1p(-min(others, 1 - UNIT)) * (1 + _SLACK)
    alone = math.exp(log_alone)
    mass = math.fsum(v * (alone if w > 0 else 1.0) for u, v, w in rows if 0 < top * v <= u)
    return mass * (1 - _SLACK)
