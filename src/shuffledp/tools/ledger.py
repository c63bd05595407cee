"""What a plan costs, entry by entry."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._support.numeric import Bounds
from .._support.rows import Records
from .._support.tables import CaptionedTable, Table, text_table
from .._support.text import plain, rounded_down, rounded_up, wrapped
from ..calibration import Calibration
from ..guarantee import DEFAULT_RTOL
from .dates import Duration
from .document import DocumentDetails
from .participation import Participation
from .periods import PeriodAccount, Standing
from .signed import DISJOINT, EVERYBODY, document

if TYPE_CHECKING:
    from .plan import PlannedRound

#: Names of files, and their sha256.
Inputs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """A line of the ledger: epsilon of everything so far that concerns the same people.

    An entry without a population concerns all of them, and the worst one counts.

    Attributes
    ----------
    planned : PlannedRound
        The rounds of this line.
    running : Bounds
        Certified bounds on epsilon of all entries up to and including it.
    remaining : float
        Target minus the upper running epsilon; negative once it is exceeded.
    fits : bool
        Whether the target is certified to be met so far.
    by_population : tuple
        Pairs of a population that it concerns and its running epsilon; empty if the plan names
        none.

    Examples
    --------
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), rounds=52)
    >>> entry = Plan(epsilon=1.0, delta=1e-6, rounds=(weekly,)).ledger().entries[0]
    >>> entry.fits, entry.remaining < 1.0
    (True, True)
    """

    planned: PlannedRound
    running: Bounds[float]
    remaining: float
    fits: bool
    by_population: tuple[tuple[str, Bounds[float]], ...] = ()


@dataclass(frozen=True)
class Population:
    """What a user of one population loses by all entries that concern the user.

    Attributes
    ----------
    name : str
        Name of the population.
    total : Bounds
        Certified bounds on epsilon.
    remaining : float
        Target minus the upper epsilon; negative if it is exceeded.
    fits : bool
        Whether the target is certified to be met.
    exceeded_from : str or None
        Name of the first entry that exceeds the target, if one does.

    Examples
    --------
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> survey = Shuffle(PureLDP(eps0=1.0), users=100_000)
    >>> poll = PlannedRound("poll", survey, population="customers")
    >>> [each.name for each in Plan(epsilon=1.0, delta=1e-6, rounds=(poll,)).ledger().populations]
    ['customers']
    """

    name: str
    total: Bounds[float]
    remaining: float
    fits: bool
    exceeded_from: str | None


def worst_of(each: Sequence[Bounds[float]]) -> Bounds[float]:
    """The bounds of the largest of several epsilons."""
    return Bounds(max(one.lower for one in each), max(one.upper for one in each))


@dataclass(frozen=True, repr=False)
class Ledger(Records):
    """What a plan costs, entry by entry, against its target.

    Attributes
    ----------
    epsilon, delta : float
        The target.
    entries : tuple of Entry
        One per planned round, in order.
    inputs : tuple
        Pairs of a file that the plan was read from and its sha256.
    stays : Duration or None
        The last round of a user is less than that time after the first.
    periods : tuple of PeriodAccount
        The worst period of each budget for periods.
    standing : Standing or None
        The epsilon of the rounds that are due by the day that was asked about.
    exceeded_on : datetime.date or None
        First day on which the certified epsilon of any population exceeds the target.
    colluding : Calibration or None
        Largest share of colluding users with which the plan fits, if that was asked for.
    no_colluding : str
        Why there is none, in a sentence, if it was asked for.
    exceeded_in : str or None
        Population that exceeds the target on `exceeded_on`, if any is named.
    surely_exceeded : tuple or None
        Day and population for the lower value: from then on the target is exceeded for certain, as
        analyzed.
    details : DocumentDetails
        What the document of the plan says about itself.
    rtol : float
        Relative width that brackets were to have.

    Examples
    --------
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), rounds=52)
    >>> Plan(epsilon=0.01, delta=1e-6, rounds=(weekly,)).ledger().fits
    False
    """

    epsilon: float
    delta: float
    entries: tuple[Entry, ...]
    inputs: Inputs = ()
    stays: Duration | None = None
    periods: tuple[PeriodAccount, ...] = ()
    standing: Standing | None = None
    exceeded_on: datetime.date | None = None
    colluding: Calibration | None = None
    no_colluding: str = ""
    exceeded_in: str | None = None
    surely_exceeded: tuple[datetime.date, str | None] | None = None
    details: DocumentDetails = field(default_factory=DocumentDetails)
    rtol: float = DEFAULT_RTOL

    def to_markdown(self, date: str | None = None, **details: Any) -> str:
        """Document to sign, as Markdown; needs the extra `documents`.

        Parameters
        ----------
        date : str, optional
            The date of the document; no clock is read.
        **details : object
            The other fields of `DocumentDetails`: title, owner, purpose, version, signatures. They
            replace those of the plan.

        Returns
        -------
        str
            Markdown.
        """
        return document(self, date=date, **details).markdown()

    def to_html(self, date: str | None = None, **details: Any) -> str:
        """Document to sign, as a page of its own, made for printing; needs the extra `documents`.

        Parameters
        ----------
        date : str, optional
            The date of the document; no clock is read.
        **details : object
            The other fields of `DocumentDetails`, as of `to_markdown`.

        Returns
        -------
        str
            HTML.
        """
        return document(self, date=date, **details).html()

    @property
    def fits(self) -> bool:
        """Whether the plan is certified to meet the target and all budgets, in every population."""
        return self.meets_target and all(period.fits for period in self.periods)

    @property
    def meets_target(self) -> bool:
        """Whether the target is certified to be met."""
        return self.total.upper <= self.epsilon

    @property
    def populations(self) -> list[Population]:
        """Populations that are named, each with all entries that concern it."""
        totals: dict[str, Bounds[float]] = {}
        exceeded: dict[str, str] = {}
        for entry in self.entries:
            for name, running in entry.by_population:
                totals[name] = running
                if running.upper > self.epsilon:
                    exceeded.setdefault(name, entry.planned.name)
        return [
            Population(
                name, total, self.epsilon - total.upper, total.upper <= self.epsilon,
                exceeded.get(name),
            )
            for name, total in totals.items()
        ]  # fmt: skip

    @property
    def condition(self) -> str:
        """Words after a verb: whom the verdict is for; empty if that is every user."""
        said = [DISJOINT] if self.populations else []
        said += [self.limits] if self.is_limited else []
        return f" for every user {' and '.join(said)}" if said else ""

    @property
    def is_limited(self) -> bool:
        """Whether anything is assumed of how long a user takes part, or in how many rounds."""
        return bool(self.limits)

    @property
    def limits(self) -> str:
        """Words after "user": what is assumed of that; empty if nothing."""
        said = []
        if self.stays and not self.is_within(self.stays):
            said.append(f"whose last round is less than {self.stays} after the first")
        limited = [e.planned for e in self.entries if e.planned.most < e.planned.rounds]
        said += [f"who is in at most {p.most:,} rounds of {p.name!r}" for p in limited]
        return " and ".join(said)

    def is_within(self, length: Duration) -> bool:
        """Whether the last round of a plan with dates is less than that time after the first.

        Parameters
        ----------
        length : Duration
            The time.

        Returns
        -------
        bool
            Whether it is.
        """
        days = Participation([entry.planned for entry in self.entries]).days
        return bool(length.last_days(days[:1])[0] >= days[-1])

    @property
    def is_dated(self) -> bool:
        """Whether the entries have dates."""
        return self.entries[0].planned.schedule is not None

    @property
    def worst(self) -> Population | None:
        """Population that loses most; None if none is named."""
        return max(self.populations, key=lambda each: each.total.upper, default=None)

    @property
    def total(self) -> Bounds[float]:
        """Epsilon of the plan: of the worst population, or of all entries if none is named."""
        each = [population.total for population in self.populations]
        return worst_of(each or [self.entries[-1].running])

    @property
    def curves(self) -> dict[str, list[tuple[float, Bounds[float]]]]:
        """Running epsilons by the number of their entry, for each population, for a picture.

        If no population is named, there is one curve of all of them.
        """
        if not self.populations:
            return {"running epsilon": [(i, e.running) for i, e in enumerate(self.entries, 1)]}
        found: dict[str, list[tuple[float, Bounds[float]]]] = {}
        for i, entry in enumerate(self.entries, 1):
            for name, running in entry.by_population:
                found.setdefault(name, []).append((i, running))
        return found

    @property
    def relation(self) -> str:
        """Name of the relation between neighbours: "replace-one" or "remove-one"."""
        return self.entries[0].planned.round.relation

    def records(self) -> list[dict[str, Any]]:
        found = []
        for entry in self.entries:
            round_ = entry.planned.round
            _, analysis, inside = round_.summary
            row: dict[str, Any] = {"entry": entry.planned.name, "rounds": entry.planned.rounds}
            row |= {name: getattr(round_, name, None) for name in ("users", "sample_rate")}
            row |= {"randomizer": inside, "analysis": analysis}
            row |= {"epsilon_lower": entry.running.lower, "epsilon_upper": entry.running.upper}
            row |= {"remaining": entry.remaining, "fits": entry.fits}
            row |= {"population": entry.planned.population, "at_most": entry.planned.at_most}
            when = entry.planned.schedule
            days = (when.start, when.every, when.last) if when else (None, None, None)
            found.append(row | dict(zip(("start", "every", "last"), days, strict=True)))
        return found

    @property
    def head(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        people = ("population",) if self.populations else ()
        return ("entry", *people, "rounds", "users in each", "running epsilon", *_BELOW_TARGET)

    def rows(self) -> list[tuple[str, ...]]:
        """Lines of the table, ready to print."""
        named = bool(self.populations)
        return [
            (
                entry.planned.name,
                *([entry.planned.population or EVERYBODY] if named else ()),
                f"{entry.planned.rounds:,}",
                entry.planned.round.crowd,
                rounded_up(entry.running.upper),
                *_left(entry),
            )
            for entry in self.entries
        ]

    def table_of_populations(self) -> Table:
        """Head and rows of a table: what each population loses by the whole plan."""
        rows = [
            (each.name, rounded_up(each.total.upper), *_left(each)) for each in self.populations
        ]
        return ("population", "epsilon", *_BELOW_TARGET), rows

    def table_of_periods(self) -> Table:
        """Head and rows of a table: what a user can lose in the worst period of each budget."""
        rows = [
            (
                each.name,
                *([str(each.population)] if self.populations else ()),
                each.days,
                rounded_up(each.total.upper),
                plain(each.budget.epsilon),
                plain(each.budget.delta),
                *_left(each),
            )
            for each in self.periods
        ]
        people = ("population",) if self.populations else ()
        head = (
            "period",
            *people,
            "worst rounds",
            "epsilon",
            "budget",
            "delta",
            "below budget",
            "fits",
        )
        return head, rows

    def table_of_standing(self) -> Table:
        """Head and rows of a table: the epsilon of the rounds that are due by the day that was
        asked about; there must be one."""
        spent = self.standing
        assert spent is not None
        rows = [("the whole plan", spent.total.upper, spent.epsilon, self.delta)]
        rows += [
            (each.name, each.total.upper, each.budget.epsilon, each.budget.delta)
            for each in spent.periods
        ]
        head = (f"due by {spent.day}", "epsilon", "limit", "delta", "below limit")
        return head, [
            (name, rounded_up(upper), plain(budget), plain(delta), _signed_down(budget - upper))
            for name, upper, budget, delta in rows
        ]

    @property
    def exceeds(self) -> bool:
        """Whether the target or a budget is exceeded for certain, as analyzed."""
        return self.misses_target or any(period.exceeds for period in self.periods)

    @property
    def misses_target(self) -> bool:
        """Whether the target is exceeded for certain, as analyzed."""
        # later entries only add
        return any(entry.running.lower > self.epsilon for entry in self.entries)

    @property
    def outcome(self) -> str:
        """Verdict in a few words."""
        if self.fits:
            return f"fits{self.condition}"
        if self.exceeds:
            return f"exceeds {'the target' if self.misses_target else 'a budget'}"
        return "not certified to fit"

    @property
    def verdict(self) -> str:
        """Verdict in one sentence: on the target, or on the first budget that does not fit."""
        for misses in ("exceeds", "fits"):
            for period in self.periods if self.meets_target else ():
                if getattr(period, misses) == (misses == "exceeds"):
                    return period.verdict(self.condition)
        return self._verdict_of_target

    @property
    def _verdict_of_target(self) -> str:
        total, relation, worst = self.total, self.relation, self.worst
        budget = f"the target ({plain(self.epsilon)}, {plain(self.delta)})"
        among = self.condition
        people = f" in the worst one, {worst.name!r}" if worst else ""
        if self.meets_target:
            left = f"epsilon is {rounded_down(self.epsilon - total.upper)} below the target{people}"
            every = " and all budgets for periods" if self.periods else ""
            return f"The plan fits {budget}{every}{among}: {left} ({relation} neighbours)."
        if not self.misses_target:
            least, most = rounded_down(total.lower, 7), rounded_up(total.upper, 7)
            known = f"{least} <= epsilon of the analyzed pairs <= {most}"
            known += f" is certified{people} ({relation} neighbours)"
            why = f"{known}; a smaller rtol gives a narrower bracket"
            return f"The plan is not certified to fit {budget}{among}: {why}."
        over = rounded_up(total.upper - self.epsilon)
        if worst:
            first, people = worst.exceeded_from, f" in the population {worst.name!r}"
        else:
            first = next(entry.planned.name for entry in self.entries if not entry.fits)
        since = repr(first)
        if self.surely_exceeded is not None:
            day, earliest = self.surely_exceeded
            is_worst = worst is None or worst.name == earliest
            since = str(day) if is_worst else f"{day} (first in the population {earliest!r})"
        from_ = f"from {since} on ({relation})"
        return f"As analyzed, the plan exceeds {budget} by epsilon {over}{people}, {from_}."

    def __str__(self) -> str:
        tables: list[Table] = [(self.head, self.rows())]
        tables += [self.table_of_populations()] if self.populations else []
        tables += [self.table_of_periods()] if self.periods else []
        tables += [self.table_of_standing()] if self.standing else []
        shown = (text_table(*table, left=[0]) for table in tables)
        return "\n\n".join([*shown, wrapped(self.verdict)])

    def as_table(self) -> CaptionedTable:
        return CaptionedTable(self.verdict, self.head, self.rows())


#: The last columns of the tables of entries and populations.
_BELOW_TARGET = ("below target", "fits")


def _left(cost: Entry | Population | PeriodAccount) -> tuple[str, str]:
    return _signed_down(cost.remaining), "yes" if cost.fits else "no"


def _signed_down(value: float) -> str:
    return rounded_down(value) if value >= 0 else f"-{rounded_up(-value)}"
