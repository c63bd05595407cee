"""The same question about the same rounds, asked by many snippets or commands, is answered once.

For tests of what is printed: no bracket that a test compares with a reference comes from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from shuffledp._support.numeric import Bounds
from shuffledp.bounds.certified_rounds import CertifiedRounds
from shuffledp.composition.compose import Composition
from shuffledp.profiles.base import Parts

Answers = dict[Any, Bounds[float]]


class RememberedRounds(CertifiedRounds):
    """Rounds that look up their answers by what they were asked so far.

    Lattices that were made for one question serve later ones, so an answer depends on the earlier
    questions. Before rounds compute, they answer what was only looked up.
    """

    answers: Answers

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._asked: tuple[Any, ...] = (tuple(parts),)
        self._looked_up: list[Callable[[], Bounds[float]]] = []

    @property
    def compositions(self) -> Sequence[Composition]:
        self._catch_up()
        return super().compositions

    def epsilon_bounds(self, *question: Any) -> Bounds[float]:
        return self._answer(super().epsilon_bounds, question)

    def delta_bounds(self, *question: Any) -> Bounds[float]:
        return self._answer(super().delta_bounds, question)

    def upper_deltas(self, *question: Any) -> Any:
        self._catch_up()
        self._asked += (object(),)  # arrays are not looked up, and nothing is after them
        return super().upper_deltas(*question)

    def _answer(
        self, compute: Callable[..., Bounds[float]], question: tuple[Any, ...]
    ) -> Bounds[float]:
        self._asked += (compute.__name__, question)
        if self._asked in self.answers:
            self._looked_up.append(lambda: compute(*question))
        else:
            self._catch_up()
            self.answers[self._asked] = compute(*question)
        return self.answers[self._asked]

    def _catch_up(self) -> None:
        while self._looked_up:
            self._looked_up.pop(0)()


@contextmanager
def remembering(answers: Answers) -> Iterator[None]:
    """All rounds look up their answers in `answers`, and write new ones there."""
    kind = type("CertifiedRounds", (RememberedRounds,), {"answers": answers})
    with patch("shuffledp.bounds.certified_rounds.CertifiedRounds", kind):
        yield
