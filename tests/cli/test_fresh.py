"""A fresh process says, and ends with, what `main` does inside the other tests of this folder."""

from pathlib import Path

import pytest

from shell import fresh, run

PLAN = '[target]\nepsilon = 0.1\ndelta = 1e-6\n[[rounds]]\nrandomizer = "pure-ldp"\n'


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("epsilon --eps0 4 --users 10000 --rounds 4 --delta 1e-6", 0),
        ("epsilon --help", 0),
        ("account PLAN", 1),
        ("sweep --eps0 1,-1 --users 100 --delta 1e-6 --jobs 1", 1),
        ("guess", 2),
        ("epsilon --eps0 4 --users 0 --delta 1e-6", 2),
    ],
)
def test_a_fresh_process_does_the_same(tmp_path: Path, arguments: str, code: int) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN + "eps0 = 1.0\nusers = 100\n", encoding="utf-8")
    words = [str(plan) if word == "PLAN" else word for word in arguments.split()]
    outside, inside = fresh(words), run(*words)
    assert outside.returncode == inside.returncode == code
    assert outside.stdout == inside.stdout
    assert outside.stderr == inside.stderr


def test_no_command() -> None:
    nothing = fresh([])
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert nothing.stderr.startswith("Usage: shuffledp")


def test_what_cannot_be_certified_exits_with_3() -> None:
    options = "--randomizer gaussian --sigma 1 --users 1 --delta 0.1 --rtol 1e-7"
    result = fresh(["epsilon", *options.split()])
    assert result.returncode == 3
    assert result.stdout.startswith(
        "Under the assumptions below, the protocol is differentially private with epsilon = 1.161"
    )  # certified, if not as closely
    assert "was certified to lie in [1.160333, 1.160335] only" in result.stderr
    assert result.stderr.count("\n") == 1
