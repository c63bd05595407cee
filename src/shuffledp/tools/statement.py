"""What a guarantee says, for people, in plain sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..guarantee import NEIGHBOURS
from ..rounds import Round


def statement(round_: Round, rounds: int, guarantees: Sequence[tuple[str, str, str]]) -> str:
    """A text for a privacy review. Each guarantee is (epsilon, delta, bracket), ready to print.

    Where epsilon is "infinity", which is no guarantee, it is (epsilon, delta, why).
    """
    from .. import __version__

    analysis = round_.explained
    times = f"one {round_.noun}" if rounds == 1 else f"{rounds:,} {round_.noun}s"
    rows = [
        ("relation", ": ".join(NEIGHBOURS[round_.neighbours])),
        (
            "protocol",
            f"{times} of {round_.participants}; {round_.mechanism}: {round_.described}",
        ),
        ("analysis", f"{analysis.name}: {analysis.theorem}"),
        ("adversary", analysis.adversary),
        ("assumed", "; ".join(round_.assumptions)),
        *round_.remarks,
    ]
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
