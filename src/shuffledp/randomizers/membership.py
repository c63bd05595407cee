"""Randomizers whose outputs are sets: a value is E times likelier to send a set that contains it.

k-ary randomized response, subset selection, unary encoding (symmetric RAPPOR), local hashing and
Hadamard response are all of this kind, and all their analyses need is how much mass contains how
many of two or three given values. With base(y) the probability of y for a value that y does not
contain, R(x)(y) = base(y) E^[x in y], and the blanket is base, but E base on sets with all values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar

from .._support import validate
from ..laws.classes import ClassLaw
from ..profiles.rounds import ClassProfile, RoundProfile
from .base import BLANKET, KNOWN_AND_PURE, Analysis
from .pure_ldp import clone_profile


class MembershipRandomizer(ABC):
    """Common part: subclasses say how much base mass contains which of a few given values."""

    k: int
    eps0: float

    #: From how many values on there are three of which base_mass(., 3) speaks.
    values_for_three: ClassVar[int] = 3

    def _set(self, **values: Any) -> None:
        """Put validated values into a frozen dataclass."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @abstractmethod
    def base_mass(self, inside: int, given: int) -> float:
        """Base mass of the outputs that contain `inside` certain ones of `given` distinct values
        and none of the others of these; given is 2, or 3 where there are three values."""

    @property
    def ratio(self) -> float:
        """E: how many times likelier a value sends an output that contains it."""
        return math.exp(self.eps0)

    @property
    def everything(self) -> float:
        """Base mass of the outputs that contain every value."""
        return 0.0

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return KNOWN_AND_PURE

    def profile(self, analysis: str, users: int) -> RoundProfile:
        chosen = self.analyses[analysis]
        if chosen is BLANKET:
            return ClassProfile((self._blanket_law(),), users)
        return clone_profile(chosen, self.eps0, users)

    def _blanket_law(self) -> ClassLaw:
        ratio = self.ratio
        rows = []
        for inside in product((0, 1), repeat=2):
            base = self.base_mass(sum(inside), 2)
            if inside == (1, 1):
                base = max(base - self.everything, 0.0)
            rows.append((ratio ** inside[0] * base, ratio ** inside[1] * base, base))
        rows.append((ratio * self.everything,) * 3)
        return self._law(rows)

    def attained(self, users: int) -> RoundProfile:
        """The others hold the first, the second or a third value."""
        return ClassProfile(self._attained_laws(), users)

    def _attained_laws(self) -> tuple[ClassLaw, ...]:
        ratio, laws = self.ratio, []
        for given in (2, 3) if self.k >= self.values_for_three else (2,):
            for holder in range(given) if given == 2 else (2,):
                rows = []
                for inside in product((0, 1), repeat=given):
                    base = self.base_mass(sum(inside), given)
                    rows.append(tuple(ratio ** inside[x] * base for x in (0, 1, holder)))
                laws.append(self._law(rows))
        return tuple(laws)

    def _law(self, rows: Sequence[tuple[float, ...]]) -> ClassLaw:
        u, v, blanket = zip(*(row for row in rows if max(row) > 0), strict=True)
        return ClassLaw(u, v, blanket, largest=self.eps0)

    def describe(self) -> str:
        return f"{self!r}, {self.eps0:g}-LDP"


@dataclass(frozen=True)
class SubsetSelection(MembershipRandomizer):
    """Sends a random subset of `size` of the k values, E times likelier one with the own value.

    >>> from shuffledp import SubsetSelection
    >>> SubsetSelection(k=10, size=3, eps0=1.0)
    SubsetSelection(k=10, size=3, eps0=1.0)
    """

    k: int
    size: int
    eps0: float

    def __post_init__(self) -> None:
        self._set(k=validate.count("k", self.k, 10**12, least=2))
        self._set(size=validate.count("size", self.size, self.k - 1))
        self._set(eps0=validate.local_epsilon(self.eps0))

    @property
    def name(self) -> str:
        return "subset"

    def base_mass(self, inside: int, given: int) -> float:
        # C(k - given, size - inside) / (E C(k-1, size-1) + C(k-1, size)), through the chance that a
        # random subset of the k values holds the given ones as said
        chance, k, size = 1.0, self.k, self.size
        for i in range(given):
            chance *= (size - i if i < inside else k - size - (i - inside)) / (k - i)
        held = size / k
        return max(chance, 0.0) / (math.exp(self.eps0) * held + (1 - held))


@dataclass(frozen=True)
class UnaryEncoding(MembershipRandomizer):
    """Symmetric RAPPOR: k bits, one of them set, each flipped with probability 1/(e^(eps0/2) + 1).

    >>> from shuffledp import UnaryEncoding
    >>> UnaryEncoding(k=32, eps0=2.0)
    UnaryEncoding(k=32, eps0=2.0)
    """

    k: int
    eps0: float

    def __post_init__(self) -> None:
        self._set(k=validate.count("k", self.k, 10**12, least=2))
        self._set(eps0=validate.local_epsilon(self.eps0))

    @property
    def name(self) -> str:
        return "unary"

    def base_mass(self, inside: int, given: int) -> float:
        flip, keep = 1 / (math.exp(self.eps0 / 2) + 1), 1 / (1 + math.exp(-self.eps0 / 2))
        chance: float = flip**inside * keep ** (given - inside)
        return math.exp(-self.eps0 / 2) * chance

    @property
    def everything(self) -> float:
        return self.base_mass(self.k, self.k)


@dataclass(frozen=True)
class HadamardResponse(MembershipRandomizer):
    """Each value owns half of the columns of a Hadamard matrix, its row's positive entries.

    >>> from shuffledp import HadamardResponse
    >>> HadamardResponse(k=100, eps0=1.0)
    HadamardResponse(k=100, eps0=1.0)
    """

    k: int
    eps0: float
    values_for_three: ClassVar[int] = 4  # rows 1, 2 and 4: 3 is the product of 1 and 2

    def __post_init__(self) -> None:
        self._set(k=validate.count("k", self.k, 10**12, least=2))
        self._set(eps0=validate.local_epsilon(self.eps0))

    @property
    def name(self) -> str:
        return "hadamard"

    def base_mass(self, inside: int, given: int) -> float:
        # two rows, and three whose product is not the all-ones row, agree with every pattern of
        # signs on the same share of the columns
        return math.ldexp(2 / (math.exp(self.eps0) + 1), -given)

    @property
    def everything(self) -> float:
        # column 0; the rows are 1 .. k of the matrix of the next power of two above k
        return 2 / (math.exp(self.eps0) + 1) / (1 << self.k.bit_length())


@dataclass(frozen=True)
class LocalHashing(MembershipRandomizer):
    """Sends a random hash function to g values and g-ary randomized response on the hashed value.

    The hash functions are taken to be independent on any three values (pairs for the blanket).

    >>> from shuffledp import LocalHashing
    >>> LocalHashing(g=4, eps0=1.0)
    LocalHashing(g=4, eps0=1.0)
    """

    g: int
    eps0: float
    # no output contains all values if there are more than a few; then their number plays no part
    k: int = field(default=3, init=False, repr=False)

    def __post_init__(self) -> None:
        self._set(g=validate.count("g", self.g, 10**12, least=2))
        self._set(eps0=validate.local_epsilon(self.eps0))

    @property
    def name(self) -> str:
        return "hashing"

    def base_mass(self, inside: int, given: int) -> float:
        each = 1 / self.g
        chance = each**inside * (1 - each) ** (given - inside)
        return self.g * chance / (math.expm1(self.eps0) + self.g)
