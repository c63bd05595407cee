"""The command line for the tests: inside this process, or in a fresh one where that matters.

`run` calls the same `main` as a shell does, with streams of bytes and an encoding, and costs no
import of numpy. tests/cli/test_fresh.py holds both against each other.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from shuffledp.cli.app import main

Result = subprocess.CompletedProcess[str]


def run(*arguments: str) -> Result:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    code: object = None
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            main(arguments)
        except SystemExit as stop:
            code = stop.code or 0
    assert isinstance(code, int), "main has to end with an exit code"
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read())
    return subprocess.CompletedProcess(arguments, code, *texts)


def ok(*arguments: str) -> str:
    result = run(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def fresh(arguments: Sequence[str]) -> Result:
    command = [sys.executable, "-m", "shuffledp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
