"""Only the sums of bits are seen: the real mechanism on every dataset, in whole numbers.

Nothing is assumed of columns here: the joint law of all sums is added up user by user.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import lcm

Vector = tuple[int, ...]
Law = dict[int, int]  # of all sums, as one number; masses times a common factor
Pair = tuple[Law, Law]


def vectors(columns: int, ones: int) -> list[Vector]:
    """All bit vectors with 1 to `ones` ones."""
    return [bits for bits in product((0, 1), repeat=columns) if 1 <= sum(bits) <= ones]


class Sums:
    """Users whose bits are 1 with probability p where the value has a 1, and q where it has a 0."""

    def __init__(self, columns: int, p: Fraction, q: Fraction, base: int) -> None:
        self._columns, self._base = columns, base
        self._unit = lcm(p.denominator, q.denominator)
        self._ones = int(q * self._unit), int(p * self._unit)

    def sent(self, value: Vector) -> Law:
        """The law of one user's message."""
        law: Law = {}
        for bits in product((0, 1), repeat=self._columns):
            mass, key = 1, 0
            for i, (bit, x) in enumerate(zip(bits, value, strict=True)):
                mass *= self._ones[x] if bit else self._unit - self._ones[x]
                key += bit * self._base**i
            law[key] = mass
        return law

    def of(self, values: Sequence[Vector]) -> Law:
        law: Law = {0: 1}
        for value in values:
            law = added(law, self.sent(value))
        return law


def added(first: Law, second: Law) -> Law:
    law: Law = {}
    for a, x in first.items():
        for b, y in second.items():
            law[a + b] = law.get(a + b, 0) + x * y
    return law


def neighbouring_sums(
    columns: int, ones: int, users: int, p: Fraction, q: Fraction, neighbours: str
) -> Iterator[Pair]:
    """The laws of all sums for all neighbouring datasets, in both orders."""
    sums = Sums(columns, p, q, users + 1)
    values = vectors(columns, ones)
    changes = list(permutations(values, 2))
    if neighbours == "remove":
        zero = (0,) * columns
        changes = [pair for x in values for pair in ((x, zero), (zero, x))]
    # columns are alike: of the changes that differ in their order only, one for all other users
    changes = [pair for pair in changes if _ordered(pair)]
    own = {value: sums.sent(value) for value in {x for pair in changes for x in pair}}
    for others in combinations_with_replacement(values, users - 1):
        rest = sums.of(others)
        laws = {value: added(rest, law) for value, law in own.items()}
        for first, second in changes:
            yield laws[first], laws[second]


def _ordered(pair: tuple[Vector, Vector]) -> bool:
    columns = list(zip(*pair, strict=True))
    return columns == sorted(columns)


def divergence(pair: Pair, alpha: Fraction) -> Fraction:
    first, second = pair
    up, down = alpha.denominator, alpha.numerator
    gain = sum(max(x * up - second.get(key, 0) * down, 0) for key, x in first.items())
    return Fraction(gain, up * sum(first.values()))


def truth(pairs: Sequence[Pair], alpha: Fraction) -> Fraction:
    """The largest over all datasets, in both orders."""
    return max(divergence(pair, alpha) for pair in pairs)
