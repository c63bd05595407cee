"""Score laws: what one user contributes to the sum behind a shuffled round's profile."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
    def classes(self) -> ClassLaw:
        """The same law as one of two classes of outputs, for weight 1 and a finite eps0."""
        small = math.exp(-self.eps0)
        heavy, light, half = 1 / (1 + small), small / (1 + small), self.clone / 2
        return ClassLaw((heavy, light), (light, heavy), (half, half))


@dataclass(frozen=True)
class ClassLaw:
    """A score law over classes of outputs: the score is (u - alpha v) / blanket.

    `u` and `v` are the probabilities of each class for the two values of the differing user,
    `blanket` a lower bound of its probability for every other user. Outputs that no blanket
    covers (blanket 0) tell the adversary everything; they count (u - alpha v)_+ directly.
    """

    u: tuple[float, ...]
    v: tuple[float, ...]
    blanket: tuple[float, ...]
    mass_error: float = 0.0  # relative error of the probabilities, beyond a few roundings

    def max_loss(self, users: int) -> float:
        """An upper bound of the finite losses of a shuffled round.

        It is the largest finite log u/v, unless some covered output excludes the other value:
        then all messages but one may be of that kind.
        """
        rows = list(zip(self.u, self.v, self.blanket, strict=True))
        ratio = max([a / b for a, b, _ in rows if a > 0 and b > 0] + [1.0])
        if any(b == 0 and w > 0 for _, b, w in rows):
            most = max(a / w for a, _, w in rows if w > 0)
            least = min([b / w for _, b, w in rows if w > 0 and b > 0] + [1.0])
            ratio = max(ratio, users * most / least)
        return math.log(ratio) * (1 + 2.0**-50) + 2.0**-50

    @property
    def infinite(self) -> float:
        """Probability of an output that the other value cannot have."""
        return math.fsum(a for a, b in zip(self.u, self.v, strict=True) if b == 0)

    @property
    def reversed(self) -> ClassLaw:
        return ClassLaw(self.v, self.u, self.blanket, self.mass_error)
