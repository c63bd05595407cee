"""What a guarantee says, for people, in plain sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..shuffle import Shuffle


def _people(round_: Shuffle) -> str:
    """Who may fail to follow the protocol."""
    if round_.honest == round_.users:
        return "no user colludes with the adversary or drops out"
    counts = {"collude with the adversary": round_.colluding, "drop out": round_.dropouts}
    said = [f"up to {count:,} users {what}" for what, count in counts.items() if count]
    return f"{' and '.join(said)}, whoever they are, and no others do"


def statement(round_: Shuffle, rounds: int, guarantees: Sequence[tuple[str, str, str]]) -> str:
    """A text for a privacy review. Each guarantee is (epsilon, delta, bracket), ready to print.

    Where epsilon is "infinity", which is no guarantee, it is (epsilon, delta, why).
    """
    from .. import __version__

    analysis = round_.explained
    times = "one shuffled round" if rounds == 1 else f"{rounds:,} shuffled rounds"
    rows = [
        ("relation", "replace-one: neighbouring datasets differ in the value of one user"),
        (
            "protocol",
            f"{times} of {round_.participants}; local randomizer: {round_.randomizer.describe()}",
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
    rows.append(
        ("computed by", f"shuffledp {__version__}; every rounding error is on the safe side")
    )
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
