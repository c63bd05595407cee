"""The pictures of views are those of docs/diagrams.py, are on a page, and say what they show."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from loading import load

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
diagrams = load("diagrams.py")
FOLDER, VIEWS = diagrams.FOLDER, diagrams.VIEWS
IMAGE = re.compile(r"!\[([^]]*)\]\(([^)]+)\)")


def test_every_view_has_a_file_and_every_file_a_view() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(VIEWS)


@pytest.mark.parametrize("name", VIEWS)
def test_a_file_is_what_would_be_drawn(name: str) -> None:
    drawn = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert re.sub(r"<style>.*?</style>", "", drawn) == VIEWS[name].svg()


@pytest.mark.parametrize("name", VIEWS)
def test_texts_fit_into_their_boxes_and_boxes_into_the_picture(name: str) -> None:
    root = ET.fromstring(VIEWS[name].svg())
    height = float(root.attrib["viewBox"].split()[3])
    rectangles = [element.attrib for element in root if element.tag.endswith("rect")]
    assert len(rectangles) == len(VIEWS[name].holders) + 2
    for box in rectangles:
        assert float(box["x"]) >= 0 and float(box["x"]) + diagrams.BOX <= diagrams.WIDTH
        assert float(box["y"]) >= 0 and float(box["y"]) + float(box["height"]) <= height
    for element in root:
        if element.tag.endswith("text"):
            assert 0 < len(element.text or "") * 6.5 <= diagrams.BOX, element.text


def test_every_view_is_on_a_page_and_every_picture_says_what_it_shows() -> None:
    shown = [found for page in PAGES for found in IMAGE.findall(page.read_text(encoding="utf-8"))]
    assert {Path(path).stem for _, path in shown if "views/" in path} == set(VIEWS)
    for words, path in shown:
        assert len(words.split()) >= 3, path
