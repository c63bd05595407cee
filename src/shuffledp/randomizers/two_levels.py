"""Randomizers with two levels: an output is E times likelier if it is in the set of the value.

All outputs are equally likely otherwise, the sets of all values are of the same size, and there are
two values whose sets are disjoint: these are the worst (docs/theory/named-randomizers.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

from .. import laws
from ..laws.class_law import Law
from .exact import ratio as exact_ratio
from .membership import MembershipRandomizer

if TYPE_CHECKING:
    from ..clients import Client

#: The smallest share of the interval that a window has.
SMALLEST_WINDOW = 2.0**-16
#: A law that is known no better would only make the others' brackets wide.
_TOO_UNSURE = 1e-9


class TwoLevelRandomizer(MembershipRandomizer):
    """A randomizer with two levels: outputs in the set of the value are e^eps0 times likelier.

    Subclasses say which share of all outputs is in the set of a value
    (docs/theory/named-randomizers.md).

    Examples
    --------
    >>> from shuffledp.randomizers import Piecewise, TwoLevelRandomizer
    >>> isinstance(Piecewise(eps0=1.0), TwoLevelRandomizer)
    True
    """

    k: ClassVar[int] = 2  # type: ignore[misc]  # the analysis speaks of two values

    @property
    @abstractmethod
    def share(self) -> float:
        """Share of all outputs that are in the set of a value, at most 1/2."""

    @property
    @abstractmethod
    def third_alone(self) -> float:
        """Share of all outputs that are only in the set of a third value.

        That set has equally much in common with either of the disjoint sets of two other values.
        """

    @property
    def third_error(self) -> float:
        """Relative error of the shares that `third_alone` leaves, beyond a few roundings."""
        return 0.0

    def base_mass(self, inside: int, given: int) -> float:
        return self._base(0.0 if inside > 1 else self.share if inside else 1 - 2 * self.share)

    def _base(self, share: float) -> float:
        return share / (1 + math.expm1(self.eps0) * self.share)

    def attained_law(self) -> Law:
        """Laws of a message in datasets in which the others hold either of the two values, or the
        third."""
        both, ratio, base = super().attained_law(), self.ratio, self._base(1.0)
        if self.third_error > _TOO_UNSURE:
            return both
        alone = self.third_alone
        common, rest = (self.share - alone) / 2, (1 - 2 * self.share) - alone
        shares = {"0": self.share - common, "1": self.share - common, "2": alone}
        shares |= {"02": common, "12": common, "": rest}
        rows = [
            tuple(ratio ** (value in sets) * share * base for value in "012")
            for sets, share in shares.items()
        ]
        third = replace(self._law(rows), mass_error=self.third_error)
        return laws.class_law.ClassLaws((*cast(laws.class_law.ClassLaws, both).laws, third))


class WindowRandomizer(TwoLevelRandomizer):
    """Of numbers in [0, 1]: the set is a window of an interval that moves with the number, at its
    ends for 0 and 1."""

    task: ClassVar[str] = "mean"

    @property
    def third_alone(self) -> float:
        return min(self.share, 1 - 2 * self.share)  # of the window of 1/2, in the middle

    @cached_property
    def client(self) -> Client:
        from ..clients.interval import IntervalClient

        return IntervalClient(Fraction(self.share), exact_ratio(self.eps0))
