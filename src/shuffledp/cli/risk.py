"""`shuffledp risk`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from .._support.text import PAGE, wrapped
from ..bounds.certificate import no_guarantee
from ..tools.risk import ORDERS, RATES
from ..tools.risk import risk as readings
from ..tools.statement import facts
from .figure import PICTURE, draw
from .options import CSV, PROTOCOL, command, numbers, options, take_round
from .report import check_format, end_unless_answered, json_report


def _listed(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


_RATES = numbers(
    "false-positive-rate", "Shares of the innocent that are accused.", default=_listed(RATES)
)
_ORDERS = numbers("order", "Orders of the Renyi divergences, from 1 on.", default=_listed(ORDERS))


@command()
@options(*PROTOCOL, _RATES, _ORDERS, CSV, *PICTURE)
def risk(
    false_positive_rate: Sequence[float],
    order: Sequence[float],
    rounds: int,
    rtol: float,
    as_json: bool,
    as_csv: bool,
    picture: str | None,
    **given: Any,
) -> None:
    """How much an attacker can find out: advantage, error rates, Renyi divergences.

    The picture is the trade-off curve: which share of the guilty every attacker misses.

    \b
      shuffledp risk --eps0 4 --users 10000 --rounds 4
      shuffledp risk --randomizer rr --k 16 --eps0 2 --users 1e5 --false-positive-rate 1e-4,1%
    """
    check_format(as_json, as_csv)
    round_ = take_round(given)
    asked = {"false_positive_rates": false_positive_rate, "orders": order}
    found = readings(round_, rounds, rtol=rtol, **asked)
    draw(found.plot, picture)
    shortfall = no_guarantee("delta", 0.0, found.advantage)  # the advantage is delta at epsilon 0
    if as_csv:
        click.echo(found.to_csv(), nl=False)
    elif as_json:
        answer = {
            "advantage": found.advantage._asdict(),
            "false_positive_rate": found.false_positive_rates,
            "true_positive_rate_upper": found.true_positive_rates,
            "false_negative_rate_lower": found.false_negative_rates,
            "order": found.orders,
            "renyi_divergence_upper": found.divergences,
        }
        told = {"rounds": rounds, "rtol": rtol}
        click.echo(json_report("risk", answer, round_, error=shortfall, **told))
    else:
        click.echo(f"{found}\n")
        for name, text in facts(round_, rounds):
            click.echo(wrapped(text, f"  {name:<13}", 15, piped=PAGE))
    end_unless_answered(shortfall)
