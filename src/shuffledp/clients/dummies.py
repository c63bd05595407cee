"""The client that sends values as they are among messages that are only noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter
from .base import (
    MOST_COUNTED,
    Client,
    MessageForm,
    bits_for,
    countable,
    whole_values,
)
from .counts import Counts, Estimate
from .described import ManyMessages
from .entropy import Coin, Source, Whole
from .inversion import Inversion, decimal, of_masses
from .program import (
    Expression,
    Program,
    RatioLaw,
    binomial_law,
    poisson_law,
    whole_value,
)

_TOGETHER = 32.0  # dummies that are drawn as one number, on average
MOST_PAIRS = 2**63  # whole numbers below it are drawn
_MOST_THETA = 0.999  # beyond, a table of sizes of clumps is too long


class Dummies(ABC):
    """How many dummies of each value users send, independently of one another."""

    @abstractmethod
    def moments(self, users: float) -> tuple[float, float]:
        """Mean and variance of the number of dummies of one value from so many users."""

    @abstractmethod
    def draw(self, users: int, k: int, source: Source) -> Whole:
        """All dummies of k values from so many users."""

    @property
    def is_fixed(self) -> bool:
        """Are there as many dummies whoever sends?"""
        return False

    def code(self, k: int) -> tuple[Expression, tuple[RatioLaw, ...]]:
        """Those of one user, and the laws that are drawn from."""
        raise InvalidParameter(f"dummies of this kind have no specification: {self.not_specified}.")

    #: Why no specification describes them, as the end of a sentence.
    not_specified: ClassVar[str] = ""


@lru_cache(64)
def _poisson(factor: Fraction, theta: Fraction | None = None) -> Inversion:
    """A Poisson law whose mean is this factor, times -log(1 - theta) if theta is given."""

    def exact(context: Context) -> Decimal:
        number = decimal(factor, context)
        return number if theta is None else context.multiply(number, _log_series(theta, context))

    return Inversion(
        of_masses(
            lambda context: context.exp(exact(context).copy_negate()),
            lambda context, j: context.divide(exact(context), j + 1),
        )
    )


@lru_cache(64)
def _binomial(trials: int, one: Fraction) -> Inversion:
    odds = one / (1 - one)
    return Inversion(
        of_masses(
            lambda context: context.power(decimal(1 - one, context), trials),
            lambda context, j: decimal(Fraction(max(trials - j, 0), j + 1) * odds, context),
        )
    )


def _log_series(theta: Fraction, context: Context) -> Decimal:
    """-log(1 - theta), the sum of all theta^j/j."""
    return context.ln(decimal(1 - theta, context)).copy_negate()


@lru_cache(64)
def _clumps(theta: Fraction) -> Inversion:
    """j with probability theta^(j+1)/(j+1), over -log(1 - theta)."""
    return Inversion(
        of_masses(
            lambda context: context.divide(decimal(theta, context), _log_series(theta, context)),
            lambda context, j: decimal(theta * Fraction(j + 1, j + 2), context),
        )
    )


def _parts(mean: float) -> int:
    """Into how many equal parts a number is divided, each of which is drawn by itself."""
    return max(1, math.ceil(mean / _TOGETHER))


@dataclass(frozen=True)
class PoissonDummies(Dummies):
    """Of every value from every user a Poisson number."""

    mean: float

    def moments(self, users: float) -> tuple[float, float]:
        return users * self.mean, users * self.mean

    def draw(self, users: int, k: int, source: Source) -> Whole:
        """A Poisson number in all, each of them any value."""
        parts = _parts(users * k * self.mean)
        law = _poisson(users * k * Fraction(self.mean) / parts)
        return source.below(k, int(law.draw(source, parts).sum()))

    def code(self, k: int) -> tuple[Expression, tuple[RatioLaw, ...]]:
        parts = _parts(k * self.mean)
        drawn = ["law", "0", str(parts)]
        total = ["fold", drawn, "1"] if parts > 1 else drawn
        return ["choices", total, str(k)], (poisson_law(k * Fraction(self.mean) / parts),)


@dataclass(frozen=True)
class BernoulliDummies(Dummies):
    """Of every value from every user one, with this probability, or none."""

    one: float

    def moments(self, users: float) -> tuple[float, float]:
        return users * self.one, users * self.one * (1 - self.one)

    def draw(self, users: int, k: int, source: Source) -> Whole:
        """A binomial number in all, each from another pair of a user and a value."""
        pairs = users * k
        if pairs > MOST_PAIRS:
            raise InvalidParameter(
                f"{users:,} users and k={k} values are more than 2^63 pairs; randomize the values "
                "of fewer users at a time."
            )
        parts = min(_parts(pairs * self.one), pairs)
        each, rest = divmod(pairs, parts)
        chance = Fraction(self.one)
        sizes = [_binomial(each, chance).draw(source, parts)]
        if rest:
            sizes.append(_binomial(rest, chance).draw(source, 1))
        return _distinct(pairs, int(np.concatenate(sizes).sum()), source) % k

    def code(self, k: int) -> tuple[Expression, tuple[RatioLaw, ...]]:
        parts = min(_parts(k * self.one), k)
        each, rest = divmod(k, parts)
        chance = Fraction(self.one)
        drawn: Expression = ["law", "0", str(parts)]
        laws: tuple[RatioLaw, ...] = (binomial_law(each, chance),)
        if rest:
            drawn, laws = ["join", drawn, ["law", "1", "1"]], (*laws, binomial_law(rest, chance))
        total = ["fold", drawn, "1"] if parts > 1 or rest else drawn
        return ["distinct", total, str(k)], laws


@dataclass(frozen=True)
class NegativeBinomialDummies(Dummies):
    """Of every value from every user a negative binomial number."""

    shape: float
    theta: float
    not_specified: ClassVar[str] = (
        "their sampler computes logarithms to any number of digits; choose poisson or bernoulli"
    )

    def moments(self, users: float) -> tuple[float, float]:
        mean = users * self.shape * self.theta / (1 - self.theta)
        return mean, mean / (1 - self.theta)

    def draw(self, users: int, k: int, source: Source) -> Whole:
        """A Poisson number of clumps of equal dummies, their sizes of the logarithmic law."""
        if self.theta > _MOST_THETA:
            raise InvalidParameter(
                f"theta={self.theta!r} is above {_MOST_THETA}, the most that a client draws; "
                "choose a smaller theta and a larger negative_binomial."
            )
        theta, shape = Fraction(self.theta), users * k * Fraction(self.shape)
        parts = _parts(float(shape) * -math.log1p(-self.theta))
        clumps = int(_poisson(shape / parts, theta).draw(source, parts).sum())
        sizes = 1 + _clumps(theta).draw(source, clumps)
        return np.repeat(source.below(k, clumps), sizes)


@dataclass(frozen=True)
class DummiesInAll(Dummies):
    """So many in all, whoever sends them, each any of k values."""

    total: int
    k: int
    not_specified: ClassVar[str] = (
        "the devices do not send them, and each sends its true value only; send the value"
    )

    def moments(self, users: float) -> tuple[float, float]:
        mean = self.total / self.k
        return mean, mean * (1 - 1 / self.k)

    def draw(self, users: int, k: int, source: Source) -> Whole:
        return source.below(k, self.total)

    @property
    def is_fixed(self) -> bool:
        return True


@dataclass(frozen=True)
class AddedDummies(Dummies):
    """What so many users would send, added by the shuffler, once in a round."""

    each: Dummies
    shares: int
    not_specified: ClassVar[str] = DummiesInAll.not_specified

    def moments(self, users: float) -> tuple[float, float]:
        return self.each.moments(self.shares)

    def draw(self, users: int, k: int, source: Source) -> Whole:
        return self.each.draw(self.shares, k, source)

    @property
    def is_fixed(self) -> bool:
        return True


def variance(noise: float, rate: float, count: Any) -> Any:
    """The variance of an estimated count: of the noise, and of values kept with this rate."""
    return (noise + count * rate * (1 - rate)) / rate**2


def _distinct(limit: int, size: int, source: Source) -> Whole:
    """A uniform set of so many numbers below the limit: the first that differ in a sequence."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < size:
        more = np.concatenate([found, source.below(limit, size - len(found))])
        found = more[np.sort(np.unique(more, return_index=True)[1])]
    return found


@dataclass(frozen=True)
class DummiesClient(Client):
    """Sends the own value and dummies, in ascending order: it does not tell them apart.

    Users who have no value, -1, send dummies alone. If the shuffler adds the dummies and keeps
    values with the probability `rate`, this is what it passes on of all users of a round.
    """

    k: int
    dummies: Dummies
    rate: float = 1.0

    @property
    def bits(self) -> int:
        return bits_for(self.k)

    def checked(self, values: Any) -> NDArray[Any]:
        return whole_values(values, self.k, least=0 if self.in_all else -1)

    @property
    def in_all(self) -> bool:
        """Does the number of messages tell how many users have sent?"""
        return isinstance(self.dummies, DummiesInAll)

    def randomize(self, values: Any, source: Source) -> NDArray[Any]:
        """The messages of all these users together, or of a single one."""
        return self.messages(self.checked(np.atleast_1d(values)), source)

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        about = self.k * self.dummies.moments(len(values))[0]
        if about > MOST_COUNTED:
            raise InvalidParameter(
                f"about {about:.3g} dummies are to be sent, more than the {MOST_COUNTED:,} that "
                "can be held at once; randomize the values of fewer users at a time."
            )
        # with nobody there is nobody to send a share of them
        drawn = len(values) or self.dummies.is_fixed
        noise = self.dummies.draw(len(values), self.k, source) if drawn else values[:0]
        sent = values[values >= 0]
        if self.rate < 1:  # a value that is kept less often is protected better
            sent = sent[Coin.at_most(Fraction(self.rate)).toss(source, len(sent))]
        return np.sort(np.concatenate([sent, noise]))

    @property
    def form(self) -> MessageForm:
        return MessageForm("value", (), 0, self.k, self.k)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(messages, minlength=countable(self.k))

    def _limits(self, users: int) -> tuple[int | None, int | None, int | None]:
        if isinstance(self.dummies, DummiesInAll) and self.rate == 1:
            return 0, None, users + self.dummies.total
        return 0, None, None

    def program(self) -> Program:
        noise, laws = self.dummies.code(self.k)
        form: ManyMessages = {"kind": "messages", "type": "int64", "length": None}
        return Program(whole_value(self.k, -1), form, ["sort", ["join", "value", noise]], laws)

    def count(self, messages: Any, users: int | None = None) -> Counts:
        counted = super().count(messages)
        return Counts(self.senders(counted.users, users), counted.tally)

    def senders(self, messages: int, users: int | None = None) -> int:
        if isinstance(self.dummies, DummiesInAll) and users is None:
            users = messages - self.dummies.total
        if users is None or users < 0:
            raise InvalidParameter(
                f"{messages:,} messages do not tell how many users have sent them; give users."
            )
        return users

    def variance(self, users: float, count: Any) -> Any:
        """That of the noise, and of what is not kept of those who have the value."""
        return variance(self.dummies.moments(users)[1], self.rate, count)

    def estimate(self, counts: Counts) -> Estimate:
        """What was counted, less the mean of the noise, over the share that is kept."""
        mean, _ = self.dummies.moments(counts.users)
        found = (self._checked_counts(counts).tally - mean) / self.rate
        spread = self.variance(counts.users, np.clip(found, 0, counts.users))
        rare = math.sqrt(self.variance(counts.users, 0))
        return Estimate(counts.users, found, np.sqrt(np.broadcast_to(spread, found.shape)), rare)
