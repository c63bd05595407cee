"""calibrate, account, sweep and plot as a user meets them."""

import csv
import inspect
import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import click
import pytest

import shuffledp
from shell import ok, run
from shuffledp import (
    Accountant,
    Plan,
    PureLDP,
    RandomAllocation,
    RandomizedResponse,
    Shuffle,
    UnaryEncoding,
    calibrate,
    compare,
    plotting,
    sweep,
)
from shuffledp.cli.app import cli
from shuffledp.errors import InvalidParameter
from shuffledp.mechanisms import GaussianNoise, PoissonSampled
from shuffledp.tools.plan import PlannedRound

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plan.toml"
SAMPLED = "--find sigma --mechanism gaussian --sample-rate 0.1"


def of_eps0(eps0: float) -> Shuffle:
    return Shuffle(PureLDP(eps0), 1_000)


def round_of_users(users: int) -> Shuffle:
    return Shuffle(PureLDP(4.0), users)


def test_calibrate_is_what_python_says() -> None:
    options = [
        "--find",
        "eps0",
        "--users",
        "1e3",
        "--rounds",
        "2",
        "--epsilon",
        "0.5",
        "--delta",
        "1e-6",
    ]
    found = calibrate("eps0", of_eps0, rounds=2, epsilon=0.5, delta=1e-6)
    report = json.loads(ok("calibrate", *options, "--json"))
    assert report["value"] == found.value and report["beyond"] == found.beyond
    assert (report["lower"], report["upper"]) == found.achieved
    assert report["room"] == found.room and report["rounds"] == 2
    text = ok("calibrate", *options)
    assert text.startswith(f"eps0 = {found.value} is certified to meet epsilon 0.5 at")


def test_calibrate_users() -> None:
    text = ok(
        *["calibrate", "--find", "users", "--eps0", "4", "--epsilon", "0.5", "--delta", "1e-6"]
    )
    value = calibrate("users", round_of_users, epsilon=0.5, delta=1e-6).value
    assert f"users = {value:,} is certified to meet" in text
    assert f"users = {int(value) - 1:,} is not certified at rtol 0.001:" in text


def test_calibrate_repeats_what_was_asked() -> None:
    """Without --neighbours the noise is for replaced values: the answer has to say so."""
    options = "calibrate --find sigma --mechanism gaussian --rounds 20 --epsilon 3 --delta 1e-5"
    text = " ".join(ok(*options.split()).split())
    found = "Gaussian noise of standard deviation 6.22, sensitivity 1; replace-one neighbours;"
    assert f"for 20 releases of statistics about all users, {found}" in text
    text = " ".join(ok(*options.split(), "--neighbours", "remove").split())
    assert found.replace("replace-one", "remove-one") in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--find rounds --eps0 4 --users 1e4 --epsilon 0.1 --delta 1e-6", "no number of rounds"),
        ("--find rounds --eps0 4 --epsilon 0.1 --delta 1e-6", "needs --users"),
        ("--find eps0 --eps0 4 --users 1e4 --epsilon 1 --delta 1e-6", "leave it out"),
        ("--find sigma --users 1e4 --epsilon 1 --delta 1e-6", "which has eps0"),
        ("--find users --eps0 4 --epsilon 0 --delta 1e-6", "epsilon=0"),
        ("--find size --users 1e4 --epsilon 1 --delta 1e-6", "'size' is not one of"),
        ("--find steps --view allocation --epsilon 1 --delta 1e-6", "needs --noise-multiplier"),
        (
            "--find noise-multiplier --mechanism gaussian --epsilon 1 --delta 1e-6",
            "look for sigma, which is the same with sensitivity 1",
        ),
        (f"{SAMPLED} --sampling fixed --epsilon 1 --delta 1e-6", "use --sampling='poisson'"),
        (f"{SAMPLED} --neighbours replace --epsilon 1 --delta 1e-6", "use --neighbours='remove'"),
        ("--find sigma --mechanism gaussian --sample-rate 2000 --epsilon 1 --delta 1e-6", "share"),
        ("--find steps --epsilon 1 --delta 1e-6", "--find steps goes with --view allocation"),
        ("--find eps0 --steps 9 --epsilon 1 --delta 1e-6", "--steps goes with --view allocation"),
        (f"{SAMPLED} --users 1e4 --epsilon 1 --delta 1e-6", "--users does not go with"),
    ],
)
def test_calibrate_refuses_in_one_sentence(arguments: str, words: str) -> None:
    result = run("calibrate", *arguments.split())
    assert result.returncode == 2 and result.stdout == ""
    assert words in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize("asked", ["--find sigma", "--find noise-multiplier"])
def test_calibrate_knows_sigma_of_training_by_both_names(asked: str) -> None:
    """And takes it as given by either name, when the steps are looked for."""
    target = ("--view", "allocation", *["--epsilon", "1", "--delta", "1e-6", "--json"])
    report = json.loads(ok("calibrate", *asked.split(), "--steps", "50", *target))
    found = calibrate(
        "noise_multiplier", lambda each: RandomAllocation(each, 50), epsilon=1, delta=1e-6
    )
    assert (report["find"], report["value"]) == ("noise_multiplier", found.value)
    known = asked.replace("--find ", "--")
    steps = json.loads(ok("calibrate", "--find", "steps", known, str(found.value), *target))
    assert steps["value"] <= 50


@pytest.mark.parametrize(
    ("find", "given"), [("sigma", {"rate": 0.1}), ("sample_rate", {"sigma": 2.0})]
)
def test_calibrate_poisson_samples(find: str, given: dict[str, float]) -> None:
    """In a shell as in Python, and one step beyond the answer the target is missed."""

    def step(value: float) -> PoissonSampled:
        sigma, rate = given.get("sigma", value), given.get("rate", value)
        return PoissonSampled(GaussianNoise(sigma, neighbours="remove"), rate)

    spelled = {"sigma": "--sigma", "rate": "--sample-rate"}
    options = [word for name, value in given.items() for word in (spelled[name], str(value))]
    report = json.loads(
        ok(
            *("calibrate", "--find", find.replace("_", "-"), "--mechanism", "gaussian", *options),
            *["--rounds", "30", "--epsilon", "1", "--delta", "1e-6", "--json"],
        )
    )
    assert report["value"] == calibrate(find, step, rounds=30, epsilon=1, delta=1e-6).value
    assert report["mechanism"] == "poisson-sampled" and report["neighbours"] == "remove"
    assert Accountant().compose(step(report["value"]), 30).get_epsilon(1e-6) <= 1
    assert Accountant().compose(step(report["beyond"]), 30).get_epsilon(1e-6) > 1


def test_central_mechanisms_are_asked_about_like_rounds(tmp_path: Path) -> None:
    """In every command, as in Python and in a plan."""
    step = PoissonSampled(GaussianNoise(1.5, neighbours="remove"), 1 / 50)
    words = ["--mechanism", "gaussian", "--sigma", "1.5", "--sample-rate", "1/50"]
    words += ["--rounds", "40"]
    bounds = Accountant().compose(step, 40).epsilon_bounds(1e-6)
    report = json.loads(ok("epsilon", *words, "--delta", "1e-6", "--json"))
    assert (report["lower"], report["upper"]) == ([bounds.lower], [bounds.upper])
    assert (report["view"], report["mechanism"]) == ("central", "poisson-sampled")
    # a step in units of the gradient, which is clipped to a length that is not whole
    scaled = ["--mechanism", "gaussian", "--sigma", "2.25", "--sensitivity", "1.5", *words[4:]]
    scaled += ["--delta", "1e-6", "--json"]
    assert json.loads(ok("epsilon", *scaled))["upper"] == pytest.approx(report["upper"], rel=1e-3)
    assert json.loads(ok("compare", *words, "--delta", "1e-6", "--json"))["upper"] == bounds.upper
    swept = json.loads(ok("sweep", *words, "--delta", "1e-6,1e-5", "--jobs", "1", "--json"))["rows"]
    assert [row["relation"] for row in swept] == ["remove-one"] * 2
    assert swept[0]["upper"] == bounds.upper > swept[1]["upper"]
    assert json.loads(ok("risk", *words, "--json"))["advantage"]["upper"] < 1
    assert "remove-one" in ok("sweep", *words, "--delta", "1e-6,1e-5", "--jobs", "1", "--markdown")
    epoch = RandomAllocation(steps=9, mechanism=GaussianNoise(2.0, neighbours="remove"))
    allocated = "--view allocation --steps 9 --mechanism gaussian --sigma 2 --delta 1e-6 --json"
    found = json.loads(ok("epsilon", *allocated.split()))
    assert found["upper"] == [epoch.get_epsilon(1e-6, rtol=1e-3)]
    plan = tmp_path / "plan.toml"
    entry = 'view = "allocation"\nsteps = 9\nmechanism = "gaussian"\nsigma = 2.0\n'
    plan.write_text(f"[target]\nepsilon = 9.0\ndelta = 1e-6\n[[rounds]]\n{entry}")
    assert json.loads(ok("account", str(plan), "--json"))["upper"] == found["upper"][0]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("--mechanism gaussian --sigma 1 --users 10", "--users does not go with --mechanism"),
        ("--mechanism gaussian --sigma 1 --randomizer rr", "--randomizer does not go with"),
        ("--mechanism gaussian --sigma 1 --protects a", "--protects does not go with"),
        ("--mechanism gaussian", "--mechanism gaussian needs --sigma; add it."),
        (
            "--mechanism gaussian --noise-multiplier 1",
            "--mechanism gaussian; give it as --sigma, with sensitivity 1.",
        ),
        ("--mechanism laplace --noise-multiplier 1", "--mechanism laplace; leave it out."),
        (
            "--sigma 1 --sample-rate 0.01",
            "a step of DP-SGD, is a --mechanism: ",
        ),
        ("--mechanism skellam --mu 9 --sensitivity 1.2", "sensitivity=1.2 is not whole"),
        ("--mechanism gaussian --sigma 1 --scale 2", "--scale does not go with --mechanism"),
        ("--eps0 1 --users 9 --scale 2", "--scale goes with --mechanism; add that"),
        ("--eps0 1 --users 9 --view aggregate --mechanism laplace --scale 2", "--mechanism does"),
        (
            "--view threshold --rate 0.1 --threshold 9 --mechanism binomial --coins 9",
            "--mechanism does not go",
        ),
    ],
)
def test_what_does_not_go_with_a_mechanism(asked: str, said: str) -> None:
    result = run("epsilon", *asked.split(), "--delta", "1e-6")
    assert result.returncode == 2 and said in result.stderr


def test_a_sweep_takes_noise_and_no_guarantee_or_file() -> None:
    for mechanism in ("pld", "profile", "approximate-dp", "gauss"):
        result = run("sweep", "--mechanism", mechanism, "--epsilon", "1", "--jobs", "1")
        assert result.returncode == 2 and f"mechanism='{mechanism}'" in result.stderr


def test_account_on_the_example_is_what_python_says(tmp_path: Path) -> None:
    report = json.loads(ok("account", str(EXAMPLE), "--json", "--plot", str(tmp_path / "a.svg")))
    asked = partial(Shuffle, colluding=0.01, dropouts=0.2)
    usage = asked(RandomizedResponse(16, eps0=4.0), 1_000_000, sample_rate=0.1)
    rounds = (
        PlannedRound("usage", usage, 52),
        PlannedRound("survey", asked(UnaryEncoding(100, 3.0), 200_000), 12),
        PlannedRound("crashes", asked(PureLDP(5.0), 1_000_000), 2),
    )
    ledger = Plan(1.0, 1e-8, rounds).ledger()
    running = [(entry["lower"], entry["upper"]) for entry in report["entries"]]
    assert running == [entry.running for entry in ledger.entries]
    assert report["fits"] is ledger.fits is True
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_account_of_a_plan_that_does_not_fit(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    text = '[target]\nepsilon = 0.1\ndelta = 1e-6\n[[rounds]]\nrandomizer = "pure-ldp"\n'
    plan.write_text(text + "eps0 = 1.0\nusers = 100\n")
    result = run("account", str(plan))
    assert result.returncode == 1 and "exceeds the target" in result.stdout
    plan.write_text(text + "eps0 = 1.0\nuser = 100\n")
    result = run("account", str(plan))
    assert result.returncode == 2 and "unknown key 'user'" in result.stderr


def test_sweep_prints_the_table() -> None:
    result = run(
        *["sweep", "--eps0", "1:2:0.5,-1", "--users", "1e2,1e3", "--delta", "1e-6", "--jobs", "1"]
    )
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    table = sweep({"eps0": [1.0, 1.5, 2.0, -1.0], "users": [100, 1000]}, delta=1e-6, jobs=1)
    assert [row["epsilon_upper"] for row in rows] == [
        "" if row["epsilon_upper"] is None else str(row["epsilon_upper"]) for row in table
    ]
    assert result.returncode == 1 and "2 of 8 rows failed" in result.stderr
    report = json.loads(
        ok(*["sweep", "--eps0", "1", "--users", "100", "--delta", "1e-6", "--json"])
    )
    assert report["rows"][0]["upper"] == float(rows[0]["epsilon_upper"])


@pytest.mark.parametrize("bad", ["1:2", "2:1:1", "1:2:0", "1:2:-1", "a", "0:1:1e-9", ""])
def test_sweep_refuses_bad_lists(bad: str) -> None:
    result = run("sweep", "--eps0", bad, "--users", "10", "--delta", "1e-6")
    assert result.returncode == 2 and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        "profile --eps0 1 --users 100",
        "epsilon-vs-users --eps0 1 --users 100,1000 --rounds 1,2 --delta 1e-6",
        "epsilon-vs-rounds --randomizer rr --k 3 --gamma 0.5 --users 100 --rounds 1,4 --delta 1e-6",
        "amplification --randomizer unary --k 4 --eps0 0.5,1 --users 9,99 --published --delta 0.1",
    ],
)
def test_plots(tmp_path: Path, arguments: str) -> None:
    out = tmp_path / "picture.png"
    ok("plot", *arguments.split(), "--out", str(out))
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["epsilon-vs-users", "epsilon-vs-rounds", "amplification"])
def test_no_picture_chooses_a_delta(name: str, tmp_path: Path) -> None:
    out, users = str(tmp_path / "picture.png"), () if name == "amplification" else ("--eps0", "1")
    result = run("plot", name, *users, "--users", "9", "--out", out)
    assert result.returncode == 2 and "Missing option '--delta'" in result.stderr
    assert not list(tmp_path.iterdir())


def test_delta_has_no_default_anywhere() -> None:
    """In no command, and in no function or method of Python that asks for one."""
    groups = [command for command in cli.commands.values() if isinstance(command, click.Group)]
    commands = [*cli.commands.values()]
    for group in groups:
        commands += group.commands.values()
    options = [option for each in commands for option in each.params if "--delta" in option.opts]
    assert len(options) >= 10
    # a sweep is given either delta or epsilon
    assert [option.required for option in options].count(False) == 1
    names = [getattr(shuffledp, name) for name in shuffledp.__all__]
    drawn = [getattr(plotting, name) for name in dir(plotting) if name.startswith("plot_")]
    kinds = [kind for kind in names if isinstance(kind, type)]
    methods = [each for kind in kinds for _, each in inspect.getmembers(kind)]
    for function in filter(inspect.isfunction, [*names, *drawn, *methods]):
        delta = inspect.signature(function).parameters.get("delta")
        if delta is not None and not function.__qualname__.endswith("__init__"):
            assert delta.default in (delta.empty, None), function
    with pytest.raises(InvalidParameter, match="delta is missing"):
        compare(Shuffle(PureLDP(1.0), 10))


def test_plot_refuses_unknown_formats_before_working() -> None:
    result = run(*["plot", "profile", "--eps0", "1", "--users", "100", "--out", "picture.xyz"])
    assert result.returncode == 2 and "use .png, .pdf or .svg" in result.stderr


def test_plot_wants_a_folder_before_working(tmp_path: Path) -> None:
    out = str(tmp_path / "nothing" / "picture.png")
    result = run(*["plot", "profile", "--eps0", "1", "--users", "100", "--out", out])
    assert result.returncode == 2 and "there is no folder" in result.stderr


def test_numbers_beyond_a_float_are_shown_as_given() -> None:
    result = run(*["epsilon", "--eps0", "1", "--users", "100", "--delta", "1e310"])
    assert result.returncode == 2 and "'1e310' is beyond the range of a float" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
@pytest.mark.parametrize(
    "arguments",
    [f"account {EXAMPLE.parent / 'populations.toml'}", "sweep --eps0 1 --users 10 --delta 0.1"],
)
def test_a_full_disk_is_not_a_plan_that_exceeds(arguments: str) -> None:
    command = [sys.executable, "-m", "shuffledp", *arguments.split()]
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 2 and "output cannot be written" in result.stderr
    assert result.stderr.count("\n") == 1
