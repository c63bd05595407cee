"""`choose` and `simulate` as a user meets them."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from shell import ok, run
from shuffledp import choose
from shuffledp.randomizers import REGISTRY

ASKED = ["choose", "--users", "1e4", "--values", "8", "--epsilon", "1", "--delta", "1e-6"]


def test_json_has_the_choices_that_python_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one, two and several free parameters; all are listed in test_json.py."""
    some = {name: REGISTRY[name] for name in ("rr", "subset", "noisy-histogram")}
    monkeypatch.setattr("shuffledp.tools.choose.REGISTRY", some)
    report = json.loads(ok(*ASKED, "--view", "shuffle", "--rtol", "0.1", "--json"))
    table = choose(10_000, 8, epsilon=1.0, delta=1e-6, view="shuffle", rtol=0.1)
    assert report["query"] == "choose" and report["values"] == 8 and report["unmet"] == []
    assert {row["randomizer"] for row in report["choices"]} == some.keys()
    for error in ("standard_error", "average_error", "frequency_error"):
        assert [row[error] for row in report["choices"]] == [getattr(c, error) for c in table]
    for row, choice in zip(report["choices"], table, strict=True):
        assert row["randomizer"] == choice.name
        assert row["parameters"] == choice.randomizer.given
        assert (row["epsilon"]["lower"], row["epsilon"]["upper"]) == choice.epsilon
        assert row["view"] == "shuffle" and row["bits"] == choice.bits


def test_json_describes_the_round_of_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shuffledp.tools.choose.REGISTRY", {"rr": REGISTRY["rr"]})
    more = ["--colluding", "5%", "--dropouts", "100", "--messages", "2", "--max-eps0", "3"]
    report = json.loads(ok(*ASKED, *more, "--view", "shuffle", "--json"))
    (row,) = report["choices"]
    for said in (report, row):
        assert (said["colluding"], said["dropouts"], said["messages"]) == (500, 100, 2)
        assert (said["sampling"], said["neighbours"]) == ("fixed", "replace")
    assert any("at most 500 users collude" in text for text in row["assumptions"])
    assert report["max_eps0"] == 3 and row["local_eps0"] == row["parameters"]["eps0"] == 3
    (line,) = csv.DictReader(io.StringIO(ok(*ASKED, *more, "--view", "shuffle", "--csv")))
    assert float(line["local_eps0"]) == 3
    said = ok(*ASKED, *more, "--view", "shuffle")
    assert "10,000 users (500 or 5 % colluding, 100 or 1 % dropping out, 2 messages each)" in said
    assert "if they do not, a count may be off by 1,000/(p - q), where p and q are" in " ".join(
        said.split()
    )


def test_text_csv_and_picture(tmp_path: Path) -> None:
    mean = ["choose", "--users", "1e4", "--task", "mean", "--epsilon", "1", "--delta", "1e-6"]
    mean += ["--view", "aggregate", "--rtol", "0.1"]
    picture = tmp_path / "errors.svg"
    text = ok(*mean, "--plot", str(picture))
    assert "standard error of the mean" in text and "Gaussian(sigma=" in text
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.startswith("<?xml") and "gaussian (sigma)" in drawn and "view aggregate" in drawn
    rows = list(csv.DictReader(io.StringIO(ok(*mean, "--csv"))))
    assert {row["randomizer"] for row in rows} == {"gaussian", "noise-shares", "one-bit"}
    assert rows[-1]["randomizer"] == "one-bit"
    assert all(float(row["epsilon_upper"]) <= 1 for row in rows)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--json --csv", "give one"),
        ("--view threshold", "'threshold' is not one of"),
        ("--task mean", "--values does not go with task mean; leave it out"),
        ("--epsilon 0", "epsilon=0"),
        ("--users 0", "users=0"),
        ("--colluding 1e4", "colluding=10000"),
        ("--max-eps0 0", "--max-eps0=0"),
        ("--plot errors.doc", "picture format"),
    ],
)
def test_choose_refuses_in_one_sentence(more: str, words: str) -> None:
    option, *value = more.split()
    asked = list(ASKED)
    if option in asked:  # in its place: none may be given twice
        at = asked.index(option)
        del asked[at : at + 2]
    result = run(*asked, option, *value)
    assert result.returncode == 2 and (result.stdout == "" or "--json" in more)
    assert words in result.stderr and result.stderr.count("\n") == 1


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data.csv"
    path.write_text("answer\n" + "0\n" * 500 + "1\n" * 300 + "2\n" * 200, encoding="utf-8")
    return str(path)


def test_simulate_prints_the_guarantee_and_the_histogram(data: str, tmp_path: Path) -> None:
    asked = ["simulate", "--values", data, "--randomizer", "rr", "--k", "4", "--eps0", "3"]
    asked += ["--delta", "1e-6", "--seed", "1"]
    picture = tmp_path / "histogram.png"
    text = ok(*asked, "--plot", str(picture))
    epsilon = ok("epsilon", *asked[3:11], "--users", "1000").splitlines()[0]
    assert text.splitlines()[0] == epsilon
    assert picture.read_bytes().startswith(b"\x89PNG")
    report = json.loads(ok(*asked, "--json"))
    assert report["true"] == [500, 300, 200, 0] and report["users"] == 1000
    away = np.subtract(report["estimated"], report["true"]) / report["standard_errors"]
    assert np.abs(away).max() < 5
    assert report["lower"] <= report["upper"] and report["seed"] == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--randomizer rr --k 2 --eps0 1", "outside 0 .. 1"),
        ("--randomizer rr --k 4 --eps0 1 --users 7", "users=7"),
        ("--randomizer rr --k 4 --eps0 1 --messages 2", "messages=2"),
        ("--randomizer rr --k 4 --eps0 1 --seed -1", "seed=-1"),
        ("--eps0 1", "has no client"),
        ("--view threshold --rate 0.1 --threshold 9", "choose shuffle or aggregate"),
    ],
)
def test_simulate_refuses_in_one_sentence(more: str, words: str, data: str) -> None:
    result = run("simulate", "--values", data, "--delta", "1e-6", *more.split())
    assert result.returncode == 2 and result.stdout == ""
    assert words in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no values"), ("a\nb\n", "cannot be read"), ("1\n2,3\n", "cannot be read"), (None, "No")],
)
def test_files_that_are_none(text: str | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    asked = ["--randomizer", "rr", "--k", "4", "--eps0", "1", "--delta", "1e-6"]
    result = run("simulate", "--values", str(path), *asked)
    assert result.returncode == 2 and words in result.stderr and result.stderr.count("\n") == 1
