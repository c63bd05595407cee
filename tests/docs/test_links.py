"""Relative links and anchors of all pages resolve, and pages begin with what they are for."""

import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
PAGES = [*TOP, *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as the site generator makes it."""
    shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    plain = unicodedata.normalize("NFKD", shown).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@cache
def anchors(page: Path) -> frozenset[str]:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return frozenset(map(anchor, re.findall(r"^#+ (.*)$", text, re.MULTILINE)))


def broken_links(page: Path) -> list[str]:
    """Return the links of a page to missing files, and to missing anchors of pages."""
    broken = []
    for target, fragment in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (fragment and fragment not in anchors(file)):
            broken.append(f"{target}#{fragment}" if fragment else target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors_resolve(page: Path) -> None:
    assert broken_links(page) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# R\u00e9nyi (0, 1) of `x`\n\n```\n# no heading\n```\n", encoding="utf-8")
    page.write_text(
        "# Here\n[a](other.md) [b](other.md#renyi-0-1-of-x) [c](#here) [d](https://x.org/#y)\n"
        "[e](missing.md) [f](other.md#no-heading) [g](#there)\n",
        encoding="utf-8",
    )
    assert broken_links(page) == ["missing.md", "other.md#no-heading", "#there"]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_a_page_begins_with_a_title_and_a_sentence(page: Path) -> None:
    """What the reader will be able to do comes before code, tables and pictures."""
    title, opening, *_ = page.read_text(encoding="utf-8").split("\n\n")
    assert title.startswith("# ") and re.match(r"[A-Z][a-z]* ", opening), opening
