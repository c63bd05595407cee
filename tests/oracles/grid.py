"""Many mechanisms, all their datasets, many alphas at once: floats look, fractions decide.

A batch of randomizers of one shape is enumerated in double precision, each divergence with a
bound of its rounding error. Where a claim is out of reach of that error the floats decide that it
holds; every other cell is decided in exact arithmetic, and only exact arithmetic can fail a claim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations_with_replacement, permutations

import numpy as np
from numpy.typing import NDArray

from .randomizers import Rows, exact_exp

Floats = NDArray[np.float64]
_UNIT = 2.0**-53


@dataclass(frozen=True)
class Broken:
    """A claim that exact arithmetic refutes."""

    what: str  # "upper below the truth" or "attained above the truth"
    case: int
    epsilon: float
    claimed: float
    truth: float
    others: tuple[int, ...]
    values: tuple[int, int]


@dataclass(frozen=True)
class Verdict:
    cells: int  # (mechanism, pair of neighbouring datasets, alpha)
    exact: int  # decided in fractions
    broken: list[Broken]


def _histograms(users: int, outputs: int) -> list[tuple[int, ...]]:
    return [
        tuple(chosen.count(y) for y in range(outputs))
        for chosen in combinations_with_replacement(range(outputs), users)
    ]


@cache
def _gathers(users: int, outputs: int) -> list[NDArray[np.intp]]:
    """For each number of users the index of `histogram minus one y`, -1 where there is none."""
    gathers, before = [], {(0,) * outputs: 0}
    for level in range(1, users + 1):
        now = _histograms(level, outputs)
        gathers.append(
            np.array(
                [
                    [before.get((*h[:y], h[y] - 1, *h[y + 1 :]), -1) for y in range(outputs)]
                    for h in now
                ]
            )
        )
        before = {h: i for i, h in enumerate(now)}
    return gathers


def _add(laws: Floats, rows: Floats, gather: NDArray[np.intp]) -> Floats:
    """laws [batch, histograms] and one more user with rows [batch, outputs]."""
    padded = np.concatenate([laws, np.zeros((len(laws), 1))], axis=1)  # index -1 is the zero
    result: Floats = np.einsum("bhy,by->bh", padded[:, gather], rows)
    return result


def profiles(
    matrices: Floats, users: int, epsilons: Floats
) -> tuple[Floats, Floats, list[tuple[tuple[int, ...], tuple[int, int]]]]:
    """(divergences, error bounds, datasets): [batch, datasets, epsilons] in double precision.

    matrices: [batch, inputs, outputs]; epsilons: [batch, number]. A dataset is the others' values
    and the ordered pair of values of the user in question.
    """
    inputs, outputs = matrices.shape[1:]
    gathers, names, values, errors = _gathers(users, outputs), [], [], []
    alpha = np.exp(epsilons)[:, :, None]
    unit = 4 * (3 * users + outputs + 8) * _UNIT  # products, sums and exp, with room
    for others in combinations_with_replacement(range(inputs), users - 1):
        law = np.ones((len(matrices), 1))
        for level, x in enumerate(others):
            law = _add(law, matrices[:, x], gathers[level])
        ends = [_add(law, matrices[:, x], gathers[users - 1])[:, None, :] for x in range(inputs)]
        for i, j in permutations(range(inputs), 2):
            gain, loss = ends[i], alpha * ends[j]
            near = gain * (1 + unit) > loss * (1 - unit)
            values.append(np.maximum(gain - loss, 0.0).sum(axis=2))
            errors.append(unit * np.where(near, gain + loss, 0.0).sum(axis=2) + 1e-300)
            names.append((others, (i, j)))
    return np.stack(values, axis=1), np.stack(errors, axis=1), names


class Exact:
    """Divergences of one randomizer in whole numbers: all probabilities over one denominator."""

    def __init__(self, rows: Rows, users: int) -> None:
        self._unit = math.lcm(*(p.denominator for row in rows for p in row))
        self._rows = np.array([[int(p * self._unit) for p in row] for row in rows], dtype=object)
        self._gathers = _gathers(users, len(rows[0]))
        self._total = self._unit**users
        self._laws: dict[tuple[int, ...], NDArray[np.object_]] = {}
        self._known: dict[tuple[tuple[int, ...], tuple[int, int], float], Fraction] = {}

    def _law(self, values: tuple[int, ...]) -> NDArray[np.object_]:
        """Masses of all histograms, times unit ** len(values)."""
        if not values:
            return np.array([1], dtype=object)
        if values not in self._laws:
            padded = np.append(self._law(values[1:]), 0)[self._gathers[len(values) - 1]]
            self._laws[values] = (padded * self._rows[values[0]]).sum(axis=1)
        return self._laws[values]

    def divergence(
        self, others: tuple[int, ...], values: tuple[int, int], epsilon: float
    ) -> Fraction:
        """A lower bound that is exact to 80 digits: alpha = e^epsilon is rounded up there."""
        asked = (others, values, epsilon)
        if asked not in self._known:  # several analyses have the same epsilons
            self._known[asked] = self._divergence(others, values, _rounded_up_exp(epsilon))
        return self._known[asked]

    def _divergence(
        self, others: tuple[int, ...], values: tuple[int, int], alpha: Fraction
    ) -> Fraction:
        gain, loss = (self._law((x, *others)) for x in values)
        excess = gain * alpha.denominator - loss * alpha.numerator
        return Fraction(int(excess[excess > 0].sum()), self._total * alpha.denominator)


@lru_cache(maxsize=100)
def _referee(rows: tuple[tuple[Fraction, ...], ...], users: int) -> Exact:
    return Exact([list(row) for row in rows], users)


@cache
def _rounded_up_exp(epsilon: float) -> Fraction:
    return exact_exp(epsilon) * (1 + Fraction(1, 10**80)) if epsilon else Fraction(1)


def judge(
    cases: Sequence[Rows],
    users: int,
    epsilons: Floats,
    upper: Floats,
    attained: Floats | None = None,
) -> Verdict:
    """Compare claims with the truth: upper >= it on every dataset, attained <= its supremum.

    cases are exact matrices of one shape; epsilons, upper and attained are [case, number].
    """
    matrices = np.array([[[float(p) for p in row] for row in rows] for rows in cases])
    values, errors, names = profiles(matrices, users, epsilons)
    broken, exact = [], 0
    referees = [_referee(tuple(map(tuple, rows)), users) for rows in cases]
    # negated, so that a claim that is not a number does not hold either
    doubtful = ~(values + errors <= upper[:, None, :])
    for case, dataset, number in np.argwhere(doubtful).tolist():
        epsilon, claimed = float(epsilons[case, number]), float(upper[case, number])
        truth = referees[case].divergence(*names[dataset], epsilon)
        exact += 1
        if not (claimed == claimed and truth <= Fraction(claimed)):
            what = "upper below the truth"
            broken.append(Broken(what, case, epsilon, claimed, float(truth), *names[dataset]))
    if attained is not None:
        doubtful = ~((values - errors).max(axis=1) >= attained)
        for case, number in np.argwhere(doubtful).tolist():
            epsilon, claimed = float(epsilons[case, number]), float(attained[case, number])
            near = np.flatnonzero(
                (values + errors)[case, :, number] >= (values - errors)[case, :, number].max()
            )
            truths = {d: referees[case].divergence(*names[d], epsilon) for d in near.tolist()}
            best = max(truths, key=lambda d: truths[d])
            exact += len(truths)
            # the reference rounds alpha up by 1e-80, which lowers the truth by as much
            if not Fraction(claimed) <= truths[best] + Fraction(1, 10**70):
                what = "attained above the truth"
                found = Broken(what, case, epsilon, claimed, float(truths[best]), *names[best])
                broken.append(found)
    return Verdict(values.size, exact, broken)
