"""A short document of headings, paragraphs, facts and tables: as text, Markdown and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .._support.tables import TableRow, html_table, text_table
from .._support.text import PAGE, line_width, wrapped

#: For a screen and for A4 or letter paper: no entry of the account is torn apart between pages.
_STYLE = """
:root{color-scheme:light dark;--line:#8886;--soft:#8881}
body{font:16px/1.5 Georgia,"Liberation Serif",serif;max-width:46rem;margin:3rem auto;padding:0 1rem}
h1{font-size:1.9rem;border-bottom:3px double;padding-bottom:.4rem}
h2{font-size:1.3rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
.claim{font-size:1.15rem;padding:.7rem 1rem;background:var(--soft);border-left:4px solid}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.94rem;font-variant-numeric:tabular-nums}
td,th{padding:.35rem .6rem;text-align:right;border-bottom:1px solid var(--line)}
thead th{border-bottom:2px solid;font-weight:600}
th:first-child{text-align:left}tbody th{font-weight:normal}
dl{display:grid;grid-template-columns:11rem 1fr;gap:.35rem 1.2rem;margin:.6rem 0}
dt{font-style:italic}dd{margin:0;overflow-wrap:anywhere}
@media(max-width:34rem){dl{display:block}dd{margin:0 0 .6rem 1rem}}
@media print{@page{margin:2cm}body{font-size:10.5pt;margin:0;max-width:none}
h1,h2,h3{break-after:avoid}dl,table,tr{break-inside:avoid}}
"""


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it in this order."""

    heading: str
    paragraphs: Sequence[str] = ()
    table: tuple[TableRow, Sequence[TableRow]] | None = None
    facts: Sequence[tuple[str, str]] = ()
    level: int = 2
    claims: bool = False  # does the first paragraph say what all of it is about?


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
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>",
        ]
        for section in self.sections:
            parts.append(_tag(f"h{section.level}", section.heading))
            first = ' class="claim"' if section.claims else ""
            for text in section.paragraphs:
                parts.append(_tag("p", text, first))
                first = ""
            if section.table:
                table = html_table("", *section.table, named_by=0)
                parts.append(f'<div class="scroll">{table}</div>')
            facts = "".join(_tag("dt", name) + _tag("dd", text) for name, text in section.facts)
            parts += [f"<dl>{facts}</dl>"] if facts else []
        return "\n".join([*parts, "</body></html>"])


def _tag(name: str, text: str, more: str = "") -> str:
    return f"<{name}{more}>{html.escape(text)}</{name}>"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)
