"""Pictures: what is drawn is what is certified, and nothing global is touched."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shell import ok
from shuffledp import Accountant, Plan, PureLDP, RandomizedResponse, Shuffle, compare, plotting
from shuffledp.errors import InvalidParameter
from shuffledp.published import BOUNDS
from shuffledp.randomizers import Gaussian
from shuffledp.tools.plan import PlannedRound
from shuffledp.tools.style import NEUTRAL

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
    survey = Shuffle(PureLDP(1.0), 100)
    axes = plotting.plot_epsilon_vs_rounds(survey, [1, 10], delta=1e-6, published=True)
    assert drawn(axes, "certified")[1][0] == survey.get_epsilon(1e-6)
    assert axes.get_ylabel() == "epsilon"  # not all of it is certified
    names = {str(line.get_label()) for line in axes.lines}
    assert "Feldman et al. 2023, Renyi DP" in names
    assert not names & {bound.name for bound in BOUNDS if not bound.proven}
    theirs = [line for line in axes.lines if line.get_label() != "certified"]
    assert {line.get_color() for line in theirs} <= set(NEUTRAL)  # no colour of ours
    assert len({line.get_marker() for line in theirs}) == len(theirs)
    bound = next(bound for bound in BOUNDS if bound.name == "Feldman et al. 2021, Renyi DP")
    ys = drawn(axes, "Feldman et al. 2021, Renyi DP")[1]
    assert ys[1] == bound.epsilon(PureLDP(1.0), 100, 1.0, 10, 1e-6)


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


def test_several_profiles_in_one_picture() -> None:
    several = {"one": SURVEY, "three": Accountant().compose(SURVEY, 3)}
    axes = plotting.plot_profile(several, [0.1, 0.2])
    for name, each in several.items():
        assert list(drawn(axes, name)[1]) == [each.get_delta(x) for x in (0.1, 0.2)]
    legend = axes.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == [*several]
    with pytest.raises(InvalidParameter, match="give one or more, by name"):
        plotting.plot_profile({})


def test_a_profile_for_every_combination_of_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def draw(given: Any, **how: Any) -> Any:
        seen.append(given)
        assert how["title"].startswith("Privacy profiles, rr, ")
        assert "100 users" in how["title"] and how["title"].endswith("replace-one")
        return plotting.panels(1)[0]

    monkeypatch.setattr(plotting, "plot_profile", draw)
    lists = "--randomizer rr --k 4 --eps0 1 --users 100 --analysis clones,best --rounds 1,4"
    ok("plot", "profile", *lists.split(), "--out", str(tmp_path / "a.svg"))
    assert list(seen[0]) == [
        f"analysis {name}, {count}"
        for name in ("clones", "best")
        for count in ("1 round", "4 rounds")
    ]
    expected = Accountant().compose(Shuffle(RandomizedResponse(4, eps0=1.0), 100, "clones"), 4)
    assert seen[0]["analysis clones, 4 rounds"].get_epsilon(1e-6) == expected.get_epsilon(1e-6)


def test_ledger_against_its_target() -> None:
    ledger = Plan(0.5, 1e-6, (PlannedRound("a", SURVEY, 1), PlannedRound("b", SURVEY, 2))).ledger()
    axes = plotting.plot_ledger(ledger)
    assert list(drawn(axes, "running epsilon")[1]) == [e.running.upper for e in ledger.entries]
    assert "exceeds the target" in axes.get_title()


def test_ledger_without_a_finite_epsilon() -> None:
    ledger = Plan(0.5, 0.0, (PlannedRound("a", Shuffle(Gaussian(2.0), 100), 1),)).ledger()
    axes = plotting.plot_ledger(ledger)
    assert ledger.entries[0].running.upper == math.inf
    assert axes.get_ylim()[1] == pytest.approx(1.15 * 0.5)


def test_pyplot_is_not_touched() -> None:
    code = (
        "import sys; from shuffledp import PureLDP, Shuffle, plotting;"
        "plotting.plot_profile(Shuffle(PureLDP(1.0), 100)).figure.savefig(sys.stdout.buffer);"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert result.stdout.startswith(b"\x89PNG")


def test_too_few_points() -> None:
    with pytest.raises(InvalidParameter, match=r"users=\[100\] is one value; give two or more"):
        plotting.plot_epsilon_vs_users(PureLDP(2.0), [100], delta=1e-6)
    with pytest.raises(InvalidParameter, match="users=0 is below 1"):
        plotting.plot_epsilon_vs_users(PureLDP(2.0), [0, 100], delta=1e-6)
    with pytest.raises(InvalidParameter, match=r"rounds=\[\] is not a list of numbers"):
        plotting.plot_epsilon_vs_users(PureLDP(2.0), [10, 100], rounds=[], delta=1e-6)
    wrong: Any
    for wrong in ("ab", 3, [], np.array(1.0)):
        with pytest.raises(InvalidParameter, match=r"epsilons=.* is not a list of numbers"):
            plotting.plot_profile(SURVEY, wrong)
    with pytest.raises(InvalidParameter, match="epsilons='a' is not a number"):
        plotting.plot_profile(SURVEY, [1.0, "a"])  # type: ignore[list-item]


def test_what_cannot_be_drawn_is_named() -> None:
    with pytest.raises(InvalidParameter, match="3 has no profile"):
        plotting.plot_profile(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="family=3 does not make randomizers"):
        plotting.plot_amplification(3, [1, 2], [10], delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"delta=\[1e-06\] is not a number"):
        plotting.plot_epsilon_vs_rounds(SURVEY, [1, 2], delta=[1e-6])  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="3 is not a ledger"):
        plotting.plot_ledger(3)  # type: ignore[arg-type]


GIVEN_AWAY = RandomizedResponse(4, gamma=0.25)  # some outputs, to the strong adversary


def test_a_profile_with_infinite_epsilons_is_drawn_where_it_is_finite() -> None:
    axes = plotting.plot_profile(Shuffle(GIVEN_AWAY, 10, analysis="strong"))
    _, ys = drawn(axes, "certified")
    assert min(ys) > 0.4 and "strong" in axes.get_title()


def test_nothing_but_infinite_or_zero_epsilons_is_one_sentence() -> None:
    with pytest.raises(InvalidParameter, match="no value of the curve is positive and finite"):
        plotting.plot_epsilon_vs_users(GIVEN_AWAY, [2, 4], delta=1e-6, analysis="strong")
    with pytest.raises(InvalidParameter, match="no value of the curve is positive and finite"):
        plotting.plot_epsilon_vs_rounds(SURVEY, [1, 2], delta=1.0)
    with pytest.raises(InvalidParameter, match="no epsilon at delta=1 is positive and finite"):
        compare(SURVEY, 1, 1.0).plot()
    compared = compare(Shuffle(GIVEN_AWAY, 10, analysis="strong"), 1, 1e-9)
    assert {row.ratio for row in compared.rows} == {None} and "infinity" in str(compared)
    assert " infinity" in [text.get_text() for text in compared.plot().texts]


def test_a_picture_says_what_it_shows() -> None:
    axes = plotting.plot_epsilon_vs_users(PureLDP(2.0), [100, 1_000], delta=1e-6, rounds=[3])
    assert [text.get_text() for text in axes.texts] == ["3 rounds"]
    sampled: Any = {"sample_rate": 0.1, "sampling": "poisson", "analysis": "clones"}
    axes = plotting.plot_amplification(PureLDP, [1.0, 2.0], [100], delta=1e-6, **sampled)
    assert "0.1 of the users sampled (Poisson)" in axes.get_title().replace("\n", " ")
    assert "analysis clones" in axes.get_title().replace("\n", " ")
    assert "100 users" in [text.get_text() for text in axes.texts]
    title = compare(Shuffle(PureLDP(2.0), 100), 4, 1e-6).plot().get_title().replace("\n", " ")
    assert title == "4 shuffled rounds of 100 users, PureLDP(eps0=2.0), replace-one"


def test_names_of_a_plan_are_not_formulas_and_fit() -> None:
    names = ["cost $x^{ $", "x" * 200]
    plan = Plan(1.0, 1e-6, tuple(PlannedRound(name, SURVEY, 1) for name in names))
    axes = plotting.plot_ledger(plan.ledger())
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    assert max(len(label.get_text()) for label in axes.get_xticklabels()) < 60


def test_titles_fit_above_the_picture() -> None:
    long = Shuffle(GIVEN_AWAY, 1_000, sample_rate=0.25, sampling="poisson")
    axes = plotting.plot_profile(long, [0.1, 0.2])
    figure = axes.figure
    figure.draw_without_rendering()  # type: ignore[union-attr]
    box = axes.title.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


def test_missing_matplotlib_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'shuffledp\[plot\]'"):
        plotting.plot_profile(SURVEY, [0.1, 0.2])
