"""What a client does, and the common part of those that count supporters of each value."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.numeric import Array
from ..errors import InvalidParameter
from .counts import Counts, Estimate, MeanEstimate
from .entropy import Source, Whole

if TYPE_CHECKING:
    from .program import Program
    from .specification import Specification

#: Numbers that are worked on at a time.
_BLOCK = 1 << 22
#: The most values whose counts are kept.
MOST_COUNTED = 10**8


class MessageForm(NamedTuple):
    """What messages look like to whoever counts them, and what their tally is.

    Attributes
    ----------
    kind : str
        What the tally counts. "value": how often each whole number was sent; "set": how many
        messages hold each value; "bits": how many have each bit set; "hash": how many answers are
        the hash of each value; "sum": the sum of the messages, for each of their numbers.
    shape : tuple of int
        () if a message is one whole number, (m,) if it is m of them.
    least, limit : int or None
        Each number is in least .. limit - 1; None if it has no limit.
    size : int
        Number of entries of the tally.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse
    >>> RandomizedResponse(k=4, eps0=1.0).client.form
    MessageForm(kind='value', shape=(), least=0, limit=4, size=4)
    """

    kind: str
    shape: tuple[int, ...]
    least: int | None
    limit: int | None
    size: int


class Support(NamedTuple):
    """Probabilities that a message supports the true value, and any other value.

    Attributes
    ----------
    own : float
        Probability that it supports the true value.
    other : float
        Probability that it supports a given other value.

    Examples
    --------
    >>> from math import log
    >>> from shuffledp import RandomizedResponse
    >>> own, other = RandomizedResponse(k=2, eps0=log(3)).client.support
    >>> round(own, 6), round(other, 6)
    (0.75, 0.25)
    """

    own: float
    other: float


@dataclass(frozen=True)
class Client(ABC):
    """Randomizes values, and estimates from messages what the values were.

    What it does with its bits is what was analyzed, or a post-processing of that (docs/clients.md).
    `randomizer.client` makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import RandomizedResponse
    >>> from shuffledp.clients import Source
    >>> client = RandomizedResponse(k=4, eps0=1.0).client
    >>> messages = client.randomize([0, 3, 3], Source(np.random.default_rng(1)))
    >>> client.count(messages).users
    3
    """

    @property
    @abstractmethod
    def bits(self) -> int:
        """Size of a message, in bits."""

    @abstractmethod
    def checked(self, values: Any) -> NDArray[Any]:
        """Values as they are randomized.

        Parameters
        ----------
        values : array_like
            One value per row.

        Returns
        -------
        ndarray
            One value per row.

        Raises
        ------
        InvalidParameter
            If a value is not one of the randomizer's.
        """

    @abstractmethod
    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        """Messages of some checked values.

        Parameters
        ----------
        values : ndarray
            What `checked` returned, one value per row.
        source : Source
            Source of random bits.

        Returns
        -------
        ndarray
            One message per row.
        """

    @property
    @abstractmethod
    def form(self) -> MessageForm:
        """Form of the messages, and of their tally."""

    @abstractmethod
    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        """Sums that are kept of messages.

        Parameters
        ----------
        messages : ndarray
            Messages of this client's form, one per row.

        Returns
        -------
        ndarray
            Whole numbers, shape [form.size].
        """

    def count(self, messages: Any) -> Counts:
        """Counts of messages: all that an estimate needs; counts add up, in any order.

        Parameters
        ----------
        messages : array_like
            Messages of any users, as `randomize` returns them.

        Returns
        -------
        Counts
            Number of users and a tally.

        Raises
        ------
        InvalidParameter
            If a message is not of this client's form.
        """
        array = whole_messages(messages, self.form.shape, self.form.limit, self.form.least)
        return Counts(len(array), self.tally(array))

    def senders(self, messages: int, users: int | None = None) -> int:
        """Number of users who have sent so many messages.

        Parameters
        ----------
        messages : int
            Number of messages.
        users : int, optional
            Number of users, where messages do not tell it.

        Returns
        -------
        int
            Number of users.

        Raises
        ------
        InvalidParameter
            If the two numbers contradict each other.
        """
        if users is not None and users != messages:
            raise InvalidParameter(
                f"users={users} have sent {messages} messages, but each sends one; leave users out."
            )
        return messages

    def _limits(self, users: int) -> tuple[int | None, int | None, int | None]:
        """Least and largest number of a tally of so many users, and the sum; None if there is no
        limit."""
        kind, shape, least, limit, _ = self.form
        if kind in ("value", "set"):
            return 0, users, users * math.prod(shape)
        if kind in ("bits", "hash"):
            return 0, users, None
        if kind == "sum" and least is not None and limit is not None:
            return users * least, users * (limit - 1), None
        return None, None, None

    def _checked_counts(self, counts: Counts) -> Counts:
        """The same counts, if messages of so many users can add up to them."""
        users, tally = counts.users, counts.tally
        give = "give the counts of all messages, and how many users have sent them."
        if counts.modulus is not None:
            raise InvalidParameter(
                f"counts are known modulo {counts.modulus} only; give the counts themselves."
            )
        if len(tally) != self.form.size:
            raise InvalidParameter(
                f"tally has {len(tally)} numbers instead of {self.form.size}; give what count "
                "returned."
            )
        least, most, total = self._limits(users)
        below = () if least is None else np.flatnonzero(tally < least)
        above = () if most is None else np.flatnonzero(tally > most)
        for wrong in (*below[:1], *above[:1]):
            allowed = f"{least} or more" if most is None else f"{least} .. {most}"
            raise InvalidParameter(
                f"tally[{wrong}]={tally[wrong]} is not in {allowed} for users={users}; {give}"
            )
        if total is not None and (found := tally.sum(dtype=object)) != total:
            raise InvalidParameter(
                f"tally adds up to {found} instead of {total} for users={users}; {give}"
            )
        return counts

    @abstractmethod
    def estimate(self, counts: Counts) -> Estimate | MeanEstimate:
        """Estimate of what the users' values were, in total or on average.

        Parameters
        ----------
        counts : Counts
            Counts of messages.

        Returns
        -------
        Estimate or MeanEstimate
            Counts of each value; or the mean, for numbers and vectors.
        """

    @property
    def width(self) -> int:
        """Number of entries that are worked on for each user."""
        return 1

    def supports(self, messages: NDArray[Any], value: Any) -> NDArray[np.bool_]:
        """Whether each message is likelier from this value than from others.

        Parameters
        ----------
        messages : ndarray
            One message per row.
        value : object
            A value of the randomizer.

        Returns
        -------
        ndarray of bool
            One entry per message.

        Raises
        ------
        InvalidParameter
            If messages do not support single values.
        """
        raise InvalidParameter("no message here supports a single value; ask for an estimate.")

    @property
    def rank(self) -> int:
        """Number of dimensions of a value: 0 for a number, 1 for a vector."""
        return 0

    def variance(self, users: float, count: Any) -> Any:
        """Variance of the estimated count of a value.

        Parameters
        ----------
        users : float
            Number of users who send.
        count : float or ndarray
            Number of users who hold the value.

        Returns
        -------
        float or ndarray
            Square of the standard error, in users squared.

        Raises
        ------
        InvalidParameter
            If a mean is estimated.
        """
        raise InvalidParameter("what is estimated is a mean, not counts; ask for mean_variance.")

    def mean_variance(self, users: float) -> float:
        """Variance of the estimated mean, the largest over all data; of vectors, of a coordinate.

        Parameters
        ----------
        users : float
            Number of users who send.

        Returns
        -------
        float
            Square of the largest standard error over all data that users may have.

        Raises
        ------
        InvalidParameter
            If counts are estimated.
        """
        raise InvalidParameter("what is estimated are counts, not a mean; ask for count_variance.")

    #: Why no specification describes it, as the end of a sentence.
    not_specified: ClassVar[str] = "its sampler is no program of coins and uniform choices"

    def program(self) -> Program:
        """Program of coins and uniform choices that does the same with one value.

        Raises
        ------
        InvalidParameter
            If the client is not made of coins and uniform choices; the error says why.
        """
        raise InvalidParameter(
            f"{type(self).__name__} has no specification: {self.not_specified}; run it in Python, "
            "or choose another randomizer."
        )

    def spec(self) -> Specification:
        """Specification with which a device in any language sends the same messages.

        docs/deploy-client.md describes it.
        """
        from .specification import specify

        return specify(self)

    def randomize(self, values: Any, source: Source) -> NDArray[Any]:
        """Messages that users with these values send.

        Parameters
        ----------
        values : array_like
            One value per user, or a single value.
        source : Source
            Source of random bits.

        Returns
        -------
        ndarray
            One message per value along the first axis; for a single value, its message.

        Raises
        ------
        InvalidParameter
            If a value is not one of the randomizer's.
        """
        if np.ndim(values) == self.rank:
            single: NDArray[Any] = self.randomize(np.asarray(values)[None], source)[0]
            return single
        checked, step = self.checked(values), max(1, _BLOCK // self.width)
        starts = range(0, max(len(checked), 1), step)
        parts = [self.messages(checked[i : i + step], source) for i in starts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def whole_values(values: Any, k: int, least: int = 0) -> Whole:
    """Whole numbers in least .. k - 1."""
    array = np.asarray(values)
    if array.size == 0:
        array = np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InvalidParameter(
            f"values={validate.show(values)} is not a list of whole numbers; give numbers in "
            f"{least} .. {k - 1}."
        )
    wrong = np.flatnonzero((array < least) | (array >= k))
    if len(wrong):
        raise InvalidParameter(
            f"values[{wrong[0]}]={array[wrong[0]]} is outside {least} .. {k - 1}; give numbers "
            f"below {k}."
        )
    return array.astype(np.int64, copy=False)


def whole_messages(
    messages: Any, shape: tuple[int, ...], limit: int | None, least: int | None = 0
) -> NDArray[Any]:
    """Messages as an array of whole numbers: one a row of this shape, in least .. limit - 1."""
    array = np.asarray(messages)
    if array.ndim and not len(array):
        array = np.zeros((0, *shape), dtype=np.int64)
    if array.dtype.kind not in "iu" or array.shape[1:] != shape or array.ndim != 1 + len(shape):
        raise InvalidParameter(
            f"messages={validate.show(messages)} is not an array of whole numbers of the shape "
            f"{('users', *shape)}; give what randomize returned."
        )
    if limit is not None and least is not None and array.size:
        low, high = int(array.min()), int(array.max())
        if low < least or high >= limit:
            worst = low if low < least else high
            raise InvalidParameter(
                f"messages has {worst}, outside {least} .. {limit - 1}; give what randomize "
                "returned."
            )
    if array.dtype != np.uint64:
        return array
    if array.size and array.max() >= 1 << 63:
        raise InvalidParameter(
            f"messages has {array.max()}, which is 2^63 or more; give what randomize returned."
        )
    return array.astype(np.int64)


def countable(numbers: int) -> int:
    """As many numbers as are to be kept, if they fit."""
    if numbers > MOST_COUNTED:
        raise InvalidParameter(
            f"k={numbers} values are more than the {MOST_COUNTED:,} that can be counted; count the "
            "messages of fewer, or use local hashing."
        )
    return numbers


def in_blocks(
    rows: NDArray[Any], width: int, add: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """The sum of what `add` says of all rows, so many at a time as fit the memory."""
    step = max(1, _BLOCK // width)
    starts = range(0, max(len(rows), 1), step)
    return np.asarray(sum(add(rows[i : i + step]) for i in starts))


@dataclass(frozen=True)
class CountingClient(Client):
    """Values in 0 .. k - 1, of which each message supports some."""

    k: int

    @property
    @abstractmethod
    def support(self) -> Support:
        """With the probabilities that are realised."""

    def checked(self, values: Any) -> NDArray[Any]:
        return whole_values(values, self.k)

    def supporters(self, counts: Counts) -> Array:
        """How many messages support each value."""
        return counts.tally.astype(np.float64)

    def variance(self, users: float, count: Any) -> Any:
        own, other = self.support
        noise = users * other * (1 - other) + count * (own * (1 - own) - other * (1 - other))
        return noise / (own - other) ** 2

    def estimate(self, counts: Counts) -> Estimate:
        own, other = self.support
        found = (self.supporters(self._checked_counts(counts)) - counts.users * other) / (
            own - other
        )
        likely = np.clip(found, 0, counts.users)
        variance = np.maximum(self.variance(counts.users, likely), 0.0)
        rare = math.sqrt(max(self.variance(counts.users, 0), 0.0))
        return Estimate(counts.users, found, np.sqrt(variance), rare)


def bits_for(values: int) -> int:
    """How many bits tell so many values apart."""
    return max(1, (values - 1).bit_length())
