"""Every formula of the pages converts to MathML, and Markdown leaves it alone.

GitHub reads a page as Markdown before it typesets formulas, so a formula must hold nothing that
Markdown changes: an escaped bracket loses its backslash, and an underscore after a bracket begins
emphasis unless a space follows it. The site typesets formulas by latex2mathml.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
CODE = re.compile(
    r"^( *)```.*?^\1```$|(`+)[^`].*?\2|(?<=\n\n)(?:    .*\n)+", re.MULTILINE | re.DOTALL
)
DISPLAY = re.compile(r"(?<=\n\n)\$\$\n(.+?)\n\$\$(?=\n\n|\n?\Z)", re.DOTALL)
INLINE = re.compile(r"(?<![\w\\])\$([^\s$](?:[^\n$]*[^\s$])?)\$(?!\w)")


def formulas(text: str) -> tuple[list[str], str]:
    """Return the formulas of a page, displays and then others, and the page without them."""
    text = CODE.sub("", text)
    found = DISPLAY.findall(text)
    text = DISPLAY.sub("", text)
    return found + INLINE.findall(text), INLINE.sub("", text)


def changed_by_markdown(formula: str) -> list[str]:
    """Return what Markdown would take for its own syntax, or drop."""
    return re.findall(r"\\[{}_,;:!%|]|[^\w\s\\]_(?=\S)|\*|`|\||\]\(|<(?=\S)", formula)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_formula_is_typeset(page: Path) -> None:
    converter = pytest.importorskip(
        "latex2mathml.converter", reason="the site needs pip install 'shuffledp[docs]'"
    )
    found, rest = formulas(page.read_text(encoding="utf-8"))
    assert not re.search(r"(?<!\\)\$", rest), "a dollar sign outside of code belongs to no formula"
    for formula in found:
        assert formula.count("{") == formula.count("}"), formula
        assert "\\" not in converter.convert(formula), formula


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_markdown_leaves_formulas_alone(page: Path) -> None:
    for formula in formulas(page.read_text(encoding="utf-8"))[0]:
        assert changed_by_markdown(formula) == [], formula


def test_mistakes_are_found() -> None:
    page = (
        "Let $a_1$ and `$b$`, $10^{-6}$.\n\n$$\nx \\\\\ny\n$$\n\n    $ code $c$\n\n```\n$d$\n```\n"
    )
    found, rest = formulas(page)
    assert found == ["x \\\\\ny", "a_1", "10^{-6}"] and "$" not in rest
    for broken in ("$ x$", "$x $", "a$x$", "$x$y", "$x\ny$", "$x", "text\n$$\nx\n$$\n"):
        assert "$" in formulas(broken)[1], broken
    for formula in (r"\{x\}", "(S)_+", "[a](b)", "a|b", "a*b*c", r"a\,b", "a<b"):
        assert changed_by_markdown(formula), formula
    assert not changed_by_markdown(r"(S)_ + \le \lbrace s_+ \rbrace < b_i")
