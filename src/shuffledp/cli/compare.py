"""`shuffledp compare`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from .._support.json_types import Bracket, Probability, RoundsAsked, Value
from ..tools.compare import compare as comparison
from .figure import PICTURE, draw
from .options import BIBTEX, CSV, DELTA, PROTOCOL, TYPESET, command, make_round, options
from .report import epsilon_shortfall, print_answer


class PublishedRow(TypedDict):
    """The epsilon of one bound of the literature."""

    name: str
    epsilon: Value | None
    """null if the bound does not apply: reason says why"""
    ratio: Value | None
    """to our upper value, if that is positive and finite"""
    source: str
    reason: str
    composition: str | None
    """how several rounds were composed; null for a single one, or if the bound does not apply"""


class CompareAnswer(Bracket, RoundsAsked):
    """What `shuffledp compare` answers."""

    delta: Probability
    composition: str | None
    """how our bounds compose several rounds; null for a single one"""
    published: Sequence[PublishedRow]


@command()
@options(*PROTOCOL, DELTA, CSV, *TYPESET, BIBTEX, *PICTURE)
def compare(
    rounds: int, delta: float, rtol: float, form: str, picture: str | None, **given: Any
) -> None:
    """Compare with the published bounds that apply, and say why others do not.

    \b
      shuffledp compare --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-5
      shuffledp compare --eps0 4 --users 1e4 --delta 1e-6 --latex > table.tex
      shuffledp compare --eps0 4 --users 1e4 --delta 1e-6 --bibtex > table.bib
    """
    round_ = make_round(given)
    table = comparison(round_, rounds, delta, rtol=rtol)
    draw(table.plot, picture)
    shortfall = epsilon_shortfall(delta, table.ours, rtol)
    rows: list[Any] = [row._asdict() for row in table.rows]
    answer: CompareAnswer = {
        "delta": delta,
        "lower": table.ours.lower,
        "upper": table.ours.upper,
        "composition": table.composition,
        "published": rows,
        "rounds": rounds,
        "rtol": rtol,
    }
    print_answer("compare", table, form, answer, round_, shortfall=shortfall)
