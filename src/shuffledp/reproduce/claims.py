"""Claims of the paper that fail, each with a case small enough for exact fractions.

Every row has what the paper's formula gives, what is true, and whether the formula is an upper
bound there. Nothing here uses the accountants: the mechanisms are enumerated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

from .result import Result, Settings

Law = dict[tuple[int, ...], Fraction]
ZERO = Fraction(0)


def count_curves(settings: Settings) -> int:
    return 0


def run(settings: Settings) -> Result:
    rows = [
        *_point_masses(),
        *_truncation(),
        *_randomized_response(4, 3, Fraction(1, 2), Fraction(3, 2)),
        *_randomized_response(10, 2, Fraction(3, 4), Fraction(8, 5)),
        _subsampling(),
    ]
    caption = "exact fractions, replace-one"
    return Result("claims", "Claims of the paper in small cases", caption, {}, [], {"claims": rows})


def row(claim: str, case: str, formula: Fraction, truth: Fraction, holds: str) -> dict[str, Any]:
    return {
        "claim": claim,
        "case": case,
        "formula": float(formula),
        "truth": float(truth),
        "formula_exact": str(formula),
        "truth_exact": str(truth),
        "verdict": holds,
    }


def _binomial(n: int, p: Fraction, j: int) -> Fraction:
    return comb(n, j) * p**j * (1 - p) ** (n - j) if 0 <= j <= n else ZERO


def _point_masses() -> list[dict[str, Any]]:
    """Lemma 10 has two formulas for P0 = (A, C-A+1); n = 3, e^eps0 = 3, the delta of each."""
    n, p, q, alpha = 3, Fraction(1, 3), Fraction(3, 4), Fraction(3, 2)
    printed = right = ZERO
    for a, b in product(range(1, n + 1), range(n)):  # losses > 0 need a >= 1
        c = a + b - 1
        if c > n - 1:
            continue
        one = _binomial(n - 1, p, c) * Fraction(comb(c, a - 1), 2**c)  # P1(a, b)
        ratio = (q * a + (1 - q) * b) / ((1 - q) * a + q * b)  # Lemma 9
        weight = max(1 - alpha / ratio, ZERO)
        printed += weight * (q + (1 - q) * p / (1 - p) * Fraction(n - a - b, 2 * a)) * one
        right += weight * (q + (1 - q) * Fraction(b, a)) * one
    return [
        row("Lemma 10: delta with P0 as printed", "n=3, e^eps0=3, e^eps=3/2", printed, right,
            "does not hold: P0(a,b) = (b/a) P1(a,b) instead"),
    ]  # fmt: skip


def _truncation() -> list[dict[str, Any]]:
    """Lemma 11 keeps (j+1, i-j), j >= 0: never the outcomes (0, b), whatever tau is."""
    n, ratio = 10, Fraction(50)
    p, rest = 1 / ratio, 1 / (ratio + 1)
    neglected = sum((_binomial(n - 1, p, c) / 2**c * rest for c in range(n)), ZERO)
    return [
        row("Lemma 11: neglected mass <= tau = 1e-12", "n=10, e^eps0=50", Fraction(1, 10**12),
            neglected, "holds with one more outcome in each row"),
    ]  # fmt: skip


def _randomized_response(
    n: int, k: int, gamma: Fraction, alpha: Fraction
) -> Iterable[dict[str, Any]]:
    """Theorems 13 and 16 for one round against the true divergences and the mechanism itself."""
    share = gamma / k
    case = f"n={n}, k={k}, gamma={gamma}, e^eps={alpha}"
    true_strong, true_weak, reached = _true_divergences(n, k, gamma, alpha)
    strong = sum(
        (_binomial(n - 1, share, i) * _binomial(n - 1, share, j)
         for i, j in product(range(n), repeat=2) if i + 1 >= alpha * j), ZERO,
    )  # fmt: skip
    independent = ZERO
    for b in range(n):
        one = _plus_coin([_binomial(b, Fraction(1, k), j) for j in range(b + 1)], 1 - gamma + share)
        two = _plus_coin([_binomial(b, Fraction(1, k), j) for j in range(b + 1)], share)
        for i, j in product(range(b + 2), repeat=2):
            if i * (1 - gamma) + share * (b + 1) >= alpha * (j * (1 - gamma) + share * (b + 1)):
                independent += _binomial(n - 1, gamma, b) * one[i] * two[j]
    yield row("Theorem 13: delta of A_s", case, strong, true_strong, _verdict(strong, true_strong))
    yield row("Theorem 16: delta of A_w, counts independent as printed", case, independent,
              true_weak, _verdict(independent, true_weak))  # fmt: skip
    yield row("the same, against actual datasets", case, independent, reached,
              _verdict(independent, reached))  # fmt: skip


def _verdict(formula: Fraction, truth: Fraction) -> str:
    return (
        "not tight, an upper bound here" if formula >= truth else "does not hold: below the truth"
    )


def _plus_coin(law: Sequence[Fraction], p: Fraction) -> list[Fraction]:
    return [a * (1 - p) + b * p for a, b in zip([*law, ZERO], [ZERO, *law], strict=True)]


def _true_divergences(
    n: int, k: int, gamma: Fraction, alpha: Fraction
) -> tuple[Fraction, Fraction, Fraction]:
    """Hockey-stick divergences of the views of A_s and A_w, and of datasets (1..1, x)."""
    share = gamma / k
    uniform = [Fraction(1, k)] * k
    answers = [[share + (1 - gamma) * (x == y) for y in range(k)] for x in range(k)]
    strong = weak = ZERO
    others: Law = {(0,) * k: Fraction(1)}  # counts of b random answers
    for b in range(n):
        chance = _binomial(n - 1, gamma, b)
        views = [_add(others, answers[x]) for x in (0, 1)]
        weak += chance * _hockey(views[0], views[1], alpha)
        # told that the user answered truthfully (otherwise nothing can be learnt)
        exact = [_add(others, [Fraction(int(x == y)) for y in range(k)]) for x in (0, 1)]
        strong += chance * (1 - gamma) * _hockey(exact[0], exact[1], alpha)
        others = _add(others, uniform)
    reached = ZERO
    for x in range(min(k, 3)):
        law: Law = {(0,) * k: Fraction(1)}
        for _ in range(n - 1):
            law = _add(law, answers[x])
        reached = max(reached, _hockey(_add(law, answers[0]), _add(law, answers[1]), alpha))
    return strong, weak, reached


def _add(law: Law, answer: Sequence[Fraction]) -> Law:
    result: Law = {}
    for counts, mass in law.items():
        for y, p in enumerate(answer):
            if p:
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                result[key] = result.get(key, ZERO) + mass * p
    return result


def _hockey(p: Law, q: Law, alpha: Fraction) -> Fraction:
    return sum((max(mass - alpha * q.get(y, ZERO), ZERO) for y, mass in p.items()), ZERO)


def _subsampling() -> dict[str, Any]:
    """Section 3.4: one of two users sends, 2-RR with e^eps0 = 3, two rounds, e^eps = 11/10.

    The differing user holds 0 or 1, the other 1: the output laws are (1/2, 1/2) and (1/4, 3/4),
    exactly (gamma P + (1-gamma) Q, Q). The other order of the two datasets is the worse one.
    """
    mixed, q = (Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4))
    mixed_twice, q_twice = _twice(mixed), _twice(q)
    alpha = Fraction(11, 10)
    formula, reverse = _hockey(mixed_twice, q_twice, alpha), _hockey(q_twice, mixed_twice, alpha)
    case = "n=2, gamma=1/2, 2-RR, e^eps0=3, n_c=2, e^eps=11/10"
    return row("Section 3.4: (gamma P + (1-gamma) Q, Q) dominates compositions", case, formula,
               max(formula, reverse), "does not hold: the other order is worse")  # fmt: skip


def _twice(law: Sequence[Fraction]) -> Law:
    return {(x, y): law[x] * law[y] for x, y in product((0, 1), repeat=2)}
