"""One display for all that takes long: alive within a step, silent where nobody watches."""

import io
import sys
import threading
import time
import types
from collections.abc import Callable

import pytest

from shell import run
from shuffledp import (
    Plan,
    PureLDP,
    RandomizedResponse,
    Shuffle,
    adversaries,
    audit,
    calibrate,
    choose,
    compare,
    plotting,
    simulate,
    sweep,
    verify,
)
from shuffledp._support import progress as display
from shuffledp._support.progress import bar_hidden, progress
from shuffledp.interop import to_dp_accounting
from shuffledp.tools.plan import PlannedRound


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A stderr that somebody watches."""
    watched = Terminal()
    # not sys itself: pytest sets its stderr before every phase of a test
    seen = types.SimpleNamespace(stderr=watched, modules=sys.modules)
    monkeypatch.setattr(display, "sys", seen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("SHUFFLEDP_PROGRESS", raising=False)
    return watched


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "DELAY", 0.0)
    monkeypatch.setattr(display, "PAUSE", 0.002)


def until(seen: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not seen() and time.monotonic() < limit:
        time.sleep(0.002)
    assert seen()


@pytest.mark.usefixtures("at_once")
def test_a_line_that_is_written_again_and_leaves_nothing(terminal: Terminal) -> None:
    with progress("points", 4) as done:
        done(1)
        until(lambda: "25%" in terminal.getvalue())
        done(1)
        until(lambda: "50%" in terminal.getvalue())
    shown = terminal.getvalue()
    assert "\n" not in shown and "\x1b" not in shown
    *_, last, after = shown.split("\r")
    assert last.strip() == "" and after == ""  # the last thing written is a line of spaces


@pytest.mark.usefixtures("at_once")
def test_the_clock_runs_within_a_step(terminal: Terminal) -> None:
    with progress("epsilon"):
        until(lambda: terminal.getvalue().count("epsilon: 0 steps [00:00]") > 3)


def test_what_is_quick_leaves_no_trace(terminal: Terminal) -> None:
    with progress("points", 2) as done:
        done(2)
    Shuffle(PureLDP(1.0), 100).get_epsilon([1e-6, 1e-9])
    assert terminal.getvalue() == ""
    assert threading.active_count() < 50  # and no thread stays behind


@pytest.mark.usefixtures("at_once")
def test_only_one_is_shown_at_a_time(terminal: Terminal) -> None:
    with progress("outer") as done:
        with progress("inner", 3):
            until(lambda: terminal.getvalue().count("outer") > 3)
        done(1)
        until(lambda: "1 steps" in terminal.getvalue())
    assert "inner" not in terminal.getvalue()


@pytest.mark.usefixtures("at_once")
def test_output_has_a_line_of_its_own(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal that shows both stdout and the bar."""
    monkeypatch.setattr(sys, "stdout", terminal)
    with progress("curves", 4) as done:
        done(1)
        until(lambda: "25%" in terminal.getvalue())
        with bar_hidden():
            print("fig1")
        done(1)
        until(lambda: "50%" in terminal.getvalue())
    (line,) = (line for line in terminal.getvalue().split("\r") if "fig1" in line)
    assert line.startswith("fig1\n")


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("name", "value"), [("SHUFFLEDP_PROGRESS", "0"), ("TERM", "dumb")], ids=str
)
def test_it_can_be_turned_off(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with progress("points", 2):
        time.sleep(0.02)
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("at_once")
def test_an_error_ends_it(terminal: Terminal) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), progress("points", 2):
            raise ZeroDivisionError
    with progress("again"):
        until(lambda: "again" in terminal.getvalue())


@pytest.mark.usefixtures("at_once")
def test_a_narrow_terminal_keeps_it_on_one_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    with progress("points", 2) as done:
        done(1)
        until(lambda: "points" in terminal.getvalue())
    assert max(map(len, terminal.getvalue().split("\r"))) < 30


@pytest.mark.usefixtures("at_once")
def test_workers_are_silent(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    import multiprocessing

    monkeypatch.setattr(multiprocessing, "parent_process", lambda: "a process")
    with progress("points", 2):
        time.sleep(0.02)
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("at_once")
def test_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stderr is no terminal, but an output of the cell."""
    shell, module = (types.ModuleType(name) for name in ("shell", "IPython"))
    vars(shell)["kernel"] = "one"
    vars(module)["get_ipython"] = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", module)
    cell = io.StringIO()
    monkeypatch.setattr(display, "sys", types.SimpleNamespace(stderr=cell, modules=sys.modules))
    monkeypatch.delenv("SHUFFLEDP_PROGRESS", raising=False)
    with progress("points", 4) as done:
        done(1)
        until(lambda: "25%" in cell.getvalue())
    assert cell.getvalue().split("\r")[-2].strip() == ""


SURVEY = Shuffle(PureLDP(2.0), 1_000)
RESPONSE = RandomizedResponse(k=2, eps0=1.0)
PLAN = Plan(1.0, 1e-6, (PlannedRound("a", SURVEY, 1),))
LONG: dict[str, Callable[[], object]] = {
    "epsilon": lambda: SURVEY.get_epsilon(1e-6),
    "delta": lambda: SURVEY.delta_bounds([0.1, 0.2]),
    "attained epsilon": lambda: Shuffle(RESPONSE, 100).attained_epsilon(1e-6),
    "calibrating users": lambda: calibrate(
        "users", lambda users: Shuffle(PureLDP(1.0), users), epsilon=1.0, delta=1e-6
    ),
    "adversaries": lambda: adversaries(RESPONSE, 10, 1e-6),
    "bounds": lambda: compare(Shuffle(PureLDP(2.0), 10), 1, 1e-6),
    "calibrating randomizers": lambda: choose(
        10, task="mean", view="aggregate", epsilon=1e-9, delta=0.0
    ),
    "entries": PLAN.ledger,
    "points": lambda: plotting.plot_epsilon_vs_rounds(SURVEY, [1, 2], delta=1e-6),
    "rows": lambda: sweep({"users": [10, 20]}, eps0=1.0, delta=1e-6, jobs=1),
    "datasets": lambda: verify(RESPONSE, 2),
    "messages": lambda: audit(RESPONSE, trials=100),
    "simulating": lambda: simulate(Shuffle(RESPONSE, 2), [0, 1]),
    "exporting": lambda: to_dp_accounting(SURVEY),
}


@pytest.mark.parametrize("label", LONG)
def test_everything_that_may_take_long_says_how_far_it_is(
    label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: list[str] = []

    def screen() -> None:
        labels.append(sys._getframe(1).f_locals["label"])

    monkeypatch.setattr(display, "_screen", screen)
    LONG[label]()
    assert labels[0] == label


def test_a_command_does_too(monkeypatch: pytest.MonkeyPatch) -> None:
    labels: list[str] = []
    monkeypatch.setattr(
        display, "_screen", lambda: labels.append(sys._getframe(1).f_locals["label"])
    )
    run("epsilon", "--eps0", "1", "--users", "100", "--delta", "1e-6,1e-9")
    assert labels[0] == "epsilon"
