"""`shuffledp account`."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from .._support.files import write_text_atomically, writing
from ..errors import Infeasible, InvalidParameter, NotCertified
from ..records import described
from ..tools.colluders import colluding_share
from ..tools.dates import Schedule, read_day
from ..tools.ledger import Entry, Ledger, Population
from ..tools.periods import PeriodAccount
from ..tools.plan import Plan
from ..tools.signed import check_date, document
from ..tools.timeline import timeline
from .figure import draw, picture_options
from .options import CSV, JSON, RTOL, command, form_of_answer, options
from .report import ANSWER_IS_NO, end_with, epsilon_shortfall, json_report

#: What a document may be written as, and the ends of names of files that ask for it.
_FORMATS = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json", ".csv": "csv"}
_OUT = click.option(
    "--out",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write to a file; .txt, .md, .html, .json and .csv say as what.",
)


@command()
@click.argument("plan", type=click.Path(allow_dash=True), metavar="PLAN.toml")
@options(
    *(JSON, CSV, form_of_answer("markdown", "Markdown, to be signed,")),
    *(form_of_answer("html", "a page of HTML, to be signed,"), _OUT),
    click.option("--date", metavar="TEXT", help="The date of the document, as you give it."),
    click.option(
        "--at", metavar="DATE", help="Also what is spent by the evening of a day: 2027-07-01."
    ),
    click.option(
        "--find",
        type=click.Choice(["colluding"]),
        help="Also which share of the users of every round may collude.",
    ),
    *picture_options("--plot", "Draw epsilon over time, or after each entry, to a file."),
    RTOL,
)
def account(
    plan: str,
    rtol: float,
    date: str | None,
    at: str | None,
    find: str | None,
    out: str | None,
    picture: str | None,
    form: str | None,
) -> None:
    """The account of a plan of rounds; exit code 1 if it exceeds its target, 3 if that is open.

    \b
      shuffledp account plan.toml
      shuffledp account plan.toml --date 2026-01-31 --out account.md
      shuffledp account plan.toml --json --plot ledger.png
      shuffledp account years.toml --at 2027-07-01
      shuffledp account plan.toml --find colluding

    `shuffledp plan` is the same command.
    """
    ending = "" if out is None else Path(out).suffix.lower()
    if ending and (ending not in _FORMATS or form not in (None, _FORMATS[ending])):
        why = f"does not go with --{form}" if ending in _FORMATS else "is no known format"
        raise InvalidParameter(f"--out {out}: {ending} {why}; use {', '.join(_FORMATS)}.")
    form = form or _FORMATS.get(ending, "text")
    for name, value in (("at", at), ("find", find)):
        if form == "csv" and value is not None:
            raise InvalidParameter(
                f"--{name} does not go with CSV, which has the entries only; use --json."
            )
    check_date(date)
    day = None if at is None else read_day("at", at)
    read = Plan.read(plan)
    ledger = read.ledger(rtol=rtol, at=day)
    if find is not None:
        try:
            ledger = replace(ledger, colluding=colluding_share(read, rtol=rtol))
        except Infeasible as error:
            if ledger.fits:
                raise
            ledger = replace(ledger, no_colluding=str(error))
    if picture:
        from ..plotting import plot_ledger

        draw(partial(plot_ledger, ledger), picture)
    shortfall = _shortfall(ledger, rtol)
    if form == "json":
        answer = _answer(ledger, rtol) | {"date": date}
        text = json_report("account", answer, error=shortfall, rtol=rtol)
    elif form == "csv":
        text = ledger.to_csv().rstrip("\n")
    else:
        text = getattr(document(ledger, date), form)()
    if out is None:
        click.echo(text)
    else:
        with writing(out):
            write_text_atomically(out, f"{text}\n")
    if ledger.exceeds:
        sys.exit(ANSWER_IS_NO)
    if shortfall is not None:
        end_with(shortfall)


def _shortfall(ledger: Ledger, rtol: float) -> NotCertified | None:
    """What is not certified as asked, unless the target is missed for certain: that the plan fits,
    or a running epsilon."""
    if ledger.exceeds:
        return None
    if not ledger.fits:
        missed = [each.total for each in ledger.periods if not each.fits]
        is_whole = ledger.total.upper > ledger.epsilon
        return NotCertified(ledger.verdict, ledger.total if is_whole else missed[0])
    found = [(ledger.delta, entry.running) for entry in ledger.entries]
    found += [(each.budget.delta, each.total) for each in ledger.periods]
    problems = (epsilon_shortfall(delta, bounds, rtol) for delta, bounds in found)
    return next(filter(None, problems), None)


def _answer(ledger: Ledger, rtol: float) -> dict[str, Any]:
    def cost(bounds: Any, of: Entry | Population | PeriodAccount) -> dict[str, Any]:
        return {**bounds._asdict(), "remaining": of.remaining, "fits": of.fits}

    def period(each: PeriodAccount) -> dict[str, Any]:
        budget = {name: getattr(each.budget, name) for name in ("epsilon", "delta")}
        days = {"first": _text(each.first), "last": _text(each.last)}
        people = {"name": each.name, "population": each.population}
        said = {"verdict": each.verdict(ledger.condition)}
        return {**people, **budget, **cost(each.total, each), **days, **said}

    own = ("name", "rounds", "population", "at_most")
    entries = [
        {
            **{name: getattr(entry.planned, name) for name in own},
            **_schedule(entry.planned.schedule),
            **described(entry.planned.round),
            **cost(entry.running, entry),
        }
        for entry in ledger.entries
    ]
    people = [{"name": each.name, **cost(each.total, each)} for each in ledger.populations]
    names = ("epsilon", "delta", "fits", "verdict", "relation")
    spent, found = ledger.standing, ledger.colluding
    survives = None if found is None else {"share": found.value, "beyond": found.beyond}
    return {
        **{name: getattr(ledger, name) for name in names},
        **ledger.total._asdict(),
        "entries": entries,
        "populations": people,
        "stays": _text(ledger.stays),
        "exceeded_on": _text(ledger.exceeded_on),
        "exceeded_in": ledger.exceeded_in,
        "colluding": survives,
        "periods": [period(each) for each in ledger.periods],
        "at": None
        if spent is None
        else {
            "day": _text(spent.day),
            **{name: getattr(spent, name) for name in ("rounds", "planned", "population")},
            **spent.total._asdict(),
            "remaining": spent.remaining,
            "periods": [period(each) for each in spent.periods],
        },
        "timeline": [
            {
                "name": line.name,
                "population": line.population,
                "epsilon": line.epsilon,
                "points": [{"day": _text(day), **b._asdict()} for day, b in line.points],
            }
            for line in timeline(ledger, rtol=rtol)
        ],
        "inputs": [{"name": name, "sha256": digest} for name, digest in ledger.inputs],
    }


def _schedule(schedule: Schedule | None) -> dict[str, Any]:
    if schedule is None:
        return {"start": None, "every": None, "last": None}
    days = {"start": _text(schedule.start), "last": _text(schedule.last)}
    return days | {"every": _text(schedule.every)}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
