"""What a plan costs, entry by entry."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._support.numeric import Bounds
from .._support.rows import Records
from .._support.tables import CaptionedTable, Table, text_table
from .._support.text import plain, rounded_down, rounded_up, wrapped
from ..bounds.target import Calibration
from .dates import Duration
from .participation import Participation
from .periods import PeriodAccount, Standing
from .signed import DISJOINT, EVERYBODY, document

if TYPE_CHECKING:
    from .plan import PlannedRound

#: Names of files, and their sha256.
Inputs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """A line of the ledger: the epsilon of everything up to and including it that concerns the
    same people. An entry without a population concerns all of them, and the worst one counts."""

    planned: PlannedRound
    running: Bounds[float]
    remaining: float  # target minus the upper running epsilon; negative once it is exceeded
    fits: bool
    #: The running epsilon of each population that it concerns; none if the plan names none.
    by_population: tuple[tuple[str, Bounds[float]], ...] = ()


@dataclass(frozen=True)
class Population:
    """What a person of one population loses by all entries that concern the person."""

    name: str
    total: Bounds[float]
    remaining: float
    fits: bool
    exceeded_from: str | None  # the name of the first entry that exceeds the target, if one does


def worst_of(each: Sequence[Bounds[float]]) -> Bounds[float]:
    """The bounds of the largest of several epsilons."""
    return Bounds(max(one.lower for one in each), max(one.upper for one in each))


@dataclass(frozen=True, repr=False)
class Ledger(Records):
    """What a plan costs, entry by entry, against its target.

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
    #: The last round of a person is less than that time after the first.
    stays: Duration | None = None
    #: The worst period of each budget for periods.
    periods: tuple[PeriodAccount, ...] = ()
    #: What is spent on the day that was asked about.
    standing: Standing | None = None
    #: The first day on which the certified epsilon of any population exceeds the target.
    exceeded_on: datetime.date | None = None
    #: The largest share of colluding users with which the plan fits, if that was asked for.
    colluding: Calibration | None = None
    #: Why there is none, in a sentence, if it was asked for.
    no_colluding: str = ""
    #: The population of which that is true on this day, if any is named.
    exceeded_in: str | None = None
    #: The same day and population for the lower value: from then on the target is exceeded for
    #: certain, as analyzed.
    surely_exceeded: tuple[datetime.date, str | None] | None = None

    def to_markdown(self, date: str | None = None) -> str:
        """A document to sign: guarantee, relation, adversaries, assumptions, analyses, inputs."""
        return document(self, date).markdown()

    def to_html(self, date: str | None = None) -> str:
        """The same as a page of its own."""
        return document(self, date).html()

    @property
    def fits(self) -> bool:
        """Is the plan certified to meet the target and all budgets, in every population?"""
        return self._meets_target and all(period.fits for period in self.periods)

    @property
    def _meets_target(self) -> bool:
        return self.total.upper <= self.epsilon

    @property
    def populations(self) -> list[Population]:
        """Each population that is named, with all entries that concern it."""
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
        """What has to be true for what is said of the plan, after a verb; empty if nothing."""
        said = [f" if {DISJOINT}"] if self.populations else []
        said += [self.limits] if self.is_limited else []
        return " and".join(said).replace(" and if ", " and ")

    @property
    def is_limited(self) -> bool:
        """Is anything assumed of how long a person takes part, or in how many rounds?"""
        return bool(self.limits)

    @property
    def limits(self) -> str:
        """What is assumed of that, after a verb; empty if nothing."""
        said = []
        if self.stays and not self.is_within(self.stays):
            said.append(f"the last round of every person is less than {self.stays} after the first")
        limited = [e.planned for e in self.entries if e.planned.most < e.planned.rounds]
        said += [f"no person is in more than {p.most:,} rounds of {p.name!r}" for p in limited]
        return f" if {' and '.join(said)}" if said else ""

    def is_within(self, length: Duration) -> bool:
        """Is the last round of a plan with dates less than that time after the first?"""
        days = Participation([entry.planned for entry in self.entries]).days
        return bool(length.last_days(days[:1])[0] >= days[-1])

    @property
    def is_dated(self) -> bool:
        """Do the entries have dates?"""
        return self.entries[0].planned.schedule is not None

    @property
    def worst(self) -> Population | None:
        """The population that loses most; None if none is named."""
        return max(self.populations, key=lambda each: each.total.upper, default=None)

    @property
    def total(self) -> Bounds[float]:
        """The epsilon of the plan: of the worst population, or of all entries if none is named."""
        each = [population.total for population in self.populations]
        return worst_of(each or [self.entries[-1].running])

    @property
    def curves(self) -> dict[str, list[tuple[float, Bounds[float]]]]:
        """For a picture: the running epsilons by the number of their entry, those of each
        population or, if none is named, all of them."""
        if not self.populations:
            return {"running epsilon": [(i, e.running) for i, e in enumerate(self.entries, 1)]}
        found: dict[str, list[tuple[float, Bounds[float]]]] = {}
        for i, entry in enumerate(self.entries, 1):
            for name, running in entry.by_population:
                found.setdefault(name, []).append((i, running))
        return found

    @property
    def relation(self) -> str:
        """The neighbours' name: replace-one or remove-one."""
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
        """The names of the columns of the table."""
        people = ("population",) if self.populations else ()
        return ("entry", *people, "rounds", "users in each", "running epsilon", *_LEFT)

    def rows(self) -> list[tuple[str, ...]]:
        """The lines of the table, ready to print."""
        named = bool(self.populations)
        return [
            (
                entry.planned.name,
                *([entry.planned.population or EVERYBODY] if named else ()),
                f"{entry.planned.rounds:,}",
                entry.planned.round.crowd,
                rounded_up(entry.running.upper),
                _signed_down(entry.remaining),
                "yes" if entry.fits else "no",
            )
            for entry in self.entries
        ]

    def table_of_populations(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """Head and rows: what each population loses by the whole plan."""
        rows = [
            (
                each.name,
                rounded_up(each.total.upper),
                _signed_down(each.remaining),
                "yes" if each.fits else "no",
            )
            for each in self.populations
        ]
        return ("population", "epsilon", *_LEFT), [*rows]

    def table_of_periods(self) -> Table:
        """Head and rows: what a person can lose in the worst period of each budget."""
        rows = [
            (
                each.name,
                *([str(each.population)] if self.populations else ()),
                each.days,
                rounded_up(each.total.upper),
                plain(each.budget.epsilon),
                plain(each.budget.delta),
                _signed_down(each.remaining),
                "yes" if each.fits else "no",
            )
            for each in self.periods
        ]
        people = ("population",) if self.populations else ()
        head = ("period", *people, "worst rounds", "epsilon", "budget", "delta", *_LEFT)
        return head, rows

    def table_of_standing(self) -> Table:
        """Head and rows: what is spent on the day that was asked about; there must be one."""
        spent = self.standing
        assert spent is not None
        rows = [("the whole plan", spent.total.upper, spent.epsilon, self.delta)]
        rows += [
            (each.name, each.total.upper, each.budget.epsilon, each.budget.delta)
            for each in spent.periods
        ]
        head = (f"by {spent.day}", "epsilon spent", "budget", "delta", "remaining")
        return head, [
            (name, rounded_up(upper), plain(budget), plain(delta), _signed_down(budget - upper))
            for name, upper, budget, delta in rows
        ]

    @property
    def exceeds(self) -> bool:
        """Whether the target or a budget is exceeded for certain, as analyzed."""
        return self._misses_target or any(period.exceeds for period in self.periods)

    @property
    def _misses_target(self) -> bool:
        # later entries only add
        return any(entry.running.lower > self.epsilon for entry in self.entries)

    @property
    def outcome(self) -> str:
        """The verdict in a few words."""
        if self.fits:
            return f"fits{self.condition}"
        if self.exceeds:
            return f"exceeds {'the target' if self._misses_target else 'a budget'}"
        return "not certified to fit"

    @property
    def verdict(self) -> str:
        """Whether it fits, in one sentence: of the target, or of the first budget that does not."""
        for misses in ("exceeds", "fits"):
            for period in self.periods if self._meets_target else ():
                if getattr(period, misses) == (misses == "exceeds"):
                    return period.verdict(self.condition)
        return self._verdict_of_target

    @property
    def _verdict_of_target(self) -> str:
        total, relation, worst = self.total, self.relation, self.worst
        budget = f"the target ({plain(self.epsilon)}, {plain(self.delta)})"
        among = self.condition
        people = f" in the worst one, {worst.name!r}" if worst else ""
        if self._meets_target:
            left = f"epsilon {rounded_down(self.epsilon - total.upper)} remains{people}"
            every = " and all budgets for periods" if self.periods else ""
            return f"The plan fits {budget}{every}{among}: {left} ({relation} neighbours)."
        if not self._misses_target:
            least, most = rounded_down(total.lower, 7), rounded_up(total.upper, 7)
            known = f"{least} <= epsilon of the analyzed pairs <= {most}"
            known += f" is certified{people} ({relation} neighbours)"
            return f"The plan is not certified to fit {budget}{among}: {known}; narrow it by rtol."
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
        tables = [text_table(self.head, self.rows(), left=[0])]
        if self.populations:
            tables.append(text_table(*self.table_of_populations(), left=[0]))
        if self.periods:
            tables.append(text_table(*self.table_of_periods(), left=[0]))
        if self.standing is not None:
            tables.append(text_table(*self.table_of_standing(), left=[0]))
        return "\n\n".join([*tables, wrapped(self.verdict)])

    def as_table(self) -> CaptionedTable:
        return CaptionedTable(self.verdict, self.head, self.rows())


#: The last columns of both tables.
_LEFT = ("remaining", "fits")


def _signed_down(value: float) -> str:
    return rounded_down(value) if value >= 0 else f"-{rounded_up(-value)}"
