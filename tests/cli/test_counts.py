"""Counts and shares on the command line: neither is taken for the other."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from shell import ok, run
from shuffledp import Plan
from shuffledp._support.written import written_number
from shuffledp.errors import InvalidParameter

ASKED = ("--users", "100", "--delta", "1e-3", "--json")


def test_counts_are_no_shares() -> None:
    for option in ("--users", "--rounds"):
        result = run("epsilon", *ASKED, option, "200%")
        assert result.returncode == 2 and "'200%' is not whole" in result.stderr


@pytest.mark.parametrize("option", ["--colluding", "--dropouts"])
def test_one_user_is_not_all_of_them(option: str) -> None:
    protocol = ("epsilon", "--eps0", "1", *ASKED)
    one = json.loads(ok(*protocol, option, "1"))
    assert one[option[2:]] == 1 and one["upper"] != json.loads(ok(*protocol))["upper"]
    assert json.loads(ok(*protocol, option, "99%"))[option[2:]] == 99
    for all_of_them, said in (
        ("100%", "'100%' is all users or more"),
        ("1.0", "with a decimal point"),
    ):
        result = run(*protocol, option, all_of_them)
        assert result.returncode == 2 and said in result.stderr


#: What is written, and the count that it is; None if it might be another one.
WRITTEN = {
    "1000": 1000, "1_000": 1000, "1e3": 1000, "1k": 1000, "1.5k": 1500, "2.5e6": 2_500_000,
    "1.5M": 1_500_000, "0.5k": 500, "1.000": None, "10.000": None, "1.0": None, "2.5": None,
    "1.5e0": None, "1.000.000": None, "1.0005k": None, "600k/2000": 300, "1/1": 1, "7/2": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "count"), WRITTEN.items())
@pytest.mark.parametrize("asked", [{"whole": True}, {"share": True}], ids=str)
def test_counts_have_no_decimal_point(text: str, count: int | None, asked: dict[str, bool]) -> None:
    """Shares are below 1: none of these is one."""
    if count is not None:
        assert written_number(text, **asked) == count
        return
    with pytest.raises(InvalidParameter):
        written_number(text, **asked)


def test_quotients_are_numbers() -> None:
    """The nearest double, as that of any other number that is written."""
    for text, value in (("1/300", 1 / 300), (" 2,000 / 600k ", 1 / 300), ("5%/2", 0.025)):
        assert written_number(text) == value
    assert written_number("1/3", share=True) == 1 / 3
    for text in ("1/0", "0/0", "1/", "/3", "1/2/3", "1/inf", "inf/2", "1/x", "1e999999/1e-9"):
        with pytest.raises(InvalidParameter, match=r"is not (a number|finite)"):
            written_number(text)


@pytest.mark.parametrize("option", ["--rounds", "--colluding"])
def test_the_shell_says_how_to_write_a_thousand(option: str) -> None:
    protocol = ("epsilon", "--eps0", "1", "--users", "1e6", "--delta", "1e-3")
    for command in (protocol, ("sweep", *protocol[1:])):
        result = run(*command, option, "10.000")
        assert result.returncode == 2 and f"'{option}': '10.000' is a count" in result.stderr
        assert "1000, 1_000, 1,000, 1e3 or 1k" in result.stderr


def test_lists_and_ranges_of_counts() -> None:
    def users(text: str) -> list[int]:
        table = json.loads(ok("sweep", "--eps0", "1", "--users", text, "--delta", "0.1", "--json"))
        return [row["users"] for row in table["rows"]]

    assert users("1.5k,2e3,1_000") == [1500, 2000, 1000]
    assert users("1.5e1:3e1:5") == [15, 20, 25, 30]
    for text in ("100,1.000", "1.000:3.000:1.000", "1:3:1.000"):
        result = run("sweep", "--eps0", "1", "--users", text, "--delta", "0.1")
        assert result.returncode == 2 and "is a count with a decimal point" in result.stderr


PLAN = """
[target]
epsilon = "1"
delta = "1e-6"

[[rounds]]
randomizer = "rr"
k = {k}
eps0 = {eps0}
users = {users}
colluding = {colluding}
sample_rate = {rate}
rounds = {rounds}
"""
USUAL = {"k": "16", "eps0": "2.0", "users": "1e6", "colluding": "50_000", "rate": "0.1"}


def plan(folder: Path, **changed: str) -> Plan:
    file = folder / "plan.toml"
    file.write_text(PLAN.format(**({**USUAL, "rounds": "52"} | changed)), encoding="utf-8")
    return Plan.read(file)


def test_a_plan_reads_numbers_as_the_shell_does(tmp_path: Path) -> None:
    usual = plan(tmp_path)
    texts = {"k": '"16"', "eps0": '"2"', "users": '"1M"', "colluding": '"5%"', "rate": '"10%"'}
    assert plan(tmp_path, **texts, rounds='"52"') == usual
    assert plan(tmp_path, colluding="0.05") == plan(tmp_path, users='"1,000k"') == usual
    asked = ("--k", "16", "--eps0", "2", "--users", "1M", "--colluding", "5%")
    protocol = (*asked, "--sample-rate", "10%", "--rounds", "52", "--delta", "1e-6", "--rtol")
    shell = json.loads(ok("epsilon", "--randomizer", "rr", *protocol, "0.1", "--json"))
    round_ = usual.rounds[0].round
    assert shell["colluding"] == Fraction("0.05") * 10**6 == getattr(round_, "colluding", None)
    assert shell["users"] == getattr(round_, "users", None) == 10**6


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rounds": "1.000"}, "rounds='1.000' is a count with a decimal point"),
        ({"rounds": '"1.000"'}, "rounds='1.000' is a count with a decimal point"),
        ({"users": "10.000"}, "users='10.000' is a count with a decimal point"),
        ({"k": "16.0"}, "k='16.0' is a count with a decimal point"),
        ({"colluding": "10.000"}, "colluding='10.000' is a count with a decimal point"),
        ({"colluding": '"100%"'}, "colluding='100%' is all users or more"),
        ({"eps0": '"two"'}, "eps0='two' is not a number"),
        ({"users": '"2 Mio"'}, "users='2 Mio' is not a number"),
        ({"users": "[1]"}, r"users=\[1\] is not a number"),
    ],
)
def test_what_a_plan_cannot_mean(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidParameter, match=rf"rounds\[1\]: {said}"):
        plan(tmp_path, **changed)
