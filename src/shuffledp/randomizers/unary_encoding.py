"""Unary encoding (symmetric RAPPOR)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar

from ..clients import Client
from ..clients.bits import BitsClient
from .base import register
from .exact import ExactMatrix, Fractions, ratio
from .membership import MembershipRandomizer
from .parameter import LocalEpsilon, Values


@register
@dataclass(frozen=True)
class UnaryEncoding(MembershipRandomizer):
    """Symmetric RAPPOR: k bits, one of them set, each flipped with probability 1/(e^(eps0/2) + 1).

    >>> from shuffledp import UnaryEncoding
    >>> UnaryEncoding(k=32, eps0=2.0)
    UnaryEncoding(k=32, eps0=2.0)
    """

    name: ClassVar[str] = "unary"
    example: ClassVar[Mapping[str, float]] = {"k": 3, "eps0": 1.0}

    k: Values
    eps0: LocalEpsilon

    def base_mass(self, inside: int, given: int) -> float:
        flip, keep = 1 / (math.exp(self.eps0 / 2) + 1), 1 / (1 + math.exp(-self.eps0 / 2))
        chance: float = flip**inside * keep ** (given - inside)
        return math.exp(-self.eps0 / 2) * chance

    @property
    def everything(self) -> float:
        return self.base_mass(self.k, self.k)

    @cached_property
    def client(self) -> Client:
        root = ratio(self.eps0 / 2)  # rounded down: bits with probabilities nearer to each other
        return BitsClient(self.k, root / (root + 1), 1 / (root + 1))

    def exact(self) -> ExactMatrix:
        return ExactMatrix(self.k, 1 << min(self.k, 64), self._bits)

    def _bits(self) -> Fractions:
        root = ratio(self.eps0 / 2)  # halving a double is exact
        keep, flip, values = root / (root + 1), 1 / (root + 1), range(self.k)
        return [
            [
                math.prod(
                    (keep if bit == (j == x) else flip for j, bit in enumerate(bits)),
                    start=Fraction(1),
                )
                for bits in product((0, 1), repeat=self.k)
            ]
            for x in values
        ]
