"""One question, drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .. import laws
from .._support import validate
from .._support.text import at_most
from .._support.written import written_number
from ..errors import InvalidParameter
from .base import register
from .exact import ExactMatrix, Fractions
from .parameter import Parameter
from .questionnaire import Questionnaire, Questions, enumerated

if TYPE_CHECKING:
    from ..clients.several_answers import OneOfClient

_LEAST_WEIGHT = 1e-6  # of the largest


@register
@dataclass(frozen=True, init=False, repr=False)
class OneOf(Questionnaire):
    """Several questions, of which every user answers one, drawn at random and named in the message.

    The draw does not depend on the values.

    Parameters
    ----------
    *asked : Randomizer or str
        The questions, 1 to 20: randomizers of one value, or texts such as "rr k=4 eps0=1; one-bit
        eps0=2".
    questions : sequence or str, optional
        The same by name, instead of `asked`.
    weights : sequence of float or str, optional
        Relative probabilities of the questions, above 0 and up to 1e12, none below 1e-6 of the
        largest; equal by default. A text has commas between them.

    Raises
    ------
    InvalidParameter
        If a question has no known law of finitely many classes of outputs, or weights do not fit.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse, Shuffle
    >>> from shuffledp.randomizers import OneOf
    >>> answer = RandomizedResponse(k=4, eps0=1.0)
    >>> Shuffle(OneOf(answer, answer, weights=[2, 1]), users=10_000).get_epsilon(1e-6) < 0.05
    True
    """

    name: ClassVar[str] = "one-of"
    also: ClassVar[tuple[str, ...]] = ("one-question", "split-users")
    example: ClassVar[Mapping[str, Any]] = {
        "questions": "rr k=2 eps0=0.5; rr k=3 eps0=1.0",
        "weights": "1, 2",
    }

    questions: Questions = field()
    weights: Annotated[
        tuple[float, ...],
        Parameter("weights of the questions, separated by commas", text=True, needed=False),
    ] = field(default=())

    def __init__(self, *asked: Any, questions: Any = None, weights: Any = None) -> None:
        self._keep_questions(asked, questions)
        count = len(self.questions)
        self._keep("weights", (1.0,) * count if weights is None else _weights(weights, count))

    @property
    def given(self) -> dict[str, Any]:
        equal = len(set(self.weights)) == 1
        return super().given | ({} if equal else {"weights": ", ".join(map(repr, self.weights))})

    @cached_property
    def chances(self) -> tuple[Fraction, ...]:
        """Exact probabilities of the questions."""
        each = [Fraction(weight) for weight in self.weights]
        return tuple(weight / sum(each) for weight in each)

    @cached_property
    def eps0(self) -> float:
        return max(question.local_eps0 for question in self.questions)

    @property
    def _kinds(self) -> Sequence[object]:
        return list(zip(self.questions, self.weights, strict=True))

    def _combined(self, each: Sequence[laws.class_law.ClassLaw]) -> laws.class_law.ClassLaw:
        return laws.combined_law.mixture_law(each, [float(chance) for chance in self.chances])

    @property
    def client(self) -> OneOfClient:
        return self._client()

    def _client(self, k: int | None = None) -> OneOfClient:
        from ..clients.several_answers import OneOfClient

        return OneOfClient(tuple(self._clients(k)), self.chances)

    def exact(self) -> ExactMatrix:
        each = self._exact_matrices()

        def make() -> Fractions:
            rows = product(*(matrix.make() for matrix in each))
            return [
                [chance * y for part, chance in zip(row, self.chances, strict=True) for y in part]
                for row in rows
            ]

        inputs = enumerated([matrix.inputs for matrix in each])
        return ExactMatrix(inputs, sum(matrix.outputs for matrix in each), make)

    def describe(self) -> str:
        said = "; ".join(
            f"{question.describe()}, with probability {float(chance):.6g}"
            for question, chance in zip(self.questions, self.chances, strict=True)
        )
        count = len(self.questions)
        return f"one of {count} questions, drawn at random ({said}); {at_most(self.eps0)}-LDP"

    def __repr__(self) -> str:
        weights = f", weights={self.weights!r}" if len(set(self.weights)) > 1 else ""
        return f"OneOf({', '.join(map(repr, self.questions))}{weights})"


def _weights(given: Any, count: int) -> tuple[float, ...]:
    """Positive numbers, one for each question; a text has commas between them."""
    if isinstance(given, str):
        try:
            given = [written_number(part) for part in given.split(",")]
        except InvalidParameter as error:
            raise InvalidParameter(f"weights: {error}") from None
    try:
        found = [validate.real("weights", weight) for weight in given]
    except TypeError:
        found = []
    if len(found) != count:
        raise InvalidParameter(
            f"weights={validate.show(given)} are not {count} numbers; give one for each question."
        )
    least, most = min(found), max(found)
    if not 0 < most <= 1e12 or least < _LEAST_WEIGHT * most:
        raise InvalidParameter(
            f"weights={validate.show(given)} are not positive, above 1e12, or below "
            f"{_LEAST_WEIGHT:g} of the largest; give others, or leave rare questions out."
        )
    return tuple(found)
