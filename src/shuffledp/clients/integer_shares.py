"""The client that adds a share of integer noise to every column, drawn exactly from fair bits.

Discrete Gaussian noise is drawn by rejection from discrete Laplace noise (Canonne, Kamath, Steinke
2020, Algorithm 3); the parts of the other shares by inversion with as many digits as it takes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.numeric import Array
from .._support.rational import exp_bracket
from ..errors import InvalidParameter
from .base import Client, MessageForm, countable, whole_values
from .counts import Counts, Estimate, MeanEstimate
from .entropy import BITS, Source, Whole
from .exact_noise import UNSURE, WHOLE_PARTS
from .inversion import Inversion, decimal, of_masses
from .mean_client import exact_sums
from .program import Expression, Program, RatioLaw, message_of, poisson_law, whole_value

_TOGETHER = 32  # the mean of a Poisson variable that is drawn as one
_REACH = 12  # standard deviations for which a group has to have room
_MOST_MEAN = 10**4  # of a Poisson variable that is drawn


class Share(ABC):
    """The law of a share, for those who draw it."""

    @property
    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """The mean and the variance."""

    @abstractmethod
    def draw(self, source: Source, size: int) -> Whole:
        """So many independent shares."""

    def code(self, size: int) -> tuple[Expression, tuple[RatioLaw, ...]]:
        """So many of them as coins and choices, and the laws that are drawn from."""
        raise InvalidParameter(
            f"{type(self).__name__} has no specification: its sampler computes exponentials to any "
            "number of digits; choose skellam or binomial."
        )


@dataclass(frozen=True)
class DiscreteGaussianShare(Share):
    """x with probability proportional to exp(-x^2/(2 sigma^2))."""

    sigma: Fraction

    @property
    def moments(self) -> tuple[float, float]:
        if self.sigma > 10:  # the two differ by less than e^-1900
            return 0.0, float(self.sigma) ** 2
        x = np.arange(1.0, 400.0)
        weight = np.exp(-(x**2) / (2 * float(self.sigma) ** 2))
        return 0.0, float(2 * (x**2 * weight).sum() / (1 + 2 * weight.sum()))

    @cached_property
    def _step(self) -> int:
        """The scale of the discrete Laplace noise that is thinned out."""
        return math.floor(self.sigma) + 1

    def exponent(self, magnitude: int) -> Fraction:
        """A candidate is kept with probability e^-exponent."""
        square = self.sigma**2
        return (magnitude - square / self._step) ** 2 / (2 * square)

    def _exponents(self, magnitudes: Whole, i: int) -> Fraction:
        return self.exponent(int(magnitudes[i]))

    def draw(self, source: Source, size: int) -> Whole:
        found, open_ = np.empty(size, dtype=np.int64), np.arange(size)
        sigma = float(self.sigma)
        while len(open_):
            drawn = discrete_laplace(source, len(open_), self._step)
            magnitude = np.abs(drawn)
            about = (magnitude - sigma**2 / self._step) ** 2 / (2 * sigma**2)
            kept = occurs(source, about, partial(self._exponents, magnitude))
            found[open_[kept]] = drawn[kept]
            open_ = open_[~kept]
        return found


@dataclass(frozen=True)
class SkellamShare(Share):
    """The difference of two Poisson variables."""

    mu: Fraction

    @property
    def moments(self) -> tuple[float, float]:
        return 0.0, 2 * float(self.mu)

    def draw(self, source: Source, size: int) -> Whole:
        if self.mu > _MOST_MEAN:
            raise InvalidParameter(
                f"skellam={float(self.mu):g} is above {_MOST_MEAN}, the most that a client draws; "
                "choose a smaller share."
            )
        law = _poisson(self.mu / self._parts)
        first, second = (
            law.draw(source, self._parts * size).reshape(self._parts, size).sum(axis=0)
            for _ in range(2)
        )
        return np.asarray(first - second)

    @property
    def _parts(self) -> int:
        """Poisson variables that are drawn as one each, and added up."""
        return max(1, math.ceil(self.mu / _TOGETHER))

    def code(self, size: int) -> tuple[Expression, tuple[RatioLaw, ...]]:
        half = ["fold", ["law", "0", str(self._parts * size)], str(size)]
        return ["minus", half, half], (poisson_law(self.mu / self._parts),)


@dataclass(frozen=True)
class CoinsShare(Share):
    """The number of heads of fair coins."""

    coins: int

    @property
    def moments(self) -> tuple[float, float]:
        return self.coins / 2, self.coins / 4

    def draw(self, source: Source, size: int) -> Whole:
        """Bits, counted byte by byte; those of the last byte that are too many are cleared."""
        width = -(-self.coins // 8)
        flips = source.draw(size * width, np.uint8).reshape(size, width).copy()
        flips[:, -1] &= 0xFF >> (8 * width - self.coins)
        return np.asarray(_BYTE_WEIGHTS[flips].sum(axis=1, dtype=np.int64))

    def code(self, size: int) -> tuple[Expression, tuple[RatioLaw, ...]]:
        return ["heads", str(size), str(self.coins)], ()


@dataclass(frozen=True)
class PolyaShare(Share):
    """The difference of two negative binomial variables of shape 1/complete, theta = e^(-1/scale).

    The shares of `complete` users add up to discrete Laplace noise.
    """

    scale: Fraction
    complete: int

    @property
    def moments(self) -> tuple[float, float]:
        scale = float(self.scale)
        theta, rest = math.exp(-1 / scale), -math.expm1(-1 / scale)
        return 0.0, 2 * theta / rest**2 / self.complete

    def draw(self, source: Source, size: int) -> Whole:
        first, second = _polya(self.scale, self.complete).draw(source, 2 * size).reshape(2, size)
        return np.asarray(first - second)


def discrete_laplace(source: Source, size: int, step: int) -> Whole:
    """x with probability proportional to e^(-|x|/step), for a whole number step >= 1."""
    found, open_ = np.empty(size, dtype=np.int64), np.arange(size)
    while len(open_):
        rest = source.below(step, len(open_))
        kept = occurs(source, rest / step, partial(_quotients, rest, step))
        magnitude = rest + step * WHOLE_PARTS.draw(source, len(open_))
        negative = (source.draw(len(open_), np.uint8) & 1).astype(bool)
        kept &= ~(negative & (magnitude == 0))  # there is one 0 only
        found[open_[kept]] = np.where(negative, -magnitude, magnitude)[kept]
        open_ = open_[~kept]
    return found


def _quotients(rest: Whole, step: int, i: int) -> Fraction:
    return Fraction(int(rest[i]), step)


def occurs(source: Source, about: Array, exactly: Callable[[int], Fraction]) -> NDArray[np.bool_]:
    """Events of the probabilities e^-x, exactly, of which floats are about right.

    Parameters
    ----------
    source : Source
    about : Array
        Numbers x >= 0, each within 16 units of rounding.
    exactly : Callable
        The number x with this index as a fraction; asked for where a float does not decide.
    """
    test = source.words(len(about))
    gap = np.exp(-about) - np.ldexp(test.astype(float), -BITS)
    found = np.asarray(gap > 0)
    for i in np.flatnonzero(np.abs(gap) <= UNSURE).tolist():
        digits, size = int(test[i]), BITS
        while True:
            low, high = exp_bracket(-exactly(i), size)
            if Fraction(digits + 1, 1 << size) <= low or Fraction(digits, 1 << size) >= high:
                found[i] = Fraction(digits + 1, 1 << size) <= low
                break
            digits, size = (digits << BITS) | int(source.words(1)[0]), size + BITS
    return found


@lru_cache(64)
def _poisson(mean: Fraction) -> Inversion:
    return Inversion(
        of_masses(
            lambda context: context.exp(decimal(-mean, context)),
            lambda context, j: decimal(mean / (j + 1), context),
        )
    )


@lru_cache(64)
def _polya(scale: Fraction, complete: int) -> Inversion:
    """A negative binomial law of shape 1/complete."""

    @lru_cache(4)
    def theta(precision: int) -> Decimal:
        context = Context(prec=precision)
        return context.exp(decimal(-1 / scale, context))

    def none(context: Context) -> Decimal:
        rest = context.subtract(1, theta(context.prec))
        return context.exp(context.divide(context.ln(rest), complete))

    def ratio(context: Context, j: int) -> Decimal:
        share = decimal(Fraction(j * complete + 1, complete * (j + 1)), context)
        return context.multiply(theta(context.prec), share)

    return Inversion(of_masses(none, ratio))


#: The number of ones of each byte.
_BYTE_WEIGHTS = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.int64)


@dataclass(frozen=True)
class SharesClient(Client):
    """Sends a share of noise for every column, plus the value; or for the only one.

    A message is k whole numbers, 1 more in the column of the value; users who have no value, -1,
    send noise alone. Without k it is one number, the value in 0 .. largest plus the noise. With a
    norm it is a vector of k whole numbers, of at most that L2 norm, plus the noise. All of it may
    be reduced modulo the size of a group before it is added up: `lifted` undoes that.
    """

    share: Share
    k: int | None
    largest: int
    norm: float | None = None

    @property
    def bits(self) -> int:
        return 64 * self.width

    @property
    def width(self) -> int:
        return self.k or 1

    @property
    def rank(self) -> int:
        return 0 if self.norm is None else 1

    def checked(self, values: Any) -> NDArray[Any]:
        if self.norm is not None:
            return self._vectors(values, self.norm)
        return whole_values(values, self.k or self.largest + 1, least=-1 if self.k else 0)

    def _vectors(self, values: Any, norm: float) -> Whole:
        array = np.asarray(values)
        if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != self.k:
            raise InvalidParameter(
                f"values={validate.show(values)} is not a list of vectors of {self.k} whole "
                "numbers; round the coordinates."
            )
        # squares of coordinates within the norm are no more than 10^12, and add up in 64 bits
        inside = np.asarray(((array >= -norm) & (array <= norm)).all(axis=1))
        small = np.where(inside[:, None], array, 0).astype(np.int64)
        squares = np.einsum("ij,ij->i", small, small)
        wrong = np.flatnonzero(~inside | (squares > math.floor(Fraction(norm) ** 2)))
        if len(wrong):
            length = math.sqrt(sum(int(x) ** 2 for x in array[wrong[0]]))
            raise InvalidParameter(
                f"values[{wrong[0]}] has L2 norm {length:.6g}, above norm={norm:g}; scale the "
                "vector before it is rounded."
            )
        return array.astype(np.int64, copy=False)

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        size = len(values)
        if self.k is None:
            return np.asarray(self.share.draw(source, size) + values)
        noise: NDArray[Any] = self.share.draw(source, size * countable(self.k))
        noise = noise.reshape(size, self.k)
        if self.norm is not None:
            return np.asarray(noise + values)
        held = np.flatnonzero(values >= 0)
        noise[held, values[held]] += 1
        return noise

    def program(self) -> Program:
        if self.norm is not None:
            raise InvalidParameter(
                "shares of vectors have no specification: a device program takes a single number; "
                "run the client in Python."
            )
        noise, laws = self.share.code(self.width)
        if self.k is None:
            form = message_of("number", "int64")
            return Program(whole_value(self.largest + 1), form, ["add", noise, "value"], laws)
        code = ["add", noise, ["hot", str(self.k), "value"]]
        return Program(whole_value(self.k, -1), message_of("list", "int64", self.k), code, laws)

    @property
    def form(self) -> MessageForm:
        return MessageForm("sum", () if self.k is None else (self.k,), None, None, self.width)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        return exact_sums(messages)

    def lifted(self, counts: Counts) -> Counts:
        """The sums themselves, where an aggregator tells them modulo the size of its group.

        The values of all users add up to 0 .. n or 0 .. n largest, the coordinates of vectors to
        -n norm .. n norm. So the sum is the only number with the residue, unless the noise is 12
        standard deviations from its mean.
        """
        size, users = counts.modulus, counts.users
        if size is None:
            return counts
        mean, variance = self.share.moments
        largest = 1 if self.k else self.largest
        least = 0
        if self.norm is not None:
            largest = math.floor(self.norm)
            least = -largest
        spare = size - users * (largest - least) - 2
        needed = 2 * _REACH * math.sqrt(users * variance)
        if spare < needed:
            raise InvalidParameter(
                f"modulus={size} leaves {spare} for the noise of {users:,} users, less than "
                f"{needed:.0f}, {_REACH} standard deviations on both sides; use a larger group."
            )
        start = users * least + math.floor(users * mean) - spare // 2
        sums = (counts.tally.astype(object) - start) % size + start
        return Counts(users, sums, protocol=counts.protocol)

    def variance(self, users: float, count: Any) -> Any:
        """That of the noise, however many have the value."""
        return users * self.share.moments[1]

    def mean_variance(self, users: float) -> float:
        return self.share.moments[1] / users

    def estimate(self, counts: Counts) -> Estimate | MeanEstimate:
        """The sums, less the mean of the noise."""
        users, (mean, variance) = counts.users, self.share.moments
        sums = self._checked_counts(self.lifted(counts)).tally
        found = sums.astype(float) - users * mean
        if self.k is not None and self.norm is None:
            error = math.sqrt(users * variance)
            return Estimate(users, found, np.full(self.k, error), error)
        if users == 0:
            raise InvalidParameter("there are 0 messages, which have no mean; give at least one.")
        error = math.sqrt(variance / users)
        if self.k is not None:
            return MeanEstimate(users, found / users, np.full(self.k, error))
        return MeanEstimate(users, float(found[0]) / users, error)
