"""What a guarantee says, for people: plain sentences, upper values rounded up, lower ones down."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from ..shuffle import Shuffle


def rounded_up(value: float, digits: int = 4) -> str:
    """Decimal text with `digits` significant digits, not below the exact value of the float.

    Rounding to the nearest could fall below what was certified.

    >>> from shuffledp import PureLDP, Shuffle, rounded_up
    >>> rounded_up(Shuffle(PureLDP(eps0=4.0), users=10_000).get_epsilon(1e-6))
    '0.4109'
    """
    return _text(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 4) -> str:
    """Decimal text with `digits` significant digits, not above the exact value of the float."""
    return _text(value, digits, ROUND_FLOOR)


def _text(value: float, digits: int, rounding: str) -> str:
    if value == 0 or value == float("inf"):
        return "0" if value == 0 else "infinity"
    number = Decimal(value).normalize(Context(prec=digits, rounding=rounding))
    if -5 <= number.adjusted() < 9:
        return format(number, "f")
    return format(number, "e").replace("e+", "e")


def plain(value: float) -> str:
    """A number that was given, in full: 1e-06, 0.25, and 1 for 1.0."""
    return repr(value).removesuffix(".0")


def senders(round_: Shuffle) -> str:
    """How many send in each round, of how many, and what is unusual about them."""
    about = "" if round_.sampling == "fixed" else "about "
    sampled = f"{about}{round_.senders:,} of " if round_.sample_rate < 1 else ""
    return f"{sampled}{round_.users:,}{_aside(round_)}"


def _aside(round_: Shuffle) -> str:
    said = [f"{round_.colluding:,} colluding"] if round_.colluding else []
    said += [f"{round_.dropouts:,} dropping out"] if round_.dropouts else []
    said += [f"{round_.messages:,} messages each"] if round_.messages > 1 else []
    return f" ({', '.join(said)})" if said else ""


def participants(round_: Shuffle) -> str:
    """Who sends in each round, in words."""
    aside, users = _aside(round_), f"user{'' if round_.users == 1 else 's'}"
    if round_.sampling == "poisson" and round_.sample_rate < 1:
        every = f"each of whom sends with probability {round_.sample_rate:g}"
        return f"{round_.users:,} {users}{aside}, {every}"
    fresh = ", a fresh random subset each round" if round_.sample_rate < 1 else ""
    return f"{senders(round_).removesuffix(aside)} {users}{aside}{fresh}"


def _people(round_: Shuffle) -> str:
    """Who may fail to follow the protocol."""
    if round_.honest == round_.users:
        return "no user colludes with the adversary or drops out"
    counts = {"collude with the adversary": round_.colluding, "drop out": round_.dropouts}
    said = [f"up to {count:,} users {what}" for what, count in counts.items() if count]
    return f"{' and '.join(said)}, whoever they are, and no others do"


def statement(
    round_: Shuffle, rounds: int, guarantees: Sequence[tuple[str, str, str]], version: str
) -> str:
    """A text for a privacy review. Each guarantee is (epsilon, delta, bracket), ready to print.

    Where epsilon is "infinity", which is no guarantee, it is (epsilon, delta, why).
    """
    analysis = round_.explained
    times = "one shuffled round" if rounds == 1 else f"{rounds:,} shuffled rounds"
    rows = [
        ("relation", "replace-one: neighbouring datasets differ in the value of one user"),
        (
            "protocol",
            f"{times} of {participants(round_)}; local randomizer: {round_.randomizer.describe()}",
        ),
        ("analysis", f"{analysis.name}: {analysis.theorem}"),
        ("adversary", analysis.adversary),
        ("assumed", f"{analysis.assumption}; the shuffler is honest; {_people(round_)}"),
    ]
    if round_.messages > 1:
        every = f"every user sends {round_.messages:,} messages in a round"
        rows.append(("messages", f"{every}, which may change together and are protected together"))
    if round_.sample_rate < 1:
        rows.append(("sampling", "the adversary does not learn who was sampled; docs/theory.md"))
    if rounds > 1:
        rows.append(("composition", "adaptive, exact for the analyzed pair up to the bracket"))
    rows += [("bracket", bracket) for e, _, bracket in guarantees if e != "infinity"]
    rows.append(("computed by", f"shuffledp {version}; every rounding error is on the safe side"))
    lines = []
    for e, d, why in guarantees:
        if e == "infinity":
            text = f"No epsilon is certified at delta = {d} by this analysis: {why}"
            lines += textwrap.wrap(text, 96)
        else:
            lines.append(f"The protocol is ({e}, {d})-differentially private.")
    lines.append("")
    for name, text in rows:
        indent = " " * 15
        lines += textwrap.wrap(text, 96, initial_indent=f"  {name:<13}", subsequent_indent=indent)
    return "\n".join(lines)
