"""What `adversaries` found: rows, and the same as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._support.rows import Records
from .._support.tables import html_table
from .._support.text import rounded_down, rounded_up

if TYPE_CHECKING:
    from .adversaries import AnalysisRow


@dataclass(frozen=True)
class Ladder(Sequence["AnalysisRow"], Records):
    """Every analysis of one protocol, from the most to the least that the adversary is given.

    >>> from shuffledp import RandomizedResponse, adversaries
    >>> found = adversaries(RandomizedResponse(k=4, gamma=0.25), users=1000, delta=1e-7)
    >>> found.columns
    ('analysis', 'epsilon_lower', 'epsilon_upper', 'adversary')
    """

    title: str
    rows: tuple[AnalysisRow, ...]

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "analysis": row.analysis,
                "epsilon_lower": row.lower,
                "epsilon_upper": row.upper,
                "adversary": row.adversary,
            }
            for row in self.rows
        ]

    def _repr_html_(self) -> str:
        lines = [
            (
                row.analysis,
                rounded_down(row.lower),
                "" if row.upper is None else rounded_up(row.upper),
                row.adversary,
            )
            for row in self.rows
        ]
        head = ("analysis", "epsilon, at least", "at most", "the adversary")
        return html_table(self.title, head, lines, named_by=0)
