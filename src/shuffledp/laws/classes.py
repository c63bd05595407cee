"""Score laws: what one user contributes to the sum behind a shuffled round's profile."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engines.binomial import Array


def sampled_loss(loss: float, rate: float) -> float:
    """log(1 + rate (e^loss - 1)), the loss that sampling leaves of this one, rounded up."""
    if loss > 40:  # e^loss may overflow
        return min(loss, loss + math.log(rate) + math.exp(-loss) / rate) * (1 + 2.0**-48)
    return math.log1p(rate * math.expm1(loss)) * (1 + 2.0**-48)


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
        """The same law with its scores as classes of outputs."""
        small = math.exp(-self.eps0)
        heavy, light = self.weight / (1 + small), self.weight * small / (1 + small)
        rows = [(heavy, light, self.clone / 2), (light, heavy, self.clone / 2)]
        if self.weight < 1:  # sometimes the adversary is told that there is nothing to learn
            rows.append((1 - self.weight, 1 - self.weight, 0.0))
        u, v, blanket = zip(*rows, strict=True)
        return ClassLaw(u, v, blanket, largest=self.eps0 if math.isfinite(self.eps0) else None)


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
    largest: float | None = None  # the largest log u/v, if it is known better than from u and v

    def max_loss(self, users: int, idle: int = 0) -> float:
        """An upper bound of the finite losses of a shuffled round of `users` out of users + idle.

        It is the largest finite log u/v, unless some covered output excludes the other value:
        then all messages but one may be of that kind. With idle users, whoever sends a covered
        output may be any of them: u and v are mixed with the blanket.
        """
        if self.largest is not None and not idle:
            return self.largest
        rate, w = users / (users + idle), np.array(self.blanket)
        mixed = (1 - rate) * w if idle else 0.0
        a, b = (rate * np.array(side) + mixed for side in (self.u, self.v))
        both, covered = (a > 0) & (b > 0), w > 0
        ratio = float((a[both] / b[both]).max(initial=1.0))
        if (covered & (b == 0)).any():
            most = float((a[covered] / w[covered]).max())
            seen = covered & (b > 0)
            least = float((b[seen] / w[seen]).min(initial=1.0))
            ratio = max(ratio, users * most / least)
        error = 2.0**-48 if idle else 2.0**-50  # mixing takes a few more roundings
        return math.log(ratio) * (1 + error) + error

    def bounded(self, idle: int = 0) -> bool:
        """Are all losses finite? A covered output may also come from one of the idle users."""
        rows = zip(self.u, self.v, self.blanket, strict=True)
        return not any(a > 0 and b == 0 and (w == 0 or not idle) for a, b, w in rows)

    def spread(self, epsilon: float) -> float:
        """The second moment of the score, infinite if outputs are not covered: the larger, the
        larger is the profile of many users. A rough guide only."""
        alpha, rows = math.exp(min(epsilon, 300.0)), zip(self.u, self.v, self.blanket, strict=True)
        return math.fsum(
            (u - alpha * v) ** 2 / w if w > 0 else 1e300 * (u > alpha * v) for u, v, w in rows
        )

    @property
    def reversed(self) -> ClassLaw:
        return ClassLaw(self.v, self.u, self.blanket, self.mass_error)

    def thinned(self, rate: float) -> ClassLaw:
        """The law if every user, with probability 1 - rate, sends an empty message instead.

        Outputs that are as likely for both values as in the blanket are like an empty message.
        """
        rows = list(zip(self.u, self.v, self.blanket, strict=True))
        telling = [row for row in rows if not row[0] == row[1] == row[2]]
        empty = rate * math.fsum(w for u, v, w in rows if u == v == w) + (1 - rate)
        u, v, blanket = zip(
            *(tuple(rate * mass for mass in row) for row in telling), (empty,) * 3, strict=True
        )
        return ClassLaw(u, v, blanket, self.mass_error, self.largest)


@dataclass(frozen=True)
class ScoreSums:
    """What the engines are asked for: E[(S)_+] of sums of `users` scores, a row for each.

    scores and probabilities: [rows, values], each row of probabilities with sum <= 1; the rest of
    the mass scores 0. `magnitudes` times 16 units bounds the error of the scores themselves,
    `error` plus 16 units the relative error of the probabilities. The `threshold` >= 0 of each row,
    which has a relative error of at most 16 units, is subtracted from the sum of the scores.
    """

    scores: Array
    probabilities: Array
    magnitudes: Array
    threshold: Array
    users: int
    error: float = 0.0

    def rows(self, index: NDArray[np.intp]) -> ScoreSums:
        return ScoreSums(
            self.scores[index],
            self.probabilities[index],
            self.magnitudes[index],
            self.threshold[index],
            self.users,
            self.error,
        )
