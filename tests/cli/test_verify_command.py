"""`shuffledp verify` as a user meets it."""

import json
from pathlib import Path

import pytest

import shell
from shuffledp import FiniteRandomizer, verify


def run(*arguments: str) -> shell.Result:
    return shell.run("verify", *arguments)


@pytest.fixture
def csv(tmp_path: Path) -> str:
    path = tmp_path / "R.csv"
    path.write_text("0.7, 0.2, 0.1\n0.1, 0.8, 0.1\n", encoding="utf-8")
    return str(path)


def test_a_table_and_exit_code_0(csv: str) -> None:
    result = run("--matrix", csv, "--users", "5")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("  holds\n") == 8
    assert "Every bound holds" in result.stdout
    assert "replace-one, both orders" in result.stdout


def test_json_is_what_python_says(csv: str) -> None:
    options = ("--epsilon", "0.1,0.5", "--analysis", "clones", "--json")
    report = json.loads(run("--matrix", csv, "--users", "4", *options).stdout)
    matrix = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]
    expected = verify(FiniteRandomizer(matrix), 4, "clones", epsilons=[0.1, 0.5])
    assert report["holds"] is True
    assert report["analysis"] == "clones"
    assert report["datasets"] == expected.datasets == 8
    rows = [
        {**row._asdict(), "others": [*row.others], "values": [*row.values]} for row in expected.rows
    ]
    assert report["rows"] == rows


def test_named_randomizers(csv: str) -> None:
    assert run("--randomizer", "rr", "--k", "3", "--gamma", "0.5", "--users", "4").returncode == 0
    options = ("--k", "4", "--size", "2", "--eps0", "1", "--users", "2")
    assert run("--randomizer", "subset", *options).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--users", "3"), "needs --matrix FILE or --randomizer"),
        (("--eps0", "1", "--users", "4"), "needs --matrix FILE or --randomizer"),
        (("--matrix", "nowhere.csv", "--users", "3"), "nowhere.csv"),
        (("--randomizer", "pure-ldp", "--eps0", "1", "--users", "3"), "RandomizedResponse(k=2"),
        (("--randomizer", "unary", "--k", "40", "--eps0", "1", "--users", "3"), "too long"),
        (("--randomizer", "rr", "--k", "3", "--eps0", "1", "--users", "1e6"), "at most 31 users"),
        (("--randomizer", "rr", "--k", "3", "--eps0", "1"), "--users"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
