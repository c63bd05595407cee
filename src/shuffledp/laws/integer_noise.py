"""Noise on integers: characteristic functions of discrete Gaussian, Skellam and binomial laws.

All are symmetric and log-concave, and so are their sums. Each law offers its cumulant generating
function K(lam) = log E[exp(lam X)] and the characteristic function of the law tilted by
exp(lam x - K(lam)), in forms without cancellation; `engines/tails.py` inverts it.

Theory: docs/theory/integer-noise.md, docs/theory/integer-vectors.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from .._support.numeric import UNIT, Array

# proof constants: docs/theory/constants.md
#: Standard deviation from which on a discrete Gaussian law is summed over frequencies.
_FREQUENCIES_FROM = 0.5
#: Frequencies on each side of 0 that are not negligible, and integers around the mean below that.
_FREQUENCIES, _INTEGERS = 4, 6
#: Integers that a share below that standard deviation can reach with a probability above 1e-300.
_FARTHEST_SHARE = 26
#: From here on I_1(t)/I_0(t) has a lower bound in powers of 1/t, and below a series.
_SERIES_UP_TO, _SERIES_TERMS = 16.0, 60
#: Vectors of a dual lattice whose terms are added up one squared length at a time.
_LENGTHS = 64


class Turned(NamedTuple):
    """A characteristic function turned by -x: exp(log_modulus + i phase), and what was added up.

    Each of the two numbers errs by a few units of rounding of `size`.
    """

    log_modulus: Array
    phase: Array
    size: Array


class IntegerNoise(ABC):
    """The law of a symmetric, log-concave variable X on the integers, or on the integers + 1/2."""

    @property
    def offset(self) -> float:
        """0 if X is whole, 1/2 if X is halfway between two integers."""
        return 0.0

    @property
    def top(self) -> float:
        """The largest value of X."""
        return math.inf

    @abstractmethod
    def saddle(self, x: Array) -> Array:
        """About the tilt under which X has the mean x >= 0; any positive tilt is as sound."""

    @abstractmethod
    def moments(self, tilt: Array) -> tuple[Array, Array]:
        """About the mean and the variance of X under a tilt; any numbers are as sound."""

    @abstractmethod
    def cumulant(self, tilt: Array) -> Array:
        """K(tilt) >= 0 of tilts >= 0."""

    def cumulant_error(self, tilt: Array) -> Array:
        """A bound on the relative error of `cumulant`."""
        return np.full(np.shape(tilt), 32 * UNIT)

    @abstractmethod
    def turned(self, tilt: Array, angle: Array, x: Array) -> Turned:
        """The characteristic function of X - x under a tilt, at angles in [0, pi]."""

    @abstractmethod
    def log_modulus_bound(self, tilt: Array, angle: Array) -> Array:
        """At least log of the modulus of the characteristic function from this angle on to pi."""

    def loss(self, x: Array, shift: int) -> Array | None:
        """log Pr[X = x - shift]/Pr[X = x] within 4 units of rounding, if there is a formula."""
        return None

    @property
    def curvature(self) -> float:
        """At least log p(x)^2/(p(x-1) p(x+1)) of the masses p at all x; infinite if unknown."""
        return math.inf


@dataclass(frozen=True)
class SkellamLaw(IntegerNoise):
    """The difference of two Poisson variables with mean `mu` each: K = 2 mu (cosh(lam) - 1)."""

    mu: float

    def of_users(self, users: int) -> SkellamLaw:
        """The law of the sum of `users` independent shares."""
        return SkellamLaw(self.mu * users)

    @property
    def curvature(self) -> float:
        """2 log I_0(t)/I_1(t) with t = 2 mu, at 0, where it is the largest."""
        t = 2 * self.mu
        if t >= _SERIES_UP_TO:
            less = 1 / (2 * t) + 1 / (8 * t**2) + 1 / (4 * t**3)
            return -2 * math.log1p(-less) * (1 + 16 * UNIT)
        even, odd, term = 0.0, 0.0, 1.0
        for j in range(_SERIES_TERMS):
            even, odd = even + term, odd + term * t / (2 * (j + 1))
            term *= (t / (2 * (j + 1))) ** 2
        return 2 * math.log(even / odd) + 512 * UNIT if odd > 0 else math.inf

    def saddle(self, x: Array) -> Array:
        return np.arcsinh(x / (2 * self.mu))

    def moments(self, tilt: Array) -> tuple[Array, Array]:
        return 2 * self.mu * np.sinh(tilt), 2 * self.mu * np.cosh(tilt)

    def cumulant(self, tilt: Array) -> Array:
        return 4 * self.mu * np.sinh(tilt / 2) ** 2

    def turned(self, tilt: Array, angle: Array, x: Array) -> Turned:
        fall, turn = self.log_modulus_bound(tilt, angle), 2 * self.mu * np.sinh(tilt)
        turn, back = turn * np.sin(angle), angle * x
        return Turned(fall, turn - back, turn + back - fall)

    def log_modulus_bound(self, tilt: Array, angle: Array) -> Array:
        bound: Array = -4 * self.mu * np.cosh(tilt) * np.sin(angle / 2) ** 2
        return bound


@dataclass(frozen=True)
class FairCoins(IntegerNoise):
    """The number of heads of `coins` fair coins less its mean: K = coins log cosh(lam/2)."""

    coins: int

    def of_users(self, users: int) -> FairCoins:
        return FairCoins(self.coins * users)

    @property
    def offset(self) -> float:
        return self.coins % 2 / 2

    @property
    def top(self) -> float:
        return self.coins / 2

    def saddle(self, x: Array) -> Array:
        return 2 * np.arctanh(np.minimum(2 * x / (self.coins + 1), 1 - 2.0**-50))

    def moments(self, tilt: Array) -> tuple[Array, Array]:
        half = np.minimum(tilt / 2, 300.0)
        return self.coins / 2 * np.tanh(half), self.coins / 4 / np.cosh(half) ** 2

    def cumulant(self, tilt: Array) -> Array:
        half = tilt / 2
        near = np.log1p(np.sinh(np.minimum(half, 10.0)) ** 2) / 2
        far = half - math.log(2) + np.log1p(np.exp(-tilt))
        return self.coins * np.where(half < 10.0, near, far)

    def turned(self, tilt: Array, angle: Array, x: Array) -> Turned:
        fall, half = self.log_modulus_bound(tilt, angle), np.minimum(tilt / 2, 300.0)
        turn = self.coins * np.arctan2(np.tanh(half) * np.sin(angle / 2), np.cos(angle / 2))
        back = angle * x
        return Turned(fall, turn - back, turn + back - fall)

    def log_modulus_bound(self, tilt: Array, angle: Array) -> Array:
        """|cosh(a + ib)|^2 is cosh(a)^2 - sin(b)^2, and also sinh(a)^2 + cos(b)^2."""
        half = np.minimum(tilt / 2, 300.0)
        lost = (np.sin(angle / 2) / np.cosh(half)) ** 2
        left = np.tanh(half) ** 2 + (np.cos(angle / 2) / np.cosh(half)) ** 2
        return self.coins / 2 * _log_of(left, -lost)


@dataclass(frozen=True)
class DiscreteGaussianLaw(IntegerNoise):
    """The sum of `shares` variables with masses proportional to exp(-x^2/(2 sigma^2)).

    From _FREQUENCIES_FROM on, Poisson's summation gives the characteristic function; below, few
    integers have a mass that counts. The sum of more than one is no discrete Gaussian.
    """

    sigma: float
    shares: int = 1

    def of_users(self, users: int) -> DiscreteGaussianLaw:
        return DiscreteGaussianLaw(self.sigma, self.shares * users)

    @property
    def _is_wide(self) -> bool:
        return self.sigma >= _FREQUENCIES_FROM

    @property
    def curvature(self) -> float:
        """1/(shares sigma^2), and what the sum's distance from a discrete Gaussian law adds.

        The masses are exp(-x^2/(2 shares sigma^2)) times Theta(x), which is a sum over a lattice:
        1 and terms whose sums, weighted with their squared frequencies, are bounded here.
        """
        h, plain = self.shares, 1 / (self.shares * self.sigma**2) * (1 + 8 * UNIT)
        if h == 1:
            return plain
        choices, deep = math.log(2 * h + 1), 2 * (math.pi * self.sigma) ** 2
        ratio = math.exp(choices - deep / 2)  # of terms that fall at least geometrically
        if ratio > 0.5:
            return math.inf
        m = np.arange(1.0, _LENGTHS + 1)
        terms = np.exp(m * (choices - deep * np.maximum(1 - m / h, 0.5)))
        rest = 4 * (_LENGTHS + 1) ** 2 * ratio ** (_LENGTHS + 1)
        none, once, twice = (float((terms * m**i).sum()) + rest for i in range(3))
        if none >= 0.5:
            return math.inf
        turn = 2 * math.pi / h
        change = turn**2 * twice / (1 - none) + (turn * once / (1 - none)) ** 2
        return plain - math.log1p(-change) * (1 + 1e-9) if change < 0.5 else math.inf

    def loss(self, x: Array, shift: int) -> Array | None:
        if self.shares > 1:
            return None
        return (2 * x - shift) * (shift / (2 * self.sigma**2))

    def saddle(self, x: Array) -> Array:
        """The tilted mean of a share and sigma^2 times the tilt differ by less than 1."""
        each = x / self.shares
        if self._is_wide:
            return each / self.sigma**2
        low, high = np.maximum(each - 1, 0.0) / self.sigma**2, (each + 1) / self.sigma**2
        # to about a hundredth of the inverse standard deviation
        for _ in range(16 + self.shares.bit_length() // 2):
            middle = (low + high) / 2
            below = self.moments(middle)[0] < x
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def moments(self, tilt: Array) -> tuple[Array, Array]:
        if self._is_wide:
            variance = self.shares * self.sigma**2
            return variance * tilt, np.full(np.shape(tilt), variance)
        weight, place = self._weights(tilt[..., None])
        mean = np.sum(weight * place, axis=-1, keepdims=True)
        variances = np.sum(weight * (place - mean) ** 2, axis=-1)
        return self.shares * mean[..., 0], self.shares * variances

    def cumulant_error(self, tilt: Array) -> Array:
        if self._is_wide:
            return super().cumulant_error(tilt)
        # the largest terms belong to integers up to 2 + sigma^2 tilt
        place = 2 + self.sigma**2 * tilt
        return 32 * UNIT * (1 + place * tilt + place**2 / (2 * self.sigma**2))

    def _weights(self, tilt: Array) -> tuple[Array, Array]:
        """The masses under a tilt of the integers around the mean, and these; last axis."""
        mean = self.sigma**2 * tilt
        centre, around = np.rint(mean), np.arange(-_INTEGERS, _INTEGERS + 1.0)
        weight = np.exp(-around * (around - 2 * (mean - centre)) / (2 * self.sigma**2))
        return weight / weight.sum(axis=-1, keepdims=True), centre + around

    @cached_property
    def _log_masses(self) -> Array:
        """log Pr[1], log Pr[2], ... of one share below _FREQUENCIES_FROM."""
        x = np.arange(1.0, _FARTHEST_SHARE + 1)
        log_mass = -(x**2) / (2 * self.sigma**2)
        masses: Array = log_mass - math.log1p(2 * float(np.exp(log_mass).sum()))
        return masses

    def cumulant(self, tilt: Array) -> Array:
        tilt = np.asarray(tilt, dtype=float)
        if self._is_wide:
            ripple, at_zero = np.zeros(tilt.shape), 1.0
            for k in range(1, _FREQUENCIES + 1):
                height = math.exp(-2 * (math.pi * self.sigma * k) ** 2)
                ripple -= 4 * height * np.sin(math.pi * k * self.sigma**2 * tilt) ** 2
                at_zero += 2 * height
            return self.shares * ((self.sigma * tilt) ** 2 / 2 + np.log1p(ripple / at_zero))
        # 1 + sum over x >= 1 of p(x) (e^(lam x) - 2 + e^(-lam x))
        x, lam = np.arange(1.0, _FARTHEST_SHARE + 1), np.maximum(tilt, 1e-300)[..., None]
        terms = self._log_masses + lam * x + 2 * np.log(-np.expm1(-lam * x))
        largest = terms.max(axis=-1)
        total = largest + np.log(np.exp(terms - largest[..., None]).sum(axis=-1))
        cumulant: Array = self.shares * np.logaddexp(0.0, total)
        return cumulant

    def turned(self, tilt: Array, angle: Array, x: Array) -> Turned:
        fall, turn, centre = (self._of_frequencies if self._is_wide else self._of_integers)(
            tilt, angle
        )
        back = angle * (self.shares * centre - x)
        fall, turn = self.shares * fall, self.shares * turn
        # below _FREQUENCIES_FROM, weights err like the tilt
        size = np.abs(turn) + np.abs(back) - fall
        size = size if self._is_wide else size + 2 * _INTEGERS * tilt + angle * x
        return Turned(fall, turn + back, size)

    def _of_frequencies(self, tilt: Array, angle: Array) -> tuple[Array, Array, float]:
        """exp(-sigma^2 angle^2/2 + i sigma^2 tilt angle) times S(angle)/S(0), S a sum over k."""
        square = self.sigma**2
        at_zero, change, imaginary = 1.0 + 0 * tilt, 0.0 * angle, 0.0 * angle
        for k in range(1, _FREQUENCIES + 1):
            deep, slope = 2 * (math.pi * self.sigma * k) ** 2, 2 * math.pi * k * square
            turn, rise = slope * tilt, slope * angle
            at_zero = at_zero + 2 * math.exp(-deep) * np.cos(turn)
            height = np.exp(rise - deep)
            change = change + height * np.expm1(-rise) ** 2 * np.cos(turn)
            imaginary = imaginary + height * np.expm1(-2 * rise) * np.sin(turn)
        lost = change * (change + 2 * at_zero) + imaginary**2
        left = (at_zero + change) ** 2 + imaginary**2
        fall = -square * angle**2 / 2 + _log_of(left / at_zero**2, lost / at_zero**2) / 2
        return fall, square * tilt * angle + np.arctan2(imaginary, at_zero + change), 0.0

    def _of_integers(self, tilt: Array, angle: Array) -> tuple[Array, Array, Array]:
        """The sum over the integers around the mean, turned by the one in the middle."""
        weight, place = self._weights(tilt)
        centre = place[..., _INTEGERS : _INTEGERS + 1]
        lost, imaginary = 0.0 * angle, 0.0 * angle
        for i, step in enumerate(range(-_INTEGERS, _INTEGERS + 1)):
            lost = lost - 2 * weight[..., i : i + 1] * np.sin(step * angle / 2) ** 2
            imaginary = imaginary + weight[..., i : i + 1] * np.sin(step * angle)
        left = (1 + lost) ** 2 + imaginary**2
        fall = _log_of(left, lost * (lost + 2) + imaginary**2) / 2
        return fall, np.arctan2(imaginary, 1 + lost), centre

    def log_modulus_bound(self, tilt: Array, angle: Array) -> Array:
        """The sum over k without its signs, which falls up to pi; or, for any law on integers,
        1 - |phi|^2 >= 2 (1 - cos(angle)) sum p(x) p(x+1)."""
        if not self._is_wide:
            weight, _ = self._weights(tilt)
            pairs = np.einsum("...i,...i->...", weight[..., 1:], weight[..., :-1])[..., None]
            lost = np.minimum(4 * pairs * np.sin(angle / 2) ** 2 * (1 - 1e-9), 0.75)
            of_pairs: Array = self.shares / 2 * np.log1p(-lost)
            return of_pairs
        square = self.sigma**2
        signed, absolute = 1.0 + 0 * tilt, 1.0 + 0 * angle
        for k in range(1, _FREQUENCIES + 1):
            deep, slope = 2 * (math.pi * self.sigma * k) ** 2, 2 * math.pi * k * square
            signed = signed + 2 * math.exp(-deep) * np.cos(slope * tilt)
            absolute = absolute + np.exp(slope * angle - deep) * (1 + np.exp(-2 * slope * angle))
        fall = -square * angle**2 / 2 + np.log(absolute) - np.log(signed) + 1e-9
        bound: Array = self.shares * np.minimum(fall, 0.0)
        return bound


def _log_of(value: Array, change: Array) -> Array:
    """log(value), where value = 1 + change: from the one of the two that is accurate."""
    far, near = np.log(np.maximum(value, 1e-300)), np.log1p(np.maximum(change, -0.5))
    return np.where(change < -0.5, far, near)


@dataclass(frozen=True)
class PolyaDifference:
    """The sum of `users` shares of discrete Laplace noise, of which `needed` make it complete.

    A share is the difference of two negative binomial variables of the shape 1/needed, with theta =
    e^(-1/scale). The sum is such a difference of the shape r = users/needed,

        Pr[x] = (1-theta)^(2r) theta^x sum over j >= 0 of w(x+j) w(j) theta^(2j) for x >= 0,

    w(j) = C(j + r - 1, j): for r = 1 the discrete Laplace law, whose masses are proportional to
    theta^|x|. From r = 1 on the masses are log-concave; below, those of x >= 0 are log-convex.
    """

    scale: float
    needed: int = 1
    users: int = 1

    def of_users(self, users: int) -> PolyaDifference:
        return PolyaDifference(self.scale, self.needed, self.users * users)

    @property
    def shape(self) -> float:
        return self.users / self.needed


IntegerShare = DiscreteGaussianLaw | SkellamLaw | FairCoins | PolyaDifference
#: Those of which a bound for vectors is known.
VectorShare = DiscreteGaussianLaw | SkellamLaw


@dataclass(frozen=True)
class SharedNoise:
    """What a user adds to sums: a share of noise to each of some columns, and the value.

    Parameters
    ----------
    share : IntegerShare
        The law of a share.
    shift : int
        The most that a value adds to a column.
    is_histogram : bool
        Whether a value adds `shift` to one of several columns, rather than up to that to the only
        one.
    """

    #: The neighbouring relations that are defined: zeros stand for a missing value.
    relations: ClassVar[tuple[str, ...]] = ("replace", "remove")

    share: IntegerShare
    shift: int
    is_histogram: bool


@dataclass(frozen=True)
class SharedVectorNoise:
    """A vector of whole numbers, and a share of noise in each of its coordinates.

    Parameters
    ----------
    share : VectorShare
        The law of a share.
    norm : float
        The largest L2 norm of a vector.
    dimension : int
    """

    #: Zeros stand for a missing vector.
    relations: ClassVar[tuple[str, ...]] = ("replace", "remove")

    share: VectorShare
    norm: float
    dimension: int
