"""The law of the clone analyses: all that eps0 alone says of a message."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .classes import ClassLaw, ClassLaws


@dataclass(frozen=True)
class ThreePointLaw:
    """The score law of the clone analyses, at every alpha = e^epsilon.

    With E = e^eps0, the score is (E - alpha) s with probability `clone`/2, (1 - alpha E) s with
    probability `clone`/2 and 0 otherwise, where s = 2 / (clone (E + 1)) makes its mean 1 - alpha.
    eps0 may be infinite. The profile is `weight` times that of the law.
    """

    eps0: float
    clone: float  # probability that another user's message is a clone of the two in question
    other: float  # 1 - clone, to full relative precision
    weight: float = 1.0

    @classmethod
    def clones(cls, eps0: float) -> ThreePointLaw:
        """Feldman, McMillan, Talwar 2021, Theorem 3.2: clone = e^-eps0."""
        return cls(eps0, math.exp(-eps0), -math.expm1(-eps0))

    @classmethod
    def stronger_clones(cls, eps0: float) -> ThreePointLaw:
        """Feldman, McMillan, Talwar 2023 with p = 1/(e^eps0 + 1): clone = 2/(e^eps0 + 1)."""
        small = math.exp(-eps0)
        return cls(eps0, 2 * small / (1 + small), math.tanh(eps0 / 2))

    @property
    def classes(self) -> ClassLaws:
        """The same law with its scores as classes of outputs."""
        small = math.exp(-self.eps0)
        heavy, light = self.weight / (1 + small), self.weight * small / (1 + small)
        rows = [(heavy, light, self.clone / 2), (light, heavy, self.clone / 2)]
        if self.weight < 1:  # sometimes the adversary is told that there is nothing to learn
            rows.append((1 - self.weight, 1 - self.weight, 0.0))
        u, v, blanket = zip(*rows, strict=True)
        known = self.eps0 if math.isfinite(self.eps0) else None
        return ClassLaws((ClassLaw(u, v, blanket, known_loss=known),))

    @property
    def hiding(self) -> float:
        """The probability of a clone, rounded up."""
        return min(self.clone * (1 + 2.0**-40), 1.0)

    def thinned(self, rate: float) -> ClassLaws:
        return self.classes.thinned(rate)

    def worst(self, epsilon: float, users: int) -> ThreePointLaw:
        return self

    @property
    def reversed(self) -> ThreePointLaw:
        return self
