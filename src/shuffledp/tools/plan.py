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
rounds = 52                 # optional: 1

[[rounds]]
mechanism = "gaussian"      # or laplace, approximate-dp, profile, pld: a trusted curator
sigma = 50.0
sensitivity = 1.0
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._support import validate
from .._support.files import STDIN, read_bytes
from .._support.progress import progress
from ..accountant import Accountant
from ..errors import InvalidParameter, ShuffleDPError
from ..guarantee import DEFAULT_RTOL, anyway
from ..randomizers.base import parameter_names
from ..rounds import Round
from .ledger import Entry, Inputs, Ledger
from .protocol import (
    ROUND_OPTIONS,
    WORDS,
    central_from,
    central_parameters,
    files,
    needed,
    round_of,
)

_TARGET = ("epsilon", "delta")


@dataclass(frozen=True)
class PlannedRound:
    """`rounds` rounds of one kind, or releases of a central mechanism.

    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), rounds=52)
    >>> weekly.round.users
    100000
    """

    name: str
    round: Round
    rounds: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise InvalidParameter(
                f"name={validate.show(self.name)} is not a line of text; give one that can be "
                "printed."
            )
        validate.instance(self.round, Round, "is not a round; give a Shuffle.", "round")
        rounds = validate.count("rounds", self.rounds, validate.MAX_ROUNDS)
        object.__setattr__(self, "rounds", rounds)


@dataclass(frozen=True)
class Plan:
    """Rounds in order, and the (epsilon, delta) that all of them together may cost.

    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), rounds=52)
    >>> Plan(epsilon=1.0, delta=1e-6, rounds=(weekly,)).ledger().fits
    True
    """

    epsilon: float
    delta: float
    rounds: tuple[PlannedRound, ...]
    #: The files that it was read from, each with its sha256.
    inputs: Inputs = field(default=(), compare=False)

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
        """From a TOML file, or stdin for `-`; what is wrong with it is told with the key."""
        data = read_bytes(path, str(path), "a plan")
        try:
            content = tomllib.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:  # what tomllib raises, not all of it its own
            raise InvalidParameter(f"{path} is not TOML: {error}; correct it there.") from None
        try:
            plan = cls._parse(content, Path(path).parent)
        except ShuffleDPError as error:
            raise InvalidParameter(f"{path}: {error}") from None
        named = (item[key] for item in content["rounds"] for key in _files() if key in item)
        more = {name: read_bytes(Path(path).parent / name, name, "a file") for name in named}
        name = "standard input" if path == STDIN else Path(path).name
        inputs = {name: data, **more}.items()
        digests = tuple((name, hashlib.sha256(read).hexdigest()) for name, read in inputs)
        return replace(plan, inputs=digests)

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
                accountant.compose(planned.round, rounds=planned.rounds)
                running = anyway(accountant.epsilon_bounds, self.delta, rtol=rtol)
                fits = running.upper <= self.epsilon
                entries.append(Entry(planned, running, self.epsilon - running.upper, fits))
                done(1)
        return Ledger(self.epsilon, self.delta, tuple(entries), self.inputs)


def _planned(where: str, item: Any, folder: Path, number: int) -> PlannedRound:
    fields = dict(_table(where, item))
    for key in ("name", "randomizer", "mechanism", *WORDS, *_files()):
        if key in fields:
            validate.instance(fields[key], str, "is not text; put it in quotes.", f"{where}.{key}")
    try:
        central = "mechanism" in fields
        known = ["mechanism", *central_parameters(fields), "neighbours"] if central else _known()
        _check_keys(where, fields, ("name", *known, "rounds"), () if central else needed(fields))
        fields |= {name: str(folder / fields[name]) for name in _files() if name in fields}
        round_ = central_from(fields) if central else round_of(fields)
        name = fields.get("name", f"{number}: {round_.inside}")
        return PlannedRound(name, round_, fields.get("rounds", 1))
    except ShuffleDPError as error:
        said = str(error)
        raise InvalidParameter(said if where in said else f"{where}: {said}") from None


def _known() -> list[str]:
    """The keys that describe a round."""
    return ["randomizer", *parameter_names(), "users", *ROUND_OPTIONS]


def _files() -> list[str]:
    """The keys that name files."""
    return [*files(), "file"]


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
