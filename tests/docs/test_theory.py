"""Chapters of the theory and modules of the core name each other; the index lists all chapters."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "shuffledp"
THEORY = ROOT / "docs" / "theory"
CORE = ("laws", "engines", "profiles", "composition", "bounds")
CHAPTERS = {file.stem: file for file in sorted(THEORY.glob("*.md")) if file.stem != "index"}
MODULES = {
    f"{folder}/{file.name}": file
    for folder in CORE
    for file in sorted((SOURCE / folder).glob("*.py"))
    if file.stem != "__init__"
}
IN_CORE = re.compile(rf"`((?:{'|'.join(CORE)})/\w+\.py)`")
#: The last line of the docstring of a module of the core.
REFERENCE = re.compile(
    r"^Theory: (docs/theory/[\w-]+\.md(?:, docs/theory/[\w-]+\.md)*)\.$", re.MULTILINE
)


def chapters_of(module: Path) -> list[str]:
    """Return the chapters that the docstring of a module names."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    named = REFERENCE.findall(docstring)
    return [Path(path).stem for path in named[0].split(", ")] if len(named) == 1 else []


def modules_of(chapter: Path) -> set[str]:
    """Return the modules of the core that the first sentence of a chapter names."""
    _, opening, *_ = chapter.read_text(encoding="utf-8").split("\n\n")
    return set(IN_CORE.findall(opening))


def section(title: str) -> str:
    """Return the text of a section of the index."""
    (text,) = re.findall(
        rf"^## {title}$(.*?)(?=^## |\Z)",
        (THEORY / "index.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return str(text)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_names_chapters_that_name_it(name: str) -> None:
    chapters = chapters_of(MODULES[name])
    assert chapters
    for chapter in chapters:
        assert name in modules_of(CHAPTERS[chapter]), chapter


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_module_of_a_chapter_names_it(chapter: str) -> None:
    for name in modules_of(CHAPTERS[chapter]):
        assert chapter in chapters_of(MODULES[name]), name


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_begins_with_what_is_proven(chapter: str) -> None:
    title, opening, *_ = CHAPTERS[chapter].read_text(encoding="utf-8").split("\n\n")
    assert title.startswith("# ") and opening.startswith("This chapter ")


def test_the_index_lists_every_chapter_with_its_modules_in_the_order_of_the_site() -> None:
    rows = [line for line in section("Chapters").splitlines() if re.search(r"\]\([\w-]+\.md", line)]
    listed = {re.findall(r"\]\(([\w-]+)\.md", row)[0]: row for row in rows}
    shown = re.findall(r"theory/([\w-]+)\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert set(listed) == set(CHAPTERS)
    assert ["index", *listed] == shown
    for chapter, row in listed.items():
        assert modules_of(CHAPTERS[chapter]) == set(IN_CORE.findall(row)), chapter


def test_every_theorem_has_a_function_that_exists() -> None:
    rows = [line for line in section("Theorems and functions").splitlines() if line[:2] == "| "][1:]
    assert len(rows) > 20
    for row in rows:
        names = re.findall(r"`(\w+(?:\.\w+)+)`", row.split("|")[-2])
        assert names, row
        for name in names:
            assert exists(name), name


def exists(name: str) -> bool:
    """Is there a function, class, method or property of the package with this dotted name?"""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found: object = importlib.import_module(".".join(["shuffledp", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_missing_functions_are_found() -> None:
    assert exists("engines.fourier.stop_loss")
    assert not exists("engines.fourier.no_such_function")
    assert not exists("engines.no_such_module.stop_loss")
