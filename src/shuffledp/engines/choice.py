"""Which engine answers: rules that are tried in order, each with the reason for it.

Every engine is certified for every sum of scores, so the choice is one of time and width only. A
rule is asked for the rows that suit it and whose bracket is still too wide; what it finds is put
together with what is known already.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from . import tuning
from .enumerated import enumerated_stop_loss, one_user_stop_loss
from .lattice import lattice_stop_loss
from .one_jump import jump_stop_loss
from .one_positive import one_positive_stop_loss
from .problem import Bracket, ScoreSums, all_in_order, without_slope
from .rare_scores import log_tail, rare_stop_loss, rare_users


@dataclass(frozen=True)
class Question:
    """E[(S)_+] of each row of `sums`, to a relative `width`.

    `few` are the rows of which so few users score that `listed` scoring users are enough. Values
    below `least` need not be known well.
    """

    sums: ScoreSums
    width: float
    few: NDArray[np.bool_]
    listed: int
    least: float

    def rows(self, index: NDArray[np.intp]) -> Question:
        if all_in_order(index, len(self.few)):
            return self
        return replace(self, sums=self.sums.rows(index), few=self.few[index])

    @property
    def all_listed(self) -> bool:
        return self.listed >= self.sums.users

    @cached_property
    def rare(self) -> NDArray[np.bool_]:
        """The rows of few values of which one is common and all others are rare."""
        masses = self.sums.probabilities
        if masses.shape[1] > tuning.FEW_VALUES or self.all_listed:
            return np.zeros(len(masses), dtype=bool)
        mean = self.sums.users * (masses.sum(axis=1) - masses.max(axis=1))
        rows: NDArray[np.bool_] = mean < tuning.RARE
        return rows

    @cached_property
    def positive(self) -> Array:
        """How many users have a positive score, on average."""
        sums = self.sums
        number: Array = sums.users * np.sum(sums.probabilities * (sums.scores > 0), axis=1)
        return number

    @cached_property
    def many_values(self) -> NDArray[np.bool_]:
        """The rows of many values, as densities have, and few users with another score than the
        most common one."""
        if self.sums.scores.shape[1] <= tuning.MANY or self.sums.users > tuning.FEW_USERS:
            return np.zeros(len(self.few), dtype=bool)
        rows: NDArray[np.bool_] = self.sums.others <= tuning.FEW_OTHERS
        return rows


@dataclass(frozen=True)
class Rule:
    """An engine, the rows that it is for, and why."""

    name: str
    reason: str
    suits: Callable[[Question], NDArray[np.bool_] | bool]
    solve: Callable[[Question], Bracket]


class Choice:
    """Answers for sums of scores with the same numbers of users and of values."""

    def __init__(self, users: int, values: int, least: float = 0.0) -> None:
        self._least = least
        self._most = 0  # scoring users, as many as can be listed
        while (
            self._most < min(users, tuning.MOST_LISTED)
            and math.comb(self._most + 1 + values, values) <= tuning.MOST_WAYS
        ):
            self._most += 1

    def solve(self, sums: ScoreSums, width: float) -> Bracket:
        question = self._question(sums, width)
        found = np.array(_nothing_known(len(sums.scores)))
        lower, upper = found[:2]
        wide = np.ones(len(lower), dtype=bool)
        for rule in RULES if sums.users > 1 else RULES[:1]:
            rows = (wide & rule.suits(question)).nonzero()[0]
            if len(rows):
                again = np.array(rule.solve(question.rows(rows)))
                upper[rows] = np.fmin(upper[rows], again[1])
                # a line belongs to its lower value
                better = again[0] > lower[rows]
                found[0::2, rows[better]] = again[0::2, better]
                found[3, rows[better]] = again[3, better]
                wide = upper - lower > width * np.maximum(lower, self._least)
                if not wide.any():
                    break
        return Bracket(*found)

    def _question(self, sums: ScoreSums, width: float) -> Question:
        mean, most = sums.users * sums.probabilities.sum(axis=1), self._most
        few = mean <= most / 4 if most < sums.users else np.ones(len(mean), dtype=bool)
        largest = float(mean[few].max(initial=0.0))
        while few.any() and most > 1 and log_tail(largest, most - 1) < -tuning.VANISHING:
            most -= 1
        return Question(sums, width, few, most, self._least)


def _nothing_known(rows: int) -> Bracket:
    return without_slope(np.zeros(rows), np.full(rows, np.inf))


def _list_rare(question: Question, depth: float, known: float | None = None) -> Bracket:
    """Lists rare users to `depth`, law by law, unless as many were listed for `known`."""
    lower, upper = np.zeros(len(question.few)), np.full(len(question.few), np.inf)
    users = question.sums.users
    for same in question.sums.by_law():
        law = question.sums.probabilities[same[0]]
        count = rare_users(users, law, depth)
        if count > (0 if known is None else rare_users(users, law, known)):
            lower[same], upper[same] = rare_stop_loss(question.sums.rows(same), count)
    return without_slope(lower, upper)


RULES = (
    Rule(
        "one user",
        "the sum is one score: a mean over its values",
        lambda q: q.sums.users == 1,
        lambda q: without_slope(*one_user_stop_loss(q.sums)),
    ),
    Rule(
        "enumerated",
        "few users score, or there are few users: every way to share out the scores can be listed",
        lambda q: q.few,
        lambda q: enumerated_stop_loss(q.sums, q.listed),
    ),
    Rule(
        "rare scores",
        "one score is common and all others rare: no smoothing fits, but the users who have the "
        "rare ones can be listed, as many as matter at moderate deltas",
        lambda q: q.rare,
        lambda q: _list_rare(q, tuning.SHALLOW),
    ),
    Rule(
        "rare scores, far out",
        "as many as matter at any delta, where that was not enough",
        lambda q: q.rare,
        lambda q: _list_rare(q, tuning.DEEP, tuning.SHALLOW),
    ),
    Rule(
        "one positive score",
        "hardly anybody has a positive score, so that no tilt tells a positive sum from rounding: "
        "one user has it, and the others' sum is negative; if two of them are unlikely, this may "
        "still be narrower than a tilt, to which both together are left",
        lambda q: q.many_values & (q.positive < tuning.ONE_POSITIVE) & (not q.all_listed),
        lambda q: one_positive_stop_loss(q.sums, q.width),
    ),
    Rule(
        "lattice",
        "so many values that transforms are quicker than an integral over their characteristic "
        "function, and so few users that this does not fall off quickly",
        lambda q: q.many_values & (q.positive >= tuning.SURELY_ONE),
        lambda q: jump_stop_loss(q.sums, q.width, lattice_stop_loss, q.least),
    ),
    Rule(
        "fourier",
        "any law, at a cost that does not grow with the users, big scores apart; also far in the "
        "tail, where the ways that were not listed may matter",
        lambda q: ~q.many_values & (not q.all_listed),
        lambda q: jump_stop_loss(q.sums, q.width, least=q.least),
    ),
)
