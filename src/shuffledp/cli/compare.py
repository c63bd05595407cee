"""`shuffledp compare`."""

from __future__ import annotations

from typing import Any

import click

from ..tools.compare import compare as comparison
from .figure import PICTURE, draw
from .options import CSV, DELTA, PROTOCOL, command, options, take_round
from .report import check_format, end_unless_answered, epsilon_shortfall, json_report


@command()
@options(*PROTOCOL, DELTA, CSV, *PICTURE)
def compare(
    rounds: int,
    delta: float,
    rtol: float,
    as_json: bool,
    as_csv: bool,
    picture: str | None,
    **given: Any,
) -> None:
    """Every bound of the literature that applies, beside ours, and why the others do not.

    \b
      shuffledp compare --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-5
    """
    check_format(as_json, as_csv)
    round_ = take_round(given)
    table = comparison(round_, rounds, delta, rtol=rtol)
    draw(table.plot, picture)
    shortfall = epsilon_shortfall(delta, table.ours, rtol)
    if as_csv:
        click.echo(table.to_csv(), nl=False)
    elif as_json:
        answer = {"delta": delta, "lower": table.ours.lower, "upper": table.ours.upper}
        rows = {"published": [row._asdict() for row in table.rows]}
        asked = {"rounds": rounds, "rtol": rtol}
        click.echo(json_report("compare", {**answer, **rows}, round_, error=shortfall, **asked))
    else:
        click.echo(str(table))
    end_unless_answered(shortfall)
