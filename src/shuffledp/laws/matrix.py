"""Laws of a matrix of probabilities, a row for each value: one law for each pair of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product

import numpy as np

from .._support.numeric import Array, digest
from . import tuning
from .base import Law
from .classes import ClassLaw, ClassLaws

Pair = tuple[int, int]


class Matrix:
    """Rows of probabilities, compared by value."""

    def __init__(self, rows: Array) -> None:
        self.rows: Array = np.array(rows, dtype=float, order="C")
        self.rows.flags.writeable = False
        self.digest = digest(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return False
        return (self.rows.shape, self.digest) == (other.rows.shape, other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        inputs, outputs = self.rows.shape
        return f"{inputs} x {outputs}, sha256 {self.digest[:8]}"

    @cached_property
    def distinct(self) -> Array:
        """Each row once."""
        rows: Array = np.unique(self.rows, axis=0)
        return rows


def blanket_law(matrix: Matrix) -> Law:
    """The largest over all pairs of rows, with their common lower bound as the blanket."""
    rows = matrix.distinct
    if len(rows) > tuning.FEW_INPUTS:
        return PairsLaw(Matrix(rows))
    return ClassLaws.of(_laws(rows, _all_pairs(rows), [rows.min(axis=0)]))


def attained_law(matrix: Matrix) -> Law:
    """Of actual datasets: the others hold any one value."""
    rows = matrix.distinct
    if len(rows) > tuning.FEW_INPUTS:
        return LeadingPairsLaw(Matrix(rows))
    return ClassLaws.of(_laws(rows, _all_pairs(rows), rows))


@dataclass(frozen=True)
class PairsLaw:
    """All pairs of different rows of a matrix, too many to be listed."""

    matrix: Matrix

    def thinned(self, rate: float) -> PairsLaw:
        # an empty message is one more output
        rows = self.matrix.rows
        silent = np.full((len(rows), 1), 1 - rate)
        return PairsLaw(Matrix(np.concatenate([rate * rows, silent], axis=1)))

    def worst(self, epsilon: float, users: int) -> PairsLaw:
        return self

    @property
    def reversed(self) -> PairsLaw:
        return self


@dataclass(frozen=True)
class LeadingPairsLaw:
    """Pairs of rows of a large matrix with what the others may hold, as many as are worth a look.

    Which they are depends on the number of users.
    """

    matrix: Matrix
    rate: float = 1.0

    def among(self, users: int) -> ClassLaws:
        rows = self.matrix.rows
        likely = ((pair, _best_others(rows, pair, users)) for pair in _leading_pairs(rows, users))
        laws = ClassLaws.of(chain.from_iterable(_laws(rows, [p], o) for p, o in likely))
        return laws.thinned(self.rate) if self.rate < 1 else laws

    def thinned(self, rate: float) -> LeadingPairsLaw:
        return replace(self, rate=rate * self.rate)

    def worst(self, epsilon: float, users: int) -> ClassLaws:
        return self.among(users).worst(epsilon, users)

    @property
    def reversed(self) -> LeadingPairsLaw:
        return self


def pair_law(u: Array, v: Array, blanket: Array) -> ClassLaw:
    """Classes of outputs with equal probabilities, in a fixed order: equal laws are equal."""
    order = np.lexsort((blanket, v, u))
    classes = np.stack([u, v, blanket])[:, order]
    classes = classes[:, classes[:2].max(axis=0) > 0]
    new = np.append(True, (np.diff(classes) != 0).any(axis=0))
    counts = np.diff(np.append(np.flatnonzero(new), len(new)))
    first, second, third = (tuple(row) for row in (classes[:, new] * counts).tolist())
    return ClassLaw(first, second, third)


def _all_pairs(rows: Array) -> list[Pair]:
    return [(i, j) for i in range(len(rows)) for j in range(i)]


def _laws(rows: Array, pairs: Iterable[Pair], blankets: Iterable[Array]) -> Iterator[ClassLaw]:
    """The laws of these pairs, in both orders, with each of the blankets."""
    for (i, j), blanket in product(pairs, blankets):
        yield pair_law(rows[i], rows[j], blanket)
        yield pair_law(rows[j], rows[i], blanket)


def _leading_pairs(rows: Array, users: int) -> set[Pair]:
    """Pairs of rows that are far apart, and pairs that have the largest losses."""
    largest = rows.max(axis=0)
    used, largest = rows[:, largest > 0], largest[largest > 0]
    # one message in n is as good as no cover
    scaled = used / np.sqrt(used.min(axis=0) + largest / users)
    square = np.sum(scaled**2, axis=1)
    far = np.argsort(-square)[: tuning.MOST_COMPARED]
    apart = square[far, None] + square[far] - 2 * scaled[far] @ scaled[far].T
    i, j = np.triu_indices(len(far), 1)
    chosen = np.argsort(-apart[i, j])[: tuning.LEADING]
    pairs = set(zip(far[i[chosen]].tolist(), far[j[chosen]].tolist(), strict=True))
    columns = np.argsort(used.min(axis=0) / largest)[: tuning.LEADING]
    extremes = used.argmax(axis=0)[columns], used.argmin(axis=0)[columns]
    return pairs | set(zip(*(side.tolist() for side in extremes), strict=True))


def _best_others(rows: Array, pair: Pair, users: int) -> Array:
    """Rows among which two values are well told apart, if all others hold one of them."""
    u, v = rows[pair[0]], rows[pair[1]]
    used = u + v > 0
    cover = rows[:, used] + (u + v)[used] / users
    told = np.sum((u - v)[used] ** 2 / cover, axis=1)
    best: Array = rows[np.argsort(-told)[: tuning.OTHERS]]
    return best
