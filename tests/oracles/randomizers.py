"""Local randomizers written down from their definitions, and random ones, in exact fractions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import prod

import mpmath

Rows = list[list[Fraction]]


def exact_exp(exponent: float | Fraction, digits: int = 90) -> Fraction:
    """e^exponent to `digits` digits, as a fraction."""
    exact = Fraction(exponent)
    with mpmath.workdps(digits + 10):
        value = mpmath.exp(mpmath.mpf(exact.numerator) / exact.denominator)
        mantissa, power = int(value.man), int(value.exp)  # of a positive number
        return Fraction(mantissa) * Fraction(2) ** power


def exact_rows(matrix: Sequence[Sequence[float]]) -> Rows:
    """The floats of a matrix, bit for bit, every row divided by its exact sum."""
    rows = [[Fraction(value) for value in row] for row in matrix]
    return [[value / sum(row) for value in row] for row in rows]


def randomized_response(k: int, gamma: Fraction) -> Rows:
    """With probability gamma a uniform value, otherwise the own one."""
    return [[gamma / k + (1 - gamma) * (x == y) for y in range(k)] for x in range(k)]


def likelier(outputs: Sequence[Sequence[int]], k: int, ratio: Fraction) -> Rows:
    """An output that contains the own value is `ratio` times as likely as one that does not."""
    rows = []
    for x in range(k):
        weights = [ratio if x in output else Fraction(1) for output in outputs]
        rows.append([weight / sum(weights) for weight in weights])
    return rows


def subset_selection(k: int, size: int, ratio: Fraction) -> Rows:
    return likelier(list(combinations(range(k), size)), k, ratio)


def hadamard_response(k: int, ratio: Fraction) -> Rows:
    """Value x owns the columns at which row x + 1 of the Sylvester matrix is positive."""
    size = 1
    while size <= k:
        size *= 2
    rows = [[1]]
    while len(rows) < size:
        rows = [[*row, *row] for row in rows] + [[*row, *(-sign for sign in row)] for row in rows]
    return likelier([[x for x in range(k) if rows[x + 1][y] > 0] for y in range(size)], k, ratio)


def local_hashing(k: int, g: int, ratio: Fraction) -> Rows:
    """A uniformly random function from the k values to g, and g-ary response on the hash."""
    functions = list(product(range(g), repeat=k))
    low = 1 / (ratio + g - 1)
    return [
        [(ratio if h[x] == y else 1) * low / len(functions) for h in functions for y in range(g)]
        for x in range(k)
    ]


def unary_encoding(k: int, root: Fraction) -> Rows:
    """k bits, that of the value set; each is kept with probability root / (root + 1)."""
    keep, rows = root / (root + 1), []
    for x in range(k):
        row = []
        for bits in product((0, 1), repeat=k):
            mass = Fraction(1)
            for j, bit in enumerate(bits):
                mass *= keep if bit == int(j == x) else 1 - keep
            row.append(mass)
        rows.append(row)
    return rows


def ldp_vertex(inputs: int, ratio: Fraction, rng: random.Random) -> Rows:
    """A random vertex of the LDP polytope: every column is a multiple of a vector of 1 and E.

    `inputs` patterns with a common solution c >= 0 of sum over y of c_y pattern_y(x) = 1 for all x.
    """
    while True:
        patterns = [
            [rng.choice((Fraction(1), ratio)) for _ in range(inputs)] for _ in range(inputs)
        ]
        scale = _solve(patterns)
        if scale is not None and min(scale) >= 0 and sum(c > 0 for c in scale) > 1:
            kept = [y for y in range(inputs) if scale[y] > 0]
            return [[scale[y] * patterns[y][x] for y in kept] for x in range(inputs)]


def either_of(first: Rows, second: Rows, weight: Fraction) -> Rows:
    """A coin that everybody sees decides between two randomizers; columns are kept apart."""
    return [
        [*(weight * p for p in a), *((1 - weight) * p for p in b)]
        for a, b in zip(first, second, strict=True)
    ]


def bundled(*questions: Rows) -> Rows:
    """All answers in one message: a row for each combination of values, in order."""
    return [
        [prod(answers, start=Fraction(1)) for answers in product(*rows)]
        for rows in product(*questions)
    ]


def one_of(weights: Sequence[int], *questions: Rows) -> Rows:
    """One question, drawn at random: its messages are not those of any other."""
    total = sum(weights)
    return [
        [Fraction(w, total) * y for w, row in zip(weights, rows, strict=True) for y in row]
        for rows in product(*questions)
    ]


def random_rows(inputs: int, outputs: int, rng: random.Random, zeros: bool) -> Rows:
    """Rows of small whole numbers, normalized; `zeros` allows outputs that exclude a value."""
    rows = []
    for _ in range(inputs):
        row = [rng.randint(0 if zeros else 1, 9) for _ in range(outputs)]
        row[0] += 1
        rows.append([Fraction(value, sum(row)) for value in row])
    return rows


def _solve(patterns: Sequence[Sequence[Fraction]]) -> list[Fraction] | None:
    """c with sum over y of c_y patterns[y][x] = 1 for all x, by elimination; None if singular."""
    size = len(patterns)
    rows = [[*(patterns[y][x] for y in range(size)), Fraction(1)] for x in range(size)]
    for i in range(size):
        pivot = next((r for r in range(i, size) if rows[r][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(size):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]
