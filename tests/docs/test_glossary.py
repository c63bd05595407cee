"""The first use of each word of the glossary is linked, and nothing else."""

import re
from pathlib import Path

import pytest

from loading import load

markdown = pytest.importorskip("markdown", reason="the site needs pip install 'shuffledp[docs]'")

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

hook = load("site/glossary.py")
WORDS = {"round": "round", "noise message": "noise-message", "dummies": "noise-message"}


def linked(text: str) -> str:
    """A page with links to a small glossary, as the site makes them."""
    hook._linker[0] = hook.Linker(WORDS, "glossary.md")
    shown = markdown.markdown(text, extensions=["tables", hook.Glossary()])
    return re.sub(r'<a class="term" href="glossary\.md#([\w-]+)">(.*?)</a>', r"[\2>\1]", shown)


def test_the_first_use_of_each_entry_is_linked() -> None:
    assert linked("One round, two rounds, *dummies*, noise messages.") == (
        "<p>One [round>round], two rounds, <em>[dummies>noise-message]</em>, noise messages.</p>"
    )
    assert linked("Rounds of noise\nmessages; noise messages.") == (
        "<p>[Rounds>round] of noise\nmessages; [noise messages>noise-message].</p>"
    )


def test_the_order_is_that_of_reading() -> None:
    assert linked("a *b round c* round\n\nround") == (
        "<p>a <em>b [round>round] c</em> round</p>\n<p>round</p>"
    )


@pytest.mark.parametrize(
    "text",
    ["# A round", "`round`", "[a round](x.md)", "    round", "rounded, round-off, e^round",
     "| round |\n|---|\n| x |"],
)  # fmt: skip
def test_headings_code_links_and_other_words_are_left(text: str) -> None:
    assert ">round]" not in linked(text) and ">round]" in linked(f"{text}\n\nThe round.")


def test_every_word_belongs_to_one_entry_of_a_few_sentences() -> None:
    listed = re.findall(r"^\*Also:\* (.+)\.$", TEXT, re.MULTILINE)
    titles = re.findall(r"^### (.+)$", TEXT, re.MULTILINE)
    words = titles + [word for line in listed for word in line.split("; ")]
    lowered = [word.lower() for word in words]
    assert len(lowered) == len(set(lowered)) == len(hook.entries(TEXT))
    for body in re.split(r"^##+ .*$", TEXT, flags=re.MULTILINE)[1:]:
        prose = re.sub(r"^\*Also:\*.*$", "", body, flags=re.MULTILINE)
        assert len(re.findall(r"\.(?:\s|$)", prose)) <= 3, body
