"""Every analysis of one randomizer, with what the adversary is told and what the proof uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .._support.progress import progress
from .._support.rows import RowSequence
from .._support.tables import CaptionedTable
from .._support.text import plain, rounded_down, rounded_up, several, wrapped
from ..accountant import repeated
from ..errors import OutOfRange
from ..guarantee import DEFAULT_RTOL, best_effort
from ..randomizers import Randomizer
from ..randomizers.analyses import LADDER
from ..rounds import RoundOfUsers
from ..shuffle import Shuffle
from .protocol import round_of_users


class AnalysisRow(NamedTuple):
    """One rung of a ladder: certified bounds on epsilon under one analysis, or what is attained.

    Attributes
    ----------
    analysis : str
        Name of the analysis, or "attained".
    lower : float
        Lower bound on epsilon.
    upper : float or None
        Upper bound; None for the attained value, which only bounds from below.
    adversary : str
        What the adversary is given, beyond all other users' values and, unless only sums are seen,
        all messages. Analyses that use eps0 only are weaker proofs, for any randomizer with that
        eps0: the adversary knows no more there.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse, adversaries
    >>> row = adversaries(RandomizedResponse(k=4, gamma=0.25), users=1000, delta=1e-7)[-1]
    >>> row.analysis, row.upper
    ('attained', None)
    """

    analysis: str
    lower: float
    upper: float | None
    adversary: str


@dataclass(frozen=True, repr=False)
class Ladder(RowSequence[AnalysisRow]):
    """Every analysis of one protocol, with what the adversary is told and what the proof uses.

    It is a sequence of its rows.

    Attributes
    ----------
    title : str
        The protocol.
    rows : tuple of AnalysisRow
        One per analysis; the attained value is last.
    view : str
        What the adversary sees: "shuffle" or "aggregate".

    Examples
    --------
    >>> from shuffledp import RandomizedResponse, adversaries
    >>> found = adversaries(RandomizedResponse(k=4, gamma=0.25), users=1000, delta=1e-7)
    >>> found.columns
    ('analysis', 'epsilon_lower', 'epsilon_upper', 'adversary')
    """

    title: str
    rows: tuple[AnalysisRow, ...]
    view: str = Shuffle.view

    def records(self) -> list[dict[str, Any]]:
        names = ("analysis", "epsilon_lower", "epsilon_upper", "adversary")
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def __str__(self) -> str:
        sees = "sees all messages, " if self.view == Shuffle.view else ""
        lines = [
            wrapped(f"{self.title}."),
            wrapped(f"The adversary {sees}knows all other users' values, and ..."),
            f"\n{'analysis':<17}{'epsilon':>10}",
        ]
        for name, lower, upper, adversary in self.rows:
            value = f">= {rounded_down(lower)}" if upper is None else rounded_up(upper)
            lines.append(wrapped(adversary, f"{name:<17}{value:>10}   ", 30))
        return "\n".join(lines)

    def as_table(self) -> CaptionedTable:
        lines = [
            (name, rounded_down(low), "" if up is None else rounded_up(up), adversary)
            for name, low, up, adversary in self.rows
        ]
        head = ("analysis", "epsilon, at least", "at most", "the adversary")
        return CaptionedTable(self.title, head, lines)


def adversaries(
    randomizer: Randomizer,
    users: int,
    delta: float,
    *,
    view: str = "shuffle",
    rounds: int = 1,
    rtol: float = DEFAULT_RTOL,
    **options: Any,
) -> Ladder:
    """Ladder of all analyses that apply, with the attained value below all of them.

    With view="aggregate" it is the ladder of what is seen, from every user's message down to the
    sums.

    Parameters
    ----------
    randomizer : Randomizer
        What every user applies to their value, such as RandomizedResponse(16, eps0=2.0).
    users : int
        Number of users, 1 to 1e12, including those who collude or drop out.
    delta : float
        Privacy parameter, 0 for pure DP or 1e-280 to 1.
    view : str
        What the adversary sees: "shuffle" or "aggregate".
    rounds : int
        Number of rounds, 1 to 1e7.
    rtol : float
        Relative width in epsilon to aim for, 1e-7 to 0.5.
    **options : object
        Options of the round: neighbours, sample_rate, sampling, ...

    Returns
    -------
    Ladder
        One row per analysis.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse, adversaries
    >>> rows = adversaries(RandomizedResponse(k=4, gamma=0.25), users=1000, delta=1e-7)
    >>> {row.analysis: round(row.lower, 3) for row in rows}["strong"]
    0.877
    """
    round_ = round_of_users(randomizer, users, view=view, **options)
    rows = []
    rungs = list(_rungs(round_, options))
    with progress("adversaries", len(rungs) + 1) as done:
        for name, above, gist in rungs:
            bounds = best_effort(repeated(above, rounds).epsilon_bounds, delta, rtol=rtol)
            rows.append(AnalysisRow(name, bounds.lower, bounds.upper, gist))
            done(1)
        attained = repeated(round_, rounds).attained_epsilon(delta, rtol=rtol)
    gist = f"is told nothing more; {randomizer.attained_by}"
    rows.append(AnalysisRow("attained", attained, None, gist))
    crowd = f"{several(int(rounds), round_.noun)} of {round_.participants}"
    title = f"{randomizer!r}, {crowd}, delta = {plain(delta)}, {round_.relation}"
    return Ladder(title, tuple(rows), view)


def _rungs(
    round_: RoundOfUsers, options: dict[str, Any]
) -> Iterator[tuple[str, RoundOfUsers, str]]:
    """Names, rounds, and what the adversary is given in each of them."""
    randomizer, users = round_.randomizer, round_.users
    if isinstance(round_, Shuffle):
        for name in LADDER:
            analysis = randomizer.analyses.get(name)
            # what is exact of all users is not of a sample: another analysis, or a bound, stands in
            whole = round_.sample_rate == 1 or name == "best"
            if analysis and (whole or analysis.as_one):
                rung = replace(round_, analysis=name)
                # several messages, and samples by a named analysis, are bounded by other theorems
                loose = round_.messages > 1 or (round_.sample_rate < 1 and name != "best")
                yield name, rung, rung.explained.gist + ("; an upper bound" if loose else "")
        return
    if round_.neighbours == "replace":  # who sends nothing would be seen
        # the sum of one message is the message
        yield (
            "local",
            round_of_users(randomizer, 1, view=round_.view),
            "sees which message is whose",
        )
        with suppress(OutOfRange):  # sums are answered where shuffled messages are not
            shuffled = Shuffle(randomizer, users, **options)
            yield "shuffle", shuffled, "sees all messages, shuffled"
    yield round_.explained.name, round_, round_.explained.gist
