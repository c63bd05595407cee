"""`shuffledp sweep`."""

from __future__ import annotations

import csv
import sys
from typing import Any

import click

from ..tools.options import JSON, RANDOMIZERS, RTOL, options
from ..tools.sweep import sweep as run_sweep
from .ranges import ranges
from .report import json_report

_SOME_FAILED = 1


@click.command()
@click.option("--randomizer", help=f"One of {', '.join(RANDOMIZERS)}.  [pure-ldp]")
@click.option("--analysis", help="best, blanket, stronger-clones, clones or strong; with commas.")
@click.option("--matrix", metavar="FILE", help="CSV file of probabilities (matrix).")
@options(*ranges("eps0", "gamma", "sigma", help="Parameter of the randomizer."))
@options(*ranges("k", "size", "g", whole=True, help="Parameter of the randomizer."))
@options(*ranges("users", whole=True, required=True, help="Users in each round."))
@options(*ranges("rounds", whole=True, help="How many rounds are composed.  [1]"))
@options(*ranges("sample-rate", help="Share of the users that send each round."))
@click.option("--sampling", help="fixed or poisson; with commas.")
@options(*ranges("colluding", "dropouts", help="Users who do not hide anybody, or their share."))
@options(*ranges("messages", whole=True, help="Messages of each user in a round.  [1]"))
@options(*ranges("delta", help="Find epsilon at these deltas."))
@options(*ranges("epsilon", help="Find delta at these epsilons."))
@options(RTOL)
@click.option("--out", metavar="FILE", help="A .csv or .jsonl file, continued if it has begun.")
@click.option(
    "--jobs", type=int, help="Cores; -1 for all.  [all with joblib installed, otherwise 1]"
)
@options(JSON)
def sweep(rtol: float, out: str | None, jobs: int | None, as_json: bool, **given: Any) -> None:
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
        values = value.split(",") if isinstance(value, str) and name != "matrix" else value
        if isinstance(values, list) and len(values) > 1:
            over[name] = values
        else:
            fixed[name] = values[0] if isinstance(values, list) else values
    table = run_sweep(over, out=out, jobs=jobs, rtol=rtol, **fixed)
    if as_json:
        click.echo(json_report("sweep", {"rows": list(table)}, {}))
    elif out is None:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(row.values() for row in table)
    if table.failed:
        click.echo(
            f"shuffledp: {len(table.failed)} of {len(table)} cells failed; the column error says "
            "why.",
            err=True,
        )
        sys.exit(_SOME_FAILED)
