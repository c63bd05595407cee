"""Laws of noise: dummy messages that honest users send, and shares of Gaussian noise.

Every law of a number N of dummies of one value knows the ratio Pr[N = s - 1] / Pr[N = s], from
which the divergence of one message more or less follows.

Theory: docs/theory/noise-messages.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._support.numeric import Array, log_share
from .class_law import ClassLaws, clone_pair


@dataclass(frozen=True)
class PoissonNoise:
    """A Poisson number of dummies of every value."""

    #: The largest count.
    most: ClassVar[float] = math.inf

    mean: float

    def of_users(self, users: int) -> PoissonNoise:
        """The law of the total that `users` independent users send."""
        return PoissonNoise(self.mean * users)

    @property
    def moments(self) -> tuple[float, float]:
        """The mean and the variance."""
        return self.mean, self.mean

    def ratio(self, count: Array) -> Array:
        """Pr[count - 1] / Pr[count], within 8 units of rounding."""
        return count / self.mean

    def count_at(self, ratio: Array) -> Array:
        """The real number at which `ratio` takes this value."""
        return ratio * self.mean

    def log_infinite(self, more: bool) -> float:
        """The logarithm of the probability of infinite loss.

        It is the probability of a count that N + 1 (if there is one message `more`) or N can have
        and the other cannot.
        """
        return -math.inf if more else -self.mean


@dataclass(frozen=True)
class BinomialCounts:
    """Every trial yields a dummy with the same probability."""

    trials: int
    one: float
    zero: float  # 1 - one; one of the two is exact, the other rounded

    def of_users(self, users: int) -> BinomialCounts:
        return BinomialCounts(self.trials * users, self.one, self.zero)

    @property
    def moments(self) -> tuple[float, float]:
        mean = self.trials * self.one
        return mean, mean * self.zero

    @property
    def most(self) -> float:
        return self.trials

    def ratio(self, count: Array) -> Array:
        left = np.maximum(self.trials + 1 - count, 1e-250)  # of one more than all: infinite
        return count * self.zero / (left * self.one)

    def count_at(self, ratio: Array) -> Array:
        return (self.trials + 1) / (1 + self.zero / np.maximum(self.one * ratio, 1e-300))

    @property
    def flipped(self) -> BinomialCounts:
        """The number of failures."""
        return BinomialCounts(self.trials, self.zero, self.one)

    def log_infinite(self, more: bool) -> float:
        all_of, rest = (self.one, self.zero) if more else (self.zero, self.one)
        return self.trials * log_share(all_of, rest)


@dataclass(frozen=True)
class NegativeBinomialNoise:
    """Pr[s] = C(s + shape - 1, s) theta^s (1 - theta)^shape, for any shape > 0."""

    most: ClassVar[float] = math.inf

    shape: float
    theta: float
    rest: float  # 1 - theta: one of the two is exact, the other rounded

    def of_users(self, users: int) -> NegativeBinomialNoise:
        return NegativeBinomialNoise(self.shape * users, self.theta, self.rest)

    @property
    def moments(self) -> tuple[float, float]:
        mean = self.shape * self.theta / self.rest
        return mean, mean / self.rest

    def ratio(self, count: Array) -> Array:
        above = np.maximum(count + (self.shape - 1), 1e-300)  # 0 if shape is 1 and count is 0
        return count / (above * self.theta)

    def count_at(self, ratio: Array) -> Array:
        left = 1 - ratio * self.theta
        return np.where(left > 0, ratio * self.theta * (self.shape - 1), 1.0) / np.maximum(
            left, 1e-15
        )

    @property
    def log_theta(self) -> float:
        return log_share(self.theta, self.rest)

    def log_infinite(self, more: bool) -> float:
        return -math.inf if more else self.shape * log_share(self.rest, self.theta)


Noise = PoissonNoise | BinomialCounts | NegativeBinomialNoise


@dataclass(frozen=True)
class AddedNoise:
    """Dummies that the shuffler adds, the same whoever sends; it keeps values at random.

    Parameters
    ----------
    noise : Noise
        The number of dummies of each value in a round.
    rate : float
        The probability with which each value is kept.
    values : int, optional
        The number of values; None if it is not known.
    """

    noise: Noise
    rate: float = 1.0
    values: int | None = None


@dataclass(frozen=True)
class UniformDummies:
    """A fixed total number of dummies, each uniform on `values` values."""

    total: int
    values: int

    @property
    def law(self) -> ClassLaws:
        """The law of the user's message and the dummies, as if all of them were sent by users.

        With n_a and n_b the numbers of the two values in question among `total` + 1 uniform
        messages, the divergence is values E[(n_a - alpha n_b)_+] / (total + 1).
        """
        return clone_pair(math.inf, 2 / self.values)


@dataclass(frozen=True)
class GaussianShare:
    """A number in [0, 1], or a vector of L2 norm 1 at most, plus Gaussian noise of standard
    deviation `sigma`, in every coordinate; only sums are seen.

    The number 0 or the vector of zeros stands for no value at all.
    """

    #: The neighbouring relations that are defined.
    relations: ClassVar[tuple[str, ...]] = ("replace", "remove")

    sigma: float
    is_vector: bool = False

    def distance(self, neighbours: str) -> float:
        """The L2 sensitivity: two numbers, or a vector and zeros, differ by up to 1; two vectors
        by up to 2."""
        return 2.0 if self.is_vector and neighbours == "replace" else 1.0
