"""The document of a plan: complete, in every format, and with what it was made from."""

import hashlib
import html
import json
import re
from pathlib import Path

import pytest

import shuffledp
from shell import ok, run
from shuffledp import Accountant, Plan, PureLDP, Shuffle, rounded_up
from shuffledp.central import GaussianNoise, LaplaceNoise
from shuffledp.mechanisms import ApproximateDP, GivenPLD
from shuffledp.tools.ledger import Ledger
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
        ("scale = 30", "scale = 'x'", r"rounds\[3\]: scale='x' is not a finite number"),
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
    shown = getattr(document(ledger, "31 January 2026"), kind)()
    if kind == "markdown":
        shown = re.sub(r"\\([\\`*_\[\]<>|#])", r"\1", shown)
    flat = " ".join((html.unescape(shown) if kind == "html" else shown).split())
    upper = rounded_up(ledger.entries[-1].running.upper)
    assert f"All entries together are ({upper}, 1e-06)-differentially private." in flat
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
        (("--out", "account.json", "--markdown"), ".json does not go with --markdown; use"),
    ],
)
def test_the_end_of_a_name_says_what_is_written(
    plan: Path, options: tuple[str, ...], said: str
) -> None:
    result = run("account", str(plan), *options)
    assert result.returncode == 2 and said in result.stderr
    assert not Path(options[1]).exists()
