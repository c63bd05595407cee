"""Random bits, and what is made of them without any rounding: coins and uniform whole numbers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from ..errors import InvalidParameter

Words = NDArray[np.uint64]
Whole = NDArray[np.int64]

#: Probabilities are whole multiples of 2^-64.
BITS = 64
_FIRST = 16  # of the bits of a coin: the others are needed only if these leave it open


def replay(recorded: bytes) -> Callable[[int], bytes]:
    """Return a function that gives these bytes, as many at a time as asked for, and no more."""
    place = 0

    def take(size: int) -> bytes:
        nonlocal place
        if place + size > len(recorded):
            raise InvalidParameter(
                f"{len(recorded)} random bytes are too few for this message; give more."
            )
        place += size
        return recorded[place - size : place]

    return take


class Source:
    """A source of independent fair bits: the operating system's, or those of a generator.

    Parameters
    ----------
    rng : numpy.random.Generator, optional
        For simulations only; by default the bits come from the operating system.

    Raises
    ------
    InvalidParameter
        If `rng` is something else.

    Examples
    --------
    >>> from shuffledp.clients import Source
    >>> 0 <= int(Source().below(6, size=1)[0]) < 6
    True
    """

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        wrong = "is no numpy Generator; give one, or None for the system's entropy."
        kinds = (np.random.Generator, type(None))
        self._bytes: Callable[[int], bytes]
        rng = validate.instance(rng, kinds, wrong, "rng")
        self._bytes = os.urandom if rng is None else rng.bytes

    @classmethod
    def of(cls, recorded: bytes) -> Source:
        """Source of these bytes and no more, for test vectors.

        Parameters
        ----------
        recorded : bytes
            The bytes, in the order in which they are given out.

        Returns
        -------
        Source
            It raises InvalidParameter when they are used up.
        """
        source = cls()
        source._bytes = replay(recorded)
        return source

    def take(self, size: int) -> bytes:
        """Random bytes.

        Parameters
        ----------
        size : int
            How many to draw.

        Returns
        -------
        bytes
            So many bytes.
        """
        return self._bytes(size)

    def draw(self, size: int, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        """Uniform unsigned whole numbers of a numpy type.

        Parameters
        ----------
        size : int
            How many to draw.
        kind : type
            Such as numpy.uint16.

        Returns
        -------
        ndarray
            Shape [size], little-endian.
        """
        width = np.dtype(kind).itemsize
        return np.frombuffer(self._bytes(size * width), dtype=np.dtype(kind).newbyteorder("<"))

    def words(self, size: int) -> Words:
        """Uniform whole numbers of 64 bits.

        Parameters
        ----------
        size : int
            How many to draw.

        Returns
        -------
        ndarray of uint64
            Shape [size].
        """
        return self.draw(size, np.uint64).astype(np.uint64, copy=False)

    def below(self, limit: int, size: int) -> Whole:
        """Exactly uniform whole numbers in 0 .. limit - 1.

        Whatever is not below the limit is drawn again.

        Parameters
        ----------
        limit : int
            1 to 2^63.
        size : int
            How many to draw.

        Returns
        -------
        ndarray of int64
            Shape [size].
        """
        bits = (limit - 1).bit_length()
        if bits == 0:
            return np.zeros(size, dtype=np.int64)
        kind: type[np.unsignedinteger[Any]] = np.uint32 if bits <= 32 else np.uint64
        unused = np.dtype(kind).itemsize * 8 - bits
        found = np.empty(size, dtype=np.int64)
        open_ = np.arange(size)
        while len(open_):
            drawn = (self.draw(len(open_), kind) >> kind(unused)).astype(np.int64)
            fits = drawn < limit
            found[open_[fits]] = drawn[fits]
            open_ = open_[~fits]
        return found


@dataclass(frozen=True)
class Coin:
    """True with the probability threshold/2^64, exactly.

    >>> Coin.at_most(Fraction(1, 3)).threshold * 3 == 2**64 - 1
    True
    """

    threshold: int  # in 0 .. 2^64

    @classmethod
    def at_most(cls, probability: Fraction) -> Coin:
        """The likeliest coin that is no likelier than this."""
        return cls((probability.numerator << BITS) // probability.denominator)

    @classmethod
    def at_least(cls, probability: Fraction) -> Coin:
        """The least likely coin that is no less likely than this."""
        return cls(-((-probability.numerator << BITS) // probability.denominator))

    @property
    def probability(self) -> Fraction:
        return Fraction(self.threshold, 1 << BITS)

    def toss(self, source: Source, size: int) -> NDArray[np.bool_]:
        """The number of all 64 bits is below the threshold: mostly the first 16 decide that."""
        rest = BITS - _FIRST
        top, low = self.threshold >> rest, self.threshold & ((1 << rest) - 1)
        first = source.draw(size, np.uint16)
        heads = first < top
        open_ = np.flatnonzero(first == top)
        heads[open_] = (source.words(len(open_)) >> np.uint64(_FIRST)) < np.uint64(low)
        return np.asarray(heads)


def rounded_at_random(exact: NDArray[np.float64], source: Source) -> Whole:
    """Either of the two whole numbers around each number, such that the mean is that number."""
    floor = np.floor(exact)
    chance = source.words(exact.size).reshape(exact.shape) >> np.uint64(11)
    up = chance < np.ldexp(exact - floor, 53).astype(np.uint64)
    return floor.astype(np.int64) + up
