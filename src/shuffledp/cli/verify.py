"""`shuffledp verify`."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..tools.verify import verify as enumerate_and_compare
from .numbers import Numbers
from .options import ANALYSIS, JSON, RTOL, SEEN, USERS, options, randomizer_options, take_randomizer
from .report import json_report

_VIOLATED = 1


@click.command()
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
    randomizer, protocol = take_randomizer(given)
    progress = _show_progress if sys.stderr.isatty() else None
    seen = {"view": view or "shuffle", "neighbours": neighbours or "replace"}
    result = enumerate_and_compare(
        randomizer, users, analysis, **seen, epsilons=epsilon, rtol=rtol, progress=progress
    )
    if as_json:
        rows = [row._asdict() for row in result.rows]
        answer = {"holds": result.holds, "datasets": result.datasets, "rows": rows}
        protocol = {"analysis": result.analysis, **seen, **protocol}
        protocol |= {"users": result.users, "rtol": rtol}
        click.echo(json_report("verify", answer, protocol))
    else:
        click.echo(str(result))
    sys.exit(0 if result.holds else _VIOLATED)


def _show_progress(done: int, total: int) -> None:
    end = "\r\x1b[K" if done == total else f"\renumerating {done} of {total}"
    click.echo(end, nl=False, err=True)
