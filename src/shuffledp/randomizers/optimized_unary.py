"""Optimized unary encoding (OUE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from .. import laws
from .base import register
from .exact import ExactMatrix, Fractions, of_bits, ratio
from .membership import MembershipRandomizer
from .parameter import Family, LocalEpsilon, Values

if TYPE_CHECKING:
    from ..clients import Client


@register
@dataclass(frozen=True)
class OptimizedUnaryEncoding(MembershipRandomizer):
    """Optimized unary encoding (OUE): k bits, one of them set, each randomized by itself.

    The set bit is sent as 1 with probability 1/2, each other one with probability 1/(e^eps0 + 1)
    (Wang, Blocki, Li, Jha 2017). `UnaryEncoding` supports any other probabilities.

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
    >>> from shuffledp import Shuffle
    >>> from shuffledp.randomizers import OptimizedUnaryEncoding
    >>> Shuffle(OptimizedUnaryEncoding(k=16, eps0=5.0), 10_000).get_epsilon(1e-6) < 0.485
    True
    """

    name: ClassVar[str] = "oue"
    also: ClassVar[tuple[str, ...]] = ("optimized-unary", "optimised-unary")
    task: ClassVar[str] = "count"
    example: ClassVar[Mapping[str, float]] = {"k": 3, "eps0": 1.0}

    k: Values
    eps0: LocalEpsilon

    @property
    def in_words(self) -> str:
        return f"{self.k:,} bits, the own one set, each kept or changed at random"

    @classmethod
    def families(cls, size: int) -> Sequence[Family]:
        # those of `UnaryEncoding` include it
        return ()

    @property
    def _false_one(self) -> tuple[float, float]:
        """q and 1 - q."""
        q = 1 / (self.ratio + 1)
        return q, q * self.ratio

    def base_mass(self, inside: int, given: int) -> float:
        q, not_q = self._false_one
        chance: float = q**inside * not_q ** (given - inside)
        return chance / 2 / not_q

    @property
    def mass_containing_all(self) -> float:
        return self.base_mass(self.k, self.k)

    def sum_law(self) -> laws.binary_law.BitColumns:
        return laws.binary_law.BitColumns(
            laws.binary_law.BinaryLaw(0.5, 0.5, *self._false_one), self.k, zero=True
        )

    @cached_property
    def client(self) -> Client:
        from ..clients.bits import BitsClient

        return BitsClient(self.k, *self._fractions())

    def _fractions(self) -> tuple[Fraction, Fraction]:
        """p and q, with the ratio rounded down: nearer to each other."""
        return Fraction(1, 2), 1 / (ratio(self.eps0) + 1)

    def exact(self) -> ExactMatrix:
        return ExactMatrix(self.k, 1 << min(self.k, 64), self._bits, self._zero)

    def _zero(self) -> Sequence[Fraction]:
        return of_bits([()], self.k, *self._fractions())[0]

    def _bits(self) -> Fractions:
        return of_bits([(x,) for x in range(self.k)], self.k, *self._fractions())
