"""`shuffledp adversaries`."""

from __future__ import annotations

from typing import Any

import click

from .._support.numeric import Bounds
from .._support.text import rounded_down, rounded_up, wrapped
from ..bounds.certificate import too_wide
from ..errors import NotCertified
from ..tools.adversaries import adversaries as ladder
from ..tools.ladder import Ladder
from ..tools.protocol import of_users, split
from .options import (
    CSV,
    DELTA,
    JSON,
    PEOPLE,
    ROUNDS,
    RTOL,
    SAMPLING,
    SEEN,
    USERS,
    command,
    options,
    randomizer_options,
    take_randomizer,
)
from .report import check_format, end_unless_answered, epsilon_shortfall, json_report


@command()
@options(
    *randomizer_options("rr"), *SEEN[:2], USERS, *SAMPLING, *PEOPLE, ROUNDS, RTOL, JSON, CSV, DELTA
)
def adversaries(
    delta: float, users: int, rounds: int, rtol: float, as_json: bool, as_csv: bool, **given: Any
) -> None:
    """What each piece of the adversary's knowledge costs.

    With --view aggregate: from seeing every message down to the sums.

    \b
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
      shuffledp adversaries --randomizer subset --k 8 --size 2 --eps0 2 --users 1e5 --delta 1e-6
      shuffledp adversaries --k 4 --eps0 1 --users 1e4 --sample-rate 0.1 --delta 1e-6
      shuffledp adversaries --view aggregate --randomizer oue --k 8 --eps0 6 --users 9 --delta 1e-3
    """
    check_format(as_json, as_csv)
    randomizer, kept = take_randomizer(given), split(given)[2]
    rows = ladder(randomizer, users, delta, rounds=rounds, rtol=rtol, **kept)
    round_ = of_users(randomizer, users, **kept)
    shortfall = _shortfall(delta, rows, rtol)
    if as_csv:
        click.echo(rows.to_csv(), nl=False)
    elif as_json:
        answer = {"delta": delta, "rows": [row._asdict() for row in rows]}
        asked = {"rounds": rounds, "rtol": rtol}
        click.echo(json_report("adversaries", answer, round_, error=shortfall, **asked))
    else:
        _print(rows, sees="sees all messages, " if round_.view == "shuffle" else "")
    end_unless_answered(shortfall)


def _shortfall(delta: float, rows: Ladder, rtol: float) -> NotCertified | None:
    """A bracket that is too wide; of infinite epsilons only that of the last analysis, which is the
    guarantee: the others tell what more knowledge costs."""
    found = [Bounds(row.lower, row.upper) for row in rows if row.upper is not None]
    wide = (too_wide(bounds, rtol) for bounds in found)
    return epsilon_shortfall(delta, found[-1], rtol) or next(filter(None, wide), None)


def _print(rows: Ladder, sees: str) -> None:
    click.echo(wrapped(f"{rows.title}."))
    click.echo(wrapped(f"The adversary {sees}knows all other users' values, and ..."))
    click.echo(f"\n{'analysis':<17}{'epsilon':>10}")
    for row in rows:
        value = f">= {rounded_down(row.lower)}" if row.upper is None else rounded_up(row.upper)
        click.echo(wrapped(row.adversary, f"{row.analysis:<17}{value:>10}   ", 30))
