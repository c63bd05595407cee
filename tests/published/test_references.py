"""Every paper that a bound or an analysis names has an entry of BibTeX."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import shuffledp
from shuffledp.published import BOUNDS, PublishedBound
from shuffledp.published.bound import ROUNDS_BY
from shuffledp.published.random_allocation import TRAINING_BOUNDS, TrainingBound
from shuffledp.published.references import REFERENCES, references_in
from shuffledp.randomizers.analyses import SAMPLED, Analysis

#: Names with a year: families with commas between them, or the first of them.
NAMED = re.compile(r"(?:[A-Z][a-zA-Z]+, )*[A-Z][a-zA-Z]+(?: et al\.)? (?:19|20)\d\d")


def theorems() -> list[str]:
    """Of all analyses that any module of the package has by name."""
    names = [module.name for module in pkgutil.walk_packages(shuffledp.__path__, "shuffledp.")]
    skipped = ("__main__", "web")
    modules = [importlib.import_module(name) for name in names if name.split(".")[1] not in skipped]
    values = [value for module in modules for value in vars(module).values()]
    return [each.theorem for each in values if isinstance(each, Analysis)]


def test_every_paper_that_is_named_has_an_entry() -> None:
    texts = [bound.source for bound in BOUNDS] + [bound.source for bound in TRAINING_BOUNDS]
    texts += [bound.name for bound in BOUNDS] + [SAMPLED, *theorems()]
    named = {name for text in texts for name in NAMED.findall(text)}
    assert len(named) > 12
    for name in named:
        assert len(references_in(name)) == 1, name
    assert {paper.key for name in named for paper in references_in(name)} == {
        paper.key for paper in REFERENCES
    }


def test_the_page_lists_every_bound_with_its_papers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "published.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([^|]+) \| (.*)$", page, re.MULTILINE))
    bounds: list[PublishedBound | TrainingBound] = [*BOUNDS, *TRAINING_BOUNDS]
    for bound in bounds:
        source = bound.source.partition(ROUNDS_BY)[0]
        assert {paper.key for paper in references_in(source)} == cited(rows[bound.name])
    assert cited(page) <= {paper.key for paper in REFERENCES}


def cited(text: str) -> set[str]:
    """Keys of BibTeX in a page."""
    return set(re.findall(r"`([a-z]+\d{4}[a-z]+)`", text))


@pytest.mark.parametrize("paper", REFERENCES, ids=lambda paper: paper.key)
def test_entries_are_well_formed(paper: object) -> None:
    assert paper in REFERENCES
    (reference,) = [each for each in REFERENCES if each is paper]
    entry = reference.bibtex()
    assert entry.count("{") == entry.count("}")
    family = re.sub(r"\W", "", reference.names[0].partition(",")[0].split()[0]).lower()
    word = re.sub(r"\{\\.(\w)\}", r"\1", reference.title).lower()
    pieces = re.fullmatch(r"([a-z]+)(\d{4})([a-z]+)", reference.key)
    assert pieces is not None and pieces[1] == family and pieces[2] == str(reference.year)
    assert pieces[3] in word
    assert sum(each.key == reference.key for each in REFERENCES) == 1
