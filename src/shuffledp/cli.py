"""The command line: `shuffledp epsilon`, `shuffledp delta` and `shuffledp adversaries`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from . import (
    Accountant,
    FiniteRandomizer,
    HadamardResponse,
    InvalidParameter,
    LocalHashing,
    NotCertified,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    ShuffleDPError,
    SubsetSelection,
    UnaryEncoding,
    __version__,
    adversaries,
)
from .queries import DEFAULT_RTOL
from .randomizers import Randomizer
from .statement import rounded_down, rounded_up, statement

BAD_INPUT, NOT_CERTIFIED = 2, 3

#: Each randomizer with the options that it needs and those that it may have.
RANDOMIZERS: dict[str, tuple[Callable[..., Randomizer], set[str], set[str]]] = {
    "pure-ldp": (PureLDP, {"eps0"}, set()),
    "rr": (RandomizedResponse, {"k"}, {"gamma", "eps0"}),
    "subset": (SubsetSelection, {"k", "size", "eps0"}, set()),
    "unary": (UnaryEncoding, {"k", "eps0"}, set()),
    "hashing": (LocalHashing, {"g", "eps0"}, set()),
    "hadamard": (HadamardResponse, {"k", "eps0"}, set()),
    "matrix": (lambda matrix: FiniteRandomizer(_read_matrix(matrix)), {"matrix"}, set()),
}


class _Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
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
        if abs(number.adjusted()) > 320:
            self.fail(f"{value!r} is beyond the range of a float (1e-308 to 1e308).", param, ctx)
        if not self._whole:
            return float(number)
        if number != number.to_integral_value():
            self.fail(f"{value!r} is not whole; give a whole number >= 1.", param, ctx)
        return int(number)


class _Numbers(_Number):
    """Numbers separated by commas."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, list):
            return value
        return [super(_Numbers, self).convert(part, param, ctx) for part in value.split(",")]


def _options(*choices: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(choices):
            command = option(command)
        return command

    return decorate


_PARAMETERS = (
    click.option("--eps0", type=_Number(), help="Local epsilon of the randomizer."),
    click.option(
        "--k", type=_Number(whole=True), help="Number of values (rr, subset, unary, hadamard)."
    ),
    click.option("--gamma", type=_Number(), help="Probability of a random answer (rr)."),
    click.option("--size", type=_Number(whole=True), help="Values in a subset (subset)."),
    click.option("--g", type=_Number(whole=True), help="Values of the hash functions (hashing)."),
    click.option(
        "--matrix", metavar="FILE", help="CSV file: one row of probabilities a value (matrix)."
    ),
)
_PROTOCOL = (
    click.option("--users", type=_Number(whole=True), required=True, help="Users in each round."),
    click.option(
        "--rounds",
        type=_Number(whole=True),
        default="1",
        show_default=True,
        help="How many rounds are composed.",
    ),
    click.option(
        "--rtol",
        type=_Number(),
        default=DEFAULT_RTOL,
        show_default=True,
        help="Largest relative width of the certified bracket in epsilon.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead."),
)
_KIND = (
    click.option(
        "--randomizer",
        default="pure-ldp",
        show_default=True,
        help=f"One of {', '.join(RANDOMIZERS)}.",
    ),
    *_PARAMETERS,
    click.option(
        "--analysis",
        default="best",
        show_default=True,
        help="best, blanket, stronger-clones, clones, or strong (rr).",
    ),
)


def _build(kind: str, given: dict[str, Any]) -> Randomizer:
    """The randomizer that the options describe."""
    if kind not in RANDOMIZERS:
        raise InvalidParameter(
            f"--randomizer {kind} is unknown; choose one of {', '.join(RANDOMIZERS)}."
        )
    make, needed, possible = RANDOMIZERS[kind]
    given = {name: value for name, value in given.items() if value is not None}
    for name in sorted(needed - given.keys()):
        raise InvalidParameter(f"--randomizer {kind} needs --{name}; add it.")
    for name in sorted(given.keys() - needed - possible):
        raise InvalidParameter(f"--{name} does not go with --randomizer {kind}; leave it out.")
    return make(**given)


def _read_matrix(path: str) -> list[list[float]]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise InvalidParameter(
            f"--matrix {path} cannot be read: {reason}; give a CSV file."
        ) from None
    try:
        return [[float(cell) for cell in row] for row in rows]
    except ValueError as error:
        raise InvalidParameter(f"--matrix {path}: {error}; give numbers only.") from None


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every printed upper value is rounded up: it is safe to publish.",
)
@click.version_option(__version__, package_name="shuffledp", message="%(prog)s %(version)s")
def cli() -> None:
    """Certified (epsilon, delta) for the shuffle model of differential privacy.

    \b
    Users randomize their own data (eps0-LDP), a shuffler strips identities:
      shuffledp epsilon --eps0 4 --users 10000 --delta 1e-6
      shuffledp epsilon --eps0 4 --users 1e6 --rounds 100 --delta 1e-6 --json
      shuffledp delta   --eps0 2 --users 1e5 --rounds 8 --epsilon 0.5,1
      shuffledp epsilon --randomizer rr --k 16 --eps0 2 --users 1e5 --delta 1e-6
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
    """


@cli.command()
@_options(*_KIND, *_PROTOCOL)
@click.option(
    "--delta",
    "values",
    type=_Numbers(),
    required=True,
    multiple=True,
    help="The delta; several with commas or by repeating the option. 0 asks for pure DP.",
)
def epsilon(values: Sequence[Sequence[float]], **options: Any) -> None:
    """Which epsilon holds at a given delta.

    \b
      shuffledp epsilon --eps0 4 --users 10000 --rounds 4 --delta 1e-6
      shuffledp epsilon --eps0 1 --users 1e9 --delta 1e-6,1e-9 --json
    """
    _answer("epsilon", "delta", [value for group in values for value in group], **options)


@cli.command()
@_options(*_KIND, *_PROTOCOL)
@click.option(
    "--epsilon",
    "values",
    type=_Numbers(),
    required=True,
    multiple=True,
    help="The epsilon; several with commas or by repeating the option.",
)
def delta(values: Sequence[Sequence[float]], **options: Any) -> None:
    """Which delta holds at a given epsilon.

    \b
      shuffledp delta --eps0 4 --users 10000 --rounds 4 --epsilon 1
      shuffledp delta --eps0 4 --users 1e5 --analysis clones --epsilon 0.1,0.2 --json
    """
    _answer("delta", "epsilon", [value for group in values for value in group], **options)


def _answer(
    query: str,
    given: str,
    values: list[float],
    *,
    randomizer: str,
    users: int,
    rounds: int,
    analysis: str,
    rtol: float,
    as_json: bool,
    **parameters: Any,
) -> None:
    round_ = Shuffle(_build(randomizer, parameters), users, analysis)
    accountant = Accountant()
    accountant.compose(round_, rounds=rounds)
    ask = accountant.epsilon_bounds if query == "epsilon" else accountant.delta_bounds
    bounds = [ask(value, rtol=rtol) for value in values]
    if as_json:
        # one value is a number, several are lists
        one = (lambda items: items[0]) if len(values) == 1 else list
        report = {
            "schema_version": 1,
            "query": query,
            given: one(values),
            "lower": one([b.lower for b in bounds]),
            "upper": one([b.upper for b in bounds]),
            "relation": "replace-one",
            "analysis": round_.explained.name,
            "randomizer": randomizer,
            **{name: value for name, value in parameters.items() if value is not None},
            "users": users,
            "rounds": rounds,
            "rtol": rtol,
            "version": __version__,
        }
        click.echo(_json(report))
        return
    guarantees = []
    for value, b in zip(values, bounds, strict=True):
        low, high = rounded_down(float(b.lower), 7), rounded_up(float(b.upper), 7)
        pair = {query: rounded_up(float(b.upper)), given: repr(value)}
        bracket = f"{low} <= exact {query} of the analyzed pair <= {high} at {given} = {value!r}"
        guarantees.append((pair["epsilon"], pair["delta"], bracket))
    click.echo(statement(round_, rounds, guarantees, __version__))


@cli.command("adversaries")
@_options(*_PARAMETERS[:3], *_PROTOCOL)
@click.option("--delta", type=_Number(), required=True, help="The delta.")
def adversaries_command(
    delta: float, users: int, rounds: int, rtol: float, as_json: bool, **parameters: Any
) -> None:
    """What each piece of the adversary's knowledge costs, for k-ary randomized response.

    \b
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
    """
    randomizer = _build("rr", parameters)
    rows = adversaries(randomizer, users, delta, rounds=rounds, rtol=rtol)
    if as_json:
        report = {
            "schema_version": 1,
            "query": "adversaries",
            "delta": delta,
            "rows": [row._asdict() for row in rows],
            "relation": "replace-one",
            **{name: value for name, value in parameters.items() if value is not None},
            "users": users,
            "rounds": rounds,
            "rtol": rtol,
            "version": __version__,
        }
        click.echo(_json(report))
        return
    click.echo(f"{randomizer!r}, {rounds:,} x {users:,} users, delta = {delta!r}, replace-one.")
    click.echo("The adversary sees all messages, knows all other users' values, and ...\n")
    click.echo(f"{'analysis':<17}{'epsilon':>10}")
    for row in rows:
        value = f">= {rounded_down(row.lower)}" if row.upper is None else rounded_up(row.upper)
        click.echo(f"{row.analysis:<17}{value:>10}   {row.adversary}")


def _json(report: dict[str, Any]) -> str:
    """JSON has no infinity: an infinite bound is null."""
    text = json.dumps(report)
    return text.replace("Infinity", "null")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: one sentence on stderr and exit code 2 (bad input) or 3 (not certified)."""
    try:
        code = cli.main(args=arguments, prog_name="shuffledp", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = BAD_INPUT
    except click.ClickException as error:
        click.echo(f"shuffledp: {error.format_message()}", err=True)
        code = BAD_INPUT
    except NotCertified as error:
        click.echo(f"shuffledp: {error}", err=True)
        code = NOT_CERTIFIED
    except ShuffleDPError as error:
        click.echo(f"shuffledp: {error}", err=True)
        code = BAD_INPUT
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("shuffledp: interrupted", err=True)
        code = 130
    sys.exit(code)
