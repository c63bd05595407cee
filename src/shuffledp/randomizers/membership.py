"""Randomizers whose outputs are sets: a value is E times likelier to send a set that contains it.

k-ary randomized response, subset selection, unary encoding (symmetric RAPPOR), local hashing and
Hadamard response are all of this kind, and all their analyses need is how much mass contains how
many of two or three given values. With base(y) the probability of y for a value that y does not
contain, R(x)(y) = base(y) E^[x in y]. The blanket is base(y), except that it is E base(y) for a set
that contains every value.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

from .. import laws
from .._support.text import at_most
from ..laws.class_law import Law
from .analyses import BINARY, KNOWN_AND_PURE, Analysis
from .base import Randomizer


def best_neighbour(
    target: float, least: int, most: int, chances: Callable[[int], tuple[float, float]]
) -> int:
    """Return the whole number beside `target` with the least variance of an estimated count.

    That is the count of a value that no user holds. `chances` returns the probabilities that a
    message contains the user's value and that it contains another one.
    """

    def variance(number: int) -> float:
        held, other = chances(number)
        return other * (1 - other) / (held - other) ** 2

    sides = (math.floor(min(target, most)), math.ceil(min(target, most)))
    return min((min(max(side, least), most) for side in sides), key=variance)


class MembershipRandomizer(Randomizer):
    """A randomizer whose outputs are sets, e^eps0 times likelier from a value that they contain.

    Subclasses say how much base mass contains which of a few given values
    (docs/theory/named-randomizers.md).

    Examples
    --------
    >>> from shuffledp.randomizers import HadamardResponse, MembershipRandomizer
    >>> issubclass(HadamardResponse, MembershipRandomizer)
    True
    """

    k: int
    eps0: float

    #: The smallest k for which `base_mass(., 3)` is defined.
    values_for_three: ClassVar[int] = 3
    #: Whether there are only two messages if k is 2, so that the analysis is exact.
    two_of_two: ClassVar[bool] = False

    @abstractmethod
    def base_mass(self, inside: int, given: int) -> float:
        """Base mass of the outputs that contain certain values and not certain others.

        Parameters
        ----------
        inside : int
            Number of the given values that the outputs contain, 0 to `given`.
        given : int
            Number of distinct values: 2, or 3 where there are three.

        Returns
        -------
        float
            Their total probability for a value that they do not contain.
        """

    @property
    def ratio(self) -> float:
        """Factor by which a value is likelier to send an output that contains it."""
        return math.exp(self.eps0)

    @property
    def mass_containing_all(self) -> float:
        """Base mass of the outputs that contain every value."""
        return 0.0

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return {**KNOWN_AND_PURE, **(BINARY if self.binary_law() else {})}

    def binary_law(self) -> laws.binary_law.BinaryLaw | None:
        if self.k > 2 or not self.two_of_two:
            return None
        low = self.base_mass(1, 2)
        return laws.binary_law.BinaryLaw(1 - low, low, low, 1 - low, known_loss=self.eps0)

    def blanket_law(self) -> Law:
        """Law of a message under the privacy blanket (docs/theory/named-randomizers.md)."""
        ratio = self.ratio
        rows = []
        for inside in product((0, 1), repeat=2):
            base = self.base_mass(sum(inside), 2)
            if inside == (1, 1):
                base = max(base - self.mass_containing_all, 0.0)
            rows.append((ratio ** inside[0] * base, ratio ** inside[1] * base, base))
        rows.append((ratio * self.mass_containing_all,) * 3)
        return laws.class_law.ClassLaws((self._law(rows),))

    def base_law(self) -> laws.class_law.ClassLaw:
        """Law of a message with the base mass as the blanket on all sets.

        For randomizers with one `blanket_key`, that blanket is a multiple of one law.
        """
        ratio = self.ratio
        rows = [
            tuple(ratio**power * self.base_mass(sum(inside), 2) for power in (*inside, 0))
            for inside in product((0, 1), repeat=2)
        ]
        return self._law(rows)

    def attained_law(self) -> Law:
        """Laws of a message in datasets in which the others hold the first, the second or a third
        value."""
        ratio, each = self.ratio, []
        for given in (2, 3) if self.k >= self.values_for_three else (2,):
            for holder in range(given) if given == 2 else (2,):
                rows = []
                for inside in product((0, 1), repeat=given):
                    base = self.base_mass(sum(inside), given)
                    rows.append(tuple(ratio ** inside[x] * base for x in (0, 1, holder)))
                each.append(self._law(rows))
        return laws.class_law.ClassLaws(tuple(each), self.explicit_values())

    def telling_values(self) -> list[Any]:
        """Two values, or three, that `base_mass` is about."""
        return [0, 1, 2] if self.k >= self.values_for_three else [0, 1]

    def explicit_values(self) -> tuple[tuple[float, ...], ...]:
        """Probabilities of classes of outputs for two or three values, one row per value.

        Empty unless the classes are few enough to enumerate datasets in which the others hold
        several of these values.
        """
        return ()

    def _law(self, rows: Sequence[tuple[float, ...]]) -> laws.class_law.ClassLaw:
        telling = [row for row in rows if max(row) > min(row)]
        # classes with u = v = blanket have the same score; merged, since listing classes costs time
        alike = math.fsum(row[0] for row in rows if max(row) == min(row))
        u, v, blanket = zip(*telling, *([(alike,) * 3] if alike else []), strict=True)
        return laws.class_law.ClassLaw(u, v, blanket, known_loss=self.eps0)

    def describe(self) -> str:
        return f"{self!r}, {at_most(self.eps0)}-LDP"
