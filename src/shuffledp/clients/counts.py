"""What is kept of messages, and what is estimated from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.numeric import Array
from .._support.rows import Records
from ..errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Counts:
    """All that an estimate needs to know of some messages: how many, and sums of whole numbers.

    Counts of disjoint groups of users add up to those of all of them, in any order: sums of whole
    numbers of any size are exact.

    Parameters
    ----------
    users : int
        Number of users who have sent the messages, 0 to 1e12.
    tally : sequence of int
        The sums, as the table in docs/clients.md says.
    modulus : int, optional
        The sums are known modulo this number only, as secure aggregation tells them.
    protocol : str, optional
        The randomizer of the messages, as `repr` shows it; `count` says it. Counts of two of
        them do not add up, and no other randomizer estimates from them. It is not compared.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.clients import Counts
    >>> Counts(3, [2, 1]) + Counts(2, [0, 2])
    Counts(users=5, tally=[2, 3])
    >>> Counts(3, [200], modulus=256) + Counts(2, [100], modulus=256)
    Counts(users=5, tally=[44], modulus=256)
    """

    users: int
    tally: NDArray[Any]  # of int64, or of Python's whole numbers where these are too small
    modulus: int | None
    protocol: str | None

    def __init__(
        self,
        users: int,
        tally: Sequence[int] | NDArray[Any],
        *,
        modulus: int | None = None,
        protocol: str | None = None,
    ) -> None:
        object.__setattr__(
            self, "users", validate.count("users", users, validate.MAX_USERS, least=0)
        )
        if modulus is not None:
            modulus = validate.count("modulus", modulus, 2**256, least=2)
        object.__setattr__(self, "modulus", modulus)
        object.__setattr__(self, "protocol", protocol)
        try:
            array = np.asarray(tally)
        except ValueError:
            array = np.zeros(0)
        if array.dtype.kind == "f" and ((array == np.floor(array)) & (abs(array) < 2**53)).all():
            array = array.astype(np.int64)  # what a database may make of a sum
        whole = array.dtype.kind in "iu" or all(isinstance(x, int) for x in array.ravel().tolist())
        if array.ndim != 1 or not array.size or not whole:
            raise InvalidParameter(
                f"tally={validate.show(tally)} is not a list of whole numbers; give one."
            )
        if modulus is not None:
            array = array.astype(object) % modulus
        object.__setattr__(self, "tally", _smallest_kind(array))

    def of_protocol(self, protocol: str) -> Counts:
        """The same counts, if they are of this randomizer or do not say of which.

        Parameters
        ----------
        protocol : str
            The randomizer, as `repr` shows it.

        Returns
        -------
        Counts
            With this protocol.

        Raises
        ------
        InvalidParameter
            If they are counts of another randomizer.
        """
        if self.protocol not in (None, protocol):
            raise InvalidParameter(
                f"these are counts of {self.protocol}, not of {protocol}; estimate with the "
                "randomizer of the messages."
            )
        return Counts(self.users, self.tally, modulus=self.modulus, protocol=protocol)

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        if None not in (self.protocol, other.protocol) and self.protocol != other.protocol:
            raise InvalidParameter(
                f"counts of {self.protocol} and of {other.protocol} do not add up; estimate from "
                "each and combine the estimates."
            )
        if self.modulus != other.modulus:
            raise InvalidParameter(
                f"counts modulo {self.modulus} and modulo {other.modulus} do not add up; add those "
                "of one aggregator."
            )
        if len(self.tally) != len(other.tally):
            raise InvalidParameter(
                f"counts of {len(self.tally)} and {len(other.tally)} numbers do not add up; add "
                "those of one randomizer."
            )
        return Counts(
            self.users + other.users,
            _exact_sum(self.tally, other.tally),
            modulus=self.modulus,
            protocol=self.protocol or other.protocol,
        )

    def __radd__(self, other: object) -> Counts:
        return self if other == 0 else NotImplemented  # sum() starts with 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        same = (self.users, self.modulus) == (other.users, other.modulus)
        return same and np.array_equal(self.tally, other.tally)

    def __hash__(self) -> int:
        return hash((self.users, self.modulus, *self.tally.tolist()))

    def __repr__(self) -> str:
        more = "" if self.modulus is None else f", modulus={self.modulus}"
        return f"Counts(users={self.users}, tally={validate.show(self.tally.tolist())}{more})"


def _smallest_kind(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as int64, or as Python's if one of them is too large."""
    fits = array.dtype.kind == "i" or max(int(array.max()), -1 - int(array.min())) < 2**63
    return array.astype(np.int64 if fits else object)


def _exact_sum(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a + b, where int64 would wrap around, too."""
    if a.dtype == b.dtype == np.int64:
        total: NDArray[Any] = a + b
        if not (((a ^ total) & (b ^ total)) < 0).any():
            return total
    return np.asarray(a.astype(object) + b.astype(object))


class Interval(NamedTuple):
    """Ends of confidence intervals.

    Attributes
    ----------
    lower : float or ndarray
        Lower ends.
    upper : float or ndarray
        Upper ends.

    Examples
    --------
    >>> from shuffledp.clients import MeanEstimate
    >>> lower, upper = MeanEstimate(users=100, mean=0.5, standard_error=0.1).interval(0.95)
    >>> round(lower, 3), round(upper, 3)
    (0.304, 0.696)
    """

    lower: Any
    upper: Any


def _interval(value: Any, standard_error: Any, level: float) -> Interval:
    from statistics import NormalDist  # slow to load

    level = validate.probability("level", level)
    reach = NormalDist().inv_cdf((1 + level) / 2) * standard_error
    return Interval(value - reach, value + reach)


@dataclass(frozen=True, repr=False)
class Estimate(Records):
    """Estimated counts of all values: unbiased, so that rare ones may come out negative.

    The standard errors are those of the randomization, with the estimated counts, cut to 0 to
    `users`, in place of the true ones. `to_csv` and `to_pandas` have a row for each value; lower
    and upper are the ends of the 95 % interval of the count.

    Parameters
    ----------
    users : int
        Number of users whose messages were counted.
    counts : ndarray
        Estimated number of users who hold each value, shape [values].
    standard_errors : ndarray
        Standard error of each count, in users.
    rare_error : float, optional
        Standard error for a value that no user holds, in users; known before any message is sent.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.clients import Counts
    >>> found = RandomizedResponse(k=2, eps0=1.0).estimate(Counts(1000, [600, 400]))
    >>> found.counts.round(1).tolist(), found.standard_errors.round(1).tolist()
    ([716.4, 283.6], [30.3, 30.3])
    >>> [round(float(x), 2) for x in (found.interval(0.95).lower[0], found.frequencies[0])]
    [656.92, 0.72]
    >>> print(found.to_csv().splitlines()[0])
    value,count,standard_error,frequency,frequency_error,lower,upper
    """

    users: int
    counts: Array
    standard_errors: Array
    rare_error: float | None = None

    @property
    def frequencies(self) -> Array:
        """Estimated share of the users who hold each value, shape [values]."""
        return self.counts / self.users

    @property
    def frequency_errors(self) -> Array:
        """Standard error of each of these shares, shape [values]."""
        return self.standard_errors / self.users

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence interval of each count by itself, by the normal law.

        Parameters
        ----------
        level : float
            Approximate probability that a count is inside, in (0, 1).

        Returns
        -------
        Interval
            Arrays of lower and upper ends, in users.

        Raises
        ------
        InvalidParameter
            If the level is outside (0, 1).
        """
        return _interval(self.counts, self.standard_errors, level)

    @property
    def columns(self) -> Sequence[str]:
        names = ("value", "count", "standard_error", "frequency", "frequency_error")
        return (*names, "lower", "upper")

    @classmethod
    def weighed(cls, parts: Sequence[Estimate], share: Array) -> Estimate:
        """Estimate whose frequencies are a weighted mean of those of several estimates.

        Parameters
        ----------
        parts : sequence of Estimate
            Of the same values in the same order.
        share : ndarray
            Weights, which add up to 1: see `combine`.

        Returns
        -------
        Estimate
            For all users together.
        """
        users = sum(part.users for part in parts)
        counts = users * _mean([part.frequencies for part in parts], share)
        errors = users * _mean_error([p.standard_errors / p.users for p in parts], share)
        rare = [part.rare_error / part.users for part in parts if part.rare_error is not None]
        known = len(rare) == len(parts)
        return Estimate(users, counts, errors, users * _mean_error(rare, share) if known else None)

    def records(self) -> list[dict[str, Any]]:
        users = self.users or math.nan
        numbers = (
            *(self.counts, self.standard_errors),
            *(self.counts / users, self.standard_errors / users),
            *self.interval(0.95),
        )
        rows = zip(*(np.asarray(column).tolist() for column in numbers), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in _numbered(rows)]


@dataclass(frozen=True, repr=False)
class MeanEstimate(Records):
    """The estimated mean of numbers, or of vectors: unbiased.

    The standard error is that of the randomization, an upper bound: the largest over all data that
    users may have. For numbers near 0 or 1 the true one may be much smaller.
    `to_csv` and `to_pandas` have a row for each coordinate, with intervals of 95 %.

    Parameters
    ----------
    users : int
        Number of users whose messages were counted.
    mean : float or ndarray
        The mean; of vectors, shape [dimension].
    standard_error : float or ndarray
        Upper bound of its standard error; of vectors, of each coordinate.

    Examples
    --------
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
        """Confidence interval of the mean, by the normal law.

        Parameters
        ----------
        level : float
            Probability that the mean is inside, in (0, 1): it is so at least, approximately, since
            the standard error is the largest over all data.

        Returns
        -------
        Interval
            Lower and upper end; of vectors, for each coordinate by itself.

        Raises
        ------
        InvalidParameter
            If the level is outside (0, 1).
        """
        return _interval(self.mean, self.standard_error, level)

    @property
    def columns(self) -> Sequence[str]:
        return ("coordinate", "mean", "standard_error", "lower", "upper")

    @classmethod
    def weighed(cls, parts: Sequence[MeanEstimate], share: Array) -> MeanEstimate:
        """Weighted mean of several estimates.

        Parameters
        ----------
        parts : sequence of MeanEstimate
            Of numbers, or of vectors of the same length.
        share : ndarray
            Weights, which add up to 1: see `combine`.

        Returns
        -------
        MeanEstimate
            For all users together.
        """
        users = sum(part.users for part in parts)
        error = _mean_error([part.standard_error for part in parts], share)
        return MeanEstimate(users, _mean([part.mean for part in parts], share), error)

    def records(self) -> list[dict[str, Any]]:
        numbers = (self.mean, self.standard_error, *self.interval(0.95))
        rows = zip(*(np.atleast_1d(column).tolist() for column in numbers), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in _numbered(rows)]


def _mean(columns: Sequence[Any], share: Array) -> Any:
    return sum(weight * column for weight, column in zip(share.tolist(), columns, strict=True))


def _mean_error(errors: Sequence[Any], share: Array) -> Any:
    """The standard error of a mean of independent numbers with these."""
    return _mean([error**2 for error in errors], share**2) ** 0.5


def _numbered(rows: Iterable[tuple[float, ...]]) -> Iterator[tuple[float, ...]]:
    return ((number, *row) for number, row in enumerate(rows))


Combined = TypeVar("Combined", Estimate, MeanEstimate)


def combine(estimates: Sequence[Combined], *, weights: str = "users") -> Combined:
    """One estimate from those of several shards or rounds.

    Parameters
    ----------
    estimates : sequence of Estimate, or of MeanEstimate
        Of the same values in the same order; the randomizers may differ. Messages of two of them
        have to be randomized independently of each other. Estimates with infinite standard errors,
        of a question of `OneOf` that nobody was asked, are left out, and so are their users.
    weights : str
        "users" weighs each by its number of users: counts are added up. What is estimated are the
        counts of all users together, or the mean over all of them. Right for shards, and for rounds
        whose frequencies may change. "precision" weighs frequencies, or means, by the inverse of
        their variance for a value that no user holds (`rare_error`), or for the worst numbers. What
        is estimated is the mean of the frequencies with these weights: the frequency itself if it
        is the same in all. No fixed weights have a smaller error for a value that no user holds.

    Returns
    -------
    Estimate or MeanEstimate
        `users` is the number of messages behind it: who takes part in two rounds counts twice. It
        is unbiased, since neither kind of weight depends on a message: a weighted sum of unbiased
        estimates has the weighted sum of their means. Its variance is the sum of theirs, times the
        squares of the weights, as messages are independent.

    Raises
    ------
    InvalidParameter
        For no estimates, estimates of different values or kinds, estimates that all have infinite
        standard errors, or other weights.

    Notes
    -----
    With the inverse of `standard_errors` squared the result would be biased: they depend on the
    messages, such that an estimate that comes out low has a smaller error and would weigh more.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.clients import Counts, combine
    >>> week = RandomizedResponse(k=2, eps0=1.0).estimate(Counts(1000, [600, 400]))
    >>> campaign = RandomizedResponse(k=2, eps0=3.0).estimate(Counts(1000, [680, 320]))
    >>> combine([week, campaign]).counts.round().tolist()
    [1415.0, 585.0]
    >>> found = combine([week, campaign], weights="precision")
    >>> found.frequencies.round(3).tolist(), found.standard_errors.round(1).tolist()
    ([0.7, 0.3], [14.4, 14.4])
    """
    validate.choice("weights", weights, ("users", "precision"))
    kinds = {type(e) for e in estimates} if isinstance(estimates, Sequence) else set()
    if len(kinds) != 1 or not kinds <= {Estimate, MeanEstimate}:
        raise InvalidParameter(
            f"estimates={validate.show(estimates)} are not all counts or all means; give at least "
            "one, all of one kind."
        )
    sizes = {np.shape(e.counts if isinstance(e, Estimate) else e.mean) for e in estimates}
    if len(sizes) != 1:
        raise InvalidParameter(
            f"estimates of {' and '.join(str(math.prod(s)) for s in sorted(sizes))} numbers do not "
            "combine; give those of the same values."
        )
    used = [estimate for estimate in estimates if estimate.users]
    if not used:
        return estimates[0]
    used = [estimate for estimate in used if _is_known(estimate)]
    if not used:
        raise InvalidParameter(
            "all standard errors are infinite: nobody was asked; give an estimate from answers."
        )
    if weights == "users":
        weight = np.array([float(estimate.users) for estimate in used])
    else:
        weight = np.array([_planned_error(estimate) ** -2.0 for estimate in used])
    share = weight / weight.sum()
    return type(used[0]).weighed(used, share)


def _is_known(estimate: Estimate | MeanEstimate) -> bool:
    """Has anybody answered?"""
    if isinstance(estimate, MeanEstimate):
        return bool(np.isfinite(estimate.standard_error).all())
    return bool(np.isfinite(estimate.standard_errors).all())


def _planned_error(estimate: Estimate | MeanEstimate) -> float:
    """The standard error of a frequency or a mean, as known before messages are sent."""
    if isinstance(estimate, MeanEstimate):
        error = float(np.max(estimate.standard_error))
    elif estimate.rare_error is None:
        raise InvalidParameter(
            "an estimate has no rare_error; give what estimate returned, or weights='users'."
        )
    else:
        error = estimate.rare_error / estimate.users
    if not error > 0:
        raise InvalidParameter(
            "an estimate has no error, so that no other would count; choose weights='users'."
        )
    return error
