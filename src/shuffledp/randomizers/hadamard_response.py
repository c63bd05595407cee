"""Hadamard response."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from .base import register
from .exact import ExactMatrix, Fractions, of_sets, ratio
from .membership import MembershipRandomizer
from .parameter import LocalEpsilon, Values

if TYPE_CHECKING:
    from ..clients import Client


@register
@dataclass(frozen=True)
class HadamardResponse(MembershipRandomizer):
    """Hadamard response: a column of a Hadamard matrix, likelier one that the value owns.

    Each value owns half of the columns: the positive entries of its row.

    Parameters
    ----------
    k : int
        Number of values, 2 to 1e12.
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.randomizers import HadamardResponse
    >>> HadamardResponse(k=100, eps0=1.0).columns
    128
    """

    name: ClassVar[str] = "hadamard"
    also: ClassVar[tuple[str, ...]] = ("hr", "hadamard-response")
    task: ClassVar[str] = "count"
    example: ClassVar[Mapping[str, float]] = {"k": 3, "eps0": 1.0}
    values_for_three: ClassVar[int] = 4  # rows 1, 2 and 4: 3 is the product of 1 and 2

    k: Values
    eps0: LocalEpsilon

    @property
    def in_words(self) -> str:
        return "a random set of values, more likely one with the own value"

    @property
    def columns(self) -> int:
        """Number of columns: the next power of two above k; values have the rows 1 .. k."""
        return 1 << self.k.bit_length()

    @property
    def blanket_key(self) -> Hashable:
        """Number of values: in the blanket all columns are equally likely."""
        return self.k

    def base_mass(self, inside: int, given: int) -> float:
        # two rows, and three whose product is not the all-ones row, agree with every pattern of
        # signs on the same share of the columns
        return math.ldexp(2 / (math.exp(self.eps0) + 1), -given)

    def telling_values(self) -> list[Any]:
        return [0, 1, 3] if self.k >= self.values_for_three else [0, 1]

    @property
    def mass_containing_all(self) -> float:
        return 2 / (math.exp(self.eps0) + 1) / self.columns  # column 0

    @cached_property
    def client(self) -> Client:
        from ..clients.columns import ColumnsClient

        return ColumnsClient(self.k, ratio(self.eps0), self.columns)

    def exact(self) -> ExactMatrix:
        return ExactMatrix(self.k, self.columns, self._owned)

    def _owned(self) -> Fractions:
        # entry (x, column) of the Sylvester matrix is the parity of the common bits; row 0 is idle
        owners = (
            [x for x in range(self.k) if ((x + 1) & column).bit_count() % 2 == 0]
            for column in range(self.columns)
        )
        return of_sets(self.k, owners, self.eps0)
