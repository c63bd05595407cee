"""Which randomizer to deploy: all that meet one target, ranked by the error of what is estimated.

Randomizers say themselves what is estimated from their messages (`task`) and which parameters are
free (`families`); a new one takes part by itself. Every choice was evaluated: its certified upper
epsilon is at most the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

from .._support import validate
from .._support.numeric import Bounds
from .._support.progress import progress
from ..bounds.boundary import approach, steepness_at
from ..bounds.target import infeasible
from ..errors import Infeasible, InvalidParameter, ShuffleDPError
from ..randomizers import REGISTRY, Family, PureLDP, Randomizer
from ..records import OF_USERS
from ..rounds import RoundOfUsers
from . import tuning
from .calibrate import evaluation, quest_for
from .choices import Choice, Choices, Unmet
from .protocol import of_users

__all__ = ["Choice", "Choices", "Unmet", "choose"]

#: What may be estimated, and what has to be known for that.
TASKS = {"count": "values", "mean": None, "vector": "dimension"}


def choose(
    users: int,
    values: int | None = None,
    *,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    sample_rate: float = 1.0,
    view: str = "any",
    task: str = "count",
    dimension: int | None = None,
    rtol: float = 2e-3,
) -> Choices:
    """Every named randomizer for a task, each at its best within (epsilon, delta), ranked by the
    average error of what is estimated.

    The task is to "count" how many users have each of `values` values, the "mean" of numbers in
    [0, 1], or the mean of unit vectors ("vector") of length `dimension`. The adversary sees
    shuffled messages (view="shuffle"), their sums only ("aggregate"), or either of them ("any").

    >>> from shuffledp import choose
    >>> table = choose(users=10_000, task="mean", view="aggregate", epsilon=1.0, delta=1e-6)
    >>> [choice.name for choice in table]
    ['gaussian', 'one-bit']
    """
    question = _question(users, values, rounds, sample_rate, task, dimension, epsilon, delta)
    rtol = validate.tolerance(rtol)
    views = (*OF_USERS, "any")
    seen = tuple(OF_USERS) if validate.choice("view", view, views) == "any" else (view,)
    candidates = list(question.candidates(seen))
    if not candidates:
        raise InvalidParameter(
            f"task={task} has no randomizer of which view={view} is known; choose another view."
        )
    chosen, unmet = [], []
    with progress("calibrating randomizers", len(candidates)) as done:
        for candidate in candidates:
            try:
                chosen.append(candidate.best(rtol))
            except ShuffleDPError as error:
                unmet.append(Unmet(candidate.kind.name, candidate.view, str(error)))
            done(1)
    chosen.sort(key=lambda choice: choice.average_error)
    return Choices(question, tuple(chosen), tuple(unmet))


def _question(
    users: int, values: Any, rounds: int, sample_rate: float, task: str, dimension: Any,
    epsilon: float, delta: float,
) -> Question:  # fmt: skip
    needed = TASKS[validate.choice("task", task, TASKS)]
    size = 1
    for name, value, most in (("values", values, 10**12), ("dimension", dimension, 10**6)):
        if (value is None) == (name == needed):
            remedy = f"needs {name}; add it" if name == needed else f"has no {name}; leave it out"
            raise InvalidParameter(f"task={task} {remedy}.")
        if value is not None:
            size = validate.count(name, value, most, least=2)
    if validate.epsilon(epsilon) == 0:
        raise InvalidParameter(f"epsilon={epsilon:g} is not positive; give a target > 0.")
    rounds = validate.count("rounds", rounds, validate.MAX_ROUNDS)
    # what is wrong with these is not a matter of the randomizer
    round_ = of_users(PureLDP(1.0), users, sample_rate=sample_rate)
    target = float(epsilon), validate.delta(delta)
    return Question(task, size, round_.users, round_.sample_rate, rounds, *target)


@dataclass(frozen=True)
class Question:
    """What is to be estimated, of whom, within which budget."""

    task: str
    size: int  # the number of values, the length of vectors, or 1
    users: int
    sample_rate: float
    rounds: int
    epsilon: float
    delta: float

    @property
    def senders(self) -> int:
        """How many send in a round."""
        return validate.sample_size(self.users, self.sample_rate)

    @property
    def proxy(self) -> Question:
        """A single round of all who send that costs about as much: options are tried there, since
        samples and many rounds take longer. Of one sampled round it is the theorem for samples."""
        alone = replace(self, users=self.senders, sample_rate=1.0, rounds=1)
        if alone == self:
            return self
        each = math.expm1(min(self.epsilon / math.sqrt(self.rounds), tuning.MOST_EPSILON))
        epsilon = min(math.log1p(each / self.sample_rate), tuning.MOST_EPSILON)
        return replace(alone, epsilon=epsilon, delta=min(self.delta / self.sample_rate, 0.5))

    def guess(self, find: str) -> float | None:
        """About the value at which the target is met, if one message hides among others like it."""
        hiding = tuning.HIDING * -math.log(max(self.delta, 1e-300)) / self.epsilon**2
        rate = min(max(hiding / self.senders, 1e-300), 0.5)
        noise = dict.fromkeys(("poisson", "bernoulli", "q"), rate)
        # clumps of few: theta is small where it is best
        return {"eps0": -math.log(rate), "negative_binomial": 20 * rate, **noise}.get(find)

    def candidates(self, views: tuple[str, ...]) -> Iterator[Candidate]:
        """All randomizers that say that they are for this."""
        for kind in REGISTRY.values():
            for family in kind.families(self.size) if kind.task == self.task else ():
                found = (Candidate(self, kind, family, view) for view in views)
                yield from (candidate for candidate in found if candidate.applies)

    def error(self, randomizer: Randomizer) -> float:
        """The standard error that counts, of one round. Of counts it is the root mean square over
        all values, whatever the data: variances are linear in the count, and as many have a value
        on average as there are users for each. Of a mean it is that for the worst numbers."""
        if self.task != "count":
            return math.sqrt(randomizer.mean_variance(self.senders))
        return math.sqrt(randomizer.count_variance(self.senders, self.senders / self.size))

    def rare_error(self, randomizer: Randomizer) -> float:
        """The standard error of the count of a value that nobody has; of a mean the same."""
        if self.task != "count":
            return self.error(randomizer)
        return math.sqrt(randomizer.count_variance(self.senders, 0.0))


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

    question: Question
    kind: type[Randomizer]
    family: Family
    view: str

    def made(self, option: int, value: float) -> Randomizer:
        return self.kind(**{**self.family.options[option], self.family.find: value})

    def round(self, option: int, value: float) -> RoundOfUsers:
        q = self.question
        randomizer = self.made(option, value)
        return of_users(randomizer, q.users, view=self.view, sample_rate=q.sample_rate)

    @property
    def applies(self) -> bool:
        """Is anything known of what is seen? If not even that can be told, `best` will say why."""
        find = self.family.find
        start = quest_for(find, lambda value: self.round(0, value)).start
        try:
            return self.view != "aggregate" or self.made(0, start).sum_law() is not None
        except ShuffleDPError:
            return self.view == "shuffle"

    def best(self, rtol: float, near: float | None = None, start: Fit | None = None) -> Choice:
        """The one of the family with the smallest error that meets the target."""
        proxy = replace(self, question=self.question.proxy)
        last = start or Fit(proxy.question.guess(self.family.find))

        least = math.inf

        @cache
        def rough(option: int) -> tuple[float, Fit]:
            """About the error, and what was found; nothing if others are better for sure."""
            nonlocal last, least
            try:
                last = proxy.fitted(option, last, tuning.ROUGH_RTOL, tuning.ROUGHLY, least)
            except Infeasible:
                return math.inf, last
            except _Worse as found:
                return found.error, last
            share = last.achieved.upper / proxy.question.epsilon
            share = min(max(share, 1 - tuning.ROUGHLY), 1.0)
            error = share * self.question.error(self.made(option, last.value))
            least = min(least, error)
            return error, last

        option, begin = 0, last
        if len(self.family.options) > 1 or proxy != self:
            option = lowest(len(self.family.options), lambda i: rough(i)[0])
            begin = rough(option)[1]
        found = self.fitted(option, begin, rtol, tuning.NEAR if near is None else near)
        value, achieved = found.value, found.achieved
        randomizer = self.made(option, value)
        q, error = self.question, self.question.error(randomizer)
        return Choice(
            randomizer=randomizer,
            parameters={**self.family.options[option], self.family.find: value},
            view=self.view,
            standard_error=q.rare_error(randomizer),
            average_error=error,
            frequency_error=error / q.senders if q.task == "count" else None,
            bits=randomizer.bits_of(q.size, q.senders),
            epsilon=achieved,
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
        self, option: int, start: Fit, rtol: float, near: float, most: float = math.inf
    ) -> Fit:
        """A value that meets the target, nearly, and what is certified of it; `most` is an error
        above which nobody wants it."""
        q, find = self.question, self.family.find

        def make(value: float) -> RoundOfUsers:
            return self.round(option, value)

        certified = evaluation(find, make, q.delta, q.rounds)

        def evaluate(value: float, width: float) -> Bounds[float]:
            bounds = certified(value, width)
            # what meets the target has more noise than what does not, and a larger error
            if bounds.upper > q.epsilon and (error := q.error(self.made(option, value))) > most:
                raise _Worse(error)
            return bounds

        quest = quest_for(find, make)
        sign = 1 if quest.grows else -1
        begin = quest.start if start.value is None else start.value
        found = approach(quest.grid, sign, evaluate, q.epsilon, rtol, begin, near, start.steepness)
        if found.good is None:
            raise infeasible(quest, found, q.epsilon, q.delta)
        steepness = steepness_at(quest.grid, found, q.epsilon) or start.steepness
        return Fit(quest.grid.value(found.good), steepness, found.bounds[found.good])


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
