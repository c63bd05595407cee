"""Every (eps0, delta0)-LDP randomizer at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from .. import laws
from .._support.text import plain
from ..laws.class_law import Law
from .analyses import APPROXIMATE, Analysis
from .base import register
from .parameter import LocalEpsilon, Parameter
from .pure_ldp import PureLDP
from .unknown import UnknownRandomizer


@register
@dataclass(frozen=True)
class ApproximateLDP(UnknownRandomizer):
    """Any (eps0, delta0)-LDP randomizer, the same for all users of a round.

    A shuffled round loses about what the pure eps0-LDP randomizers lose, and at most 2 delta0 of
    delta on top, plus about 4 n delta0^2 for n users (docs/theory/approximate-ldp.md). At a delta
    of that or less no epsilon is certified: a message may reveal the value with probability delta0.

    Parameters
    ----------
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.
    delta0 : float
        Local delta of a message, 0 to 0.01.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.randomizers import ApproximateLDP
    >>> leaky = Shuffle(ApproximateLDP(eps0=4.0, delta0=1e-9), users=10_000)
    >>> leaky.get_epsilon(1e-6) < 1.001 * Shuffle(PureLDP(eps0=4.0), users=10_000).get_epsilon(1e-6)
    True
    """

    name: ClassVar[str] = "approximate-ldp"
    also: ClassVar[tuple[str, ...]] = ("approximate", "leaky")
    example: ClassVar[Mapping[str, float]] = {"eps0": 1.0, "delta0": 1e-6}
    verifiable: ClassVar[str] = "a FiniteRandomizer that leaks"

    eps0: LocalEpsilon
    delta0: Annotated[float, Parameter("local delta of the randomizer", 0.0, 0.01)]

    @property
    def _pure(self) -> PureLDP:
        return PureLDP(self.eps0)

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        if self.delta0 == 0:
            return self._pure.analyses
        return {"best": APPROXIMATE, "approximate": APPROXIMATE}

    @property
    def local_eps0(self) -> float:
        return math.inf if self.delta0 else self.eps0

    @property
    def no_local_eps0(self) -> str:
        each = f"({plain(self.eps0)}, {plain(self.delta0)})"
        return f"each message by itself is {each}-differentially private"

    def leaky_law(self) -> Law:
        """Law of a message that may leak (docs/theory/approximate-ldp.md)."""
        return laws.class_law.LeakyLaw(self.eps0, self.delta0)

    def attained_law(self) -> Law:
        # two values, of which the others hold the second, in both orders; or a third value
        if self.delta0 == 0:
            return self._pure.attained_law()
        first, second = self._leaking(2)
        pairs = [(first, second, second), (second, first, second), self._leaking(3)]
        made = (laws.class_law.ClassLaw(u, v, nu, mass_error=2.0**-50) for u, v, nu in pairs)
        return laws.class_law.ClassLaws(tuple(made))

    def _leaking(self, k: int) -> list[list[float]]:
        """k-ary randomized response that sends the value in the clear with probability delta0."""
        small = math.exp(-self.eps0)
        large = (1 - self.delta0) / (1 + (k - 1) * small)
        values = range(k)
        return [
            [
                *(large if y == x else small * large for y in values),
                *(self.delta0 if y == x else 0.0 for y in values),
            ]
            for x in values
        ]

    @property
    def attained_by(self) -> str:
        if self.delta0 == 0:
            return self._pure.attained_by
        return (
            "neighbouring datasets of binary or ternary randomized response with this eps0 that "
            "sends the value in the clear with probability delta0"
        )

    def describe(self) -> str:
        return f"any randomizer that is ({plain(self.eps0)}, {plain(self.delta0)})-LDP"
