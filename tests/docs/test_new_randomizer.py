"""The example of CONTRIBUTING.md, put where it says, is all that a new randomizer needs."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from shell import Result

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
COMMANDS = re.findall(r"^    shuffledp (.*)$", PAGE, flags=re.MULTILINE)
CIRCLE = ["--randomizer", "circle", "--k", "3", "--flip", "0.25"]


#: Every line is the arguments of a command: one interpreter for all of them.
SERVE = """
import json, sys
from shell import run
for line in sys.stdin:
    result = run(*json.loads(line))
    print(json.dumps([result.returncode, result.stdout, result.stderr]), flush=True)
"""
House = subprocess.Popen[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "shuffledp", folder / "shuffledp", ignore=ignored)
    (named,) = re.findall(r"`src/(shuffledp/randomizers/\w+\.py)`, this is all", PAGE)
    (folder / named).write_text(CODE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def house(folder: Path) -> Iterator[House]:
    path = os.pathsep.join([str(folder), str(ROOT / "tests")])
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], cwd=folder, env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as opened:  # fmt: skip
        yield opened


def run(house: House, *arguments: str) -> Result:
    assert house.stdin is not None and house.stdout is not None
    print(json.dumps(arguments), file=house.stdin, flush=True)
    return Result(arguments, *json.loads(house.stdout.readline()))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_work(house: House, command: str) -> None:
    result = run(house, *command.split())
    assert (result.returncode, result.stderr) == (0, ""), result.stderr


def test_it_is_in_the_help_and_its_limits_are_kept(house: House) -> None:
    assert "circle" in run(house, "epsilon", "--help").stdout
    assert "probability of each neighbour" in run(house, "epsilon", "--help").stdout.lower()
    wrong = run(house, "epsilon", *CIRCLE[:-1], "0.5", "--users", "9", "--delta", "0.1")
    assert (wrong.returncode, "flip=0.5" in wrong.stderr) == (2, True)


def test_a_plan_may_have_it(house: House, folder: Path) -> None:
    (folder / "plan.toml").write_text(
        "[target]\nepsilon = 1\ndelta = 1e-6\n"
        '[[rounds]]\nrandomizer = "circle"\nk = 3\nflip = 0.25\nusers = 10000\nrounds = 2\n'
    )
    result = run(house, "account", "plan.toml", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["entries"][0]["upper"] < 1


def test_its_numbers_are_those_of_its_definition(house: House) -> None:
    """Two users by hand: the other one holds any value, and messages arrive in any order."""
    keep, near = Fraction("0.95") / 2 + Fraction("0.05") / 3, Fraction("0.95") / 4
    near += Fraction("0.05") / 3
    rows = [[keep if x == y else near for y in range(3)] for x in range(3)]
    worst = Fraction(0)
    for other in rows:
        law = [
            [
                u[a] * other[b] + (u[b] * other[a] if a != b else 0)
                for a in range(3)
                for b in range(a, 3)
            ]
            for u in rows
        ]
        pairs = zip(law[0], law[1], strict=True)
        worst = max(worst, sum((max(p - q, Fraction(0)) for p, q in pairs), Fraction(0)))
    asked = run(house, "verify", *CIRCLE, "--users", "2", "--epsilon", "0", "--json")
    (row,) = json.loads(asked.stdout)["rows"]
    assert row["truth"] == pytest.approx(float(worst), rel=1e-12)
    assert row["holds"] and row["attained"] <= float(worst) * (1 + 1e-12) <= row["upper"] * 1.0001
