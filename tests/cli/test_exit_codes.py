"""Exit code 0 only if the question was answered as asked: `shuffledp ... && deploy` is safe."""

import json
from pathlib import Path

import pytest

from shell import Result, run
from shuffledp import Accountant
from shuffledp._support.numeric import Bounds
from shuffledp.errors import NotCertified

#: No delta below the probability of outputs that give their sender away has an epsilon: one user
#: sends the value itself, among 2 messages with random values of 10.
REVEALED = ("--randomizer", "noisy-histogram", "--k", "10", "--dummies", "2", "--users", "100")
#: The loss of Gaussian noise has no upper limit.
UNLIMITED = ("--randomizer", "gaussian", "--sigma", "1", "--users", "1", "--delta", "0")
GOOD = ("--eps0", "1", "--users", "9", "--delta", "0.1")
SHARE = ("--rtol", "0.1")

PLAN = """
[target]
epsilon = {epsilon}
delta = {delta}

[[rounds]]
randomizer = "{randomizer}"
{parameter} = 1.0
users = 9
"""


def plan(
    folder: Path, epsilon: float, delta: float = 0.1, of: str = "pure-ldp", parameter: str = "eps0"
) -> str:
    file = folder / "plan.toml"
    said = {"epsilon": epsilon, "delta": delta, "randomizer": of, "parameter": parameter}
    file.write_text(PLAN.format(**said))
    return str(file)


def ends(code: int, *arguments: str) -> Result:
    """With this code, with --json as without; 3 is told on stderr and in the object `error`."""
    plain, as_json = run(*arguments), run(*arguments, "--json")
    assert (plain.returncode, as_json.returncode) == (code, code), plain.stderr
    error = json.loads(as_json.stdout)["error"]
    assert bool(error) == (code > 1)
    if code == 3:
        assert plain.stdout and plain.stderr == f"shuffledp: {error['message']}\n"
        assert error["kind"] == "not-certified"
    return plain


@pytest.mark.parametrize("command", ["epsilon", "compare", "adversaries"])
@pytest.mark.parametrize("protocol", [UNLIMITED, (*REVEALED, "--delta", "1e-9")], ids=str)
def test_no_epsilon_is_no_success(command: str, protocol: tuple[str, ...]) -> None:
    assert "no epsilon is certified at delta=" in ends(3, command, *protocol, *SHARE).stderr


def test_no_epsilon_beside_a_simulation(tmp_path: Path) -> None:
    (tmp_path / "values.csv").write_text("0.5\n")
    ends(3, "simulate", *UNLIMITED, "--values", str(tmp_path / "values.csv"), "--seed", "1")


def test_a_delta_of_one_is_no_success() -> None:
    """The value itself, of a single user: no epsilon and no delta below 1."""
    revealed = ("--randomizer", "rr", "--k", "2", "--eps0", "200", "--users", "1")
    said = "no delta below 1 is certified at epsilon=0;"
    assert said in ends(3, "delta", *revealed, "--epsilon", "0").stderr
    assert said in ends(3, "risk", *revealed).stderr
    ends(0, "delta", *revealed, "--epsilon", "200")


def test_answers_are_successes() -> None:
    for command in ("epsilon", "compare", "adversaries"):
        ends(0, command, *GOOD, *(("--k", "2") if command == "adversaries" else ()), *SHARE)


def test_rows_without_an_epsilon_have_failed() -> None:
    result = ends(1, "sweep", *UNLIMITED[:-1], "0,0.1", "--jobs", "1", *SHARE)
    assert "1 of 2 rows failed" in result.stderr
    assert "no epsilon is certified at delta=0;" in result.stdout.splitlines()[1]
    assert result.stdout.splitlines()[2].endswith(",")


def test_no_randomizer_meets_the_target() -> None:
    """One user is alone with an eps0, and none below 1e-6 is supported."""
    asked = ("choose", "--users", "1", "--values", "2", "--delta", "0", "--view", "aggregate")
    result = ends(1, *asked, "--epsilon", "1e-7")
    assert "Cannot meet it" in result.stdout


def test_accounts(tmp_path: Path) -> None:
    """A single entry: what it costs is between its own bounds."""
    report = json.loads(run("account", plan(tmp_path, 1.0), "--json").stdout)
    lower, upper = (report["entries"][0][side] for side in ("lower", "upper"))
    assert 0 < lower < upper
    ends(0, "account", plan(tmp_path, upper))
    ends(1, "account", plan(tmp_path, lower / 2))
    between = ends(3, "account", plan(tmp_path, (lower + upper) / 2))
    assert "not certified to fit" in between.stderr
    ends(1, "account", plan(tmp_path, 1.0, delta=0, of="gaussian", parameter="sigma"))


@pytest.mark.parametrize("upper", [0.5, float("inf")])
def test_brackets_that_are_too_wide_are_no_success(
    upper: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tools pass over the error and go on with the bounds."""
    wide = NotCertified("too wide", Bounds(0.25, upper))

    def ask(*_: object, **__: object) -> None:
        raise wide

    monkeypatch.setattr(Accountant, "epsilon_bounds", ask)
    for command in ("epsilon", "compare"):
        ends(3, command, *GOOD)
    for target in (0.3, 1.0):
        assert "exceeds" not in ends(3, "account", plan(tmp_path, target)).stdout
    ends(1, "account", plan(tmp_path, 0.2))
