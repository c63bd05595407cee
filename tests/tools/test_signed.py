"""The document of a plan: complete, in every format, and with what it was made from."""

import hashlib
import html
import json
import math
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import shuffledp
from shell import ok, run
from shuffledp import Accountant, Plan, PureLDP, Shuffle, rounded_up
from shuffledp._support.extras import MissingExtra
from shuffledp.central import GaussianNoise, LaplaceNoise
from shuffledp.errors import InvalidParameter
from shuffledp.mechanisms import ApproximateDP, GivenPLD
from shuffledp.tools import document as documents
from shuffledp.tools.dates import Duration, Schedule
from shuffledp.tools.document import DocumentDetails, known_terms
from shuffledp.tools.ledger import Ledger
from shuffledp.tools.periods import PeriodBudget
from shuffledp.tools.plan import PlannedRound
from shuffledp.tools.signed import document

PLAN = """
target = { epsilon = 1, delta = 1e-6 }
[[rounds]]
name = "poll *|* <1>"
randomizer = "pure-ldp"
eps0 = 2
users = 1e4
rounds = 3
[[rounds]]
mechanism = "gaussian"
sigma = 50.0
sensitivity = 2
rounds = 4
[[rounds]]
mechanism = "laplace"
scale = 30
[[rounds]]
mechanism = "approximate-dp"
epsilon = 0.01
delta = 1e-10
[[rounds]]
mechanism = "pld"
file = "step.json"
"""
ROUGHLY = ("--rtol", "0.3")
STEP = '{"losses": [0.1, -0.1], "masses": [0.525, 0.475], "symmetric": true}'


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "step.json").write_text(STEP)
    (tmp_path / "twice.json").write_text(STEP.replace("{", '{"masses": [1.0], ', 1))
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def test_central_mechanisms_beside_rounds(plan: Path) -> None:
    account = Accountant().compose(Shuffle(PureLDP(2.0), 10_000), 3)
    account.compose(GaussianNoise(50.0, 2.0), 4).compose(LaplaceNoise(30.0))
    account.compose(ApproximateDP(0.01, 1e-10))
    account.compose(GivenPLD([0.1, -0.1], [0.525, 0.475], symmetric=True))
    assert [(each.round, each.rounds) for each in Plan.read(plan).rounds] == list(account.rounds)
    running = Plan.read(plan).ledger(rtol=0.3).entries[-1].running
    assert running == account.epsilon_bounds(1e-6, rtol=0.3)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '"gaussian"',
            '"gausian"',
            r"rounds\[2\]: mechanism='gausian' is unknown; choose gaussian",
        ),
        ("sigma = 50.0", "", r"rounds\[2\]: mechanism gaussian needs sigma"),
        ("sigma = 50.0", "sigma = 0", r"rounds\[2\]: sigma=0 is outside"),
        ("sigma = 50.0", "sigma = 50\nusers = 3", r"rounds\[2\] has the unknown key 'users'"),
        ("scale = 30", "scale = 'x'", r"rounds\[3\]: scale='x' is not a number"),
        ("step.json", "none.json", r"rounds\[5\]: PLD .*none.json cannot be read"),
        ("step.json", "plan.toml", r"rounds\[5\]: PLD .*plan.toml is not JSON with losses"),
        ("step.json", "twice.json", r"PLD .*twice.json: the key 'masses' is given 2 times; give"),
        ("rounds = 4", "count = 4", r"rounds\[2\] has the unknown key 'count'; .* rounds\?"),
    ],
)
def test_what_is_wrong_is_said_with_the_key(plan: Path, old: str, new: str, said: str) -> None:
    assert old in PLAN
    plan.write_text(PLAN.replace(old, new, 1))
    result = run("account", str(plan))
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert re.search(said, result.stderr), result.stderr


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    folder = tmp_path_factory.mktemp("plan")
    (folder / "step.json").write_text(STEP)
    (folder / "plan.toml").write_text(PLAN)
    return Plan.read(folder / "plan.toml").ledger(rtol=0.3)


@pytest.mark.parametrize("kind", ["text", "markdown", "html"])
def test_the_document_says_all_of_every_entry(ledger: Ledger, kind: str) -> None:
    shown = getattr(document(ledger, date="31 January 2026"), kind)()
    if kind == "markdown":
        shown = re.sub(r"\\([\\`*_\[\]<>|#])", r"\1", shown)
    flat = " ".join((html.unescape(shown) if kind == "html" else shown).split())
    upper = rounded_up(ledger.entries[-1].running.upper)
    claim = f"are differentially private with epsilon = {upper} and delta = 1e-06."
    assert f"Under all assumptions of this document, all entries together {claim}" in flat
    assert "neighbouring datasets differ in the value of one user" in flat
    for entry in ledger.entries:
        assert f"Entry: {entry.planned.name}" in flat
        analysis = entry.planned.round.explained
        for text in (analysis.adversary, analysis.theorem, *entry.planned.round.assumptions):
            assert text in flat
    for text in ("31 January 2026", f"shuffledp {shuffledp.__version__}"):
        assert text in flat
    for text in (PLAN, STEP):
        assert f"sha256 {hashlib.sha256(text.encode()).hexdigest()}" in flat


def test_names_cannot_break_the_table(ledger: Ledger) -> None:
    line = next(line for line in ledger.to_markdown().splitlines() if "poll" in line)
    assert line.startswith("| poll \\*\\|\\* \\<1\\> | 3 | 10,000 |")
    assert '<th scope="row">poll *|* &lt;1&gt;</th>' in ledger.to_html()


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.html", "<!DOCTYPE"), ("a.json", '{"schema')],
)
def test_out_writes_what_the_name_says(plan: Path, name: str, begins: str) -> None:
    out = plan.parent / name
    assert ok("account", str(plan), *ROUGHLY, "--out", str(out)) == ""
    assert out.read_text().startswith(begins)
    if name.endswith("json"):
        report = json.loads(out.read_text())
        assert [item["name"] for item in report["inputs"]] == ["plan.toml", "step.json"]
        assert report["entries"][1]["parameters"] == {"sigma": 50, "sensitivity": 2}
        step = report["entries"][4]["parameters"]
        assert step["losses_and_masses"]["shape"] == [2, 2]


def test_what_does_not_go_together(plan: Path) -> None:
    assert "give one" in run("account", str(plan), *ROUGHLY, "--markdown", "--html").stderr
    assert (
        "cannot be written"
        in run("account", str(plan), *ROUGHLY, "--out", "/no/folder/a.md").stderr
    )
    assert "not a line of text" in run("account", str(plan), *ROUGHLY, "--date", "a\nb").stderr


def test_no_epsilon_is_said_in_words() -> None:
    everything = PlannedRound("all", ApproximateDP(0.1, 0.5), 1)
    shown = Plan(1.0, 1e-6, (everything,)).ledger().to_markdown()
    assert "No epsilon is certified at delta = 1e-06" in shown and "exceeds the target" in shown
    assert "<html" in Plan(1.0, 1e-6, (everything,)).ledger().to_html("today")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "account.pdf"), ".pdf is no known format; use .txt, .md"),
        (
            ("--out", "account.json", "--markdown"),
            "leave --markdown out, or let the name end in .md",
        ),
    ],
)
def test_the_end_of_a_name_says_what_is_written(
    plan: Path, options: tuple[str, ...], said: str
) -> None:
    result = run("account", str(plan), *options)
    assert result.returncode == 2 and said in result.stderr
    assert not Path(options[1]).exists()


DETAILS = """
[document]
title = "Poll <2027> & *more*"
owner = "Team | A"
purpose = "Which features are used"
date = 2027-01-31
signatures = ["Ada Byron, officer", "<b>Bob</b>"]
"""


def test_details_of_the_plan_and_of_the_command(plan: Path) -> None:
    """Those of the command replace those of the plan; all are escaped, and the rest is blank."""
    plan.write_text(PLAN + DETAILS)
    page = ok("account", str(plan), *ROUGHLY, "--html", "--owner", "B <c>", "--signature", "Eve")
    assert "<title>Poll &lt;2027&gt; &amp; *more*</title>" in page
    assert "<dt>owner</dt><dd>B &lt;c&gt;</dd>" in page and "Team" not in page
    assert "<dt>date</dt><dd>2027-01-31</dd>" in page
    assert re.search(r"<dt>version</dt><dd>\.{20,}</dd>", page)
    assert '<th scope="row">Eve</th>' in page and "Bob" not in page
    said = ok("account", str(plan), *ROUGHLY, "--markdown", "--document-version", "1.0")
    assert said.startswith("# Poll \\<2027\\> & \\*more\\*\n")
    assert "* **owner**: Team \\| A\n" in said and "* **version**: 1.0\n" in said
    assert "| \\<b\\>Bob\\</b\\> | ....." in said
    report = json.loads(ok("account", str(plan), *ROUGHLY, "--json"))
    assert report["document"] == {
        "title": "Poll <2027> & *more*",
        "owner": "Team | A",
        "purpose": "Which features are used",
        "date": "2027-01-31",
        "version": None,
        "signatures": ["Ada Byron, officer", "<b>Bob</b>"],
    }


def test_whoever_is_trusted_signs_for_it(ledger: Ledger) -> None:
    signatures = document(ledger).sections[-1]
    assert signatures.heading == "Signatures" and signatures.table is not None
    roles = [row[0] for row in signatures.table[1]]
    assert roles == ["Controller", "Operator of the shuffler", "Curator"]
    assert all(set("".join(row[1:])) == {"."} for row in signatures.table[1])
    assert "Who signs as operator of the shuffler or curator confirms" in signatures.paragraphs[0]


def test_a_plan_that_exceeds_its_target_says_so_beside_the_signatures() -> None:
    small = _small()
    assert len(document(small).sections[-1].paragraphs) == 2
    poll = small.entries[0].planned
    week = PeriodBudget(1e-4, 1e-6, any=Duration(1, "week"))
    dated = PlannedRound("poll", poll.round, schedule=Schedule(date(2027, 1, 4)))
    over = Plan(1e-3, 1e-6, (dated,), budgets=(week,)).ledger(rtol=0.1)
    upper = rounded_up(over.total.upper)
    assert document(over).sections[-1].paragraphs[2:] == [
        f"As analyzed, this plan exceeds its target: epsilon is {upper}, the target is 0.001, both "
        "at delta = 1e-06.",
        f"As analyzed, this plan exceeds its budget for any 1 week: epsilon is {upper}, the budget "
        "is 0.0001, both at delta = 1e-06.",
    ]


def test_the_factor_of_the_epsilon_is_rounded_up() -> None:
    ledger = _small()
    printed = float(rounded_up(ledger.total.upper))
    found = re.search(r"at most e\^epsilon = (\S+) times", document(ledger).text())
    factor = float(found[1]) if found else 0.0
    assert math.exp(printed) <= factor <= math.exp(printed) * 1.001


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('owner = "Team | A"', "owner = 3", r"document\.owner=3 is not a line of text"),
        ('owner = "Team | A"', "owned = 3", r"document has the unknown key 'owned'"),
        ('["Ada Byron, officer", "<b>Bob</b>"]', '"Bob"', r"document\.signatures='Bob' is not a"),
        ('"<b>Bob</b>"', '" "', r"document\.signatures=' ' is not a line of text"),
    ],
)
def test_wrong_details(plan: Path, old: str, new: str, said: str) -> None:
    assert old in DETAILS
    plan.write_text(PLAN + DETAILS.replace(old, new))
    with pytest.raises(InvalidParameter, match=said):
        Plan.read(plan)


def test_the_glossary_has_the_terms_that_are_used_and_no_others(ledger: Ledger) -> None:
    simple = PlannedRound("noise", GaussianNoise(9.0))
    for each in (ledger, Plan(1.0, 1e-6, (simple,)).ledger()):
        whole = document(each)
        (glossary,) = (s for s in whole.sections if s.heading == "Glossary")
        shown = " ".join(t for s in whole.sections if s is not glossary for t in s.texts)
        shown += " " + " ".join(meaning for _, meaning in glossary.facts)
        explained = dict(glossary.facts)
        for name, term in known_terms().items():
            assert (name in explained) == bool(re.search(term["pattern"], shown)), name
            assert explained.get(name, term["meaning"]) == term["meaning"]
        assert list(explained) == sorted(explained, key=str.lower)
    # terms that a reader cannot be expected to know
    for word in ("epsilon", "delta", "analyzed pair", "hockey-stick divergence"):
        assert word in explained
    assert "LDP" not in explained and "blanket" not in explained


def test_proofs_are_cited_by_title_version_and_source(ledger: Ledger) -> None:
    (sources,) = (s for s in document(ledger).sections if s.heading == "Sources")
    proofs = dict(sources.facts)["proofs"]
    version = shuffledp.__version__
    assert f"shuffledp {version}" in proofs and f"shuffledp-{version}.tar.gz" in proofs
    assert '"The clone pairs"' in proofs
    entries = [s for s in document(ledger).sections if s.heading.startswith("Entry")]
    assert not any("docs/" in text for section in entries for text in section.texts)


def test_text_needs_no_jinja2(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    documents._template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "Guarantee" in document(ledger).text()
    with pytest.raises(MissingExtra, match=r"need jinja2.*pip install 'shuffledp\[documents\]'"):
        document(ledger).html()


def test_details_are_lines_of_text() -> None:
    with pytest.raises(InvalidParameter, match="title=None is not a line of text"):
        DocumentDetails(title=None)  # type: ignore[arg-type]
    assert DocumentDetails(owner="a").updated(owner=None, title="b").owner == "a"


def test_the_sources_identify_the_program_that_ran() -> None:
    """As a shell would compute it, in the folder of the package."""
    folder = Path(shuffledp.__file__).parent
    command = "find . -name '*.py' | LC_ALL=C sort | xargs cat | sha256sum"
    found = subprocess.run(command, cwd=folder, shell=True, capture_output=True, text=True)
    assert f"Python sources with sha256 {found.stdout.split()[0]}; Python" in _small().to_markdown()


def test_what_is_not_in_the_plan_is_named() -> None:
    assert "given separately" not in _small().to_markdown()
    assert "* **given separately**: date, owner" in _small().to_markdown("2026-01-31", owner="me")
    assert "relative width of 0.1 if" in _small().to_markdown()


def test_what_is_below_the_target_is_not_left_over_for_other_work() -> None:
    """With all of delta, much less epsilon than is left exceeds the target."""
    fits = _small()
    assert fits.entries[0].remaining > 0
    more = PlannedRound("more", ApproximateDP(fits.entries[0].remaining / 2, fits.delta))
    entries = (*(entry.planned for entry in fits.entries), more)
    assert not Plan(fits.epsilon, fits.delta, entries).ledger(rtol=0.1).fits
    assert "is no reserve for other work" in fits.to_markdown()


def test_what_is_signed_is_repeated_above_the_signatures() -> None:
    text = _small().to_markdown("2026-01-31", title="Polls", version="2")
    signed = text[text.index("## Signatures") :]
    claim = text[text.index("## Guarantee") :].splitlines()[2]
    assert f"document: Polls; date: 2026-01-31; version: 2; guarantee: {claim}" in signed


def test_all_rounds_of_a_population_are_not_all_rounds_of_the_plan() -> None:
    """The worst population has all of its rounds within a year, the other has not."""
    rounds = [
        PlannedRound(name, Shuffle(PureLDP(eps0), 1000), population=name, schedule=schedule)
        for name, eps0, schedule in (
            ("short", 2.0, Schedule(date(2027, 1, 4), Duration(1, "week"), rounds=3)),
            ("long", 0.1, Schedule(date(2027, 1, 4), Duration(1, "year"), rounds=3)),
        )
    ]
    budget = PeriodBudget(9.0, 1e-6, any=Duration(12, "month"))
    ledger = Plan(9.0, 1e-6, tuple(rounds), budgets=(budget,)).ledger(rtol=0.1)
    assert ledger.periods[0].population == "short" and ledger.periods[0].is_whole_plan
    assert "All rounds that concern 'short' take less than 12 months" in ledger.to_markdown()
    assert "all of the plan" not in ledger.periods[0].verdict()


def _small() -> Ledger:
    poll = PlannedRound("poll", Shuffle(PureLDP(1.0), 10_000))
    return Plan(1.0, 1e-6, (poll,)).ledger(rtol=0.1)
