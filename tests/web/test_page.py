"""The page in a real browser: its numbers are Python's, and everybody can use it."""

import json
import os
import re
import shlex
import signal
import time
import tomllib
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Download, Page, Route

from browsing import browsing
from serving import SHORT_PLAN, Server, running
from shell import run
from shuffledp import Accountant, Plan, PureLDP, Shuffle, rounded_up
from shuffledp.randomizers import REGISTRY
from shuffledp.web.pool import Limits

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(Limits(workers=1)) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def tab(server: Server, browser: Browser) -> Iterator[Page]:
    """One tab for all tests: for each new one a browser starts processes."""
    found = browser.new_page(base_url=server.url)
    yield found
    found.close()


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A file to upload."""
    file = tmp_path / "plan.toml"
    file.write_text(SHORT_PLAN)
    return file


_ANSWERED = re.compile("status of (4|504)")


@pytest.fixture
def page(server: Server, tab: Page) -> Iterator[Page]:
    """A page that writes nothing to the console and asks nobody but the server."""
    tab.set_viewport_size({"width": 1300, "height": 900})
    tab.emulate_media(color_scheme="light", reduced_motion="no-preference")
    said: list[str] = []
    asked: list[str] = []
    listeners: dict[Any, Callable[[Any], None]] = {
        # a browser itself tells of every answer that is not 200
        "console": lambda m: None if _ANSWERED.search(m.text) else said.append(m.text),
        "pageerror": lambda error: said.append(str(error)),
        "request": lambda request: asked.append(request.url),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield tab
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert not said
    assert all(url.startswith((server.url, "blob:", "data:")) for url in asked)


def sentence(users: int, eps0: float = 4.0, rounds: int = 1, delta: float = 1e-6) -> str:
    """What Python says."""
    round_ = Shuffle(PureLDP(eps0), users=users)
    value = Accountant().compose(round_, rounds=rounds).get_epsilon(delta)
    return claim(rounded_up(value), repr(delta))


def claim(epsilon: str, delta: str) -> str:
    pair = f"epsilon = {epsilon} and delta = {delta}"
    return f"Under the assumptions below, the protocol is differentially private with {pair}."


def says(page: Page, text: str, where: str = ".sentence") -> None:
    """It comes, sooner or later."""
    page.wait_for_function(
        "([where, text]) => document.querySelector(where)?.textContent === text",
        arg=[where, text],
        timeout=30_000,
    )


def until(page: Page, true: str) -> None:
    """As a function: the page's own policy forbids to evaluate texts."""
    page.wait_for_function(f"() => {true}", timeout=60_000)


def drawn(page: Page) -> None:
    """All pictures are there."""
    page.wait_for_selector(".picture svg")
    until(page, "!document.querySelector('[aria-busy=true]')")


def saved(page: Page, label: str) -> str:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=label, exact=True).click()
    download: Download = waiting.value
    return Path(download.path()).read_text(encoding="utf-8")


def test_a_slider_ends_where_the_view_does(page: Page) -> None:
    """Of sums less noise is answered than of shuffled messages."""
    for view, least in (("shuffle", "0.1"), ("aggregate", "0.001")):
        page.goto(f"/?view={view}&randomizer=gaussian&sigma=2&users=1000")
        slider = page.locator("[data-slider=sigma]")
        moved = "e => { e.value = 0; e.dispatchEvent(new Event('input', {bubbles: true})); }"
        slider.evaluate(moved)
        assert page.input_value("#field-sigma") == least
    until(page, "document.querySelector('.sentence')?.textContent.startsWith('No epsilon')")


def test_a_part_of_a_sweep_is_drawn_and_said_to_be_one(page: Page) -> None:
    """What the server answers if a sweep takes too long."""
    said = "the answer takes longer than 1 s: the sweep was stopped after 3 of 9 rows."

    def part(route: Route) -> None:
        report = route.fetch().json()
        error = {"kind": "interrupted", "message": said, "bounds": None, "nearest": None}
        route.fulfill(status=504, json={**report, "error": error, "rows": report["rows"][:3]})

    page.route("**/api/sweep", part)
    try:
        page.goto("/")
        says(page, said, "[data-card=users] .help")
        drawn(page)
        assert page.locator("[data-card=users] tbody tr").count() == 3
    finally:
        page.unroute("**/api/sweep")
    page.fill("#field-users", "20k")
    says(page, "", "[data-card=users] .help")


def test_a_slider_changes_the_sentence_to_pythons_number(page: Page) -> None:
    page.goto("/")
    says(page, sentence(10_000))
    slider = page.locator("[data-slider=users]")
    slider.evaluate("e => { e.value = 625; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    users = int(page.input_value("#field-users"))
    assert users == 1_000_000  # 10 to the power of 1 + 8 * 0.625
    says(page, sentence(users))
    slider.focus()
    page.keyboard.press("ArrowRight")
    more = int(page.input_value("#field-users"))
    assert more >= users
    page.fill("#field-users", "20k")
    says(page, sentence(20_000))
    assert 0 < int(slider.input_value()) < 625
    page.fill("#field-rounds", "4")
    says(page, sentence(20_000, rounds=4))
    page.get_by_text("delta at epsilon").click()
    page.fill("#field-epsilon", "0.5")
    value = Accountant().compose(Shuffle(PureLDP(4.0), users=20_000), rounds=4).get_delta(0.5)
    says(page, claim("0.5", rounded_up(value)))


def test_pictures_and_lines_follow(page: Page) -> None:
    page.goto("/?randomizer=rr&k=4&gamma=0.25&eps0=&users=1000&delta=1e-7")
    says(page, claim("0.6289", "1e-07"))
    drawn(page)
    assert page.locator(".card svg.chart").count() >= 4
    said = page.inner_text(".attained")
    assert "at least 0.6284" in said
    ladder = page.text_content("[data-card=adversaries] svg") or ""
    for text in ("strong", "0.8774", "stronger-clones", "0.6847", "≥ 0.6284"):
        assert text in ladder
    shell = page.inner_text("pre[aria-label=Shell]")
    assert run(*shlex.split(shell)[1:]).stdout.startswith(f"{claim('0.6289', '1e-07')}\n")
    facts = page.inner_text(".facts")
    assert "replace-one: neighbouring datasets differ" in facts and "privacy blanket" in facts


def test_every_randomizer_has_an_answer(page: Page) -> None:
    page.goto("/?users=500&delta=0.001&rtol=0.05")
    for name in REGISTRY:
        before = page.inner_text("pre[aria-label=Shell]")
        page.select_option("#field-randomizer", name)
        page.wait_for_function(
            "name => document.querySelector('pre[aria-label=Shell]')?.textContent.includes("
            "`--randomizer ${name} `)",
            arg=name,
        )
        assert page.inner_text("pre[aria-label=Shell]") != before or name == "pure-ldp"
        assert page.inner_text(".sentence").startswith(
            "Under the assumptions below, the protocol is differentially private with epsilon = "
        )
        assert not page.locator("#protocol .problem:not(:empty)").count()


def test_shares_of_noise_are_for_sums(page: Page) -> None:
    """Histograms and vectors; what has no meaning for shuffled messages is not asked for there."""
    page.goto("/?view=aggregate&users=500&delta=0.001&rtol=0.05")
    page.select_option("#field-randomizer", "noise-shares")
    until(
        page, "document.querySelector('pre[aria-label=Shell]')?.textContent.includes('--skellam')"
    )
    asked = "--randomizer noise-shares --view aggregate --users 500 --delta 0.001 --rtol 0.05"
    said = run("epsilon", *asked.split(), "--skellam", "0.1", "--k", "2").stdout
    says(page, " ".join(said.partition("\n\n")[0].split()))
    for name, text in (("k", ""), ("dimension", "9"), ("norm", "2")):
        page.fill(f"#field-{name}", text)
    vectors = f"{asked} --skellam 0.1 --dimension 9 --norm 2"
    said = run("epsilon", *vectors.split()).stdout
    says(page, " ".join(said.partition("\n\n")[0].split()))
    page.goto("/?randomizer=gaussian&sigma=2&dimension=9&users=500&delta=0.001&rtol=0.05")
    until(
        page, "document.querySelector('.sentence')?.textContent.startsWith('Under the assumptions')"
    )
    assert not page.locator("#field-dimension").count()


def test_other_views(page: Page) -> None:
    page.goto("/?rtol=0.05")
    page.get_by_text("only sums").click()
    until(page, "document.querySelector('.facts')?.textContent.includes('sum')")
    assert page.input_value("#field-randomizer") == "unary"
    page.get_by_text("large counts").click()
    page.wait_for_selector("#field-threshold")
    asked = "epsilon --view threshold --rate 0.1 --threshold 20 --delta 1e-6 --rtol 0.05"
    said = run(*shlex.split(asked)).stdout
    says(page, " ".join(said.partition("\n\n")[0].split()))
    page.get_by_text("training steps").click()
    page.wait_for_selector("#field-noise_multiplier")
    asked = "epsilon --view allocation --noise-multiplier 1 --steps 1000 --delta 1e-6 --rtol 0.05"
    said = run(*shlex.split(asked)).stdout
    says(page, " ".join(said.partition("\n\n")[0].split()))


def test_bad_input_is_explained_beside_its_field(page: Page) -> None:
    page.goto("/")
    says(page, sentence(10_000))
    page.fill("#field-eps0", "-1")
    says(page, "eps0=-1.0 is not positive; give the local epsilon, > 0.", "#field-eps0-problem")
    assert page.get_attribute("#field-eps0", "aria-invalid") == "true"
    assert "field-eps0-problem" in (page.get_attribute("#field-eps0", "aria-describedby") or "")
    page.fill("#field-eps0", "4")
    until(page, "!document.querySelector('[aria-invalid]')")
    page.fill("#field-users", "<b>many</b>")
    until(
        page, "document.querySelector('#field-users-problem')?.textContent.includes('<b>many</b>')"
    )
    page.fill("#field-users", "500")
    says(page, sentence(500))
    assert not page.locator("#protocol .problem:not(:empty)").count()


def test_every_state_is_a_link(page: Page, server: Server) -> None:
    page.goto("/")
    page.select_option("#field-randomizer", "subset")
    page.fill("#field-k", "8")
    page.fill("#field-size", "2")
    page.fill("#field-eps0", "2.5")
    page.fill("#field-users", "30000")
    asked = "epsilon --randomizer subset --k 8 --size 2 --eps0 2.5 --users 30000 --delta 1e-6"
    said = run(*shlex.split(asked))
    says(page, said.stdout.splitlines()[0])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#share")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(server.url) and "randomizer=subset" in link
    page.goto("/docs")
    page.goto(link)
    says(page, said.stdout.splitlines()[0])
    assert page.input_value("#field-size") == "2"


def test_downloads(page: Page) -> None:
    page.goto("/?users=2000")
    says(page, sentence(2000))
    drawn(page)
    report = json.loads(saved(page, "Download the report as JSON"))
    assert report["users"] == 2000 and report["upper"][0] == Shuffle(
        PureLDP(4.0), 2000
    ).get_epsilon(1e-6)
    assert saved(page, "Download the statement as text") == f"{report['statement']}\n"
    head, row = saved(page, "Download the numbers as CSV").splitlines()
    assert head == "delta,epsilon_lower,epsilon_upper"
    assert float(row.split(",")[2]) == report["upper"][0]
    picture = saved(page, "Download profile as SVG")
    assert picture.startswith("<svg") and "rgb" in picture and "delta" in picture
    rows = saved(page, "Download users as CSV").splitlines()
    assert rows[0] == "users,epsilon_lower,epsilon_upper" and len(rows) == 10
    page.get_by_role("button", name="Copy the Python lines").click()
    until(page, "document.querySelector('#toast')?.textContent === 'Python copied'")


def test_a_plan_is_uploaded_changed_and_downloaded(page: Page, plan: Path) -> None:
    page.goto("/?tab=plan")
    page.set_input_files("#plan-file", plan)
    says(page, Plan.read(plan).ledger().verdict)
    ledger = page.text_content("[data-card=ledger] svg") or ""
    assert "weekly usage" in ledger and "monthly survey" in ledger
    assert saved(page, "Download the plan") == SHORT_PLAN
    signed = saved(page, "Download the account as markdown")
    assert signed.startswith("# Telemetry of one year\n")
    assert "Data protection officer (advice only)" in signed
    text = SHORT_PLAN.replace("epsilon = 1.0", "epsilon = 0.1")
    page.fill("#field-plan", text)
    until(page, "document.querySelector('.sentence')?.textContent.includes('exceeds')")
    link = (
        page.url
        if "plan=" in page.url
        else page.evaluate("new Promise(done => setTimeout(() => done(location.href), 400))")
    )
    page.fill("#field-plan", "[target]\nepsilon = 1\n")
    says(page, "plan.toml: the plan lacks the key 'rounds'; add it.", "#plan-problem")
    page.goto("/docs")
    page.goto(link)
    until(page, "document.querySelector('.sentence')?.textContent.includes('exceeds')")
    assert page.input_value("#field-plan") == text


def test_a_plan_shows_its_populations(page: Page, plan: Path) -> None:
    page.goto("/?tab=plan")
    page.set_input_files("#plan-file", plan)
    says(page, Plan.read(plan).ledger().verdict)
    assert not page.is_visible("[data-card=populations]")
    first, second = (f'[[rounds]]\npopulation = "{name}"\n' for name in ("north", "south"))
    text = SHORT_PLAN.replace("[[rounds]]\n", first, 1)
    page.fill("#field-plan", second.join(text.rsplit("[[rounds]]\n", 1)))
    until(page, "document.querySelector('.sentence')?.textContent.includes('one population')")
    assert page.is_visible("[data-card=populations]")
    shown = page.text_content("[data-card=populations] svg") or ""
    assert "north" in shown and "south" in shown
    assert "everybody; 12 rounds" in (page.text_content("[data-card=ledger] svg") or "")


def test_a_plan_with_dates_is_shown_over_time(page: Page, plan: Path) -> None:
    page.goto("/?tab=plan&at=2027-07-01")
    page.set_input_files("#plan-file", ROOT / "examples" / "years.toml")
    until(page, "document.querySelectorAll('[data-card=timeline] path.line').length === 3")
    ledger = Plan.read(ROOT / "examples" / "years.toml").ledger(at=date(2027, 7, 1))
    assert ledger.standing is not None
    notes = " ".join(page.locator(".hero .note").all_text_contents())
    for period in ledger.periods:
        assert f"epsilon {rounded_up(period.total.upper)} of {period.budget.epsilon:g}" in notes
    total = rounded_up(ledger.standing.total.upper)
    assert f"By 2027-07-01, 32 of 130 rounds are due: epsilon {total}" in notes
    assert page.locator("[data-card=timeline] line.budget").count() == 3
    # without dates there is no day to ask about
    page.set_input_files("#plan-file", plan)
    until(page, "document.querySelector('[data-card=timeline]')?.hidden")
    assert not page.is_visible("#field-at") and not page.is_visible(".hero .note")


def test_a_plan_is_dropped_with_its_matrix_and_gets_the_protocol(page: Page) -> None:
    page.goto("/?tab=plan&eps0=2&users=5000")
    page.wait_for_selector(".drop")
    page.evaluate(
        """() => {
          const files = new DataTransfer();
          const plan = "target = {epsilon = 9, delta = 0.01}\\n[[rounds]]\\nname = 'own'\\n" +
            "randomizer = 'matrix'\\nmatrix = 'r.csv'\\nusers = 90\\n";
          files.items.add(new File([plan], "plan.toml"));
          files.items.add(new File(["0.75,0.25\\n0.25,0.75\\n"], "r.csv"));
          document.querySelector(".drop").dispatchEvent(
            new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
        }"""
    )
    until(page, "document.querySelector('.sentence')?.textContent.includes('fits')")
    page.get_by_role("button", name="Add the protocol").click()
    until(page, "document.querySelectorAll('[data-card=ledger] tbody tr').length === 2")
    assert 'randomizer = "pure-ldp"' in page.input_value("#field-plan")


def test_an_address_that_says_two_things_is_refused(page: Page) -> None:
    page.goto("/?users=10&users=100")
    until(page, "document.querySelector('#field-users-problem')?.textContent.includes('10, 100')")
    assert page.input_value("#field-users") == "10, 100"


def test_the_protocol_is_added_as_toml(page: Page) -> None:
    """Plain numbers for what the form takes; what may mean two numbers is left to the server."""
    page.goto(
        "/?tab=plan&randomizer=rr&k=1_6&eps0=.5&users=2M&rounds=1,000&colluding=1.1%25"
        "&sample_rate=10%25&delta=1e-8&epsilon=50%25"
    )
    page.get_by_role("button", name="Add the protocol").click()
    until(page, "document.querySelector('.sentence')?.textContent.includes('The plan')")
    assert tomllib.loads(page.input_value("#field-plan")) == {
        "target": {"epsilon": 0.5, "delta": 1e-8},
        "rounds": [
            {"randomizer": "rr", "k": 16, "eps0": ".5", "users": 2_000_000, "rounds": 1000,
             "colluding": 0.011, "sample_rate": 0.1}
        ],
    }  # fmt: skip
    page.goto("/?tab=plan&eps0=1&users=2M&rounds=1.000")
    page.get_by_role("button", name="Add the protocol").click()
    until(page, "document.querySelector('#plan-problem')?.textContent.includes('decimal point')")


def test_choices_are_ranked_and_one_is_taken(page: Page) -> None:
    page.goto("/?tab=choose&task=mean&seen=aggregate&users=2000")
    asked = "choose --task mean --view aggregate --users 2000 --epsilon 1 --delta 1e-6 --json"
    said = run(*shlex.split(asked)).stdout
    best = json.loads(said)["choices"][0]
    until(page, "document.querySelector('.sentence')?.textContent.startsWith('Deploy')")
    names = page.locator("[data-card=choose] td:first-child").all_text_contents()
    assert names == [choice["randomizer"] for choice in json.loads(said)["choices"]]
    page.get_by_role("button", name="Show the guarantee of the best choice").click()
    page.wait_for_selector("#field-randomizer")
    assert page.input_value("#field-randomizer") == best["randomizer"]
    upper = rounded_up(best["epsilon"]["upper"])
    until(page, "document.querySelector('.sentence')?.textContent.startsWith('Under')")
    shown = float(page.inner_text(".sentence strong").split()[2])
    assert shown <= 1.0 and shown <= float(upper) * 1.001


def test_choices_of_several_questions(page: Page) -> None:
    page.goto("/?tab=choose&task=mean&seen=shuffle&users=2000&answers=3&rtol=0.3&rounds=2")
    until(page, "document.querySelector('.sentence')?.textContent.startsWith('Deploy')")
    rows = table(page)
    assert {row["asked"] for row in rows} == {"separate", "bundle", "one-of"}
    assert "--questions 3" in page.inner_text("pre[aria-label=Shell]")
    page.get_by_role("button", name="Show the guarantee of the best choice").click()
    page.wait_for_selector("#field-rounds")
    assert rows[0]["asked"] == "separate" and page.input_value("#field-rounds") == "6"


def table(page: Page) -> list[dict[str, str]]:
    """The rows of the table of choices, by the names of its columns."""
    names = page.locator("[data-card=choose] thead th").all_text_contents()
    rows = page.locator("[data-card=choose] tbody tr").all()
    found = [row.locator("td").all_text_contents() for row in rows]
    return [dict(zip(names, cells, strict=True)) for cells in found]


def test_choose_asks_all_that_its_form_and_its_link_say(page: Page) -> None:
    people = {"colluding": "5%", "dropouts": "10", "messages": "2", "neighbours": "remove"}
    more = {**people, "max_eps0": "9", "rtol": "0.3"}
    said = "&".join(f"{name}={value.replace('%', '%25')}" for name, value in more.items())
    page.goto(f"/?tab=choose&seen=aggregate&users=2000&rounds=2&k=3&{said}")
    until(page, "document.querySelector('.sentence')?.textContent.startsWith('Deploy')")
    for name, value in {**more, "k": "3"}.items():
        assert page.input_value(f"#field-{name}") == value
    words = shlex.split(page.inner_text("pre[aria-label=Shell]"))
    given = dict(zip(words[2::2], words[3::2], strict=True))
    for name, value in {**more, "values": "3", "rounds": "2"}.items():
        assert given[f"--{name.replace('_', '-')}"] == value
    report = json.loads(run(*words[1:], "--json").stdout)
    assert [row["parameters"] for row in table(page)] == [
        ", ".join(f"{name} = {value}" for name, value in row["parameters"].items())
        for row in report["choices"]
    ]
    assert report["choices"][0]["colluding"] == 100
    # what is ranked is what is shown, under its name; the other error has its own column
    for shown, row in zip(table(page), report["choices"], strict=True):
        for name in ("average_error", "standard_error"):
            assert float(shown[name]) == pytest.approx(row[name], rel=1e-3)
        assert row["local_eps0"] <= float(shown["local_eps0"]) <= 9
    errors = [float(row["average_error"]) for row in table(page)]
    assert errors == sorted(errors)
    assert page.locator(".bars .value").all_text_contents() == [
        row["average_error"] for row in table(page)
    ]
    # the guarantee is that of the same people
    page.get_by_role("button", name="Show the guarantee of the best choice").click()
    until(
        page, "document.querySelector('.sentence')?.textContent.startsWith('Under the assumptions')"
    )
    for name, value in people.items():
        assert page.input_value(f"#field-{name}") == value
    assert float(page.inner_text(".sentence strong").split()[2]) <= 1.001


def test_randomizers_without_a_local_guarantee_say_so(page: Page) -> None:
    page.goto("/?tab=choose&task=mean&seen=aggregate&users=2000")
    until(page, "document.querySelector('.sentence')?.textContent.startsWith('Deploy')")
    assert {row["randomizer"]: row["local_eps0"] for row in table(page)}["gaussian"] == "no limit"
    page.fill("#field-max_eps0", "4")
    until(page, "document.querySelector('.unmet')?.textContent.includes('no local eps0')")
    assert [row["randomizer"] for row in table(page)] == ["one-bit"]
    page.goto("/?tab=choose&seen=shuffle&users=2000&k=4&rtol=0.3&colluding=20")
    until(page, "document.querySelector('.sentence')?.textContent.startsWith('Deploy')")
    deploy = page.inner_text(".sentence")
    assert "devices send true values" in deploy
    assert "The best with a local guarantee is" in page.inner_text(".hero")
    about = page.inner_text("[data-card=choose]")
    assert "may be off by 20/(p - q)" in about and "randomization alone" in about


def test_earlier_links_name_the_values_and_problems_stand_beside_them(page: Page) -> None:
    page.goto("/?tab=choose&seen=aggregate&users=200&values=1")
    page.wait_for_selector("[data-field=k] .problem:not(:empty)")
    assert "values=1" in page.inner_text("[data-field=k] .problem")
    page.fill("#field-k", "")
    until(page, "document.querySelector('[data-field=k] .problem')?.textContent.includes('needs')")


def test_thresholds_count_colluders_too(page: Page) -> None:
    page.goto("/?view=threshold&colluding=5&messages=2&rtol=0.05")
    asked = "epsilon --view threshold --rate 0.1 --threshold 20 --delta 1e-6 --rtol 0.05"
    said = run(*shlex.split(asked), "--colluding", "5", "--messages", "2").stdout
    says(page, " ".join(said.partition("\n\n")[0].split()))
    assert page.input_value("#field-colluding") == "5"


def test_a_long_question_shows_progress_and_is_cancelled(page: Page, server: Server) -> None:
    page.goto("/?tab=choose&users=1e6&values=1000&rounds=500&sample_rate=0.01")
    page.wait_for_selector("#working:not([hidden])")
    busy = {worker.process.pid for worker in server.pool.busy}
    assert busy
    for pid in busy:  # it takes long enough, and no processor time from others
        os.kill(pid, signal.SIGSTOP)
    until(page, "/choose: [1-9]\\d* s/.test(document.querySelector('.what')?.textContent)")
    page.click("#cancel")
    page.wait_for_selector("#working", state="hidden")
    end = time.monotonic() + 10
    while busy & {worker.process.pid for worker in server.pool.busy}:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "Cancelled." in page.inner_text("[data-card=choose]")


STATES = ("/?rtol=0.05", "/?tab=choose&task=mean&seen=aggregate&users=2000", "/?tab=plan")


CONTRAST = """() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => {
    for (let at = e; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.checkVisibility() || e.closest("noscript, title, option")) continue;
    const style = getComputedStyle(e);
    const colour = parse(e.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(colour), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${node.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return found;
}"""
NAMELESS = """() => [...document.querySelectorAll("input, select, textarea, button, a, [role=img]")]
  .filter(e => e.checkVisibility() && !(e.labels?.length) && !e.getAttribute("aria-label")
    && !e.textContent.trim())
  .map(e => e.outerHTML.slice(0, 80))"""


OUTSIDE = """() => [...document.querySelectorAll("input, select, button, textarea, p, svg")]
  .filter(e => e.checkVisibility() && !e.matches("[type=radio]"))
  .map(e => [e.id || e.className.baseVal || e.className, e.getBoundingClientRect()])
  .filter(([, box]) => box.left < -1 || box.right > innerWidth + 1).map(([name]) => name)"""
SMALL = """() => [...document.querySelectorAll("button, select, input[type=text]")]
  .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 28)
  .map(e => e.textContent)"""
BROKEN = """() => ["aria-describedby", "aria-controls", "aria-labelledby"].flatMap(name =>
  [...document.querySelectorAll(`[${name}]`)].flatMap(e =>
    e.getAttribute(name).split(" ").filter(id => !document.getElementById(id))))"""


@pytest.mark.parametrize("url", STATES)
def test_everything_can_be_read_has_a_name_and_fits_a_phone(
    url: str, page: Page, plan: Path
) -> None:
    page.goto(url)
    if "plan" in url:
        page.set_input_files("#plan-file", plan)
    drawn(page)
    page.evaluate("for (const e of document.querySelectorAll('details')) e.open = true")
    for scheme, light in (("light", True), ("dark", False)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, colour[4:-1].split(","))) > 384) == light
        assert not page.evaluate(CONTRAST), scheme
    assert not page.evaluate(NAMELESS)
    assert not page.evaluate(BROKEN)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert not page.evaluate(OUTSIDE)
    assert not page.evaluate(SMALL)
    page.locator("#peek").wait_for()


def test_a_keyboard_reaches_everything_and_focus_is_seen(page: Page) -> None:
    page.goto("/")
    says(page, sentence(10_000))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answer"
    drawn(page)
    page.evaluate("document.activeElement.blur(); getSelection().removeAllRanges()")
    page.focus(".skip")
    page.keyboard.press("Shift+Tab")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("a, button, input, select, textarea, summary, pre")]
          .filter(e => e.checkVisibility() && e.tabIndex >= 0)
          .filter(e => !e.matches("[type=radio]:not(:checked)"))
          .map((e, i) => { e.dataset.stop = i; return i; })"""
    )
    seen = set()
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        stop, outlined = page.evaluate(
            """() => {
              const e = document.activeElement;
              const shown = e.matches("[type=radio]") ? e.nextElementSibling : e;
              const style = getComputedStyle(shown);
              const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
              return [e.dataset.stop, seen];
            }"""
        )
        if stop is not None:
            assert outlined
            seen.add(int(stop))
    assert seen == set(wanted)
    page.focus("#tab-guarantee")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-choose"
    page.wait_for_selector("#field-k")


def test_the_page_of_the_api(page: Page) -> None:
    page.goto("/docs")
    assert page.locator("#epsilon tbody th").count() > 20
    assert page.evaluate(CONTRAST) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
