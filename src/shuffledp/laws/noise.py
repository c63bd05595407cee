"""Messages that are only noise: how many of one value the honest users send in all."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._support.numeric import log_share
from .three_point import ThreePointLaw


@dataclass(frozen=True)
class PoissonNoise:
    """A Poisson number of dummies of every value."""

    mean: float

    def of_users(self, users: int) -> PoissonNoise:
        """What so many users send together, independently."""
        return PoissonNoise(self.mean * users)

    def log_infinite(self, more: bool) -> float:
        """The logarithm of the probability of infinite loss: of a count that N + 1, if there is
        one message `more`, or N has and the other has not."""
        return -math.inf if more else -self.mean


@dataclass(frozen=True)
class BinomialNoise:
    """The number of successes in some trials: every user sends a dummy with one probability."""

    trials: int
    one: float
    zero: float  # 1 - one: one of the two is exact, the other rounded

    def of_users(self, users: int) -> BinomialNoise:
        return BinomialNoise(self.trials * users, self.one, self.zero)

    @property
    def flipped(self) -> BinomialNoise:
        """The number of failures."""
        return BinomialNoise(self.trials, self.zero, self.one)

    def log_infinite(self, more: bool) -> float:
        all_of, rest = (self.one, self.zero) if more else (self.zero, self.one)
        return self.trials * log_share(all_of, rest)


@dataclass(frozen=True)
class NegativeBinomialNoise:
    """Pr[s] = C(s + shape - 1, s) theta^s (1 - theta)^shape, for any shape > 0."""

    shape: float
    theta: float
    rest: float  # 1 - theta: one of the two is exact, the other rounded

    def of_users(self, users: int) -> NegativeBinomialNoise:
        return NegativeBinomialNoise(self.shape * users, self.theta, self.rest)

    @property
    def log_theta(self) -> float:
        return log_share(self.theta, self.rest)

    def log_infinite(self, more: bool) -> float:
        return -math.inf if more else self.shape * log_share(self.rest, self.theta)


Noise = PoissonNoise | BinomialNoise | NegativeBinomialNoise


@dataclass(frozen=True)
class UniformDummies:
    """A fixed number of dummies in all, each of them any of `values` values."""

    total: int
    values: int

    @property
    def law(self) -> ThreePointLaw:
        """Of the user's message and the dummies, as if all were sent by users: with n_a and n_b of
        the two values in question among `total` + 1 uniform messages, the divergence is
        values E[(n_a - alpha n_b)_+] / (total + 1)."""
        clone = 2 / self.values
        return ThreePointLaw(math.inf, clone, 1 - clone)
