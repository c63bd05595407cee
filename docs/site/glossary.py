"""Links the first use of each word of the glossary on a page to its entry.

`glossary.md` is the only list of words: every heading of the third level is one, and a line that
begins with *Also:* names others for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from markdown import Extension, Markdown
from markdown.extensions.toc import slugify
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

GLOSSARY = Path(__file__).resolve().parents[1] / "glossary.md"
#: Pages for readers of proofs and of signatures, and those about the project itself.
UNLINKED = ("theory/", "reference/", "glossary.md", "CONTRIBUTING.md", "CHANGELOG.md")
#: Where no link is put: code, formulas, headings, other links.
CLOSED = {"a", "code", "pre", "math", "svg", "th", *(f"h{level}" for level in range(1, 7))}


def entries(text: str) -> dict[str, str]:
    """Return the anchor of every word of a glossary, in small letters.

    >>> entries("### Noise message\\n\\nOnly noise.\\n*Also:* dummy; dummies.\\n")
    {'noise message': 'noise-message', 'dummy': 'noise-message', 'dummies': 'noise-message'}
    """
    found = {}
    for title, body in re.findall(
        r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL
    ):
        also = re.search(r"^\*Also:\* (.+)\.$", body, re.MULTILINE)
        for word in (title, *(also.group(1).split("; ") if also else ())):
            found[word.lower()] = slugify(title, "-")
    return found


def pattern(words: dict[str, str]) -> re.Pattern[str]:
    """Return what finds any of the words, the longest first, also in the plural."""
    each = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<![\w^-])({each})(?:e?s)?(?![\w-])", re.IGNORECASE)


class Linker:
    """Links words on one page, each entry once."""

    def __init__(self, words: dict[str, str], address: str) -> None:
        self.words, self.address, self.pattern = words, address, pattern(words)
        self.linked: set[str] = set()

    def visit(self, element: ET.Element) -> None:
        """Link words in an element and all that it holds, in the order of reading."""
        children = list(element)
        if element.tag not in CLOSED:
            links = self.links(element.text)
            if links is not None:
                element.text = links[0]
                for place, link in enumerate(links[1]):
                    element.insert(place, link)
        for child in children:
            if element.tag not in CLOSED:
                self.visit(child)
                links = self.links(child.tail)
                if links is not None:
                    child.tail = links[0]
                    place = list(element).index(child) + 1
                    for offset, link in enumerate(links[1]):
                        element.insert(place + offset, link)

    def links(self, text: str | None) -> tuple[str, list[ET.Element]] | None:
        """Return the text before the first link, and links with the text that follows each."""
        if not text or isinstance(text, AtomicString):
            return None
        found = list(self.first_uses(text))
        if not found:
            return None
        links = []
        ends = [match.start() for match in found[1:]] + [len(text)]
        for match, end in zip(found, ends, strict=True):
            anchor = self.words[match.group(1).lower()]
            link = ET.Element("a", {"class": "term", "href": f"{self.address}#{anchor}"})
            link.text, link.tail = AtomicString(match.group(0)), text[match.end() : end]
            links.append(link)
        return text[: found[0].start()], links

    def first_uses(self, text: str) -> Iterator[re.Match[str]]:
        for match in self.pattern.finditer(text):
            anchor = self.words[match.group(1).lower()]
            if anchor not in self.linked:
                self.linked.add(anchor)
                yield match


_linker: list[Linker | None] = [None]


class FirstUses(Treeprocessor):  # type: ignore[misc]
    """Links words of the page that is being rendered."""

    def run(self, root: ET.Element) -> None:
        if _linker[0] is not None:
            _linker[0].visit(root)


class Glossary(Extension):  # type: ignore[misc]
    """Runs when code and formulas are known, and before links between pages are resolved."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(FirstUses(md), "first_uses", 15)


def on_config(config: Any) -> Any:
    config.markdown_extensions.append(Glossary())
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Begin anew on every page."""
    path = page.file.src_uri
    up = "../" * path.count("/")
    words = entries(GLOSSARY.read_text(encoding="utf-8"))
    _linker[0] = None if path.startswith(UNLINKED) else Linker(words, f"{up}glossary.md")
    return markdown
