"""A short document of headings, paragraphs, facts and tables: as text, Markdown and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .._support.tables import Row, text_table
from .._support.text import PAGE, line_width, wrapped

_STYLE = (
    "body{font-family:serif;max-width:46em;margin:3em auto;padding:0 1em;line-height:1.4}"
    "table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .6em;text-align:left}"
    "dt{font-weight:bold}dd{margin:0 0 .5em 1.5em}"
)


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it in this order."""

    heading: str
    paragraphs: Sequence[str] = ()
    table: tuple[Row, Sequence[Row]] | None = None
    facts: Sequence[tuple[str, str]] = ()
    level: int = 2


@dataclass(frozen=True)
class Document:
    """Sections below a title."""

    title: str
    sections: Sequence[Section]

    def text(self) -> str:
        lines = [wrapped(self.title, piped=PAGE)]
        for section in self.sections:
            lines += ["", wrapped(section.heading, piped=PAGE)]
            lines += [wrapped(text, "  ", 2, piped=PAGE) for text in section.paragraphs]
            if section.table:
                table = text_table(*section.table, left=[0], room=line_width() - 2).splitlines()
                lines += [f"  {line}" for line in table]
            wide = max((len(name) for name, _ in section.facts), default=0) + 2
            for name, text in section.facts:
                lines.append(wrapped(text, f"  {name:<{wide}}", wide + 2, piped=PAGE))
        return "\n".join(lines)

    def markdown(self) -> str:
        parts = [f"# {_plain(self.title)}"]
        for section in self.sections:
            parts.append(f"{'#' * section.level} {_plain(section.heading)}")
            parts += map(_plain, section.paragraphs)
            if section.table:
                head, rows = section.table
                lines = [head, ["---"] * len(head), *(map(_plain, row) for row in rows)]
                parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
            facts = [f"* **{name}**: {_plain(text)}" for name, text in section.facts]
            if facts:
                parts.append("\n".join(facts))
        return "\n\n".join(parts)

    def html(self) -> str:
        title = html.escape(self.title)
        parts = [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>",
        ]
        for section in self.sections:
            parts.append(_tag(f"h{section.level}", section.heading))
            parts += [_tag("p", text) for text in section.paragraphs]
            if section.table:
                head, rows = section.table
                lines = ["".join(_tag("th", cell) for cell in head)]
                lines += ["".join(_tag("td", cell) for cell in row) for row in rows]
                parts.append(f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>")
            facts = "".join(_tag("dt", name) + _tag("dd", text) for name, text in section.facts)
            parts += [f"<dl>{facts}</dl>"] if facts else []
        return "\n".join([*parts, "</body></html>"])


def _tag(name: str, text: str) -> str:
    return f"<{name}>{html.escape(text)}</{name}>"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)
