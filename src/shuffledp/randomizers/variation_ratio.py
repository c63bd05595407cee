"""Randomizers of which three numbers are known: two ratios and a total variation distance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from .. import laws
from .._support.text import plain
from ..errors import InvalidParameter
from ..laws.class_law import Law
from .analyses import VARIATION_RATIO, Analysis
from .base import register
from .parameter import Parameter
from .unknown import UnknownRandomizer

#: Numbers may contradict each other by so much: they were rounded before they were given.
_ROUNDED = Fraction(1, 10**9)


@register
@dataclass(frozen=True)
class VariationRatio(UnknownRandomizer):
    """Any randomizer with these three numbers, the same for all users of a round.

    Let u and v be the laws of the message for the two values in which neighbouring datasets may
    differ, and nu that of any other user, whatever the value. Then u <= p v and v <= p u, the total
    variation distance of u and v is at most beta, and u <= q nu and v <= q nu. If neighbouring
    datasets may differ in any two values, q is the same as p; in metric privacy, where only values
    close to each other are protected, q is larger.

    An eps0-LDP randomizer has p = q = e^eps0 and beta = (e^eps0 - 1)/(e^eps0 + 1); a smaller beta
    gives a smaller epsilon (docs/theory/three-numbers.md).

    Parameters
    ----------
    p : float
        Largest ratio of the laws of two values of the user, 1 + 1e-6 to 1e87.
    beta : float
        Largest total variation distance of these laws, 1e-9 to (p - 1)/(p + 1).
    q : float
        Largest ratio of these laws to that of another user, 1 + beta to 1e87.

    Raises
    ------
    InvalidParameter, OutOfRange
        If a number is outside its limits, or two of them contradict each other.

    Examples
    --------
    >>> import math
    >>> from shuffledp import Shuffle
    >>> from shuffledp.randomizers import VariationRatio
    >>> laplace = VariationRatio(p=math.exp(2), beta=1 - math.exp(-1), q=math.exp(2))
    >>> Shuffle(laplace, users=10_000).get_epsilon(1e-6) < 0.104
    True
    """

    name: ClassVar[str] = "variation-ratio"
    also: ClassVar[tuple[str, ...]] = ("variation", "metric-privacy", "planar-laplace", "priv-kv")
    example: ClassVar[Mapping[str, float]] = {"p": 3.0, "beta": 0.4, "q": 4.0}
    covers_every_exchange: ClassVar[bool] = False  # values of others may be no neighbours
    instead_of_a_client: ClassVar[str] = "randomize with your own, or choose one that has a name"
    verifiable: ClassVar[str] = "RandomizedResponse(k=3, eps0=1.0)"

    p: Annotated[
        float,
        Parameter(
            "largest ratio of the message distributions of two values of the user", 1 + 1e-6, 1e87
        ),
    ]
    beta: Annotated[
        float,
        Parameter("largest total variation distance of the messages of two values", 1e-9, 1.0),
    ]
    q: Annotated[
        float,
        Parameter(
            "largest ratio of the message distribution of a value to that of another user",
            1.0,
            1e87,
        ),
    ]

    def __post_init__(self) -> None:
        super().__post_init__()
        limit = float(self._most_distant)
        if Fraction(self.beta) > self._most_distant * (1 + _ROUNDED):
            raise InvalidParameter(
                f"beta={self.beta!r} is above {limit:.9g}, the most that p={self.p!r} allows, "
                "(p - 1)/(p + 1); give a smaller beta or a larger p."
            )
        if Fraction(self.q) < (1 + self._distance) * (1 - _ROUNDED):
            raise InvalidParameter(
                f"q={self.q!r} is below 1 + beta = {float(1 + self._distance):.9g}: no "
                "distribution is at least 1/q of two distributions so far apart; give a larger q "
                "or a smaller beta."
            )

    @property
    def _most_distant(self) -> Fraction:
        return (Fraction(self.p) - 1) / (Fraction(self.p) + 1)

    @property
    def _distance(self) -> Fraction:
        return min(Fraction(self.beta), self._most_distant)

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return {"best": VARIATION_RATIO, "variation-ratio": VARIATION_RATIO}

    @property
    def local_eps0(self) -> float:
        return math.log(self.p) * (1 + 2.0**-50)

    def three_numbers_law(self) -> Law:
        """Law of which every randomizer with these numbers is a contraction."""
        return self._law(Fraction(self.p), self._distance, self.local_eps0)

    def _law(self, p: Fraction, distance: Fraction, loss: float) -> Law:
        """All masses are rounded once: `Fraction` keeps what differences would lose."""
        q = max(Fraction(self.q), 1 + distance)
        light = distance / (p - 1)
        rows = [(p * light, light), (light, p * light)]
        rest = 1 - (p + 1) * light
        rows += [(rest, rest)] if rest else []
        masses = [[float(mass) for mass in (a, b, max(a, b) / q)] for a, b in rows]
        u, v, blanket = zip(*masses, strict=True)
        law = laws.class_law.ClassLaw(u, v, blanket, known_loss=loss)
        return laws.class_law.ClassLaws((law,))

    def attained_law(self) -> Law:
        # Others whose law is the blanket and, for the rest, an output of their own. If q < p, they
        # may hold one of the two values as well, so that the ratio of these is at most q.
        if self.q >= self.p:
            return self.three_numbers_law()
        p = Fraction(self.q)
        if p == 1:
            return laws.class_law.ClassLaws(())
        loss = math.log(self.q) * (1 + 2.0**-50)
        return self._law(p, min(self._distance, (p - 1) / (p + 1)), loss)

    @property
    def attained_by(self) -> str:
        return (
            "neighbouring datasets of a randomizer with these numbers, all other users holding a "
            "third value, which need not be protected"
        )

    def describe(self) -> str:
        return (
            "any randomizer whose message distributions for two values of a user differ by a "
            f"factor of at most {plain(self.p)} and by at most {plain(self.beta)} in total "
            "variation, and exceed the distribution of no other user by more than a factor of "
            f"{plain(self.q)}"
        )
