"""Budgets for periods, "epsilon 1 in any 12 months", and the account of a plan on a day.

Theory: docs/theory/participation.md.
"""

from __future__ import annotations

import bisect
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._support import validate
from .._support.numeric import Bounds
from .._support.text import plain, rounded_down, rounded_up
from ..errors import InvalidParameter
from .dates import Days, Duration
from .participation import Attendance, Costs, Participation

if TYPE_CHECKING:
    from .plan import Plan

#: The entries that concern each population, by its name, or all entries, by None.
People = Mapping[str | None, Participation]
#: A day, and the population of which something is true from then on, if any is named.
FirstDay = tuple[datetime.date, str | None]


@dataclass(frozen=True)
class PeriodBudget:
    """What a user may lose in any period of a length, or in each calendar year.

    Parameters
    ----------
    epsilon : float
        Privacy parameter, 0 or larger.
    delta : float
        Privacy parameter, 0 for pure DP or 1e-280 to 1.
    any : Duration or str, optional
        Length of the periods, such as "12 months"; they may begin on any day.
    each : str, optional
        Instead of `any`: "year", for the years of the calendar.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.tools.periods import PeriodBudget
    >>> PeriodBudget(1.0, 1e-8, any="12 months").name
    'any 12 months'
    """

    epsilon: float
    delta: float
    any: Duration | None = None
    each: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validate.epsilon(self.epsilon))
        object.__setattr__(self, "delta", validate.delta(self.delta))
        if (self.any is None) == (self.each is None):
            raise InvalidParameter(
                "a budget is for either any or each; give one, any='12 months' or each='year'."
            )
        if self.any is not None:
            object.__setattr__(self, "any", Duration.read("any", self.any))
        else:
            validate.choice("each", self.each, ["year"])

    @property
    def name(self) -> str:
        """Name of the periods, as in a sentence after "in"."""
        return f"any {self.any}" if self.any else "each calendar year"

    def holds_all(self, days: Days) -> bool:
        """Whether all of these days are in one period.

        Parameters
        ----------
        days : ndarray
            One or more days, ascending, as `datetime.date.toordinal` counts them.

        Returns
        -------
        bool
            Whether they are.
        """
        if self.any is not None:
            return bool(self.any.last_days(days[:1])[0] >= days[-1])
        first, last = (datetime.date.fromordinal(int(day)) for day in (days[0], days[-1]))
        return first.year == last.year

    def attendances(
        self, person: Participation, day: datetime.date | None = None
    ) -> list[tuple[str, list[Attendance]]]:
        """Periods that are reported, with what one user can be in within each of them.

        Parameters
        ----------
        person : Participation
            Rounds that a user can be in.
        day : datetime.date, optional
            Only the periods that contain it, with the rounds up to that day.

        Returns
        -------
        list of tuple
            Names of periods, and lists of attendances.
        """
        if self.any is not None:
            first = None
            if day is not None:
                days = person.days[person.days <= day.toordinal()]
                days = days[self.any.last_days(days) >= day.toordinal()]
                if not len(days):
                    return [(self.name, [])]
                first = datetime.date.fromordinal(int(days[0]))
            return [(self.name, person.attendances_in_any(self.any, first, day))]
        numbers = {datetime.date.fromordinal(number).year for number in person.days.tolist()}
        years = [day.year] if day is not None else sorted(numbers)
        return [
            (
                f"year {year}",
                person.attendances(
                    datetime.date(year, 1, 1), datetime.date(year, 12, 31) if day is None else day
                ),
            )
            for year in years
        ]


@dataclass(frozen=True)
class PeriodAccount:
    """What one user can lose in the worst period of a budget.

    Attributes
    ----------
    name : str
        Name of the period.
    budget : PeriodBudget
        What may be lost.
    total : Bounds
        Certified bounds on epsilon.
    population : str or None
        The worst one, if any is named.
    first, last : datetime.date or None
        First and last day of the rounds of the worst period; None if it has none.
    is_whole_plan : bool
        Whether the plan is no longer than that.

    Examples
    --------
    >>> from datetime import date
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.dates import Schedule
    >>> from shuffledp.tools.periods import PeriodBudget
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weeks = Schedule(date(2027, 1, 4), "week", rounds=3)
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(1.0), 10_000), schedule=weeks)
    >>> budget = PeriodBudget(0.5, 1e-6, any="12 months")
    >>> [account.fits for account in Plan(1.0, 1e-6, (weekly,), budgets=(budget,)).ledger().periods]
    [True]
    """

    name: str
    budget: PeriodBudget
    total: Bounds[float]
    population: str | None
    first: datetime.date | None
    last: datetime.date | None
    is_whole_plan: bool

    @property
    def remaining(self) -> float:
        """Budget minus the upper epsilon; negative if it is exceeded."""
        return self.budget.epsilon - self.total.upper

    @property
    def fits(self) -> bool:
        """Whether the budget is certified to be kept."""
        return self.total.upper <= self.budget.epsilon

    @property
    def exceeds(self) -> bool:
        """Whether the budget is exceeded for certain, as analyzed."""
        return self.total.lower > self.budget.epsilon

    @property
    def days(self) -> str:
        """Days of the worst period, for a table."""
        if self.first is None:
            return "no rounds"
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"

    def verdict(self, condition: str = "") -> str:
        """Result in one sentence.

        Parameters
        ----------
        condition : str
            Words that say of whom that is true.

        Returns
        -------
        str
            The sentence.
        """
        budget = f"the budget ({plain(self.budget.epsilon)}, {plain(self.budget.delta)})"
        worst = f", worst in {self.days}," if self.budget.any else ""
        worst = " (all of the plan)" if self.is_whole_plan and not self.population else worst
        period = f"{self.name if self.budget.any else f'the {self.name}'}{worst}"
        people = f" in the population {self.population!r}" if self.population else ""
        if self.fits:
            left = f"epsilon is {rounded_down(self.remaining)} below it{people}"
            return f"In {period} {budget} is kept{condition}: {left}."
        if self.exceeds:
            over = rounded_up(-self.remaining)
            return f"As analyzed, {budget} is exceeded in {period} by epsilon {over}{people}."
        least, most = rounded_down(self.total.lower, 7), rounded_up(self.total.upper, 7)
        known = f"{least} <= epsilon of the analyzed pairs <= {most} is certified{people}"
        return f"In {period} {budget} is not certified to be kept{condition}: {known}."


@dataclass(frozen=True)
class Standing:
    """The epsilon of all rounds of a plan that are due by the evening of a day.

    Attributes
    ----------
    day : datetime.date
        The day that was asked about.
    epsilon : float
        Privacy parameter of the target.
    total : Bounds
        Certified bounds on epsilon of all rounds up to that day.
    population : str or None
        The worst one, if any is named.
    rounds, planned : int
        Number of rounds that are due, and of all.
    periods : tuple of PeriodAccount
        The periods of each budget that contain the day.

    Examples
    --------
    >>> from datetime import date
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.dates import Schedule
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weeks = Schedule(date(2027, 1, 4), "week", rounds=3)
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(1.0), 10_000), schedule=weeks)
    >>> Plan(1.0, 1e-6, (weekly,)).ledger(at=date(2027, 1, 11)).standing.rounds
    2
    """

    day: datetime.date
    epsilon: float
    total: Bounds[float]
    population: str | None
    rounds: int
    planned: int
    periods: tuple[PeriodAccount, ...]

    @property
    def remaining(self) -> float:
        """Target minus the upper epsilon."""
        return self.epsilon - self.total.upper


def period_accounts(
    budget: PeriodBudget, people: People, costs: Costs, day: datetime.date | None = None
) -> list[PeriodAccount]:
    """The worst period of a budget, or each year, in the worst population.

    If a day is given: of the periods that contain it, with the rounds up to that day.
    """
    found: dict[str, list[PeriodAccount]] = {}
    for population, person in people.items():
        for name, attendances in budget.attendances(person, day):
            total, attendance = costs.worst(attendances, budget.delta)
            is_whole = day is None and budget.holds_all(person.days)
            days = _days_of_rounds(person, attendance)
            made = PeriodAccount(name, budget, total, population, *days, is_whole)
            found.setdefault(name, []).append(made)
    return [_worst(accounts) for accounts in found.values()]


def _worst(accounts: Sequence[PeriodAccount]) -> PeriodAccount:
    """The account of the worst population, with the bounds of the largest epsilon of all."""
    lower = max(each.total.lower for each in accounts)
    worst = max(accounts, key=lambda each: each.total.upper)
    return replace(worst, total=Bounds(lower, worst.total.upper))


def _days_of_rounds(
    person: Participation, attendance: Attendance | None
) -> tuple[datetime.date | None, datetime.date | None]:
    """The first and the last day of rounds within the period of an attendance."""
    if attendance is None or attendance.first is None or attendance.last is None:
        return None, None
    low, high = attendance.first.toordinal(), attendance.last.toordinal()
    days = person.days[(person.days >= low) & (person.days <= high)]
    return datetime.date.fromordinal(int(days[0])), datetime.date.fromordinal(int(days[-1]))


def standing(plan: Plan, people: People, costs: Costs, day: datetime.date) -> Standing:
    """The account of a plan with dates on the evening of a day."""
    totals = {
        name: costs.worst(person.attendances(last=day), plan.delta)[0]
        for name, person in people.items()
    }
    worst = max(totals, key=lambda name: totals[name].upper)
    lower = max(bounds.lower for bounds in totals.values())
    done = sum(
        int((each.schedule.days <= day.toordinal()).sum())
        * (each.rounds if len(each.schedule.days) == 1 else 1)
        for each in plan.rounds
        if each.schedule is not None
    )
    periods = [
        account
        for budget in plan.budgets
        for account in period_accounts(budget, people, costs, day)
    ]
    return Standing(
        day, plan.epsilon, Bounds(lower, totals[worst].upper), worst, done,
        sum(each.rounds for each in plan.rounds), tuple(periods),
    )  # fmt: skip


def exceeded_on(
    plan: Plan, people: People, costs: Costs
) -> tuple[FirstDay | None, FirstDay | None]:
    """The first days on which what a user can lose by a plan with dates exceeds its target.

    Returns
    -------
    tuple
        The first day on which the upper value of any population does, with the population, and the
        first on which a lower value does; None if there is no such day.
    """

    def first_day(population: str | None, is_lower: bool) -> FirstDay | None:
        person = people[population]

        def is_exceeded(number: int) -> bool:
            attendances = person.attendances(last=datetime.date.fromordinal(number))
            lower, upper = costs.worst(attendances, plan.delta)[0]
            return (lower if is_lower else upper) > plan.epsilon

        days = person.days.tolist()
        if not is_exceeded(days[-1]):
            return None
        # what is spent never falls
        place = bisect.bisect_left(days[:-1], True, key=is_exceeded)
        return datetime.date.fromordinal(days[place]), population

    def earliest(is_lower: bool) -> FirstDay | None:
        found = [day for name in people if (day := first_day(name, is_lower))]
        return min(found, key=lambda each: each[0], default=None)

    return earliest(False), earliest(True)


def checked_budgets(budgets: Any) -> tuple[PeriodBudget, ...]:
    """Budgets for periods as a tuple."""
    found = tuple(budgets) if isinstance(budgets, Sequence) else (None,)
    if not all(isinstance(budget, PeriodBudget) for budget in found):
        wrong = "is not a list of budgets; give one or more PeriodBudget"
        raise InvalidParameter(f"budgets={validate.show(budgets)} {wrong}.")
    return found


def check_dates(plan: Plan) -> None:
    """All entries have dates or none has; what is said of lengths of time needs them."""
    undated = [planned.name for planned in plan.rounds if planned.schedule is None]
    if undated and len(undated) < len(plan.rounds):
        raise InvalidParameter(
            f"the entry {undated[0]!r} has no start, but others have; give one to all, or to none."
        )
    if undated and (plan.stays or plan.budgets):
        what = "stays" if plan.stays else "a budget for a period"
        raise InvalidParameter(
            f"{what} needs the dates of the rounds; give every entry a start, or leave it out."
        )
