"""What a published bound is, and the checks that all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ..bounds.certificate import enclose_sides
from ..errors import InvalidParameter, OutOfRange

#: In a source, what follows the theorem for one round of all users: about rounds, about samples.
ROUNDS_BY, SAMPLES_BY = "; rounds by ", ", sampling by "


#: How several rounds are composed.
BASIC, ADVANCED, RENYI, NUMERICAL = (
    *("basic theorem", "advanced theorem", "Renyi DP", "exact numerical"),
)


class BoundValue(NamedTuple):
    """An epsilon, and how several rounds were composed.

    Attributes
    ----------
    epsilon : float
        Epsilon of all rounds.
    composition : str
        "basic theorem", "advanced theorem", "Renyi DP" or "exact numerical".

    Examples
    --------
    >>> from shuffledp.published import BoundValue
    >>> BoundValue(epsilon=0.2, composition="basic theorem").composition
    'basic theorem'
    """

    epsilon: float
    composition: str


class EpsilonRule(Protocol):
    """Epsilon of `rounds` rounds; raises OutOfRange, with the reason, where it does not apply."""

    def __call__(
        self, randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
    ) -> BoundValue: ...


@dataclass(frozen=True)
class PublishedBound:
    """A bound of the literature that can be listed beside others.

    Parameters
    ----------
    name : str
        Authors and year, for tables.
    source : str
        Authors, year, venue and theorem.
    applies_to : str
        Randomizers that the bound is about.
    rule : callable
        Epsilon as a function of randomizer, users, sample rate, rounds and delta.
    proven : bool
        False for a formula that was printed as a bound but is not one: it is kept for comparison,
        and no guarantee may rest on it.

    Examples
    --------
    >>> from shuffledp.published import BOUNDS
    >>> [bound.name for bound in BOUNDS if bound.source.startswith("Erlingsson")]
    ['Erlingsson et al. 2019']
    """

    name: str
    source: str
    applies_to: str
    rule: EpsilonRule
    proven: bool = True

    def epsilon(
        self, randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
    ) -> float:
        """Epsilon of the bound, for replace-one neighbours.

        `value` says in addition how several rounds were composed.

        Parameters
        ----------
        randomizer : Randomizer
            What every user applies to their value, such as RandomizedResponse(16, eps0=2.0).
        users : int
            Number of users, 1 to 1e12.
        sample_rate : float
            Share of the users who send in a round, 1e-9 to 1; a whole number of users.
        rounds : int
            Number of rounds, 1 to 1e7.
        delta : float
            Privacy parameter, 1e-280 or larger and below 1.

        Returns
        -------
        float
            Evaluated in double precision, without a certificate for rounding.

        Raises
        ------
        InvalidParameter
            If an argument has no meaning.
        OutOfRange
            If the bound does not apply; the error says why.

        Examples
        --------
        >>> from shuffledp import PureLDP
        >>> from shuffledp.published import BOUNDS
        >>> bound = next(b for b in BOUNDS if b.name == "Feldman et al. 2021, closed form")
        >>> round(bound.epsilon(PureLDP(eps0=4.0), 100_000, 1.0, 1, 1e-6), 6)
        0.534634
        """
        return self.value(randomizer, users, sample_rate, rounds, delta).epsilon

    def value(
        self, randomizer: Any, users: int, sample_rate: float, rounds: int, delta: float
    ) -> BoundValue:
        """Epsilon of the bound, and how several rounds were composed.

        Parameters
        ----------
        randomizer, users, sample_rate, rounds, delta : Any
            As for `epsilon`.

        Returns
        -------
        BoundValue
            Its epsilon, and its composition in a few words.

        Raises
        ------
        InvalidParameter, OutOfRange
            As for `epsilon`.

        Examples
        --------
        >>> from shuffledp import PureLDP
        >>> from shuffledp.published import BOUNDS
        >>> bound = next(b for b in BOUNDS if b.name == "Feldman et al. 2021, closed form")
        >>> bound.value(PureLDP(eps0=1.0), 100_000, 1.0, 100, 1e-6).composition
        'advanced theorem'
        """
        if isinstance(randomizer, type) or not hasattr(randomizer, "analyses"):
            raise InvalidParameter(
                f"randomizer={validate.show(randomizer)} is not a randomizer; "
                "give one such as PureLDP(eps0=4.0)."
            )
        users = validate.count("users", users, validate.MAX_USERS)
        rounds = validate.count("rounds", rounds, validate.MAX_ROUNDS)
        sampled_users(users, sample_rate)
        return self.rule(randomizer, users, float(sample_rate), rounds, checked_delta(delta))


def checked_delta(value: Any) -> float:
    """Strictly between 0 and 1: none of these bounds speaks of pure DP."""
    delta = validate.delta(value)
    if not 0 < delta < 1:
        raise OutOfRange(
            f"delta={validate.show(value)} is outside (0, 1), where this bound holds; "
            "give a probability such as 1e-6."
        )
    return delta


def checked(users: Any, delta: Any) -> tuple[int, float]:
    return validate.count("users", users, validate.MAX_USERS), checked_delta(delta)


def sampled_users(users: int, sample_rate: Any) -> int:
    """How many of `users` users send each round."""
    return validate.sample_size(users, validate.sample_rate(sample_rate))


def local_epsilon_of(randomizer: Any) -> float:
    """eps0 of a randomizer, within the supported range; OutOfRange if it has none."""
    eps0 = getattr(randomizer, "eps0", None)
    if eps0 is None and not getattr(randomizer, "covers_every_exchange", True):
        raise OutOfRange(
            f"{validate.show(randomizer)} does not say that every pair of values is eps0-LDP, "
            "which this bound needs: its three numbers are about two values of one user; give a "
            "randomizer with an eps0."
        )
    if eps0 is None or not 0 <= eps0 < math.inf:
        raise OutOfRange(
            f"{validate.show(randomizer)} is not eps0-LDP for any finite eps0, which this bound "
            "needs; give a randomizer with an eps0."
        )
    if getattr(randomizer, "delta0", 0.0):
        raise OutOfRange(
            f"{validate.show(randomizer)} is not eps0-LDP, which this bound needs: delta0 is "
            "above 0; give a randomizer without a delta0."
        )
    return validate.local_epsilon(eps0)


def or_nan(epsilon: Callable[..., float], *given: Any) -> float:
    """An epsilon, or NaN where the bound does not apply: a gap in a picture."""
    try:
        return epsilon(*given)
    except OutOfRange:
        return math.nan


def smallest_epsilon(delta_of: Callable[[float], float], eps0: float, delta: float) -> float:
    """An epsilon with delta_of(epsilon) <= delta, the smallest up to 1e-10; at most eps0.

    delta_of need not vanish at eps0: a shuffled round of an eps0-LDP randomizer is eps0-DP.
    """

    def clipped(epsilon: float) -> float:
        return min(delta_of(epsilon), 1.0) if epsilon < eps0 else 0.0

    return enclose_crossing(clipped, delta, eps0 / 2, eps0, rtol=1e-10)[1]


def enclose_crossing(
    f: Callable[[float], float], level: float, guess: float, top: float, rtol: float = 1e-9
) -> tuple[float, float]:
    """Enclose the place where one decreasing function crosses a level.

    Parameters
    ----------
    f : callable
        Decreasing on [0, top], with f(top) <= level.
    level : float
        Positive.
    guess : float
        About the place; any number is sound.
    top : float
    rtol : float
        Relative width to aim for.

    Returns
    -------
    tuple of float
        (low, high) with f(low) > level >= f(high), both evaluated unless high is `top`; (0, 0)
        where f(0) <= level.
    """

    def sides(places: Array) -> tuple[Array, Array]:
        values = np.array([f(x) for x in places.tolist()])
        return values, values

    start = np.clip(np.multiply(guess, (1 - 1e-5, 1 + 1e-5)), 1e-12 * top, (1 - 1e-6) * top)
    return enclose_sides(sides, level, start, top, rtol, enough=rtol)
