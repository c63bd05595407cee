"""Real shuffled mechanisms in exact fractions: what an adversary sees, on every dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, lcm
from typing import Any, TypeAlias

from .common import FractionPair, Histogram, Matrix

Rows: TypeAlias = tuple[tuple[Fraction, ...], ...]


def _add_user(law: Mapping[Histogram, Any], row: Sequence[Any]) -> dict[Histogram, Any]:
    """Return the law of the histogram after one more user who answers with law `row`.

    Fractions, or whole numbers over a denominator that the caller keeps.
    """
    result: dict[Histogram, Any] = {}
    for counts, mass in law.items():
        for output, prob in enumerate(row):
            new = (*counts[:output], counts[output] + 1, *counts[output + 1 :])
            found = result.get(new)
            result[new] = mass * prob if found is None else found + mass * prob
    return result


def shuffled_mechanism(matrix: Matrix, dataset: Sequence[int]) -> dict[Histogram, Fraction]:
    """Return the exact law of the shuffled outputs, as {histogram of the outputs: probability}.

    `matrix[x][y]` is the probability that the local randomizer answers y on input x, and
    `dataset` lists the users' inputs. The users are added one after another.
    """
    return dict(_fractions(tuple(map(tuple, matrix)), tuple(sorted(dataset))))


@cache
def _fractions(matrix: Rows, dataset: tuple[int, ...]) -> dict[Histogram, Fraction]:
    total = _unit(matrix) ** len(dataset)
    return {y: Fraction(count, total) for y, count in _counted(matrix, dataset).items()}


@cache
def _unit(matrix: Rows) -> int:
    """The common denominator of all probabilities."""
    if any(sum(row) != 1 or min(row) < 0 for row in matrix):
        raise ValueError("the rows must be probability vectors")
    return lcm(*(p.denominator for row in matrix for p in row))


@cache
def _counted(matrix: Rows, dataset: tuple[int, ...]) -> dict[Histogram, int]:
    """The law of the shuffled outputs in whole numbers, times unit ** users.

    Shuffled outputs do not depend on the order of the users, so it is enough to know the law for
    sorted datasets, and each extends that of one user less.
    """
    if not dataset:
        return {(0,) * len(matrix[0]): 1}
    unit = _unit(matrix)
    row = [int(p * unit) for p in matrix[dataset[-1]]]
    return _add_user(_counted(matrix, dataset[:-1]), row)


def shuffled_users(
    matrices: Sequence[Matrix], dataset: Sequence[int], outputs: int
) -> dict[Histogram, Fraction]:
    """The same if user i keeps a randomizer of their own, `matrices[i]`; all answer in `outputs`
    values."""
    law: dict[Histogram, Fraction] = {(0,) * outputs: Fraction(1)}
    for matrix, value in zip(matrices, dataset, strict=True):
        if any(sum(row) != 1 or min(row) < 0 for row in matrix):
            raise ValueError("the rows must be probability vectors")
        law = _add_user(law, matrix[value])
    return law


def in_random_order(
    choose: Callable[[tuple[int, ...]], Matrix], dataset: Sequence[int]
) -> dict[tuple[int, ...], Fraction]:
    """The data are put in random order, then answered one by one with the randomizer that `choose`
    makes of the earlier messages (hence of the place). The messages are seen in their order.
    """
    orders = list(permutations(dataset))
    law: dict[tuple[int, ...], Fraction] = {}
    for order in orders:
        messages: dict[tuple[int, ...], Fraction] = {(): Fraction(1, len(orders))}
        for value in order:
            messages = {
                (*earlier, y): mass * prob
                for earlier, mass in messages.items()
                for y, prob in enumerate(choose(earlier)[value])
                if prob
            }
        for seen, mass in messages.items():
            law[seen] = law.get(seen, Fraction(0)) + mass
    return law


def true_profile(matrix: Matrix, users: int, alpha: Fraction) -> Fraction:
    """Return the largest hockey-stick divergence over all pairs of neighboring datasets.

    Enumerated: every multiset of inputs of the other users - 1 users, and every ordered pair of
    different inputs of the remaining user. This is the exact profile of the shuffled mechanism.
    """
    rows, inputs, best = tuple(map(tuple, matrix)), range(len(matrix)), 0
    for others in combinations_with_replacement(inputs, users - 1):
        laws = [_counted(rows, tuple(sorted((x, *others)))) for x in inputs]
        for first, second in permutations(laws, 2):
            excess = (
                alpha.denominator * mass - alpha.numerator * second[y] for y, mass in first.items()
            )
            best = max(best, sum(gain for gain in excess if gain > 0))
    return Fraction(best, alpha.denominator * _unit(rows) ** users)


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


# What else an adversary may be told, and rounds in which not everybody takes part


def view_with_betas(
    matrix: Matrix, others: Sequence[int], x0: int, x1: int, own: bool
) -> FractionPair:
    """The shuffled messages together with who drew from the blanket, bit by bit.

    R(x) = blanket + rest(x), with blanket the minimum of the rows; beta_i says that user i's
    message came from the blanket. The adversary A_w is told the betas of the others, A_s (`own`)
    also that of the user in question. Nothing is simplified: outcome = betas, then histogram.
    """
    size = len(matrix[0])
    blanket = [min(column) for column in zip(*matrix, strict=True)]
    views: dict[tuple[int, ...], Fraction] = {(0,) * size: Fraction(1)}
    for value in others:
        rest = [p - w for p, w in zip(matrix[value], blanket, strict=True)]
        views = {
            **{(1, *key): mass for key, mass in _messages(views, blanket, size).items()},
            **{(0, *key): mass for key, mass in _messages(views, rest, size).items()},
        }
    laws = []
    for value in (x0, x1):
        row = matrix[value]
        if not own:
            laws.append(_messages(views, row, size))
            continue
        rest = [p - w for p, w in zip(row, blanket, strict=True)]
        told = {(1, *key): mass for key, mass in _messages(views, blanket, size).items()}
        told |= {(0, *key): mass for key, mass in _messages(views, rest, size).items()}
        laws.append(told)
    return as_pair(*laws)


def _messages(
    views: Mapping[tuple[int, ...], Fraction], row: Sequence[Fraction], size: int
) -> dict[tuple[int, ...], Fraction]:
    """One more message with (sub-probability) law `row` in the last `size` entries of each key."""
    result: dict[tuple[int, ...], Fraction] = {}
    for key, mass in views.items():
        told, histogram = key[: len(key) - size], key[len(key) - size :]
        for new, prob in _add_user({histogram: mass}, row).items():
            outcome = (*told, *new)
            result[outcome] = result.get(outcome, Fraction(0)) + prob
    return result


def as_pair(
    first: Mapping[tuple[int, ...], Fraction], second: Mapping[tuple[int, ...], Fraction]
) -> FractionPair:
    """{outcome: (P, Q)} of two laws."""
    zero = Fraction(0)
    return {y: (first.get(y, zero), second.get(y, zero)) for y in {**first, **second}}


def fixed_size_sample(
    matrix: Matrix, dataset: Sequence[int], senders: int
) -> dict[Histogram, Fraction]:
    """A uniformly random subset of `senders` users sends; the others stay silent."""
    return _mixture(
        (Fraction(1, comb(len(dataset), senders)), shuffled_mechanism(matrix, chosen))
        for chosen in combinations(dataset, senders)
    )


def poisson_sample(
    matrix: Matrix, dataset: Sequence[int], rate: Fraction
) -> dict[Histogram, Fraction]:
    """Every user takes part independently with probability `rate`; how many did is seen."""
    return _mixture(
        (
            rate**senders * (1 - rate) ** (len(dataset) - senders),
            shuffled_mechanism(matrix, chosen),
        )
        for senders in range(len(dataset) + 1)
        for chosen in combinations(dataset, senders)
    )


def _mixture(
    parts: Iterable[tuple[Fraction, Mapping[Histogram, Fraction]]],
) -> dict[Histogram, Fraction]:
    result: dict[Histogram, Fraction] = {}
    for weight, law in parts:
        for outcome, mass in law.items():
            result[outcome] = result.get(outcome, Fraction(0)) + weight * mass
    return result


def neighbours(
    inputs: int, users: int, mechanism: Callable[[Sequence[int]], Mapping[Histogram, Fraction]]
) -> list[FractionPair]:
    """The pairs of laws of `mechanism` on all replace-one neighbours, in both orders."""
    pairs = []
    for others in combinations_with_replacement(range(inputs), users - 1):
        laws = [mechanism([x, *others]) for x in range(inputs)]
        pairs += [as_pair(laws[i], laws[j]) for i, j in permutations(range(inputs), 2)]
    return pairs


def adaptive_profile(rounds: Sequence[Sequence[FractionPair]], alpha: Fraction) -> Fraction:
    """The worst adaptive composition: what is done in a round depends on all earlier outcomes.

    `rounds[i]` are the pairs that round i may use (mechanisms and neighbouring data). Given the
    earlier outcomes with masses p and q, the worst of them is the one with the largest
    sum over its outcomes of the worst continuation from (p P, q Q), at the end (p - alpha q)_+.
    """

    menus = [{_by_ratio(pair) for pair in menu} for menu in rounds]

    @cache
    def worst(odds: Fraction, left: int) -> Fraction:
        """From p = 1 and q = odds, to which everything is proportional, with `left` rounds left."""
        if left == 0:
            return max(1 - alpha * odds, Fraction(0))
        return max(
            sum((p * worst(odds * q / p, left - 1) for p, q in pair), Fraction(0))
            for pair in menus[len(menus) - left]
        )

    return worst(Fraction(1), len(menus))


def _by_ratio(pair: FractionPair) -> frozenset[tuple[Fraction, Fraction]]:
    """The pair with outcomes of equal likelihood ratio merged, which loses nothing; P > 0."""
    merged: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for p, q in pair.values():
        if p > 0:
            before = merged.get(q / p, (Fraction(0), Fraction(0)))
            merged[q / p] = (before[0] + p, before[1] + q)
    return frozenset(merged.values())
