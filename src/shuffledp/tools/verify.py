"""Hold our bounds against the truth: a small round is enumerated exactly, on every dataset.

The enumeration shares nothing with the code that computes bounds. Probabilities are whole numbers
over a common denominator; e^epsilon is bracketed by fractions that agree to 60 digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from typing import Any, NamedTuple

from .._support import validate
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import html_table
from .._support.text import rounded_down, rounded_up, wrapped
from ..errors import InvalidParameter, OutOfRange
from ..guarantee import DEFAULT_RTOL, Many, anyway
from ..randomizers import Randomizer
from ..randomizers.exact import ExactMatrix, Fractions, exp_bracket
from ..shuffle import Shuffle

#: Steps of the enumeration that are accepted: some ten seconds.
MOST_STEPS = 30_000_000
MOST_USERS, MOST_VALUES = 60, 5000

_HEAD = ("epsilon", "attained", "truth", "lower", "upper", "verdict")
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


class VerifiedRow(NamedTuple):
    """One epsilon: attained <= truth <= upper is to hold."""

    epsilon: float
    truth: float  # the exact delta, worst datasets, rounded to a float
    lower: float  # of the analyzed pair, which may be less private than the truth
    upper: float
    attained: float
    holds: bool
    others: tuple[int, ...]  # the worst dataset: the inputs of all other users
    values: tuple[int, int]  # and those of the user in question, in the worse order


@dataclass(frozen=True)
class Verification(Records):
    """What was enumerated and whether every claim held.

    >>> from shuffledp import FiniteRandomizer, verify
    >>> verify(FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]]), users=3).holds
    True
    """

    randomizer: Randomizer
    users: int
    analysis: str
    datasets: int  # ordered pairs of neighbouring datasets
    rows: tuple[VerifiedRow, ...]

    @property
    def holds(self) -> bool:
        return all(row.holds for row in self.rows)

    def records(self) -> list[dict[str, Any]]:
        found = [row._asdict() for row in self.rows]
        for row in found:
            row |= {name: " ".join(map(str, row[name])) for name in ("others", "values")}
        return found

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{row.epsilon:.6g}",
                rounded_down(row.attained, 6),
                f"{row.truth:.6g}",
                rounded_down(row.lower, 6),
                rounded_up(row.upper, 6),
                "holds" if row.holds else "VIOLATED",
            )
            for row in self.rows
        ]

    @property
    def _verdict(self) -> str:
        verdict = "Every bound holds" if self.holds else "A BOUND IS VIOLATED; report this as a bug"
        return f"{verdict}: attained <= truth <= upper."

    def _repr_html_(self) -> str:
        what = f"{self.randomizer.describe()}; {self.users} users, analysis {self.analysis}"
        caption = f"{what}; delta on {self.datasets:,} pairs of datasets. {self._verdict}"
        return html_table(caption, _HEAD, self._cells(), named_by=0)

    def __str__(self) -> str:
        lines = [_HEAD, *self._cells()]
        table = "\n".join("".join(f"{cell:>13}" for cell in line) for line in lines)
        said = [
            f"{self.randomizer.describe()}; {self.users} users, analysis {self.analysis}.",
            f"delta at each epsilon, exact on all {self.datasets:,} pairs of neighbouring datasets "
            "(replace-one, both orders):",
        ]
        head = "\n".join(map(wrapped, said))
        return f"{head}\n\n{table}\n\n{wrapped(self._verdict)}"


def verify(
    randomizer: Randomizer,
    users: int,
    analysis: str = "best",
    *,
    epsilons: float | Many | None = None,
    rtol: float = DEFAULT_RTOL,
) -> Verification:
    """Enumerate a small round exactly and compare: attained <= truth <= upper at every epsilon.

    The truth is the largest hockey-stick divergence over all datasets and all neighbours in both
    orders. Without `epsilons`, shares of the largest loss are taken, the epsilon of pure DP last.

    >>> from shuffledp import RandomizedResponse, verify
    >>> result = verify(RandomizedResponse(k=3, eps0=1.0), users=3, epsilons=[0.5])
    >>> [row.truth <= row.upper for row in result.rows]
    [True]
    """
    survey = Shuffle(randomizer, users, analysis)
    matrix = randomizer.exact()
    points = _points(survey, epsilons)
    _refuse_if_too_large(matrix, survey.users, len(points))
    alphas = [exp_bracket(Fraction(epsilon), 60) for epsilon in points]
    found = _worst(matrix.make(), survey.users, alphas)
    rows = []
    for epsilon, (low, high, others, values) in zip(points, found, strict=True):
        bounds = anyway(survey.delta_bounds, epsilon, rtol=rtol)
        attained = survey.attained_delta(epsilon)
        holds = Fraction(attained) <= high <= Fraction(bounds.upper)
        truth = float(low)
        rows.append(
            VerifiedRow(epsilon, truth, bounds.lower, bounds.upper, attained, holds, others, values)
        )
    pairs = math.comb(survey.users + matrix.inputs - 2, survey.users - 1) * matrix.inputs
    count = pairs * (matrix.inputs - 1)
    return Verification(randomizer, survey.users, survey.explained.name, count, tuple(rows))


def _points(survey: Shuffle, epsilons: Any) -> list[float]:
    if epsilons is None:
        return [share * survey.profile.max_loss for share in _SHARES]
    points: list[float] = validate.epsilons(epsilons).ravel().tolist()
    if not points:
        raise InvalidParameter("epsilons is empty; give at least one epsilon >= 0.")
    if max(points) > 700:
        raise OutOfRange(f"epsilon={max(points):g} is above 700; give a smaller number.")
    return points


def _steps(matrix: ExactMatrix, users: int, points: int) -> int:
    """About how many multiplications the enumeration takes."""
    backgrounds = math.comb(users + matrix.inputs - 2, users - 1)
    histograms = math.comb(users + matrix.outputs - 1, users)
    pairs = matrix.inputs * (matrix.inputs - 1)
    return backgrounds * histograms * (matrix.inputs * matrix.outputs + 2 * pairs * points)


def _refuse_if_too_large(matrix: ExactMatrix, users: int, points: int) -> None:
    small = matrix.inputs <= MOST_VALUES and matrix.outputs <= MOST_VALUES
    if small and users <= MOST_USERS and _steps(matrix, users, points) <= MOST_STEPS:
        return
    fits = [
        n for n in range(1, MOST_USERS + 1) if small and _steps(matrix, n, points) <= MOST_STEPS
    ]
    remedy = f"at most {fits[-1]} users fit" if fits else "give a randomizer with fewer values"
    inputs, outputs = (
        f"{size}" if size <= MOST_VALUES else f"more than {MOST_VALUES}"
        for size in (matrix.inputs, matrix.outputs)
    )
    raise OutOfRange(
        f"users={users} with {inputs} inputs, {outputs} outputs and {points} epsilons would take "
        f"too long to enumerate; {remedy}."
    )


#: A lower and an upper bound of the truth, equal to some 60 digits, and where it is reached.
Found = tuple[Fraction, Fraction, tuple[int, ...], tuple[int, int]]


def _worst(
    matrix: Fractions, users: int, alphas: Sequence[tuple[Fraction, Fraction]]
) -> list[Found]:
    """The largest divergence over all datasets and neighbours, for each bracket of alpha."""
    unit = math.lcm(*(value.denominator for row in matrix for value in row))
    # a histogram of the messages is one number: message y adds (users + 1) ** y
    rows = [
        [((users + 1) ** y, int(value * unit)) for y, value in enumerate(row) if value]
        for row in matrix
    ]
    total, inputs = unit**users, range(len(rows))
    found: list[Found] = [(Fraction(-1), Fraction(-1), (), (0, 0))] * len(alphas)
    backgrounds = list(combinations_with_replacement(inputs, users - 1))
    with progress("datasets", len(backgrounds)) as done:
        for others in backgrounds:
            law = {0: 1}
            for x in others:
                law = _one_more(law, rows[x])
            laws = [_one_more(law, row) for row in rows]
            for values in permutations(inputs, 2):
                gain, loss = laws[values[0]], laws[values[1]]
                pairs = [(p, loss.get(key, 0)) for key, p in gain.items()]
                for i, (below, above) in enumerate(alphas):
                    high = _divergence(pairs, below, total)
                    if high > found[i][1]:
                        low = high if below == above else _divergence(pairs, above, total)
                        found[i] = (low, high, others, values)
            done(1)
    return found


def _one_more(law: dict[int, int], row: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The law of the histogram with the message of one more user."""
    result: dict[int, int] = {}
    for key, mass in law.items():
        for step, weight in row:
            result[key + step] = result.get(key + step, 0) + mass * weight
    return result


def _divergence(pairs: Sequence[tuple[int, int]], alpha: Fraction, total: int) -> Fraction:
    """Sum of (P - alpha Q)_+, exactly."""
    up, down = alpha.denominator, alpha.numerator
    return Fraction(sum(max(p * up - q * down, 0) for p, q in pairs), total * up)
