"""What a plan costs, entry by entry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .._support.numeric import Bounds
from .._support.rows import Records
from .._support.tables import html_table, text_table
from .._support.text import plain, rounded_down, rounded_up, wrapped
from .signed import document

if TYPE_CHECKING:
    from .plan import PlannedRound

#: Names of files, and their sha256.
Inputs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """A line of the ledger: the epsilon of everything up to and including it."""

    planned: PlannedRound
    running: Bounds[float]
    remaining: float  # target minus the upper running epsilon; negative once it is exceeded
    fits: bool


@dataclass(frozen=True)
class Ledger(Records):
    """What a plan costs, entry by entry, against its target.

    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=100_000), rounds=52)
    >>> Plan(epsilon=0.01, delta=1e-6, rounds=(weekly,)).ledger().fits
    False
    """

    epsilon: float
    delta: float
    entries: tuple[Entry, ...]
    inputs: Inputs = ()

    def to_markdown(self, date: str | None = None) -> str:
        """A document to sign: guarantee, relation, adversaries, assumptions, analyses, inputs."""
        return document(self, date).markdown()

    def to_html(self, date: str | None = None) -> str:
        """The same as a page of its own."""
        return document(self, date).html()

    @property
    def fits(self) -> bool:
        """Is the whole plan certified to meet the target?"""
        return self.entries[-1].fits

    @property
    def relation(self) -> str:
        """The neighbours' name: replace-one or remove-one."""
        return self.entries[0].planned.round.relation

    def records(self) -> list[dict[str, Any]]:
        found = []
        for entry in self.entries:
            round_ = entry.planned.round
            _, analysis, inside = round_.summary
            row: dict[str, Any] = {"entry": entry.planned.name, "rounds": entry.planned.rounds}
            row |= {name: getattr(round_, name, None) for name in ("users", "sample_rate")}
            row |= {"randomizer": inside, "analysis": analysis}
            row |= {"epsilon_lower": entry.running.lower, "epsilon_upper": entry.running.upper}
            found.append(row | {"remaining": entry.remaining, "fits": entry.fits})
        return found

    head: ClassVar[tuple[str, ...]] = (
        *("entry", "rounds", "users in each", "running epsilon", "remaining", "fits"),
    )

    def rows(self) -> list[tuple[str, ...]]:
        """The lines of the table, ready to print."""
        return [
            (
                entry.planned.name,
                f"{entry.planned.rounds:,}",
                entry.planned.round.crowd,
                rounded_up(entry.running.upper),
                _signed_down(entry.remaining),
                "yes" if entry.fits else "no",
            )
            for entry in self.entries
        ]

    @property
    def verdict(self) -> str:
        """Whether it fits, in one sentence."""
        last, relation = self.entries[-1], self.relation
        budget = f"the target ({plain(self.epsilon)}, {plain(self.delta)})"
        if last.fits:
            left = rounded_down(last.remaining)
            return f"The plan fits {budget}: epsilon {left} remains ({relation} neighbours)."
        first = next(entry.planned.name for entry in self.entries if not entry.fits)
        if last.running.lower <= self.epsilon < math.inf > last.running.upper:
            least, most = rounded_down(last.running.lower, 7), rounded_up(last.running.upper, 7)
            known = f"{least} <= epsilon <= {most} is certified ({relation} neighbours)"
            return f"The plan is not certified to fit {budget}: {known}; narrow it by rtol."
        over = rounded_up(-last.remaining)
        return f"The plan exceeds {budget} by epsilon {over}, from {first!r} on ({relation})."

    def __str__(self) -> str:
        return f"{text_table(self.head, self.rows(), left=[0])}\n\n{wrapped(self.verdict)}"

    def _repr_html_(self) -> str:
        return html_table(self.verdict, self.head, self.rows(), named_by=0)


def _signed_down(value: float) -> str:
    return rounded_down(value) if value >= 0 else f"-{rounded_up(-value)}"
