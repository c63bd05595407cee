"""`shuffledp verify`."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..tools.protocol import of_users
from ..tools.verify import verify as enumerate_and_compare
from .numbers import Numbers
from .options import (
    ANALYSIS,
    JSON,
    RTOL,
    SEEN,
    USERS,
    command,
    options,
    randomizer_options,
    take_randomizer,
)
from .report import ANSWER_IS_NO, json_report


@command()
@options(*randomizer_options("matrix"), *SEEN[:2], ANALYSIS, USERS, RTOL, JSON)
@click.option("--epsilon", type=Numbers(), help="Epsilons, with commas; else shares of the most.")
def verify(
    users: int,
    analysis: str | None,
    view: str | None,
    neighbours: str | None,
    rtol: float,
    as_json: bool,
    epsilon: list[float] | None,
    **given: Any,
) -> None:
    """Enumerate a small round exactly and hold the bounds against it; exit code 1 if one fails.

    \b
      shuffledp verify --matrix R.csv --users 5
      shuffledp verify --randomizer rr --k 3 --gamma 0.5 --users 8 --analysis stronger-clones
      shuffledp verify --randomizer unary --k 3 --eps0 2 --users 4 --view aggregate
    """
    randomizer = take_randomizer(given)
    seen = {"view": view or "shuffle", "neighbours": neighbours or "replace"}
    result = enumerate_and_compare(randomizer, users, analysis, **seen, epsilons=epsilon, rtol=rtol)
    if as_json:
        rows = [row._asdict() for row in result.rows]
        answer = {"holds": result.holds, "datasets": result.datasets, "rows": rows}
        asked = {"analysis": result.analysis} if seen["view"] == "shuffle" else {}
        round_ = of_users(randomizer, users, **seen, **asked)
        click.echo(json_report("verify", answer, round_, rtol=rtol))
    else:
        click.echo(str(result))
    sys.exit(0 if result.holds else ANSWER_IS_NO)
