"""`shuffledp audit`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import click

from .._support.files import read_bytes
from .._support.json_types import Count, Natural, Probability, Reported, Value
from ..errors import InvalidParameter, ShuffleDPError
from ..records import name_of
from ..tools.audit import Audit
from ..tools.audit import audit as hold_against_claim
from .options import JSON, command, make_randomizer, number, options, randomizer_options
from .report import print_answer

_CLIENT = click.option(
    "--client",
    metavar="MODULE:FUNCTION",
    help="From an array of values to their messages, found here or installed."
    "  [default: the client of shuffledp]",
)
_DEVICE = (
    click.option(
        "--spec",
        type=click.Path(allow_dash=True),
        metavar="FILE",
        help="A specification that shuffledp client wrote, instead of a randomizer.",
    ),
    click.option(
        "--command",
        metavar="TEXT",
        help="With --spec: a program that answers lines with values by lines with messages.",
    ),
    click.option(
        "--pairs",
        type=click.Path(allow_dash=True),
        metavar="FILE",
        help="With --spec: CSV of value, message and, if they were recorded, bytes.",
    ),
    number("timeout", "Seconds to wait for the next answer of --command.", default="10"),
)
_TRIALS = number(
    "trials", "Messages in all, shared among the values that are tried.", whole=True, default="1e6"
)
_CONFIDENCE = number(
    "confidence", "Confidence with which all intervals hold together.", default=0.999
)


class AuditRow(TypedDict):
    """One event, how often it was seen, and the interval that holds with the confidence."""

    value: Any
    """a number or a vector"""
    event: str
    trials: Count
    seen: Natural
    expected: Probability
    lower: Probability
    upper: Probability


class AuditAnswer(TypedDict):
    """What `shuffledp audit` answers."""

    randomizer: str
    parameters: Reported
    holds: bool
    exceeds: bool
    eps0_lower: Value
    claimed: Value
    """eps0; Infinity if none is claimed"""
    verdict: str
    untested: str
    """sentence about the values that were not tried; empty if all of them were"""
    half_width: Probability
    """largest distance of an end of an interval from the share that was seen"""
    vectors: Natural | None
    """test vectors that were right, up to the first that was not; null if there are none to
    check"""
    rows: Sequence[AuditRow]
    """none if a test vector failed"""
    client: str | None
    spec: str | None
    """the file of the specification"""
    command: str | None
    """the program that was asked"""
    pairs: str | None
    """the file of recorded messages"""
    trials: Natural
    confidence: Probability


@command()
@options(*randomizer_options("rr"), _CLIENT, *_DEVICE, _TRIALS, _CONFIDENCE, JSON)
@click.pass_context
def audit(
    context: click.Context,
    /,
    client: str | None,
    spec: str | None,
    command: str | None,
    pairs: str | None,
    timeout: float,
    trials: int,
    confidence: float,
    form: str,
    **given: Any,
) -> None:
    """Test many messages of a client against its claimed eps0; exit code 1 if it fails.

    All values are tried if they are few; the answer says how many were not.

    \b
      shuffledp audit --randomizer rr --k 4 --eps0 1 --client mymodule:randomize --trials 1e6
      shuffledp audit --randomizer laplace --eps0 1
      shuffledp audit --spec client.json --command "node client.mjs client.json"
      shuffledp audit --spec client.json --pairs pairs.csv
    """
    sure = {"confidence": confidence}
    if command is None and _is_given(context, "timeout"):
        raise InvalidParameter("--timeout needs --command; leave it out, or give a program.")
    if pairs is not None and _is_given(context, "trials"):
        raise InvalidParameter(
            "--trials does not go with --pairs, which has all messages; leave it out."
        )
    if spec is None:
        for name, value in (("command", command), ("pairs", pairs)):
            if value is not None:
                raise InvalidParameter(f"--{name} needs --spec; make one with shuffledp client.")
        found = hold_against_claim(make_randomizer(given), _loaded(client), trials=trials, **sure)
    else:
        named = given["randomizer"] if _is_given(context, "randomizer") else None
        twice = {**given, "randomizer": named, "client": client}
        for name in (name for name, value in twice.items() if value is not None):
            raise InvalidParameter(
                f"--{name.replace('_', '-')} does not go with --spec, which names the randomizer; "
                "leave it out."
            )
        found = _of_device(spec, command, pairs, timeout, trials, sure)
    randomizer = found.randomizer
    rows: list[Any] = [row._asdict() for row in found.rows]
    answer: AuditAnswer = {
        "randomizer": name_of(randomizer),
        "parameters": randomizer.reported,
        "holds": found.holds,
        "exceeds": found.exceeds,
        "eps0_lower": found.eps0_lower,
        "claimed": found.claimed,
        "verdict": found.verdict,
        "untested": found.untested,
        "half_width": found.half_width,
        "vectors": found.vectors,
        "rows": rows,
        "client": client,
        "spec": spec,
        "command": command,
        "pairs": pairs,
        "trials": found.trials,
        "confidence": confidence,
    }
    print_answer("audit", found, form, answer, holds=found.holds)


def _is_given(context: click.Context, name: str) -> bool:
    """Is an option there that has a default?"""
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def _of_device(
    spec: str, command: str | None, pairs: str | None, timeout: float, trials: int, sure: Any
) -> Audit:
    """The audit of a program, or of recorded messages, by a specification."""
    from ..clients.specification import Specification
    from ..tools.devices import audit_command, audit_pairs

    if (command is None) == (pairs is None):
        raise InvalidParameter(
            "--spec needs either --command, a program, or --pairs, a CSV file; give one of them."
        )
    specification = Specification(
        read_bytes(spec, f"spec {spec}", "a file that shuffledp client wrote")
    )
    if pairs is not None:
        return audit_pairs(specification, pairs, **sure)
    assert command is not None
    return audit_command(specification, command, trials=trials, timeout=timeout, **sure)


def _loaded(name: str | None) -> Callable[..., Any] | None:
    """The function that MODULE:FUNCTION names; what it raises is told in one sentence."""
    if name is None:
        return None
    module, _, function = name.partition(":")
    if not module or not function:
        raise InvalidParameter(f"client={name} names no function; write MODULE:FUNCTION.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as error:
        raise InvalidParameter(
            f"client={name} cannot be loaded: {type(error).__name__}: {error}; give a function of "
            "a module that can be imported."
        ) from None

    def call(values: Any) -> Any:
        try:
            return found(values)
        except ShuffleDPError:
            raise
        except Exception as error:
            raise InvalidParameter(
                f"client={name} failed: {type(error).__name__}: {error}; correct it."
            ) from None

    return call
