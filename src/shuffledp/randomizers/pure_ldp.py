"""Every eps0-LDP randomizer at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .. import laws
from .._support.text import plain
from ..laws.class_law import Law
from .analyses import CLONES, STRONGER_CLONES, Analysis
from .base import register
from .parameter import LocalEpsilon
from .unknown import UnknownRandomizer


@register
@dataclass(frozen=True)
class PureLDP(UnknownRandomizer):
    """Any eps0-LDP randomizer, the same for all users of a round.

    Users whose randomizers differ are covered only if no message is more than e^eps0 times as
    likely from one of them as from another, whatever their values (docs/theory/clone-pairs.md).

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
    >>> from shuffledp import PureLDP, Shuffle
    >>> Shuffle(PureLDP(eps0=4.0), users=10_000).get_epsilon(1e-6) < 0.4109
    True
    """

    name: ClassVar[str] = "pure-ldp"
    also: ClassVar[tuple[str, ...]] = ("ldp", "any")
    example: ClassVar[Mapping[str, float]] = {"eps0": 1.0}
    verifiable: ClassVar[str] = (
        "RandomizedResponse(k=2, eps0={eps0!r}) with analysis='stronger-clones'"
    )

    eps0: LocalEpsilon

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        # stronger clones are never worse than clones and are attained: the best for eps0 alone
        return {"best": STRONGER_CLONES, "stronger-clones": STRONGER_CLONES, "clones": CLONES}

    def attained_law(self) -> Law:
        # Binary randomized response whose others hold one of the two values, in both orders, and
        # ternary randomized response whose others hold the third value.
        grow, law = math.exp(self.eps0), laws.class_law.ClassLaw
        zero, one = ([p / (grow + 1) for p in row] for row in ((grow, 1.0), (1.0, grow)))
        rows = ((grow, 1.0, 1.0), (1.0, grow, 1.0), (1.0, 1.0, grow))
        x, y, z = ([p / (grow + 2) for p in row] for row in rows)
        pairs = (zero, one, one), (one, zero, one), (x, y, z)
        return laws.class_law.ClassLaws(
            tuple(law(u, v, others, known_loss=self.eps0) for u, v, others in pairs)
        )

    @property
    def attained_by(self) -> str:
        return "neighbouring datasets of binary or ternary randomized response with this eps0"

    def describe(self) -> str:
        return f"any randomizer that is {plain(self.eps0)}-LDP"
