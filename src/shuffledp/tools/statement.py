"""What a guarantee says, for people, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._support.text import PAGE, percent, percent_up, wrapped
from ..bounds.tradeoff import true_positive_rates
from ..guarantee import NEIGHBOURS
from ..rounds import Round

_ACCUSED = 0.01  # of the innocent, in plain words
_CAUTION = (
    "delta = {} is at least 1/users: even to publish the value of one user, drawn at random, has "
    "that delta, with epsilon = 0; far below 1/users is usual"
)
#: What an attacker tries, for each relation of neighbours.
AIMS = {
    "replace": "to tell two values of a user apart",
    "remove": "to tell whether a user's value is there",
}


def statement(round_: Round, rounds: int, guarantees: Sequence[tuple[str, str, str]]) -> str:
    """A text for a privacy review. Each guarantee is (epsilon, delta, bracket), ready to print.

    Where epsilon is "infinity", which is no guarantee, it is (epsilon, delta, why).
    """
    from .. import __version__

    rows = [("relation", ": ".join(NEIGHBOURS[round_.neighbours])), *facts(round_, rounds)]
    if rounds > 1:
        rows.append(("composition", "adaptive, exact for the analyzed pair up to the bracket"))
    rows += [("bracket", bracket) for e, _, bracket in guarantees if e != "infinity"]
    pairs = [(float(e), float(d)) for e, d, _ in guarantees if e != "infinity"]
    if pairs:
        rows.append(("meaning", in_plain_words(round_.neighbours, pairs)))
    rows += caution([round_], [d for e, d, _ in guarantees if e != "infinity"])
    rows.append(
        ("computed by", f"shuffledp {__version__}; every rounding error is on the safe side")
    )
    lines = [*(claim(*guarantee) for guarantee in guarantees), ""]
    lines += [wrapped(text, f"  {name:<13}", 15, piped=PAGE) for name, text in rows]
    return "\n".join(lines)


def caution(rounds: Sequence[Round], deltas: Sequence[str]) -> list[tuple[str, str]]:
    """A line if a delta is too large to say much: the first such."""
    fewest = min((getattr(round_, "users", math.inf) for round_ in rounds), default=math.inf)
    large = [delta for delta in deltas if float(delta) * fewest >= 1]
    return [("caution", _CAUTION.format(large[0]))] if large else []


def claim(epsilon: str, delta: str, why: str) -> str:
    """The first sentence: what is certified, or why nothing is."""
    if epsilon == "infinity":
        text = f"No epsilon is certified at delta = {delta} by this analysis: {why}"
        return wrapped(text, piped=PAGE)
    return wrapped(f"The protocol is ({epsilon}, {delta})-differentially private.")


def in_plain_words(neighbours: str, pairs: Sequence[tuple[float, float]]) -> str:
    """What guarantees (epsilon, delta) together say of an attacker.

    >>> in_plain_words("replace", [(0.5, 1e-6)])[61:]
    'accuses 1 % of the innocent catches at most 1.649 % of the guilty'
    """
    epsilon, delta = np.array(pairs).T
    caught = float(true_positive_rates(epsilon, delta, np.array([_ACCUSED]))[0])
    return (
        f"an attacker who tries {AIMS[neighbours]} and accuses {percent(_ACCUSED)} of the innocent "
        f"catches at most {percent_up(caught)} of the guilty"
    )


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
