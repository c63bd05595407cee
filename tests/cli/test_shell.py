"""The shell as people expect it: completion, pipes, numbers as they are written, narrow windows."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest

from shell import ok, run
from shuffledp import FiniteRandomizer, RandomizedResponse, Shuffle, adversaries, sweep
from shuffledp._support.text import line_width, wrapped
from shuffledp.cli.app import cli
from shuffledp.cli.options import Command
from shuffledp.errors import InvalidParameter
from shuffledp.randomizers import REGISTRY, LocalHashing, SubsetSelection
from shuffledp.tools.protocol import randomizer_of

ASKED = ("--users", "100", "--delta", "1e-3", "--json")


def upper(*arguments: str) -> float:
    return float(json.loads(ok("epsilon", *arguments))["upper"][0])


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_completion_in_a_real_bash(tmp_path: Path) -> None:
    program = tmp_path / "shuffledp"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shuffledp "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(_SHUFFLEDP_COMPLETE=bash_source shuffledp)"
        complete -p shuffledp
        COMP_WORDS=(shuffledp epsilon --randomizer s) COMP_CWORD=3
        _shuffledp_completion shuffledp
        echo "${COMPREPLY[@]}"
    """
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    result = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert result.returncode == 0, result.stderr
    hooked, proposed = result.stdout.splitlines()
    assert "-F _shuffledp_completion shuffledp" in hooked
    assert proposed.split() == sorted(name for name in REGISTRY if name.startswith("s"))


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        ("e", ["epsilon"]),
        ("epsilon --vi", ["--view"]),
        ("epsilon --view ", ["shuffle", "aggregate", "threshold", "allocation"]),
        ("sweep --view shuffle,ag", ["shuffle,aggregate"]),
        ("epsilon --analysis b", ["blanket", "best"]),
        ("calibrate --find sam", ["sample-rate"]),
        ("choose --task ", ["count", "mean", "vector"]),
    ],
)
def test_what_is_proposed(words: str, proposed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SHUFFLEDP_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"shuffledp {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" "))))
    assert [line.partition(",")[2] for line in run().stdout.splitlines()] == proposed


@pytest.mark.parametrize(
    ("shell", "words"), [("zsh", "#compdef shuffledp"), ("fish", "complete --no-files")]
)
def test_scripts_for_other_shells(shell: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SHUFFLEDP_COMPLETE", f"{shell}_source")
    assert words in run().stdout


def commands(group: click.Group) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from (((name, *path), each) for path, each in commands(command))
        else:
            yield (name,), command


@pytest.mark.parametrize(("path", "command"), [*commands(cli)], ids=str)
def test_no_option_is_given_twice(path: tuple[str, ...], command: click.Command) -> None:
    """Only what is documented as repeatable may be repeated; one class checks it for all."""
    taken = {
        "epsilon": ["group", "delta"],
        "delta": ["group", "epsilon"],
        "risk": ["group"],
        "serve": ["name"],
        "account": ["signature"],
    }
    repeated = [option.opts[0][2:] for option in command.params if getattr(option, "multiple", 0)]
    assert repeated == taken.get(path[0], [])
    assert isinstance(command, Command)


def test_a_repeated_option_is_named() -> None:
    protocol = ("--users", "10", "--delta", "1e-3")
    for command, more in (
        ("epsilon", ()),
        ("compare", ("--json",)),
        ("sweep", ("--jobs", "1")),
    ):
        result = run(command, *protocol, *more, "--eps0", "4", "--eps0=5")
        assert result.returncode == 2 and "upper" not in result.stdout
        assert result.stderr.startswith("shuffledp: --eps0 is given 2 times; give it once")
    picture = ("plot", "profile", "--eps0", "4", "--users", "9", "--users", "8", "--out", "p.png")
    assert "--users is given 2 times" in run(*picture).stderr
    report = json.loads(ok("epsilon", "--eps0", "4", *protocol, "--delta", "0.1", "--json"))
    assert report["delta"] == [1e-3, 0.1]
    ok("epsilon", "--eps0", "4", *protocol, "--json", "--json")


@pytest.mark.parametrize("users", ["2,000", "2k", "2_000", "2e3", "0.002M", " 2k "])
def test_numbers_as_they_are_written(users: str) -> None:
    report = json.loads(ok("epsilon", "--eps0", "1", *ASKED[2:], "--users", users))
    assert report["users"] == 2000


def test_percentages_and_lists() -> None:
    sampled = ("--eps0", "1", "--sample-rate", "20%", "--colluding", "10 %")
    report = json.loads(ok("epsilon", *sampled, *ASKED))
    assert (report["sample_rate"], report["colluding"]) == (0.2, 10)
    values = ("delta", "--eps0", "1", "--users", "1k", "--json", "--epsilon", "10%:30%:10%,1")
    assert json.loads(ok(*values))["epsilon"] == [0.1, 0.2, 0.3, 1]
    confused = run("sweep", "--eps0", "1", "--users", "2,000,000", "--delta", "1e-6")
    assert confused.returncode == 2 and "write 2_000_000 for one number" in confused.stderr
    assert "write a number like" in run("epsilon", "--eps0", "2m").stderr


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("krr", "rr"), ("GRR", "rr"), ("olh", "hashing"), ("rappor", "unary"), ("laplac", "laplace")],
)
def test_did_you_mean(typed: str, meant: str) -> None:
    result = run("epsilon", "--randomizer", typed, "--eps0", "1", *ASKED[:4])
    assert result.returncode == 2 and f"did you mean {meant}?" in result.stderr


def test_other_names_are_no_names() -> None:
    others = [name for kind in REGISTRY.values() for name in kind.also]
    assert len(set(others)) == len(others) and not set(others) & REGISTRY.keys()


CSV = {
    "plain": "0.75,0.25\n0.25,0.75\n",
    "byte order mark": "\ufeff0.75,0.25\r\n0.25,0.75\r\n",
    "header": "yes,no\n0.75,0.25\n0.25,0.75\n",
    "quoted header": '"to yes","to, no"\n"0.75","0.25"\n0.25,0.75\n',
    "comments": "# asked: yes, no\n0.75,0.25 # yes\n\n0.25,0.75\n",
    "of pandas": ",yes,no\n0,0.75,0.25\n1,0.25,0.75\n",
    "numbered by pandas": ",0,1\n0,0.75,0.25\n1,0.25,0.75\n",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in CSV.items()])
def test_csv_as_programs_write_it(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a pipe, which is `-`."""
    expected = Shuffle(FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]]), 100).get_epsilon(1e-3)
    piped(monkeypatch, text)
    assert upper("--randomizer", "matrix", "--matrix", "-", *ASKED) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5,x\n1,0\n", "'x' in line 1 is not"),
        ("a,b\n0.5,0.5\n1\n", "line 3 has 1 columns, and line 2 has 2"),
        ("yes,no\n", "0 rows"),
        ("", "0 rows"),
        ("50%,50%\n0.25,0.75\n0.5,0.5\n", "'50%' in line 1 is not a number"),  # no line of names
        ("0.75:0.25\n0.25:0.75\n", "'0.75:0.25' in line 1 is not a number"),
        ("nan,0.5\n0.5,0.5\n", "matrix row 1=nan is not finite"),
        (f"0.5,0.5\n{'x' * 200_000}\n", "cannot be read"),
    ],
)
def test_csv_that_is_none(text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, text)
    result = run("epsilon", "--randomizer", "matrix", "--matrix", "-", *ASKED[:4])
    assert result.returncode == 2 and said in result.stderr and result.stderr.count("\n") == 1
    assert len(result.stderr) < 300


def test_an_option_of_another_randomizer_is_said_before_what_lacks() -> None:
    result = run("epsilon", "--k", "4", *ASKED)
    assert result.returncode == 2 and "--k does not go with --randomizer pure-ldp" in result.stderr
    assert result.stderr.endswith(
        "--randomizer rr, hadamard, noisy-histogram, oue, subset, unary, noise-shares.\n"
    )
    result = run("epsilon", "--view", "threshold", "--rate", "0.1", "--threshold", "9", *ASKED[2:],
                 "--sample-rate", "0.1")  # fmt: skip
    assert "--sample-rate does not go with --view threshold" in result.stderr


def test_plans_and_values_through_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = '[target]\nepsilon = 1\ndelta = 1e-6\n[[rounds]]\nrandomizer = "pure-ldp"\neps0 = 1\n'
    piped(monkeypatch, f"\ufeff{plan}users = 1e4\n")
    assert "The plan fits" in ok("account", "-")
    piped(monkeypatch, "\ufeffanswer\n0\n1\n# a pause\n1\n")
    asked = ("--randomizer", "rr", "--k", "2", "--eps0", "1", "--delta", "1e-3", "--json")
    assert json.loads(ok("simulate", "--values", "-", *asked))["true"] == [1, 2]
    once = run("sweep", "--randomizer", "matrix", "--matrix", "-", "--users", "9", "--delta", "0.1")
    assert once.returncode == 2 and "give a sweep a file" in once.stderr


def test_data_frames_are_matrices() -> None:
    class Frame:
        """As of pandas or polars: iterating gives the names of columns."""

        def __iter__(self) -> object:
            return iter(["yes", "no"])

        def to_numpy(self) -> object:
            return np.array([[0.75, 0.25], [0.25, 0.75]])

    assert FiniteRandomizer(Frame()) == FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])  # type: ignore[arg-type]


@pytest.mark.parametrize("eps0", [0.1, 0.7, 1.0, 2.5, 4.0])
@pytest.mark.parametrize("k", [2, 3, 10, 33])
def test_the_size_of_a_subset_is_the_best_one(k: int, eps0: float) -> None:
    """Of all sizes, by the variance that the client itself has."""
    chosen = SubsetSelection(k=k, eps0=eps0)
    every = [SubsetSelection(k, size, eps0).count_variance(1000) for size in range(1, k)]
    assert chosen.count_variance(1000) <= min(every) * (1 + 1e-9)


@pytest.mark.parametrize("eps0", [0.1, 0.7, 1.0, 2.5, 4.0])
def test_the_range_of_a_hash_is_the_best_one(eps0: float) -> None:
    chosen = LocalHashing(eps0=eps0)
    every = [LocalHashing(g, eps0).count_variance(1000) for g in range(2, 100)]
    assert chosen.count_variance(1000) <= min(every) * (1 + 1e-9)


def test_what_is_left_to_its_optimum_is_told() -> None:
    report = json.loads(ok("epsilon", "--randomizer", "hashing", "--eps0", "2", *ASKED))
    assert report["parameters"] == {"g": 8, "eps0": 2.0}
    assert "needs --eps0" in run("epsilon", "--randomizer", "subset", "--k", "9", *ASKED).stderr
    for eps0 in (1e-6, 200.0):
        assert LocalHashing(eps0=eps0).g in (2, 3, 10**12)
        assert SubsetSelection(k=10**12, eps0=eps0).size >= 1
    with pytest.raises(InvalidParameter, match="eps0=None is not a number"):
        SubsetSelection(k=4)
    assert randomizer_of("subset", {"k": 16, "eps0": 1.0}) == SubsetSelection(k=16, eps0=1.0)


def test_adversaries_of_samples() -> None:
    randomizer = RandomizedResponse(3, eps0=1.0)
    rows = adversaries(randomizer, 10, 0.01, rtol=0.1, sample_rate=0.2, sampling="poisson")
    options = ("--k", "3", "--eps0", "1", "--sample-rate", "0.2", "--sampling", "poisson")
    asked = ("--users", "10", "--delta", "0.01", "--rtol", "0.1")
    report = json.loads(ok("adversaries", *options, *asked, "--json"))
    assert [row["upper"] for row in report["rows"]] == [row.upper for row in rows]
    assert report["sampling"] == "poisson"
    for row in rows[:-1]:
        sampled = Shuffle(randomizer, 10, row.analysis, sample_rate=0.2, sampling="poisson")
        assert row.upper == sampled.get_epsilon(0.01, rtol=0.1)
        assert row.upper >= rows[-1].lower
    assert "each of whom sends with probability 0.2" in ok("adversaries", *options, *asked)
    # what is exact of all users is not of a sample
    for sampling in ("fixed", "poisson"):
        found = adversaries(
            RandomizedResponse(2, eps0=1.0), 10, 0.01, rtol=0.1, sample_rate=0.2, sampling=sampling
        )
        assert [row.analysis for row in found][-3:] == ["blanket", "best", "attained"]


def test_columns_of_a_sweep_do_not_depend_on_what_is_swept() -> None:
    one = sweep({"users": [10, 20]}, eps0=1.0, delta=0.1, rounds=1, jobs=1)
    other = sweep({"rounds": [1, 2], "eps0": [1.0]}, delta=0.1, users=10, jobs=1)
    assert list(one.columns) == list(other.columns)
    assert one[0] == other[0]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [40, 200])
def test_text_is_as_wide_as_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert line_width(96) == 96
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert line_width() == columns
    lines = wrapped("replace-one " * 60, "relation ", 9).splitlines()
    assert columns - 12 < max(map(len, lines)) <= columns
    assert all(set(line.split()) <= {"relation", "replace-one"} for line in lines)
    assert wrapped("all", "x" * 30).startswith("x" * 30 + ("\n" if columns == 40 else "all"))


FEW = ("--users", "9", "--delta", "0.1", "--rtol", "0.1")


@pytest.mark.parametrize(
    "arguments",
    [
        ("epsilon", "--eps0", "1", *FEW),
        ("adversaries", "--k", "3", "--eps0", "1", *FEW),
        ("compare", "--eps0", "1", *FEW),
        ("calibrate", "--find", "eps0", *FEW, "--epsilon", "1"),
        ("choose", "--task", "mean", "--view", "aggregate", "--epsilon", "1", *FEW),
        ("verify", "--randomizer", "rr", "--k", "2", "--eps0", "1", "--users", "2"),
        ("audit", "--randomizer", "rr", "--k", "2", "--eps0", "1", "--trials", "100"),
        ("simulate", "--values", "-", "--randomizer", "rr", "--k", "2", "--eps0", "1", *FEW[2:]),
        ("account", "-"),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_every_command_fits_a_narrow_terminal(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is longer, unless it is one word; and nothing is lost."""
    plan = (
        b"target = {epsilon = 9, delta = 0.1}\n"
        b"[[rounds]]\nrandomizer = 'rr'\nk = 3\neps0 = 1.0\nusers = 50_000_000\nrounds = 2\n"
    )
    piped = plan if arguments[0] == "account" else b"0\n1\n"
    texts = []
    for columns in (10**6, 40):
        for place in ("_support.text", "_support.tables", "tools.document"):
            monkeypatch.setattr(f"shuffledp.{place}.line_width", lambda piped=0, c=columns: c)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
        seed = ("--seed", "1") if arguments[0] == "simulate" else ()
        texts.append(run(*arguments, *seed).stdout)
    wide, narrow = texts
    for line in narrow.splitlines():
        assert len(line) <= 40 or len(line.split()) == 1, line
    if arguments[0] != "audit":  # which draws anew
        assert sorted(wide.split()) == sorted(narrow.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("epsilon",), "Missing options '--delta', '--users' and '--eps0'."),
        (("epsilon", "--randomizer", "rr"), "Missing options '--delta', '--users' and '--k'."),
        (("epsilon", "--delta", "1e-6"), "--view shuffle needs --users and --eps0; add them."),
        (("epsilon", "--view", "threshold"), "Missing options '--delta', '--rate' and"),
        (("calibrate", "--find", "eps0"), "Missing options '--epsilon', '--delta' and '--users'."),
        (("epsilon", "--n", "100"), "No such option '--n'. Did you mean --users?"),
        (("epsilon", "--user", "100"), "No such option '--user'. Did you mean --users?"),
        (("epsilon", "--randomizer", "magic"), "--randomizer magic is unknown"),
    ],
)
def test_all_that_is_missing_is_said_at_once(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2 and said in result.stderr


def test_help_shows_the_options_that_apply() -> None:
    every = run("epsilon", "--help").stdout
    assert "--gamma" in every and "--threshold" in every and "left out" not in every
    titles = ["Question:", "Randomizer:", "View:", "Who takes part:", "Output:"]
    places = [every.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places)
    response = run("epsilon", "--randomizer", "rr", "--help").stdout
    assert "--gamma" in response and "--scale" not in response and "left out" in response
    counts = run("epsilon", "--view", "threshold", "--help").stdout
    assert "--threshold" in counts and "--eps0 N" not in counts and "--steps" not in counts
