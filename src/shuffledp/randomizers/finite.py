"""Any randomizer with finitely many inputs and outputs, given as a matrix."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from .. import laws
from .._support import validate
from .._support.numeric import Array
from .._support.text import at_most
from ..errors import InvalidParameter
from ..laws.class_law import Law
from .analyses import BINARY, BLANKET, CLONES, STRONGER_CLONES, Analysis
from .base import Randomizer, register
from .exact import ExactMatrix, Fractions
from .parameter import Parameter

if TYPE_CHECKING:
    from ..clients import Client

_SHOWN = 4  # inputs and outputs, at most, of a matrix that is shown in full


class MatrixRandomizer(Randomizer):
    """A randomizer that is known once its probabilities are: subclasses write them down.

    Zeros are allowed: then the randomizer may not be eps0-LDP for any eps0, and only the blanket
    analysis applies.

    Examples
    --------
    >>> from shuffledp import Shuffle
    >>> from shuffledp.randomizers import MatrixRandomizer
    >>> class Coin(MatrixRandomizer):
    ...     def rows(self):
    ...         return [[0.75, 0.25], [0.25, 0.75]]
    >>> Shuffle(Coin(), users=100).get_epsilon(0.01) < 0.2
    True
    """

    task: ClassVar[str] = "count"

    @abstractmethod
    def rows(self) -> Sequence[Sequence[float]]:
        """Probabilities of all outputs, one row per value; rows sum to 1."""

    @cached_property
    def _matrix(self) -> laws.matrix_law.Matrix:
        return laws.matrix_law.Matrix(_scaled(_checked(self.rows())))

    @cached_property
    def eps0(self) -> float:
        """Local epsilon, rounded up; infinite if an output excludes a value."""
        columns = self._matrix.distinct.T
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
        return {**known, **(BINARY if self.binary_law() else {})}

    def binary_law(self) -> laws.binary_law.BinaryLaw | None:
        rows = self._matrix.distinct
        if rows.shape[1] > 2:
            return None
        (not_p, q), (not_q, p) = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
        law = laws.binary_law.BinaryLaw(p, not_p, q, not_q)
        # then nothing was rounded when rows were scaled
        exact = all(Fraction(one) + Fraction(rest) == 1 for one, rest in ((p, not_p), (q, not_q)))
        return replace(law, error=0.0) if exact else law

    def blanket_law(self) -> Law:
        """Law of a message under the privacy blanket (docs/theory/matrices.md)."""
        return laws.matrix_law.blanket_law(self._matrix)

    @property
    def probabilities(self) -> laws.matrix_law.Matrix:
        """Matrix of probabilities, each row scaled to the sum 1."""
        return self._matrix

    @property
    def blanket_key(self) -> Hashable:
        """Number of outputs: a common lower bound is found for any matrices."""
        return int(self._matrix.rows.shape[1])

    def attained_law(self) -> Law:
        return laws.matrix_law.attained_law(self._matrix)

    @cached_property
    def client(self) -> Client:
        from ..clients.matrix_client import MatrixClient

        return MatrixClient(self._matrix.rows)

    def exact(self) -> ExactMatrix:
        def make() -> Fractions:
            rows = [[Fraction(value) for value in row] for row in self._matrix.rows.tolist()]
            return [[value / total for value in row] for row in rows for total in (sum(row),)]

        inputs, outputs = self._matrix.rows.shape
        return ExactMatrix(inputs, outputs, make)

    def describe(self) -> str:
        inputs, outputs = self._matrix.rows.shape
        local = f"{at_most(self.eps0)}-LDP" if math.isfinite(self.eps0) else "not eps0-LDP"
        return f"a matrix of {inputs} inputs and {outputs} outputs, {local}"


def read_matrix(path: str) -> Array:
    """A CSV file with one row of probabilities per value."""
    from .._support.files import read_numbers

    return read_numbers(path, f"matrix {path}")


@register
@dataclass(frozen=True, eq=False, repr=False)
class FiniteRandomizer(MatrixRandomizer):
    """Randomizer given as a row-stochastic matrix.

    Parameters
    ----------
    matrix : array_like
        Shape [values, outputs]: one row of output probabilities per input value, at least 2 x 2;
        lists, an array or a data frame. Entries are 0 or at least 1e-100, and every row sums to 1
        up to 1e-9.

    Raises
    ------
    InvalidParameter
        If it is not such a matrix.

    Examples
    --------
    >>> from shuffledp import FiniteRandomizer
    >>> round(FiniteRandomizer([[0.8, 0.2], [0.3, 0.7]]).eps0, 6)
    1.252763
    """

    name: ClassVar[str] = "matrix"
    also: ClassVar[tuple[str, ...]] = ("csv", "custom")
    example: ClassVar[Mapping[str, Any]] = {"matrix": ((0.75, 0.25), (0.25, 0.75))}

    matrix: Annotated[
        Sequence[Sequence[float]],
        Parameter("CSV file with one row of probabilities per value", read=read_matrix),
    ]
    _unscaled: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rows = _checked(self.matrix)
        scaled = _scaled(rows)
        self._keep("matrix", tuple(tuple(row) for row in scaled.tolist()))
        self._keep("_matrix", laws.matrix_law.Matrix(scaled))
        self._keep("_unscaled", rows)

    @property
    def given(self) -> dict[str, Any]:
        """Rows as they were given: after scaling they may differ."""
        return {"matrix": self._unscaled.tolist()}

    @property
    def reported(self) -> dict[str, Any]:
        shape = list(self._matrix.rows.shape)
        return {"matrix": {"shape": shape, "sha256": self._matrix.digest}}

    def rows(self) -> Sequence[Sequence[float]]:
        return self.matrix

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FiniteRandomizer) and self._matrix == other._matrix

    def __hash__(self) -> int:
        return hash(self._matrix)

    def __repr__(self) -> str:
        short = max(self._matrix.rows.shape) <= _SHOWN
        shown = f"matrix={self.matrix!r}" if short else repr(self._matrix)
        return f"FiniteRandomizer({shown})"


def _checked(matrix: Any) -> Array:
    """The rows, each with the sum 1 or very nearly so."""
    try:  # a data frame, of whatever library, is its array
        rows = [list(row) for row in getattr(matrix, "to_numpy", lambda: matrix)()]
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
        result[number - 1] = values
    return result


def _scaled(rows: Array) -> Array:
    """Each row with the sum 1, and no zero negative."""
    scaled: Array = np.array([row / math.fsum(row) for row in rows]) + 0.0
    return scaled


def _reals(name: str, row: Sequence[Any]) -> Sequence[float]:
    """Finite floats; what is none of the usual numbers is looked at one by one."""
    if {type(value) for value in row} <= {float, np.float64} and np.isfinite(row).all():
        return row
    return [validate.real(name, value) for value in row]
