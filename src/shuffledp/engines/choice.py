"""Which engine answers: one table of rules, tried in order, each with the reason for it.

Every engine is certified for every sum of scores, so that the choice affects time and width only.
A rule is asked for the rows that it suits and whose bounds are still too wide; its bounds are
intersected with those that are known already.

Theory: docs/theory/engines.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import Array
from .big_scores import dominant_stop_loss, large_stop_loss
from .one_positive import one_positive_stop_loss
from .problem import ScoreSums, StopLossBounds, one_user_stop_loss, without_falls
from .rare_scores import rare_stop_loss
from .tilted_lattice import lattice_stop_loss


@dataclass(frozen=True)
class StopLossProblem:
    """E[(S)_+] of each row of `sums`, to a relative `width`; values below `least` need none."""

    sums: ScoreSums
    width: float
    least: float

    def rows(self, index: NDArray[np.intp]) -> StopLossProblem:
        return replace(self, sums=self.sums.rows(index))

    @cached_property
    def expected_positive(self) -> Array:
        """The expected number of users with a positive score."""
        sums = self.sums
        number: Array = sums.users * np.sum(sums.probabilities * (sums.scores > 0), axis=1)
        return number

    @cached_property
    def can_be_listed(self) -> NDArray[np.bool_]:
        """Whether there are at most six values, and few users or few with an uncommon score."""
        masses, users = self.sums.probabilities, self.sums.users
        kinds = masses.shape[1] - 1
        if kinds > 5:  # too many ways to share out the scores
            return np.zeros(len(masses), dtype=bool)
        if users <= 60 and math.comb(users + kinds, kinds) <= tuning.MOST_WAYS:
            return np.ones(len(masses), dtype=bool)
        rows: NDArray[np.bool_] = users * (masses.sum(axis=1) - masses.max(axis=1)) < 2
        return rows

    @cached_property
    def suits_lattice(self) -> NDArray[np.bool_]:
        """Whether there are many values, as of densities, and few users with an uncommon score."""
        # rounding errors on a lattice grow with the users
        if self.sums.scores.shape[1] <= tuning.MANY_VALUES or not 1 < self.sums.users <= 1 << 22:
            return np.zeros(len(self.sums.scores), dtype=bool)
        rows: NDArray[np.bool_] = self.sums.expected_uncommon <= tuning.FEW_OTHERS
        return rows


@dataclass(frozen=True)
class EngineRule:
    """An engine, the rows that it suits, and why."""

    name: str
    reason: str
    suits: Callable[[StopLossProblem], NDArray[np.bool_] | bool]
    solve: Callable[[StopLossProblem], StopLossBounds]


RULES = (
    EngineRule(
        "one user",
        "the sum is one score: its bounds are a mean over the values",
        lambda q: q.sums.users == 1,
        lambda q: one_user_stop_loss(q.sums),
    ),
    EngineRule(
        "rare scores",
        "one score is common and all others are rare, or there are few users: no smoothing fits, "
        "but the ways in which users have the uncommon scores can be listed",
        lambda q: (q.sums.users > 1) & q.can_be_listed,
        lambda q: rare_stop_loss(q.sums),
    ),
    EngineRule(
        "one positive score",
        "two positive scores are unlikely, and under a tilt positive sums are lost in rounding "
        "errors: condition on the user who has a positive score",
        lambda q: q.suits_lattice & (q.expected_positive < tuning.ONE_POSITIVE),
        lambda q: one_positive_stop_loss(q.sums, q.width),
    ),
    EngineRule(
        "lattice",
        "few users, whose characteristic function decays slowly, and so many values that "
        "transforms are quicker than a quadrature; dominant scores in closed form",
        lambda q: q.suits_lattice & (q.expected_positive >= tuning.SURELY_ONE),
        lambda q: dominant_stop_loss(q.sums, q.width, lattice_stop_loss, q.least),
    ),
    EngineRule(
        "fourier",
        "any other law, at a cost that does not grow with the users; dominant and large scores "
        "are conditioned on",
        lambda q: (q.sums.users > 1) & ~q.suits_lattice,
        lambda q: dominant_stop_loss(q.sums, q.width, large_stop_loss, q.least),
    ),
)


def bound_stop_loss(sums: ScoreSums, width: float, least: float = 0.0) -> StopLossBounds:
    """Return bounds on E[(S)_+] of every row by the rules of the table, to about `width`.

    Parameters
    ----------
    sums : ScoreSums
        Shape [rows, values]; one independent problem per row.
    width : float
        Relative width in epsilon to aim for. The result may be wider, never wrong.
    least : float
        Values below this need no accuracy.

    Notes
    -----
    docs/theory/engines.md. Every rule answers the rows that it suits and whose values are not known
    to a relative `width`. That is stricter than the width in epsilon, so that usually all rules
    that suit a row are tried. Upper bounds and lower bounds of several rules are intersected.
    """
    problem, rows = StopLossProblem(sums, width, least), len(sums.scores)
    found = np.array(without_falls(np.zeros(rows), np.full(rows, np.inf)))
    lower, upper = found[:2]  # views
    is_wide = np.ones(rows, dtype=bool)
    for rule in RULES:
        chosen = (is_wide & rule.suits(problem)).nonzero()[0]
        if len(chosen):
            again = np.array(rule.solve(problem.rows(chosen)))
            upper[chosen] = np.fmin(upper[chosen], again[1])
            # the fall is that of whichever lower bound is kept
            better = again[0] > lower[chosen]
            for row in (0, 2, 3):
                found[row, chosen[better]] = again[row, better]
            is_wide = upper - lower > width * np.maximum(lower, least)
            if not is_wide.any():
                break
    return StopLossBounds(*found)
