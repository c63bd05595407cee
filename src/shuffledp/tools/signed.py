"""What one signs: the account of a plan, in words that need no other page."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._support.text import plain, rounded_down, rounded_up
from .dates import MONTHS_LATER
from .document import Document, DocumentDetails, Section, terms_of
from .participation import CountedRounds, Participation
from .statement import (
    ADAPTIVE,
    CERTIFIED,
    EXACT_COMPOSITION,
    caution,
    facts,
    in_plain_words,
    local_epsilon,
    none_trusted,
    relation_of,
    without_trust,
)

if TYPE_CHECKING:
    from .ledger import Entry, Ledger

#: Where something is to be filled in by hand.
_BLANK = "." * 28
#: Lines for signatures if nobody is named.
_UNNAMED = 2


#: Whom entries without a population concern.
EVERYBODY = "everybody"
#: What has to be true for populations to be accounted for one by one.
DISJOINT = "no person is in two populations"


def document(ledger: Ledger, **details: Any) -> Document:
    """Guarantee, relation, who is protected against what, what was assumed, how it was computed,
    with the details of the plan or those that are given."""
    known = ledger.details.updated(**details)
    entries = [_entry(entry, ledger) for entry in ledger.entries]
    more = [_populations(ledger)] if ledger.populations else []
    more += [_limits(ledger)] if ledger.is_limited or ledger.stays else []
    more += [_periods(ledger)] if ledger.periods else []
    more += [_standing(ledger)] if ledger.standing else []
    more += [_colluding(ledger)] if ledger.colluding or ledger.no_colluding else []
    sections = [_front(known), _guarantee(ledger), *more, _ledger(ledger), *entries]
    sections += [_computed(ledger)]
    sections += [_origin(ledger, sections)]
    used = terms_of(text for section in sections for text in section.texts)
    glossary = Section("Glossary", facts=used)
    return Document(known.title, [*sections, glossary, _signatures(known)])


def _front(details: DocumentDetails) -> Section:
    names = ("owner", "purpose", "date", "version")
    rows = [(name, str(getattr(details, name) or _BLANK)) for name in names]
    return Section("About this document", facts=rows)


def _signatures(details: DocumentDetails) -> Section:
    lines = details.signatures or (_BLANK,) * _UNNAMED
    rows = [(line, _BLANK[:14], _BLANK) for line in lines]
    declared = (
        "The undersigned confirm that the protocol is carried out as described, and that the "
        "assumptions stated for each entry hold."
    )
    return Section(
        "Signatures",
        [declared],
        table=(("name and role", "date", "signature"), rows),
        kind="signatures",
    )


def _guarantee(ledger: Ledger) -> Section:
    neighbours = ledger.entries[0].planned.round.neighbours
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
    always = "every user, drawn in a round or not, and also somebody who is a user in every entry"
    how = "every user who takes part as assumed below, also in the worst such rounds"
    same = ", on the same condition" if ledger.is_limited else ""
    people = how if ledger.is_limited else f"{always}{own}"
    seen = "against the adversary and under the assumptions stated for each entry"
    protected = f"{people}, {seen}"
    known = math.isfinite(upper) and ledger.delta < 1
    published = [(float(rounded_up(upper)), ledger.delta)]
    meaning = [("meaning", in_plain_words(neighbours, published))] if known else []
    rows = [
        ("relation", relation_of(neighbours, sum(e.planned.rounds for e in ledger.entries))),
        ("what it says", says),
        *meaning,
        ("who is protected", protected),
        ("local", f"{none_trusted([_rounds(ledger, name) for name in _names(ledger)])}{same}"),
        *caution([entry.planned.round for entry in ledger.entries], [delta]),
    ]
    return Section("Guarantee", [claim, ledger.verdict], facts=rows, kind="claim")


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
        f"The entries of a person's population and those for {EVERYBODY} are composed; a person in "
        f"no population is concerned by those for {EVERYBODY} only. Entries of other populations "
        "use none of the person's data and so cost the person nothing. The guarantee is that of "
        "the worst population."
    )
    meaning = (
        "neighbouring datasets have the same people in the same populations; the population of a "
        "person is fixed, does not depend on the protected data, may be known to the adversary and "
        "is not itself protected"
    )
    rows = [("assumed", DISJOINT), ("relation", meaning)]
    return Section("Populations", [said], table=ledger.table_of_populations(), facts=rows)


def _limits(ledger: Ledger) -> Section:
    """In how many rounds a person is, and what is assumed of that."""
    if not ledger.is_limited:
        whole = (
            f"The last round of the plan is less than {ledger.stays} after the first, so that "
            "limiting every person to this time changes nothing."
        )
        return Section("Who takes part", [whole])
    said = (
        "Only the rounds in which a person takes part concern the person. The guarantee is for the "
        "worst set of rounds that the assumption allows."
    )
    meaning = (
        "a person takes part in a round if the person is among its users, even if the round draws "
        "some of them at random and the person is not drawn; no other round uses any of the "
        "person's data, including stored data"
    )
    pauses = (
        "; the time starts on the day of the person's first round and includes pauses, and all "
        f"rounds of the person are before the day on which it ends: in months, {MONTHS_LATER}"
    )
    relation = (
        "neighbouring datasets have the same people in the same rounds; whether a person takes "
        "part may depend on everything that was revealed before, but neither on the protected data "
        "nor on noise, samples or messages of any round that were not revealed; it may be known to "
        "the adversary and is not itself protected"
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
        "The rounds of every period are composed, and the worst period is shown. A period of "
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
        "a person who takes part for longer may lose as much again in other periods; what the "
        "person contributes in several of them, such as a value that stays the same or data that "
        "are stored and used again, is protected by the guarantee of all entries together, and by "
        "no budget for a period"
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
        "Epsilons do not add up: the remaining value is the difference to the budget, not the "
        "epsilon that further rounds may have."
    )
    return Section(f"By {spent.day}", [said], table=ledger.table_of_standing())


def _colluding(ledger: Ledger) -> Section:
    """How many colluding users the plan survives."""
    found = ledger.colluding
    if found is None:
        reason = ledger.no_colluding
        return Section("Colluding users", [reason[:1].upper() + reason[1:]])
    most = f"at most {_percent(found.value)} of the users of every round collude"
    same = " on the same condition" if ledger.condition else ""
    fits = "also fits" if ledger.fits else "would fit"
    beyond = f"; with {_percent(found.beyond)} it is not certified to fit" if found.beyond else ""
    said = (
        f"The plan {fits}{same} if {most} with the adversary, whichever users they are{beyond}. "
        "This share replaces what the entries say about colluding users."
    )
    return Section("Colluding users", [said])


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"  # shares have four digits


def _ledger(ledger: Ledger) -> Section:
    own = " that concern the same population" if ledger.populations else ""
    worst = f"; for an entry for {EVERYBODY}, the worst population's" if ledger.populations else ""
    said = f"The running epsilon is that of all entries{own} up to and including this line{worst}."
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
        *known.items(),
    ]
    return Section(f"Entry: {planned.name}", facts=rows, level=3)


def _computed(ledger: Ledger) -> Section:
    low, high = ledger.total
    whose = f"all entries{' that concern the worst population' if ledger.populations else ''}"
    whose = "the worst rounds that one person can be in" if ledger.is_limited else whose
    bracket = f"{rounded_down(low, 7)} <= exact epsilon of the analyzed pairs <= "
    rows = [
        ("composition", f"of {whose}; {ADAPTIVE}; {EXACT_COMPOSITION}"),
        ("bracket", f"{bracket}{rounded_up(high, 7)} at delta = {plain(ledger.delta)}"),
        ("rounding", CERTIFIED),
    ]
    return Section("How it was computed", facts=rows)


def _origin(ledger: Ledger, sections: Sequence[Section]) -> Section:
    """The program, the files that it read, and the chapters of the theory that are cited."""
    from .. import __version__

    said = " ".join(text for section in sections for text in section.texts)
    chapters = dict.fromkeys(re.findall(r'theory of shuffledp, chapter ("[^"]+")', said))
    rows = [("software", f"shuffledp {__version__}")]
    rows += [("input", f"{name}, sha256 {digest}") for name, digest in ledger.inputs]
    where = f"in docs/theory of its source distribution, shuffledp-{__version__}.tar.gz"
    cited = f"theory of shuffledp {__version__}, {where}: {', '.join(chapters)}"
    return Section("Sources", facts=[*rows, *([("proofs", cited)] if chapters else [])])
