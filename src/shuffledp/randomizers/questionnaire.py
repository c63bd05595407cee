"""Several questions to every user: what `Bundle` and `OneOf` have in common.

A question is a randomizer of one value with finitely many classes of outputs. The laws of a message
combine those of the questions, for all ways in which two users' answers may differ
(docs/theory/several-questions.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from .. import laws, tuning
from .._support import validate
from .._support.written import written_number
from ..errors import InvalidParameter, ShuffleDPError
from ..laws.class_law import Law
from .analyses import CLONES, SEVERAL, STRONGER_CLONES, Analysis
from .base import Randomizer, named_randomizers
from .exact import ExactMatrix
from .finite import MatrixRandomizer
from .local_hashing import LocalHashing
from .membership import MembershipRandomizer
from .parameter import Parameter, parameters_of

if TYPE_CHECKING:
    from ..clients import Counts
    from ..clients.several_answers import Answers, SeveralAnswersClient

#: Questions in one questionnaire.
MOST_QUESTIONS = 20
_SHOWN = 64  # numbers of a matrix that a report has in full
_TOO_MANY = 10**9  # values and outputs, beyond which nobody enumerates

Questions = Annotated[
    tuple[Randomizer, ...],
    Parameter("questions such as rr k=4 eps0=1, separated by semicolons", text=True),
]


class Questionnaire(Randomizer):
    """Common part: subclasses say how the laws of the questions combine."""

    #: The estimates are those of the questions, which have their own.
    task: ClassVar[None] = None

    questions: tuple[Randomizer, ...]

    def _keep_questions(self, asked: Sequence[Any], named: Any) -> None:
        """The questions as given, in order or by name."""
        if named is not None:
            if asked:
                raise InvalidParameter("questions are given twice; give them once.")
            asked = (named,) if isinstance(named, (str, Randomizer)) else _listed(named)
        found = tuple(each for one in asked for each in _questions_of(one))
        if not 1 <= len(found) <= MOST_QUESTIONS:
            raise InvalidParameter(
                f"questions={validate.show(asked)} are {len(found)} questions; give 1 to "
                f"{MOST_QUESTIONS} of them."
            )
        self._keep("questions", found)

    @property
    def given(self) -> dict[str, Any]:
        return {"questions": "; ".join(map(_written, self.questions))}

    @property
    def reported(self) -> dict[str, Any]:
        shown = (_written(question, _SHOWN) for question in self.questions)
        return {**self.given, "questions": "; ".join(shown)}

    @property
    def only(self) -> Randomizer | None:
        """The question, if there is only one, else None."""
        return self.questions[0] if len(self.questions) == 1 else None

    @property
    @abstractmethod
    def eps0(self) -> float:
        """Local epsilon of a message, rounded up; infinite if an output excludes a value."""

    @property
    @abstractmethod
    def _kinds(self) -> Sequence[object]:
        """What questions have in common that may be exchanged."""

    @abstractmethod
    def _combined(self, each: Sequence[laws.class_law.ClassLaw]) -> laws.class_law.ClassLaw:
        """The law of a message, from one law for each question."""

    @cached_property
    def analyses(self) -> Mapping[str, Analysis]:
        if self.only is not None:  # the strong adversary speaks of randomized response itself
            own = self.only.analyses.items()
            return {name: analysis for name, analysis in own if name != "strong"}
        known = {"best": SEVERAL, "blanket": SEVERAL}
        if validate.MIN_EPS0 <= self.eps0 <= validate.MAX_EPS0:
            known |= {"stronger-clones": STRONGER_CLONES, "clones": CLONES}
        return known

    def binary_law(self) -> laws.binary_law.BinaryLaw | None:
        return None if self.only is None else self.only.binary_law()

    def sum_law(self) -> Any:
        return None if self.only is None else self.only.sum_law()

    def blanket_law(self) -> Law:
        """Law of a message under the privacy blanket (docs/theory/several-questions.md)."""
        if self.only is not None:
            return self.only.law("blanket")
        return self._blanket

    def attained_law(self) -> Law:
        """Law of a message in datasets whose users differ in all answers; the others answer
        alike."""
        return self._attained if self.only is None else self.only.attained_law()

    @cached_property
    def _blanket(self) -> laws.class_law.ClassLaws:
        """The laws of all ways in which two users' answers may differ.

        If these are too many, the question with the most of them has one law above all of its own,
        where there is one.
        """
        combined = laws.combined_law
        kinds, matrices = self._kinds, [_matrix_of(question) for question in self.questions]
        covered = {
            i: matrix
            for i, matrix in enumerate(matrices)
            if matrix is not None and combined.is_covered(matrix)
        }
        dominated = {i for i, matrix in covered.items() if matrix.has_many_rows}
        choices: list[Sequence[laws.class_law.ClassLaw]] = [
            combined.above_all(covered[i])
            if i in dominated
            else _symmetric_laws(self.questions[i])
            if matrix is None
            else combined.answer_laws(matrix)
            for i, matrix in enumerate(matrices)
        ]
        while combined.ways(choices, kinds) > tuning.COMBINED_LAWS:
            several = [i for i in covered if i not in dominated and len(choices[i]) > 1]
            if not several:
                break
            most = max(several, key=lambda i: len(choices[i]))
            for i in range(len(kinds)):
                if kinds[i] == kinds[most]:
                    choices[i] = combined.above_all(covered[i])
                    dominated.add(i)
        if dominated:
            others = [choice[0] for i, choice in enumerate(choices) if i not in dominated]
            levels = self._levels(len(dominated), others)
            for i in dominated:
                choices[i] = combined.above_all(covered[i], levels)
        return combined.combined_laws(choices, kinds, self._combined)

    def _levels(self, matrices: int, others: Sequence[laws.class_law.ClassLaw]) -> int | None:
        """How many levels the laws above all pairs of so many matrices may have."""
        return None

    @cached_property
    def _attained(self) -> laws.class_law.ClassLaws:
        """Of the laws that datasets attain, so many as can be combined: those that vary most."""
        combined = laws.combined_law
        choices = [_attained_laws(question) for question in self.questions]
        most, listed = max(map(len, choices)), tuning.COMBINED_LAWS // 4
        while combined.ways(choices, self._kinds) > listed and most > 1:
            most -= 1
            choices = [choice[:most] for choice in choices]
        return combined.combined_laws(choices, self._kinds, self._combined)

    def _exact_matrices(self) -> list[ExactMatrix]:
        return [question.exact() for question in self.questions]

    @property
    def client(self) -> SeveralAnswersClient:
        return self._client()

    @abstractmethod
    def _client(self, k: int | None = None) -> SeveralAnswersClient:
        """What a device runs; `k` values are counted of questions that are hashed."""

    def _clients(self, k: int | None) -> list[Any]:
        return [
            question._counting(k) if isinstance(question, LocalHashing) else question.client
            for question in self.questions
        ]

    @property
    def _hashed(self) -> int:
        """How many questions are hashed."""
        return sum(isinstance(question, LocalHashing) for question in self.questions)

    def count(self, messages: Any, k: int | None = None) -> Counts:
        """Counts of messages: all that an estimate needs; counts add up, in any order.

        Parameters
        ----------
        messages : list
            Messages of any users, as `randomize` returns them.
        k : int, optional
            Number of values of all questions that are hashed, which messages do not tell.

        Returns
        -------
        Counts
            Number of users and a tally.

        Raises
        ------
        InvalidParameter
            If `k` is missing, or a message is not one of the randomizer's.
        """
        if self._hashed and k is None:
            raise InvalidParameter(
                "k is missing: messages of local hashing do not tell how many values there are; "
                "give k, to count the values 0 .. k - 1."
            )
        return self._client(k).count(messages).of_protocol(repr(self))

    def counts_of(self, messages: Any, users: int, values: int) -> Counts:
        return self.count(messages, values)

    def estimate(self, messages: Any, k: int | None = None) -> Answers:
        """Estimates of all users' answers, one for each question.

        Parameters
        ----------
        messages : list or Counts
            Messages, or counts of them.
        k : int, optional
            Number of values of all questions that are hashed; counts tell it.

        Returns
        -------
        Answers
            An `Estimate` or a `MeanEstimate` per question, in their order.

        Raises
        ------
        InvalidParameter
            If `k` is missing, or messages or counts are not the randomizer's.
        """
        from ..clients import Counts

        counts = messages if isinstance(messages, Counts) else self.count(messages, k)
        if self._hashed:  # so many numbers are kept of each question that is hashed
            k = (len(counts.tally) - self._client(1).size) // self._hashed + 1
        return self._client(k).estimate(counts.of_protocol(repr(self)))


def _listed(named: Any) -> Sequence[Any]:
    if isinstance(named, (list, tuple)):
        return named
    raise InvalidParameter(
        f"questions={validate.show(named)} are no questions; write them as rr k=4 eps0=1, with "
        "semicolons between them."
    )


def _questions_of(given: Any) -> Sequence[Randomizer]:
    """One randomizer, or those that a text describes."""
    if isinstance(given, str):
        return [_checked(_read(part.split(), part.strip())) for part in given.split(";")]
    if not isinstance(given, Randomizer):
        raise InvalidParameter(
            f"questions={validate.show(given)} is no randomizer; give one such as "
            "RandomizedResponse(k=4, eps0=1.0)."
        )
    return [_checked(given)]


def _checked(question: Randomizer) -> Randomizer:
    """A question, if the laws of its answers are known as classes of outputs."""
    several = getattr(question, "ones", 1) > 1 or question.task == "vector"
    if several or not isinstance(question, (MembershipRandomizer, MatrixRandomizer)):
        raise InvalidParameter(
            f"questions={question!r} cannot be one of several: densities, noise messages, vectors, "
            "other questionnaires and pure-ldp have no known distribution on finitely many classes "
            "of outputs; give rr, subset, unary, oue, hashing, hadamard, one-bit, piecewise, "
            "square-wave or matrix, or compose separate shuffles."
        )
    return question


def _read(words: Sequence[str], text: str) -> Randomizer:
    """The question that a text such as "rr k=4 eps0=1" describes."""
    where = f"questions={validate.show(text)}"
    known = named_randomizers()
    if not words or words[0] not in known:
        raise InvalidParameter(
            f"{where} does not begin with the name of a randomizer; write it as rr k=4 eps0=1, "
            "with semicolons between questions."
        )
    kind, parameters = known[words[0]], {}
    own = parameters_of(kind)
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not equals or name not in own or name in parameters:
            raise InvalidParameter(
                f"{where} has {validate.show(word)}; give each of {', '.join(own)} once, as "
                f"{next(iter(own), 'name')}=value."
            )
        parameters[name] = _value(where, value, own[name])
    for name, parameter in own.items():
        if parameter.needed and name not in parameters:
            raise InvalidParameter(f"{where} lacks {name}; add {name}=value.")
    try:
        return kind(**parameters)
    except ShuffleDPError as error:
        raise InvalidParameter(f"{where}: {error}") from None


def _value(where: str, text: str, parameter: Parameter) -> Any:
    """A number, or the rows of a matrix."""
    try:
        if parameter.read is not None:
            return [[written_number(part) for part in row.split(",")] for row in text.split("/")]
        return written_number(text, whole=parameter.whole)
    except InvalidParameter as error:
        rows = "; write the rows of a matrix as 0.8,0.2/0.3,0.7" if parameter.read else ""
        raise InvalidParameter(f"{where}: {str(error).rstrip('.')}{rows}.") from None


def _written(question: Randomizer, most: float = math.inf) -> str:
    """A question as `_read` reads it; a matrix of more numbers than `most` by its digest."""
    matrix = _matrix_of(question)
    if matrix is not None and matrix.rows.size > most:
        return f"matrix {matrix!r}"
    words = [str(getattr(question, "name", type(question).__name__))]
    for name, value in question.given.items():
        is_matrix = isinstance(value, (list, tuple))
        shown = "/".join(",".join(map(repr, row)) for row in value) if is_matrix else repr(value)
        words.append(f"{name}={shown}")
    return " ".join(words)


def _matrix_of(question: Randomizer) -> laws.matrix_law.Matrix | None:
    return question._matrix if isinstance(question, MatrixRandomizer) else None


def _symmetric_laws(question: Randomizer) -> Sequence[laws.class_law.ClassLaw]:
    """Of randomizers of sets: the law of two different values, the same in both orders."""
    law = question.law("blanket")
    known = law.laws if isinstance(law, laws.class_law.ClassLaws) else ()
    if len(known) != 1 or not known[0].is_symmetric:  # then equal answers may be worse
        raise InvalidParameter(
            f"questions={question!r} has no single distribution of outputs that is the same in "
            "both orders of two values; give its probabilities as a matrix."
        )
    return known


def _attained_laws(question: Randomizer) -> Sequence[laws.class_law.ClassLaw]:
    """The laws that datasets attain, from the one that varies most on."""
    law = question.attained_law()
    if isinstance(law, laws.matrix_law.LeadingPairsLaw):
        law = law.among(10_000)  # any pairs are sound
    assert isinstance(law, laws.class_law.ClassLaws)
    matrix = _matrix_of(question)
    if not law.laws and matrix is not None:  # messages do not depend on the answers
        return laws.combined_law.answer_laws(matrix)
    return sorted(law.laws, key=lambda one: (-one.spread(0.0), one.key))


def sum_of_losses(questions: Sequence[Randomizer]) -> float:
    """The sum of the local epsilons, rounded up."""
    each = [question.local_eps0 for question in questions]
    total = math.fsum(each)
    if math.isinf(total) or Fraction(total) >= sum(map(Fraction, each)):
        return total
    return math.nextafter(total, math.inf)


def finite_loss(question: Randomizer) -> float:
    """About the largest finite loss of a question; outputs may exclude values besides."""
    if math.isfinite(question.local_eps0):
        return question.local_eps0
    matrix = _matrix_of(question)
    if matrix is None:
        return 0.0
    largest = matrix.rows.max(axis=0)
    least = np.where(matrix.rows > 0, matrix.rows, 1.0).min(axis=0)
    return float(np.log(largest[largest > 0] / least[largest > 0]).max())


def enumerated(sizes: Sequence[int]) -> int:
    """A product of sizes; those too large to enumerate are cut off."""
    return min(math.prod(min(size, _TOO_MANY) for size in sizes), _TOO_MANY)
