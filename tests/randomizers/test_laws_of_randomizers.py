"""The few classes of the named randomizers against explicit matrices."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import (
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.laws.classes import ClassLaw, ClassLaws
from shuffledp.randomizers import Randomizer

Matrix = list[list[Fraction]]


def membership_matrix(outputs: Sequence[Sequence[int]], k: int, ratio: Fraction) -> Matrix:
    """Row x: weight `ratio` for outputs that contain x, 1 for the others, normalized."""
    rows = []
    for x in range(k):
        weights = [ratio if x in y else Fraction(1) for y in outputs]
        rows.append([w / sum(weights) for w in weights])
    return rows


def subsets(k: int, size: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(k), size))


def hadamard_columns(k: int) -> list[tuple[int, ...]]:
    size = 1 << k.bit_length()
    return [
        tuple(x for x in range(k) if (((x + 1) & column).bit_count() % 2 == 0))
        for column in range(size)
    ]


def hashed(k: int, g: int) -> list[tuple[int, ...]]:
    """(hash function, message): the values that are hashed to the message."""
    return [
        tuple(x for x in range(k) if h[x] == y)
        for h in itertools.product(range(g), repeat=k)
        for y in range(g)
    ]


def unary_matrix(k: int, root: Fraction) -> Matrix:
    keep = root / (root + 1)
    rows = []
    for x in range(k):
        row = []
        for bits in itertools.product((0, 1), repeat=k):
            mass = Fraction(1)
            for j, bit in enumerate(bits):
                mass *= keep if bit == (j == x) else 1 - keep
            row.append(mass)
        rows.append(row)
    return rows


def merged(law: ClassLaw) -> dict[tuple[float, float], float]:
    """Blanket mass by score coordinates (u/blanket, v/blanket)."""
    result: dict[tuple[float, float], float] = {}
    for u, v, w in zip(law.u, law.v, law.blanket, strict=True):
        key = (float(f"{u / w:.9g}"), float(f"{v / w:.9g}"))
        result[key] = result.get(key, 0.0) + w
    return result


E = Fraction(4)
EPS0 = math.log(4)
NAMED: list[tuple[Randomizer, Matrix]] = [
    (RandomizedResponse(3, eps0=EPS0), membership_matrix(subsets(3, 1), 3, E)),
    (RandomizedResponse(5, eps0=EPS0), membership_matrix(subsets(5, 1), 5, E)),
    (SubsetSelection(5, 2, EPS0), membership_matrix(subsets(5, 2), 5, E)),
    (SubsetSelection(4, 3, EPS0), membership_matrix(subsets(4, 3), 4, E)),
    (UnaryEncoding(2, EPS0), unary_matrix(2, Fraction(2))),
    (UnaryEncoding(4, EPS0), unary_matrix(4, Fraction(2))),
    (HadamardResponse(3, EPS0), membership_matrix(hadamard_columns(3), 3, E)),
    (HadamardResponse(5, EPS0), membership_matrix(hadamard_columns(5), 5, E)),
    (LocalHashing(3, EPS0), membership_matrix(hashed(4, 3), 4, E)),
]


@pytest.mark.parametrize(("randomizer", "matrix"), NAMED, ids=lambda value: repr(value)[:30])
def test_laws_of_named_randomizers_against_explicit_matrices(
    randomizer: Randomizer, matrix: Matrix
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
