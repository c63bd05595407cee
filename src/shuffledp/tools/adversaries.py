"""What each piece of the adversary's knowledge costs: one randomizer, every analysis of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._support.progress import progress
from .._support.text import plain
from ..accountant import repeated
from ..guarantee import DEFAULT_RTOL, anyway
from ..randomizers import Randomizer
from ..shuffle import Shuffle
from .ladder import Ladder

#: From the most to the least that the adversary is given.
LADDER = ("strong", "clones", "stronger-clones", "blanket", "exact", "best")


class Row(NamedTuple):
    """One rung: certified bounds of epsilon under one analysis, or what is attained."""

    analysis: str
    lower: float
    upper: float | None  # None for the attained value, which only bounds from below
    adversary: str  # beyond seeing all messages and knowing all other users' values


def adversaries(
    randomizer: Randomizer,
    users: int,
    delta: float,
    *,
    rounds: int = 1,
    rtol: float = DEFAULT_RTOL,
    **options: Any,
) -> Ladder:
    """The ladder of analyses that apply, and the attained value below all of them.

    `options` are those of a `Shuffle`: sample_rate, sampling, neighbours, ...

    >>> from shuffledp import RandomizedResponse, adversaries
    >>> rows = adversaries(RandomizedResponse(k=4, gamma=0.25), users=1000, delta=1e-7)
    >>> {row.analysis: round(row.lower, 3) for row in rows}["strong"]
    0.877
    """
    rows = []
    known = [analysis for analysis in LADDER if analysis in randomizer.analyses]
    with progress("adversaries", len(known) + 1) as done:
        for analysis in known:
            round_ = Shuffle(randomizer, users, analysis, **options)
            bounds = anyway(repeated(round_, rounds).epsilon_bounds, delta, rtol=rtol)
            rows.append(Row(analysis, bounds.lower, bounds.upper, round_.explained.gist))
            done(1)
        best = Shuffle(randomizer, users, **options)
        attained = repeated(best, rounds).attained_epsilon(delta, rtol=rtol)
    rows.append(Row("attained", attained, None, "is told nothing; actual neighbouring datasets"))
    crowd = f"{int(rounds):,} x {best.participants}"
    title = f"{randomizer!r}, {crowd}, delta = {plain(delta)}, {best.relation}"
    return Ladder(title, tuple(rows))
