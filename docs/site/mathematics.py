r"""Typesets formulas as MathML while the site is built: `$x$` in a line, `$$x$$` as a display.

A formula that cannot be typeset is a warning with its page, which ends a strict build. Write `\$`
for a dollar sign that belongs to no formula; code keeps its own.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

log = logging.getLogger("mkdocs.hooks.mathematics")
#: One or two dollar signs, the formula, and the same; around it what must stay in its line.
FORMULA = (
    r"(?P<before>\(*)(?<![\\$])(?P<sign>\${1,2})(?!\$)(?P<latex>.+?)(?<!\\)(?P=sign)(?!\$)"
    r"(?P<after>[,.;:!?)\]]*)"
)
THIN = "0.167em"
SCRIPTS = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
#: Where the indices of a limit stand in a display.
BELOW = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
LIMITS = {"lim", "max", "min", "sup", "inf"}
#: Written as letters by latex2mathml, although they are relations or operators.
OPERATORS = {"~": "\u223c", ":": ":"}


class Formula(ValueError):
    """A formula that cannot be typeset, and why."""


def mathml(latex: str, display: bool = False) -> ET.Element:
    r"""Return a formula as MathML.

    Raises
    ------
    Formula
        If braces are not closed or a command is not known.

    >>> mathml(r"e^\varepsilon")[0][0].tag
    'msup'
    >>> mathml(r"\unknown{x}")
    Traceback (most recent call last):
        ...
    mathematics.Formula: unknown command \unknown
    """
    bare = re.sub(r"\\[{}]", "", latex)
    if bare.count("{") != bare.count("}"):
        raise Formula("the braces do not match")
    # the environment of GitHub and of TeX; inside a display latex2mathml has it under another name
    known = re.sub(r"\\(begin|end)\{aligned\}", r"\\\1{align*}", latex)
    known = known.replace(":=", r"\coloneqq ")
    try:
        text = convert(known, display="block" if display else "inline")
        # a single upright letter is told from an italic one by its being escaped
        text = re.sub(r"<mi>(&#x000[4-7][0-9A-F];)</mi>", r'<mi mathvariant="normal">\1</mi>', text)
        root = ET.fromstring(text.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', ""))
    except Exception as error:  # whatever the parser stumbles over
        raise Formula(f"{type(error).__name__} {error}".strip()) from error
    for element in root.iter():
        if "\\" in (element.text or ""):
            raise Formula(f"unknown command {element.text}")
        if element.tag == "mi" and is_operator(element.text or ""):
            element.tag, element.text = "mo", OPERATORS.get(element.text or "", element.text)
        if element.tag == "mo" and (is_name(element) or element.text in ("\u2026", "\u22ef")):
            element.tag = "mi"
        if element.tag == "mo" and element.text in ("/", "|", "\u2016"):
            element.attrib.update(lspace="0", rspace="0")  # as in TeX
        if display and element.tag in BELOW and element[0].text in LIMITS:
            element.tag = BELOW[element.tag]
    for row in list(root.iter()):
        if row.tag in ("mrow", "mtd", "mstyle", "msqrt"):
            space_names(row)
            mark_signs(row)
    return root


def is_operator(text: str) -> bool:
    return text in OPERATORS or (
        len(text) == 1 and unicodedata.category(text) in ("Sm", "Ps", "Pe")
    )


def is_name(element: ET.Element) -> bool:
    """Is it the name of a function, such as log or max, with or without indices?"""
    if element.tag in SCRIPTS:
        return len(element) > 0 and is_name(element[0])
    text = element.text or ""
    return element.tag in ("mi", "mo") and len(text) > 1 and text[0].isalpha()


def space_names(row: ET.Element) -> None:
    """Put thin spaces around names of functions, as TeX does: not before a parenthesis."""
    parts = list(row)
    for part, following in reversed(list(pairwise(parts))):
        opens = following.tag == "mo" or (following.tag == "mrow" and is_fenced(following))
        after_name = is_name(part) and not opens and following.tag not in ("mspace", "mtext")
        before_name = is_name(following) and (
            part.tag not in ("mo", "mspace", "mtext") or closes(part)
        )
        if after_name or before_name:
            row.insert(list(row).index(following), ET.Element("mspace", {"width": THIN}))


def mark_signs(row: ET.Element) -> None:
    """Mark signs of numbers, which have less space than sums and differences."""
    for before, part in pairwise([None, *row]):
        alone = before is None or (before.tag == "mo" and not closes(before))
        if alone and part is not None and part.tag == "mo" and part.text in ("-", "\u2212", "+"):
            part.set("form", "prefix")


def is_fenced(row: ET.Element) -> bool:
    return len(row) > 0 and row[0].tag == "mo"


def closes(part: ET.Element) -> bool:
    return (part.text or "") in (")", "]", "}", "|", "!", "\u230b", "\u2309")


class Typesetter(InlineProcessor):  # type: ignore[misc]
    """Replaces a formula by its MathML, and a display by MathML that scrolls if it is wide."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[ET.Element, int, int]:
        display = m["sign"] == "$$"
        try:
            formula = mathml(m["latex"].strip(), display)
        except Formula as error:
            warn(f"cannot typeset {m['sign']}{m['latex']}{m['sign']}: {error}")
            formula = ET.Element("code")
            formula.text = AtomicString(m["latex"])
        if not display and not m["before"] and not m["after"]:
            return formula, m.start(0), m.end(0)
        box = ET.Element("span", {"class": "formula" if display else "unbroken"})
        if display:
            box.set("tabindex", "0")  # so that keys can scroll it
        box.text, formula.tail = AtomicString(m["before"]), AtomicString(m["after"])
        box.append(formula)
        return box, m.start(0), m.end(0)


class LoneDollars(Treeprocessor):  # type: ignore[misc]
    """Warns of dollar signs that belong to no formula."""

    def run(self, root: ET.Element) -> None:
        for element in root.iter():
            if element.tag not in ("code", "pre"):
                self.check(element.text)
            self.check(element.tail)

    @staticmethod
    def check(text: str | None) -> None:
        if text and "$" in text:
            warn(rf"a dollar sign that belongs to no formula (write \$): {text.strip()[:60]!r}")


class Mathematics(Extension):  # type: ignore[misc]
    """Typesets formulas, before anything else but code is looked for."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.ESCAPED_CHARS.append("$")
        md.inlinePatterns.register(Typesetter(FORMULA, md), "mathematics", 189)
        md.treeprocessors.register(LoneDollars(md), "lone_dollars", 19)  # after inline patterns


_page = ["a page"]


def warn(text: str) -> None:
    log.warning("%s: %s", _page[0], text)


def on_config(config: Any) -> Any:
    config.markdown_extensions.append(Mathematics())
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Remember the page, for warnings."""
    _page[0] = page.file.src_uri
    return markdown
