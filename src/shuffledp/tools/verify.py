"""Hold our bounds against the truth: a small round is enumerated exactly, on every dataset.

The enumeration shares nothing with the code that computes bounds. Probabilities are whole numbers
over a common denominator; e^epsilon is bracketed by fractions that agree to 60 digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from typing import Any, NamedTuple

from .._support import validate
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import CaptionedTable, text_table
from .._support.text import rounded_down, rounded_up, several, wrapped
from ..errors import InvalidParameter, OutOfRange
from ..guarantee import DEFAULT_RTOL, Many, best_effort
from ..randomizers import Randomizer
from ..randomizers.exact import ExactMatrix, Fractions, exp_bracket
from ..rounds import RoundOfUsers
from .protocol import round_of_users

#: Steps of the enumeration that are accepted: some ten seconds.
MOST_STEPS = 30_000_000
MOST_USERS, MOST_VALUES = 60, 5000

_HEAD = ("epsilon", "attained", "truth", "lower", "upper", "verdict")
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


class VerifiedRow(NamedTuple):
    """One epsilon: attained <= truth <= upper is to hold.

    Attributes
    ----------
    epsilon : float
        Privacy parameter.
    truth : float
        Exact delta of the worst datasets, rounded to a float.
    lower : float
        Lower bound of the analyzed pair, which may be less private than the truth.
    upper : float
        Certified upper bound on delta.
    attained : float
        Delta that is claimed to be attained.
    holds : bool
        Whether the inequalities hold, exactly.
    others : tuple of int
        The worst dataset: inputs of all other users.
    values : tuple of int
        Inputs of the user in question, in the worse order; a number beyond all inputs stands for no
        value.

    Examples
    --------
    >>> from shuffledp import FiniteRandomizer, verify
    >>> coin = FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    >>> row = verify(coin, users=3, epsilons=[0.1]).rows[0]
    >>> row.attained <= row.truth <= row.upper
    True
    """

    epsilon: float
    truth: float
    lower: float
    upper: float
    attained: float
    holds: bool
    others: tuple[int, ...]
    values: tuple[int, int]


@dataclass(frozen=True, repr=False)
class Verification(Records):
    """What was enumerated and whether every claim held.

    Attributes
    ----------
    randomizer : Randomizer
        The randomizer that was enumerated.
    users : int
        Number of users.
    analysis : str
        Name of the analysis behind the bounds.
    datasets : int
        Number of ordered pairs of neighbouring datasets.
    rows : tuple of VerifiedRow
        One per epsilon.
    view : str
        What is seen: "shuffle" or "aggregate".
    relation : str
        "replace-one" or "remove-one".
    inputs : int
        Number of values of a user that were tried: all, or three of infinitely many.

    Examples
    --------
    >>> from shuffledp import FiniteRandomizer, verify
    >>> verify(FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]]), users=3).holds
    True
    """

    randomizer: Randomizer
    users: int
    analysis: str
    datasets: int
    rows: tuple[VerifiedRow, ...]
    view: str = "shuffle"
    relation: str = "replace-one"
    inputs: int = 0

    @property
    def holds(self) -> bool:
        """Whether the inequalities hold at every epsilon."""
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

    def as_table(self) -> CaptionedTable:
        what = f"{self.randomizer.describe()}; {self.users} users, analysis {self.analysis}"
        pairs = f"{self.datasets:,} pairs of datasets with {self.inputs:,} values"
        caption = f"{what}; delta on {pairs}. {self._verdict}"
        return CaptionedTable(caption, _HEAD, self._cells())

    def __str__(self) -> str:
        table = text_table(_HEAD, self._cells())
        said = [
            f"{self.randomizer.describe()}; {self.users} users, analysis {self.analysis}.",
            f"delta at each epsilon, exact on all {self.datasets:,} pairs of neighbouring datasets "
            f"with {self.inputs:,} values ({self.relation}, both orders):",
        ]
        head = "\n".join(map(wrapped, said))
        return f"{head}\n\n{table}\n\n{wrapped(self._verdict)}"


def verify(
    randomizer: Randomizer,
    users: int,
    analysis: str | None = None,
    *,
    view: str = "shuffle",
    neighbours: str = "replace",
    epsilons: float | Many | None = None,
    rtol: float = DEFAULT_RTOL,
) -> Verification:
    """Verification: bounds against the exact delta of all datasets of a small round.

    The truth is the largest hockey-stick divergence over all datasets and all neighbours in both
    orders, in exact fractions.

    Parameters
    ----------
    randomizer : Randomizer
        What every user applies to their value, such as RandomizedResponse(16, eps0=2.0).
    users : int
        Number of users, 1 to 60; fewer for many inputs and outputs.
    analysis : str, optional
        Name of the analysis behind the bounds; the best by default.
    view : str
        What the adversary sees: "shuffle", or "aggregate" for sums of messages.
    neighbours : str
        "replace": neighbouring datasets differ in the value of one user. "remove": the value of one
        user is missing from one of them.
    epsilons : float or array_like, optional
        Each 0 to 700; by default shares of the largest loss, the epsilon of pure DP last.
    rtol : float
        Relative width in epsilon to aim for, 1e-7 to 0.5.

    Returns
    -------
    Verification
        attained <= truth <= upper at every epsilon, or a violation.

    Raises
    ------
    InvalidParameter, OutOfRange
        If the randomizer has no finite matrix, or the enumeration would take too long.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse, verify
    >>> result = verify(RandomizedResponse(k=3, eps0=1.0), users=3, epsilons=[0.5])
    >>> [row.truth <= row.upper for row in result.rows]
    [True]
    """
    asked = {} if analysis is None else {"analysis": analysis}
    survey = round_of_users(randomizer, users, view=view, neighbours=neighbours, **asked)
    matrix = randomizer.exact()
    points = _points(survey, epsilons)
    game = _Game(matrix, survey.users, survey.view, neighbours == "remove")
    game.refuse_if_too_large(len(points))
    alphas = [exp_bracket(Fraction(epsilon), 60) for epsilon in points]
    found = _worst(game, alphas)
    rows = []
    for epsilon, (low, high, others, values) in zip(points, found, strict=True):
        bounds = best_effort(survey.delta_bounds, epsilon, rtol=rtol)
        attained = survey.attained_delta(epsilon)
        holds = Fraction(attained) <= high <= Fraction(bounds.upper)
        truth = float(low)
        rows.append(
            VerifiedRow(epsilon, truth, bounds.lower, bounds.upper, attained, holds, others, values)
        )
    name, count = survey.explained.name, game.backgrounds * game.pairs
    said = survey.view, survey.relation
    return Verification(randomizer, survey.users, name, count, tuple(rows), *said, matrix.inputs)


def _points(survey: RoundOfUsers, epsilons: Any) -> list[float]:
    if epsilons is None:
        return [share * survey.profile.max_loss for share in _SHARES]
    points: list[float] = validate.epsilons(epsilons).ravel().tolist()
    if not points:
        raise InvalidParameter("epsilons is empty; give at least one epsilon >= 0.")
    if max(points) > 700:
        raise OutOfRange(f"epsilon={max(points):g} is above 700; give a smaller number.")
    return points


@dataclass(frozen=True)
class _Game:
    """What is enumerated: the messages of all users, or their sums, for all datasets."""

    matrix: ExactMatrix
    users: int
    view: str
    remove: bool  # no value at all stands for that of the user in question

    @property
    def backgrounds(self) -> int:
        """What the other users may hold."""
        return math.comb(self.users + self.matrix.inputs - 2, self.users - 1)

    @property
    def pairs(self) -> int:
        """Two values of the user in question, in both orders."""
        return self.matrix.inputs * (2 if self.remove else self.matrix.inputs - 1)

    def values(self) -> Sequence[tuple[int, int]]:
        """The two values, or one of them and the number after all values."""
        inputs, nothing = range(self.matrix.inputs), self.matrix.inputs
        if not self.remove:
            return list(permutations(inputs, 2))
        return [pair for x in inputs for pair in ((x, nothing), (nothing, x))]

    def rows(self) -> Fractions:
        """Of all values, and of none after them if there is such a thing."""
        nothing = self.matrix.nothing if self.remove else None
        return [*self.matrix.make(), *([] if nothing is None else [nothing()])]

    def step(self, message: int) -> int:
        """What a message adds to what is seen, as one number: of histograms message y counts
        (users + 1)^y, of sums column j counts (users + 1)^j."""
        base = int(self.users) + 1
        if self.view == "shuffle":
            return int(base**message)
        columns: list[int] = [base**j for j in range(message.bit_length()) if message >> j & 1]
        return sum(columns)

    def steps(self, users: int, points: int) -> int:
        """About how many multiplications the enumeration takes."""
        outputs = self.matrix.outputs
        seen = math.comb(users + outputs - 1, users)
        if self.view != "shuffle":
            seen = min(seen, (users + 1) ** (outputs - 1).bit_length())
        game = replace(self, users=users)
        return game.backgrounds * seen * (self.matrix.inputs * outputs + 2 * self.pairs * points)

    def refuse_if_too_large(self, points: int) -> None:
        matrix = self.matrix
        small = matrix.inputs <= MOST_VALUES and matrix.outputs <= MOST_VALUES
        if small and self.users <= MOST_USERS and self.steps(self.users, points) <= MOST_STEPS:
            return
        every = range(1, MOST_USERS + 1) if small else range(0)
        fits = [n for n in every if self.steps(n, points) <= MOST_STEPS]
        remedy = f"at most {fits[-1]} users fit" if fits else "give a randomizer with fewer values"
        inputs, outputs = (
            f"{size}" if size <= MOST_VALUES else f"more than {MOST_VALUES}"
            for size in (matrix.inputs, matrix.outputs)
        )
        raise OutOfRange(
            f"users={self.users} with {inputs} inputs, {outputs} outputs and "
            f"{several(points, 'epsilon')} would take too long to enumerate; {remedy}."
        )


#: A lower and an upper bound of the truth, equal to some 60 digits, and where it is reached.
Found = tuple[Fraction, Fraction, tuple[int, ...], tuple[int, int]]


def _worst(
    game: _Game,
    alphas: Sequence[tuple[Fraction, Fraction]],
) -> list[Found]:
    """The largest divergence over all datasets and neighbours, for each bracket of alpha."""
    matrix, users = game.rows(), game.users
    unit = math.lcm(*(value.denominator for row in matrix for value in row))
    rows = [
        [(game.step(y), int(value * unit)) for y, value in enumerate(row) if value]
        for row in matrix
    ]
    total, pairs_of_values = unit**users, game.values()
    found: list[Found] = [(Fraction(-1), Fraction(-1), (), (0, 0))] * len(alphas)
    backgrounds = list(combinations_with_replacement(range(game.matrix.inputs), users - 1))
    with progress("datasets", len(backgrounds)) as done:
        for others in backgrounds:
            law = {0: 1}
            for x in others:
                law = _one_more(law, rows[x])
            laws = [_one_more(law, row) for row in rows]
            for values in pairs_of_values:
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
