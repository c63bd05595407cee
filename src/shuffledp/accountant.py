"""Many rounds."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Self

from ._support import validate
from ._support.numeric import Bounds
from ._support.tables import html_table, text_table
from .bounds.boundary import Multiples
from .bounds.rounds import Rounds
from .bounds.target import Calibration, Quest, meet
from .errors import Infeasible, InvalidParameter, OutOfRange
from .guarantee import DEFAULT_RTOL, Guarantee, Mechanism, anyway


class Accountant(Guarantee):
    """Adds up the privacy loss of shuffled rounds, chosen adaptively or not, in any order.

    Other mechanisms on the same data, for the same replace-one neighbours, are composed alike:
    `ApproximateDP`, `GivenProfile`, `GivenPLD`, or what `shuffledp.interop` makes of them.

    >>> from shuffledp import Accountant, PureLDP, Shuffle
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> Accountant().compose(survey, 4).get_epsilon(1e-6) < 0.854
    True
    """

    def __init__(self) -> None:
        self._rounds: dict[Mechanism, int] = {}
        self._known: Rounds | None = None
        self._lock = threading.RLock()  # an answer must never be for fewer rounds than composed

    def compose(self, round_: Mechanism, rounds: int = 1) -> Self:
        """Account for `rounds` more rounds like this one; returns the accountant itself."""
        if not isinstance(round_, Mechanism):
            raise InvalidParameter(
                f"{validate.show(round_)} is not a round; give a Shuffle or a mechanism such as "
                "ApproximateDP."
            )
        more = validate.count("rounds", rounds, validate.MAX_ROUNDS)
        with self._lock:
            total = self.counted_rounds + round_.messages * more
            if total > validate.MAX_ROUNDS:
                raise OutOfRange(
                    f"{total} rounds in all, each message of a user counted as one, are above the "
                    f"supported {validate.MAX_ROUNDS:.0e}; compose fewer."
                )
            self._rounds[round_] = self._rounds.get(round_, 0) + more
            self._known = None
        return self

    @property
    def rounds(self) -> Sequence[tuple[Mechanism, int]]:
        """What was composed, in the order of first appearance."""
        with self._lock:
            return tuple(self._rounds.items())

    @property
    def total_rounds(self) -> int:
        return sum(count for _, count in self.rounds)

    @property
    def counted_rounds(self) -> int:
        """The rounds, each message of a user counted as one."""
        return sum(kind.messages * count for kind, count in self.rounds)

    def fits(self, epsilon: float, delta: float, *, rtol: float = DEFAULT_RTOL) -> bool:
        """Are the rounds certified to be (epsilon, delta)-DP?"""
        target, delta = validate.epsilon(epsilon), validate.delta(delta)
        return self.get_epsilon(delta, rtol=rtol) <= target

    def remaining_rounds(
        self, round_: Mechanism, epsilon: float, delta: float, *, rtol: float = DEFAULT_RTOL
    ) -> int:
        """How many more rounds like this one are certified to stay (epsilon, delta)-DP.

        One more was evaluated and found not to, unless the supported number of rounds is reached.
        """
        if self.counted_rounds + getattr(round_, "messages", 1) > validate.MAX_ROUNDS:
            return 0
        try:
            return int(self.calibrate_rounds(round_, epsilon, delta, rtol=rtol).value)
        except Infeasible:
            return 0

    def calibrate_rounds(
        self, round_: Mechanism, epsilon: float, delta: float, *, rtol: float = DEFAULT_RTOL
    ) -> Calibration:
        """As `remaining_rounds`, with what was certified there and one round beyond."""

        def evaluate(value: float, width: float) -> Bounds[float]:
            return anyway(self.copy().compose(round_, int(value)).epsilon_bounds, delta, rtol=width)

        room = validate.MAX_ROUNDS - self.counted_rounds
        # what is no round is refused by compose
        grid = Multiples(room // getattr(round_, "messages", 1))
        return meet(Quest("rounds", grid, 10, grows=True), evaluate, epsilon, delta, rtol)

    def copy(self) -> Accountant:
        """An independent accountant with the same rounds."""
        twin = Accountant()
        with self._lock:
            twin._rounds = dict(self._rounds)
            twin._known = self._known
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.rounds,)

    def __copy__(self) -> Accountant:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Accountant:
        return self.copy()

    def __repr__(self) -> str:
        return f"<Accountant: {self.total_rounds} rounds of {len(self._rounds)} kinds>"

    def __str__(self) -> str:
        head = ("rounds", "users", "analysis", "randomizer")
        rows = [(f"{count}", *r.summary) for r, count in self.rounds]
        table = text_table(head, rows, left=[2, 3])
        return f"{table}\n{self.total_rounds} rounds in all, replace-one neighbours"

    def _repr_html_(self) -> str:
        head = ("rounds", "users", "analysis", "randomizer")
        rows = [(f"{count:,}", *r.summary) for r, count in self.rounds]
        return html_table(f"{self.total_rounds:,} rounds, replace-one neighbours", head, rows)

    @property
    def _answers(self) -> Rounds:
        with self._lock:
            if self._known is None:
                self._known = Rounds(
                    [(part, n * count) for r, count in self.rounds for part, n in r.parts]
                )
            return self._known


def repeated(round_: Mechanism, rounds: int) -> Accountant:
    """An accountant of rounds of one kind."""
    return Accountant().compose(round_, rounds)


def _restore(rounds: Sequence[tuple[Mechanism, int]]) -> Accountant:
    """What a pickled accountant becomes."""
    accountant = Accountant()
    for round_, count in rounds:
        accountant.compose(round_, count)
    return accountant
