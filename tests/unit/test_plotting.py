"""Pictures: what is drawn is what is certified, and nothing global is touched."""

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from shuffledp import Accountant, InvalidParameter, Plan, PlannedRound, PureLDP, Shuffle, plotting
from shuffledp.published import BOUNDS

SURVEY = Shuffle(PureLDP(2.0), 1_000)


def drawn(axes: Any, label: str) -> tuple[list[float], list[float]]:
    (line,) = [line for line in axes.lines if line.get_label().lstrip("_") == label]
    return line.get_xdata(), line.get_ydata()


def test_epsilon_against_users_with_bands() -> None:
    axes = plotting.plot_epsilon_vs_users(PureLDP(2.0), [100, 1_000], delta=1e-6, rounds=[1, 3])
    xs, ys = drawn(axes, "3 rounds")
    expected = []
    for users in (100, 1_000):
        accountant = Accountant()
        accountant.compose(Shuffle(PureLDP(2.0), users), rounds=3)
        expected.append(accountant.epsilon_bounds(1e-6))
    assert list(xs) == [100, 1_000] and list(ys) == [b.upper for b in expected]
    corners = np.asarray(axes.collections[1].get_paths()[0].vertices)
    assert {b.lower for b in expected} <= set(corners[:, 1].tolist())


def test_epsilon_against_rounds_with_the_literature() -> None:
    axes = plotting.plot_epsilon_vs_rounds(SURVEY, [1, 10], delta=1e-6, published=True)
    assert drawn(axes, "certified")[1][0] == SURVEY.get_epsilon(1e-6)
    names = {str(line.get_label()) for line in axes.lines}
    assert "Renyi DP of stronger-clones" in names
    assert not names & {bound.name for bound in BOUNDS if not bound.proven}
    bound = next(bound for bound in BOUNDS if bound.name == "Renyi DP of clones")
    ys = drawn(axes, "Renyi DP of clones")[1]
    assert ys[1] == bound.epsilon(PureLDP(2.0), 1_000, 1.0, 10, 1e-6)


def test_amplification_and_where_a_bound_does_not_apply() -> None:
    axes = plotting.plot_amplification(PureLDP, [0.5, 4.0], [2_000], delta=1e-6, published=True)
    assert list(drawn(axes, "local")[1]) == [0.5, 4.0]
    ys = drawn(axes, "Erlingsson et al. 2019")[1]
    assert math.isfinite(ys[0]) and math.isnan(ys[1])


def test_profile_down_to_small_deltas() -> None:
    axes = plotting.plot_profile(SURVEY)
    xs, ys = drawn(axes, "certified")
    assert np.all(np.diff(ys) < 0) and ys[-1] == SURVEY.get_delta(xs[-1]) <= 1e-12
    again = plotting.plot_profile(SURVEY, [0.1, 0.2], label="short", ax=axes)
    assert again is axes and list(drawn(axes, "short")[0]) == [0.1, 0.2]


def test_ledger_against_its_target() -> None:
    ledger = Plan(0.5, 1e-6, (PlannedRound("a", SURVEY, 1), PlannedRound("b", SURVEY, 2))).ledger()
    axes = plotting.plot_ledger(ledger)
    assert list(drawn(axes, "running epsilon")[1]) == [e.running.upper for e in ledger.entries]
    assert "exceeds the target" in axes.get_title()


def test_pyplot_is_not_touched() -> None:
    code = (
        "import sys; from shuffledp import PureLDP, Shuffle, plotting;"
        "plotting.plot_profile(Shuffle(PureLDP(1.0), 100)).figure.savefig(sys.stdout.buffer);"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert result.stdout.startswith(b"\x89PNG")


def test_too_few_points() -> None:
    with pytest.raises(InvalidParameter, match="users has 1 different values"):
        plotting.plot_epsilon_vs_users(PureLDP(2.0), [100], delta=1e-6)


def test_missing_matplotlib_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'shuffledp\[plot\]'"):
        plotting.plot_profile(SURVEY, [0.1, 0.2])
