"""Any randomizer with finitely many inputs and outputs, given as a matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from ..errors import InvalidParameter
from ..profile import ClassProfile, RoundProfile
from ..scores import ClassLaw
from .base import BLANKET, CLONES, STRONGER_CLONES, Analysis
from .pure_ldp import clone_profile


@dataclass(frozen=True)
class FiniteRandomizer:
    """A row-stochastic matrix: one row of output probabilities for each input value.

    Zeros are allowed: then the randomizer may not be eps0-LDP for any eps0, and only the blanket
    analysis applies.

    >>> from shuffledp import FiniteRandomizer
    >>> round(FiniteRandomizer([[0.8, 0.2], [0.3, 0.7]]).eps0, 6)
    1.252763
    """

    matrix: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _checked(self.matrix))

    @property
    def name(self) -> str:
        return "matrix"

    @property
    def eps0(self) -> float:
        """The local epsilon, rounded up; infinite if an output excludes a value."""
        columns = np.array(self.matrix).T
        used = columns[columns.max(axis=1) > 0]
        if (used == 0).any():
            return math.inf
        ratio = float((used.max(axis=1) / used.min(axis=1)).max())
        # entries and ratio err by five units, relatively, and the logarithm by its own rounding
        return math.log(ratio) * (1 + 2.0**-50) + 2.0**-50

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        known = {"best": BLANKET, "blanket": BLANKET}
        if _validate.MIN_EPS0 <= self.eps0 <= _validate.MAX_EPS0:
            known |= {"stronger-clones": STRONGER_CLONES, "clones": CLONES}
        return known

    def profile(self, analysis: str, users: int) -> RoundProfile:
        chosen = self.analyses[analysis]
        if chosen is BLANKET:
            return ClassProfile(self._laws([np.array(self.matrix).min(axis=0)]), users)
        return clone_profile(chosen, self.eps0, users)

    def attained(self, users: int) -> RoundProfile:
        """The others hold any one value."""
        return ClassProfile(self._laws(list(np.array(self.matrix))), users)

    def _laws(self, blankets: Sequence[NDArray[Any]]) -> tuple[ClassLaw, ...]:
        """One law for each ordered pair of values and blanket; equal ones once."""
        rows = np.array(self.matrix)
        laws = {
            _law(u, v, blanket)
            for blanket in blankets
            for i, u in enumerate(rows)
            for j, v in enumerate(rows)
            if i != j
        }
        return tuple(sorted(laws, key=lambda law: (law.u, law.v, law.blanket)))

    def describe(self) -> str:
        inputs, outputs = len(self.matrix), len(self.matrix[0])
        local = f"{self.eps0:g}-LDP" if math.isfinite(self.eps0) else "not eps0-LDP"
        return f"a matrix of {inputs} inputs and {outputs} outputs, {local}"


def _law(u: NDArray[Any], v: NDArray[Any], blanket: NDArray[Any]) -> ClassLaw:
    """Classes of outputs in a fixed order, so that equal laws are equal values."""
    triples = sorted(zip(u.tolist(), v.tolist(), blanket.tolist(), strict=True))
    triples = [t for t in triples if t[0] > 0 or t[1] > 0]
    first, second, third = (tuple(column) for column in zip(*triples, strict=True))
    return ClassLaw(first, second, third)


def _checked(matrix: Any) -> tuple[tuple[float, ...], ...]:
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        shown = _validate.show(matrix)
        raise InvalidParameter(f"matrix={shown} is not a list of rows; give one.") from None
    if len(rows) < 2 or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        raise InvalidParameter(
            f"matrix has {len(rows)} rows of lengths {sorted({len(row) for row in rows})}; give at "
            "least two rows of the same length >= 2."
        )
    result = []
    for number, row in enumerate(rows, start=1):
        values = [_validate.real(f"matrix row {number}", value) for value in row]
        total = math.fsum(values)
        if min(values) < 0 or abs(total - 1) > 1e-9:
            raise InvalidParameter(
                f"matrix row {number} sums to {total:.12g} with least entry {min(values):g}; give "
                "probabilities >= 0 with sum 1."
            )
        if any(0 < value < 1e-100 for value in values):
            raise InvalidParameter(
                f"matrix row {number} has an entry below 1e-100; give 0 or a larger probability."
            )
        result.append(tuple(value / total for value in values))
    return tuple(result)
