"""Rounds of which only the sums are seen, as users meet them: refusals, words, tools."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from shell import ok, run
from shuffledp import (
    Accountant,
    Aggregate,
    Gaussian,
    Plan,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    calibrate,
    compare,
    sweep,
)
from shuffledp.accountant import repeated
from shuffledp.errors import InvalidParameter, ShuffleDPError
from shuffledp.mechanisms import ApproximateDP
from shuffledp.randomizers import HadamardResponse

UNARY = UnaryEncoding(k=16, eps0=6.0)
SHELL = ("--randomizer", "unary", "--k", "16", "--eps0", "6", "--view", "aggregate")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Aggregate(PureLDP(2.0), 10),
            "give UnaryEncoding, NoiseShares, Gaussian or a randomizer with",
        ),
        (lambda: Aggregate(HadamardResponse(4, eps0=1.0), 10), "not supported by the aggregate"),
        (lambda: Aggregate(RandomizedResponse(2, eps0=1.0), 10, "remove"), "zero vector"),
        (lambda: Shuffle(UNARY, 10, neighbours="remove"), "sees the number of messages"),
        (lambda: Aggregate(UNARY, 10, "add"), "neighbours='add' is unknown; choose replace or"),
        (lambda: UnaryEncoding(4, p=0.2, q=0.5), "q=0.5 is not below p=0.2"),
        (lambda: UnaryEncoding(4), "give either eps0"),
        (lambda: UnaryEncoding(4, eps0=1.0, p=0.7), "give either eps0"),
        (lambda: UnaryEncoding(4, eps0=1.0, ones=5), "ones=5 is above 4"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_sentence(make: object, words: str) -> None:
    with pytest.raises(ShuffleDPError, match=words):
        make()  # type: ignore[operator]


def test_neighbours_are_not_mixed() -> None:
    accountant = Accountant().compose(Aggregate(UNARY, 1000, "remove"))
    with pytest.raises(InvalidParameter, match=r"replace-one neighbours and what was.*remove-one"):
        accountant.compose(Shuffle(UNARY, 1000))
    accountant.compose(ApproximateDP(0.1, neighbours="remove"))
    assert str(accountant).endswith("2 rounds in all, remove-one neighbours")


@pytest.mark.parametrize(
    ("randomizer", "users", "upper"),
    [
        (UnaryEncoding(256, p=0.75, q=0.01), 100, 121.27),
        (UnaryEncoding(256, p=0.5, q=0.0025), 1000, 36),
    ],
)
def test_columns_with_most_of_their_mass_at_the_largest_loss(
    randomizer: UnaryEncoding, users: int, upper: float
) -> None:
    """In one order of the neighbours a third of the mass is there, or next to nothing at 0."""
    found = repeated(Aggregate(randomizer, users), 100).epsilon_bounds(1e-9)
    assert found.lower <= found.upper <= upper


def test_one_bit_flipped_or_two_probabilities_say_the_same() -> None:
    flipped, both = UnaryEncoding(8, q=0.25), UnaryEncoding(8, p=0.75, q=0.25)
    assert flipped == both == UnaryEncoding(8, p=0.75)
    assert Aggregate(flipped, 100).get_epsilon(1e-6) == Aggregate(both, 100).get_epsilon(1e-6)
    assert UnaryEncoding.optimized(8, 2.0).eps0 == pytest.approx(2.0, rel=1e-12)
    optimized = Aggregate(UnaryEncoding.optimized(8, 4.0), 10_000).get_epsilon(1e-6)
    assert optimized > Aggregate(UnaryEncoding(8, eps0=4.0), 10_000).get_epsilon(1e-6)
    assert UnaryEncoding.optimized(8, 2.0, ones=2).q == pytest.approx(1 / (1 + math.e), rel=1e-12)
    for wrong in (0, "x", 1.5):
        with pytest.raises(InvalidParameter, match="ones="):
            UnaryEncoding.optimized(8, 2.0, ones=wrong)  # type: ignore[arg-type]


def test_the_shell_says_what_is_seen() -> None:
    text = ok("epsilon", *SHELL, "--users", "1e4", "--delta", "1e-6", "--neighbours", "remove")
    said = " ".join(text.split())
    assert (
        "remove-one: neighbouring datasets differ in whether the contribution of one user is "
        "replaced by zeros; the user takes part all the same"
    ) in said
    assert "one aggregated round of 10,000 users" in said
    assert "sees, for every round, the sums over all users" in said
    assert "it reveals the sums of what all users send and nothing else" in said
    assert "replace-one" not in said
    asked = ("epsilon", *SHELL, "--users", "1e4", "--delta", "1e-6", "--json")
    report = json.loads(ok(*asked))
    assert (report["view"], report["relation"]) == ("aggregate", "replace-one")
    assert report["upper"] == [Aggregate(UNARY, 10_000).get_epsilon(1e-6)]


def test_the_shell_refuses_what_does_not_go_together() -> None:
    result = run("epsilon", *SHELL, "--users", "10", "--delta", "1e-6", "--analysis", "clones")
    assert (result.returncode, "--analysis does not go with" in result.stderr) == (2, True)
    result = run("epsilon", "--eps0", "1", "--view", "sum", "--users", "10", "--delta", "1e-6")
    assert result.returncode == 2
    assert "'sum' is not one of 'shuffle', 'aggregate', 'threshold'" in result.stderr


def test_plans_sweeps_and_calibrate_know_the_view(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    entry = 'randomizer = "unary"\nk = 16\neps0 = 6.0\nusers = 100\nview = "aggregate"\n'
    target = "[target]\nepsilon = 1\ndelta = 1e-6\n"
    plan.write_text(f'{target}[[rounds]]\n{entry}neighbours = "remove"\n')
    upper = Aggregate(UNARY, 100, "remove").get_epsilon(1e-6)
    ledger = Plan.read(plan).ledger()
    assert ledger.entries[0].running.upper == upper
    assert "remove-one" in str(ledger)
    plan.write_text(f'{target}[[rounds]]\n{entry}neighbours = "remove"\n[[rounds]]\n{entry}')
    with pytest.raises(InvalidParameter, match=r"remove-one \(.*\) and replace-one"):
        Plan.read(plan)
    said: dict[str, Any] = {"randomizer": "unary", "k": 16, "eps0": 6.0, "view": "aggregate"}
    rows = sweep({"neighbours": ["replace", "remove"]}, users=100, delta=1e-6, jobs=1, **said)
    assert rows[1]["epsilon_upper"] == upper < rows[0]["epsilon_upper"]
    assert rows.relation == "replace-one or remove-one"
    found = calibrate(
        "eps0",
        lambda e: Aggregate(UnaryEncoding(16, e), 100),
        epsilon=0.5,
        delta=1e-6,
        rtol=0.05,
    )
    assert Aggregate(UnaryEncoding(16, found.value), 100).get_epsilon(1e-6) <= 0.5
    flip = (
        "--find",
        "q",
        "--rtol",
        "0.05",
        *SHELL[:4],
        *SHELL[6:],
        "--users",
        "100",
        "--epsilon",
        "0.5",
    )
    assert "(remove-one)" in ok("calibrate", *flip, "--delta", "1e-6", "--neighbours", "remove")


def test_published_bounds_do_not_apply() -> None:
    compared = compare(Aggregate(UNARY, 10_000), delta=1e-6)
    assert {row.epsilon for row in compared.rows} == {None}
    assert "not for a aggregated round" not in str(compared)
    assert "not for the sums" in str(compared)


def test_reprs() -> None:
    round_ = Aggregate(Gaussian(2.0), 100, "remove", colluding=3)
    assert repr(round_) == (
        "Aggregate(randomizer=Gaussian(sigma=2.0), users=100, neighbours='remove', colluding=3)"
    )
