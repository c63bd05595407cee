"""Laws over classes of outputs; outputs of a class tell the same about a user's value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


def sampled_loss(loss: float, rate: float) -> float:
    """log(1 + rate (e^loss - 1)), the loss that sampling leaves of this one, rounded up."""
    if loss > 40:  # e^loss may overflow
        return min(loss, loss + math.log(rate) + math.exp(-loss) / rate) * (1 + 2.0**-48)
    return math.log1p(rate * math.expm1(loss)) * (1 + 2.0**-48)


@dataclass(frozen=True)
class ClassLaw:
    """A score law over classes of outputs: at alpha = e^epsilon the score is
    (u - alpha v) / blanket, how much likelier a message is from one value than from the other.

    `u` and `v` are the probabilities of each class for the two values of the differing user,
    `blanket` a lower bound of its probability for every other user. Outputs that no blanket
    covers (blanket 0) tell the adversary everything; they count (u - alpha v)_+ directly.
    """

    u: tuple[float, ...]
    v: tuple[float, ...]
    blanket: tuple[float, ...]
    mass_error: float = 0.0  # relative error of the probabilities, beyond a few roundings
    known_loss: float | None = None  # the largest log u/v, if known better than from u and v

    def max_loss(self, users: int, idle: int = 0) -> float:
        """An upper bound of the finite losses of a shuffled round of `users` out of users + idle.

        It is the largest finite log u/v, unless some covered output excludes the other value:
        then all messages but one may be of that kind. With idle users, whoever sends a covered
        output may be any of them: u and v are mixed with the blanket.
        """
        if self.known_loss is not None and not idle:
            return self.known_loss
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
    def symmetric(self) -> bool:
        """Is it the same in both orders?"""
        rows = list(zip(self.u, self.v, self.blanket, strict=True))
        return sorted(rows) == sorted((v, u, w) for u, v, w in rows)

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
        return ClassLaw(u, v, blanket, self.mass_error, self.known_loss)


@dataclass(frozen=True)
class ClassLaws:
    """Some laws over classes of outputs: of all their profiles the largest counts. None of them
    means that messages tell nothing.

    `values` may give the probabilities of some classes of outputs for a few values, a row each. Of
    few users, datasets in which the others hold several of these values are enumerated too.
    """

    laws: tuple[ClassLaw, ...]
    values: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def of(cls, laws: Iterable[ClassLaw]) -> ClassLaws:
        """Equal laws once and in a fixed order, so that equal sets of them are equal."""
        return cls(tuple(sorted(set(laws), key=lambda law: (law.u, law.v, law.blanket))))

    @property
    def hiding(self) -> float | None:
        """The mass of the blanket, rounded up, if there is one law, alike in both orders."""
        if len(self.laws) != 1 or self.values or not self.laws[0].symmetric:
            return None
        (law,) = self.laws
        return min(math.fsum(law.blanket) * (1 + law.mass_error + 2.0**-40), 1.0)

    def thinned(self, rate: float) -> ClassLaws:
        return ClassLaws(tuple(law.thinned(rate) for law in self.laws))

    def worst(self, epsilon: float, users: int) -> ClassLaws:
        worst = sorted(self.laws, key=lambda law: law.spread(epsilon))[-1:]
        return ClassLaws(tuple(worst))

    @property
    def reversed(self) -> ClassLaws:
        return ClassLaws(tuple(law.reversed for law in self.laws))
