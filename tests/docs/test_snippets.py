"""Every snippet in README and docs is run, and prints what it is said to print.

In a ```python block an expression followed by `# -> text` must print that text. In a ```console
block, `$ command` lines are run and must print the lines that follow: `shuffledp` and its options
inside this process; all else in a shell. Of the same rounds, the same question is answered once.
Processors differ in the last digits of a number: no snippet shows more than seven. Where `choose`
stops its search may depend on them: its lines are the same but for numbers within 1 %, and for the
order of those whose errors are that close.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

from shell import run
from shuffledp.randomizers import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES = [*TOP, *sorted((ROOT / "docs").rglob("*.md"))]
NUMBER = r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for i, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            if match.group(1) == language:
                found.append((f"{page.name}-{i}", match.group(2)))
    return found


def expectations(code: str) -> tuple[str, list[str]]:
    """The code with every `expression  # -> text` shown as a prompt would, and the texts."""
    lines, expected = [], []
    for line in code.splitlines():
        body, arrow, text = line.partition("# -> ")
        if arrow:
            lines.append(f"_ = {body.strip()}; print(_ if isinstance(_, str) else repr(_))")
            expected.append(text.strip())
        else:
            lines.append(line)
    return "\n".join(lines), expected


@pytest.mark.parametrize("code", [pytest.param(code, id=name) for name, code in blocks("python")])
def test_python_block_prints_what_it_says(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program of its own, with names of its own; the imports are shared with other tests."""
    source, expected = expectations(code)
    monkeypatch.chdir(ROOT)
    printed = io.StringIO()
    # a randomizer that a page registers is none of other tests
    with redirect_stdout(printed), patch.dict(REGISTRY):
        exec(compile(source, "<snippet>", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert printed.getvalue().rstrip() == "\n".join(expected)


@pytest.mark.parametrize(
    "session", [pytest.param(code, id=name) for name, code in blocks("console")]
)
def test_console_block_prints_what_it_says(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        shown = pipeline(command)
        if command.startswith("shuffledp choose "):
            assert_close(shown, expected)
        else:
            assert shown.rstrip() == expected.rstrip()


def pipeline(command: str) -> str:
    """What is printed; all that is before and after `shuffledp` in a pipe is for a shell."""
    before, own, after = "", "", ""
    stages = command.split(" | ")
    for i, stage in enumerate(stages):
        if re.fullmatch(r"""shuffledp ([\w ./,:%-]|"[\w ;,./=]*")+""", stage):
            before, own, after = " | ".join(stages[:i]), stage, " | ".join(stages[i + 1 :])
    if not own:
        return in_shell(command)
    shown = answer(own, in_shell(before) if before else "")
    return in_shell(after, shown) if after else shown


def assert_close(shown: str, expected: str) -> None:
    """The same lines, up to spaces and order, with about the same numbers; ranked in either."""
    one, other = (sorted(map(parted, text.splitlines())) for text in (shown, expected))
    assert [words for words, _ in one] == [words for words, _ in other]
    for (_, found), (words, written) in zip(one, other, strict=True):
        assert found == pytest.approx(written, rel=0.01), words
    for text in (shown, expected):
        rows = [parted(line)[1][0] for line in text.splitlines() if line.endswith(")")]
        assert rows == sorted(rows)


def parted(line: str) -> tuple[str, list[float]]:
    """A line with # for each number, and the numbers."""
    words = " ".join(line.split())
    return re.sub(NUMBER, "#", words), [
        float(text.replace(",", "")) for text in re.findall(NUMBER, words)
    ]


def test_lines_are_close_only_if_names_and_numbers_are() -> None:
    table = "error  randomizer\n 1.25  A(k=3)\n 1.26  B(k=3)\n"
    assert_close(table, table)
    assert_close(" error randomizer\n1.25 B(k=3)\n1.252 A(k=3)\n", table)
    for other in (
        table.replace("B", "C"),
        table.replace("k=3", "k=4"),
        table.replace("1.26", "1.28"),
        table.replace("1.25", "1.262"),
        table.replace(" 1.26  B(k=3)\n", ""),
    ):
        with pytest.raises(AssertionError):
            assert_close(other, table)


@cache
def answer(command: str, piped: str) -> str:
    """What `shuffledp` prints: tests/cli/test_fresh.py has it that a shell prints the same."""
    with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(piped.encode()), encoding="utf-8")):
        result = run(*shlex.split(command)[1:])
    # a plan that exceeds its target is shown
    assert (result.returncode, result.stderr) in ((0, ""), (1, ""))
    return result.stdout


def in_shell(command: str, piped: str | None = None) -> str:
    result = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, input=piped
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_there_is_something_to_test() -> None:
    assert len(blocks("python")) >= 3
    assert len(blocks("console")) >= 2


def test_no_snippet_shows_digits_that_differ_from_machine_to_machine() -> None:
    shown = [text for _, code in blocks("python") for text in expectations(code)[1]]
    for _, session in blocks("console"):
        shown += [line for line in session.splitlines() if not line.startswith("$ ")]
    for text in shown:
        for number in re.findall(r"\d+\.\d+", text):
            assert len(number.replace(".", "").lstrip("0")) <= 7, text
