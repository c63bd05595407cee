"""What one signs: the account of a plan, in words that need no other page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._support import validate
from .._support.text import plain, rounded_down, rounded_up
from ..errors import InvalidParameter
from ..guarantee import NEIGHBOURS
from .document import Document, Section
from .statement import caution, facts

if TYPE_CHECKING:
    from .ledger import Entry, Ledger


_MEANINGS = {
    "shuffled": "the messages of a round come in random order, without their senders",
    "LDP": (
        "locally differentially private: a message by itself, with its sender known, changes the "
        "odds of any two values of that sender by a factor of at most e^eps0"
    ),
    "hockey-stick divergence": "of a pair of datasets: the smallest delta that holds at an epsilon",
    "bracket": "two numbers between which the exact value is proven to be",
}


def document(ledger: Ledger, date: str | None = None) -> Document:
    """Guarantee, relation, who is protected against what, what was assumed, how it was computed."""
    check_date(date)
    entries = [_entry(entry) for entry in ledger.entries]
    sections = [_guarantee(ledger), _ledger(ledger), *entries, _computed(ledger)]
    return Document("Privacy account", [*sections, _words(sections), _origin(ledger, date)])


def check_date(date: str | None) -> None:
    """Anything that can be printed in a line."""
    if date is not None and (not isinstance(date, str) or not date.isprintable()):
        shown = validate.show(date)
        raise InvalidParameter(f"date={shown} is not a line of text; write it like 2026-01-31.")


def _guarantee(ledger: Ledger) -> Section:
    relation, meaning = NEIGHBOURS[ledger.entries[0].planned.round.neighbours]
    upper, delta = ledger.entries[-1].running.upper, plain(ledger.delta)
    if math.isinf(upper):
        claim = f"No epsilon is certified at delta = {delta} for all entries together."
    else:
        pair = f"({rounded_up(upper)}, {delta})"
        claim = f"All entries together are {pair}-differentially private."
    says = (
        "for any two neighbouring datasets and any set of results, the probability of that set "
        "with the one is at most e^epsilon times that with the other, plus delta"
    )
    protected = (
        "every user, also one who takes part in every round of every entry, against anyone who "
        "sees all results and is as said below for each entry; later rounds may be chosen by the "
        "results of earlier ones"
    )
    rows = [
        ("relation", f"{relation}: {meaning}"),
        ("what it says", says),
        ("who is protected", protected),
        *caution([entry.planned.round for entry in ledger.entries], [delta]),
    ]
    return Section("Guarantee", [claim, ledger.verdict], facts=rows, claims=True)


def _ledger(ledger: Ledger) -> Section:
    said = "The running epsilon is that of all entries up to and including the line."
    return Section("Ledger", [said], table=(ledger.head, ledger.rows()))


def _entry(entry: Entry) -> Section:
    planned = entry.planned
    known = dict(facts(planned.round, planned.rounds))
    rows = [
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
    low, high = ledger.entries[-1].running
    bracket = f"{rounded_down(low, 7)} <= exact epsilon of the analyzed pairs <= "
    rows = [
        ("composition", "adaptive, of all entries, exact for the analyzed pairs up to the bracket"),
        ("bracket", f"{bracket}{rounded_up(high, 7)} at delta = {plain(ledger.delta)}"),
        (
            "rounding",
            "errors of the numerics are on the safe side; upper values are rounded up",
        ),
    ]
    return Section("How it was computed", facts=rows)


def _origin(ledger: Ledger, date: str | None) -> Section:
    from .. import __version__

    rows = [("date", date or "not given"), ("software", f"shuffledp {__version__}")]
    rows += [("input", f"{name}, sha256 {digest}") for name, digest in ledger.inputs]
    return Section("Origin", facts=[*rows, ("signed", "." * 28)])
