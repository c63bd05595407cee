"""Few users: neighbouring datasets in which the others hold two different values, enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from .._support.numeric import Array
from .classes import ClassLaw


def mixed_laws(rows: Sequence[Sequence[float]], users: int) -> tuple[ClassLaw, ...]:
    """Laws of the shuffled messages if the first user holds value 0 or 1 and the others two values.

    rows: for each value, the probabilities of its classes of outputs. The classes of the laws are
    the possible counts of messages; no blanket is used, so their divergence is the datasets'.
    """
    laws = []
    values = [np.array(row) for row in rows]
    for a, b in combinations(values, 2):
        first = [_none(users, len(a))]  # counts of the messages of m users with the value of a
        for _ in range(users - 1):
            first.append(_joined(first[-1], a))
        for m in range(1, users - 1):
            others = first[m]
            for _ in range(users - 1 - m):
                others = _joined(others, b)
            u, v = (_joined(others, values[x]).ravel() for x in (0, 1))
            some = u + v > 0
            error = 4 * users * 2.0**-53  # a product and two sums of positive numbers a user
            blanket = (0.0,) * int(some.sum())
            laws.append(ClassLaw(tuple(u[some].tolist()), tuple(v[some].tolist()), blanket, error))
    return tuple(laws)


def _none(users: int, classes: int) -> Array:
    """Nobody has sent anything: [count of class 1, count of class 2, ...]; class 0 is the rest."""
    counts = np.zeros((users + 1,) * (classes - 1))
    counts[(0,) * (classes - 1)] = 1.0
    return counts


def _joined(counts: Array, row: Array) -> Array:
    """One more user's message, with these probabilities of the classes."""
    total: Array = row[0] * counts
    for axis, probability in enumerate(row[1:]):
        # nobody is ever at the last count before the last user has sent
        total += probability * np.roll(counts, 1, axis=axis)
    return total
