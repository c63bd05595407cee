"""What is kept of messages, and what is estimated from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.numeric import Array
from ..errors import InvalidParameter

MAX_USERS = validate.MAX_USERS


@dataclass(frozen=True, eq=False)
class Counts:
    """All that an estimate needs to know of some messages: how many, and sums of whole numbers.

    Counts of disjoint groups of users add up to those of all of them, in any order.

    >>> from shuffledp.clients import Counts
    >>> Counts(3, [2, 1]) + Counts(2, [0, 2])
    Counts(users=5, tally=[2, 3])
    """

    users: int
    tally: NDArray[Any]  # of int64, or of Python's whole numbers

    def __init__(self, users: int, tally: Sequence[int] | NDArray[Any]) -> None:
        object.__setattr__(self, "users", validate.count("users", users, MAX_USERS, least=0))
        wrong = InvalidParameter(
            f"tally={validate.show(tally)} is not a list of whole numbers; give one."
        )
        try:
            array = np.asarray(tally)
        except ValueError:
            raise wrong from None
        if array.dtype.kind == "f" and (array == np.floor(array)).all():
            array = array.astype(np.int64)  # what a database may make of a sum
        whole = array.dtype.kind in "iu" or all(isinstance(x, int) for x in array.ravel().tolist())
        if array.ndim != 1 or not array.size or not whole:
            raise wrong
        object.__setattr__(self, "tally", array)

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        if len(self.tally) != len(other.tally):
            raise InvalidParameter(
                f"counts of {len(self.tally)} and {len(other.tally)} numbers do not add up; add "
                "those of one randomizer."
            )
        return Counts(self.users + other.users, self.tally + other.tally)

    def __radd__(self, other: object) -> Counts:
        return self if other == 0 else NotImplemented  # sum() starts with 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self.users == other.users and np.array_equal(self.tally, other.tally)

    def __hash__(self) -> int:
        return hash((self.users, *self.tally.tolist()))

    def __repr__(self) -> str:
        return f"Counts(users={self.users}, tally={validate.show(self.tally.tolist())})"


class Interval(NamedTuple):
    """Ends of confidence intervals."""

    lower: Any
    upper: Any


def _interval(value: Any, standard_error: Any, level: float) -> Interval:
    from statistics import NormalDist  # slow to load

    level = validate.probability("level", level)
    reach = NormalDist().inv_cdf((1 + level) / 2) * standard_error
    return Interval(value - reach, value + reach)


@dataclass(frozen=True)
class Estimate:
    """Estimated counts of all values: unbiased, so that rare ones may come out negative.

    The standard errors are those of the randomization, for the data that the users have.

    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.clients import Counts
    >>> found = RandomizedResponse(k=2, eps0=1.0).estimate(Counts(1000, [600, 400]))
    >>> found.counts.round(1).tolist(), found.standard_errors.round(1).tolist()
    ([716.4, 283.6], [30.3, 30.3])
    >>> [round(float(x), 2) for x in (found.interval(0.95).lower[0], found.frequencies[0])]
    [656.92, 0.72]
    """

    users: int
    counts: Array
    standard_errors: Array

    @property
    def frequencies(self) -> Array:
        return self.counts / self.users

    def interval(self, level: float = 0.95) -> Interval:
        """Each of the counts, by itself, is inside with about this probability (normal law)."""
        return _interval(self.counts, self.standard_errors, level)


@dataclass(frozen=True)
class MeanEstimate:
    """The estimated mean of numbers, or of vectors: unbiased.

    The standard error is that of the randomization, for the worst numbers that users may have.

    >>> from shuffledp.randomizers import OneBit
    >>> from shuffledp.clients import Counts
    >>> found = OneBit(eps0=1.0).estimate(Counts(1000, [600]))
    >>> round(found.mean, 3), round(found.standard_error, 3)
    (0.716, 0.034)
    """

    users: int
    mean: Any
    standard_error: Any

    def interval(self, level: float = 0.95) -> Interval:
        """The mean is inside with about this probability (normal law)."""
        return _interval(self.mean, self.standard_error, level)
