"""`shuffledp account`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from .._support.files import write_text_atomically, writing
from ..errors import InvalidParameter, NotCertified
from ..records import described
from ..tools.ledger import Ledger
from ..tools.plan import Plan
from ..tools.signed import check_date, document
from .figure import draw, picture_options
from .options import CSV, JSON, RTOL, command, options
from .report import ANSWER_IS_NO, end_unless_answered, epsilon_shortfall, json_report

#: What a document may be written as, and the ends of names of files that ask for it.
_FORMATS = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json", ".csv": "csv"}


@command()
@click.argument("plan", type=click.Path(allow_dash=True), metavar="PLAN.toml")
@options(
    JSON,
    CSV,
    click.option("--markdown", is_flag=True, help="Print Markdown instead, to be signed."),
    click.option("--html", is_flag=True, help="Print a page of HTML instead, to be signed."),
    click.option(
        "--out",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write to a file; .txt, .md, .html, .json and .csv say as what.",
    ),
    click.option("--date", metavar="TEXT", help="The date of the document, as you give it."),
    *picture_options("--plot", "Draw the running epsilon to a file."),
    RTOL,
)
def account(
    plan: str,
    rtol: float,
    date: str | None,
    out: str | None,
    picture: str | None,
    as_json: bool,
    as_csv: bool,
    markdown: bool,
    html: bool,
) -> None:
    """The account of a plan of rounds; exit code 1 if it exceeds its target, 3 if that is open.

    \b
      shuffledp account plan.toml
      shuffledp account plan.toml --date 2026-01-31 --out account.md
      shuffledp account plan.toml --json --plot ledger.png
    """
    asked = {"json": as_json, "csv": as_csv, "markdown": markdown, "html": html}
    wanted = [name for name, flag in asked.items() if flag]
    if len(wanted) > 1:
        both = " and ".join(f"--{name}" for name in wanted)
        raise InvalidParameter(f"{both} are two ways to print one account; give one.")
    ending = "" if out is None else Path(out).suffix.lower()
    named = _FORMATS.get(ending, "text")
    if ending and (ending not in _FORMATS or (wanted and wanted[0] != named)):
        why = f"does not go with --{wanted[0]}" if ending in _FORMATS else "is no known format"
        raise InvalidParameter(f"--out {out}: {ending} {why}; use {', '.join(_FORMATS)}.")
    kind = (wanted or [named])[0]
    check_date(date)
    ledger = Plan.read(plan).ledger(rtol=rtol)
    if picture:
        from ..plotting import plot_ledger

        draw(partial(plot_ledger, ledger), picture)
    shortfall = _shortfall(ledger, rtol)
    if kind == "json":
        text = _json(ledger, rtol, date, shortfall)
    elif kind == "csv":
        text = ledger.to_csv().rstrip("\n")
    else:
        text = getattr(document(ledger, date), kind)()
    if out is None:
        click.echo(text)
    else:
        with writing(out):
            write_text_atomically(out, f"{text}\n")
    if ledger.exceeds:
        sys.exit(ANSWER_IS_NO)
    end_unless_answered(shortfall)


def _shortfall(ledger: Ledger, rtol: float) -> NotCertified | None:
    """What is not certified as asked, unless the target is missed for certain: that the plan fits,
    or a running epsilon."""
    if ledger.exceeds:
        return None
    if not ledger.fits:
        return NotCertified(ledger.verdict, ledger.total)
    short = (epsilon_shortfall(ledger.delta, entry.running, rtol) for entry in ledger.entries)
    return next(filter(None, short), None)


def _json(ledger: Ledger, rtol: float, date: str | None, shortfall: NotCertified | None) -> str:
    entries = [
        {
            "name": entry.planned.name,
            "rounds": entry.planned.rounds,
            "population": entry.planned.population,
            **described(entry.planned.round),
            "lower": entry.running.lower,
            "upper": entry.running.upper,
            "remaining": entry.remaining,
            "fits": entry.fits,
        }
        for entry in ledger.entries
    ]
    populations = [
        {
            "name": each.name,
            "lower": each.total.lower,
            "upper": each.total.upper,
            "remaining": each.remaining,
            "fits": each.fits,
        }
        for each in ledger.populations
    ]
    answer = {
        **{"epsilon": ledger.epsilon, "delta": ledger.delta, "fits": ledger.fits},
        **{"lower": ledger.total.lower, "upper": ledger.total.upper, "verdict": ledger.verdict},
        **{"relation": ledger.relation, "entries": entries, "populations": populations},
        "date": date,
        "inputs": [{"name": name, "sha256": digest} for name, digest in ledger.inputs],
    }
    return json_report("account", answer, error=shortfall, rtol=rtol)
