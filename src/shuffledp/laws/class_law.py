"""Laws over classes of outputs; all outputs of a class say the same about a user's value.

`Law` is what every law offers. `ClassLaw` is one pair of values with a blanket, `ClassLaws` several
of them. `clone_pair` is the law of the clone analyses, which is known from eps0 alone, and
`LeakyLaw` that of (eps0, delta0)-LDP randomizers: the clone pair and a little that leaks.
`mixed_laws` enumerates datasets of few users in which the other users hold two different values.

Theory: docs/theory/scores.md, docs/theory/clone-pairs.md, docs/theory/approximate-ldp.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.numeric import UNIT, Array

# proof constants: docs/theory/constants.md
#: Relative rounding of a dozen operations on positive numbers, rounded up.
_ROUNDING = 2.0**-44


class Law(Protocol):
    """The probabilities of messages, from the differing user and from every other user.

    The differing user has one of two values. The other users have at least the probabilities of
    the blanket, or exactly those of an actual dataset. `shuffledp.profiles` makes a profile of a
    law and a number of users.
    """

    def thinned(self, rate: float) -> Law:
        """The law if every user, with probability 1 - rate, sends an empty message instead."""
        ...

    def worst(self, epsilon: float, users: int) -> Law:
        """Of several laws the one whose profile is about the largest at epsilon, for a guess."""
        return self

    @property
    def reversed(self) -> Law:
        """The law with the two values swapped; itself if it is of both orders."""
        return self


def sampled_loss(loss: float, rate: float) -> float:
    """log(1 + rate (e^loss - 1)), the loss that remains of `loss` after sampling, rounded up."""
    if loss > 40:  # e^loss may overflow
        return min(loss, loss + math.log(rate) + math.exp(-loss) / rate) * (1 + 2.0**-48)
    return math.log1p(rate * math.expm1(loss)) * (1 + 2.0**-48)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ClassLaw:
    """A score law over classes of outputs.

    At alpha = e^epsilon the score of a class is (u - alpha v) / blanket: how much likelier a
    message is from one value than from the other. Outputs that no blanket covers (blanket 0) reveal
    the value; they contribute (u - alpha v)_+ directly.

    Parameters
    ----------
    u, v : array_like, shape [classes]
        Probabilities of each class for the two values of the differing user.
    blanket : array_like, shape [classes]
        Lower bounds of the probabilities of each class for every other user.
    mass_error : float
        Relative error of the probabilities, beyond a few roundings.
    known_loss : float, optional
        The largest log(u/v), if it is known more precisely than from `u` and `v`.
    ratio_error : float
        Relative error of u/blanket, v/blanket and u/v, beyond a few roundings.

    Notes
    -----
    docs/theory/scores.md. The columns are stored as read-only arrays; laws are compared and
    hashed by value.
    """

    u: Array
    v: Array
    blanket: Array
    mass_error: float
    known_loss: float | None
    ratio_error: float

    def __init__(
        self,
        u: ArrayLike,
        v: ArrayLike,
        blanket: ArrayLike,
        mass_error: float = 0.0,
        known_loss: float | None = None,
        ratio_error: float = 0.0,
    ) -> None:
        for name, values in (("u", u), ("v", v), ("blanket", blanket)):
            column = np.array(values, dtype=float)
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "mass_error", mass_error)
        object.__setattr__(self, "known_loss", known_loss)
        object.__setattr__(self, "ratio_error", ratio_error)

    @property
    def columns(self) -> Array:
        """u, v and the blanket, [3, classes]."""
        return np.stack([self.u, self.v, self.blanket])

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What equal laws have in common; keys of several laws can be sorted."""
        loss = -1.0 if self.known_loss is None else self.known_loss
        return self.columns.tobytes(), self.mass_error, loss, self.ratio_error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassLaw) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"ClassLaw({', '.join(map(repr, self.columns.tolist()))})"

    def max_loss(self, users: int, idle: int = 0) -> float:
        """An upper bound of the finite losses of a shuffled round of `users` out of users + idle.

        It is the largest finite log(u/v), unless some covered output excludes the other value:
        then all messages but one may be of that kind. With idle users, the sender of a covered
        output may be any of them: u and v are mixed with the blanket.
        """
        if self.known_loss is not None and not idle:
            return self.known_loss
        rate, w = users / (users + idle), self.blanket
        idle_mass = (1 - rate) * w if idle else 0.0
        a, b = (rate * side + idle_mass for side in (self.u, self.v))
        both, covered = (a > 0) & (b > 0), w > 0
        ratio = float((a[both] / b[both]).max(initial=1.0))
        if (covered & (b == 0)).any():
            most = float((a[covered] / w[covered]).max())
            shared = covered & (b > 0)
            least = float((b[shared] / w[shared]).min(initial=1.0))
            ratio = max(ratio, users * most / least)
        error = 2.0**-48 if idle else 2.0**-50  # mixing takes a few more roundings
        error += self.ratio_error * (1 + error)
        return math.log(ratio) * (1 + error) + error

    def bounded(self, idle: int = 0) -> bool:
        """Whether all losses are finite. A covered output may also come from an idle user."""
        revealing = (self.u > 0) & (self.v == 0)
        if idle:
            revealing &= self.blanket == 0
        return not revealing.any()

    def spread(self, epsilon: float) -> float:
        """The second moment of the score, infinite if outputs are not covered.

        The larger it is, the larger is the profile of many users. It guides searches only.
        """
        alpha, covered = math.exp(min(epsilon, 300.0)), self.blanket > 0
        gain = self.u - alpha * self.v
        with np.errstate(over="ignore"):
            squares = float((gain[covered] ** 2 / self.blanket[covered]).sum())
        return squares + 1e300 * bool((gain[~covered] > 0).any())

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether the law is the same in both orders of the two values."""
        columns = self.columns, self.columns[[1, 0, 2]]
        ordered, mirrored = (side[:, np.lexsort(side)] for side in columns)
        return bool((ordered == mirrored).all())

    @property
    def reversed(self) -> ClassLaw:
        return replace(self, u=self.v, v=self.u, known_loss=None)

    def thinned(self, rate: float) -> ClassLaw:
        """The law if every user, with probability 1 - rate, sends an empty message instead.

        Outputs that are as likely for both values as in the blanket are like an empty message.
        """
        columns = self.columns
        empty = (columns[0] == columns[1]) & (columns[1] == columns[2])
        silent = rate * math.fsum(self.blanket[empty]) + (1 - rate)
        u, v, blanket = np.append(rate * columns[:, ~empty], np.full((3, 1), silent), axis=1)
        return replace(self, u=u, v=v, blanket=blanket)


@dataclass(frozen=True)
class ClassLaws:
    """Several laws over classes of outputs, of which the largest profile counts.

    No law at all means that messages do not depend on the values.

    Parameters
    ----------
    laws : tuple of ClassLaw
    values : tuple of tuples
        The probabilities of some classes of outputs for a few values, a row each. For few users,
        datasets in which the others hold several of these values are enumerated as well.
    """

    laws: tuple[ClassLaw, ...]
    values: tuple[tuple[float, ...], ...] = ()

    @classmethod
    def of(cls, laws: Iterable[ClassLaw]) -> ClassLaws:
        """Equal laws once and in a fixed order, so that equal sets of them are equal."""
        return cls(tuple(sorted(set(laws), key=lambda law: law.key)))

    @property
    def hiding(self) -> float | None:
        """The mass of the blanket, rounded up, if there is one law, the same in both orders."""
        if len(self.laws) != 1 or self.values or not self.laws[0].is_symmetric:
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


def clone_pair(eps0: float, clone: float, weight: float = 1.0) -> ClassLaws:
    """The law of the clone analyses.

    With E = e^eps0 and alpha = e^epsilon, the score is (E - alpha) s with probability `clone`/2,
    (1 - alpha E) s with probability `clone`/2 and 0 otherwise, where s = 2 / (clone (E + 1)) makes
    its mean 1 - alpha.

    Parameters
    ----------
    eps0 : float
        The local epsilon; may be infinite.
    clone : float
        The probability that another user's message is a clone of the two in question.
    weight : float
        The profile is `weight` times that of the law.
    """
    small = math.exp(-eps0)
    heavy, light = weight / (1 + small), weight * small / (1 + small)
    rows = [(heavy, light, clone / 2), (light, heavy, clone / 2)]
    if weight < 1:  # sometimes the adversary is told that there is nothing to learn
        rows.append((1 - weight, 1 - weight, 0.0))
    known = eps0 if math.isfinite(eps0) else None
    u, v, blanket = np.array(rows).T
    return ClassLaws((ClassLaw(u, v, blanket, known_loss=known),))


def clones(eps0: float) -> ClassLaws:
    """Feldman, McMillan, Talwar 2021, Theorem 3.2: clone = e^-eps0."""
    return clone_pair(eps0, math.exp(-eps0))


def stronger_clones(eps0: float) -> ClassLaws:
    """Feldman, McMillan, Talwar 2023 with p = 1/(e^eps0 + 1): clone = 2/(e^eps0 + 1)."""
    small = math.exp(-eps0)
    return clone_pair(eps0, 2 * small / (1 + small))


@dataclass(frozen=True)
class LeakyLaw(Law):
    """The law of a shuffled round of any (eps0, delta0)-LDP randomizer.

    It depends on the number of users: what is paid for the differences between the other users
    grows with it.

    Parameters
    ----------
    eps0 : float
    delta0 : float
        At most 0.1.
    rate : float
        Every user sends with this probability, else an empty message.
    most : int
        The law is made for this many users if a round has fewer, so that rounds of different
        numbers of users can be compared.
    """

    eps0: float
    delta0: float
    rate: float = 1.0
    most: int = 0

    @property
    def clones(self) -> ClassLaws:
        """The law of what has finite losses, over its mass: a clone pair with fewer clones."""
        small = math.exp(-self.eps0)
        return clone_pair(self.eps0, 2 * small * ((1 - self.delta0) / (1 + small) - self.delta0))

    def paid(self, users: int, distance: float) -> float:
        """A probability p with which p + (1 - p) times the profile of `clones` is a bound.

        It is 2 delta0 for what leaks and what no other user's message covers, and the differences
        between the other users, of a round of so many users. In a sample it is that times the
        share of those who send.

        Parameters
        ----------
        users : int
        distance : float
            An upper bound of the profile of `clones` at alpha = 1.
        """
        differences = self.differences(users)
        # the clone pair is over its mass, which leaves room for some of it
        small = math.exp(-self.eps0)
        left = max(differences - small * self.delta0, 0.0)
        # no pair of such losses is further apart than tanh(eps0/2)
        room = max(1 - distance, 2 * small / (1 + small) * (1 - _ROUNDING))
        paid = 2 * self.delta0 + differences + left * min(distance, 1.0) / room
        return min(self.rate * paid * (1 + _ROUNDING), 1.0)

    def differences(self, users: int) -> float:
        """What is paid, rounded up, for replacing the laws of the other users by their mean.

        It is (E - 1)/2 ((1 + w g(x))^(n - 1) - 1) for E = e^eps0, w = (1 - 3 delta0)/E,
        x = 4 delta0/(1 - 3 delta0) and g(x) = e^-x/(1 - x) - 1, where log(1 + g(x)) is at most
        x^2/(2 (1 - x)). One other user is their own mean.
        """
        users = max(users, self.most)
        if users <= 2 or self.delta0 == 0:
            return 0.0
        known = 1 - 3 * self.delta0
        x = 4 * self.delta0 / known
        growth = (users - 1) * math.log1p(
            known * math.exp(-self.eps0) * math.expm1(x * x / (2 * (1 - x)))
        )
        paid = math.expm1(self.eps0) / 2 * math.expm1(min(growth, 700.0))
        return min(paid * (1 + _ROUNDING), 1.0)

    def up_to(self, users: int) -> LeakyLaw:
        """The law made for this many users, or for more."""
        return replace(self, most=max(users, self.most))

    def thinned(self, rate: float) -> LeakyLaw:
        return replace(self, rate=rate * self.rate)


def mixed_laws(rows: Sequence[Sequence[float]], users: int) -> tuple[ClassLaw, ...]:
    """Laws of all shuffled messages together, for datasets of two different other values.

    The first user holds value 0 or 1, and each of the others one of two values.

    Parameters
    ----------
    rows : sequence, shape [values, classes]
        For each value, the probabilities of its classes of outputs.
    users : int

    Returns
    -------
    tuple of ClassLaw
        One law per pair of values and number of users who hold the first of them. Its classes are
        the possible histograms of messages, without a blanket, so that its divergence is exactly
        that of the two datasets.
    """
    laws = []
    values = [np.array(row) for row in rows]
    for a, b in combinations(values, 2):
        # [count of class 1, count of class 2, ...]; that of class 0 is implied
        empty = np.zeros((users + 1,) * (len(a) - 1))
        empty.flat[0] = 1.0
        first = [empty]  # of m users with the value of a
        for _ in range(users - 1):
            first.append(_add_message(first[-1], a))
        for m in range(1, users - 1):
            others = first[m]
            for _ in range(users - 1 - m):
                others = _add_message(others, b)
            u, v = (_add_message(others, values[x]).ravel() for x in (0, 1))
            possible: NDArray[np.bool_] = u + v > 0
            error = 4 * users * UNIT  # a product and two sums of positive numbers a user
            laws.append(ClassLaw(u[possible], v[possible], np.zeros(possible.sum()), error))
    return tuple(laws)


def _add_message(counts: Array, row: Array) -> Array:
    """The law of the histogram after one more message with these class probabilities."""
    total: Array = row[0] * counts
    for axis, probability in enumerate(row[1:]):
        # the last count is empty until the last user has sent, so that nothing wraps around
        total += probability * np.roll(counts, 1, axis=axis)
    return total
