"""What a user meets where things go wrong that are no bad input: encodings, and bugs of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shuffledp.cli import app

PLAN = """
target = { epsilon = 1.0, delta = 1e-6 }
[[rounds]]
name = "Übung Ω 日本"
randomizer = "pure-ldp"
eps0 = 1.0
users = 100000
"""


def run(encoding: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "shuffledp", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.run(command, capture_output=True, check=False, env=environment)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8", "Übung Ω 日本"),
        ("cp1252", "Übung \\u03a9 \\u65e5\\u672c"),
        ("cp437", "Übung Ω \\u65e5\\u672c"),
    ],
)
def test_names_that_the_terminal_cannot_show_are_escaped(
    tmp_path: Path, encoding: str, name: str
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN, encoding="utf-8")
    result = run(encoding, "account", str(path))
    assert (result.returncode, result.stderr) == (0, b"")
    assert name in result.stdout.decode(encoding)


def test_no_output_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with >&- in a shell."""
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as exit_:
        app.main(["epsilon", "--eps0", "1", "--users", "9", "--delta", "1e-6"])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith("shuffledp: the output cannot be written: ")


def test_a_bug_has_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise IndexError("index 7 is out of bounds")

    monkeypatch.setattr("shuffledp.cli.epsilon.make_round", broken)
    monkeypatch.delenv("SHUFFLEDP_DEBUG", raising=False)
    arguments = ["epsilon", "--eps0", "1", "--users", "9", "--delta", "1e-6"]
    with pytest.raises(SystemExit) as exit_:
        app.main(arguments)
    assert exit_.value.code == 70
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(
        "shuffledp: this is a bug of shuffledp: IndexError: index 7 is out"
    )
    assert "SHUFFLEDP_DEBUG=1" in output.err
    assert output.err.count("\n") == 1
    monkeypatch.setenv("SHUFFLEDP_DEBUG", "1")
    with pytest.raises(IndexError):
        app.main(arguments)
