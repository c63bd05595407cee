"""`shuffledp compare`."""

from __future__ import annotations

from typing import Any

from ..tools.compare import compare as comparison
from .figure import PICTURE, draw
from .options import BIBTEX, CSV, DELTA, PROTOCOL, TYPESET, command, make_round, options
from .report import epsilon_shortfall, print_answer


@command()
@options(*PROTOCOL, DELTA, CSV, *TYPESET, BIBTEX, *PICTURE)
def compare(
    rounds: int, delta: float, rtol: float, form: str, picture: str | None, **given: Any
) -> None:
    """Every bound of the literature that applies, beside ours, and why the others do not.

    \b
      shuffledp compare --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-5
      shuffledp compare --eps0 4 --users 1e4 --delta 1e-6 --latex > table.tex
      shuffledp compare --eps0 4 --users 1e4 --delta 1e-6 --bibtex > table.bib
    """
    round_ = make_round(given)
    table = comparison(round_, rounds, delta, rtol=rtol)
    draw(table.plot, picture)
    shortfall = epsilon_shortfall(delta, table.ours, rtol)
    rows = [row._asdict() for row in table.rows]
    answer = {"delta": delta, **table.ours._asdict(), "published": rows}
    print_answer(
        "compare", table, form, answer, round_, shortfall=shortfall, rounds=rounds, rtol=rtol
    )
