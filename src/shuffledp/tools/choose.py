"""Which randomizer to deploy: all that meet one target, ranked by the error of what is estimated.

Randomizers say themselves what is estimated from their messages (`task`) and which parameters are
free (`families`); a new one takes part by itself. Every choice was evaluated: its certified upper
epsilon is at most the target.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

from .._support import validate
from .._support.numeric import Bounds
from .._support.progress import progress
from .._support.text import at_most, plain
from ..calibration import ParameterRange, approach, infeasible
from ..errors import Infeasible, InvalidParameter, ShuffleDPError
from ..guarantee import NEIGHBOURS
from ..randomizers import REGISTRY, Bundle, Family, OneOf, PureLDP, Randomizer
from ..randomizers.base import SUMMED, parameter_named
from ..randomizers.questionnaire import MOST_QUESTIONS, Questionnaire
from ..records import USER_ROUNDS
from ..rounds import RoundOfUsers
from . import tuning
from .calibrate import evaluation, values_of
from .choices import Choice, Choices, Unmet
from .protocol import round_of_users


class Fit(NamedTuple):
    """A value of a parameter, how steep epsilon is there, and what is certified of it; or as much
    of that as can be guessed."""

    value: Any = None
    steepness: float | None = None
    achieved: Bounds[float] = Bounds(0.0, math.inf)
    limit: str = ""


#: How several questions may be asked: each in a shuffle of its own, all in one message, or one of
#: them that is drawn at random.
SEPARATELY, BUNDLED, ONE_OF = "separate", "bundle", "one-of"


@dataclass(frozen=True)
class AskedQuestion:
    """What a user sends for a question, or for all of several questions of one kind."""

    base: Randomizer
    asked: str
    questions: int

    @cached_property
    def sent(self) -> Randomizer:
        """The randomizer of a message."""
        if self.asked == SEPARATELY:
            return self.base
        every = (self.base,) * self.questions
        return Bundle(*every) if self.asked == BUNDLED else OneOf(*every)

    def count_variance(self, users: int, count: float = 0.0) -> float:
        """Of the estimated count of an answer to one of the questions."""
        if isinstance(self.sent, OneOf):
            return float(self.sent.client.variance_of_question(0, users, count))
        return self.base.count_variance(users, count)

    def unit_variance(self, users: int) -> float:
        """Of the estimated mean of the answers to one of the questions."""
        if self.asked != ONE_OF:
            return self.base.unit_variance(users)
        # numbers in [0, 1] vary by 1/4 at most, and a share of them is drawn
        asked = max(users // self.questions, 1)
        return self.base.unit_variance(asked) + (1 - 1 / self.questions) / 4 / asked

    def bits_of(self, values: int, users: int) -> float:
        """How many bits each user sends for all questions, on average."""
        if self.asked == ONE_OF:
            return self.sent.bits
        return self.questions * self.base.bits_of(values, users)


@dataclass(frozen=True)
class Candidate:
    """A family of randomizers in a view, to be fitted to the target."""

    question: ChoiceQuestion
    kind: type[Randomizer]
    family: Family
    view: str
    asked: str = SEPARATELY  # how several questions are

    def made(self, option: int, value: float) -> AskedQuestion:
        base = self.kind(**{**self.family.options[option], self.family.find: value})
        return AskedQuestion(base, self.asked, self.question.questions)

    def round(self, option: int, value: float) -> RoundOfUsers:
        sent = self.made(option, value).sent
        return round_of_users(sent, view=self.view, **self.question.settings)

    @property
    def applies(self) -> bool:
        """Is a bound known for this view? If that cannot be told, `best` will say why."""
        try:
            made = self.made(0, self._start)
            if self.asked != SEPARATELY:
                return self.view == "shuffle" and isinstance(made.sent, Questionnaire)
            if self.view == "aggregate":
                return made.base.sum_law() is not None
            return not made.base.is_summed
        except ShuffleDPError:
            return self.view == "shuffle" and self.asked == SEPARATELY

    @property
    def _start(self) -> float:
        """A value at which a round can be made, if any can."""
        find = self.family.find
        parameter = parameter_named(find)
        if parameter is None or parameter.search is None:
            raise InvalidParameter(f"{find} has no search; give its parameter one.")
        return parameter.search.start

    def best(self, rtol: float, slack: float | None = None, start: Fit | None = None) -> Choice:
        """The member of the family with the smallest error that meets the target."""
        self.round(0, self._start)  # what is wrong here is not the value of the parameter
        proxy = replace(self, question=self.question.proxy)
        last = start or Fit(proxy.question.guess(self.family.find))

        @cache
        def rough(option: int) -> tuple[float, Fit]:
            """About the error, and what was found."""
            nonlocal last
            try:
                last = proxy.fitted(option, last, tuning.ROUGH_RTOL, tuning.ROUGHLY)
            except Infeasible:
                return math.inf, last
            share = last.achieved.upper / proxy.question.epsilon
            # whoever is further from the target is at the end of the range: nothing is to be gained
            share = min(share, 1.0) if share >= 1 - tuning.ROUGHLY else 1.0
            return share * self.question.error(self.made(option, last.value)), last

        option, begin = 0, last
        if len(self.family.options) > 1 or proxy != self:
            option = lowest(len(self.family.options), lambda i: rough(i)[0])
            begin = rough(option)[1]
        option, found = self._fitted_near(
            option, begin, rtol, tuning.NEAR if slack is None else slack
        )
        round_, q = self.round(option, found.value), self.question
        made = self.made(option, found.value)
        if round_.randomizer.local_eps0 > q.max_eps0:  # it does not grow where epsilon does
            raise self._above_cap(option, self.family.find, found.value)
        return Choice(
            round=round_,
            parameters={**self.family.options[option], self.family.find: found.value},
            standard_error=q.rare_error(made),
            average_error=q.error(made),
            frequency_error=q.frequency_error(made),
            bits=q.bits(made),
            epsilon=found.achieved,
            base=made.base,
            asked=self.asked if q.questions > 1 else None,
            limit=found.limit,
            error_at=partial(self._error_at, option, found),
        )

    def _fitted_near(self, option: int, start: Fit, rtol: float, slack: float) -> tuple[int, Fit]:
        """The option that meets the target, or another one next to it: it was chosen roughly."""
        others = sorted(range(len(self.family.options)), key=lambda other: abs(other - option))
        for other in others:
            try:
                return other, self.fitted(other, start, rtol, slack)
            except Infeasible:
                continue
        return option, self.fitted(option, start, rtol, slack)

    def _error_at(self, option: int, start: Fit, target: float) -> float:
        """The average error within another epsilon, for a picture, of the best of the options next
        to this one; NaN if none meets it."""
        options = self.family.options[max(option - 1, 0) : option + 2]
        question = replace(self.question, epsilon=target)
        other = replace(self, question=question, family=replace(self.family, options=options))
        try:
            return other.best(tuning.ROUGH_RTOL, tuning.DRAWN, start).average_error
        except ShuffleDPError:
            return math.nan

    def fitted(self, option: int, start: Fit, rtol: float, slack: float) -> Fit:
        """A value that meets the target up to a relative slack, and what is certified of it."""
        q, find = self.question, self.family.find

        def make(value: float) -> RoundOfUsers:
            return self.round(option, value)

        evaluate = evaluation(find, make, q.delta, q.rounds)
        supported = values_of(find, make)
        values = self._within_cap(option, supported)
        if start.value is not None:
            values = replace(values, start=start.value)
        found = approach(values, evaluate, q.epsilon, rtol, slack, start.steepness)
        if found.good is None:
            raise infeasible(values, found, q.epsilon, q.delta)
        value, limit = values.grid.value(found.good), supported.limit(found.good)
        if limit != values.limit(found.good):  # the range ends there because of the cap
            limit = f"the next {find} exceeds max_eps0={plain(q.max_eps0)}"
        return Fit(value, found.steepness, found.bounds[found.good], limit)

    def _within_cap(self, option: int, values: ParameterRange) -> ParameterRange:
        """Those with a local eps0 of at most `max_eps0`: it grows where epsilon does."""
        cap, grid = self.question.max_eps0, values.grid
        if cap == math.inf:
            return values
        inner, outer = (grid.first, grid.last) if values.grows else (grid.last, grid.first)
        if self._local_eps0(option, grid.value(inner)) > cap:
            raise self._above_cap(option, values.name, grid.value(inner))
        if self._local_eps0(option, grid.value(outer)) <= cap:
            return values
        step = 1 if values.grows else -1
        indices = range(inner, outer, step)
        within = bisect_right(indices, cap, key=lambda i: self._local_eps0(option, grid.value(i)))
        last = indices[within - 1]
        return replace(values, grid=grid.part(min(inner, last), max(inner, last)))

    def _local_eps0(self, option: int, value: float) -> float:
        """Zero for bits that say nothing of the value, of which no randomizer can be made."""
        try:
            return self.made(option, value).sent.local_eps0
        except ShuffleDPError:
            return 0.0

    def _above_cap(self, option: int, find: str, value: float) -> Infeasible:
        cap, least = plain(self.question.max_eps0), self._local_eps0(option, value)
        told = f"its messages have no local eps0, and max_eps0={cap} asks for one; leave max_eps0 "
        told += "out to have it ranked."
        if least < math.inf:
            told = f"no {find} has a local eps0 of at most max_eps0={cap}: {find}={plain(value)}, "
            told += f"the nearest to it, has {at_most(least)}; "
            told += "allow a larger max_eps0, or leave it out."
        return Infeasible(told, value, Bounds(0.0, math.inf))


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
    sampling: str = "fixed",
    colluding: float = 0,
    dropouts: float = 0,
    messages: int = 1,
    neighbours: str = "replace",
    max_eps0: float | None = None,
    view: str = "any",
    task: str = "count",
    dimension: int | None = None,
    questions: int = 1,
    rtol: float = 2e-3,
) -> Choices:
    """Randomizers for a task, each at its best within (epsilon, delta), ranked by average error.

    Parameters
    ----------
    users : int
        Number of users, 1 to 1e12, including those who collude or drop out.
    values, dimension : int, optional
        Number of values (task="count"), 2 to 1e12; length of vectors (task="vector"), 2 to 1e6.
    epsilon, delta : float
        Target for all rounds and questions together: above 0, and 0 to 1.
    rounds : int
        Number of rounds, 1 to 1e7.
    sample_rate, sampling, colluding, dropouts, messages, neighbours : optional
        As for `Shuffle`.
    max_eps0 : float, optional
        Largest local epsilon that a randomizer may have, 1e-6 to 200.
    view : str
        "shuffle": messages are shuffled. "aggregate": only sums are seen. "any": either.
    task : str
        "count": the number of users who hold each value. "mean": that of numbers in [0, 1], rounded
        at random where only whole numbers are sent. "vector": the mean of unit vectors.
    questions : int
        Number of such questions to every user, 1 to 20: in a shuffle each, all in one message, or
        one of them, drawn at random. Errors are those of one question.
    rtol : float
        Relative width in epsilon to aim for, 1e-7 to 0.5.

    Returns
    -------
    Choices
        A sequence of choices, best first, and those that cannot meet the target.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import choose
    >>> table = choose(users=100, task="mean", view="aggregate", epsilon=1.0, delta=1e-6)
    >>> sorted({choice.name for choice in table})
    ['gaussian', 'noise-shares', 'one-bit']
    """
    needed = TASKS[validate.choice("task", task, TASKS)]
    sizes = (("values", values, 10**12), ("dimension", dimension, 10**6))
    # what is wrong with these is not a matter of the randomizer
    options: dict[str, Any] = {"sample_rate": sample_rate, "sampling": sampling}
    options |= {"colluding": colluding, "dropouts": dropouts, "messages": messages}
    people = round_of_users(PureLDP(1.0), users, **options)
    question = ChoiceQuestion(
        task=task,
        size=_size(task, needed, sizes),
        people=people,
        neighbours=validate.choice("neighbours", neighbours, NEIGHBOURS),
        rounds=validate.count("rounds", rounds, validate.MAX_ROUNDS),
        epsilon=_positive(epsilon),
        delta=validate.delta(delta),
        max_eps0=math.inf if max_eps0 is None else _cap(max_eps0),
        questions=validate.count("questions", questions, MOST_QUESTIONS),
    )
    if question.questions > 1 and task == "vector":
        raise InvalidParameter(
            f"questions={question.questions} are not known for task=vector; ask for one question, "
            "with as many rounds."
        )
    rtol, views = validate.tolerance(rtol), (*USER_ROUNDS, "any")
    seen = tuple(USER_ROUNDS) if validate.choice("view", view, views) == "any" else (view,)
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
    return Choices(question, tuple(chosen), tuple(dict.fromkeys(unmet)))


def _size(task: str, needed: str | None, sizes: Any) -> int:
    size = 1
    for name, value, most in sizes:
        if (value is None) == (name == needed):
            if name == needed:
                raise InvalidParameter(f"{name} is missing; task {task} needs it.")
            raise InvalidParameter(f"{name} does not go with task {task}; leave it out.")
        if value is not None:
            size = validate.count(name, value, most, least=2)
    return size


def _positive(epsilon: float) -> float:
    target = validate.epsilon(epsilon)
    if target == 0:
        raise InvalidParameter(f"epsilon={target:g} is not positive; give a target > 0.")
    return target


def _cap(max_eps0: float) -> float:
    cap = validate.between("max_eps0", max_eps0, validate.MIN_EPS0, validate.MAX_EPS0)
    # an exact fraction may not become a larger number
    return cap if cap <= max_eps0 else math.nextafter(cap, 0.0)


@dataclass(frozen=True)
class ChoiceQuestion:
    """What is to be estimated, of whom, within which budget."""

    task: str
    size: int  # the number of values, the length of vectors, or 1
    people: RoundOfUsers  # who sends; its randomizer and its neighbours only stand in for others
    neighbours: str
    rounds: int
    epsilon: float
    delta: float
    max_eps0: float  # infinite if any local eps0 will do, and none
    questions: int = 1  # that every user answers, in each round

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that describes a round beside its randomizer and its view."""
        return {**self.people.settings, "neighbours": self.neighbours}

    @property
    def senders(self) -> int:
        """How many send in a round if nobody drops out: exactly, or on average and rounded."""
        return max(self.people.senders, 1)

    @property
    def fewest(self) -> int:
        """How many send in a round, on average and rounded, if all do drop out who may."""
        people = self.people
        return max(round(people.sample_rate * (people.users - int(people.dropouts))), 1)

    @property
    def hiding(self) -> int:
        """How many of those who send hide each other, on average."""
        return max(round(self.people.sample_rate * self.people.honest), 1)

    @property
    def proxy(self) -> ChoiceQuestion:
        """A single round of all who send that costs about as much: options are tried there, since
        samples and many rounds take longer. Of one sampled round it is the theorem for samples."""
        people, rate = self.people, self.people.sample_rate
        times = self.rounds * people.messages
        if times == 1 and rate == 1:
            return self
        alone = round_of_users(people.randomizer, self.hiding)
        each = math.expm1(min(self.epsilon / math.sqrt(times), tuning.MOST_EPSILON))
        epsilon = min(math.log1p(each / rate), tuning.MOST_EPSILON)
        delta = min(self.delta / rate, 0.5)
        return replace(self, people=alone, rounds=1, epsilon=epsilon, delta=delta)

    def guess(self, find: str) -> float | None:
        """About the value at which the target is met, if one message hides among others like it."""
        hidden_by = tuning.HIDING * -math.log(max(self.delta, 1e-300)) / self.epsilon**2
        rate = min(max(hidden_by / self.hiding, 1e-300), 0.5)
        noise = dict.fromkeys(("poisson", "bernoulli", "q"), rate)
        # clumps of few: theta is small where it is best
        return {"eps0": -math.log(rate), "negative_binomial": 20 * rate, **noise}.get(find)

    def candidates(self, views: tuple[str, ...]) -> Iterator[Candidate]:
        """All randomizers that say that they are for this."""
        for kind in (*REGISTRY.values(), *SUMMED.values()):
            for family in kind.families_for(self.task, self.size, self.hiding):
                found = (
                    Candidate(self._as_rounds(asked), kind, family, view, asked)
                    for view in views
                    for asked in (
                        (SEPARATELY, BUNDLED, ONE_OF) if self.questions > 1 else (SEPARATELY,)
                    )
                )
                yield from (candidate for candidate in found if candidate.applies)

    def _as_rounds(self, asked: str) -> ChoiceQuestion:
        """Questions in separate shuffles are as many rounds."""
        times = self.questions if asked == SEPARATELY else 1
        return replace(self, rounds=self.rounds * times)

    def error(self, randomizer: AskedQuestion) -> float:
        """The standard error that counts, of one round, if as many drop out as make it larger: of
        counts nobody, of means all who may.

        Of counts it is the root mean square over all values, whatever the data: variances are
        linear in the count, and as many have a value on average as there are users for each. Of a
        mean it is that for the worst numbers. Several messages of a user are as many estimates,
        which add up, or of which the mean is taken.
        """
        if self.task != "count":
            return math.sqrt(randomizer.unit_variance(self.fewest) / self.people.messages)
        return self._count_error(randomizer, self.senders, self.senders / self.size)

    def rare_error(self, randomizer: AskedQuestion) -> float:
        """The standard error of the count of a value that nobody has; of a mean the same."""
        if self.task != "count":
            return self.error(randomizer)
        return self._count_error(randomizer, self.senders, 0.0)

    def frequency_error(self, randomizer: AskedQuestion) -> float | None:
        """The error of a count over the number of messages, if all drop out who may."""
        if self.task != "count":
            return None
        error = self._count_error(randomizer, self.fewest, self.fewest / self.size)
        return error / (self.people.messages * self.fewest)

    def _count_error(self, randomizer: AskedQuestion, users: int, count: float) -> float:
        return math.sqrt(self.people.messages * randomizer.count_variance(users, count))

    def bits(self, randomizer: AskedQuestion) -> float:
        """How many a user sends in a round, on average."""
        return self.people.messages * randomizer.bits_of(self.size, self.senders)
