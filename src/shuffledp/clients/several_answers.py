"""Clients of several questions: all answers in one message, or the answer to one of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from ..errors import InvalidParameter
from .base import Client, MessageForm, bits_for, whole_messages
from .counts import Counts, Estimate, MeanEstimate
from .entropy import Source, Whole
from .inversion import Inversion, of_fractions
from .mean_client import MeanClient

#: What is estimated of each question.
Answers = tuple[Estimate | MeanEstimate, ...]
_EACH = "ask the questions themselves for the variances of their estimates."


@dataclass(frozen=True)
class SeveralAnswersClient(Client):
    """A value is a row of answers, one for each question."""

    not_specified: ClassVar[str] = "a specification describes the answer to a single question"
    #: Numbers that are kept of each question beside its own.
    extra: ClassVar[int] = 0

    clients: tuple[Client, ...]

    @property
    def rank(self) -> int:
        return 1

    @property
    def width(self) -> int:
        return max(sum(client.width for client in self.clients), 1)

    def checked(self, values: Any) -> NDArray[Any]:
        array, count = np.asarray(values), len(self.clients)
        if array.size == 0:
            array = np.zeros((0, count), dtype=np.int64)
        if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] != count:
            raise InvalidParameter(
                f"values={validate.show(values)} is not a list of rows of {count} answers; give "
                "one row for each user."
            )
        for j, client in enumerate(self.clients):
            try:
                client.checked(self._answers(array, j))
            except InvalidParameter as error:
                raise InvalidParameter(f"question {j}: {error}") from None
        return array

    def _answers(self, values: NDArray[Any], j: int) -> NDArray[Any]:
        """The answers to a question: floats that are whole count as whole numbers."""
        column = values[:, j]
        if isinstance(self.clients[j], MeanClient) or column.dtype.kind != "f":
            return column
        whole = np.abs(column) < 2**53
        whole &= column == np.floor(np.where(whole, column, 0.5))
        if whole.all():
            return column.astype(np.int64)
        wrong = int(np.flatnonzero(~whole)[0])
        raise InvalidParameter(
            f"question {j}: values[{wrong}]={column[wrong]} is not whole; give a whole number."
        )

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of the message of each question."""
        nothing, source = np.zeros(0, dtype=np.int64), Source(np.random.default_rng(0))
        return [client.messages(nothing, source).shape[1:] for client in self.clients]

    @cached_property
    def numbers(self) -> list[int]:
        """How many whole numbers the message of each question has."""
        return [math.prod(shape) for shape in self.shapes]

    def _sent(self, values: NDArray[Any], j: int, source: Source) -> Whole:
        """The messages of a question, as rows of whole numbers."""
        answers = self._answers(values, j)
        sent = self.clients[j].messages(answers, source)
        return sent.reshape(len(values), self.numbers[j]).astype(np.int64)

    def _received(self, rows: Whole, j: int) -> Whole:
        """The messages of a question from rows that begin with it, in their own shape."""
        return rows[:, : self.numbers[j]].reshape(len(rows), *self.shapes[j])

    @cached_property
    def _tallies(self) -> list[int]:
        """How many numbers are kept of each question."""
        nothing = [np.zeros((0, *shape), dtype=np.int64) for shape in self.shapes]
        counted = zip(self.clients, nothing, strict=True)
        return [len(client.count(messages).tally) for client, messages in counted]

    @abstractmethod
    def answers(self, messages: Any) -> list[Whole]:
        """The messages of each question, of those who have answered it."""

    @abstractmethod
    def estimate(self, counts: Counts) -> Answers:  # type: ignore[override]
        """For each question, what the users' answers were."""

    @property
    def size(self) -> int:
        """How many numbers are kept."""
        return sum(self._tallies) + self.extra * len(self.clients)

    def _parts(self, counts: Counts) -> list[NDArray[Any]]:
        """The numbers of each question."""
        ends = [0, *accumulate(size + self.extra for size in self._tallies)]
        self._checked_counts(counts)
        parts = [counts.tally[start:end] for start, end in pairwise(ends)]
        # sums of messages may be beyond 64 bits, counts are not
        return [
            part if isinstance(client, MeanClient) else part.astype(np.int64)
            for client, part in zip(self.clients, parts, strict=True)
        ]

    def variance(self, users: float, count: Any) -> Any:
        raise InvalidParameter(f"several questions have several counts; {_EACH}")

    def mean_variance(self, users: float) -> float:
        raise InvalidParameter(f"several questions have several means; {_EACH}")

    def _rows(self, messages: Any) -> Whole:
        return whole_messages(messages, (self.row,), None).astype(np.int64, copy=False)

    @property
    @abstractmethod
    def row(self) -> int:
        """How many whole numbers a message has."""

    @abstractmethod
    def kept(self, counts: Counts) -> NDArray[Any]:
        """The numbers that are kept of the counts of one question."""

    @property
    def form(self) -> MessageForm:
        return MessageForm("answers", (self.row,), None, None, self.size)

    def tally(self, messages: NDArray[Any]) -> NDArray[Any]:
        received = zip(self.clients, self.answers(messages), strict=True)
        return np.concatenate([self.kept(client.count(part)) for client, part in received])


@dataclass(frozen=True)
class BundleClient(SeveralAnswersClient):
    """Sends the messages of all questions, each randomized by itself, one after another."""

    @property
    def bits(self) -> int:
        return sum(client.bits for client in self.clients)

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        return np.concatenate(
            [self._sent(values, j, source) for j in range(len(self.clients))], axis=1
        )

    def answers(self, messages: Any) -> list[Whole]:
        rows = self._rows(messages)
        starts = [0, *accumulate(self.numbers)]
        return [self._received(rows[:, starts[j] :], j) for j in range(len(self.clients))]

    @property
    def row(self) -> int:
        return sum(self.numbers)

    def kept(self, counts: Counts) -> NDArray[Any]:
        return counts.tally

    def estimate(self, counts: Counts) -> Answers:  # type: ignore[override]
        tallies = self._parts(counts)
        return tuple(
            client.estimate(Counts(counts.users, tally))
            for client, tally in zip(self.clients, tallies, strict=True)
        )


@dataclass(frozen=True)
class OneOfClient(SeveralAnswersClient):
    """Draws a question, and sends its number and its message, with zeros at the end."""

    not_specified: ClassVar[str] = "a specification does not describe which question is drawn"
    extra: ClassVar[int] = 1  # how many have answered it

    chances: tuple[Fraction, ...]

    @property
    def bits(self) -> int:
        return bits_for(len(self.clients)) + max(client.bits for client in self.clients)

    @cached_property
    def drawn(self) -> Inversion:
        """The number of a question, with exactly its probability."""
        return Inversion(of_fractions(list(accumulate(self.chances))[:-1]))

    def messages(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        sent = np.zeros((len(values), 1 + max(self.numbers)), dtype=np.int64)
        sent[:, 0] = self.drawn.draw(source, len(values))
        for j, width in enumerate(self.numbers):
            users = np.flatnonzero(sent[:, 0] == j)
            sent[users, 1 : 1 + width] = self._sent(values[users], j, source)
        return sent

    def answers(self, messages: Any) -> list[Whole]:
        rows = self._rows(messages)
        count, index = len(self.clients), rows[:, 0]
        if len(rows) and not 0 <= index.min() <= index.max() < count:
            raise InvalidParameter(
                f"messages has a question outside 0 .. {count - 1}; give what randomize returned."
            )
        return [self._received(rows[index == j, 1:], j) for j in range(count)]

    @property
    def row(self) -> int:
        return 1 + max(self.numbers)

    def kept(self, counts: Counts) -> NDArray[Any]:
        return np.append(counts.users, counts.tally)

    def estimate(self, counts: Counts) -> Answers:  # type: ignore[override]
        """Those who answered a question are a random subset of all users."""
        found: list[Estimate | MeanEstimate] = []
        parts = self._parts(counts)
        answered = sum(int(part[0]) for part in parts)
        if answered != counts.users:
            raise InvalidParameter(
                f"the questions have {answered} answers of users={counts.users}, each of whom "
                "answers one; give the counts of all messages, and how many users have sent them."
            )
        for client, (asked, *tally) in zip(self.clients, parts, strict=True):
            some = Counts(int(asked), tally)
            if some.users:
                found.append(_of_all(client.estimate(some), counts.users))
            elif isinstance(client, MeanClient):
                found.append(MeanEstimate(counts.users, math.nan, math.inf))
            else:
                nothing = client.estimate(some).counts  # type: ignore[union-attr]
                unknown = np.full(len(nothing), math.nan), np.full(len(nothing), math.inf)
                found.append(Estimate(counts.users, *unknown))
        return tuple(found)

    def variance_of_question(self, j: int, users: float, count: Any) -> Any:
        """Of the estimated count of an answer to question j that `count` of the users have."""
        share = float(self.chances[j])
        own = self.clients[j].variance(users * share, count * share) / share**2
        return own + count * (1 - count / users) * (1 / share - 1)


def _of_all(found: Estimate | MeanEstimate, users: int) -> Estimate | MeanEstimate:
    """What a random subset of the users tells of all of them.

    The variance of the subset is that of draws without replacement; the numbers behind a mean are
    in [0, 1], so that their variance is at most 1/4.
    """
    asked = found.users
    left = (users - asked) / max(users - 1, 1)
    if isinstance(found, MeanEstimate):
        error = math.sqrt(found.standard_error**2 + left / 4 / asked)
        return replace(found, users=users, standard_error=error)
    factor = users / asked
    share = np.clip(found.counts / asked, 0.0, 1.0)
    drawn = asked * share * (1 - share) * left
    errors = factor * np.sqrt(found.standard_errors**2 + drawn)
    return Estimate(users, factor * found.counts, errors)
