"""Results as CSV, as data frames and as HTML: complete, escaped, and readable for all."""

import csv
import math
import re
import sys
import types
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shell import ok, run
from shuffledp import (
    Accountant,
    Aggregate,
    FiniteRandomizer,
    Gaussian,
    Plan,
    PureLDP,
    RandomAllocation,
    RandomizedResponse,
    SampleThreshold,
    Shuffle,
    UnaryEncoding,
    adversaries,
    audit,
    calibrate,
    choose,
    compare,
    simulate,
    sweep,
    verify,
)
from shuffledp._support.tables import CaptionedTable, html_table, latex_table
from shuffledp.bounds import Bounds
from shuffledp.published import feldman2021
from shuffledp.tools.plan import PlannedRound

SURVEY = Shuffle(PureLDP(2.0), 1_000)
RESPONSE = RandomizedResponse(k=2, eps0=1.0)


def ledger(delta: float = 1e-6) -> Any:
    other = Shuffle(PureLDP(1.0), 100, sample_rate=0.5) if delta else Shuffle(Gaussian(2.0), 100)
    return Plan(9.0, delta, (PlannedRound("a", SURVEY, 2), PlannedRound("b", other, 1))).ledger()


RESULTS: dict[str, Callable[[], Any]] = {
    "compare": cache(lambda: compare(Shuffle(PureLDP(2.0), 10), 1, 1e-6)),
    "adversaries": cache(lambda: adversaries(RESPONSE, 10, 1e-6)),
    "ledger": cache(ledger),
    "choices": cache(
        lambda: choose(100, task="vector", dimension=2, view="shuffle", epsilon=1.0, delta=1e-3)
    ),
    "sweep": lambda: sweep({"users": [10, 20]}, eps0=1.0, delta=1e-6, jobs=1),
    "verify": lambda: verify(RESPONSE, 3),
    "audit": lambda: audit(RESPONSE, trials=100),
    "simulate": lambda: simulate(Shuffle(RESPONSE, 3), [0, 1, 1]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_csv_has_every_row_in_full_precision(name: str, tmp_path: Path) -> None:
    found = RESULTS[name]()
    rows = list(csv.DictReader(found.to_csv(tmp_path / "rows.csv").splitlines()))
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8") == found.to_csv()
    records = found.records()
    assert len(rows) == len(records) > 0
    for row, record in zip(rows, records, strict=True):
        assert list(row) == list(found.columns) == list(record)
        for key, value in record.items():
            if isinstance(value, float):
                assert float(row[key]) == value
            else:
                assert row[key] == ("" if value is None else str(value))


@pytest.mark.parametrize("name", RESULTS)
def test_data_frames(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas need not be there; the arguments are those of its documentation."""
    found, told = RESULTS[name](), []
    frames = types.ModuleType("pandas")
    vars(frames)["DataFrame"] = lambda data, columns: told.append((data, columns))
    monkeypatch.setitem(sys.modules, "pandas", frames)
    found.to_pandas()
    assert told == [(found.records(), list(found.columns))]
    monkeypatch.setitem(sys.modules, "pandas", None)
    said = "to_pandas needs pandas, which is not installed; run pip install pandas."
    with pytest.raises(ImportError, match=said):
        found.to_pandas()


def test_what_the_rows_say() -> None:
    compared = RESULTS["compare"]()
    ours, *others = compared.records()
    assert ours["epsilon"] == compared.ours.upper and ours["ratio"] == 1.0
    assert {row["bound"] for row in others} == {row.name for row in compared.rows}
    assert {row["composition"] for row in compared.records()} == {None}  # of a single round
    *_, attained = RESULTS["adversaries"]().records()
    assert attained["epsilon_upper"] is None and attained["epsilon_lower"] > 0
    found = RESULTS["ledger"]()
    first, second = found.records()
    assert (first["users"], first["rounds"], first["fits"]) == (1_000, 2, True)
    assert (second["users"], second["sample_rate"]) == (100, 0.5)
    assert second["epsilon_upper"] == found.entries[1].running.upper


def test_infinity_and_nothing_in_csv() -> None:
    text = ledger(0.0).to_csv()
    assert text.splitlines()[2].split(",")[-9:-4] == ["inf", "inf", "-inf", "False", ""]
    nobody = choose(10, task="mean", view="aggregate", epsilon=1e-9, delta=0.0)
    assert not nobody.records() and nobody.to_csv() == ",".join(nobody.columns) + "\n"


class Cells(HTMLParser):
    """The tags and texts of a table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def poll(users: int) -> Shuffle:
    return Shuffle(PureLDP(1.0), users)


def loud(eps0: float) -> Shuffle:
    return Shuffle(PureLDP(eps0), 10)


SHOWN: dict[str, Callable[[], Any]] = {
    **RESULTS,
    "bounds": lambda: SURVEY.epsilon_bounds(1e-6),
    "many bounds": lambda: SURVEY.epsilon_bounds([1e-6, 1e-9]),
    "infinite bounds": lambda: Bounds(0.5, math.inf),
    "shuffle": lambda: SURVEY,
    "sampled": lambda: Shuffle(PureLDP(2.0), 1_000, sample_rate=0.5, colluding=3),
    "aggregate": lambda: Aggregate(UnaryEncoding(k=4, eps0=1.0), 100),
    "threshold": lambda: SampleThreshold(0.1, 20),
    "matrix": lambda: Shuffle(FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]]), 10),
    "calibration": lambda: calibrate("users", poll, epsilon=1.0, delta=1e-6),
    "last value": lambda: calibrate("eps0", loud, epsilon=300.0, delta=0.5),
    "accountant": lambda: Accountant().compose(SURVEY, 3),
}


@pytest.mark.parametrize("name", SHOWN)
def test_html_is_well_formed_and_accessible(name: str) -> None:
    table = Cells(SHOWN[name]()._repr_html_())
    assert table.tags[0][0] == "table" and table.tags[1][0] == "caption"
    assert len(table.texts[0]) > 5  # the caption
    heads = [attributes for tag, attributes in table.tags if tag == "th"]
    assert heads and all(head.get("scope") in ("col", "row") for head in heads)
    assert "nan" not in table.texts


def test_html_is_escaped() -> None:
    planned = PlannedRound("<script>alert('x')</script> & co", SURVEY, 1)
    text = Plan(9.0, 1e-6, (planned,)).ledger()._repr_html_()
    assert "<script" not in text
    assert "<script>alert('x')</script> & co" in "".join(Cells(text).texts)
    assert Cells(html_table('"<&', ["<"], [["&"]])).texts == ['"<&', "<", "&"]


def test_html_rounds_outwards_and_says_what_it_leaves_out() -> None:
    assert "0.3333333" in Bounds(1 / 3, 2 / 3)._repr_html_()
    assert "0.6666667" in Bounds(1 / 3, 2 / 3)._repr_html_()
    many = Bounds(np.zeros(1_000), np.ones(1_000))._repr_html_()
    assert "the first 100 of 1,000" in many and many.count("<tr>") == 101
    found = simulate(Shuffle(RandomizedResponse(100, eps0=8.0), 100), list(range(100)))
    assert "20 of 100, those with the largest true values" in found._repr_html_()


#: How papers print names of columns, and the names.
WRITTEN = {r"\varepsilon": "epsilon", r"\varepsilon_0": "eps0", r"\delta": "delta", "n": "users"}
WRITTEN |= {rf"\varepsilon_{{\mathrm{{{side}}}}}": f"epsilon_{side}" for side in ("lower", "upper")}


def latex_cells(text: str) -> list[list[str]]:
    """The rows of a table of LaTeX, as they are printed: an own reading of its escapes."""
    shown = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^"}
    shown |= {"textless": "<", "textgreater": ">", "textbar": "|"}
    text = re.sub(r"~\\cite\{[\w,]+\}", "", text)
    rows = []
    for line in text.splitlines():
        if not line.endswith(r" \\"):
            continue
        assert not re.search(r"(?<!\\)[#%_~^]", re.sub(r"(?<!\\)\$[^$]*\$", "", line)), line
        cells = re.split(r"(?<!\\) & ", line.strip().removesuffix(r" \\"))
        cells = [re.sub(r"\$(?:([\d.]+) \\cdot )?10\^\{(-?\d+)\}\$", r"\1e\2", c) for c in cells]
        cells = [c.replace(r"$\infty$", "infinity") for c in cells]
        cells = [re.sub(r"\$([^$]+)\$", lambda m: WRITTEN.get(m[1], m[1]), c) for c in cells]
        named = r"\\([a-z]+)\{\}|\\([{}$&#_%])"
        rows.append([re.sub(named, lambda m: m[2] or shown[m[1]], c) for c in cells])
    return rows


@pytest.mark.parametrize("name", RESULTS)
def test_latex_and_markdown_have_the_table_that_people_read(name: str) -> None:
    found = RESULTS[name]()
    _, head, rows, _ = found.as_table()
    latex = found.to_latex()
    assert latex.count(r"\begin{") == latex.count(r"\end{") == 2
    kinds = re.search(r"\\begin\{tabular\}\{([lr]+)\}", latex)
    assert kinds is not None and len(kinds[1]) == len(head)

    def numbers(table: Any) -> list[list[Any]]:
        return [[number(cell) for cell in row] for row in table]

    assert numbers(latex_cells(latex)) == numbers([head, *rows])
    if name != "ledger":  # whose Markdown is the document to sign
        lines = [line for line in found.to_markdown().splitlines() if line.startswith("|")]
        assert len(lines) == 2 + len(rows)
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(head) + 1}


def number(cell: str) -> Any:
    """A number, or a text with its numbers: 1e-06 and e-6 are the same."""
    return re.sub(r"\b1?e-0*(\d+)\b", r"e-\1", cell)


def test_latex_escapes_what_it_has_to() -> None:
    hostile = [r"\input{x} 50% & #1_$~^", "a<b>c|d", "infinity", "2.5e-07", "{}"]
    text = latex_table(CaptionedTable("100 % of _all_ {x}", ["a"] * 5, [hostile]))
    assert latex_cells(text)[1] == [*hostile[:3], "2.5e-7", "{}"]
    assert r"\caption{100 \% of \_all\_ \{x\}}" in text and r"\input" not in text


def test_latex_typesets_names_as_papers_print_them() -> None:
    head = ["epsilon_lower", "users", "sample_rate", "max_eps0", "epsilon, at least", "k", "sigma"]
    text = latex_table(CaptionedTable("eps0=4, delta = 1e-06", head, [["1"] * len(head)]))
    assert (
        r"    $\varepsilon_{\mathrm{lower}}$ & $n$ & sample\_rate & max\_eps0 & "
        r"$\varepsilon$, at least & $k$ & $\sigma$ \\" in text.splitlines()
    )
    assert r"\caption{$\varepsilon_0$=4, $\delta$ = $10^{-6}$}" in text
    compared = compare(Shuffle(PureLDP(0.4), 10), 2, 1e-6).to_latex()
    assert r"bound & $\varepsilon$ & ratio & composition \\" in compared


def test_a_comparison_cites_the_entries_of_its_bibliography() -> None:
    thrice = compare(Shuffle(PureLDP(0.4), 1_000), 3, 1e-6)
    response = compare(Shuffle(RandomizedResponse(3, eps0=1.0), 100), 1, 1e-6)
    for compared in (thrice, response, compare(RandomAllocation(1.0, 10), 1, 1e-6)):
        cited = re.findall(r"\\cite\{([\w,]+)\}", compared.to_latex())
        entries = re.findall(r"^@\w+\{(\w+),$", compared.to_bibtex(), re.MULTILINE)
        assert {key for keys in cited for key in keys.split(",")} == set(entries) > {"shuffledp"}
    once, often = compare(Shuffle(PureLDP(0.4), 1_000), 1, 1e-6).to_bibtex(), thrice.to_bibtex()
    assert "Dwork" not in once and "Dwork" in often  # nobody composes one round
    assert "zhu2022optimal" not in once and "zhu2022optimal" in often
    swept = sweep({"rounds": [1, 3]}, eps0=0.4, users=100, delta=1e-6, jobs=1)
    assert "zhu2022optimal" in swept.to_bibtex()
    sampled = compare(Shuffle(PureLDP(0.4), 200, sample_rate=0.1), 1, 1e-6).to_bibtex()
    assert "Gaboardi" in sampled and "Gaboardi" not in often and "Dwork" not in sampled
    for row in response.rows:  # what is no bound says so
        name = row.name.replace("_", r"\_")
        warned = f"{name}~" if "not a bound" in name else "(not a bound)~"
        assert row.epsilon is None or not row.reason or warned in response.to_latex()
    assert "Poisson batches (not a bound) &" in compared.to_latex()


@pytest.mark.parametrize(("rounds", "theorem"), [(2, "basic theorem"), (500, "advanced theorem")])
def test_several_rounds_say_how_each_bound_was_composed(rounds: int, theorem: str) -> None:
    """The smaller one of the two theorems is named, beside what does without them."""
    compared = compare(Shuffle(PureLDP(0.4), 1_000), rounds, 1e-6)
    ours, *others = compared.records()
    composed = {row["bound"]: row["composition"] for row in others}
    assert ours["composition"] == "exact numerical"
    assert composed["Feldman et al. 2021, numerical"] == theorem
    assert composed["Feldman et al. 2021, Renyi DP"] == "Renyi DP"
    assert composed["Girgis et al. 2021"] is None  # does not apply
    once = feldman2021.numerical(0.4, 1_000, 1e-6 / rounds).upper
    often = next(
        row["epsilon"] for row in others if row["bound"] == "Feldman et al. 2021, numerical"
    )
    assert (often == rounds * once) == (theorem == "basic theorem")
    _, head, rows, _ = compared.as_table()
    assert head[-1] == "composition" and all(row[-1] for row in rows)
    assert f"  {theorem}" in str(compared) and theorem in compared.to_latex()


def test_several_rounds_of_a_sample_say_how_each_bound_was_composed() -> None:
    sampled = compare(Shuffle(PureLDP(0.4), 200, sample_rate=0.1), 2, 1e-6).rows
    ways = {row.name: row.composition for row in sampled}
    assert ways["Girgis et al. 2021"] == "Renyi DP"
    assert ways["Feldman et al. 2023, amplified by sampling"] == "exact numerical"


def test_a_bracket_is_rounded_outwards_in_every_form() -> None:
    table = sweep({"users": [100, 1_000]}, eps0=1.0, delta=1e-6, jobs=1)
    for row, cells in zip(table, latex_cells(table.to_latex())[1:], strict=True):
        low, high = map(float, cells[-2:])
        assert low <= row["epsilon_lower"] <= row["epsilon_upper"] <= high


@pytest.mark.parametrize("form", ["markdown", "latex", "bibtex"])
def test_tables_for_papers_from_the_shell(form: str) -> None:
    asked = ["--eps0", "2", "--delta", "1e-6"]
    compared = RESULTS["compare"]()
    assert ok("compare", *asked, "--users", "10", f"--{form}") == getattr(compared, f"to_{form}")()
    table = sweep({"users": [10, 20]}, eps0=2.0, delta=1e-6, jobs=1)
    said = ok("sweep", *asked, "--users", "10,20", "--jobs", "1", f"--{form}")
    assert said == getattr(table, f"to_{form}")()


@pytest.mark.parametrize(
    ("command", "first"),
    [
        (
            "compare --eps0 1 --users 10 --delta 1e-6",
            "bound,epsilon,ratio,source,reason,composition",
        ),
        (
            "adversaries --k 2 --eps0 1 --users 10 --delta 1e-6",
            "analysis,epsilon_lower,epsilon_upper,adversary",
        ),
        (
            "account examples/plan.toml --rtol 0.1",
            "entry,rounds,users,sample_rate,randomizer,analysis,epsilon_lower,epsilon_upper,"
            "remaining,fits,population,at_most,start,every,last",
        ),
    ],
)
def test_csv_from_the_shell(command: str, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert ok(*command.split(), "--csv").splitlines()[0] == first
    both = run(*command.split(), "--csv", "--json")
    assert both.returncode == 2 and "are two ways to print one" in both.stderr
