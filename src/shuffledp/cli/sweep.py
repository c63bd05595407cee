"""`shuffledp sweep`."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from ..tools.protocol import OF_REPORTS, VIEWS, files
from ..tools.sweep import sweep as run_sweep
from .figure import draw, picture_options
from .options import JSON, RTOL, numbers, options, randomizer_options
from .report import json_report

_SOME_FAILED = 1


@click.command()
@options(*randomizer_options(None, kind=numbers))
@click.option("--view", help=f"{' or '.join(VIEWS)}; with commas.")
@click.option("--neighbours", help="replace or remove; with commas.")
@click.option(
    "--analysis", help="best, exact, blanket, stronger-clones, clones or strong; with commas."
)
@options(
    numbers("users", "Users in each round.", whole=True),
    *(
        numbers(name, f"{parameter.meaning.capitalize()} (view threshold).", whole=parameter.whole)
        for name, parameter in OF_REPORTS.items()
    ),
    numbers("rounds", "How many rounds are composed.  [1]", whole=True),
    numbers("sample-rate", "Share of the users that send each round."),
    click.option("--sampling", help="fixed or poisson; with commas."),
    numbers("colluding", "Users who tell all they know, or their share."),
    numbers("dropouts", "Users who do not send, or their share."),
    numbers("messages", "Messages of each user in a round.  [1]", whole=True),
    numbers("delta", "Find epsilon at these deltas."),
    numbers("epsilon", "Find delta at these epsilons."),
)
@options(RTOL, *picture_options("--plot", "Draw it too: .png, .pdf or .svg."))
@click.option("--out", metavar="FILE", help="A .csv or .jsonl file, continued if it has begun.")
@click.option(
    "--jobs", type=int, help="Cores; -1 for all.  [all with joblib installed, otherwise 1]"
)
@options(JSON)
def sweep(
    rtol: float,
    out: str | None,
    jobs: int | None,
    as_json: bool,
    picture: str | None,
    **given: Any,
) -> None:
    """A table of certified values for every combination of parameters.

    Lists are numbers with commas or start:stop:step, the end included.

    \b
      shuffledp sweep --eps0 1:6:0.5 --users 1e3,1e4,1e5,1e6 --rounds 1,10,100 \\
          --delta 1e-6 --out sweep.csv
    """
    over, fixed = {}, {}
    for name, value in given.items():
        if value is None:
            continue
        values = value.split(",") if isinstance(value, str) and name not in files() else value
        if isinstance(values, list) and len(values) > 1:
            over[name] = values
        else:
            fixed[name] = values[0] if isinstance(values, list) else values
    table = run_sweep(over, out=out, jobs=jobs, rtol=rtol, **fixed)
    if picture is not None:
        from ..plotting import plot_sweep

        draw(partial(plot_sweep, table), picture)
    if as_json:
        click.echo(json_report("sweep", {"rows": list(table)}, {}, table.relation))
    elif out is None:
        click.echo(table.to_csv(), nl=False)
    if table.failed:
        click.echo(
            f"shuffledp: {len(table.failed)} of {len(table)} rows failed; the column error says "
            "why.",
            err=True,
        )
        sys.exit(_SOME_FAILED)
