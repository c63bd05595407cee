"""Epsilon over time: what a plan with dates has spent by each day, in all and by each budget.

Theory: docs/theory/participation.md.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._support.numeric import Bounds
from .._support.progress import progress
from ..guarantee import DEFAULT_RTOL
from .dates import Days
from .participation import Attendance, Participation, SharedCosts
from .periods import PeriodBudget

if TYPE_CHECKING:
    from .ledger import Ledger

#: The most days of a picture; of more, some are chosen evenly.
_MOST_DAYS = 60


@dataclass(frozen=True)
class Line:
    """One curve: what one user can have lost by the evening of each of some days.

    Attributes
    ----------
    name : str
        "the whole plan", or the periods of a budget, such as "any 12 months".
    population : str or None
        Whose user it is, if populations are named.
    epsilon : float
        What it may be.
    points : tuple of (datetime.date, Bounds)
        Days, and certified bounds on epsilon.

    Examples
    --------
    >>> from datetime import date
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.dates import Schedule
    >>> from shuffledp.tools.plan import PlannedRound
    >>> from shuffledp.tools.timeline import timeline
    >>> weeks = Schedule(date(2027, 1, 4), "week", rounds=3)
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(1.0), 10_000), schedule=weeks)
    >>> line, = timeline(Plan(1.0, 1e-6, (weekly,)).ledger())
    >>> line.name, len(line.points)
    ('the whole plan', 3)
    """

    name: str
    population: str | None
    epsilon: float
    points: tuple[tuple[datetime.date, Bounds[float]], ...]


def timeline(ledger: Ledger, *, rtol: float = DEFAULT_RTOL) -> list[Line]:
    """The curves of a plan with dates, one for each population and budget; none without dates.

    A curve of a budget has the loss within the period up to that day: of the calendar year, or of
    the period of that length that ends on the day. All days on which there are rounds are shown,
    or, of more than 60, some of them, with those on which the worst periods end.

    >>> from datetime import date
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.dates import Schedule
    >>> from shuffledp.tools.plan import PlannedRound
    >>> from shuffledp.tools.timeline import timeline
    >>> weeks = Schedule(date(2027, 1, 4), "week", rounds=3)
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(1.0), 10_000), schedule=weeks)
    >>> line, = timeline(Plan(1.0, 1e-6, (weekly,)).ledger())
    >>> [str(day) for day, _ in line.points]
    ['2027-01-04', '2027-01-11', '2027-01-18']
    """
    if not ledger.is_dated:
        return []
    budgets = list(dict.fromkeys(period.budget for period in ledger.periods))
    ends = [period.last for period in ledger.periods if period.last is not None]
    planned = [entry.planned for entry in ledger.entries]
    names: list[str | None] = [each.name for each in ledger.populations] or [None]
    people = {
        name: Participation([p for p in planned if p.population in (None, name)], ledger.stays)
        for name in names
    }
    shown = {name: _chosen(person.days, ends) for name, person in people.items()}
    costs = SharedCosts(rtol)
    lines = []
    steps = (1 + len(budgets)) * sum(map(len, shown.values()))
    with progress("points", steps) as done:
        for name, person in people.items():
            for budget in (None, *budgets):
                delta = ledger.delta if budget is None else budget.delta
                points = []
                for day in reversed(shown[name]):  # the largest first, whose lattices are shared
                    attendances = _by(person, budget, day)
                    points.append((day, costs.worst(attendances, delta)[0]))
                    done(1)
                epsilon = ledger.epsilon if budget is None else budget.epsilon
                label = "the whole plan" if budget is None else budget.name
                lines.append(Line(label, name, epsilon, tuple(reversed(points))))
    return lines


def epsilon_by_round(
    ledger: Ledger, *, rtol: float = DEFAULT_RTOL
) -> list[tuple[int, Bounds[float]]]:
    """The epsilon after each round of a plan that has one entry, or after some of very many.

    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> from shuffledp.tools.timeline import epsilon_by_round
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(1.0), 10_000), rounds=3)
    >>> [number for number, _ in epsilon_by_round(Plan(1.0, 1e-6, (weekly,)).ledger())]
    [1, 2, 3]
    """
    planned, costs = ledger.entries[0].planned, SharedCosts(rtol)
    evenly = np.linspace(1, planned.rounds, min(planned.rounds, _MOST_DAYS))
    numbers = sorted(set(evenly.round().astype(int).tolist()), reverse=True)
    points = []
    with progress("rounds", len(numbers)) as done:
        for number in numbers:
            rounds = ((planned.round, min(number, planned.most)),)
            points.append((number, costs.epsilon(rounds, ledger.delta)))
            done(1)
    return points[::-1]


def _by(person: Participation, budget: PeriodBudget | None, day: datetime.date) -> list[Attendance]:
    """What one user can be in up to a day, in all or in the period of a budget."""
    if budget is None:
        return person.attendances(last=day)
    ((_, attendances),) = budget.attendances(person, day)
    return attendances


def _chosen(days: Days, ends: Iterable[datetime.date]) -> list[datetime.date]:
    if len(days) > _MOST_DAYS:
        kept = np.intersect1d(days, [end.toordinal() for end in ends])
        evenly = days[np.linspace(0, len(days) - 1, _MOST_DAYS).round().astype(int)]
        days = np.union1d(evenly, kept)
    return [datetime.date.fromordinal(day) for day in days.tolist()]
