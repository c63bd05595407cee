"""Plans and ledgers against an accountant that is filled by hand."""

import math
from pathlib import Path
from typing import Any

import pytest

from shuffledp import Accountant, FiniteRandomizer, Plan, PureLDP, Shuffle
from shuffledp.errors import InvalidParameter
from shuffledp.tools.plan import PlannedRound

SMALL = Shuffle(PureLDP(1.0), 10)
GOOD = """
[target]
epsilon = 1
delta = 1e-6

[[rounds]]
randomizer = "pure-ldp"
eps0 = 4.0
users = 1e4
rounds = 3

[[rounds]]
name = "poll"
randomizer = "matrix"
matrix = "poll.csv"
users = 2_000
"""


def read(tmp_path: Path, text: str) -> Plan:
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")
    (tmp_path / "poll.csv").write_text("0.75,0.25\n0.25,0.75\n")
    return Plan.read(file)


def test_ledger_against_the_accountant(tmp_path: Path) -> None:
    plan = read(tmp_path, GOOD)
    first = Shuffle(PureLDP(4.0), 10_000)
    second = Shuffle(FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]]), 2_000)
    rounds = (PlannedRound("1: PureLDP(eps0=4.0)", first, 3), PlannedRound("poll", second, 1))
    assert plan.rounds == rounds
    ledger, accountant = plan.ledger(), Accountant()
    for entry, planned in zip(ledger.entries, rounds, strict=True):
        accountant.compose(planned.round, rounds=planned.rounds)
        assert entry.running == accountant.epsilon_bounds(1e-6)
        assert entry.remaining == 1 - entry.running.upper
        assert entry.fits == accountant.fits(1.0, 1e-6)
    assert ledger.fits
    assert "The plan fits the target (1, 1e-06)" in str(ledger)
    assert '<th scope="row">poll</th>' in ledger._repr_html_()


def test_sampled_rounds(tmp_path: Path) -> None:
    plan = read(tmp_path, GOOD.replace("rounds = 3", "sample_rate = 0.5"))
    assert plan.rounds[0].round == Shuffle(PureLDP(4.0), 10_000, sample_rate=0.5)
    assert "5,000 of 10,000" in str(plan.ledger())


def test_a_plan_that_does_not_fit_says_from_where_on(tmp_path: Path) -> None:
    ledger = read(tmp_path, GOOD.replace("epsilon = 1", "epsilon = 0.74")).ledger()
    assert [entry.fits for entry in ledger.entries] == [True, False]
    assert "exceeds the target (0.74, 1e-06) by epsilon 0.0" in str(ledger)
    assert "from 'poll' on" in str(ledger)
    assert "-0.0" in str(ledger)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[target]", "[goal]", "unknown key 'goal'"),
        ("delta = 1e-6", "", "target lacks the key 'delta'"),
        ("delta = 1e-6", "delta = 2", "delta=2.0 is outside"),
        ("delta = 1e-6", "delta = 'low'", "target.delta='low' is not a number"),
        ("epsilon = 1", "epsilon = -1", "epsilon=-1.0 is negative"),
        ("epsilon = 1", "epsilon = nan", "target.epsilon='nan' is not a number"),
        (
            "epsilon = 1",
            "epsilom = 1",
            "target has the unknown key 'epsilom'; did you mean epsilon",
        ),
        ("users = 1e4", "", r"rounds\[1\] lacks the key 'users'"),
        ("users = 1e4", "users = 1.5", r"rounds\[1\]: users='1.5' is not whole"),
        (
            "users = 1e4",
            "user = 1",
            r"rounds\[1\] has the unknown key 'user'; did you mean users\?",
        ),
        ("users = 1e4", "users = true", r"rounds\[1\]: users=True is not a number"),
        ("users = 1e4", "users = 1e4\nnotes = 'x'", r"rounds\[1\] has the unknown key 'notes'"),
        ("randomizer =", "randomiser =", r"unknown key 'randomiser'; did you mean randomizer\?"),
        (
            "[[rounds]]",
            "[[rounds]]\nmechanism = 'gaussian'\nnoise_multiplier = 1\n[[rounds]]",
            "unknown key 'noise_multiplier'; write it as sigma, with sensitivity 1",
        ),
        ("users = 1e4", "view = 'agregate'", r"rounds\[1\]: view='agregate' is unknown; choose sh"),
        ("users = 1e4", "steps = 9", r"rounds\[1\]: steps goes with view allocation, not with sh"),
        (
            "users = 1e4",
            "groups = [{users = 9, size_of = 'x'}]",
            r"rounds\[1\].groups\[1\] has the unknown key 'size_of'",
        ),
        ("rounds = 3", "rounds = 0", r"rounds\[1\]: rounds=0 is below 1"),
        ("eps0 = 4.0", "", r"rounds\[1\]: randomizer pure-ldp needs eps0"),
        ("eps0 = 4.0", "eps0 = 4.0\nk = 3", r"k does not go with randomizer pure-ldp"),
        ('"pure-ldp"', '"magic"', r"rounds\[1\]: randomizer magic is unknown"),
        ('"pure-ldp"', "3", r"rounds\[1\].randomizer=3 is not text"),
        ("rounds = 3", "analysis = 'strong'", r"rounds\[1\]: analysis='strong' is unknown"),
        ('"poll.csv"', '"nothing.csv"', r"rounds\[2\]: matrix .*nothing.csv cannot be read"),
        ("[[rounds]]", "[rounds]", "plan.toml is not TOML"),
        ("epsilon = 1", "epsilon = ", "plan.toml is not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_the_key(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidParameter, match=words) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert "plan.toml" in str(caught.value) and "\n" not in str(caught.value)


def test_plans_that_are_no_plans(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="cannot be read"):
        Plan.read(tmp_path / "nothing.toml")
    with pytest.raises(InvalidParameter, match="rounds is not a list of tables"):
        read(tmp_path, "rounds = 3\n[target]\nepsilon = 1\ndelta = 0.1")
    with pytest.raises(InvalidParameter, match="target=3 is not a table"):
        read(tmp_path, "target = 3\nrounds = []")
    with pytest.raises(InvalidParameter, match="cannot be read: it is not the name of a file"):
        Plan.read("a\0b")
    with pytest.raises(InvalidParameter, match="None cannot be read"):
        Plan.read(None)  # type: ignore[arg-type]
    for hostile in (f"x = {'9' * 5000}", "x = " + 5000 * "["):
        with pytest.raises(InvalidParameter, match="is not TOML"):
            read(tmp_path, hostile)
    with pytest.raises(InvalidParameter, match=r"matrix .* cannot be read"):
        read(tmp_path, GOOD.replace("poll.csv", r"a\u0000b"))
    (tmp_path / "plan.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidParameter, match="is not TOML"):
        Plan.read(tmp_path / "plan.toml")


def test_accountant_as_a_table() -> None:
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(4.0), 10_000), rounds=52)
    html = accountant._repr_html_()
    assert "<td>52</td><td>10,000</td>" in html and "PureLDP(eps0=4.0)" in html


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "\x1b[31mred", 3])
def test_names_are_lines_of_text(name: Any) -> None:
    with pytest.raises(InvalidParameter, match="is not a line of text"):
        PlannedRound(name, Shuffle(PureLDP(1.0), 10), 1)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epsilon": math.nan}, "epsilon=nan is not finite"),
        ({"epsilon": -1}, "epsilon=-1 is negative"),
        ({"epsilon": "1"}, "epsilon='1' is not a number"),
        ({"delta": [1e-6]}, r"delta=\[1e-06\] is not a number"),
        ({"rounds": ()}, r"rounds=\(\) is not a list of rounds"),
        ({"rounds": 3}, "rounds=3 is not a list of rounds"),
        ({"rounds": (Shuffle(PureLDP(1.0), 10),)}, "is not a list of rounds"),
    ],
)
def test_plans_of_python_are_checked(changed: dict[str, Any], words: str) -> None:
    good = {"epsilon": 1, "delta": 1e-6, "rounds": [PlannedRound("a", SMALL, 2.0)]}  # type: ignore[arg-type]
    assert Plan(**good).rounds[0].rounds == 2  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=words):
        Plan(**{**good, **changed})
    with pytest.raises(InvalidParameter, match="round='x' is not a round"):
        PlannedRound("a", "x", 1)  # type: ignore[arg-type]


def test_fits_is_for_one_target() -> None:
    accountant = Accountant()
    accountant.compose(SMALL)
    with pytest.raises(InvalidParameter, match=r"delta=\[0.1, 0.2\] is not a number"):
        accountant.fits(1.0, [0.1, 0.2])  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"epsilon=\[1\] is not a number"):
        accountant.fits([1], 0.1)  # type: ignore[arg-type]


def test_no_rounds_remain_beyond_the_supported_number() -> None:
    accountant = Accountant()
    accountant.compose(SMALL, rounds=10**7)
    assert accountant.remaining_rounds(SMALL, 1e9, 1e-6) == 0
