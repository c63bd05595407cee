"""Unary encoding: symmetric RAPPOR, optimized unary encoding, and vectors with several ones."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .. import laws
from .._support import validate
from .._support.text import at_least, at_most
from ..errors import InvalidParameter
from ..laws.class_law import Law
from .analyses import CLONES, STRONGER_CLONES, Analysis
from .base import register
from .exact import ExactMatrix, Fractions, exp_bracket, of_bits
from .membership import MembershipRandomizer
from .parameter import Family, LocalEpsilon, Parameter, Search, Values

if TYPE_CHECKING:
    from ..clients import Client

_ALL_OF = 64  # more columns than anybody enumerates
_MANY_ONES = 16  # of a value, beyond which its messages are of too many classes

Probability = Annotated[
    float,
    Parameter("probability that a 1 is sent as 1", 1e-12, 0.9999, search=Search(0.9, True)),
]
FalseOne = Annotated[
    float,
    Parameter("probability that a 0 is sent as 1", 1e-12, 0.9999, search=Search(0.1, False)),
]


@register
@dataclass(frozen=True, repr=False)
class UnaryEncoding(MembershipRandomizer):
    """k bits of which 1 to `ones` are set, each randomized by itself.

    A 1 is sent as 1 with probability p, a 0 with probability q. With `eps0`, every bit is flipped
    with probability 1/(e^(eps0/2/ones) + 1) (symmetric RAPPOR); with p or q alone, with probability
    1 - p or q. If k < 2 `ones`, two vectors differ in k bits at most, and the local epsilon is k /
    (2 `ones`) times `eps0`.

    Parameters
    ----------
    k : int
        Number of values, 2 to 1e12.
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.
    p : float
        Probability that a 1 is sent as 1, 1e-12 to 1 - 1e-12, above q. Give `eps0`, or one or both
        of p and q.
    q : float
        Probability that a 0 is sent as 1, 1e-12 to 1 - 1e-12.
    ones : int
        Largest number of ones in a vector, 1 to 100 and at most k.

    Raises
    ------
    InvalidParameter, OutOfRange
        If the bits are given twice or not at all, or a number is outside its limits.

    Examples
    --------
    >>> from shuffledp import Shuffle, UnaryEncoding
    >>> round(UnaryEncoding(k=32, p=0.5, q=0.1).eps0, 6)
    2.197225
    >>> Shuffle(UnaryEncoding(k=32, eps0=2.0), users=100_000).get_epsilon(1e-6) < 0.04
    True
    """

    name: ClassVar[str] = "unary"
    also: ClassVar[tuple[str, ...]] = ("rappor", "sue", "symmetric-unary", "unary-encoding")
    task: ClassVar[str] = "count"
    example: ClassVar[Mapping[str, float]] = {"k": 3, "eps0": 1.0}

    k: Values
    eps0: LocalEpsilon = None  # type: ignore[assignment]
    p: Probability = field(default=None, kw_only=True)  # type: ignore[assignment]
    q: FalseOne = field(default=None, kw_only=True)  # type: ignore[assignment]
    ones: Annotated[int, Parameter("largest number of ones in a vector", 1, 100, whole=True)] = (
        field(default=1, kw_only=True)
    )
    #: Were p or q given? Then these are exact and eps0 was rounded up; otherwise eps0 is exact.
    by_bits: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Check the fields, and derive p and q from eps0, or eps0 from p and q."""
        self._keep("k", validate.count("k", self.k, 10**12, least=2))
        self._keep("ones", validate.count("ones", self.ones, min(self.k, 100)))
        by_bits = self.p is not None or self.q is not None
        if by_bits == (self.eps0 is not None):
            raise InvalidParameter(
                "eps0 says the same as p and q; give either eps0, or one or both of p and q."
            )
        self._keep("by_bits", by_bits)
        if not by_bits:
            self._keep("eps0", validate.local_epsilon(self.eps0))
            half = self.eps0 / (2 * self.ones)
            self._keep("p", 1 / (1 + math.exp(-half)))
            self._keep("q", 1 / (math.exp(half) + 1))
            return
        given = {name: getattr(self, name) for name in "pq" if getattr(self, name) is not None}
        for name, value in given.items():
            self._keep(name, validate.between(name, value, 1e-12, 1 - 1e-12))
        if len(given) == 1:  # bits are flipped with one probability
            ((name, value),) = given.items()
            self._keep("q" if name == "p" else "p", 1 - getattr(self, name))
        if not self.q < self.p:
            raise InvalidParameter(
                f"q={self.q!r} is not below p={self.p!r}; 1s must be sent as 1 more often than 0s."
            )
        columns = self.sum_law().differing
        self._keep("eps0", validate.local_epsilon(max(self._loss(*each) for each in columns)))

    @property
    def given(self) -> dict[str, Any]:
        told = ("p", "q") if self.by_bits else ("eps0",)
        several = ("ones",) if self.ones > 1 else ()
        return {name: getattr(self, name) for name in ("k", *told, *several)}

    @classmethod
    def optimized(cls, k: int, eps0: float, ones: int = 1) -> UnaryEncoding:
        """Optimized unary encoding (OUE): p = 1/2, q = 1/(e^(eps0/ones) + 1).

        Parameters
        ----------
        k : int
            Number of values, 2 to 1e12.
        eps0 : float
            Local epsilon of a message, 1e-6 to 200.
        ones : int
            Largest number of ones in a vector, 1 to 100 and at most k.

        Returns
        -------
        UnaryEncoding
            With these p and q.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.

        Examples
        --------
        >>> from shuffledp import UnaryEncoding
        >>> round(UnaryEncoding.optimized(k=32, eps0=2.0).q, 4)
        0.1192
        """
        each = validate.local_epsilon(eps0) / validate.count("ones", ones, 100)
        return cls(k, p=0.5, q=1 / (math.exp(each) + 1), ones=ones)

    @classmethod
    def families(cls, size: int) -> Sequence[Family]:
        # bits of any probabilities, OUE among them, and those that are flipped with one
        kept = (0.5, 0.7, 0.8, 0.87, 0.93, 0.97, 0.99, 0.999, 0.9999)
        both = Family("q", [{"k": size, "p": p} for p in kept])
        return both, Family("eps0", [{"k": size}])

    @property
    def _complements(self) -> tuple[float, float]:
        """1 - p and 1 - q, to a few units."""
        return (1 - self.p, 1 - self.q) if self.by_bits else (self.q, self.p)

    @property
    def ratio(self) -> float:
        """Factor by which a value is likelier to send an output that contains it, for one
        column."""
        not_p, not_q = self._complements
        return (
            self.p * not_q / (self.q * not_p) if self.by_bits else math.exp(self.eps0 / self.ones)
        )

    @property
    def blanket_key(self) -> Hashable | None:
        """Number of values and q, if q is given: a computed one may be rounded."""
        return (self.k, self.q) if self.by_bits and self.ones == 1 else None

    def base_mass(self, inside: int, given: int) -> float:
        not_p, not_q = self._complements
        chance: float = self.q**inside * not_q ** (given - inside)
        return not_p / not_q * chance

    @property
    def mass_containing_all(self) -> float:
        return self.base_mass(self.k, self.k)

    def sum_law(self) -> laws.binary_law.BitColumns:
        not_p, not_q = self._complements
        loss = None if self.by_bits else self.eps0 / (2 * self.ones) * (1 + 2.0**-51)
        bits = laws.binary_law.BinaryLaw(self.p, not_p, self.q, not_q, known_loss=loss)
        return laws.binary_law.BitColumns(bits, self.k, self.ones, zero=True)

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        if self.ones <= _MANY_ONES:
            return super().analyses
        # a blanket would have thousands of classes
        return {"best": STRONGER_CLONES, "stronger-clones": STRONGER_CLONES, "clones": CLONES}

    def blanket_law(self) -> Law:
        """Law of a message under the privacy blanket (docs/theory/named-randomizers.md).

        If there may be several ones: the laws of all pairs of values of which none is certain to
        lose less than another (docs/theory/sums.md).
        """
        if self.ones == 1:
            return super().blanket_law()
        # every vector has at most so many ones where the message has zeros
        not_p, not_q = self._complements
        least = (not_p / not_q) ** self.ones
        found = []
        for first, second, shared in self._pairs_of_values():
            rows = self._classes(first, second, shared)
            law = self._law([(u, v, least * base) for u, v, base in rows])
            found.append(replace(law, known_loss=self._loss(first, second)))
        return laws.class_law.ClassLaws(tuple(found))

    def _pairs_of_values(self) -> Sequence[tuple[int, int, int]]:
        """How many ones only the first value has, only the second, and both."""
        if self.k >= 2 * self.ones:
            return [(self.ones, self.ones, 0)]
        least, most = self.k - self.ones, self.ones
        every = ((a, b, self.k - a - b) for a, b in product(range(least, most + 1), repeat=2))
        # there are no vectors without ones, and two values differ
        return [(a, b, i) for a, b, i in every if 0 <= i < self.k and min(a, b) + i > 0]

    def attained_law(self) -> Law:
        """Laws of a message in datasets in which the others hold the first or the second value.

        If there is a single one in a vector, they may also hold a third value.
        """
        if self.ones == 1:
            return super().attained_law()
        found = []
        for first, second in self.sum_law().differing:
            rows = self._classes(*(min(ones, _MANY_ONES) for ones in (first, second)))
            for both in [(u, v, u) for u, v, _ in rows], [(u, v, v) for u, v, _ in rows]:
                found.append(replace(self._law(both), known_loss=self._loss(first, second)))
        return laws.class_law.ClassLaws(tuple(found))

    def _loss(self, first: int, second: int) -> float:
        """The largest loss of two values that have so many ones each which the other has not;
        rounded up."""
        if not self.by_bits:
            # of as many as there may be it is eps0, exactly
            share = (first + second) / (2 * self.ones)
            return self.eps0 * share * (1 + (share < 1) * 2.0**-50)
        not_p, not_q = self._complements
        loss = first * math.log(self.p / self.q) + second * math.log(not_q / not_p)
        # a ratio errs by three units, relatively, and the logarithm by its own rounding
        return loss * (1 + 2.0**-49) + (first + second) * 2.0**-50

    def _classes(
        self, first: int, second: int, shared: int = 0
    ) -> list[tuple[float, float, float]]:
        """By how many of the ones that only one value has, only another, and both, a message has:
        its probability for either value, and for a vector without any of them."""
        not_p, not_q = self._complements
        rows = []
        for a, b, c in product(range(first + 1), range(second + 1), range(shared + 1)):
            ways = math.comb(first, a) * math.comb(second, b) * math.comb(shared, c)
            none = self.q ** (a + b + c) * not_q ** (first + second + shared - a - b - c)
            both = ways * self.p**c * not_p ** (shared - c)
            u = self.p**a * not_p ** (first - a) * self.q**b * not_q ** (second - b)
            v = self.q**a * not_q ** (first - a) * self.p**b * not_p ** (second - b)
            rows.append((both * u, both * v, ways * none))
        return rows

    @cached_property
    def client(self) -> Client:
        from ..clients.bits import BitsClient

        return BitsClient(self.k, *self._fractions(), self.ones)

    def describe(self) -> str:
        some = "one is" if self.ones == 1 else f"1 to {self.ones} are"
        # as sure as the numbers themselves: who sends fewer 1s as 1 and more 0s is covered
        sent = f"with probability {at_least(self.p)}, a 0 as 1 with probability {at_most(self.q)}"
        value = f"{self.k} bits of which {some} 1"
        return f"{value}; a 1 is sent as 1 {sent}; {at_most(self.eps0)}-LDP"

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        return f"UnaryEncoding({said})"

    def exact(self) -> ExactMatrix:
        k = min(self.k, _ALL_OF)
        values = sum(math.comb(k, ones) for ones in range(1, min(self.ones, k) + 1))
        return ExactMatrix(max(values, self.k), 1 << k, self._bits, self._zero)

    def _zero(self) -> Sequence[Fraction]:
        return of_bits([()], self.k, *self._fractions())[0]

    def _bits(self) -> Fractions:
        return of_bits(self._values(), self.k, *self._fractions())

    def _fractions(self) -> tuple[Fraction, Fraction]:
        """p and q; if eps0 is given, with its ratio rounded down: nearer to each other."""
        if self.by_bits:
            return Fraction(self.p), Fraction(self.q)
        root = exp_bracket(Fraction(self.eps0) / (2 * self.ones), 50)[0]
        return root / (root + 1), 1 / (root + 1)

    def _values(self) -> Sequence[tuple[int, ...]]:
        every = range(1, self.ones + 1)
        return [value for ones in every for value in combinations(range(self.k), ones)]
