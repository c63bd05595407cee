"""A plan of rounds against a budget, from a TOML file, and the ledger of it.

[target]
epsilon = 1.0
delta = 1e-8

[[rounds]]
name = "weekly telemetry"   # optional
randomizer = "rr"           # as on the command line, with its parameters
k = 16
eps0 = 2.0
users = 1_000_000
sample_rate = 0.1           # optional, like all other options of a round
count = 52                  # optional: 1
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._support import validate
from .._support.numeric import Bounds
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import html_table, text_table
from .._support.text import rounded_down, rounded_up
from ..accountant import Accountant
from ..errors import InvalidParameter, ShuffleDPError
from ..guarantee import DEFAULT_RTOL, anyway
from ..randomizers.base import parameter_names
from ..rounds import Round
from .protocol import ROUND_OPTIONS, WORDS, files, needed, round_of

_TARGET = ("epsilon", "delta")


@dataclass(frozen=True)
class PlannedRound:
    """`count` rounds of one kind.

    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), count=52)
    >>> weekly.round.users
    100000
    """

    name: str
    round: Round
    count: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise InvalidParameter(
                f"name={validate.show(self.name)} is not a line of text; give one that can be "
                "printed."
            )
        validate.instance(self.round, Round, "is not a round; give a Shuffle.", "round")
        count = validate.count("count", self.count, validate.MAX_ROUNDS)
        object.__setattr__(self, "count", count)


@dataclass(frozen=True)
class Entry:
    """A line of the ledger: the epsilon of everything up to and including it."""

    planned: PlannedRound
    running: Bounds[float]
    remaining: float  # target minus the upper running epsilon; negative once it is exceeded
    fits: bool


@dataclass(frozen=True)
class Ledger(Records):
    """What a plan costs, entry by entry, against its target.

    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), count=52)
    >>> Plan(epsilon=0.01, delta=1e-6, rounds=(weekly,)).ledger().fits
    False
    """

    epsilon: float
    delta: float
    entries: tuple[Entry, ...]

    @property
    def fits(self) -> bool:
        """Is the whole plan certified to meet the target?"""
        return self.entries[-1].fits

    @property
    def relation(self) -> str:
        """The neighbours' name: replace-one or remove-one."""
        return self.entries[0].planned.round.relation

    def records(self) -> list[dict[str, Any]]:
        found = []
        for entry in self.entries:
            round_ = entry.planned.round
            _, analysis, inside = round_.summary
            row: dict[str, Any] = {"entry": entry.planned.name, "rounds": entry.planned.count}
            row |= {name: getattr(round_, name, None) for name in ("users", "sample_rate")}
            row |= {"randomizer": inside, "analysis": analysis}
            row |= {"epsilon_lower": entry.running.lower, "epsilon_upper": entry.running.upper}
            found.append(row | {"remaining": entry.remaining, "fits": entry.fits})
        return found

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                entry.planned.name,
                f"{entry.planned.count:,}",
                entry.planned.round.crowd,
                rounded_up(entry.running.upper),
                _signed_down(entry.remaining),
                "yes" if entry.fits else "no",
            )
            for entry in self.entries
        ]

    def _verdict(self) -> str:
        last, relation = self.entries[-1], self.relation
        budget = f"the target ({self.epsilon:g}, {self.delta:g})"
        if last.fits:
            left = rounded_down(last.remaining)
            return f"The plan fits {budget}: epsilon {left} remains ({relation} neighbours)."
        first = next(entry.planned.name for entry in self.entries if not entry.fits)
        over = rounded_up(-last.remaining)
        return f"The plan exceeds {budget} by epsilon {over}, from {first!r} on ({relation})."

    def __str__(self) -> str:
        return f"{text_table(_HEAD, self._rows(), left=[0])}\n\n{self._verdict()}"

    def _repr_html_(self) -> str:
        return html_table(self._verdict(), _HEAD, self._rows(), named_by=0)


_HEAD = ("entry", "rounds", "users in each", "running epsilon", "remaining", "fits")


def _signed_down(value: float) -> str:
    return rounded_down(value) if value >= 0 else f"-{rounded_up(-value)}"


@dataclass(frozen=True)
class Plan:
    """Rounds in order, and the (epsilon, delta) that all of them together may cost.

    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), count=52)
    >>> Plan(epsilon=1.0, delta=1e-6, rounds=(weekly,)).ledger().fits
    True
    """

    epsilon: float
    delta: float
    rounds: tuple[PlannedRound, ...]

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
        names = {planned.round.relation: planned.name for planned in rounds}
        if len(names) > 1:
            mixed = " and ".join(f"{relation} ({name!r})" for relation, name in names.items())
            raise InvalidParameter(
                f"the plan has rounds for {mixed} neighbours; give all rounds the same neighbours."
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """From a TOML file; whatever is wrong with it is told in one sentence with the key."""
        try:
            file = Path(path)
            text = file.read_text(encoding="utf-8")
            content = tomllib.loads(text)
        except (OSError, TypeError) as error:
            reason = getattr(error, "strerror", None) or "it is not the name of a file"
            raise InvalidParameter(f"{path} cannot be read: {reason}; give a plan.") from None
        except (ValueError, RecursionError) as error:  # what tomllib raises, not all of it its own
            raise InvalidParameter(f"{file} is not TOML: {error}; correct it there.") from None
        try:
            return cls._parse(content, file.parent)
        except ShuffleDPError as error:
            raise InvalidParameter(f"{file}: {error}") from None

    @classmethod
    def _parse(cls, content: dict[str, Any], folder: Path) -> Plan:
        _check_keys("the plan", content, ("target", "rounds"), ("target", "rounds"))
        target = _table("target", content["target"])
        _check_keys("target", target, _TARGET, _TARGET)
        target = {key: validate.real(f"target.{key}", target[key]) for key in _TARGET}
        listed = content["rounds"]
        if not isinstance(listed, list) or not listed:
            raise InvalidParameter("rounds is not a list of tables; write [[rounds]] above each.")
        rounds = [_planned(f"rounds[{i}]", item, folder, i) for i, item in enumerate(listed, 1)]
        return cls(**target, rounds=tuple(rounds))

    def ledger(self, *, rtol: float = DEFAULT_RTOL) -> Ledger:
        """The running certified epsilon after every entry."""
        accountant, entries = Accountant(), []
        with progress("entries", len(self.rounds)) as done:
            for planned in self.rounds:
                accountant.compose(planned.round, rounds=planned.count)
                running = anyway(accountant.epsilon_bounds, self.delta, rtol=rtol)
                fits = running.upper <= self.epsilon
                entries.append(Entry(planned, running, self.epsilon - running.upper, fits))
                done(1)
        return Ledger(self.epsilon, self.delta, tuple(entries))


def _planned(where: str, item: Any, folder: Path, number: int) -> PlannedRound:
    fields = dict(_table(where, item))
    known = ("name", "randomizer", *parameter_names(), "users", *ROUND_OPTIONS, "count")
    _check_keys(where, fields, known, needed(fields))
    for key in ("name", "randomizer", *WORDS, *files()):
        if key in fields:
            validate.instance(fields[key], str, "is not text; put it in quotes.", f"{where}.{key}")
    fields |= {name: str(folder / fields[name]) for name in files() if name in fields}
    try:
        round_ = round_of(fields)
        name = fields.get("name", f"{number}: {round_.inside}")
        return PlannedRound(name, round_, fields.get("count", 1))
    except ShuffleDPError as error:
        raise InvalidParameter(f"{where}: {error}") from None


def _table(where: str, value: Any) -> Any:
    return validate.instance(value, dict, f"is not a table; write [{where}].", where)


def _check_keys(
    where: str, given: dict[str, Any], known: Sequence[str], needed: Sequence[str]
) -> None:
    for key in given:
        if key not in known:
            raise InvalidParameter(
                f"{where} has the unknown key {key!r}; the known ones are {', '.join(known)}."
            )
    for key in needed:
        if key not in given:
            raise InvalidParameter(f"{where} lacks the key {key!r}; add it.")
