"""What one user adds to sums that are all that is seen."""

from __future__ import annotations

from dataclasses import dataclass

from .binary import BinaryLaw


@dataclass(frozen=True)
class BitColumns:
    """Bits that are sent independently and added up column by column.

    A value is a vector of `columns` bits of which one or more, up to `ones`, are 1. A 1 is sent as
    1 with the larger probability of the law, a 0 with the smaller one. If there may be a `zero`
    vector, it stands for no value at all.
    """

    law: BinaryLaw
    columns: int = 1
    ones: int = 1
    zero: bool = False

    @property
    def apart(self) -> tuple[int, int]:
        """How many ones two values may have without sharing any: as many as possible, and the first
        one no fewer than the second. Of a single column one is 0."""
        first = min(self.ones, max(self.columns - 1, 1))
        return first, min(self.ones, self.columns - first)

    @property
    def relations(self) -> tuple[str, ...]:
        """The neighbours that have a meaning."""
        return ("replace", "remove") if self.zero else ("replace",)


@dataclass(frozen=True)
class GaussianShare:
    """A number in [0, 1] plus a share of Gaussian noise; 0 stands for no value at all."""

    sigma: float

    @property
    def relations(self) -> tuple[str, ...]:
        return ("replace", "remove")
