"""`shuffledp adversaries`."""

from __future__ import annotations

from typing import Any

import click

from .._support.text import plain, rounded_down, rounded_up
from ..tools.adversaries import adversaries as ladder
from .options import (
    CSV,
    DELTA,
    JSON,
    ROUNDS,
    RTOL,
    USERS,
    options,
    randomizer_options,
    take_randomizer,
)
from .report import check_format, json_report


@click.command()
@options(*randomizer_options("rr"), USERS, ROUNDS, RTOL, JSON, CSV, DELTA)
def adversaries(
    delta: float, users: int, rounds: int, rtol: float, as_json: bool, as_csv: bool, **given: Any
) -> None:
    """What each piece of the adversary's knowledge costs.

    \b
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
      shuffledp adversaries --randomizer subset --k 8 --size 2 --eps0 2 --users 1e5 --delta 1e-6
    """
    check_format(as_json, as_csv)
    randomizer, protocol = take_randomizer(given)
    rows = ladder(randomizer, users, delta, rounds=rounds, rtol=rtol)
    if as_csv:
        click.echo(rows.to_csv(), nl=False)
        return
    if as_json:
        answer = {"delta": delta, "rows": [row._asdict() for row in rows]}
        protocol |= {"users": users, "rounds": rounds, "rtol": rtol}
        click.echo(json_report("adversaries", answer, protocol))
        return
    click.echo(
        f"{randomizer!r}, {rounds:,} x {users:,} users, delta = {plain(delta)}, replace-one."
    )
    click.echo("The adversary sees all messages, knows all other users' values, and ...\n")
    click.echo(f"{'analysis':<17}{'epsilon':>10}")
    for row in rows:
        value = f">= {rounded_down(row.lower)}" if row.upper is None else rounded_up(row.upper)
        click.echo(f"{row.analysis:<17}{value:>10}   {row.adversary}")
