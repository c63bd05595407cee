"""Plans for disjoint populations: each composed by hand, in closed form and by enumeration."""

import html
import json
import math
import re
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from shell import run
from shuffledp import Plan, PureLDP, RandomizedResponse, Shuffle, plotting, rounded_up
from shuffledp.central import GaussianNoise
from shuffledp.errors import InvalidParameter
from shuffledp.tools.ledger import Ledger
from shuffledp.tools.plan import PlannedRound
from shuffledp.tools.signed import DISJOINT, document

#: With the squared shift of each entry: Gaussian mechanisms compose to one, whose is the sum.
GAUSSIAN = """
target = { epsilon = 1.2, delta = 1e-6 }
[[rounds]]
name = "counts"
mechanism = "gaussian"
sigma = 50
rounds = 12
[[rounds]]
name = "sums"
population = "A"
randomizer = "gaussian"
view = "aggregate"
sigma = 0.02
users = 1e6
rounds = 4
[[rounds]]
name = "release"
population = "B"
mechanism = "gaussian"
sigma = 10
sensitivity = 2
[[rounds]]
name = "more counts"
mechanism = "gaussian"
sigma = 20
[[rounds]]
name = "another release"
population = "B"
mechanism = "gaussian"
sigma = 10
"""
COUNTS, SUMS, RELEASE, MORE, ANOTHER = F(12, 2500), F(4, 400), F(4, 100), F(1, 400), F(1, 100)
#: The people whose loss is the running one, and all that they lose, squared shifts added up.
RUNNING = [
    COUNTS,
    COUNTS + SUMS,
    COUNTS + RELEASE,
    COUNTS + RELEASE + MORE,
    COUNTS + RELEASE + MORE + ANOTHER,
]
TOTALS = {"A": COUNTS + SUMS + MORE, "B": COUNTS + RELEASE + MORE + ANOTHER}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(GAUSSIAN)
    return path


def normal_delta(squared: F, epsilon: float) -> mp.mpf:
    """Of two normal laws whose means are so many deviations apart, squared."""
    shift = mp.sqrt(mp.mpf(squared.numerator) / squared.denominator)
    tails = [mp.ncdf(sign * shift / 2 - mp.mpf(epsilon) / shift) for sign in (1, -1)]
    return tails[0] - mp.exp(epsilon) * tails[1]


def test_each_population_in_closed_form(plan: Path) -> None:
    ledger = Plan.read(plan).ledger()
    with mp.workdps(40):
        for entry, squared in zip(ledger.entries, RUNNING, strict=True):
            lower, upper = entry.running
            assert normal_delta(squared, upper) <= 1e-6 <= normal_delta(squared, lower)
        assert [each.name for each in ledger.populations] == list(TOTALS)
        for population in ledger.populations:
            lower, upper = population.total
            squared = TOTALS[population.name]
            assert normal_delta(squared, upper) <= 1e-6 <= normal_delta(squared, lower)
    assert ledger.worst is not None and ledger.worst.name == "B"
    assert ledger.total == ledger.worst.total == ledger.entries[-1].running
    assert ledger.fits == (ledger.total.upper <= 1.2)


def joint(data: tuple[int, ...], flip: F) -> dict[tuple[int, ...], F]:
    """Counts of ones, as bits that are flipped at times: of users 0 and 1, of users 2 and 3, and
    once more of all of them."""
    laws = [ones(values, flip) for values in (data[:2], data[2:], data)]
    return {
        counts: math.prod((law[count] for law, count in zip(laws, counts, strict=True)), start=F(1))
        for counts in product(*(range(len(law)) for law in laws))
    }


def ones(values: tuple[int, ...], flip: F) -> list[F]:
    law = [F(1)]
    for value in values:
        p = 1 - flip if value else flip
        law = [
            (1 - p) * (law[i] if i < len(law) else 0) + p * (law[i - 1] if i else 0)
            for i in range(len(law) + 1)
        ]
    return law


def test_no_neighbours_lose_more_than_their_population() -> None:
    """Two populations of two users and a round of all four: every pair of neighbouring datasets,
    in fractions. Users of one population lose less than the composition of all three rounds."""
    flip, delta = F(1, 4), 0.05
    bit = RandomizedResponse(2, gamma=0.5)  # half of the answers are random
    two, four = Shuffle(bit, 2), Shuffle(bit, 4)
    parts = (
        PlannedRound("a", two, 1, "A"),
        PlannedRound("b", two, 1, "B"),
        PlannedRound("c", four),
    )
    ledger = Plan(3.0, delta, parts).ledger()
    composed = Plan(3.0, delta, tuple(PlannedRound(p.name, p.round) for p in parts)).ledger()
    assert ledger.total.upper < 0.9 * composed.total.lower
    alpha = F(math.exp(ledger.total.upper))
    reached = []
    for data in product((0, 1), repeat=4):
        law = joint(data, flip)
        for user in range(4):
            other = joint((*data[:user], 1 - data[user], *data[user + 1 :]), flip)
            excess = (mass - alpha * other[key] for key, mass in law.items())
            reached.append(sum((max(each, F(0)) for each in excess), F(0)))
    assert 0 < max(reached) <= F(delta * (1 + 1e-12))  # alpha was rounded


def test_the_worst_population_counts_and_nothing_is_composed() -> None:
    """Two surveys of everybody exceed a target which each of two halves meets."""
    survey = Shuffle(PureLDP(4.0), 5_000)
    alone = survey.get_epsilon(1e-6)
    named = [PlannedRound(name, survey, 1, name) for name in ("north", "south")]
    ledger = Plan(1.1 * alone, 1e-6, tuple(named)).ledger()
    assert ledger.total.upper == alone and ledger.fits
    assert f"fits the target ({1.1 * alone}, 1e-06) for every user {DISJOINT}" in ledger.verdict
    together = Plan(1.1 * alone, 1e-6, tuple(PlannedRound(p.name, survey) for p in named)).ledger()
    assert not together.fits and "exceeds" in together.verdict
    # one population is what everybody is
    same = Plan(1.1 * alone, 1e-6, tuple(PlannedRound(p.name, survey, 1, "x") for p in named))
    assert same.ledger().total == together.total


def test_who_exceeds_the_target_and_from_where_on() -> None:
    noise, much = GaussianNoise(10.0), GaussianNoise(2.0)
    parts = (
        PlannedRound("first", noise, 1, "A"),
        PlannedRound("second", much, 1, "B"),
        PlannedRound("third", much, 2),
        PlannedRound("fourth", noise, 1, "A"),
    )
    ledger = Plan(3.0, 1e-6, parts).ledger()
    a, b = ledger.populations
    assert (a.exceeded_from, b.exceeded_from) == ("third", "third") and not (a.fits or b.fits)
    assert "in the population 'B', from 'third' on" in ledger.verdict
    assert not ledger.fits and ledger.entries[0].fits and ledger.entries[1].fits


def test_names_of_populations(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    for wrong, said in (
        ('""', "population='' is not a line of text"),
        ('" "', "population=' ' is not a line of text"),
        (r'"a\nb"', "is not a line of text"),
        ("3", "population=3 is not text; put it in quotes"),
        ('["A", "B"]', "is not text; put it in quotes"),
        ("true", "population=True is not text"),
        ('"Everybody"', "leave the population out"),
        ('"b"', "population='B' looks like 'b'"),
        ('" B"', "population='B' looks like ' B'"),
        ('"\\uff22"', "looks like"),
    ):
        path.write_text(GAUSSIAN.replace('"A"', wrong))
        with pytest.raises(InvalidParameter) as caught:
            Plan.read(path)
        assert said in str(caught.value) and "\n" not in str(caught.value), wrong
    result = run("account", str(path))
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    with pytest.raises(InvalidParameter, match="population=3 is not a line of text"):
        PlannedRound("a", GaussianNoise(1.0), 1, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["text", "markdown", "html"])
def test_documents_name_the_assumption(plan: Path, kind: str) -> None:
    ledger = Plan.read(plan).ledger(rtol=0.1)
    shown = re.sub(r"\\([\\`*_\[\]<>|#])", r"\1", getattr(document(ledger), kind)())
    flat = " ".join(html.unescape(shown).split())
    assert f" and delta = 1e-06 for every user {DISJOINT}." in flat
    for text in (DISJOINT, "neighbouring datasets have the same users in the same populations"):
        assert text in flat
    assert "in the same populations" not in " ".join(str(document(alone())).split())


def alone() -> Ledger:
    """Without populations."""
    return Plan(1.0, 1e-6, (PlannedRound("a", GaussianNoise(10.0)),)).ledger()


def test_reports_and_pictures_have_every_population(plan: Path) -> None:
    ledger = Plan.read(plan).ledger()
    report = json.loads(run("account", str(plan), "--json").stdout)
    assert [each["name"] for each in report["populations"]] == ["A", "B"]
    assert [each["population"] for each in report["entries"]] == [None, "A", "B", None, "B"]
    assert (report["lower"], report["upper"]) == tuple(ledger.total)
    uppers = [each["upper"] for each in report["populations"]]
    assert uppers == [each.total.upper for each in ledger.populations]
    assert [row["population"] for row in ledger.records()] == [None, "A", "B", None, "B"]
    assert f" A {rounded_up(uppers[0])} " in " ".join(str(ledger).split())
    lines = {line.get_label(): line for line in plotting.plot_ledger(ledger).lines}
    assert np.array_equal(lines["A"].get_xdata(), [1, 2, 4])
    assert np.array_equal(lines["B"].get_xdata(), [1, 3, 4, 5])
    assert np.asarray(lines["B"].get_ydata())[-1] == ledger.total.upper
    assert DISJOINT in plotting.plot_ledger(ledger).get_title().replace("\n", " ")
    assert alone().populations == [] and alone().total == alone().entries[-1].running


def test_an_open_verdict_reports_the_worst_population(tmp_path: Path) -> None:
    """Not that of the last entry, whose people lose less than half as much."""
    entries = "".join(
        f'[[rounds]]\npopulation = "{name}"\nrandomizer = "rr"\nk = 4\neps0 = {eps0}\n'
        "users = 1000\nrounds = 3\n"
        for name, eps0 in (("A", 2.0), ("B", 0.5))
    )
    path = tmp_path / "plan.toml"

    def report(target: float) -> tuple[int, dict[str, Any]]:
        path.write_text(f"target = {{ epsilon = {target!r}, delta = 1e-6 }}\n{entries}")
        found = run("account", str(path), "--json", "--rtol", "0.05")
        return found.returncode, json.loads(found.stdout)

    _, plan = report(1.0)
    code, between = report((plan["lower"] + plan["upper"]) / 2)
    assert code == 3
    bounds = between["error"]["bounds"]
    assert (bounds["lower"], bounds["upper"]) == (between["lower"], between["upper"])
