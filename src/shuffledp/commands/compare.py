"""`shuffledp compare`."""

from __future__ import annotations

from typing import Any

import click

from .._options import KIND, PROTOCOL, Number, build, options
from .._report import json_report
from ..compare import compare as comparison
from ..shuffle import Shuffle
from ._figure import savable, save


@click.command()
@options(*KIND, *PROTOCOL)
@click.option("--delta", type=Number(), required=True, help="The delta.")
@click.option("--plot", "picture", metavar="FILE", help="Draw it too: .png, .pdf or .svg.")
def compare(
    randomizer: str,
    users: int,
    analysis: str,
    sample_rate: float,
    sampling: str,
    rounds: int,
    delta: float,
    rtol: float,
    as_json: bool,
    picture: str | None,
    **parameters: Any,
) -> None:
    """Every bound of the literature that applies, beside ours, and why the others do not.

    \b
      shuffledp compare --eps0 3 --users 1e5 --sample-rate 0.01 --rounds 1000 --delta 1e-5
    """
    if picture is not None:
        savable(picture)
    round_ = Shuffle(build(randomizer, parameters), users, analysis, sample_rate, sampling)
    table = comparison(round_, rounds, delta, rtol=rtol)
    if picture is not None:
        save(table.plot(), picture)
    if not as_json:
        click.echo(str(table))
        return
    answer = {"delta": delta, "lower": table.ours.lower, "upper": table.ours.upper}
    rows = {"published": [row._asdict() for row in table.rows]}
    kind = {"analysis": round_.explained.name, "randomizer": randomizer, **parameters}
    sampled = {"sample_rate": sample_rate, "sampling": sampling, "rounds": rounds, "rtol": rtol}
    click.echo(json_report("compare", {**answer, **rows}, {**kind, "users": users, **sampled}))
