"""`shuffledp account`."""

from __future__ import annotations

import sys
from functools import partial

import click

from ..tools.plan import Ledger, Plan
from .figure import draw, picture_options
from .options import CSV, JSON, RTOL, options
from .report import check_format, json_report

_EXCEEDED = 1


@click.command()
@click.argument("plan", metavar="PLAN.toml")
@options(*picture_options("--plot", "Draw the running epsilon to a file."), RTOL, JSON, CSV)
def account(plan: str, as_json: bool, as_csv: bool, picture: str | None, rtol: float) -> None:
    """The ledger of a plan of rounds; exit code 1 if it exceeds its target.

    \b
      shuffledp account plan.toml
      shuffledp account plan.toml --json --plot ledger.png
    """
    check_format(as_json, as_csv)
    ledger = Plan.read(plan).ledger(rtol=rtol)
    if picture:
        from ..plotting import plot_ledger

        draw(partial(plot_ledger, ledger), picture)
    if as_csv:
        click.echo(ledger.to_csv(), nl=False)
    else:
        click.echo(_json(ledger, rtol) if as_json else str(ledger))
    if not ledger.fits:
        sys.exit(_EXCEEDED)


def _json(ledger: Ledger, rtol: float) -> str:
    entries = [
        {
            "name": entry.planned.name,
            "view": entry.planned.round.view,
            "randomizer": entry.planned.round.inside,
            "analysis": entry.planned.round.explained.name,
            "count": entry.planned.count,
            **entry.planned.round.facts,
            "lower": entry.running.lower,
            "upper": entry.running.upper,
            "remaining": entry.remaining,
            "fits": entry.fits,
        }
        for entry in ledger.entries
    ]
    answer = {"epsilon": ledger.epsilon, "delta": ledger.delta, "fits": ledger.fits}
    return json_report("account", {**answer, "entries": entries}, {"rtol": rtol}, ledger.relation)
