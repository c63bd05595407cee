"""Options that describe a protocol on the command line."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from ..errors import InvalidParameter
from ..guarantee import DEFAULT_RTOL
from ..randomizers import (
    FiniteRandomizer,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHashing,
    PureLDP,
    RandomizedResponse,
    Randomizer,
    SubsetSelection,
    UnaryEncoding,
)
from ..shuffle import USUAL_PEOPLE, Shuffle

#: Each randomizer with the options that it needs and those that it may have.
RANDOMIZERS: dict[str, tuple[Callable[..., Randomizer], set[str], set[str]]] = {
    "pure-ldp": (PureLDP, {"eps0"}, set()),
    "rr": (RandomizedResponse, {"k"}, {"gamma", "eps0"}),
    "laplace": (Laplace, {"eps0"}, set()),
    "gaussian": (Gaussian, {"sigma"}, set()),
    "subset": (SubsetSelection, {"k", "size", "eps0"}, set()),
    "unary": (UnaryEncoding, {"k", "eps0"}, set()),
    "hashing": (LocalHashing, {"g", "eps0"}, set()),
    "hadamard": (HadamardResponse, {"k", "eps0"}, set()),
    "matrix": (lambda matrix: FiniteRandomizer(_read_matrix(matrix)), {"matrix"}, set()),
}


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A finite decimal number, whole if asked for: 10000, 1e4 and 10_000 are the same."""

    def __init__(self, whole: bool = False) -> None:
        self.name = "count" if whole else "number"
        self._whole = whole

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite():
            self.fail(f"{value!r} is not a finite number; write it like 10000 or 1e-6.", param, ctx)
        if number and not 1e-323 < abs(float(number)) < math.inf:
            self.fail(f"{value!r} is beyond the range of a float (1e-308 to 1e308).", param, ctx)
        if not self._whole:
            return float(number)
        if number != number.to_integral_value():
            self.fail(f"{value!r} is not whole; give a whole number >= 1.", param, ctx)
        return int(number)


class Numbers(Number):
    """Numbers separated by commas."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, list):
            return value
        return [super(Numbers, self).convert(part, param, ctx) for part in value.split(",")]


def options(*choices: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(choices):
            command = option(command)
        return command

    return decorate


EPS0 = click.option("--eps0", type=Number(), help="Local epsilon of the randomizer.")
K = click.option(
    "--k", type=Number(whole=True), help="Number of values (rr, subset, unary, hadamard)."
)
GAMMA = click.option("--gamma", type=Number(), help="Probability of a random answer (rr).")
OTHER_PARAMETERS = (
    K,
    GAMMA,
    click.option("--sigma", type=Number(), help="Standard deviation of the noise (gaussian)."),
    click.option("--size", type=Number(whole=True), help="Values in a subset (subset)."),
    click.option("--g", type=Number(whole=True), help="Values of the hash functions (hashing)."),
    click.option(
        "--matrix", metavar="FILE", help="CSV file: one row of probabilities a value (matrix)."
    ),
)
RANDOMIZER = click.option(
    "--randomizer",
    default="pure-ldp",
    show_default=True,
    help=f"One of {', '.join(RANDOMIZERS)}.",
)
ANALYSIS = click.option(
    "--analysis",
    default="best",
    show_default=True,
    help="best, blanket, stronger-clones, clones, or strong (rr).",
)
KIND = (RANDOMIZER, EPS0, *OTHER_PARAMETERS, ANALYSIS)

USERS = click.option("--users", type=Number(whole=True), required=True, help="Users in each round.")
SAMPLING = (
    click.option(
        "--sample-rate",
        type=Number(),
        help="Share of the users, at random, that sends in each round.  [default: 1]",
    ),
    click.option(
        "--sampling",
        help="fixed: exactly that share sends; poisson: each user with that probability.  "
        "[default: fixed]",
    ),
)
PEOPLE = (
    click.option(
        "--colluding",
        type=Number(),
        help="Users who tell the adversary all they know: up to so many, or a share below 1.",
    ),
    click.option(
        "--dropouts",
        type=Number(),
        help="Users who do not send although they should: up to so many, or a share below 1.",
    ),
    click.option(
        "--messages",
        type=Number(whole=True),
        help="Messages of each user in a round, protected together.  [default: 1]",
    ),
)
ROUNDS = click.option(
    "--rounds",
    type=Number(whole=True),
    default="1",
    show_default=True,
    help="How many rounds are composed.",
)
RTOL = click.option(
    "--rtol",
    type=Number(),
    default=DEFAULT_RTOL,
    show_default=True,
    help="Largest relative width of the certified bracket in epsilon.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
PROTOCOL = (*KIND, USERS, *SAMPLING, *PEOPLE, ROUNDS, RTOL, JSON)


#: The keyword arguments of Shuffle beside the randomizer and the users.
ROUND_OPTIONS = ("analysis", "sample_rate", "sampling", *USUAL_PEOPLE)


def round_options(given: dict[str, Any]) -> dict[str, Any]:
    """Takes the keyword arguments of Shuffle that were given out of all options."""
    taken = {name: given.pop(name) for name in ROUND_OPTIONS}
    return {name: value for name, value in taken.items() if value is not None}


def take_round(given: dict[str, Any]) -> tuple[Shuffle, dict[str, Any]]:
    """The round that the options describe, all of which are taken, and the same for a report."""
    kind, users, kept = given.pop("randomizer"), given.pop("users"), round_options(given)
    round_ = Shuffle(build(kind, given), users, **kept)
    said = {"analysis": round_.explained.name, "assumed": round_.explained.assumption}
    report = {**said, "randomizer": kind, **given, "users": users}
    if round_.sample_rate < 1:
        report |= {"sample_rate": round_.sample_rate, "sampling": round_.sampling}
    report |= {name: getattr(round_, name) for name in USUAL_PEOPLE}
    return round_, report


def build(kind: str, given: dict[str, Any], dash: str = "--") -> Randomizer:
    """The randomizer that the options describe; `dash` is how their names begin in messages."""
    if kind not in RANDOMIZERS:
        raise InvalidParameter(
            f"{dash}randomizer {kind} is unknown; choose one of {', '.join(RANDOMIZERS)}."
        )
    make, needed, possible = RANDOMIZERS[kind]
    given = {name: value for name, value in given.items() if value is not None}
    for name in sorted(needed - given.keys()):
        raise InvalidParameter(f"{dash}randomizer {kind} needs {dash}{name}; add it.")
    for name in sorted(given.keys() - needed - possible):
        raise InvalidParameter(
            f"{dash}{name} does not go with {dash}randomizer {kind}; leave it out."
        )
    return make(**given)


def _read_matrix(path: str) -> list[list[float]]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise InvalidParameter(
            f"matrix {path} cannot be read: {reason}; give a CSV file."
        ) from None
    try:
        return [[float(cell) for cell in row] for row in rows]
    except ValueError as error:
        raise InvalidParameter(f"matrix {path}: {error}; give numbers only.") from None
