"""`shuffledp sweep`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, TypedDict

import click

from .._support.files import STDIN
from .._support.json_types import Bracket, Count, ErrorReport, Keywords, Positive, RoundReport
from ..errors import InvalidParameter, ShuffleDPError
from ..records import DESCRIPTION, described
from ..tools.protocol import files, round_of, split
from ..tools.sweep import SweepRow, SweepStopped
from ..tools.sweep import sweep as run_sweep
from .figure import PICTURE, draw
from .options import (
    BIBTEX,
    JSON,
    RTOL,
    TYPESET,
    command,
    lists_and_values,
    numbers,
    options,
    round_options,
)
from .report import ANSWER_IS_NO, end_with, json_report
from .values import Numbers


class SweptAnswer(RoundReport, Bracket):
    """A row of a sweep with an answer."""

    query: Literal["epsilon", "delta"]
    epsilon: float | None
    delta: float | None
    error: ErrorReport | None
    rounds: Count


#: What was asked for in a row that failed, as it was given.
AsGiven = float | str | None


class SweptFailure(TypedDict):
    """A row of a sweep that failed: what was asked for, as far as it was given."""

    query: Literal["epsilon", "delta"]
    epsilon: float | None
    delta: float | None
    lower: None
    upper: None
    error: ErrorReport
    rounds: float
    view: AsGiven
    randomizer: str | None
    mechanism: AsGiven
    parameters: dict[str, Any]
    """as they were asked for; a matrix by its file"""
    users: AsGiven
    sample_rate: AsGiven
    sampling: AsGiven
    colluding: AsGiven
    dropouts: AsGiven
    messages: AsGiven
    neighbours: AsGiven
    relation: AsGiven
    analysis: AsGiven
    theorem: AsGiven
    adversary: AsGiven
    assumptions: AsGiven


class SweepAnswer(TypedDict):
    """What `shuffledp sweep` answers."""

    rows: Annotated[Sequence[SweptAnswer | SweptFailure], Keywords(minItems=1)]
    """in the order of the values; if the sweep was stopped, the first of them"""
    rtol: Positive


@command()
@options(
    *round_options(None, Numbers),
    numbers("users", "Users in each round.", whole=True),
    numbers("rounds", "How many rounds are composed.  [1]", whole=True),
    numbers("delta", "Find epsilon at these deltas."),
    numbers("epsilon", "Find delta at these epsilons."),
    *(RTOL, *PICTURE),
)
@click.option(
    "--out",
    type=click.Path(),
    metavar="FILE",
    help="A .csv or .jsonl file, continued if it has begun.",
)
@click.option(
    "--jobs", type=int, help="Cores; -1 for all.  [all with joblib installed, otherwise 1]"
)
@options(JSON, *TYPESET, BIBTEX)
def sweep(
    rtol: float,
    out: str | None,
    jobs: int | None,
    form: str | None,
    picture: str | None,
    **given: Any,
) -> None:
    """A table of certified values for every combination of parameters.

    Lists are numbers with commas or start:stop:step, the end included.

    \b
      shuffledp sweep --eps0 1:6:0.5 --users 1e3,1e4,1e5,1e6 --rounds 1,10,100 \\
          --delta 1e-6 --out sweep.csv
    """
    for name in files():
        if given.get(name) == STDIN:
            raise InvalidParameter(f"--{name} - can be read only once; give a sweep a file.")
    over, fixed = lists_and_values(given)
    stopped = None
    try:
        table = run_sweep(over, out=out, jobs=jobs, rtol=rtol, **fixed)
    except SweepStopped as error:  # what was computed is an answer all the same
        stopped, table = error, error.table
    if picture is not None and stopped is None:
        from ..plotting import plot_sweep

        draw(partial(plot_sweep, table), picture)
    if form == "json":
        rows = [_row(row) for row in table]
        answer: SweepAnswer = {"rows": rows, "rtol": rtol}
        click.echo(json_report("sweep", answer, error=stopped))
    elif form is not None or out is None:
        click.echo(getattr(table, f"to_{form or 'csv'}")(), nl=False)
    if stopped is not None:
        end_with(stopped)
    if table.failed:
        click.echo(
            f"shuffledp: {len(table.failed)} of {len(table)} rows failed; the column error says "
            "why.",
            err=True,
        )
        sys.exit(ANSWER_IS_NO)


def _row(row: SweepRow) -> Any:
    """A row as the round that it is; of a round that cannot be, what was asked for."""
    try:
        description = described(round_of(row))
    except ShuffleDPError:
        kind, parameters, asked = split(row)
        asked |= {"users": row.get("users"), "randomizer": kind, "parameters": parameters}
        description = {name: asked.get(name) for name in DESCRIPTION}
    query = "epsilon" if "delta" in row else "delta"
    lower, upper = row[f"{query}_lower"], row[f"{query}_upper"]
    known = None if lower is None else {"lower": lower, "upper": upper}
    kind = "failed" if known is None else "not-certified"
    error = {"kind": kind, "message": row["error"], "bounds": known, "nearest": None}
    return {
        "query": query,
        **{name: row.get(name) for name in ("epsilon", "delta")},
        "lower": lower,
        "upper": upper,
        "error": error if row["error"] else None,
        **description,
        "rounds": row.get("rounds", 1),
    }
