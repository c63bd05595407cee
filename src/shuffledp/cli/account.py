"""`shuffledp account`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

import click

from .._support.files import write_text_atomically, writing
from .._support.json_types import (
    Bracket,
    Cost,
    Count,
    Day,
    Finite,
    Keywords,
    Natural,
    Positive,
    Probability,
    Relation,
    RoundReport,
    Sha256,
    Signed,
)
from ..errors import Infeasible, InvalidParameter, NotCertified
from ..records import described
from ..tools.colluders import colluding_share
from ..tools.dates import Schedule, read_day
from ..tools.document import DocumentDetails
from ..tools.ledger import Entry, Ledger, Population
from ..tools.periods import PeriodAccount
from ..tools.plan import Plan
from ..tools.signed import document
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
    help="Write to a file, whose ending is the format: .txt, .md, .html, .json or .csv.",
)


#: Of the document to sign; they replace what [document] in the plan says.
_DETAILS = {
    "document-title": "The title of the document.",
    "owner": "Who runs the collections.",
    "purpose": "What the data are collected for.",
    "date": "The date of the document, as text: no clock is read.",
    "document-version": "The version of the document.",
}


class InputFile(TypedDict):
    """A file that a plan was read from."""

    name: str
    sha256: Sha256


class EntryReport(RoundReport, Cost):
    """An entry of a plan. Its cost is that of all entries up to it that concern the same people; of
    the worst population, if it concerns several."""

    name: str
    rounds: Count
    population: str | None
    """whose people it concerns; null if everybody's"""
    at_most: Count | None
    """of these rounds, for one user; null if there is no limit"""
    start: Day | None
    """of the first round; null in a plan without dates"""
    every: str | None
    """the time from one round to the next; null if all are on one day"""
    last: Day | None
    """of the last round"""


class PopulationReport(Cost):
    """A population that is named, with all entries that concern it."""

    name: str


class PeriodReport(Cost):
    """A budget for periods, and what one user can lose in the worst of them."""

    name: str
    """any 12 months, or year 2027"""
    population: str | None
    """the worst one; null if none is named"""
    epsilon: Finite
    """of the budget"""
    delta: Probability
    first: Day | None
    """of the rounds of the worst period; null if there are none"""
    last: Day | None
    """of these rounds"""
    verdict: str
    """whether it fits, in one sentence"""


class StandingReport(Bracket):
    """The epsilon of the rounds that are due by the evening of the day that was asked about."""

    day: Day
    rounds: Natural
    """that are due by then"""
    planned: Count
    population: str | None
    """the worst one; null if none is named"""
    remaining: Signed
    periods: Sequence[PeriodReport]


class TimelinePoint(Bracket):
    """Epsilon on the evening of a day."""

    day: Day


class TimelineReport(TypedDict):
    """Epsilon over time: of everything so far, or of a budget."""

    name: str
    population: str | None
    """whose; null if none is named"""
    epsilon: Finite
    """that it may be"""
    points: Sequence[TimelinePoint]


class ColludingReport(TypedDict):
    """The largest share of the users of every round that may collude."""

    share: Probability
    beyond: float | None
    """the next larger share, which is not certified; null if none was tried"""


class DocumentReport(TypedDict):
    """What the document to sign says about itself; null for what is left blank."""

    title: str
    owner: str | None
    purpose: str | None
    date: str | None
    version: str | None
    signatures: Sequence[str]


class AccountAnswer(Bracket):
    """What `shuffledp account` answers: the bracket is that of the whole plan, of its worst
    population if any is named."""

    epsilon: Finite
    """of the target"""
    delta: Probability
    """of the target"""
    fits: bool
    verdict: str
    """whether it fits, in one sentence"""
    relation: Relation
    entries: Annotated[Sequence[EntryReport], Keywords(minItems=1)]
    populations: Sequence[PopulationReport]
    """each population that is named"""
    stays: str | None
    """the time than which the last round of a user is less after the first, as assumed"""
    exceeded_on: Day | None
    """the first day on which the certified epsilon of a plan with dates exceeds the target, in any
    population"""
    exceeded_in: str | None
    """the population whose certified epsilon exceeds the target on that day, if any is named"""
    colluding: ColludingReport | None
    """null unless it was asked for"""
    periods: Sequence[PeriodReport]
    """the worst period of each budget"""
    at: StandingReport | None
    """null unless a day was asked about"""
    timeline: Sequence[TimelineReport]
    """of a plan with dates"""
    inputs: Sequence[InputFile]
    """the files that the plan was read from"""
    date: str | None
    """as it was given"""
    document: DocumentReport
    rtol: Positive


@command()
@click.argument("plan", type=click.Path(allow_dash=True), metavar="PLAN.toml")
@options(
    *(JSON, CSV, form_of_answer("markdown", "the document to sign as Markdown")),
    *(form_of_answer("html", "the document to sign as an HTML page"), _OUT),
    *(click.option(f"--{name}", metavar="TEXT", help=text) for name, text in _DETAILS.items()),
    click.option(
        "--signature",
        "signatures",
        metavar="TEXT",
        multiple=True,
        help="In which role somebody signs, such as Controller. Repeat it for others.",
    ),
    click.option(
        "--at",
        metavar="DATE",
        help="Also report the epsilon of all rounds that are due by the end of a day: 2027-07-01.",
    ),
    click.option(
        "--find",
        type=click.Choice(["colluding"]),
        help="Also find the largest share of the users of every round that may collude.",
    ),
    *picture_options("--plot", "Draw epsilon over time, or after each entry, into a file."),
    RTOL,
)
def account(
    plan: str,
    rtol: float,
    at: str | None,
    find: str | None,
    out: str | None,
    picture: str | None,
    form: str | None,
    **details: Any,
) -> None:
    """Check a plan against its target and budgets; exit code 1 if exceeded, 3 if not certified.

    The answer is the account of the plan, as a document to sign.

    \b
      shuffledp account plan.toml
      shuffledp account plan.toml --owner "Measurement team" --date 2026-01-31 --out account.html
      shuffledp account plan.toml --json --plot ledger.png
      shuffledp account years.toml --at 2027-07-01
      shuffledp account plan.toml --find colluding

    `shuffledp plan` is the same command.
    """
    ending = "" if out is None else Path(out).suffix.lower()
    if ending and ending not in _FORMATS:
        raise InvalidParameter(
            f"--out {out}: {ending} is no known format; use {', '.join(_FORMATS)}."
        )
    if ending and form not in (None, _FORMATS[ending]):
        raise InvalidParameter(
            f"--out {out}: {ending} does not go with --{form}; leave --{form} out, or let the name "
            f"end in {next(end for end, each in _FORMATS.items() if each == form)}."
        )
    form = form or _FORMATS.get(ending, "text")
    for name, value in (("at", at), ("find", find)):
        if form == "csv" and value is not None:
            raise InvalidParameter(
                f"--{name} does not go with CSV, which has the entries only; use --json."
            )
    details = {name.removeprefix("document_"): value for name, value in details.items()}
    DocumentDetails().updated(**details)  # refuses what cannot be printed before the work is done
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
        shown = ledger.details.updated(**details)
        text = json_report("account", _answer(ledger, rtol, shown), error=shortfall)
    elif form == "csv":
        text = ledger.to_csv().rstrip("\n")
    else:
        text = getattr(document(ledger, **details), form)()
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


def _answer(ledger: Ledger, rtol: float, details: DocumentDetails) -> AccountAnswer:
    def cost(bounds: Any, of: Entry | Population | PeriodAccount) -> dict[str, Any]:
        return {**bounds._asdict(), "remaining": of.remaining, "fits": of.fits}

    def period(each: PeriodAccount) -> Any:
        budget = {name: getattr(each.budget, name) for name in ("epsilon", "delta")}
        days = {"first": _text(each.first), "last": _text(each.last)}
        people = {"name": each.name, "population": each.population}
        said = {"verdict": each.verdict(ledger.condition)}
        return {**people, **budget, **cost(each.total, each), **days, **said}

    own = ("name", "rounds", "population", "at_most")
    entries: list[Any] = [
        {
            **{name: getattr(entry.planned, name) for name in own},
            **_schedule(entry.planned.schedule),
            **described(entry.planned.round),
            **cost(entry.running, entry),
        }
        for entry in ledger.entries
    ]
    people: list[Any] = [
        {"name": each.name, **cost(each.total, each)} for each in ledger.populations
    ]
    spent, found, relation = ledger.standing, ledger.colluding, cast(Relation, ledger.relation)
    shown = cast(DocumentReport, details.as_dict())
    return {
        "epsilon": ledger.epsilon,
        "delta": ledger.delta,
        "fits": ledger.fits,
        "verdict": ledger.verdict,
        "relation": relation,
        "lower": ledger.total.lower,
        "upper": ledger.total.upper,
        "entries": entries,
        "populations": people,
        "stays": _text(ledger.stays),
        "exceeded_on": _text(ledger.exceeded_on),
        "exceeded_in": ledger.exceeded_in,
        "colluding": None if found is None else {"share": found.value, "beyond": found.beyond},
        "periods": [period(each) for each in ledger.periods],
        "at": None
        if spent is None
        else {
            "day": str(spent.day),
            "rounds": spent.rounds,
            "planned": spent.planned,
            "population": spent.population,
            "lower": spent.total.lower,
            "upper": spent.total.upper,
            "remaining": spent.remaining,
            "periods": [period(each) for each in spent.periods],
        },
        "timeline": [
            {
                "name": line.name,
                "population": line.population,
                "epsilon": line.epsilon,
                "points": [
                    {"day": str(day), "lower": b.lower, "upper": b.upper} for day, b in line.points
                ],
            }
            for line in timeline(ledger, rtol=rtol)
        ],
        "inputs": [{"name": name, "sha256": digest} for name, digest in ledger.inputs],
        "date": shown["date"],
        "document": shown,
        "rtol": rtol,
    }


def _schedule(schedule: Schedule | None) -> dict[str, Any]:
    if schedule is None:
        return {"start": None, "every": None, "last": None}
    days = {"start": _text(schedule.start), "last": _text(schedule.last)}
    return days | {"every": _text(schedule.every)}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
