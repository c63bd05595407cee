"""Laws of sums on a lattice against convolutions in exact fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest

from shuffledp.engines.tilted_lattice import convolve


def exact_sum(parts: list[tuple[list[Fraction], int]], points: int) -> list[Fraction]:
    """The masses of the sum modulo the number of points, one variable at a time."""
    law = [Fraction(1)] + [Fraction(0)] * (points - 1)
    for masses, count in parts:
        for _ in range(count):
            law = [
                sum((law[i] * masses[(j - i) % points] for i in range(points)), Fraction(0))
                for j in range(points)
            ]
    return law


@pytest.mark.parametrize("points", [4, 7, 12])
@pytest.mark.parametrize("counts", [(1,), (2,), (9,), (3, 5), (1, 1, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_every_mass_and_the_norm_of_the_errors(
    points: int, counts: tuple[int, ...], seed: int
) -> None:
    draw = random.Random(f"lattice {points} {counts} {seed}")
    rows = 2
    laws: list[list[list[Fraction]]] = []
    for _ in counts:
        weights = [[2.0 ** -draw.randrange(0, 60) for _ in range(points)] for _ in range(rows)]
        laws.append([[Fraction(w / sum(row) * (1 - 1e-12)) for w in row] for row in weights])
    found = convolve(
        [
            (np.array([[float(p) for p in row] for row in law]), count)
            for law, count in zip(laws, counts, strict=True)
        ]
    )
    for row in range(rows):
        parts = [(law[row], count) for law, count in zip(laws, counts, strict=True)]
        truth = exact_sum(parts, points)
        off = [abs(Fraction(m) - t) for m, t in zip(found.masses[row].tolist(), truth, strict=True)]
        assert max(off) <= found.error[row] < 1e-12
        assert float(sum(x * x for x in off)) <= found.norm_error[row] ** 2
        factors = [Fraction(draw.random()) for _ in range(points)]
        total, norm = float(sum(factors)), float(sum(w * w for w in factors)) ** 0.5
        wrong = sum(w * x for w, x in zip(factors, off, strict=True))
        assert wrong <= found.error_of_sum(np.array([total]), np.array([norm]))[row]
