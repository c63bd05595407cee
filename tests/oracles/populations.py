"""Real rounds in exact fractions: users who collude or drop out, and several messages a user."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations
from math import comb

from .common import FractionPair, Matrix
from .mechanisms import as_pair, shuffled_mechanism

#: The values of a user's messages.
Bundle = tuple[int, ...]
#: Who sends, and how likely that is.
Draw = tuple[Fraction, tuple[int, ...]]


def everybody(users: int) -> list[Draw]:
    return [(Fraction(1), tuple(range(users)))]


def fixed_size(users: int, senders: int) -> list[Draw]:
    """All subsets of that size, equally likely."""
    weight = Fraction(1, comb(users, senders))
    return [(weight, chosen) for chosen in combinations(range(users), senders)]


def poisson(users: int, rate: Fraction) -> list[Draw]:
    return [
        (rate**size * (1 - rate) ** (users - size), chosen)
        for size in range(users + 1)
        for chosen in combinations(range(users), size)
    ]


def view(
    matrix: Matrix, bundles: Sequence[Bundle], draws: Sequence[Draw], silent: int
) -> dict[tuple[int, ...], Fraction]:
    """What an adversary sees: which of the last `silent` users were drawn, and the histogram of the
    messages of the other users who were drawn.

    Colluding users tell that they were drawn and which messages are theirs; users who drop out are
    missing, and it is known who they are.
    """
    honest = len(bundles) - silent
    law: dict[tuple[int, ...], Fraction] = {}
    for weight, chosen in draws:
        told = tuple(int(user in chosen) for user in range(honest, len(bundles)))
        sent = [value for user in chosen if user < honest for value in bundles[user]]
        for histogram, mass in shuffled_mechanism(matrix, sent).items():
            key = (*told, *histogram)
            law[key] = law.get(key, Fraction(0)) + weight * mass
    return law


def neighbouring_views(
    matrix: Matrix, users: int, draws: Sequence[Draw], silent: int = 0, messages: int = 1
) -> list[FractionPair]:
    """The pairs of views on all datasets that differ in the whole bundle of one honest user."""
    values = range(len(matrix))
    bundles = list(combinations_with_replacement(values, messages))
    pairs = []
    nothing = [(0,) * messages] * silent  # what silent users hold plays no part
    for others in combinations_with_replacement(bundles, users - silent - 1):
        laws = [view(matrix, [own, *others, *nothing], draws, silent) for own in bundles]
        pairs += [as_pair(laws[i], laws[j]) for i, j in permutations(range(len(laws)), 2)]
    return pairs
