"""Which randomizer to deploy: all that meet one target, ranked by the error of what is estimated.

Randomizers say themselves what is estimated from their messages (`task`) and which parameters are
free (`families`); a new one takes part by itself. Every choice was evaluated: its certified upper
epsilon is at most the target.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._support import validate
from .._support.progress import progress
from ..errors import InvalidParameter, ShuffleDPError
from ..guarantee import NEIGHBOURS
from ..randomizers import REGISTRY, PureLDP, Randomizer
from ..records import OF_USERS
from ..rounds import RoundOfUsers
from . import tuning
from .candidates import Candidate
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
    sampling: str = "fixed",
    colluding: float = 0,
    dropouts: float = 0,
    messages: int = 1,
    neighbours: str = "replace",
    max_eps0: float | None = None,
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
    `sample_rate`, `sampling`, `colluding`, `dropouts`, `messages` and `neighbours` mean what they
    mean for `Shuffle`. No randomizer has a local eps0 above `max_eps0`, where that is given.

    >>> from shuffledp import choose
    >>> table = choose(users=10_000, task="mean", view="aggregate", epsilon=1.0, delta=1e-6)
    >>> [choice.name for choice in table]
    ['gaussian', 'one-bit']
    """
    needed = TASKS[validate.choice("task", task, TASKS)]
    sizes = (("values", values, 10**12), ("dimension", dimension, 10**6))
    # what is wrong with these is not a matter of the randomizer
    people = of_users(
        PureLDP(1.0),
        users,
        sample_rate=sample_rate,
        sampling=sampling,
        colluding=colluding,
        dropouts=dropouts,
        messages=messages,
    )
    question = ChoiceQuestion(
        task=task,
        size=_size(task, needed, sizes),
        people=people,
        neighbours=validate.choice("neighbours", neighbours, NEIGHBOURS),
        rounds=validate.count("rounds", rounds, validate.MAX_ROUNDS),
        epsilon=_positive(epsilon),
        delta=validate.delta(delta),
        max_eps0=math.inf if max_eps0 is None else _cap(max_eps0),
    )
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
    return Choices(question, tuple(chosen), tuple(dict.fromkeys(unmet)))


def _size(task: str, needed: str | None, sizes: Any) -> int:
    size = 1
    for name, value, most in sizes:
        if (value is None) == (name == needed):
            remedy = f"needs {name}; add it" if name == needed else f"has no {name}; leave it out"
            raise InvalidParameter(f"task={task} {remedy}.")
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
        alone = of_users(people.randomizer, self.hiding)
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
        for kind in REGISTRY.values():
            for family in kind.families(self.size) if kind.task == self.task else ():
                found = (Candidate(self, kind, family, view) for view in views)
                yield from (candidate for candidate in found if candidate.applies)

    def error(self, randomizer: Randomizer) -> float:
        """The standard error that counts, of one round, if as many drop out as make it larger: of
        counts nobody, of means all who may.

        Of counts it is the root mean square over all values, whatever the data: variances are
        linear in the count, and as many have a value on average as there are users for each. Of a
        mean it is that for the worst numbers. Several messages of a user are as many estimates,
        which add up, or of which the mean is taken.
        """
        if self.task != "count":
            return math.sqrt(randomizer.mean_variance(self.fewest) / self.people.messages)
        return self._count_error(randomizer, self.senders, self.senders / self.size)

    def rare_error(self, randomizer: Randomizer) -> float:
        """The standard error of the count of a value that nobody has; of a mean the same."""
        if self.task != "count":
            return self.error(randomizer)
        return self._count_error(randomizer, self.senders, 0.0)

    def frequency_error(self, randomizer: Randomizer) -> float | None:
        """The error of a count over the number of messages, if all drop out who may."""
        if self.task != "count":
            return None
        error = self._count_error(randomizer, self.fewest, self.fewest / self.size)
        return error / (self.people.messages * self.fewest)

    def _count_error(self, randomizer: Randomizer, users: int, count: float) -> float:
        return math.sqrt(self.people.messages * randomizer.count_variance(users, count))

    def bits(self, randomizer: Randomizer) -> float:
        """How many a user sends in a round, on average."""
        return self.people.messages * randomizer.bits_of(self.size, self.senders)
