"""Draws the views, who sees what, as SVG files in docs/views/: `make picture`.

All of them have three columns: those who hold data, the party between, and what the adversary
sees. Colours are those of the page around, so that they can be read on light and on dark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).with_name("views")
WIDTH, BOX, GAP, MARGIN = 524, 156, 22, 6
LINE, TOP = 16, 30
#: As an image by itself, which knows no page around it.
ALONE = "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#d1d7e0}}</style>"


@dataclass(frozen=True)
class View:
    """Who holds data, who stands between, and what is seen: a title and lines of text each."""

    holders: Sequence[Sequence[str]]
    between: Sequence[str]
    seen: Sequence[str]
    heads: tuple[str, str, str] = ("each user, alone", "trusted", "the adversary sees")

    @property
    def height(self) -> int:
        return TOP + max(self.left_height, box_height(self.between), box_height(self.seen)) + MARGIN

    @property
    def left_height(self) -> int:
        return sum(box_height(lines) + 12 for lines in self.holders) - 12

    def svg(self) -> str:
        """Return the picture."""
        lines = "".join(f"\n  {line}" for line in self.elements())
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'font-family="sans-serif" font-size="12.5" fill="currentColor">{lines}\n</svg>\n'
        )

    def elements(self) -> Iterator[str]:
        columns = [MARGIN + place * (BOX + GAP) for place in range(3)]
        for x, head in zip(columns, self.heads, strict=True):
            yield text(x + BOX / 2, 18, head, "font-style='italic' opacity='0.75'")
        middle = TOP + (self.height - TOP - MARGIN) / 2
        y = TOP + (self.height - TOP - MARGIN - self.left_height) / 2
        for lines in self.holders:
            yield from box(columns[0], y, lines, "fill='none' stroke='currentColor'")
            yield from arrow(columns[0] + BOX, y + box_height(lines) / 2, columns[1], middle)
            y += box_height(lines) + 12
        dashed = "fill='#3f74d1' fill-opacity='0.16' stroke='#5b8def' stroke-dasharray='5 3'"
        yield from box(columns[1], middle - box_height(self.between) / 2, self.between, dashed)
        yield from arrow(columns[1] + BOX, middle, columns[2], middle)
        bright = "fill='#e08a1e' fill-opacity='0.22' stroke='#e08a1e' stroke-width='2'"
        yield from box(columns[2], middle - box_height(self.seen) / 2, self.seen, bright)


def box_height(lines: Sequence[str]) -> int:
    return LINE * len(lines) + 14


def box(x: float, y: float, lines: Sequence[str], style: str) -> Iterator[str]:
    """A box with centred lines, of which the first is bold."""
    height = box_height(lines)
    yield f'<rect x="{x:g}" y="{y:g}" width="{BOX}" height="{height}" rx="6" {style}/>'
    for place, line in enumerate(lines):
        weight = "font-weight='bold'" if place == 0 else ""
        yield text(x + BOX / 2, y + 7 + LINE * place + 12, line, weight)


def text(x: float, y: float, line: str, style: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" {style}>{escape(line)}</text>'


def arrow(x: float, y: float, to_x: float, to_y: float) -> Iterator[str]:
    """A curve that arrives level, and its head."""
    bend = (x + to_x) / 2
    line = f"M{x:g} {y:g}C{bend:g} {y:g} {bend:g} {to_y:g} {to_x - 8:g} {to_y:g}"
    yield f'<path d="{line}" fill="none" stroke="currentColor" stroke-width="1.3"/>'
    yield f'<path d="M{to_x - 1:g} {to_y:g}l-9 -4.5v9z"/>'


VIEWS = {
    "shuffle": View(
        [["user 1", "randomizes the value"], ["user 2", "randomizes the value"],
         ["user n", "randomizes the value"]],
        ["shuffler", "removes the senders,", "mixes the messages"],
        ["every message", "in random order,", "without senders"],
    ),
    "aggregate": View(
        [["user 1", "adds a share of noise,", "or randomizes bits"],
         ["user 2", "adds a share of noise,", "or randomizes bits"],
         ["user n", "adds a share of noise,", "or randomizes bits"]],
        ["secure aggregation", "adds up, column", "by column"],
        ["the sums", "with the noise of all,", "no message"],
    ),
    "noise-messages": View(
        [["user 1", "sends the value itself", "and noise messages"],
         ["user 2", "sends the value itself", "and noise messages"],
         ["user n", "sends the value itself", "and noise messages"]],
        ["shuffler", "removes the senders,", "mixes all messages"],
        ["a noisy histogram", "values among noise", "messages that look alike"],
    ),
    "threshold": View(
        [["user 1", "reports the value itself"], ["user 2", "reports the value itself"],
         ["user n", "reports the value itself"]],
        ["collector", "keeps reports at", "a fixed rate, counts,",
         "hides small counts"],
        ["counts", "of the kept reports that", "reach the threshold"],
    ),
    "allocation": View(
        [["example 1", "goes to step 7"], ["example 2", "goes to step 2"],
         ["example n", "goes to step 7"]],
        ["trainer", "draws the steps, adds up", "clipped gradients", "and Gaussian noise"],
        ["a noisy sum per step", "and so every model,", "no batch and no size"],
        heads=("once in every epoch", "trusted", "the adversary sees"),
    ),
    "curator": View(
        [["record 1", "drawn with probability q"], ["record 2", "drawn with probability q"],
         ["record n", "drawn with probability q"]],
        ["curator or trainer", "draws afresh each time,", "adds up, adds noise"],
        ["noisy results", "not who was drawn,", "and not how many"],
        heads=("the data", "trusted", "the adversary sees"),
    ),
    "mixed": View(
        [["users of the old release", "randomizer with eps0 = 4"],
         ["users of the new release", "randomizer with eps0 = 2"]],
        ["shuffler", "one for both,", "removes the senders"],
        ["every message", "in random order, without", "senders or releases"],
    ),
}  # fmt: skip


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, view in VIEWS.items():
        picture = view.svg().replace(">", f">{ALONE}", 1)
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
