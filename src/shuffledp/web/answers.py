"""Answers, made where no file of this machine can be read: the command line's own."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from .._support.files import reading_only
from ..cli.app import main
from ..cli.report import BUG


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    error: str


def answer(arguments: Sequence[str], files: Mapping[str, bytes]) -> Answer:
    """What the command line says; files that it names are these.

    >>> from shuffledp.web.answers import answer
    >>> answer(["epsilon", "--eps0=-1", "--users=9", "--delta=0.1"], {}).error
    'eps0=-1.0 is not positive; give the local epsilon, > 0.'
    """
    out, error = io.StringIO(), io.StringIO()
    code: object = BUG
    with redirect_stdout(out), redirect_stderr(error), reading_only(files):
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
    sentence = error.getvalue().strip().removeprefix("shuffledp: ")
    return Answer(code if isinstance(code, int) else BUG, out.getvalue(), sentence)
