"""All answers of a user in one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import fsum, prod
from typing import TYPE_CHECKING, Any, ClassVar

from .. import laws
from .._support.text import at_most
from ..errors import OutOfRange
from .base import register
from .exact import ExactMatrix, Fractions
from .questionnaire import Questionnaire, Questions, enumerated, finite_loss, sum_of_losses

if TYPE_CHECKING:
    from ..clients.several_answers import BundleClient

#: The largest loss of a bundle: beyond twice as much, scores exceed the range of a double.
_MOST_LOSS = 340.0


@register
@dataclass(frozen=True, init=False, repr=False)
class Bundle(Questionnaire):
    """Several questions, each answered with its own randomizer: all answers are one message.

    The shuffler keeps the answers of a user together, so that the analyst can relate them. If
    nobody needs that, separate shuffles of the questions are more private. The largest finite
    losses of the questions may add up to 340 at most.

    Parameters
    ----------
    *asked : Randomizer or str
        The questions, 1 to 20: randomizers of one value, or texts such as "rr k=4 eps0=1; one-bit
        eps0=2".
    questions : sequence or str, optional
        The same by name, instead of `asked`.

    Raises
    ------
    InvalidParameter, OutOfRange
        If a question has no known law of finitely many classes of outputs, or the losses of all are
        too large together.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse, Shuffle
    >>> from shuffledp.randomizers import Bundle
    >>> answer = RandomizedResponse(k=2, eps0=1.0)
    >>> Shuffle(Bundle(answer, answer, answer), users=10_000).get_epsilon(1e-6) < 0.1529
    True
    """

    name: ClassVar[str] = "bundle"
    also: ClassVar[tuple[str, ...]] = ("bundled", "product", "questionnaire")
    example: ClassVar[Mapping[str, Any]] = {"questions": "rr k=2 eps0=0.5; rr k=3 eps0=1.0"}

    questions: Questions = field()

    def __init__(self, *asked: Any, questions: Any = None) -> None:
        self._keep_questions(asked, questions)
        loss = fsum(map(finite_loss, self.questions))
        if loss > _MOST_LOSS * (1 + 1e-9):
            raise OutOfRange(
                f"the largest losses of the questions add up to {loss:.6g}, and {_MOST_LOSS:g} is "
                "the limit; bundle fewer questions, or give them a smaller eps0."
            )

    @cached_property
    def eps0(self) -> float:
        return sum_of_losses(self.questions)

    @property
    def _kinds(self) -> Sequence[object]:
        return self.questions

    def _combined(self, each: Sequence[laws.class_law.ClassLaw]) -> laws.class_law.ClassLaw:
        return laws.combined_law.product_law(each)

    def _levels(self, matrices: int, others: Sequence[laws.class_law.ClassLaw]) -> int | None:
        return laws.combined_law.levels_for(matrices, others)

    def _client(self, k: int | None = None) -> BundleClient:
        from ..clients.several_answers import BundleClient

        return BundleClient(tuple(self._clients(k)))

    def exact(self) -> ExactMatrix:
        each = self._exact_matrices()

        def make() -> Fractions:
            rows = product(*(matrix.make() for matrix in each))
            return [[prod(y, start=Fraction(1)) for y in product(*row)] for row in rows]

        inputs = enumerated([matrix.inputs for matrix in each])
        return ExactMatrix(inputs, enumerated([matrix.outputs for matrix in each]), make)

    def describe(self) -> str:
        said = "; ".join(question.describe() for question in self.questions)
        count = len(self.questions)
        return f"{count} answers in one message, each by itself ({said}); {at_most(self.eps0)}-LDP"

    def __repr__(self) -> str:
        return f"Bundle({', '.join(map(repr, self.questions))})"
