"""`shuffledp adversaries`."""

from __future__ import annotations

from typing import Any

import click

from .._support.text import plain, rounded_down, rounded_up
from ..guarantee import NEIGHBOURS
from ..tools.adversaries import adversaries as ladder
from .options import (
    DELTA,
    JSON,
    ROUNDS,
    RTOL,
    SEEN,
    USERS,
    options,
    randomizer_options,
    take_randomizer,
)
from .report import json_report


@click.command()
@options(*randomizer_options("rr"), *SEEN[:2], USERS, ROUNDS, RTOL, JSON, DELTA)
def adversaries(
    delta: float,
    users: int,
    rounds: int,
    rtol: float,
    as_json: bool,
    view: str | None,
    neighbours: str | None,
    **given: Any,
) -> None:
    """What each piece of the adversary's knowledge costs.

    With --view aggregate: from seeing every message down to the sums.

    \b
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
      shuffledp adversaries --randomizer subset --k 8 --size 2 --eps0 2 --users 1e5 --delta 1e-6
      shuffledp adversaries --view aggregate --randomizer oue --k 8 --eps0 6 --users 9 --delta 1e-3
    """
    randomizer, protocol = take_randomizer(given)
    seen = {"view": view or "shuffle", "neighbours": neighbours or "replace"}
    rows = ladder(randomizer, users, delta, **seen, rounds=rounds, rtol=rtol)
    if as_json:
        answer = {"delta": delta, "rows": [row._asdict() for row in rows]}
        protocol |= {**seen, "users": users, "rounds": rounds, "rtol": rtol}
        click.echo(json_report("adversaries", answer, protocol))
        return
    relation = NEIGHBOURS[seen["neighbours"]][0]
    click.echo(f"{randomizer!r}, {rounds:,} x {users:,} users, delta = {plain(delta)}, {relation}.")
    sees = "sees all messages, " if seen["view"] == "shuffle" else ""
    click.echo(f"The adversary {sees}knows all other users' values, and ...\n")
    click.echo(f"{'analysis':<17}{'epsilon':>10}")
    for row in rows:
        value = f">= {rounded_down(row.lower)}" if row.upper is None else rounded_up(row.upper)
        click.echo(f"{row.analysis:<17}{value:>10}   {row.adversary}")
