"""The command line: `epsilon`, `delta`, `adversaries`, `verify` here, the others in `commands`."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from .. import NotCertified, ShuffleDPError, __version__, adversaries, verify
from .._support.numeric import Bounds
from ..accountant import Accountant, composed
from ..tools.options import (
    ANALYSIS,
    EPS0,
    GAMMA,
    JSON,
    OTHER_PARAMETERS,
    PROTOCOL,
    ROUNDS,
    RTOL,
    USERS,
    K,
    Number,
    Numbers,
    build,
    options,
    take_round,
)
from ..tools.statement import plain, rounded_down, rounded_up, statement
from .account import account
from .calibrate import calibrate
from .compare import compare
from .plot import plot
from .report import json_report
from .reproduce import reproduce
from .sweep import sweep

VIOLATED, BAD_INPUT, NOT_CERTIFIED, BUG = 1, 2, 3, 70  # 70 is EX_SOFTWARE of sysexits.h


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every printed upper value is rounded up: it is safe to publish.",
)
@click.version_option(__version__, package_name="shuffledp", message="%(prog)s %(version)s")
def cli() -> None:
    """Certified (epsilon, delta) for the shuffle model of differential privacy.

    \b
    Users randomize their own data, all alike (eps0-LDP), a shuffler strips identities:
      shuffledp epsilon --eps0 4 --users 10000 --delta 1e-6
      shuffledp epsilon --eps0 4 --users 1e6 --rounds 100 --delta 1e-6 --json
      shuffledp delta   --eps0 2 --users 1e5 --rounds 8 --epsilon 0.5,1
      shuffledp epsilon --randomizer rr --k 16 --eps0 2 --users 1e5 --delta 1e-6
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
      shuffledp epsilon --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-5
      shuffledp compare --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-5
      shuffledp verify --matrix R.csv --users 5
    """


@cli.command()
@options(*PROTOCOL)
@click.option(
    "--delta",
    "values",
    type=Numbers(),
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
@options(*PROTOCOL)
@click.option(
    "--epsilon",
    "values",
    type=Numbers(),
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
    rounds: int,
    rtol: float,
    as_json: bool,
    **options: Any,
) -> None:
    round_, protocol = take_round(options)
    accountant = composed(round_, rounds)
    ask = accountant.epsilon_bounds if query == "epsilon" else accountant.delta_bounds
    bounds, too_wide = [], None
    for value in values:
        try:
            bounds.append(ask(value, rtol=rtol))
        except NotCertified as error:  # an answer all the same, and a word about its width
            bounds.append(error.bounds)
            too_wide = error
    if as_json:
        # one value is a number, several are lists
        one = (lambda items: items[0]) if len(values) == 1 else list
        answer = {
            given: one(values),
            "lower": one([b.lower for b in bounds]),
            "upper": one([b.upper for b in bounds]),
        }
        _echo_json(query, answer, {**protocol, "rounds": rounds, "rtol": rtol})
    else:
        guarantees = [
            _guarantee(accountant, query, given, value, b, rtol)
            for value, b in zip(values, bounds, strict=True)
        ]
        click.echo(statement(round_, rounds, guarantees, __version__))
    if too_wide is not None:
        raise too_wide


def _guarantee(
    accountant: Accountant,
    query: str,
    given: str,
    value: float,
    bounds: Bounds[float],
    rtol: float,
) -> tuple[str, str, str]:
    """(epsilon, delta, bracket) as `statement` takes them."""
    low, high = rounded_down(float(bounds.lower), 7), rounded_up(float(bounds.upper), 7)
    at = plain(value)
    pair = {query: rounded_up(float(bounds.upper)), given: at}
    bracket = f"{low} <= exact {query} of the analyzed pair <= {high} at {given} = {at}"
    if query == "epsilon" and bounds.upper == math.inf:
        bracket = _why_none(accountant, value, bounds.lower, rtol)
    return pair["epsilon"], pair["delta"], bracket


def _why_none(accountant: Accountant, delta: float, lower: float, rtol: float) -> str:
    """Why no epsilon holds at this delta, and from which delta on there is one."""
    if delta == 0:
        return "the privacy loss has no upper limit. Ask with a delta above 0."
    if lower < math.inf:
        return f"all that is known is that epsilon is at least {rounded_down(lower)}."
    # beyond all finite losses, delta is the probability of the infinite one
    least = rounded_up(accountant.get_delta(sys.float_info.max, rtol=rtol))
    return (
        "some outputs give their sender away, with a probability above that. "
        f"There is one from delta = {least} on."
    )


@cli.command("adversaries")
@options(EPS0, K, GAMMA, USERS, ROUNDS, RTOL, JSON)
@click.option("--delta", type=Number(), required=True, help="The delta.")
def adversaries_command(
    delta: float, users: int, rounds: int, rtol: float, as_json: bool, **parameters: Any
) -> None:
    """What each piece of the adversary's knowledge costs, for k-ary randomized response.

    \b
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
    """
    randomizer = build("rr", parameters)
    rows = adversaries(randomizer, users, delta, rounds=rounds, rtol=rtol)
    if as_json:
        answer = {"delta": delta, "rows": [row._asdict() for row in rows]}
        protocol = {**parameters, "users": users, "rounds": rounds, "rtol": rtol}
        _echo_json("adversaries", answer, protocol)
        return
    click.echo(
        f"{randomizer!r}, {rounds:,} x {users:,} users, delta = {plain(delta)}, replace-one."
    )
    click.echo("The adversary sees all messages, knows all other users' values, and ...\n")
    click.echo(f"{'analysis':<17}{'epsilon':>10}")
    for row in rows:
        value = f">= {rounded_down(row.lower)}" if row.upper is None else rounded_up(row.upper)
        click.echo(f"{row.analysis:<17}{value:>10}   {row.adversary}")


@cli.command("verify")
@options(
    click.option("--randomizer", default="matrix", show_default=True, help="As in epsilon."),
    *(EPS0, *OTHER_PARAMETERS, ANALYSIS, USERS, RTOL, JSON),
)
@click.option("--epsilon", type=Numbers(), help="Epsilons, with commas; else shares of the most.")
@click.pass_context
def verify_command(
    context: click.Context,
    /,
    randomizer: str,
    users: int,
    analysis: str,
    rtol: float,
    as_json: bool,
    epsilon: list[float] | None,
    **parameters: Any,
) -> None:
    """Enumerate a small round exactly and hold the bounds against it; exit code 1 if one fails.

    \b
      shuffledp verify --matrix R.csv --users 5
      shuffledp verify --randomizer rr --k 3 --gamma 0.5 --users 8 --analysis stronger-clones
    """
    result = verify(
        build(randomizer, parameters),
        users,
        analysis,
        epsilons=epsilon,
        rtol=rtol,
        progress=_show_progress if sys.stderr.isatty() else None,
    )
    if as_json:
        rows = [row._asdict() for row in result.rows]
        protocol = {"analysis": result.analysis, "randomizer": randomizer, **parameters}
        answer = {"holds": result.holds, "datasets": result.datasets, "rows": rows}
        _echo_json("verify", answer, {**protocol, "users": result.users, "rtol": rtol})
    else:
        click.echo(str(result))
    context.exit(0 if result.holds else VIOLATED)


def _show_progress(done: int, total: int) -> None:
    end = "\r\x1b[K" if done == total else f"\renumerating {done} of {total}"
    click.echo(end, nl=False, err=True)


cli.add_command(reproduce)


def _echo_json(query: str, answer: dict[str, Any], protocol: dict[str, Any]) -> None:
    click.echo(json_report(query, answer, protocol))


for command in (calibrate, account, compare, sweep, plot):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: one sentence on stderr and exit code 2 (bad input), 3 (not certified) or 70 (a
    bug); SHUFFLEDP_DEBUG=1 shows the traceback of a bug."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names may be in any alphabet, terminals not
            stream.reconfigure(errors="backslashreplace")
    if not (sys.argv[1:] if arguments is None else arguments):
        # whether this is an error is a matter of click's version; here it is
        click.echo(cli.get_help(click.Context(cli, info_name="shuffledp")), err=True)
        sys.exit(BAD_INPUT)
    try:
        code = cli.main(args=arguments, prog_name="shuffledp", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"shuffledp: {error.format_message()}", err=True)
        code = BAD_INPUT
    except NotCertified as error:
        click.echo(f"shuffledp: {error}", err=True)
        code = NOT_CERTIFIED
    except ShuffleDPError as error:
        click.echo(f"shuffledp: {error}", err=True)
        code = BAD_INPUT
    except OSError as error:  # commands speak for their files; what remains is the output
        click.echo(
            f"shuffledp: the output cannot be written: {error.strerror}; write it elsewhere.",
            err=True,
        )
        code = BAD_INPUT
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("shuffledp: interrupted", err=True)
        code = 130
    except Exception as error:
        if os.environ.get("SHUFFLEDP_DEBUG", "0") != "0":
            raise
        click.echo(
            f"shuffledp: this is a bug of shuffledp: {type(error).__name__}: {error}; please "
            "report it, with the traceback that SHUFFLEDP_DEBUG=1 in the environment shows.",
            err=True,
        )
        code = BUG
    sys.exit(code)
