"""Documents to sign: what they say about themselves, their glossary, and how they are printed."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from typing import Any

from .._support import validate
from .._support.extras import load
from .._support.tables import Table, escape_markdown, text_table
from .._support.text import PAGE, line_width, wrapped
from ..errors import InvalidParameter


@dataclass(frozen=True)
class DocumentDetails:
    """What a document says about itself. What is not given is left blank, to be filled in by hand.

    Parameters
    ----------
    title : str
        The heading of the document.
    owner, purpose : str, optional
        Who runs the collections, and what the data are collected for.
    date : str or datetime.date, optional
        The date of the document, as its author gives it; no clock is read.
    version : str, optional
        The version of the document.
    signatures : sequence of str
        Who signs: a line for each role, with blanks for a name, place, date and signature.

    Raises
    ------
    InvalidParameter
        If one of them is not a line of text.

    Examples
    --------
    >>> DocumentDetails(date="2026-01-31", signatures=["Controller"]).title
    'Privacy account'
    """

    title: str = "Privacy account"
    owner: str | None = None
    purpose: str | None = None
    date: str | datetime.date | None = None
    version: str | None = None
    signatures: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.date, datetime.date):
            object.__setattr__(self, "date", str(self.date))
        for name in ("title", "owner", "purpose", "date", "version"):
            if name == "title" or getattr(self, name) is not None:
                check_line(name, getattr(self, name))
        if not isinstance(self.signatures, list | tuple):
            shown = validate.show(self.signatures)
            raise InvalidParameter(
                f"signatures={shown} is not a list; write one line of text for each role, as in "
                'signatures = ["Controller"].'
            )
        for line in self.signatures:
            check_line("signatures", line)
        object.__setattr__(self, "signatures", tuple(self.signatures))

    def updated(self, **given: Any) -> DocumentDetails:
        """The same with everything that is given: None, and an empty list, change nothing."""
        return replace(self, **{name: value for name, value in given.items() if value})

    def as_dict(self) -> dict[str, Any]:
        """All of it, for a report."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def check_line(what: str, text: Any) -> None:
    """Anything that can be printed in a line."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        wrong = "is not a line of text; give one that can be printed"
        raise InvalidParameter(f"{what}={validate.show(text)} {wrong}.")


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it in this order."""

    heading: str
    paragraphs: Sequence[str] = ()
    table: Table | None = None
    facts: Sequence[tuple[str, str]] = ()
    level: int = 2
    kind: str = ""  # how a page shows it: "claim", whose first paragraph stands out, "signatures"

    @property
    def texts(self) -> Iterator[str]:
        """All that it says."""
        yield from (self.heading, *self.paragraphs)
        for row in (self.table[0], *self.table[1]) if self.table else ():
            yield from row
        for fact in self.facts:
            yield from fact


@dataclass(frozen=True)
class Document:
    """Sections below a title. Markdown and HTML are made by the templates beside this module."""

    title: str
    sections: Sequence[Section]

    def text(self) -> str:
        """As text, in lines that fit the terminal."""
        lines = [wrapped(self.title, piped=PAGE)]
        for section in self.sections:
            lines += ["", wrapped(section.heading, piped=PAGE)] if section.heading else [""]
            lines += [wrapped(text, "  ", 2, piped=PAGE) for text in section.paragraphs]
            if section.table:
                table = text_table(*section.table, left=[0], room=line_width() - 2).splitlines()
                lines += [f"  {line}" for line in table]
            width = max((len(name) for name, _ in section.facts), default=0) + 2
            for name, text in section.facts:
                lines.append(wrapped(text, f"  {name:<{width}}", width + 2, piped=PAGE))
        return "\n".join(lines)

    def markdown(self) -> str:
        """As Markdown; needs the extra `documents`."""
        return self._rendered("document.md")

    def html(self) -> str:
        """As a page of its own, for a screen and for A4 or letter paper; needs `documents`."""
        return self._rendered("document.html")

    def _rendered(self, template: str) -> str:
        made: str = _template(template).render(title=self.title, sections=self.sections)
        return made.strip()


@cache
def _template(name: str) -> Any:
    """A template that escapes every value: jinja2 does it for HTML, `finalize` for Markdown."""
    jinja2 = load("jinja2", "documents in Markdown and HTML need", "'shuffledp[documents]'")
    is_html = name.endswith(".html")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shuffledp.tools", "templates"),
        autoescape=is_html,
        finalize=None if is_html else escape_markdown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


@cache
def known_terms() -> dict[str, dict[str, str]]:
    """Every term that can be explained, with a pattern that finds it and what it means."""
    file = resources.files(__package__).joinpath("templates", "glossary.toml")
    return tomllib.loads(file.read_text("utf-8"))


def terms_of(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Every term that the texts use, or that explains one of these, with what it means.

    >>> [term for term, _ in terms_of(["a central mechanism"])]
    ['central mechanism']
    """
    found: dict[str, str] = {}
    said = list(texts)
    while said:
        new = {
            name: term["meaning"]
            for name, term in known_terms().items()
            if name not in found and any(re.search(term["pattern"], text) for text in said)
        }
        found |= new
        said = list(new.values())
    return [(name, found[name]) for name in known_terms() if name in found]
