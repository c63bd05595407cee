"""A plan of rounds against a budget, from a TOML file, and the ledger of it.

[target]
epsilon = 1.0
delta = 1e-8

[document]                  # optional: what the document to sign says about itself
title = "Telemetry 2027"
owner = "Measurement team"
purpose = "Which features are used"
version = "1.0"
signatures = ["Controller", "Operator of the shuffler"]

[[rounds]]
name = "weekly telemetry"   # optional
randomizer = "rr"           # as on the command line, with its parameters
k = 16
eps0 = 2.0
users = 1_000_000           # or "1M", in quotes, as on the command line
sample_rate = 0.1           # optional, like all other options of a round
rounds = 52                 # optional: 1
population = "customers"    # optional: entries without one concern everybody
at_most = 26                # optional: no user is in more of these rounds

A plan may have dates, in all of its entries, and then limits and budgets for periods:

[[rounds]]
randomizer = "pure-ldp"
eps0 = 2.0
users = 1_000_000
start = 2027-01-04
every = "week"              # or day, "2 weeks", month, year
until = 2028-12-31          # or rounds = 104

[people]
stays = "26 weeks"          # a user's last round is less than that after the user's first

[[budgets]]
any = "12 months"           # or each = "year"
epsilon = 1.0
delta = 1e-8                # optional: that of the target

Entries may also have groups of users with different randomizers (docs/rolling-out.md), be releases
of a central mechanism (docs/plan.md), or steps of training (docs/dp-sgd.md).
"""

from __future__ import annotations

import datetime
import hashlib
import os
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from .._support import validate
from .._support.files import STDIN, read_bytes
from .._support.progress import progress
from .._support.text import known_instead
from .._support.written import WrittenFloat, read_number
from ..errors import InvalidParameter, ShuffleDPError
from ..guarantee import DEFAULT_RTOL, SUPPORTED_RELATIONS
from ..mixed import MixedShuffle
from ..randomizers.base import parameter_names
from ..rounds import Round
from .dates import DATE_KEYS, Duration, Schedule, check_day, take_days
from .document import DocumentDetails, check_line
from .ledger import Entry, Inputs, Ledger, worst_of
from .participation import Costs, Participation
from .periods import (
    PeriodBudget,
    check_dates,
    checked_budgets,
    exceeded_on,
    period_accounts,
    standing,
)
from .protocol import (
    GROUP_OPTIONS,
    ROUND_OPTIONS,
    SHARE_OPTIONS,
    WORD_OPTIONS,
    central_parameters,
    counts,
    files,
    is_other_name_of_sigma,
    needed,
    round_of,
    texts,
    view_of,
)
from .signed import EVERYBODY

_TARGET = ("epsilon", "delta")
#: Keys of an entry that are words.
_TEXTS = ("name", "population", "randomizer", "protects", "every", *WORD_OPTIONS)


@dataclass(frozen=True)
class PlannedRound:
    """`rounds` rounds of one kind, or releases of a central mechanism.

    Parameters
    ----------
    name : str
        One line of text.
    round : Round
        The round, or a central mechanism.
    rounds : int
        Number of rounds, 1 to 1e7. With a schedule it is that of the schedule; all are on one day
        if it says nothing of a number.
    population : str, optional
        The people that they concern; everybody by default.
    schedule : Schedule, optional
        Dates of the rounds.
    at_most : int, optional
        Largest number of these rounds that any user is in, 1 to 1e7.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), rounds=52)
    >>> weekly.round.users
    100000
    """

    name: str
    round: Round
    rounds: int = 1
    population: str | None = None
    schedule: Schedule | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        check_line("name", self.name)
        if self.population is not None:
            check_line("population", self.population)
        validate.instance(self.round, Round, "is not a round; give a Shuffle.", "round")
        if isinstance(self.round, MixedShuffle) and self.round.protects is not None:
            raise InvalidParameter(
                f"protects={self.round.protects!r} is for one group, but the account of a plan is "
                "for every user; leave protects out."
            )
        rounds = validate.count("rounds", self.rounds, validate.MAX_ROUNDS)
        if self.schedule is not None:
            wrong = "is not a schedule; give Schedule(start, every, until)."
            validate.instance(self.schedule, Schedule, wrong, "schedule")
            dates = len(self.schedule.days)
            if self.schedule.every is not None and rounds not in (1, dates):
                raise InvalidParameter(
                    f"rounds={rounds} does not go with a schedule of {dates} dates; leave it out."
                )
            rounds = dates if self.schedule.every is not None else rounds
        object.__setattr__(self, "rounds", rounds)
        if self.at_most is not None:
            most = validate.count("at_most", self.at_most, validate.MAX_ROUNDS)
            object.__setattr__(self, "at_most", most)

    @property
    def most(self) -> int:
        """Largest number of these rounds that one user is in."""
        return self.rounds if self.at_most is None else min(self.at_most, self.rounds)


@dataclass(frozen=True)
class Plan:
    """Rounds in order, and the (epsilon, delta) that all of them together may cost.

    Parameters
    ----------
    epsilon, delta : float
        Target: 0 or larger, and 0 to 1.
    rounds : sequence of PlannedRound
        One or more, all with the same neighbours; all or none have dates.
    inputs : tuple
        Pairs of a file that it was read from and its sha256.
    stays : Duration or str, optional
        The last round of a user is less than that time after the first.
    budgets : sequence of PeriodBudget
        Budgets for periods, of a plan with dates.
    details : DocumentDetails
        What the document of the plan says about itself.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning, or two of them contradict each other.

    Examples
    --------
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), rounds=52)
    >>> Plan(epsilon=1.0, delta=1e-6, rounds=(weekly,)).ledger().fits
    True
    """

    epsilon: float
    delta: float
    rounds: tuple[PlannedRound, ...]
    inputs: Inputs = field(default=(), compare=False)
    stays: Duration | None = None
    budgets: tuple[PeriodBudget, ...] = ()
    details: DocumentDetails = field(default_factory=DocumentDetails)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validate.epsilon(self.epsilon))
        object.__setattr__(self, "delta", validate.delta(self.delta))
        rounds = tuple(self.rounds) if isinstance(self.rounds, Sequence) else None
        if not rounds or not all(isinstance(planned, PlannedRound) for planned in rounds):
            raise InvalidParameter(
                f"rounds={validate.show(self.rounds)} is not a list of rounds; give one or more "
                "PlannedRound."
            )
        object.__setattr__(self, "rounds", rounds)
        relations = {planned.round.relation: planned.name for planned in rounds}
        if len(relations) > 1:
            mixed = " and ".join(f"{relation} ({name!r})" for relation, name in relations.items())
            raise InvalidParameter(
                f"the plan has rounds for {mixed} neighbours; give all rounds the same neighbours: "
                f"{SUPPORTED_RELATIONS}."
            )
        _check_populations(self.populations)
        if self.stays is not None:
            object.__setattr__(self, "stays", Duration.read("stays", self.stays))
        object.__setattr__(self, "budgets", checked_budgets(self.budgets))
        check_dates(self)

    @property
    def is_dated(self) -> bool:
        """Whether the entries have dates."""
        return self.rounds[0].schedule is not None

    def people(self, entries: int | None = None) -> dict[str | None, Participation]:
        """Rounds that a user of each population can be in; of anybody, under None, if none is
        named.

        Parameters
        ----------
        entries : int, optional
            Number of first entries; all by default.

        Returns
        -------
        dict of str or None to Participation
            By population.
        """
        names: list[str | None] = [*self.populations] or [None]
        listed = self.rounds[:entries]
        concerned = {
            name: [each for each in listed if each.population in (None, name)] for name in names
        }
        return {name: Participation(found, self.stays) for name, found in concerned.items()}

    @property
    def populations(self) -> list[str]:
        """Populations that are named, in the order of their first entries."""
        named = (planned.population for planned in self.rounds)
        return list(dict.fromkeys(name for name in named if name is not None))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """Plan from a TOML file (docs/plan.md).

        Parameters
        ----------
        path : str or path
            The file; "-" is standard input.

        Returns
        -------
        Plan
            With the sha256 of every file that was read.

        Raises
        ------
        InvalidParameter
            If a file cannot be read, or a key or value is wrong; the error names it.
        """
        data = read_bytes(path, str(path), "the file of a plan")
        try:
            content = tomllib.loads(data.decode("utf-8-sig"), parse_float=WrittenFloat)
        except (ValueError, RecursionError) as error:  # what tomllib raises, not all of it its own
            raise InvalidParameter(f"{path} is not TOML: {error}; correct it there.") from None
        try:
            plan = cls._parse(content, Path(path).parent)
        except ShuffleDPError as error:
            raise InvalidParameter(f"{path}: {error}") from None
        tables = [part for item in content["rounds"] for part in (item, *item.get("groups", ()))]
        named = dict.fromkeys(table[key] for table in tables for key in _files() if key in table)
        more = {name: read_bytes(Path(path).parent / name, name, "a file") for name in named}
        name = "standard input" if path == STDIN else Path(path).name
        inputs = {name: data, **more}.items()
        digests = tuple((name, hashlib.sha256(read).hexdigest()) for name, read in inputs)
        return replace(plan, inputs=digests)

    @classmethod
    def _parse(cls, content: dict[str, Any], folder: Path) -> Plan:
        known = ("target", "rounds", "people", "budgets", "document")
        _check_keys("the plan", content, known, ("target", "rounds"))
        target = _table("target", content["target"])
        _check_keys("target", target, _TARGET)
        for key in _TARGET:
            number = read_number(f"target.{key}", target[key])
            target[key] = validate.real(f"target.{key}", number)
        people = _table("people", content.get("people", {}))
        _check_keys("people", people, ("stays",), ())
        rounds = [
            _planned(f"rounds[{i}]", item, folder, i)
            for i, item in enumerate(_tables("rounds", content["rounds"]), 1)
        ]
        listed = _tables("budgets", content["budgets"]) if "budgets" in content else []
        budgets = [
            _budget(f"budgets[{i}]", item, target["delta"]) for i, item in enumerate(listed, 1)
        ]
        details = _table("document", content.get("document", {}))
        _check_keys("document", details, [each.name for each in fields(DocumentDetails)], ())
        try:
            made = DocumentDetails(**details)
        except InvalidParameter as error:
            raise InvalidParameter(f"document.{error}") from None
        return cls(**target, rounds=tuple(rounds), **people, budgets=tuple(budgets), details=made)

    def ledger(self, *, rtol: float = DEFAULT_RTOL, at: datetime.date | None = None) -> Ledger:
        """Ledger: the certified epsilon after every entry, and that of each budget for periods.

        A user of a population is concerned by its entries and by those without a population: the
        composition of these is what the user loses. What other populations send has the same law
        in neighbouring datasets, whatever was seen before, and so it costs nothing.

        Parameters
        ----------
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.
        at : datetime.date, optional
            For a plan with dates: also tell what is spent on the evening of that day.

        Returns
        -------
        Ledger
            What the plan costs, entry by entry.

        Raises
        ------
        InvalidParameter, OutOfRange
            If `at` is not a date, or the plan has none.
        """
        if at is not None:
            check_day("at", at)
            if not self.is_dated:
                raise InvalidParameter(
                    f"at={at} needs the dates of the rounds; give every entry a start."
                )
        costs = Costs(rtol)
        entries = []
        with progress("entries", len(self.rounds) + len(self.budgets)) as done:
            for number, planned in enumerate(self.rounds, 1):
                each = {
                    name: costs.worst(person.attendances(), self.delta)[0]
                    for name, person in self.people(number).items()
                    if planned.population in (None, name)
                }
                running = worst_of(list(each.values()))
                left, fits = self.epsilon - running.upper, running.upper <= self.epsilon
                named = tuple((name, bounds) for name, bounds in each.items() if name is not None)
                entries.append(Entry(planned, running, left, fits, named))
                done(1)
            people, periods = self.people(), []
            for budget in self.budgets:
                periods += period_accounts(budget, people, costs)
                done(1)
            spent = None if at is None else standing(self, people, costs, at)
            first, surely = exceeded_on(self, people, costs) if self.is_dated else (None, None)
        given = (self.epsilon, self.delta, tuple(entries), self.inputs)
        day, population = first or (None, None)
        return Ledger(
            *given, self.stays, tuple(periods), spent, day,
            exceeded_in=population, surely_exceeded=surely, details=self.details,
            rtol=rtol,
        )  # fmt: skip


def _planned(where: str, item: Any, folder: Path, number: int) -> PlannedRound:
    try:
        fields = _read_table(where, item, folder, _known_keys)
        people = {key: fields.pop(key) for key in ("population", "at_most") if key in fields}
        own = people | take_days(fields)
        round_ = round_of(fields)
        name = fields.get("name", f"{number}: {round_.inside}")
        return PlannedRound(name, round_, **own)
    except ShuffleDPError as error:
        sentence = str(error)
        raise InvalidParameter(sentence if where in sentence else f"{where}: {sentence}") from None


def _budget(where: str, item: Any, delta: float) -> PeriodBudget:
    """A budget for a period; the delta of the target stands for one that is left out."""
    given = {"delta": delta} | _table(where, item)
    _check_keys(where, given, ("any", "each", "epsilon", "delta"), ("epsilon",))
    try:
        for key in ("epsilon", "delta"):
            given[key] = validate.real(key, read_number(key, given[key]))
        return PeriodBudget(**given)
    except ShuffleDPError as error:
        raise InvalidParameter(f"{where}: {error}") from None


def _tables(name: str, listed: Any) -> list[Any]:
    if not isinstance(listed, list) or not listed:
        raise InvalidParameter(f"{name} is not a list of tables; write [[{name}]] above each.")
    return listed


def _read_table(
    where: str, item: Any, folder: Path, known_keys: Callable[..., Any]
) -> dict[str, Any]:
    """The values of an entry, or of a group of it, as they are written; files by their paths."""
    fields = dict(_table(where, item))
    words = {*_TEXTS, *_files(), *texts()}
    for key in words:
        if key in fields:
            validate.instance(fields[key], str, "is not text; put it in quotes.", f"{where}.{key}")
    _check_keys(where, fields, *known_keys(fields))
    try:
        for key in fields.keys() - {*words, *DATE_KEYS, "groups"}:
            how = {"whole": key in (*counts(), "at_most"), "share": key in SHARE_OPTIONS}
            fields[key] = read_number(key, fields[key], **how)
    except ShuffleDPError as error:
        raise InvalidParameter(f"{where}: {error}") from None
    if "groups" in fields:
        listed = fields["groups"]
        if not isinstance(listed, list) or not listed:
            raise InvalidParameter(f"{where}.groups is not a list of tables; write one or more.")
        own = ["randomizer", *parameter_names(), *GROUP_OPTIONS], ()
        fields["groups"] = [
            _read_table(f"{where}.groups[{i}]", group, folder, lambda _: own)
            for i, group in enumerate(listed, 1)
        ]
    return fields | {name: str(folder / fields[name]) for name in _files() if name in fields}


def _known_keys(fields: dict[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """The keys that an entry may have, and those that it must have."""
    if "mechanism" not in fields:
        view_of(fields)
        own = ["randomizer", *parameter_names(), "users", "groups", "protects", *ROUND_OPTIONS]
    elif "view" not in fields:
        own = ["mechanism", "neighbours", *central_parameters(fields), "sample_rate", "sampling"]
    else:
        own = ["mechanism", "neighbours", *central_parameters(fields), *ROUND_OPTIONS]
    return ["name", "population", *own, "at_most", *DATE_KEYS, "rounds"], needed(fields)


def _check_populations(names: Iterable[str]) -> None:
    """Names that look alike would count one population as two, and compose nothing."""
    seen: dict[str, str] = {}
    for name in names:
        plainly = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        if plainly == EVERYBODY:
            raise InvalidParameter(
                f"population={name!r} is the name for all people; leave the population out."
            )
        if seen.setdefault(plainly, name) != name:
            raise InvalidParameter(
                f"population={name!r} looks like {seen[plainly]!r}; write one population in one "
                "way, or give two of them different names."
            )


def _files() -> list[str]:
    """The keys that name files."""
    return [*files(), "file"]


def _table(where: str, value: Any) -> Any:
    return validate.instance(value, dict, f"is not a table; write [{where}].", where)


def _check_keys(
    where: str, given: dict[str, Any], known: Sequence[str], required: Sequence[str] | None = None
) -> None:
    """Refuse keys that are not known, and the lack of those that are required: all, if not told."""
    for key in given:
        if key not in known:
            instead = known_instead(key, known)
            if is_other_name_of_sigma(key, known):
                instead = "write it as sigma, with sensitivity 1."
            raise InvalidParameter(f"{where} has the unknown key {key!r}; {instead}")
    for key in known if required is None else required:
        if key not in given:
            raise InvalidParameter(f"{where} lacks the key {key!r}; add it.")
