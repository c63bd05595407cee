"""Real shuffled mechanisms in exact fractions: what an adversary sees, on every dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from math import comb

from .common import FractionPair, Histogram, Matrix, hockey_stick


def _add_user(
    law: Mapping[Histogram, Fraction], row: Sequence[Fraction]
) -> dict[Histogram, Fraction]:
    """Return the law of the histogram after one more user who answers with law `row`."""
    result: dict[Histogram, Fraction] = {}
    for counts, mass in law.items():
        for output, prob in enumerate(row):
            new = (*counts[:output], counts[output] + 1, *counts[output + 1 :])
            result[new] = result.get(new, Fraction(0)) + mass * prob
    return result


def shuffled_mechanism(matrix: Matrix, dataset: Sequence[int]) -> dict[Histogram, Fraction]:
    """Return the exact law of the shuffled outputs, as {histogram of the outputs: probability}.

    `matrix[x][y]` is the probability that the local randomizer answers y on input x, and
    `dataset` lists the users' inputs. The users are added one after another.
    """
    if any(sum(row) != 1 or min(row) < 0 for row in matrix):
        raise ValueError("the rows must be probability vectors")
    law: dict[Histogram, Fraction] = {(0,) * len(matrix[0]): Fraction(1)}
    for value in dataset:
        law = _add_user(law, matrix[value])
    return law


def true_profile(matrix: Matrix, users: int, alpha: Fraction) -> Fraction:
    """Return the largest hockey-stick divergence over all pairs of neighboring datasets.

    Enumerated: every multiset of inputs of the other users - 1 users, and every ordered pair of
    different inputs of the remaining user. This is the exact profile of the shuffled mechanism.
    """
    inputs = range(len(matrix))
    best = Fraction(0)
    for others in combinations_with_replacement(inputs, users - 1):
        background = shuffled_mechanism(matrix, others)
        laws = [_add_user(background, matrix[x]) for x in inputs]
        for first, second in permutations(inputs, 2):
            pair = {y: (laws[first][y], laws[second][y]) for y in laws[first]}
            best = max(best, hockey_stick(pair, alpha))
    return best


def blanket_pair(
    u: Sequence[Fraction], v: Sequence[Fraction], blanket: Sequence[Fraction], users: int
) -> FractionPair:
    """The view of an adversary who is told which others drew from the blanket.

    Every other user sends a draw from `blanket` (a sub-probability) or, with the rest of the mass,
    a message that the adversary can tell apart and remove. Outcome: histogram of what is left,
    the differing user's message included, which has law u under P and v under Q.
    """
    total = sum(blanket, Fraction(0))
    size = len(u)
    pair: dict[Histogram, tuple[Fraction, Fraction]] = {}
    others: dict[Histogram, Fraction] = {(0,) * size: Fraction(1)}
    for left in range(users - 1, -1, -1):
        # `others`: histograms of exactly users - 1 - left blanket draws, unnormalized
        drawn = users - 1 - left
        ways = Fraction(comb(users - 1, drawn)) * (1 - total) ** left
        for histogram, mass in others.items():
            for y in range(size):
                outcome = tuple(c + (i == y) for i, c in enumerate(histogram))
                p, q = pair.get(outcome, (Fraction(0), Fraction(0)))
                pair[outcome] = (p + ways * mass * u[y], q + ways * mass * v[y])
        following: dict[Histogram, Fraction] = {}
        for histogram, mass in others.items():
            for y in range(size):
                outcome = tuple(c + (i == y) for i, c in enumerate(histogram))
                following[outcome] = following.get(outcome, Fraction(0)) + mass * blanket[y]
        others = following
    return pair


def strong_pair(k: int, gamma: Fraction, users: int) -> FractionPair:
    """The paper's strong adversary on k-ary randomized response, values 0 and 1 in question.

    It is told of every user whether they answered at random. If the user in question did, nothing
    is learnt (one outcome); if not, their value is among the random answers of the others.
    """
    uniform = [gamma / k] * k
    first = [Fraction(int(y == 0)) for y in range(k)]
    second = [Fraction(int(y == 1)) for y in range(k)]
    pair = {
        outcome: ((1 - gamma) * p, (1 - gamma) * q)
        for outcome, (p, q) in blanket_pair(first, second, uniform, users).items()
    }
    pair[()] = (gamma, gamma)
    return pair
