"""Answers, made where no file of this machine can be read: the command line's own.

The page is told more beside the command line's JSON: numbers as they are printed, the field that an
error is about, and the lines of Python and shell that give the same number.
"""

from __future__ import annotations

import io
import json
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import shuffledp

from .._support.files import reading_only
from .._support.text import json_text, rounded_down, rounded_up
from ..cli.app import cli, main
from ..cli.report import BAD_INPUT, BUG, INTERRUPTED
from ..guarantee import DEFAULT_RTOL
from ..rounds import Round, RoundOfUsers
from ..tools.choices import local_text
from ..tools.protocol import round_of


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    error: str


def answer(
    arguments: Sequence[str], files: Mapping[str, bytes], seconds: float = math.inf
) -> Answer:
    """What the command line says; files that it names are these. Errors speak of fields.

    A command that is interrupted after so many `seconds` has no output unless it printed a part of
    the answer.

    >>> from shuffledp.web.answers import answer
    >>> answer(["epsilon", "--users=9", "--delta=0.1"], {}).error
    'randomizer pure-ldp needs eps0; add it.'
    """
    out, error = io.StringIO(), io.StringIO()
    code: object = BUG
    with redirect_stdout(out), redirect_stderr(error), reading_only(files):
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
    sentence = error.getvalue().strip().removeprefix("shuffledp: ")
    printed_text = out.getvalue()
    code = code if isinstance(code, int) else BUG
    if code == INTERRUPTED and sentence == "interrupted.":  # nothing was computed
        return Answer(code, "", sentence)
    if code in (BAD_INPUT, INTERRUPTED):
        late = f"the answer takes longer than {seconds:g} s: " if code == INTERRUPTED else ""
        sentence = f"{late}{in_fields(sentence)}"
        if "--json" in arguments:
            report = json.loads(printed_text)
            report["error"]["message"] = sentence
            printed_text = json_text(report) + "\n"
    return Answer(code, printed_text, sentence)


def in_fields(sentence: str) -> str:
    """A sentence of the shell with the names of fields instead of options.

    >>> in_fields("--view allocation needs --noise-multiplier and --steps; add them.")
    'view allocation needs noise_multiplier and steps; add them.'
    """
    sentence = sentence.replace("Missing option", "Missing field")
    return re.sub(
        r"(?<![\w-])--([a-z][a-z0-9-]*)", lambda named: named[1].replace("-", "_"), sentence
    )


#: Numbers with one safe side, and how they are printed.
_PRINTED: dict[str, Callable[[float], str]] = {
    **{"upper": rounded_up, "lower": rounded_down, "local_eps0": local_text}
}


def for_page(found: Answer, arguments: Sequence[str], files: Mapping[str, bytes]) -> Answer:
    """The same answer with more in it."""
    report = json.loads(found.out)
    more: dict[str, Any] = {"shell": shell_line(arguments)}
    if report["error"] is not None:
        more["field"] = field_of(report["error"]["message"], arguments[0])
    if "upper" in report and arguments[0] in ("epsilon", "delta"):
        with reading_only(files):
            more["python"] = python_lines(arguments, report)
    return found._replace(out=json_text(printed(report) | more))


def printed(value: Any) -> Any:
    """With `upper_text` beside every `upper`, rounded up, and `lower_text` rounded down.

    >>> from shuffledp.web.answers import printed
    >>> printed({"lower": 0.25, "upper": [1 / 3]})["upper_text"]
    ['0.3334']
    """
    if isinstance(value, list):
        return [printed(item) for item in value]
    if not isinstance(value, dict):
        return value
    shown = {name: printed(item) for name, item in value.items()}
    for name, given in value.items():
        text = _PRINTED.get(name) or _PRINTED.get(name.rpartition("_")[2])
        if text is not None and isinstance(given, list):
            shown[f"{name}_text"] = [text(float(item)) for item in given]
        elif text is not None and isinstance(given, (int, float, str)):
            shown[f"{name}_text"] = text(float(given))
    return shown


def field_of(message: str, command: str) -> str | None:
    """The field that a sentence is about: what is missing, or what it names first.

    >>> from shuffledp.web.answers import field_of
    >>> field_of("randomizer rr needs k; add it.", "epsilon")
    'k'
    """
    known = [name for each in cli.commands[command].params for name in each.opts]
    named = re.findall(r"(?:needs|Missing fields?) '?(\w+)", message)
    named += re.findall(r"\b(\w+)=", message) + re.findall(r"\w+", message)
    return next((word for word in named if f"--{word.replace('_', '-')}" in known), None)


def shell_line(arguments: Sequence[str]) -> str:
    """As one would type it; what is only for the server is left out.

    >>> from shuffledp.web.answers import shell_line
    >>> shell_line(["epsilon", "--eps0=4", "--delta=1e-6", "--json", "--"])
    'shuffledp epsilon --eps0 4 --delta 1e-6'
    """
    words = []
    for word in arguments:
        name, equals, value = word.partition("=")
        if word not in ("--json", "--", "--jobs=1"):
            words += [name, value] if equals and word.startswith("--") else [word]
    return shlex.join(["shuffledp", *words])


def python_lines(arguments: Sequence[str], report: Mapping[str, Any]) -> str:
    """A program that prints the upper value of this answer."""
    name, *rest = arguments
    params = cli.commands[name].make_context(name, rest).params
    round_, rounds, rtol = round_of(params), params["rounds"], params["rtol"]
    names, lines = _imported(round_)
    shown = repr(round_).replace(", analysis='best'", "")
    files = [word.partition("=")[2] for word in arguments if word.startswith("--matrix=")]
    if files and "sha256" in shown and isinstance(round_, RoundOfUsers):  # too large to be shown
        read = f"FiniteRandomizer(np.loadtxt({files[-1]!r}, delimiter=','))"
        shown = shown.replace(repr(round_.randomizer), read)
        lines.insert(0, "import numpy as np")
    lines.append(f"round_ = {shown}")
    if rounds > 1:
        names.append("Accountant")
        lines.append(f"total = Accountant().compose(round_, rounds={rounds})")
    asked = report["delta" if name == "epsilon" else "epsilon"]
    at = repr(asked[0] if len(asked) == 1 else asked)
    tolerance = "" if rtol == DEFAULT_RTOL else f", rtol={rtol!r}"
    lines.append(f"print({'total' if rounds > 1 else 'round_'}.get_{name}({at}{tolerance}))")
    return "\n".join([f"from shuffledp import {', '.join(sorted(names))}", *lines])


def _imported(round_: Round) -> tuple[list[str], list[str]]:
    """Names of the top level, and other imports."""
    names, lines = [type(round_).__name__], []
    if isinstance(round_, RoundOfUsers):
        used = (round_.randomizer, *getattr(round_.randomizer, "questions", ()))
        kinds = {type(each).__name__ for each in used}
        names += sorted(kinds & set(shuffledp.__all__))
        others = sorted(kinds - set(shuffledp.__all__))
        lines += [f"from shuffledp.randomizers import {', '.join(others)}"] if others else []
    return names, lines
