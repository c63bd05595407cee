"""Counts and shares on the command line: neither is taken for the other."""

import json

import pytest

from shell import ok, run

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
    for all_of_them, said in (("100%", "'100%' is all users or more"), ("1.0", "one user or all")):
        result = run(*protocol, option, all_of_them)
        assert result.returncode == 2 and said in result.stderr
