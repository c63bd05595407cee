"""Sums of columns of bits: the pair of laws above all datasets, in whole fractions.

Each column is bounded by one pair of laws whose profile is, at every alpha, the largest over what
the other users may hold. The product over columns and the mean over samples are added up term by
term. Nothing is rounded: all numbers are fractions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb

F = Fraction
#: P-masses at ratios P/Q.
Ratios = dict[Fraction, Fraction]
#: The mass of an event under P and under Q.
Event = tuple[Fraction, Fraction]


def events(users: int, p: Fraction, q: Fraction) -> list[Event]:
    """Of "at least t messages are 1": the first sends 1 with probability p or q, m others with p
    and the rest with q, for all m and t."""
    found = []
    for m in range(users):
        law = [F(1)]
        for chance in [p] * m + [q] * (users - 1 - m):
            law = with_bit(law, chance)
        own, other = with_bit(law, p), with_bit(law, q)
        found += [(sum(own[t:], F(0)), sum(other[t:], F(0))) for t in range(users + 2)]
    return found


def with_bit(law: Sequence[Fraction], chance: Fraction) -> list[Fraction]:
    return [(1 - chance) * a + chance * b for a, b in zip([*law, F(0)], [F(0), *law], strict=True)]


def bends(lines: Iterable[Event]) -> list[tuple[Fraction, Fraction]]:
    """(alpha, bend of the slope) of the largest of v - alpha s over lines (v, s), for alpha > 1."""
    alpha, (v, s) = F(1), max(lines := list(lines), key=lambda line: (line[0] - line[1], -line[1]))
    found = []
    while s > 0:
        # the next line to overtake this one is flatter; of several the flattest
        place, flatter = min(
            ((v - a) / (s - b), b) for a, b in lines if b < s and (v - a) / (s - b) >= alpha
        )
        found.append((place, s - flatter))
        alpha, s = place, flatter
        v = max(a for a, b in lines if b == flatter)
    return found


def column(forward: Iterable[Event], backward: Iterable[Event]) -> Ratios:
    """The pair whose profile in one order is the largest of `forward`, in the other of
    `backward`."""
    law: Ratios = {}
    for alpha, bend in bends(forward):
        law[alpha] = law.get(alpha, F(0)) + alpha * bend
    for alpha, bend in bends(backward):
        law[1 / alpha] = law.get(1 / alpha, F(0)) + bend
    law[F(1)] = law.get(F(1), F(0)) + 1 - sum(law.values())
    return law


def composed(columns: Iterable[Ratios]) -> Ratios:
    total: Ratios = {F(1): F(1)}
    for law in columns:
        before, total = total, {}
        for a, x in before.items():
            for b, y in law.items():
                total[a * b] = total.get(a * b, F(0)) + x * y
    return total


def delta(law: Ratios, alpha: Fraction) -> Fraction:
    return sum((mass * (1 - alpha / a) for a, mass in law.items() if a > alpha), F(0))


class SampledColumns:
    """A random number t of `honest` users sends, with probability `chance[t]`; two values differ
    in `ones` columns each way."""

    def __init__(
        self, ones: int, p: Fraction, q: Fraction, honest: int, chance: dict[int, Fraction]
    ) -> None:
        self._honest, self._chance = honest, chance
        self._rounds = {}
        for t in chance:
            if t:
                lines = events(t, p, q), events(t, 1 - q, 1 - p)
                both = column(*lines), column(*lines[::-1])
                self._rounds[t] = composed([law for law in both for _ in range(ones)])

    def delta(self, alpha: Fraction) -> Fraction:
        """By the theorem for samples of any mechanism."""
        total = F(0)
        for t, law in self._rounds.items():
            share = F(t, self._honest)
            total += self._chance[t] * share * delta(law, 1 + (alpha - 1) / share)
        return total

    @property
    def largest(self) -> Fraction:
        """The alpha from which on delta is 0."""
        shares = ((F(t, self._honest), max(law)) for t, law in self._rounds.items())
        return max(1 + share * (ratio - 1) for share, ratio in shares)


def poisson(users: int, rate: Fraction) -> dict[int, Fraction]:
    return {t: comb(users, t) * rate**t * (1 - rate) ** (users - t) for t in range(users + 1)}
