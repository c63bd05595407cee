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
    def differing(self) -> tuple[tuple[int, int], ...]:
        """In how many columns only the first of two values has a 1, and in how many only the
        second: every pair of such numbers of which neither can grow.

        Both are `ones` if there are twice as many columns. Otherwise the two values differ in all
        columns at most, and each has a 1 of its own, unless there is a single column.
        """
        least = min(max(self.columns - self.ones, 1), self.ones)
        most = min(self.ones, max(self.columns - 1, 1))
        return tuple(
            (first, min(self.ones, self.columns - first)) for first in range(least, most + 1)
        )

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
