"""What one signs: the account of a plan, in words that need no other page."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from .._support import validate
from .._support.tables import Table, escape_markdown, html_table, markdown_table, text_table
from .._support.text import PAGE, line_width, plain, rounded_down, rounded_up, wrapped
from ..errors import InvalidParameter
from ..guarantee import NEIGHBOURS
from .dates import MONTHS_LATER
from .participation import CountedRounds, Participation
from .statement import ADAPTIVE, caution, facts, local_epsilon, none_trusted, without_trust

if TYPE_CHECKING:
    from .ledger import Entry, Ledger


@dataclass(frozen=True)
class Section:
    """A heading, and what stands below it in this order."""

    heading: str
    paragraphs: Sequence[str] = ()
    table: Table | None = None
    facts: Sequence[tuple[str, str]] = ()
    level: int = 2
    claims: bool = False  # does the first paragraph say what all of it is about?


@dataclass(frozen=True)
class Document:
    """Sections below a title."""

    title: str
    sections: Sequence[Section]

    def text(self) -> str:
        lines = [wrapped(self.title, piped=PAGE)]
        for section in self.sections:
            lines += ["", wrapped(section.heading, piped=PAGE)]
            lines += [wrapped(text, "  ", 2, piped=PAGE) for text in section.paragraphs]
            if section.table:
                table = text_table(*section.table, left=[0], room=line_width() - 2).splitlines()
                lines += [f"  {line}" for line in table]
            width = max((len(name) for name, _ in section.facts), default=0) + 2
            for name, text in section.facts:
                lines.append(wrapped(text, f"  {name:<{width}}", width + 2, piped=PAGE))
        return "\n".join(lines)

    def markdown(self) -> str:
        parts = [f"# {escape_markdown(self.title)}"]
        for section in self.sections:
            parts.append(f"{'#' * section.level} {escape_markdown(section.heading)}")
            parts += map(escape_markdown, section.paragraphs)
            if section.table:
                parts.append(markdown_table(*section.table))
            if section.facts:
                facts = (f"* **{name}**: {escape_markdown(text)}" for name, text in section.facts)
                parts.append("\n".join(facts))
        return "\n\n".join(parts)

    def html(self) -> str:
        """A page of its own, for a screen and for A4 or letter paper; the template is beside this
        module: no entry of the account is torn apart between pages."""
        template = resources.files(__package__).joinpath("document.html").read_text("utf-8")
        body = "\n".join(map(_section_html, self.sections))
        return Template(template).substitute(title=html.escape(self.title), body=body)


def _section_html(section: Section) -> str:
    parts = [_tag(f"h{section.level}", section.heading)]
    for number, text in enumerate(section.paragraphs):
        is_claim = section.claims and number == 0
        parts.append(_tag("p", text, ' class="claim"' if is_claim else ""))
    if section.table:
        parts.append(f'<div class="scroll">{html_table("", *section.table, named_by=0)}</div>')
    if section.facts:
        facts = "".join(_tag("dt", name) + _tag("dd", text) for name, text in section.facts)
        parts.append(f"<dl>{facts}</dl>")
    return "\n".join(parts)


def _tag(name: str, text: str, more: str = "") -> str:
    return f"<{name}{more}>{html.escape(text)}</{name}>"


#: Whom entries without a population concern.
EVERYBODY = "everybody"
#: What has to be true for populations to be accounted for one by one.
DISJOINT = "no person is in two populations"
_MEANINGS = {
    "shuffled": "the messages of a round come in random order, without their senders",
    "LDP": (
        "locally differentially private: a message by itself, with its sender known, changes the "
        "odds of any two values of that sender by a factor of at most e^eps0"
    ),
    "hockey-stick divergence": (
        "of two laws, in one order: the smallest delta that holds at an epsilon"
    ),
    "bracket": "two numbers between which the exact value of the analyzed pairs is proven to be",
    "analyzed pair": (
        "two laws that are at least as easy to tell apart as the results of any two neighbouring "
        "datasets: the epsilon of the plan itself may be smaller than theirs, never larger"
    ),
}


def document(ledger: Ledger, date: str | None = None) -> Document:
    """Guarantee, relation, who is protected against what, what was assumed, how it was computed."""
    check_date(date)
    entries = [_entry(entry, ledger) for entry in ledger.entries]
    more = [_populations(ledger)] if ledger.populations else []
    more += [_limits(ledger)] if ledger.is_limited or ledger.stays else []
    more += [_periods(ledger)] if ledger.periods else []
    more += [_standing(ledger)] if ledger.standing else []
    more += [_colluding(ledger)] if ledger.colluding or ledger.no_colluding else []
    sections = [_guarantee(ledger), *more, _ledger(ledger), *entries, _computed(ledger)]
    return Document("Privacy account", [*sections, _words(sections), _origin(ledger, date)])


def check_date(date: str | None) -> None:
    """Anything that can be printed in a line."""
    if date is not None and (not isinstance(date, str) or not date.isprintable()):
        shown = validate.show(date)
        raise InvalidParameter(f"date={shown} is not a line of text; write it like 2026-01-31.")


def _guarantee(ledger: Ledger) -> Section:
    relation, meaning = NEIGHBOURS[ledger.entries[0].planned.round.neighbours]
    upper, delta = ledger.total.upper, plain(ledger.delta)
    if math.isinf(upper):
        claim = f"No epsilon is certified at delta = {delta} for all entries together."
    elif ledger.delta == 1:
        claim = "Nothing is guaranteed at delta = 1."
    else:
        pair = f"({rounded_up(upper)}, {delta})"
        claim = f"All entries together are {pair}-differentially private{ledger.condition}."
    says = (
        "for any two neighbouring datasets and any set of results, the probability of that set "
        "with the one is at most e^epsilon times that with the other, plus delta"
    )
    own = " that concerns their population" if ledger.populations else ""
    always = "every user, also one who takes part in every round of every entry"
    how = "every user who takes part as assumed below, also in the worst such rounds"
    same = ", on the same condition" if ledger.is_limited else ""
    people = how if ledger.is_limited else f"{always}{own}"
    seen = "against anyone who sees all results, under the assumptions stated for each entry"
    protected = f"{people}, {seen}"
    rows = [
        ("relation", f"{relation}: {meaning}"),
        ("what it says", says),
        ("who is protected", protected),
        ("local", f"{none_trusted([_rounds(ledger, name) for name in _names(ledger)])}{same}"),
        *caution([entry.planned.round for entry in ledger.entries], [delta]),
    ]
    return Section("Guarantee", [claim, ledger.verdict], facts=rows, claims=True)


def _names(ledger: Ledger) -> list[str | None]:
    return [population.name for population in ledger.populations] or [None]


def _rounds(ledger: Ledger, population: str | None) -> CountedRounds:
    """The rounds that one person of a population, or anybody if none is named, can be in: those
    that cost most if nobody is trusted."""
    planned = [e.planned for e in ledger.entries if e.planned.population in (None, population)]
    attendances = Participation(planned, ledger.stays).attendances()
    return max((each.rounds for each in attendances), key=_local_epsilon)


def _local_epsilon(rounds: CountedRounds) -> float:
    return sum(local_epsilon(*each) for each in rounds)


def _populations(ledger: Ledger) -> Section:
    """What each of them loses, and what is assumed of them."""
    said = (
        "A person of a population is concerned by its entries and by those of everybody: these are "
        f"composed; a person of none, by those of {EVERYBODY} only. Entries of other populations "
        "use nothing of the person's data, so they cost the person nothing. The worst population "
        "counts."
    )
    meaning = (
        "which population a person is in is fixed, does not depend on the data that are protected, "
        "and may be known to the adversary: it is not protected, and neighbouring datasets have "
        "the same people in the same populations"
    )
    rows = [("assumed", DISJOINT), ("relation", meaning)]
    return Section("Populations", [said], table=ledger.table_of_populations(), facts=rows)


def _limits(ledger: Ledger) -> Section:
    """In how many rounds a person is, and what is assumed of that."""
    if not ledger.is_limited:
        whole = (
            f"The last round of the plan is less than {ledger.stays} after the first: that this "
            "is so for every person limits nothing."
        )
        return Section("Who takes part", [whole])
    said = (
        "A person loses what the rounds cost in which the person takes part. Of all sets of rounds "
        "that the assumption allows, the worst counts."
    )
    meaning = (
        "a person takes part in a round who is among its users, also if the round draws some of "
        "them at random and the person is not drawn; in all other rounds nothing of the person's "
        "data is used, also nothing that was stored"
    )
    pauses = (
        "; the time runs from the day of the person's first round on, also while the person "
        f"pauses, and no round of the person is on the day on which it is over or later: in "
        f"months, {MONTHS_LATER}"
    )
    relation = (
        "neighbouring datasets have the same people in the same rounds; whether a person takes "
        "part may depend on everything that was revealed before, but neither on the data that are "
        "protected nor on noise, samples or messages of any round that were not revealed, may be "
        "known to the adversary and is not itself protected"
    )
    rows = [
        ("assumed", ledger.limits.removeprefix(" if ")),
        ("taking part", f"{meaning}{pauses if ledger.stays else ''}"),
        ("relation", relation),
    ]
    return Section("Who takes part", [said], facts=rows)


def _periods(ledger: Ledger) -> Section:
    """What a person can lose in a period, and for what that stands."""
    said = (
        "The rounds of a period are composed, those of the worst period are shown. A period of "
        f"months ends before {MONTHS_LATER}."
    )
    short = [period.name for period in ledger.periods if period.is_whole_plan]
    whole = [f"All rounds of the plan are within {name}." for name in short]
    meaning = (
        "for two datasets that differ in what one person contributes to the rounds of one such "
        "period, and in nothing else, the results of all rounds of the plan together are within "
        "the epsilon and delta of the period"
    )
    longer = (
        "a person who takes part for longer loses as much again in other periods; what the person "
        "contributes in several of them, such as a value that stays the same or data that are "
        "stored and used again, is protected by the guarantee of all entries together, and by no "
        "budget for a period"
    )
    rows = [("what it says", meaning), ("what it does not say", longer)]
    return Section("Periods", [said, *whole], table=ledger.table_of_periods(), facts=rows)


def _standing(ledger: Ledger) -> Section:
    """What is spent by a day."""
    spent = ledger.standing
    assert spent is not None
    done = f"{spent.rounds:,} of {spent.planned:,} rounds have taken place"
    said = (
        f"Up to and including {spent.day}, {done}. Periods are those that contain this day. "
        "Epsilons do not add up: what remains is the difference to the budget, not the epsilon of "
        "what can still be done."
    )
    return Section(f"By {spent.day}", [said], table=ledger.table_of_standing())


def _colluding(ledger: Ledger) -> Section:
    """How many colluding users the plan survives."""
    found = ledger.colluding
    if found is None:
        reason = ledger.no_colluding
        return Section("Colluding users", [reason[:1].upper() + reason[1:]])
    most = f"up to {_percent(found.value)} of the users of every round collude"
    same = " on the same condition" if ledger.condition else ""
    fits = "also fits" if ledger.fits else "would fit"
    beyond = f"; with {_percent(found.beyond)} it is not certified to" if found.beyond else ""
    said = (
        f"The plan {fits}{same} if {most} with the adversary, whoever they are{beyond}. What "
        "the entries say of colluding users is replaced for that."
    )
    return Section("Colluding users", [said])


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"  # shares have four digits


def _ledger(ledger: Ledger) -> Section:
    own = " that concern the same population" if ledger.populations else ""
    worst = f"; for an entry of {EVERYBODY}, the worst population's" if ledger.populations else ""
    said = f"The running epsilon is that of all entries{own} up to and including the line{worst}."
    return Section("Ledger", [said], table=(ledger.head, ledger.rows()))


def _entry(entry: Entry, ledger: Ledger) -> Section:
    planned = entry.planned
    known = dict(facts(planned.round, planned.rounds))
    attendances = Participation([planned], ledger.stays).attendances()
    most = max(count for each in attendances for _, count in each.rounds)
    limit = f"in at most {most:,} of {planned.rounds:,} rounds"
    known["local"] = without_trust(planned.round, most)
    rows = [
        *([("population", planned.population)] if planned.population else ()),
        *([("when", str(planned.schedule))] if planned.schedule else ()),
        *([("one person", limit)] if most < planned.rounds else ()),
        ("what is done", known.pop("protocol")),
        ("protected against", f"anyone who {known.pop('adversary')}"),
        ("what was assumed", known.pop("assumed")),
        *(item for item in known.items() if item[0] != "analysis"),
        ("how it was computed", known["analysis"]),
    ]
    return Section(f"Entry: {planned.name}", facts=rows, level=3)


def _words(sections: Sequence[Section]) -> Section:
    """The technical words that were used."""
    said = " ".join(text for section in sections for _, text in section.facts)
    return Section("Words", facts=[item for item in _MEANINGS.items() if item[0] in said])


def _computed(ledger: Ledger) -> Section:
    low, high = ledger.total
    whose = f"all entries{' that concern the worst population' if ledger.populations else ''}"
    whose = "the worst rounds that one person can be in" if ledger.is_limited else whose
    bracket = f"{rounded_down(low, 7)} <= exact epsilon of the analyzed pairs <= "
    rows = [
        ("composition", f"of {whose}; {ADAPTIVE}; exact for the analyzed pairs up to the bracket"),
        ("bracket", f"{bracket}{rounded_up(high, 7)} at delta = {plain(ledger.delta)}"),
        (
            "rounding",
            "numerical errors are charged to the safe side; upper values are rounded up",
        ),
    ]
    return Section("How it was computed", facts=rows)


def _origin(ledger: Ledger, date: str | None) -> Section:
    from .. import __version__

    rows = [("date", date or "not given"), ("software", f"shuffledp {__version__}")]
    rows += [("input", f"{name}, sha256 {digest}") for name, digest in ledger.inputs]
    return Section("Origin", facts=[*rows, ("signed", "." * 28)])
