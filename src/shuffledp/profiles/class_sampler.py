"""The profile of laws over classes of outputs: from laws and epsilons to sums of scores.

delta(epsilon) of n users is E[(S)_+]/n for the sum S of n scores (u - e^epsilon v)/blanket, plus
what the outputs outside the blanket tell. An engine finds the expectation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import BOTH, UNDERFLOW, UNIT, Array, Side
from ..engines.problem import ScoreSums
from ..laws.classes import ClassLaw
from . import tuning
from .samples import Samples

# proof constants: docs/theory.md, "Constants"
_SLACK = 16 * UNIT


class ClassSampler:
    """The profile of `users` users: at each epsilon, the largest over several laws of outputs.

    What is below e^-depth need not be known well. The users may be a random subset of them and
    `idle` others. Bounds on other `sides` than these may be trivial, and so may `slopes`.
    """

    def __init__(
        self,
        laws: Sequence[ClassLaw],
        users: int,
        width: float,
        depth: float = 700.0,
        idle: int = 0,
        sides: Sequence[Side] = BOTH,
        slopes: bool = True,
    ) -> None:
        from ..engines.choice import EngineChoice  # all the engines, which importing can do without

        self._users, self._idle, self._sides = users, idle, sides
        self._slopes = slopes and Side.LOWER in sides
        self._width = min(width, tuning.WIDEST)
        values = max(len(law.u) for law in laws)
        # [laws, values], filled up with classes without mass
        self._u, self._v, self._blanket = (
            np.array([[*column, *[0.0] * (values - len(column))] for column in columns])
            for columns in zip(*((law.u, law.v, law.blanket) for law in laws), strict=True)
        )
        self._error = max(law.mass_error for law in laws)
        self._choice = EngineChoice(users * math.exp(-depth))
        covered = self._blanket > 0
        self._scoring = np.logical_or.reduce(covered, axis=1)
        self._open = bool(((self._u > 0) | (self._v > 0))[~covered].any())
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
        found = self.largest(epsilon, np.ones((len(self._u), len(epsilon)), dtype=bool))
        slope = np.where(epsilon == self._end.max(), self._last_slope, found.slope_low)
        return Samples(found.lower, np.minimum(found.upper, 1.0), slope, found.slope_high)

    def largest(
        self, epsilon: Array, wanted: NDArray[np.bool_], known: Array | None = None
    ) -> Samples:
        """The largest delta, at each epsilon, of the laws `wanted` there.

        wanted: [laws, epsilons]. Laws that stay below `known` lower values need not be known well.
        """
        known = np.zeros(len(epsilon)) if known is None else known
        chunk = max(1, tuning.ROWS // len(self._u))
        parts = [
            self._evaluate(epsilon[i : i + chunk], wanted[:, i : i + chunk], known[i : i + chunk])
            for i in range(0, len(epsilon), chunk)
        ]
        return Samples(*np.concatenate(parts, axis=1))

    def _evaluate(self, epsilon: Array, wanted: NDArray[np.bool_], known: Array) -> Array:
        found, done = np.zeros((4, *wanted.shape)), ~wanted

        def evaluate(left: NDArray[np.bool_], width: float) -> NDArray[np.bool_]:
            """And say where a law may still be the largest, and is not known well."""
            law, where = np.nonzero(left)
            found[:, law, where] = self._pairs(law, epsilon[where], width)
            if width == self._width:
                done[law, where] = True
            high: NDArray[np.bool_] = found[1] > np.maximum(found[0].max(axis=0), known)
            return high & ~done

        many = len(self._u) > tuning.FEW_LAWS
        least = tuning.WORTH_A_LOOK * self._width if len(self._u) > 1 else math.inf
        widths = [width for width in tuning.ROUGH[0 if many else 1 :] if width > least]
        left = wanted
        for i, width in enumerate(widths):
            left = evaluate(left, width)
            if i == 0 and many:  # others need not be known well if they are below what leads so far
                leads = found[1].argmax(axis=0) == np.arange(len(self._u))[:, None]
                left = evaluate(left & leads, self._width)
        evaluate(left, self._width)
        best: Array = found[:, found[0].argmax(axis=0), np.arange(len(epsilon))]
        best[1] = found[1].max(axis=0)
        return best

    def _pairs(self, law: NDArray[np.intp], epsilon: Array, width: float) -> Array:
        """The samples of each pair of a law and an epsilon: [4, pairs]."""
        alpha, slack = np.exp(epsilon)[:, None], _SLACK + self._error
        population = self._users + self._idle
        found = np.zeros((4, len(law)))
        if self._open:
            found += self._uncovered(law, alpha, slack) * (self._users / population)
        a, b = self._a[law], self._b[law]
        some = (epsilon < self._end[law]) & self._scoring[law]
        if some.any():
            sums = ScoreSums(
                (a - alpha * b)[some],
                self._blanket[law[some]],
                (a + alpha * b)[some],
                self._idle * np.expm1(epsilon[some]),  # each of them scores 1 - alpha
                self._users,
                self._error,
                b[some] if self._slopes else None,
                self._idle,
                sides=self._sides,
            )
            outward = np.array([[-1], [1], [-1], [1]]) * _SLACK
            found[:, some] += np.array(self._choice.solve(sums, width)) * (1 + outward) / population
        found *= 1 + np.array([[-1], [1], [-1], [1]]) * np.array([[_SLACK]] * 2 + [[2 * slack]] * 2)
        found[1] += UNDERFLOW * some
        found[0, found[0] <= UNDERFLOW] = 0.0
        return found

    def _uncovered(self, law: NDArray[np.intp], alpha: Array, slack: float) -> Array:
        """What the outputs outside the blanket tell, which nobody else sends: [4, pairs]."""
        uncovered = self._blanket[law] == 0
        open_u, open_v = self._u[law] * uncovered, alpha * self._v[law] * uncovered
        least = (1 - slack) * open_u - (1 + slack) * open_v
        found = np.empty((4, len(law)))
        found[0] = np.maximum(least, 0.0).sum(axis=1)
        found[1] = np.maximum((1 + slack) * open_u - (1 - slack) * open_v, 0.0).sum(axis=1)
        found[2:] = np.sum(self._v[law], axis=1, where=uncovered & (least > 0))
        return found


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
