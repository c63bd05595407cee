"""The client in a real browser: the same messages as in Python, and the page that shows them."""

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from browsing import browsing
from node import MODULE
from serving import Server, running
from shuffledp.clients import Specification
from shuffledp.web.pool import Limits
from specified import SPECIFIED, random_messages

MESSAGES = 30  # of every randomizer


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(Limits(workers=1)) as found:
        yield found


@pytest.fixture(scope="module")
def tab(server: Server) -> Iterator[Page]:
    with browsing() as browser:
        yield browser.new_page(base_url=server.url)


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """A page that writes nothing to the console."""
    said: list[str] = []
    tab.set_viewport_size({"width": 1300, "height": 900})

    def hear(message: Any) -> None:
        if "status of 4" not in message.text:  # a browser itself tells of every such answer
            said.append(message.text)

    def fail(error: Any) -> None:
        said.append(str(error))

    tab.on("console", hear)
    tab.on("pageerror", fail)
    yield tab
    tab.remove_listener("console", hear)
    tab.remove_listener("pageerror", fail)
    assert not said


def test_the_served_module_is_the_one_of_the_repository(server: Server) -> None:
    """And the package has it."""
    served = server.client.get("/client.mjs")
    assert served.headers["content-type"].startswith(("text/javascript", "application/javascript"))
    shipped = (resources.files("shuffledp.web") / "static" / "client.mjs").read_bytes()
    assert served.content == shipped == MODULE.read_bytes()


def test_chromium_sends_what_python_sends(page: Page) -> None:
    page.goto("/?tab=device")
    given, right = [], {}
    for name, randomizer in SPECIFIED.items():
        specification = randomizer.client_spec()
        sent = list(random_messages(name, MESSAGES))
        lines = [f"{specification.value_text(value)} : {taken.hex()}" for value, taken, _ in sent]
        given.append([name, specification.to_json(), lines])
        right[name] = [" ".join(map(str, message)) for _, _, message in sent]
    found = page.evaluate(
        """async (given) => {
          const { load } = await import("/client.mjs"), found = {};
          for (const [name, text, lines] of given) {
            const client = await load(text);
            client.selfTest();
            found[name] = lines.map((line) => client.answer(line));
          }
          return found;
        }""",
        given,
    )
    assert found == right


def until(page: Page, true: str) -> None:
    page.wait_for_function(f"() => {true}", timeout=60_000)


def says(page: Page, text: str) -> None:
    until(page, f"document.querySelector('.sentence')?.textContent === '{text}'")


def crowd(page: Page) -> list[list[float]]:
    """The table of the picture after 10,000 users: value, true, estimate, half width."""
    page.wait_for_selector(".hero:not(.stale) strong")
    page.get_by_role("button", name="Randomize the values of 10,000 users").click()
    until(page, "document.querySelector('[data-card=estimate] h2')?.textContent === '10,000 users'")
    until(page, "document.querySelector('button.primary')?.disabled === false")
    cells = "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    rows: list[list[str]] = page.eval_on_selector_all("[data-card=estimate] tbody tr", cells)
    return [[float(cell) if cell else 0.0 for cell in row[1:]] for row in rows]


@pytest.mark.parametrize(
    ("asked", "columns"),
    [
        ("device=rr&k=100&eps0=6", 24),
        ("device=subset&k=10&size=2&eps0=3", 10),
        ("device=oue&k=8&eps0=3", 8),
        ("device=unary&k=8&eps0=5&ones=2", 8),
        ("device=hadamard&k=6&eps0=3", 6),
        ("device=hashing&eps0=3", 24),
        ("device=noisy-histogram&k=5&poisson=0.1", 5),
        ("device=piecewise&eps0=2&value=0.25", 1),
        ("device=one-bit&eps0=2&value=0.25", 1),
    ],
)
def test_the_estimate_is_near_the_truth(page: Page, asked: str, columns: int) -> None:
    page.goto(f"/?tab=device&{asked}")
    rows = crowd(page)
    assert len(rows) == columns
    bars = page.locator("[data-card=estimate] path.reach")
    assert bars.count() == columns
    for true, estimate, reach in rows:  # half widths are 1.96 standard errors
        assert reach > 0 and abs(true - estimate) < 3.5 * reach
    if columns > 1:
        assert sum(true for true, _, _ in rows) == 10_000


def test_a_matrix_shows_what_is_sent(page: Page) -> None:
    page.goto("/?tab=device&device=matrix&matrix=0.2,0.3,0.5%0A0.5,0.3,0.2")
    rows = crowd(page)
    assert len(rows) == 3 and sum(true for true, _, _ in rows) == 10_000


def test_a_value_and_its_message(page: Page) -> None:
    page.goto("/?tab=device&device=rr&k=4&eps0=100&value=2")
    until(
        page,
        "document.querySelector('.sentence')?.textContent === 'Value 2 becomes the message 2.'",
    )
    page.fill("#field-value", "9")
    told = "[data-field=value] .problem"
    until(
        page, f"document.querySelector('{told}')?.textContent.includes('a whole number in 0 .. 3')"
    )
    page.fill("#field-value", "3")
    until(
        page,
        "document.querySelector('.sentence')?.textContent === 'Value 3 becomes the message 3.'",
    )
    assert page.inner_text(told) == ""
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the specification").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert Specification(text).eps0 == 100.0
    shell = page.inner_text("pre[aria-label=Shell]").splitlines()[0]
    assert shell == "shuffledp client --randomizer rr --k 4 --eps0 100 --out client.json"


def test_what_is_wrong_is_told_beside_its_field(page: Page) -> None:
    page.goto("/?tab=device&device=rr&k=4&eps0=4")
    page.wait_for_selector(".sentence strong")
    page.fill("#field-eps0", "-1")
    until(page, "document.querySelector('[data-field=eps0] .problem')?.textContent.includes('-1')")
    page.fill("#field-eps0", "2")
    until(page, "document.querySelector('.hero')?.classList.contains('stale') === false")


def test_on_a_phone_nothing_is_wider_than_the_screen(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/?tab=device&device=hashing&eps0=3")
    crowd(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_specification_by_http(server: Server) -> None:
    """And no program is run for somebody who asks by HTTP."""
    report = server.ask("client", randomizer="rr", k=4, eps0=1).json()
    specification = Specification(report["specification"])
    moments = report["moments"]
    client = SPECIFIED["rr"].client_spec().document
    assert client.keys() == specification.document.keys()
    assert abs(moments["own"] / moments["other"] - 2.718281828) < 1e-6
    pairs = "value,message\n" + "".join(f"{x},{x}\n" for x in range(4))
    files = {"client.json": specification.to_json(), "pairs.csv": pairs}
    found = server.ask("audit", spec="client.json", pairs="pairs.csv", files=files)
    assert found.status_code == 200 and found.json()["trials"] == 4
    refused = server.ask("audit", spec="client.json", command="id", files=files)
    assert refused.status_code == 422 and "no field 'command'" in refused.json()["error"]["message"]
    written = server.ask("client", randomizer="rr", k=4, eps0=1, out="/tmp/x.json")
    assert written.status_code == 422
    assert json.loads(written.text)["error"]["message"].startswith("client has no field 'out'")
