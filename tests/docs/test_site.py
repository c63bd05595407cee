"""The site builds without a warning, has every public name and schema, and asks no other host."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Page

import shuffledp
from browsing import browsing
from shuffledp.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("randomizers", "mechanisms", "central", "errors", "plotting", "interop", "published")
#: What would be fetched when a page is looked at; links that are clicked are not.
FETCHED = re.compile(
    r"""(?:src|srcset|data-src)=["']?(https?:)?//|@import|url\(["']?(https?:)?//"""
)
SHEET = re.compile(
    r"""<link[^>]*rel="?(?:stylesheet|preconnect|icon)[^>]*href=["']?(?:https?:)?//"""
)

# found, not imported: the site is built by another process
if not all(map(importlib.util.find_spec, ("mkdocs", "material", "mkdocstrings", "latex2mathml"))):
    pytest.skip("the site needs pip install 'shuffledp[docs]'", allow_module_level=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    # material tells of its successor on every run
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=quiet
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "WARNING" not in result.stdout + result.stderr
    return folder


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browsing() as browser:
        yield browser.new_page()


def public(module: str) -> list[str]:
    found = importlib.import_module(module)
    return getattr(found, "__all__", None) or [
        name
        for name, value in vars(found).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module
    ]


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = {file.stem: file.read_text("utf-8") for file in (site / "reference").glob("*.html")}
    headings = {
        name
        for page in pages.values()
        for name in re.findall(r'<h2 id="shuffledp\.[\w.]*?\.?(\w+)" class="doc', page)
    }
    assert set(shuffledp.__all__) <= headings
    for module in MODULES:
        names = public(f"shuffledp.{module}")
        assert names and set(names) <= headings, module


@pytest.mark.slow
def test_examples_are_code_and_arguments_are_shown(site: Path) -> None:
    page = (site / "reference" / "names.html").read_text("utf-8")
    assert "false_positive_rates" in page and "<blockquote>" not in page
    assert "&gt;&gt;&gt; " in page


@pytest.mark.slow
def test_every_schema_and_notebook_has_a_page(site: Path) -> None:
    schemas = (site / "reference" / "schemas.html").read_text("utf-8")
    for file in (ROOT / "src" / "shuffledp" / "schemas").glob("*.json"):
        assert f'id="{file.stem}"' in schemas
    for file in (ROOT / "examples").glob("*.ipynb"):
        assert (site / "notebooks" / f"{file.stem}.html").exists()
        assert (site / "examples" / file.name).exists()


@pytest.mark.slow
def test_every_command_and_subcommand_has_its_help_on_a_page(site: Path) -> None:
    page = unescape((site / "reference" / "commands.html").read_text("utf-8"))
    for name in (*COMMANDS, "plot profile"):
        assert f'id="shuffledp-{name.replace(" ", "-")}"' in page, name
        assert f"Usage: shuffledp {name}" in page, name
    assert page.count("--delta ") > 5


@pytest.mark.slow
def test_no_page_asks_another_host(site: Path) -> None:
    for file in site.rglob("*.html"):
        text = file.read_text("utf-8")
        assert not FETCHED.search(text) and not SHEET.search(text), file
    for file in site.rglob("*.css"):
        assert not FETCHED.search(file.read_text("utf-8")), file


@pytest.mark.slow
def test_links_of_the_built_pages_lead_somewhere(site: Path) -> None:
    for file in site.rglob("*.html"):
        if file.name == "404.html":
            continue
        for target in re.findall(r'(?:href|src)="([^"#?]+)', file.read_text("utf-8")):
            if not re.match(r"[a-z]+:|//", target):
                assert (file.parent / target).resolve().exists(), f"{file.name}: {target}"


@pytest.mark.slow
def test_every_entry_of_the_glossary_is_linked_from_a_page_and_once(site: Path) -> None:
    used: set[str] = set()
    for file in site.rglob("*.html"):
        links = re.findall(
            r'class="term" href="[./]*glossary\.html#([\w-]+)"', file.read_text("utf-8")
        )
        assert len(links) == len(set(links)), file
        assert not links or file.parent.name not in ("theory", "reference"), file
        used.update(links)
    glossary = (site / "glossary.html").read_text("utf-8")
    assert used == set(re.findall(r'<h3 id="([\w-]+)"', glossary))


@pytest.mark.slow
def test_search_finds_words_when_the_site_is_opened_from_a_folder(site: Path, tab: Page) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((site / "limits.html").as_uri())
    tab.locator("input[name=query]").press_sequentially("sensitivity")
    results = tab.locator(".md-search-result__link")
    results.first.wait_for()
    found = results.evaluate_all("all => all.map(link => link.href)")
    address, *_ = [link for link in found if "/interop.html" in link]
    tab.goto(address)
    assert "sensitivity" in tab.locator("article").inner_text()
    assert all(address.startswith(("file:", "about:", "data:")) for address in asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["index", "what", "clients", "dp-sgd", "paper", "reference/commands"]
)
def test_a_page_is_not_wider_than_a_phone(site: Path, name: str, tab: Page) -> None:
    """What is wider, a table, a formula or code, scrolls by itself."""
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.goto((site / f"{name}.html").as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
