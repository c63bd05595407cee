"""The few classes of the named randomizers against explicit matrices."""

import math
from fractions import Fraction

import numpy as np
import pytest

from oracles.randomizers import (
    Rows,
    hadamard_response,
    local_hashing,
    subset_selection,
    unary_encoding,
)
from shuffledp import RandomizedResponse, UnaryEncoding
from shuffledp.laws.class_law import ClassLaw, ClassLaws
from shuffledp.randomizers import HadamardResponse, LocalHashing, Randomizer, SubsetSelection


def merged(law: ClassLaw) -> dict[tuple[float, float], float]:
    """Blanket mass by score coordinates (u/blanket, v/blanket)."""
    result: dict[tuple[float, float], float] = {}
    for u, v, w in zip(law.u, law.v, law.blanket, strict=True):
        key = (float(f"{u / w:.9g}"), float(f"{v / w:.9g}"))
        result[key] = result.get(key, 0.0) + w
    return result


E = Fraction(4)
EPS0 = math.log(4)
NAMED: list[tuple[Randomizer, Rows]] = [
    (RandomizedResponse(3, eps0=EPS0), subset_selection(3, 1, E)),
    (RandomizedResponse(5, eps0=EPS0), subset_selection(5, 1, E)),
    (SubsetSelection(5, 2, EPS0), subset_selection(5, 2, E)),
    (SubsetSelection(4, 3, EPS0), subset_selection(4, 3, E)),
    (UnaryEncoding(2, EPS0), unary_encoding(2, Fraction(2))),
    (UnaryEncoding(4, EPS0), unary_encoding(4, Fraction(2))),
    (HadamardResponse(3, EPS0), hadamard_response(3, E)),
    (HadamardResponse(5, EPS0), hadamard_response(5, E)),
    (LocalHashing(3, EPS0), local_hashing(4, 3, E)),
]


@pytest.mark.parametrize(("randomizer", "matrix"), NAMED, ids=lambda value: repr(value)[:30])
def test_laws_of_named_randomizers_against_explicit_matrices(
    randomizer: Randomizer, matrix: Rows
) -> None:
    """The few classes of outputs carry what the whole matrix does, for the first two values."""
    rows = [np.array([float(p) for p in row]) for row in matrix]
    blanket = np.min(rows, axis=0)
    if randomizer.name == "hashing":  # many values: no hash sends all of them to one message
        blanket = np.full(blanket.shape, blanket.min())
    explicit = ClassLaw(tuple(rows[0]), tuple(rows[1]), tuple(blanket))
    law = randomizer.law("blanket")
    assert isinstance(law, ClassLaws)
    ours = merged(law.laws[0])
    assert ours == pytest.approx(merged(explicit), rel=1e-8)
    assert math.fsum(law.laws[0].u) == pytest.approx(1, rel=1e-14)
    homogeneous = [merged(ClassLaw(tuple(rows[0]), tuple(rows[1]), tuple(row))) for row in rows]
    attained = randomizer.attained_law()
    assert isinstance(attained, ClassLaws)
    for one in attained.laws:
        assert any(merged(one) == pytest.approx(other, rel=1e-8) for other in homogeneous)
