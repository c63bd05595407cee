"""Many rounds."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from . import bounds, profiles, tuning
from ._support import validate
from ._support.numeric import Bounds
from ._support.progress import progress
from ._support.tables import html_table, text_table
from ._support.text import several
from .calibration import Calibration, Multiples, ParameterRange, meet
from .errors import Infeasible, InvalidParameter, OutOfRange
from .guarantee import DEFAULT_RTOL, SUPPORTED_RELATIONS, Guarantee, Mechanism, best_effort

if TYPE_CHECKING:  # what answers is loaded with the first question
    from .bounds.certified_rounds import CertifiedRounds
    from .profiles.base import Parts

    #: A question to rounds, and the width of the answer.
    AskToWidth = Callable[[CertifiedRounds, float], Bounds[float]]


class Accountant(Guarantee):
    """Certified guarantee of many rounds, chosen adaptively or not, in any order.

    Other mechanisms on the same data, for the same neighbours, are composed in the same way:
    `ApproximateDP`, `GivenProfile`, `GivenPLD`, or what `shuffledp.interop` makes of them. An
    accountant without rounds has epsilon 0.

    Examples
    --------
    >>> from shuffledp import Accountant, PureLDP, Shuffle
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> Accountant().compose(survey, 4).get_epsilon(1e-6) < 0.854
    True
    """

    def __init__(self) -> None:
        self._rounds: dict[Mechanism, int] = {}
        self._cached: CertifiedRounds | None = None
        self._lock = threading.RLock()  # an answer must never be for fewer rounds than composed

    def compose(self, round_: Mechanism, rounds: int = 1) -> Self:
        """The accountant itself, after it has added `rounds` more rounds like this one.

        Parameters
        ----------
        round_ : Mechanism
            A round, or a mechanism such as `ApproximateDP`.
        rounds : int
            Number of rounds, 1 to 1e7. Over all calls, rounds times messages per user add up to
            at most 1e7.

        Returns
        -------
        Accountant
            Itself, so that calls can be chained.

        Raises
        ------
        InvalidParameter
            If it is not a round, or has other neighbours than the rounds before.
        OutOfRange
            If there would be more than 1e7 rounds.
        """
        if not isinstance(round_, Mechanism):
            raise InvalidParameter(
                f"{validate.show(round_)} is not a round; give a Shuffle or a mechanism such as "
                "ApproximateDP."
            )
        more = validate.count("rounds", rounds, validate.MAX_ROUNDS)
        with self._lock:
            if self._rounds and round_.neighbours != self.neighbours:
                raise InvalidParameter(
                    f"{round_!r} is for {round_.relation} neighbours and what was composed before "
                    f"for {self.relation} ones; give all rounds the same neighbours: "
                    f"{SUPPORTED_RELATIONS}."
                )
            total = self.counted_rounds + round_.messages * more
            if total > validate.MAX_ROUNDS:
                raise OutOfRange(
                    f"{total} rounds in all, each message of a user counted as one, are above the "
                    f"supported {validate.MAX_ROUNDS:.0e}; compose fewer."
                )
            self._rounds[round_] = self._rounds.get(round_, 0) + more
            self._cached = None
        return self

    @property
    def rounds(self) -> Sequence[tuple[Mechanism, int]]:
        """Rounds that were composed, with their numbers, in the order of first appearance."""
        with self._lock:
            return tuple(self._rounds.items())

    @property
    def neighbours(self) -> str:
        """Neighbours of all rounds: "replace" or "remove"."""
        return next((kind.neighbours for kind, _ in self.rounds), "replace")

    @property
    def total_rounds(self) -> int:
        """Number of rounds that were composed."""
        return sum(count for _, count in self.rounds)

    @property
    def counted_rounds(self) -> int:
        """Number of rounds, each message of a user counted as one."""
        return sum(kind.messages * count for kind, count in self.rounds)

    @progress("attained epsilon")
    def attained_epsilon(self, delta: float, *, rtol: float = DEFAULT_RTOL) -> float:
        """Epsilon that actual pairs of neighbouring datasets, one for each round, reach together.

        No valid bound is below it. Mechanisms of which only a guarantee is known add nothing, since
        it need not be reached.

        Parameters
        ----------
        delta : float
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        float
            Certified from below.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        delta, rtol = validate.delta(delta), validate.tolerance(rtol)
        if delta == 0:
            each = [(kind.attained_epsilon(0), n) for kind, n in self.rounds]
            if any(math.isinf(epsilon) for epsilon, _ in each):
                return math.inf
            losses = [Fraction(epsilon) * n for epsilon, n in each]
            if self.neighbours == "remove":
                # the same order of the neighbours in all rounds; each kind alone has its worse one
                together = (_attained_loss(choice) for choice in self._attained_choices)
                exact = max([*losses, *together], default=Fraction(0))
            else:  # in each round the two values may be exchanged
                exact = sum(losses, Fraction(0))
            return max(math.nextafter(float(exact), 0.0), 0.0)
        one = max((kind.attained_epsilon(delta) for kind, _ in self.rounds[:1]), default=0.0)
        return self._attained(one, lambda rounds, rtol: rounds.epsilon_bounds(delta, rtol), rtol)

    @progress("attained delta")
    def attained_delta(self, epsilon: float, *, rtol: float = DEFAULT_RTOL) -> float:
        """Delta that actual pairs of neighbouring datasets, one for each round, reach together.

        Parameters
        ----------
        epsilon : float
            Privacy parameter, 0 or larger.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        float
            Certified from below, like `attained_epsilon`.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        epsilon, rtol = validate.epsilon(epsilon), validate.tolerance(rtol)
        one = max((kind.attained_delta(epsilon) for kind, _ in self.rounds[:1]), default=0.0)
        return self._attained(one, lambda rounds, rtol: rounds.delta_bounds(epsilon, rtol), rtol)

    def _attained(self, one: float, ask: AskToWidth, rtol: float) -> float:
        """Return the larger of `one` round's value and that of the composition of all rounds, for
        the choice of datasets that is the worst by a rough comparison."""
        choices = self._attained_choices
        if self.total_rounds <= 1 or not choices:
            return one
        rounds = [bounds.certified_rounds.CertifiedRounds(choice) for choice in choices]
        if len(rounds) > 1:
            rounds.sort(key=lambda choice: best_effort(ask, choice, tuning.ROUGH_RTOL).lower)
        return max(one, best_effort(ask, rounds[-1], rtol).lower)

    @property
    def _attained_choices(self) -> Sequence[Parts]:
        """Parts of all rounds together, one choice of datasets each."""
        known = [(kind.attained_parts, n) for kind, n in self.rounds]
        each = [[_times(choice, n) for choice in found] for found, n in known if found]
        choices = [tuple(chain(*choice)) for choice in zip(*each, strict=True)]
        return list(dict.fromkeys(choices))

    def fits(self, epsilon: float, delta: float, *, rtol: float = DEFAULT_RTOL) -> bool:
        """Whether the rounds are certified to be (epsilon, delta)-DP.

        Parameters
        ----------
        epsilon : float
            Privacy parameter, 0 or larger.
        delta : float
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        bool
            False also if the exact value is so close to `epsilon` that the width does not decide.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        target, delta = validate.epsilon(epsilon), validate.delta(delta)
        return self.get_epsilon(delta, rtol=rtol) <= target

    def remaining_rounds(
        self, round_: Mechanism, epsilon: float, delta: float, *, rtol: float = DEFAULT_RTOL
    ) -> int:
        """Number of further rounds like this one that are certified to stay (epsilon, delta)-DP.

        One more was evaluated and is not certified, unless the supported number of rounds is
        reached.

        Parameters
        ----------
        round_ : Mechanism
            A round, or a mechanism such as `ApproximateDP`.
        epsilon : float
            Privacy parameter of the budget, above 0.
        delta : float
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        int
            0 if no round fits.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
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
        """Number of further rounds that fit, with the bounds certified there and one round beyond.

        Parameters
        ----------
        round_ : Mechanism
            A round, or a mechanism such as `ApproximateDP`.
        epsilon : float
            Privacy parameter of the budget, above 0.
        delta : float
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        Calibration
            Its `value` is what `remaining_rounds` returns.

        Raises
        ------
        Infeasible
            If no round fits.
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """

        def evaluate(value: float, width: float) -> Bounds[float]:
            return best_effort(
                self.copy().compose(round_, int(value)).epsilon_bounds, delta, rtol=width
            )

        room = validate.MAX_ROUNDS - self.counted_rounds
        # what is no round is refused by compose
        grid = Multiples(room // getattr(round_, "messages", 1))
        rounds = ParameterRange("rounds", grid, 10, grows=True)
        return meet(rounds, evaluate, epsilon, delta, rtol)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was composed to a JSON file, to be continued another day.

        The file describes the rounds, not their numbers: after `load` they are certified anew.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced.

        Raises
        ------
        InvalidParameter
            If the file cannot be written, or a round is not made of a registered name and its
            parameters.
        """
        from ._support.files import write_text_atomically, writing
        from .records import saved

        with writing(path):
            write_text_atomically(path, saved(self.rounds))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Accountant:
        """Accountant that `save` has written.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Accountant
            A new one with the same rounds.

        Raises
        ------
        InvalidParameter
            If the file cannot be read, is not a saved account, or was changed since.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from shuffledp import Accountant, PureLDP, Shuffle
        >>> year = Accountant().compose(Shuffle(PureLDP(eps0=1.0), users=100_000), 52)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     year.save(Path(folder) / "account.json")
        ...     again = Accountant.load(Path(folder) / "account.json")
        >>> again.rounds == year.rounds
        True
        """
        from ._support.files import read_bytes
        from .records import loaded

        return _restore(loaded(read_bytes(path, str(path), "a saved account"), str(path)))

    def copy(self) -> Accountant:
        """Independent accountant with the same rounds."""
        twin = Accountant()
        with self._lock:
            twin._rounds = dict(self._rounds)
            twin._cached = self._cached
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.rounds,)

    def __copy__(self) -> Accountant:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Accountant:
        return self.copy()

    def __repr__(self) -> str:
        total, kinds = several(self.total_rounds, "round"), several(len(self._rounds), "kind")
        return f"<Accountant: {total} of {kinds}>"

    def __str__(self) -> str:
        head = ("rounds", "users", "analysis", "randomizer")
        rows = [(f"{count}", *r.summary) for r, count in self.rounds]
        table = text_table(head, rows, left=[2, 3])
        return f"{table}\n{several(self.total_rounds, 'round')} in all, {self.relation} neighbours"

    def _repr_html_(self) -> str:
        head = ("rounds", "users", "analysis", "randomizer")
        rows = [(f"{count:,}", *r.summary) for r, count in self.rounds]
        caption = f"{self.total_rounds:,} rounds, {self.relation} neighbours"
        return html_table(caption, head, rows, named_by=3)

    @property
    def _certified_rounds(self) -> CertifiedRounds:
        with self._lock:
            if self._cached is None:
                each = (_times(round_.parts, count) for round_, count in self.rounds)
                self._cached = bounds.certified_rounds.CertifiedRounds([*chain(*each)])
            return self._cached


def _times(parts: Parts, rounds: int) -> Parts:
    return [(profile, count * rounds) for profile, count in parts]


def _attained_loss(parts: Parts) -> Fraction:
    """No more than the largest loss of the parts, in the worse order of the neighbours.

    Of unbounded parts a finite loss counts.
    """
    attained = profiles.base.attained_loss
    return max(
        sum((count * Fraction(attained(profile.max_loss)) for profile, count in order), Fraction(0))
        for order in profiles.base.both_orders(parts)
    )


def repeated(what: Mechanism | Accountant, rounds: int) -> Accountant:
    """An accountant of so many repetitions of a round, or of everything in an accountant."""
    accountant = Accountant()
    for round_, count in what.rounds if isinstance(what, Accountant) else [(what, 1)]:
        accountant.compose(round_, count * rounds)
    return accountant


def _restore(rounds: Sequence[tuple[Mechanism, int]]) -> Accountant:
    """What a pickled accountant becomes."""
    accountant = Accountant()
    for round_, count in rounds:
        accountant.compose(round_, count)
    return accountant
