"""One family of randomizers in one view, fitted to the target of `choose`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .._support.numeric import Bounds
from .._support.text import at_most, plain
from ..bounds.boundary import Grid, Subrange, approach, steepness_at
from ..bounds.target import Quest, infeasible
from ..errors import Infeasible, InvalidParameter, ShuffleDPError
from ..randomizers import Family, Randomizer
from ..randomizers.base import parameter_named
from ..rounds import RoundOfUsers
from . import tuning
from .calibrate import evaluation, quest_for
from .choices import Choice
from .protocol import of_users

if TYPE_CHECKING:
    from .choose import ChoiceQuestion


class _Worse(Exception):
    """An option has at least this error, which is more than others have."""

    def __init__(self, error: float) -> None:
        self.error = error


class Fit(NamedTuple):
    """A value of a parameter, how steep epsilon is there, and what is certified of it; or as much
    of that as can be guessed."""

    value: Any = None
    steepness: float | None = None
    achieved: Bounds[float] = Bounds(0.0, math.inf)


@dataclass(frozen=True)
class Candidate:
    """A family of randomizers in a view, to be fitted to the target."""

    question: ChoiceQuestion
    kind: type[Randomizer]
    family: Family
    view: str

    def made(self, option: int, value: float) -> Randomizer:
        return self.kind(**{**self.family.options[option], self.family.find: value})

    def round(self, option: int, value: float) -> RoundOfUsers:
        return of_users(self.made(option, value), view=self.view, **self.question.settings)

    @property
    def applies(self) -> bool:
        """Is a bound known for this view? If that cannot be told, `best` will say why."""
        try:
            return self.view != "aggregate" or self.made(0, self._start).sum_law() is not None
        except ShuffleDPError:
            return self.view == "shuffle"

    @property
    def _start(self) -> float:
        """A value at which a round can be made, if any can."""
        find = self.family.find
        parameter = parameter_named(find)
        if parameter is None or parameter.search is None:
            raise InvalidParameter(f"{find} has no search; give its parameter one.")
        return parameter.search.start

    def best(self, rtol: float, near: float | None = None, start: Fit | None = None) -> Choice:
        """The member of the family with the smallest error that meets the target."""
        self.round(0, self._start)  # what is wrong here is not the value of the parameter
        proxy = replace(self, question=self.question.proxy)
        last = start or Fit(proxy.question.guess(self.family.find))

        least = math.inf

        def stop_if_worse(randomizer: Randomizer) -> None:
            if (error := self.question.error(randomizer)) > least:
                raise _Worse(error)

        @cache
        def rough(option: int) -> tuple[float, Fit]:
            """About the error, and what was found; nothing if others are better for sure."""
            nonlocal last, least
            try:
                last = proxy.fitted(option, last, tuning.ROUGH_RTOL, tuning.ROUGHLY, stop_if_worse)
            except Infeasible:
                return math.inf, last
            except _Worse as found:
                return found.error, last
            share = last.achieved.upper / proxy.question.epsilon
            # whoever is further from the target is at the end of the range: nothing is to be gained
            share = min(share, 1.0) if share >= 1 - tuning.ROUGHLY else 1.0
            error = share * self.question.error(self.made(option, last.value))
            least = min(least, error)
            return error, last

        option, begin = 0, last
        if len(self.family.options) > 1 or proxy != self:
            option = lowest(len(self.family.options), lambda i: rough(i)[0])
            begin = rough(option)[1]
        found = self.fitted(option, begin, rtol, tuning.NEAR if near is None else near)
        round_, q = self.round(option, found.value), self.question
        if round_.randomizer.local_eps0 > q.max_eps0:  # it does not grow where epsilon does
            raise self._above_cap(option, self.family.find, found.value)
        return Choice(
            round=round_,
            parameters={**self.family.options[option], self.family.find: found.value},
            standard_error=q.rare_error(round_.randomizer),
            average_error=q.error(round_.randomizer),
            frequency_error=q.frequency_error(round_.randomizer),
            bits=q.bits(round_.randomizer),
            epsilon=found.achieved,
            error_at=partial(self._error_at, option, found),
        )

    def _error_at(self, option: int, start: Fit, target: float) -> float:
        """The average error within another epsilon, for a picture, of the best of the options next
        to this one; NaN if none meets it."""
        options = self.family.options[max(option - 1, 0) : option + 2]
        question = replace(self.question, epsilon=target)
        near = replace(self, question=question, family=replace(self.family, options=options))
        try:
            return near.best(tuning.ROUGH_RTOL, tuning.DRAWN, start).average_error
        except ShuffleDPError:
            return math.nan

    def fitted(
        self,
        option: int,
        start: Fit,
        rtol: float,
        near: float,
        check: Callable[[Randomizer], None] = lambda randomizer: None,
    ) -> Fit:
        """A value that meets the target, nearly, and what is certified of it; `check` may stop the
        search at a randomizer that does not meet it."""
        q, find = self.question, self.family.find

        def make(value: float) -> RoundOfUsers:
            return self.round(option, value)

        certified = evaluation(find, make, q.delta, q.rounds)

        def evaluate(value: float, width: float) -> Bounds[float]:
            bounds = certified(value, width)
            # what meets the target has more noise than what does not, and a larger error
            if bounds.upper > q.epsilon:
                check(self.made(option, value))
            return bounds

        quest = quest_for(find, make)
        grid = self._within_cap(option, quest)
        sign = 1 if quest.grows else -1
        begin = quest.start if start.value is None else start.value
        found = approach(grid, sign, evaluate, q.epsilon, rtol, begin, near, start.steepness)
        if found.good is None:
            raise infeasible(quest, found, q.epsilon, q.delta)
        steepness = steepness_at(grid, found, q.epsilon) or start.steepness
        return Fit(grid.value(found.good), steepness, found.bounds[found.good])

    def _within_cap(self, option: int, quest: Quest) -> Grid:
        """The part of the grid in which the local eps0 is at most `max_eps0`: it grows where
        epsilon does."""
        cap, grid = self.question.max_eps0, quest.grid
        if cap == math.inf:
            return grid
        inner, outer = (grid.first, grid.last) if quest.grows else (grid.last, grid.first)
        if self._local_eps0(option, grid.value(inner)) > cap:
            raise self._above_cap(option, quest.name, grid.value(inner))
        good, bad = inner, outer
        if self._local_eps0(option, grid.value(outer)) <= cap:
            return grid
        while abs(bad - good) > 1:
            middle = (good + bad) // 2
            within = self._local_eps0(option, grid.value(middle)) <= cap
            good, bad = (middle, bad) if within else (good, middle)
        return Subrange(grid, min(inner, good), max(inner, good))

    def _local_eps0(self, option: int, value: float) -> float:
        """Zero for bits that say nothing of the value, of which no randomizer can be made."""
        try:
            return self.made(option, value).local_eps0
        except ShuffleDPError:
            return 0.0

    def _above_cap(self, option: int, find: str, value: float) -> Infeasible:
        cap, least = plain(self.question.max_eps0), self._local_eps0(option, value)
        wrong = f"its messages have no local eps0, and max_eps0={cap} asks for one"
        if least < math.inf:
            wrong = f"no {find} has a local eps0 of at most max_eps0={cap}: {find}={plain(value)}, "
            wrong += f"the nearest to it, has {at_most(least)}"
        return Infeasible(
            f"{wrong}; allow a larger one, or leave it out.", value, Bounds(0.0, math.inf)
        )


def lowest(count: int, height: Callable[[int], float]) -> int:
    """Where heights that fall and then rise are lowest, by sections."""
    first, last = 0, count - 1
    while last - first > 2:
        left, right = first + round(0.382 * (last - first)), first + round(0.618 * (last - first))
        if height(left) <= height(max(right, left + 1)):
            last = max(right, left + 1)
        else:
            first = left
    return min(range(first, last + 1), key=height)
