"""What one signs: the account of a plan, in words that need no other page."""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support.files import sha256_of_sources
from .._support.text import plain, rounded_down, rounded_up
from ..published.references import references_in
from ..randomizers.analyses import chapter
from ..rounds import RoundOfUsers
from .dates import MONTHS_LATER
from .document import Document, DocumentDetails, Section, terms_of
from .participation import CountedRounds, Participation
from .statement import (
    CERTIFIED,
    COMPOSITION,
    FIXED,
    NO_WARRANTY,
    UNITS,
    aim,
    caution,
    facts,
    in_plain_words,
    local_epsilon,
    none_trusted,
    private,
    relation_of,
    without_trust,
)

if TYPE_CHECKING:
    from ..rounds import Round
    from .ledger import Entry, Ledger
    from .periods import PeriodAccount

#: Beyond it e^epsilon is no number that anybody reads.
_LARGEST_EXPONENT = 20.0
#: Where something is to be filled in by hand.
_BLANK = "." * 28
#: Who signs for whoever is trusted, by the view.
_OPERATORS = {
    "shuffle": "operator of the shuffler",
    "aggregate": "operator of the aggregation",
    "threshold": "operator of the server that counts the reports",
    "allocation": "trainer",
    "central": "curator",
}
#: What the difference to a target or a budget is not.
NOT_LEFT_OVER = (
    "What is below a target or a budget is no reserve for other work: epsilons do not add up in "
    "this way, and all of delta is used already. Run the plan again with every further entry."
)
#: What the guarantee of a plan says nothing about.
OTHER_PLANS = (
    "collections and releases about the same {}s that are not entries of this plan, earlier or "
    "later; what each entry does not cover"
)
#: What is said of time in a plan without dates.
UNDATED = "no dates are given: the guarantee is for these rounds, whenever they take place"
#: Whom entries without a population concern.
EVERYBODY = "everybody"
#: Whom a guarantee is for if populations are accounted for one by one.
DISJOINT = "who is in at most one population"


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
    sections += [_origin(ledger, sections, [name for name, said in details.items() if said])]
    used = terms_of(text for section in sections for text in section.texts)
    glossary = Section("Glossary", facts=used)
    return Document(known.title, [*sections, glossary, _signatures(known, ledger)])


def _front(details: DocumentDetails) -> Section:
    names = ("owner", "purpose", "date", "version")
    rows = [(name, str(getattr(details, name) or _BLANK)) for name in names]
    return Section("About this document", facts=rows)


def _signatures(details: DocumentDetails, ledger: Ledger) -> Section:
    """What is signed, which is repeated here, by whom."""
    views = dict.fromkeys(entry.planned.round.view for entry in ledger.entries)
    operators = [_OPERATORS[view] for view in views]
    usual = ["Controller", *(each[:1].upper() + each[1:] for each in operators)]
    rows = [(line, _BLANK[:14], _BLANK[:14], _BLANK) for line in details.signatures or usual]
    people = any(isinstance(entry.planned.round, RoundOfUsers) for entry in ledger.entries)
    estimate = "; how many users collude or drop out, and why, is estimated" if people else ""
    declared = (
        "Who signs as controller undertakes to carry out every entry as this document describes, "
        f"as far as that is in the controller's hands{estimate}. Who signs as "
        f"{' or '.join(operators)} confirms what this document assumes of that party. "
        "Everybody else who signs has read it and undertakes nothing. The program that wrote it "
        "cannot check any assumption."
    )
    names = [("document", details.title), ("date", details.date), ("version", details.version)]
    signed = [*((name, str(said)) for name, said in names if said), ("guarantee", _claim(ledger))]
    return Section(
        "Signatures",
        [declared, "; ".join(f"{name}: {said}" for name, said in signed), *_missed(ledger)],
        table=(("signed as", "name", "place and date", "signature"), rows),
        kind="signatures",
    )


def _missed(ledger: Ledger) -> list[str]:
    """The target and the budgets that are not met."""
    total, delta = ledger.total.upper, plain(ledger.delta)
    known = [] if ledger.meets_target else [
        ("target", ledger.misses_target, total, plain(ledger.epsilon), delta)
    ]  # fmt: skip
    known += [
        (
            f"budget for {each.name}",
            each.exceeds,
            each.total.upper,
            plain(each.budget.epsilon),
            plain(each.budget.delta),
        )
        for each in ledger.periods
        if not each.fits
    ]
    said = []
    for what, exceeds, upper, limit, at in known:
        verb = "exceeds" if exceeds else "is not certified to meet"
        found = (
            "no epsilon is certified" if math.isinf(upper) else f"epsilon is {rounded_up(upper)}"
        )
        said.append(
            f"As analyzed, this plan {verb} its {what}: {found}, the {what.split()[0]} is {limit}, "
            f"both at delta = {at}."
        )
    return said


def _guarantee(ledger: Ledger) -> Section:
    rounds = [entry.planned.round for entry in ledger.entries]
    count = sum(entry.planned.rounds for entry in ledger.entries)
    upper = ledger.total.upper
    same = ", for a user within these limits" if ledger.is_limited else ""
    known = math.isfinite(upper) and ledger.delta < 1
    published = [(float(rounded_up(upper)), ledger.delta)] if known else []
    meaning = [("meaning", in_plain_words(aim(rounds, count), published))] if known else []
    rows = [
        ("relation", _relation(rounds, count)),
        ("unit", _unit(rounds)),
        ("what it says", _says(upper)),
        *meaning,
        ("who is protected", _protected(ledger, rounds)),
        ("assumed", f"what each entry assumes; {FIXED}"),
        ("not covered", OTHER_PLANS.format(rounds[0].member)),
        *(() if ledger.is_dated else (("when", UNDATED),)),
        ("local", f"{none_trusted([_rounds(ledger, name) for name in _names(ledger)])}{same}"),
        *caution(rounds, [plain(ledger.delta)], published),
    ]
    return Section("Guarantee", [_claim(ledger), ledger.verdict], facts=rows, kind="claim")


def _claim(ledger: Ledger) -> str:
    """What is certified of all entries."""
    upper, delta = ledger.total.upper, plain(ledger.delta)
    if math.isinf(upper):
        return f"No epsilon is certified at delta = {delta} for all entries together."
    if ledger.delta == 1:
        return "Nothing is guaranteed at delta = 1."
    ideal = {entry.planned.name: entry.planned.round.idealised for entry in ledger.entries}
    names = ", ".join(repr(name) for name, said in ideal.items() if said)
    said = f", with {names} idealised {next(filter(None, ideal.values()))}," if names else ""
    pair = f"{private(rounded_up(upper), delta)}{ledger.condition}"
    return f"Under all assumptions of this document, all entries together{said} are {pair}."


def _says(epsilon: float) -> str:
    """The inequality, with the factor as a number where that is one of few digits."""
    factor = "e^epsilon"
    if epsilon <= _LARGEST_EXPONENT:
        # the factor of the epsilon that is printed, and of no smaller one
        factor += f" = {rounded_up(math.exp(float(rounded_up(epsilon))) * (1 + 2.0**-40))}"
    return (
        "for any two neighbouring datasets and any set of results, the probability of that set "
        f"with the one is at most {factor} times that with the other, plus delta"
    )


def _relation(rounds: Sequence[Round], count: int) -> str:
    """That of all entries, or where it is, if it has several forms."""
    if len({each.differing for each in rounds}) == 1:
        return relation_of(rounds[0], count)
    return f"{rounds[0].relation}: in each entry, neighbouring datasets differ as it says"


def _unit(rounds: Sequence[Round]) -> str:
    members = dict.fromkeys(each.member for each in rounds)
    if len(members) == 1:
        return UNITS[next(iter(members))]
    return f"{UNITS['user']}; every user is assumed to have at most one example"


def _protected(ledger: Ledger, rounds: Sequence[Round]) -> str:
    """Whom the guarantee is for, and whom not."""
    ones = list(dict.fromkeys(each.protected_ones for each in rounds))
    following = [each for each in ones if "follows the protocol" in each]
    who = max(following or ones, key=len)
    against = f"{who}, against the adversary that each entry states"
    said = [against]
    if following:
        said.append("users who collude or deviate from the protocol in any round are not protected")
    if ledger.condition:
        said.append("for users other than those of the first sentence, no guarantee is stated")
    return "; ".join(said)


def _names(ledger: Ledger) -> list[str | None]:
    return [population.name for population in ledger.populations] or [None]


def _rounds(ledger: Ledger, population: str | None) -> CountedRounds:
    """The rounds that one user of a population, or any user if none is named, can be in: those that
    cost most if nobody is trusted."""
    planned = [e.planned for e in ledger.entries if e.planned.population in (None, population)]
    attendances = Participation(planned, ledger.stays).attendances()
    return max((each.rounds for each in attendances), key=_local_epsilon)


def _local_epsilon(rounds: CountedRounds) -> float:
    return sum(local_epsilon(*each) for each in rounds)


def _populations(ledger: Ledger) -> Section:
    """What each of them loses, and what is assumed of them."""
    said = (
        f"The entries of a user's population and those for {EVERYBODY} are composed; a user in "
        f"no population is concerned by those for {EVERYBODY} only. Entries of other populations "
        "use none of the user's data and so cost the user nothing. The guarantee is that of "
        "the worst population."
    )
    meaning = (
        "neighbouring datasets have the same users in the same populations; the population of a "
        "user is fixed, does not depend on the protected data, may be known to the adversary and "
        "is not itself protected"
    )
    whom = f"every user {DISJOINT}; for a user of several, no guarantee is stated"
    rows = [("who is protected", whom), ("relation", meaning)]
    return Section("Populations", [said], table=ledger.table_of_populations(), facts=rows)


def _limits(ledger: Ledger) -> Section:
    """In how many rounds a user is, and what is assumed of that."""
    if not ledger.is_limited:
        whole = (
            f"The last round of the plan is less than {ledger.stays} after the first, so that "
            "limiting every user to this time changes nothing."
        )
        return Section("Who takes part", [whole])
    said = (
        "Only the rounds in which a user takes part concern the user. The guarantee is for the "
        "worst set of rounds that the assumption allows."
    )
    meaning = (
        "a user takes part in a round if the user is one of its users, even if the round draws "
        "some of them at random and the user is not drawn; no other round uses any of the "
        "user's data, including stored data"
    )
    pauses = (
        "; the time starts on the day of the user's first round and includes pauses, and all "
        f"rounds of the user are before the day on which it ends: in months, {MONTHS_LATER}"
    )
    relation = (
        "neighbouring datasets have the same users in the same rounds; whether a user takes "
        "part may depend on everything that was revealed before, but neither on the protected data "
        "nor on noise, samples or messages of any round that were not revealed; it may be known to "
        "the adversary and is not itself protected"
    )
    rows = [
        ("who is protected", f"every user {ledger.limits}; for others, no guarantee is stated"),
        ("taking part", f"{meaning}{pauses if ledger.stays else ''}"),
        ("relation", relation),
    ]
    return Section("Who takes part", [said], facts=rows)


def _periods(ledger: Ledger) -> Section:
    """The epsilon of one user in a period, and for what that stands."""
    said = (
        "The rounds of every period are composed, and the worst period is shown. A period of "
        f"months ends before {MONTHS_LATER}."
    )
    whole = [_whole(period) for period in ledger.periods if period.is_whole_plan]
    whole.append(
        "Only rounds of this plan are counted: if collections began before it or go on after it, a "
        "period may contain further rounds."
    )
    meaning = (
        "for two datasets that differ in what one user contributes to the rounds of one such "
        "period, and in nothing else, the inequality under Guarantee holds for the results of all "
        "rounds of the plan together, with the epsilon that the table has for the period and "
        "the delta of its budget"
    )
    longer = (
        "a user who takes part for longer may lose as much again in other periods; what the user "
        "contributes in several of them, such as a value that stays the same or data that "
        "are stored and used again, is protected by the guarantee of all entries together, and by "
        "no budget for a period"
    )
    rows = [("what it says", meaning), ("what it does not say", longer)]
    return Section("Periods", [said, *whole], table=ledger.table_of_periods(), facts=rows)


def _whole(period: PeriodAccount) -> str:
    """That one period contains all rounds."""
    concern = f" that concern {period.population!r}" if period.population else " of the plan"
    if period.budget.any is None:
        return f"All rounds{concern} are in the {period.name}."
    within = f"take less than {period.budget.any} from the first to the last"
    return f"All rounds{concern} {within}, so that one such period contains them all."


def _standing(ledger: Ledger) -> Section:
    """The epsilon of the rounds that are due by a day."""
    spent = ledger.standing
    assert spent is not None
    done = f"{spent.rounds:,} of {spent.planned:,} rounds are due up to and including {spent.day}"
    said = (
        f"By the plan, {done}: whether they have taken place is not known to the program. Periods "
        "are those that contain this day. Epsilons do not add up: what is below a limit is not the "
        "epsilon that further rounds may have."
    )
    return Section(f"By {spent.day}", [said], table=ledger.table_of_standing())


def _colluding(ledger: Ledger) -> Section:
    """How many colluding users the plan survives."""
    found = ledger.colluding
    if found is None:
        reason = ledger.no_colluding
        return Section("Colluding users", [reason[:1].upper() + reason[1:]])
    fits = "still fits" if ledger.fits else "fits"
    beyond = f" With {_percent(found.beyond)} it is not certified to fit." if found.beyond else ""
    said = (
        f"The plan {fits}{ledger.condition} if at most {_percent(found.value)} of the users of "
        f"every round collude and all else is as stated.{beyond} The guarantee above is for the "
        "numbers in the entries."
    )
    return Section("Colluding users", [said])


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"  # shares have four digits


def _ledger(ledger: Ledger) -> Section:
    own = " that concern the same population" if ledger.populations else ""
    worst = f"; for an entry for {EVERYBODY}, the worst population's" if ledger.populations else ""
    said = f"The running epsilon is that of all entries{own} up to and including this line{worst}."
    return Section("Ledger", [said, NOT_LEFT_OVER], table=(ledger.head, ledger.rows()))


def _entry(entry: Entry, ledger: Ledger) -> Section:
    planned = entry.planned
    several = len({each.planned.round.differing for each in ledger.entries}) > 1
    known = dict(facts(planned.round, planned.rounds))
    attendances = Participation([planned], ledger.stays).attendances()
    most = max(count for each in attendances for _, count in each.rounds)
    limit = f"in at most {most:,} of {planned.rounds:,} rounds"
    known["local"] = without_trust(planned.round, most)
    rows = [
        *([("population", planned.population)] if planned.population else ()),
        *([("relation", relation_of(planned.round, planned.rounds))] if several else ()),
        *([("when", str(planned.schedule))] if planned.schedule else ()),
        *([("one user", limit)] if most < planned.rounds else ()),
        *known.items(),
    ]
    return Section(f"Entry: {planned.name}", facts=rows, level=3)


def _computed(ledger: Ledger) -> Section:
    low, high = ledger.total
    limited = ledger.is_limited or bool(ledger.periods)
    whose = f"all entries{' that concern the worst population' if ledger.populations else ''}"
    whose = "the worst rounds that one user can be in" if ledger.is_limited else whose
    bracket = f"{rounded_down(low, 7)} <= exact epsilon of the analyzed pairs <= "
    limits = f"; rounds of one user: {chapter('Who takes part, and when')}"
    bracket = f"{bracket}{rounded_up(high, 7)} at delta = {plain(ledger.delta)}"
    rows = [
        ("composition", f"of {whose}; {COMPOSITION}{limits if limited else ''}"),
        ("bracket", bracket),
        ("meaning of the bracket", CERTIFIED),
        ("warranty", NO_WARRANTY),
    ]
    return Section("How it was computed", facts=rows)


def _origin(ledger: Ledger, sections: Sequence[Section], given: Sequence[str]) -> Section:
    """The program, the files and options that it read, and the proofs and papers that are cited."""
    from .. import __version__

    said = " ".join(text for section in sections for text in section.texts)
    chapters = dict.fromkeys(re.findall(r'theory of shuffledp, chapter ("[^"]+")', said))
    program = f"shuffledp {__version__}, Python sources with sha256 {sha256_of_sources()}"
    rows = [("software", f"{program}; Python {platform.python_version()}, numpy {np.__version__}")]
    rows += [("input", f"{name}, sha256 {digest}") for name, digest in ledger.inputs]
    rows += [("given separately", ", ".join(given))] if given else []
    rows += [("tolerance", f"brackets have a relative width of {plain(ledger.rtol)} if possible")]
    where = f"in docs/theory of its source distribution shuffledp-{__version__}.tar.gz"
    cited = f"theory of shuffledp {__version__}, {where}: {', '.join(chapters)}"
    rows += [("proofs", cited)] if chapters else []
    papers = "; ".join(paper.cited for paper in references_in(said))
    return Section("Sources", facts=[*rows, *([("literature", papers)] if papers else [])])
