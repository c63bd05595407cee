"""Errors and help texts of the shell name what is missing or wrong, and options as options."""

from pathlib import Path

import pytest

from shell import ok, run
from shuffledp.cli.options import in_options

ALLOCATION = "--view allocation --steps 300 --rounds 10"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("plan", "PLAN.toml is missing; give the name of a file."),
        ("account --json", "PLAN.toml is missing; give the name of a file."),
        ("plan a.toml b.toml", "plan takes one argument; leave 'b.toml' out."),
        (
            "reproduce",
            "FIGURE is missing; choose fig1 or fig2 or fig3 or fig4 or truncation or supplement or "
            "claims or all.",
        ),
        ("epsilon plan.toml", "epsilon takes options only; leave 'plan.toml' out."),
        (
            "delta --eps0 1 --users 9 --delta 0.1",
            "No such option '--delta'. It is what shuffledp delta computes; leave it out.",
        ),
        ("client --epsilon 6", "No such option '--epsilon'. Did you mean --eps0?"),
        # only what is missing: neither what has a default nor what is looked for
        ("simulate --randomizer rr --k 4 --eps0 1 --values a.csv", "Missing option '--delta'."),
        (
            f"calibrate --find noise-multiplier {ALLOCATION} --epsilon 2",
            "Missing option '--delta'.",
        ),
        (f"calibrate --find sigma {ALLOCATION} --epsilon 2", "Missing option '--delta'."),
        (
            "calibrate --find sigma --mechanism gaussian",
            "Missing options '--epsilon' and '--delta'.",
        ),
        (
            "epsilon --noise-multiplier 0.8 --steps 300 --delta 1e-7",
            "--noise-multiplier goes with --view allocation, not with shuffle; give that view or "
            "leave it out.",
        ),
        (
            "choose --users 9 --epsilon 1 --delta 0.1",
            "--values is missing; task count needs it.",
        ),
        (
            "choose --users 9 --values a.csv --epsilon 1 --delta 0.1",
            "Invalid value for '--values': 'a.csv' is not a number; write a number like 10000, "
            "1e-6, 2M or 20%.",
        ),
        (
            "epsilon --eps0 1 --users 9 --delta 2",
            "--delta=2.0 is outside [0, 1]; give a probability.",
        ),
        (
            "client --randomizer noisy-histogram --dummies 9 --k 4",
            "dummies of this kind have no specification: the devices do not send them, and each "
            "sends its true value only; send the value.",
        ),
    ],
)
def test_what_is_said(arguments: str, said: str) -> None:
    result = run(*arguments.split())
    assert (result.returncode, result.stderr) == (2, f"shuffledp: {said}\n")


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("max_eps0=0 is too small.", "--max-eps0=0 is too small."),
        ("users is missing; give it.", "--users is missing; give it."),
        ("users who send; give users.", "users who send; give users."),
        ("a share of users=9 is 2", "a share of --users=9 is 2"),
        ("Shuffle(eps0=1, users=9) is none", "Shuffle(eps0=1, users=9) is none"),
        ("plan.toml: rounds[1]: users=0 is below 1", "plan.toml: rounds[1]: users=0 is below 1"),
        ("target.eps0=0 is below 1", "target.eps0=0 is below 1"),
    ],
)
def test_parameters_are_named_as_options(sentence: str, said: str) -> None:
    assert in_options(sentence, ["--max-eps0", "--users", "--eps0", "-h"]) == said


def test_training_has_sigma_in_a_plan_as_in_the_shell(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    target = "target = {epsilon = 9, delta = 1e-6}\n[[rounds]]\nview = 'allocation'\nsteps = 50\n"
    printed = []
    for name in ("sigma", "noise_multiplier"):
        plan.write_text(f"{target}{name} = 2.0\n", encoding="utf-8")
        printed.append(ok("account", str(plan), "--csv"))
    assert printed[0] == printed[1]


def test_a_simulation_says_for_what_its_guarantee_is(tmp_path: Path) -> None:
    values = tmp_path / "values.csv"
    values.write_text("0\n1\n" * 50, encoding="utf-8")
    protocol = ("--randomizer", "rr", "--k", "2", "--eps0", "1", "--delta", "1e-3")
    said = ok("simulate", *protocol, "--values", str(values), "--rounds", "3", "--colluding", "5")
    assert (
        "That is for 3 shuffled rounds of 100 users (5 or 5 % colluding). One is simulated:" in said
    )


def test_help_says_which_randomizer_a_meaning_belongs_to() -> None:
    said = " ".join(ok("epsilon", "--help").split())
    assert "unary: probability that a 1 is sent as 1; variation-ratio: largest ratio of" in said
    assert "Local delta of the randomizer (approximate-ldp)." in said
