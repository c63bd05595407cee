"""One bit for a number."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from .._support.text import plain
from .base import register
from .exact import ExactMatrix, Fractions, of_sets, ratio
from .membership import MembershipRandomizer
from .parameter import LocalEpsilon

if TYPE_CHECKING:
    from ..clients import Client


@register
@dataclass(frozen=True)
class OneBit(MembershipRandomizer):
    """A number x in [0, 1] as a bit, 1 with probability x, and binary randomized response on it.

    Parameters
    ----------
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse, Shuffle
    >>> from shuffledp.randomizers import OneBit
    >>> mean, answer = (Shuffle(r, 1000) for r in (OneBit(1.0), RandomizedResponse(2, eps0=1.0)))
    >>> mean.get_epsilon(1e-6) == answer.get_epsilon(1e-6)
    True
    """

    name: ClassVar[str] = "one-bit"
    also: ClassVar[tuple[str, ...]] = ("duchi", "1bit", "one-bit-mean")
    task: ClassVar[str] = "mean"
    example: ClassVar[Mapping[str, float]] = {"eps0": 1.0}
    two_of_two: ClassVar[bool] = True  # 0 and 1 are the worst: docs/theory/binary-messages.md

    k: ClassVar[int] = 2  # type: ignore[misc]

    eps0: LocalEpsilon

    @property
    def blanket_key(self) -> Hashable:
        """Number of messages: in the blanket both bits are equally likely."""
        return self.k

    def base_mass(self, inside: int, given: int) -> float:
        return 1 / (math.exp(self.eps0) + 1) if inside == 1 else 0.0

    @cached_property
    def client(self) -> Client:
        from ..clients.one_bit_client import OneBitClient

        return OneBitClient(ratio(self.eps0))

    def exact(self) -> ExactMatrix:
        """Probabilities for the numbers 0, 1 and 1/2, as fractions."""
        return ExactMatrix(3, 2, self._rows)

    def _rows(self) -> Fractions:
        return [*of_sets(2, [[0], [1]], self.eps0), [Fraction(1, 2)] * 2]

    def describe(self) -> str:
        return f"numbers in [0, 1] as one bit, {plain(self.eps0)}-LDP"
