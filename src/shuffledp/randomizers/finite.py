"""Any randomizer with finitely many inputs and outputs, given as a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ..errors import InvalidParameter
from ..laws.classes import ClassLaw
from ..profiles.matrix import Matrix, PairsProfile, pair_law
from ..profiles.rounds import ClassProfile, NothingLost, RoundProfile
from .base import BLANKET, CLONES, STRONGER_CLONES, Analysis
from .pure_ldp import clone_profile

_FEW_INPUTS = 12  # of so few, all pairs are evaluated, and for attained values all triples
_LEADING = 16  # of more, so many pairs that are far apart and so many of the largest losses
_OTHERS = 3  # values that the others may hold, tried for each of these
_MOST_COMPARED = 2000  # rows of which all pairs are compared
_SHOWN = 4  # inputs and outputs, at most, of a matrix that is shown in full


@dataclass(frozen=True, eq=False, repr=False)
class FiniteRandomizer:
    """A row-stochastic matrix: one row of output probabilities for each input value.

    Zeros are allowed: then the randomizer may not be eps0-LDP for any eps0, and only the blanket
    analysis applies.

    >>> from shuffledp import FiniteRandomizer
    >>> round(FiniteRandomizer([[0.8, 0.2], [0.3, 0.7]]).eps0, 6)
    1.252763
    """

    matrix: Sequence[Sequence[float]]
    _values: Matrix = field(init=False)

    def __post_init__(self) -> None:
        rows = _checked(self.matrix)
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in rows.tolist()))
        object.__setattr__(self, "_values", Matrix(rows))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FiniteRandomizer) and self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        short = max(self._values.rows.shape) <= _SHOWN
        shown = f"matrix={self.matrix!r}" if short else repr(self._values)
        return f"FiniteRandomizer({shown})"

    @property
    def name(self) -> str:
        return "matrix"

    @cached_property
    def eps0(self) -> float:
        """The local epsilon, rounded up; infinite if an output excludes a value."""
        columns = self._distinct.T
        used = columns[columns.max(axis=1) > 0]
        if used.shape[1] == 1:
            return 0.0
        if (used == 0).any():
            return math.inf
        ratio = float((used.max(axis=1) / used.min(axis=1)).max())
        # entries and ratio err by five units, relatively, and the logarithm by its own rounding
        return math.log(ratio) * (1 + 2.0**-50) + 2.0**-50

    @cached_property
    def analyses(self) -> Mapping[str, Analysis]:
        known = {"best": BLANKET, "blanket": BLANKET}
        if validate.MIN_EPS0 <= self.eps0 <= validate.MAX_EPS0:
            known |= {"stronger-clones": STRONGER_CLONES, "clones": CLONES}
        return known

    def profile(self, analysis: str, users: int) -> RoundProfile:
        chosen = self.analyses[analysis]
        if chosen is not BLANKET:
            return clone_profile(chosen, self.eps0, users)
        rows = self._distinct
        if len(rows) == 1:
            return NothingLost()
        if len(rows) > _FEW_INPUTS:
            return PairsProfile(Matrix(rows), users)
        return _largest(_laws(rows, _all_pairs(rows), [rows.min(axis=0)]), users)

    def attained(self, users: int) -> RoundProfile:
        """The others hold any one value."""
        rows = self._distinct
        if len(rows) == 1:
            return NothingLost()
        if len(rows) <= _FEW_INPUTS:
            return _largest(_laws(rows, _all_pairs(rows), rows), users)
        likely = ((pair, _best_others(rows, pair, users)) for pair in _leading_pairs(rows, users))
        return _largest(
            chain.from_iterable(_laws(rows, [p], others) for p, others in likely), users
        )

    @cached_property
    def _distinct(self) -> Array:
        """Each row once."""
        rows: Array = np.unique(self._values.rows, axis=0)
        return rows

    def describe(self) -> str:
        inputs, outputs = self._values.rows.shape
        local = f"{self.eps0:g}-LDP" if math.isfinite(self.eps0) else "not eps0-LDP"
        return f"a matrix of {inputs} inputs and {outputs} outputs, {local}"


Pair = tuple[int, int]


def _all_pairs(rows: Array) -> list[Pair]:
    return [(i, j) for i in range(len(rows)) for j in range(i)]


def _leading_pairs(rows: Array, users: int) -> set[Pair]:
    """Pairs of rows that are far apart, and pairs that have the largest losses."""
    largest = rows.max(axis=0)
    used, largest = rows[:, largest > 0], largest[largest > 0]
    # one message in n is as good as no cover
    scaled = used / np.sqrt(used.min(axis=0) + largest / users)
    square = np.sum(scaled**2, axis=1)
    far = np.argsort(-square)[:_MOST_COMPARED]
    apart = square[far, None] + square[far] - 2 * scaled[far] @ scaled[far].T
    i, j = np.triu_indices(len(far), 1)
    chosen = np.argsort(-apart[i, j])[:_LEADING]
    pairs = set(zip(far[i[chosen]].tolist(), far[j[chosen]].tolist(), strict=True))
    columns = np.argsort(used.min(axis=0) / largest)[:_LEADING]
    extremes = used.argmax(axis=0)[columns], used.argmin(axis=0)[columns]
    return pairs | set(zip(*(side.tolist() for side in extremes), strict=True))


def _best_others(rows: Array, pair: Pair, users: int) -> Array:
    """Rows among which two values are well told apart, if all others hold one of them."""
    u, v = rows[pair[0]], rows[pair[1]]
    used = u + v > 0
    cover = rows[:, used] + (u + v)[used] / users
    told = np.sum((u - v)[used] ** 2 / cover, axis=1)
    best: Array = rows[np.argsort(-told)[:_OTHERS]]
    return best


def _largest(laws: Iterable[ClassLaw], users: int) -> ClassProfile:
    """The largest over these laws; equal ones once, in a fixed order."""
    ordered = sorted(set(laws), key=lambda law: (law.u, law.v, law.blanket))
    return ClassProfile(tuple(ordered), users)


def _laws(rows: Array, pairs: Iterable[Pair], blankets: Iterable[Array]) -> Iterator[ClassLaw]:
    """The laws of these pairs, in both orders, with each of the blankets."""
    for (i, j), blanket in product(pairs, blankets):
        yield pair_law(rows[i], rows[j], blanket)
        yield pair_law(rows[j], rows[i], blanket)


def _checked(matrix: Any) -> Array:
    """The rows, each scaled to the sum 1."""
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        shown = validate.show(matrix)
        raise InvalidParameter(f"matrix={shown} is not a list of rows; give one.") from None
    if len(rows) < 2 or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        raise InvalidParameter(
            f"matrix has {len(rows)} rows of lengths {sorted({len(row) for row in rows})}; give at "
            "least two rows of the same length >= 2."
        )
    result = np.empty((len(rows), len(rows[0])))
    for number, row in enumerate(rows, start=1):
        values = np.array(_reals(f"matrix row {number}", row))
        total = math.fsum(values)
        if values.min() < 0 or abs(total - 1) > 1e-9:
            raise InvalidParameter(
                f"matrix row {number} sums to {total:.12g} with least entry {values.min():g}; give "
                "probabilities >= 0 with sum 1."
            )
        if ((values > 0) & (values < 1e-100)).any():
            raise InvalidParameter(
                f"matrix row {number} has an entry below 1e-100; give 0 or a larger probability."
            )
        result[number - 1] = values / total + 0.0  # and no zero is negative
    return result


def _reals(name: str, row: Sequence[Any]) -> Sequence[float]:
    """Finite floats; what is none of the usual numbers is looked at one by one."""
    if {type(value) for value in row} <= {float, np.float64} and np.isfinite(row).all():
        return row
    return [validate.real(name, value) for value in row]
