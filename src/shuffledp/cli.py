"""The command line: `shuffledp epsilon` and `shuffledp delta`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from . import Accountant, NotCertified, PureLDP, Shuffle, ShuffleDPError, __version__
from .queries import DEFAULT_RTOL
from .statement import rounded_down, rounded_up, statement

BAD_INPUT, NOT_CERTIFIED = 2, 3


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


def _protocol_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that describe a protocol and how to report on it."""
    options = [
        click.option(
            "--eps0", type=_Number(), required=True, help="Local epsilon of the randomizer."
        ),
        click.option(
            "--users", type=_Number(whole=True), required=True, help="Users in each round."
        ),
        click.option(
            "--rounds",
            type=_Number(whole=True),
            default="1",
            show_default=True,
            help="How many rounds are composed.",
        ),
        click.option(
            "--analysis",
            default="best",
            show_default=True,
            help="best, stronger-clones or clones.",
        ),
        click.option(
            "--rtol",
            type=_Number(),
            default=DEFAULT_RTOL,
            show_default=True,
            help="Largest relative width of the certified bracket in epsilon.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


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
    """


@cli.command()
@_protocol_options
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
@_protocol_options
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
    eps0: float,
    users: int,
    rounds: int,
    analysis: str,
    rtol: float,
    as_json: bool,
) -> None:
    round_ = Shuffle(PureLDP(eps0), users, analysis)
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
            "randomizer": "pure-ldp",
            "eps0": eps0,
            "users": users,
            "rounds": rounds,
            "rtol": rtol,
            "version": __version__,
        }
        click.echo(json.dumps(report))
        return
    guarantees = []
    for value, b in zip(values, bounds, strict=True):
        low, high = rounded_down(float(b.lower), 7), rounded_up(float(b.upper), 7)
        pair = {query: rounded_up(float(b.upper)), given: repr(value)}
        bracket = f"{low} <= exact {query} of the analyzed pair <= {high} at {given} = {value!r}"
        guarantees.append((pair["epsilon"], pair["delta"], bracket))
    click.echo(statement(round_, rounds, guarantees, __version__))


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
