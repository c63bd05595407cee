"""What a guarantee says, for people, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from .._support.text import PAGE, wrapped
from ..guarantee import NEIGHBOURS
from ..rounds import Round


def statement(round_: Round, rounds: int, guarantees: Sequence[tuple[str, str, str]]) -> str:
    """A text for a privacy review. Each guarantee is (epsilon, delta, bracket), ready to print.

    Where epsilon is "infinity", which is no guarantee, it is (epsilon, delta, why).
    """
    from .. import __version__

    rows = [("relation", ": ".join(NEIGHBOURS[round_.neighbours])), *facts(round_, rounds)]
    if rounds > 1:
        rows.append(("composition", "adaptive, exact for the analyzed pair up to the bracket"))
    rows += [("bracket", bracket) for e, _, bracket in guarantees if e != "infinity"]
    rows.append(
        ("computed by", f"shuffledp {__version__}; every rounding error is on the safe side")
    )
    lines = [*(claim(*guarantee) for guarantee in guarantees), ""]
    lines += [wrapped(text, f"  {name:<13}", 15, piped=PAGE) for name, text in rows]
    return "\n".join(lines)


def claim(epsilon: str, delta: str, why: str) -> str:
    """The first sentence: what is certified, or why nothing is."""
    if epsilon == "infinity":
        text = f"No epsilon is certified at delta = {delta} by this analysis: {why}"
        return wrapped(text, piped=PAGE)
    return wrapped(f"The protocol is ({epsilon}, {delta})-differentially private.")


def facts(round_: Round, rounds: int) -> list[tuple[str, str]]:
    """What is done, by which theorem, against whom, and what was assumed, each with its name."""
    analysis = round_.explained
    times = f"one {round_.noun}" if rounds == 1 else f"{rounds:,} {round_.noun}s"
    return [
        (
            "protocol",
            f"{times} of {round_.participants}; {round_.mechanism}: {round_.described}",
        ),
        ("analysis", f"{analysis.name}: {analysis.theorem}"),
        ("adversary", analysis.adversary),
        ("assumed", "; ".join(round_.assumptions)),
        *round_.remarks,
    ]
