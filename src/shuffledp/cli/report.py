"""The JSON object that commands print, and what is said of errors: docs/json.md."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from .._support.json_types import SCHEMA_VERSION, ErrorKind, ErrorReport
from .._support.numeric import Bounds
from .._support.text import json_text
from ..errors import NotCertified, ShuffleDPError
from ..guarantee import no_guarantee, too_wide
from ..records import described
from ..rounds import Round

#: Exit codes other than 0, which says that the question was answered as asked: docs/json.md.
#: 70 is EX_SOFTWARE of sysexits.h.
ANSWER_IS_NO, BAD_INPUT, NOT_CERTIFIED, INTERRUPTED, BUG = 1, 2, 3, 130, 70


def json_report(
    query: str | None,
    answer: Mapping[str, Any],
    round_: Round | None = None,
    *,
    error: BaseException | None = None,
) -> str:
    """The answer, then the round that it is about: names never vary."""
    from .. import __version__

    report = {
        "schema_version": SCHEMA_VERSION,
        "query": query,
        "version": __version__,
        "error": None if error is None else error_object(error),
        **answer,
        **({} if round_ is None else described(round_)),
    }
    return json_text(report)


def complaint(error: BaseException) -> tuple[int, ErrorKind, str]:
    """The exit code of an error, its kind, and what is said of it."""
    if isinstance(error, click.ClickException):
        return BAD_INPUT, "usage", error.format_message()
    if isinstance(error, ShuffleDPError):
        kind: Any = re.sub(r"(?<!^)(?=[A-Z])", "-", type(error).__name__).lower()
        return NOT_CERTIFIED if isinstance(error, NotCertified) else BAD_INPUT, kind, str(error)
    if isinstance(error, OSError):  # commands speak for their files; what remains is the output
        sentence = f"the output cannot be written: {error.strerror}; write it elsewhere."
        return BAD_INPUT, "output", sentence
    if isinstance(error, (click.exceptions.Abort, KeyboardInterrupt)):
        return INTERRUPTED, "interrupted", str(error) or "interrupted."
    if isinstance(error, MemoryError):
        return BAD_INPUT, "memory", "there is not enough memory for this; ask for less at once."
    what = f"this is a bug of shuffledp: {type(error).__name__}: {error}"
    how = "please report it, with the traceback that SHUFFLEDP_DEBUG=1 in the environment shows."
    return BUG, "bug", f"{what}; {how}"


def error_object(error: BaseException) -> ErrorReport:
    """With what was certified nevertheless, or comes nearest to what was asked for."""
    _, kind, message = complaint(error)
    bounds = getattr(error, "bounds", None)
    return {
        "kind": kind,
        "message": message,
        "bounds": None if bounds is None else {"lower": bounds.lower, "upper": bounds.upper},
        "nearest": getattr(error, "nearest", None),
    }


def end_with(error: BaseException) -> NoReturn:
    """One sentence on stderr, and the exit code."""
    code, _, sentence = complaint(error)
    click.echo(f"shuffledp: {sentence}", err=True)
    sys.exit(code)


def epsilon_shortfall(delta: float, bounds: Bounds[float], rtol: float) -> NotCertified | None:
    """Why an epsilon is not an answer as asked: there is none, or its bracket is too wide."""
    return no_guarantee("epsilon", delta, bounds) or too_wide(bounds, rtol)


def print_answer(
    query: str,
    found: Any,
    form: str | None,
    answer: Mapping[str, Any],
    round_: Round | None = None,
    *,
    shortfall: NotCertified | None = None,
    holds: bool = True,
) -> None:
    """Print an answer in the format that was asked for, and end with its exit code.

    Parameters
    ----------
    query : str
        The name of the command.
    found : Any
        The answer: `str(found)` is its text, `found.to_csv()` its rows, and so on.
    form : str or None
        "json", "csv", "markdown", "latex" or "bibtex"; text if None.
    answer, round_
        What the JSON object says: see `json_report`.
    shortfall : NotCertified or None
        What is missing in the answer: one sentence on stderr and exit code 3.
    holds : bool
        Whether the answer is yes; otherwise the exit code is 1.
    """
    if form == "json":
        click.echo(json_report(query, answer, round_, error=shortfall))
    elif form is None:
        click.echo(str(found))
    else:
        click.echo(getattr(found, f"to_{form}")(), nl=False)
    if shortfall is not None:
        end_with(shortfall)
    if not holds:
        sys.exit(ANSWER_IS_NO)
