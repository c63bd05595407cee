"""Formulas of the pages become MathML, and what cannot be typeset ends a strict build."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loading import load

pytest.importorskip("latex2mathml", reason="the site needs pip install 'shuffledp[docs]'")
markdown = pytest.importorskip("markdown", reason="the site needs pip install 'shuffledp[docs]'")

HOOK = Path(__file__).resolve().parents[2] / "docs" / "site" / "mathematics.py"

hook = load("site/mathematics.py")


def page(text: str) -> str:
    """A page as the site renders it, with the extensions that could interfere."""
    extensions = ["tables", "pymdownx.highlight", "pymdownx.superfences", hook.Mathematics()]
    return str(markdown.markdown(text, extensions=extensions))


def tags(latex: str, display: bool = False) -> list[str]:
    return [element.tag for element in hook.mathml(latex, display).iter()]


def test_a_formula_is_mathml_inline_and_on_lines_of_its_own() -> None:
    shown = page("Let $e^{\\varepsilon_0}$ be.\n\n$$\n\\frac{1}{n}\n$$\n")
    assert '<math display="inline"><mrow><msup><mi>e</mi>' in shown and "\u03b5" in shown
    assert '<span class="formula" tabindex="0"><math display="block">' in shown
    assert "<mfrac>" in shown and "$" not in shown


def test_emphasis_escapes_and_comparisons_belong_to_the_formula() -> None:
    shown = page("$a_*b_*c \\{x\\} a<b$ and *word*, $x$.")
    assert shown.count("<em>") == 1 and shown.count("<math") == 2
    assert "<mo>&lt;</mo>" in shown and "\\" not in shown
    assert '<span class="unbroken"><math' in shown  # the full stop stays beside x
    assert '<span class="unbroken">(<math' in page("($x$).")
    assert "</math>).</span>" in page("($x$).")


@pytest.mark.parametrize(
    "text",
    [
        "`$x$` and ``a $y$``",
        "```console\n$ echo $HOME $x$\n```",
        "```python\ncost = '$a$'\n```",
        '    eval "$(indented)" $x$',
    ],
)
def test_code_keeps_its_dollar_signs(text: str, caplog: pytest.LogCaptureFixture) -> None:
    shown = page(text)
    assert "<math" not in shown and shown.count("$") == text.count("$")
    assert not caplog.records


def test_a_price_is_escaped_and_a_lone_dollar_is_told(caplog: pytest.LogCaptureFixture) -> None:
    assert "for $5 or $6" in page("for \\$5 or \\$6") and not caplog.records
    page("for $5")
    assert "belongs to no formula" in caplog.text
    caplog.clear()
    page("| a |\n|---|\n| $x|y$ |")  # a bar ends a cell
    assert "belongs to no formula" in caplog.text


def test_names_of_functions_are_upright_and_apart() -> None:
    for latex in (r"\log x", r"2 \log x", r"\max_i x_i", r"\operatorname{Var} X"):
        assert "mspace" in tags(latex), latex
    for latex in (r"\log(x)", r"\operatorname{Var}(X)", r"a + b"):
        assert "mspace" not in tags(latex), latex
    assert hook.mathml(r"\mathrm{d}").find(".//mi").get("mathvariant") == "normal"
    assert hook.mathml("d").find(".//mi").get("mathvariant") is None


def test_signs_bars_and_slashes_have_no_space() -> None:
    for latex in ("-x", "(-x)", "a = -x", "e^{-x}", r"\exp(-x)", "a \\le -1"):
        assert [mark.get("form") for mark in signs(latex)] == ["prefix"], latex
    for latex in ("a - x", "(a) - x", "|a| - x", "n! - x", "x_1 - x", r"\dots - x"):
        assert [mark.get("form") for mark in signs(latex)] == [None], latex
    for latex in ("|x|", "1/n", r"P \| Q"):
        (mark, *_) = hook.mathml(latex).findall(".//mo")
        assert mark.get("lspace") == mark.get("rspace") == "0", latex


def signs(latex: str) -> list[Any]:
    return [mark for mark in hook.mathml(latex).iter("mo") if mark.text in ("-", "\u2212")]


def test_relations_are_operators_and_limits_stand_below() -> None:
    for latex in (r"Y \sim \omega", r"a \pm b", r"A \implies B", r"\lfloor x \rfloor"):
        assert "mo" in tags(latex), latex
    assert "".join(hook.mathml("a := b").itertext()) == "a\u2254b"
    assert "munder" in tags(r"\sup_x f", display=True) and "munder" not in tags(r"\sup_x f")


def test_lines_are_aligned() -> None:
    found = hook.mathml(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", display=True)
    assert len(found.findall(".//mtr")) == 2
    assert "&" not in "".join(found.itertext())


@pytest.mark.parametrize("latex", [r"\unknown x", r"\frac{1}{2", r"x^{", r"\left( x", r"\arg x"])
def test_what_cannot_be_typeset_is_refused(latex: str) -> None:
    with pytest.raises(hook.Formula):
        hook.mathml(latex)


def test_a_strict_build_fails_with_the_page_and_the_formula(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\n$x$\n", encoding="utf-8")
    (tmp_path / "docs" / "wrong.md").write_text("# Wrong\n\n$\\unknown{x}$\n", encoding="utf-8")
    settings = f"site_name: test\nhooks: ['{HOOK}']\n"
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert result.returncode != 0
    assert r"wrong.md: cannot typeset $\unknown{x}$: unknown command \unknown" in result.stderr
    assert "index.md" not in result.stderr
