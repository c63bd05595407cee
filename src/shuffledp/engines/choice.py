"""Which engine answers: rules that are tried in order, each with the reason for it.

Every engine is certified for every sum of scores, so the choice is one of time and width only. A
rule is asked for the rows that suit it and whose bracket is still too wide; what it finds is put
together with what is known already.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from . import tuning
from .convolved import convolved_stop_loss
from .enumerated import enumerated_stop_loss, one_user_stop_loss
from .one_jump import jump_stop_loss
from .problem import ScoreSums
from .rare_scores import log_tail, rare_stop_loss, rare_users

#: (lower, upper) of some rows.
Bracket = tuple[Array, Array]


@dataclass(frozen=True)
class Question:
    """E[(S)_+] of each row of `sums`, to a relative `width`.

    `few` are the rows of which so few users score that `listed` scoring users are enough.
    """

    sums: ScoreSums
    width: float
    few: NDArray[np.bool_]
    listed: int

    @property
    def users(self) -> int:
        return self.sums.users

    @property
    def values(self) -> int:
        return int(self.sums.scores.shape[1])


@dataclass(frozen=True)
class Rule:
    """An engine, the rows that it is for, and why."""

    name: str
    reason: str
    suits: Callable[[Question], NDArray[np.bool_] | bool]
    solve: Callable[[Question, NDArray[np.intp]], Bracket]
    from_width: Callable[[], float] = float  # of brackets that are worth its time, relative


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
        lower, upper = _nothing_known(len(sums.scores))
        for rule in RULES:
            worth = max(width, rule.from_width())
            wide = upper - lower > worth * np.maximum(lower, self._least)
            rows = np.flatnonzero(wide & rule.suits(question))
            if len(rows):
                low, high = rule.solve(question, rows)
                lower[rows] = np.maximum(lower[rows], low)
                upper[rows] = np.minimum(upper[rows], high)
        return lower, upper

    def _question(self, sums: ScoreSums, width: float) -> Question:
        mean, most = sums.users * sums.probabilities.sum(axis=1), self._most
        few = mean <= most / 4 if most < sums.users else np.ones(len(mean), dtype=bool)
        largest = float(mean[few].max(initial=0.0))
        while few.any() and most > 1 and log_tail(largest, most - 1) < -tuning.VANISHING:
            most -= 1
        return Question(sums, width, few, most)


def _nothing_known(rows: int) -> Bracket:
    return np.zeros(rows), np.full(rows, np.inf)


def _is_one_user(question: Question) -> bool:
    return question.users == 1


def _one_user(question: Question, rows: NDArray[np.intp]) -> Bracket:
    return one_user_stop_loss(question.sums.rows(rows))


def _few_score(question: Question) -> NDArray[np.bool_] | bool:
    return question.users > 1 and question.few


def _list(question: Question, rows: NDArray[np.intp]) -> Bracket:
    lower, upper = np.empty((2, len(rows)))
    for i in range(0, len(rows), tuning.LISTED_ROWS):
        part = slice(i, i + tuning.LISTED_ROWS)
        lower[part], upper[part] = enumerated_stop_loss(
            question.sums.rows(rows[part]), question.listed
        )
    return lower, upper


def _is_not_listed(question: Question) -> bool:
    return question.users > 1 and question.listed < question.users


def _others_rare(question: Question) -> NDArray[np.bool_] | bool:
    masses = question.sums.probabilities
    mean = question.users * (masses.sum(axis=1) - masses.max(axis=1))
    return _is_not_listed(question) and question.values <= tuning.FEW_VALUES and mean < tuning.RARE


def _count_rare(question: Question, rows: NDArray[np.intp]) -> Bracket:
    return _rare_to(question, rows, tuning.SHALLOW)


def _count_more_of_them(question: Question, rows: NDArray[np.intp]) -> Bracket:
    return _rare_to(question, rows, tuning.DEEP, tuning.SHALLOW)


def _rare_to(
    question: Question, rows: NDArray[np.intp], depth: float, known: float | None = None
) -> Bracket:
    """Lists rare users to `depth`, law by law, unless as many were listed for `known`."""
    lower, upper = _nothing_known(len(rows))
    masses = question.sums.probabilities[rows]
    for law in np.unique(masses, axis=0):
        same = np.flatnonzero((masses == law).all(axis=1))
        count = rare_users(question.users, law, depth)
        if count > (0 if known is None else rare_users(question.users, law, known)):
            lower[same], upper[same] = rare_stop_loss(question.sums.rows(rows[same]), count)
    return lower, upper


def _any_law(question: Question) -> bool:
    return _is_not_listed(question)


def _integrate(question: Question, rows: NDArray[np.intp]) -> Bracket:
    return jump_stop_loss(question.sums.rows(rows), question.width)


def _heavy_tail(question: Question) -> bool:
    return 1 < question.users <= tuning.FEW_USERS and question.values > tuning.MANY


def _convolve(question: Question, rows: NDArray[np.intp]) -> Bracket:
    if question.width >= tuning.WORTH:  # only compared with others
        return _nothing_known(len(rows))
    return convolved_stop_loss(question.sums.rows(rows))


RULES = (
    Rule(
        "one user",
        "the sum is one score: a mean over its values",
        _is_one_user,
        _one_user,
    ),
    Rule(
        "enumerated",
        "few users score, or there are few users: every way to share out the scores can be listed",
        _few_score,
        _list,
    ),
    Rule(
        "rare scores",
        "one score is common and all others rare: no smoothing fits, but the users who have the "
        "rare ones can be listed, as many as matter at moderate deltas",
        _others_rare,
        _count_rare,
    ),
    Rule(
        "rare scores, far out",
        "as many as matter at any delta, where that was not enough",
        _others_rare,
        _count_more_of_them,
    ),
    Rule(
        "fourier",
        "any law, at a cost that does not grow with the users, big scores apart; also far in the "
        "tail, where the ways that were not listed may matter",
        _any_law,
        _integrate,
    ),
    Rule(
        "convolved",
        "a tail so heavy that no score stands apart from the others: where few users meet one, "
        "sum without transforms",
        _heavy_tail,
        _convolve,
        lambda: tuning.HEAVY,
    ),
)
