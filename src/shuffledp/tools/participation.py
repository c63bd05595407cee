"""Which rounds of a plan one user can be in, and the certified epsilon of the worst of them.

Limits on a user, "in at most 26 rounds of this entry" or "for at most 26 weeks", leave several
sets of rounds that a user can be in. Only the largest of them count: what a user loses in some
rounds is no more than in those and others.

Theory: docs/theory/participation.md.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Bounds
from ..accountant import Accountant
from ..guarantee import best_effort
from ..profiles.base import Parts
from ..rounds import Round
from .dates import Days, Duration
from .shared_lattices import SharedLattices

if TYPE_CHECKING:
    from .plan import PlannedRound

#: Rounds, and how many there are of each.
CountedRounds = tuple[tuple[Round, int], ...]


class Attendance(NamedTuple):
    """Rounds that one user can be in, and the days of the period in which they are.

    The days are None if the plan has none.
    """

    rounds: CountedRounds
    first: datetime.date | None = None
    last: datetime.date | None = None


class Participation:
    """The rounds that one user can be in.

    Parameters
    ----------
    planned : Sequence of PlannedRound
        The entries that concern the user; all of them have dates, or none has.
    stays : Duration, optional
        The last round of a user is less than that time after the first.

    >>> from datetime import date
    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.tools.dates import Duration, Schedule
    >>> from shuffledp.tools.participation import Participation
    >>> from shuffledp.tools.plan import PlannedRound
    >>> year = Schedule(date(2027, 1, 4), "week", rounds=52)
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(1.0), 1000), schedule=year)
    >>> attendance, = Participation([weekly], Duration.read("stays", "26 weeks")).attendances()
    >>> attendance.rounds[0][1], str(attendance.last)
    (26, '2027-07-04')
    """

    def __init__(self, planned: Sequence[PlannedRound], stays: Duration | None = None) -> None:
        self._planned, self._stays = planned, stays
        self._kinds = list(dict.fromkeys(each.round for each in planned))
        schedules = [each.schedule for each in planned if each.schedule is not None]
        #: The days of all rounds, each once.
        self.days: Days = np.unique(np.concatenate([[], *(s.days for s in schedules)]).astype(int))

    def attendances(
        self, first: datetime.date | None = None, last: datetime.date | None = None
    ) -> list[Attendance]:
        """The largest sets of rounds of one user from one day to another, both included."""
        if not len(self.days):
            counts = ((each.round, each.most) for each in self._planned)
            return [Attendance(_added(counts))] if self._planned else []
        days = self._between(first, last)
        if not len(days):
            return []
        if self._stays is None:
            return self._largest(days[:1], days[-1:])
        return self._largest(days, np.minimum(self._stays.last_days(days), days[-1]))

    def attendances_in_any(
        self,
        length: Duration,
        first: datetime.date | None = None,
        last: datetime.date | None = None,
    ) -> list[Attendance]:
        """The same within any period of a length.

        The rounds of a period are among those of the period that begins with the first of them,
        because of two days the later one is never followed by an earlier end.
        """
        days = self._between(first, last)
        if not len(days):
            return []
        lengths = [length] if self._stays is None else [length, self._stays]
        ends = [np.minimum(each.last_days(days), days[-1]) for each in lengths]
        return self._largest(days, np.minimum.reduce(ends))

    def _between(self, first: datetime.date | None, last: datetime.date | None) -> Days:
        low = 0 if first is None else first.toordinal()
        high = datetime.date.max.toordinal() if last is None else last.toordinal()
        return self.days[(self.days >= low) & (self.days <= high)]

    def _largest(self, first: Days, last: Days) -> list[Attendance]:
        """Of the periods between some days, those whose rounds are not all in another one."""
        counts = np.zeros((len(first), len(self._kinds)), dtype=np.int64)
        for each in self._planned:
            if each.schedule is not None:
                days = each.schedule.days
                inside = np.searchsorted(days, last, "right") - np.searchsorted(days, first)
                if len(days) == 1:
                    inside *= each.rounds
                counts[:, self._kinds.index(each.round)] += np.minimum(inside, each.most)
        return [
            Attendance(
                _added(zip(self._kinds, counts[i].tolist(), strict=True)),
                datetime.date.fromordinal(int(first[i])),
                datetime.date.fromordinal(int(last[i])),
            )
            for i in maximal_rows(counts)
        ]


def maximal_rows(counts: NDArray[np.int64]) -> list[int]:
    """The first of each of the rows that no other row exceeds everywhere, in their order.

    >>> import numpy as np
    >>> from shuffledp.tools.participation import maximal_rows
    >>> maximal_rows(np.array([[1, 2], [2, 1], [2, 1], [1, 1]]))
    [0, 1]
    """
    unique, places = np.unique(counts, axis=0, return_index=True)
    found = []
    while len(unique):
        best = int(np.argmax(unique.sum(axis=1)))
        found.append(int(places[best]))
        others = (unique > unique[best]).any(axis=1)
        unique, places = unique[others], places[others]
    return sorted(found)


def _added(counts: Iterable[tuple[Round, int]]) -> CountedRounds:
    total: dict[Round, int] = {}
    for round_, count in counts:
        total[round_] = total.get(round_, 0) + count
    return tuple((round_, count) for round_, count in total.items() if count)


class Costs:
    """Certified epsilons of sets of rounds, each computed once.

    Parameters
    ----------
    rtol : float
        The relative width to aim for; what is wider is kept as it is.
    """

    def __init__(self, rtol: float) -> None:
        self._rtol = rtol
        self._known: dict[tuple[CountedRounds, float], Bounds[float]] = {}

    def epsilon(self, rounds: CountedRounds, delta: float) -> Bounds[float]:
        """Of the composition of some rounds; 0 if there are none."""
        key = rounds, delta
        if key not in self._known:
            self._known[key] = self._computed(rounds, delta)
        return self._known[key]

    def _computed(self, rounds: CountedRounds, delta: float) -> Bounds[float]:
        account = Accountant()
        for round_, count in rounds:
            account.compose(round_, count)
        return best_effort(account.epsilon_bounds, delta, rtol=self._rtol)

    def worst(
        self, attendances: Sequence[Attendance], delta: float
    ) -> tuple[Bounds[float], Attendance | None]:
        """The bounds of the largest epsilon, and the rounds whose upper value is the largest."""
        if not attendances:
            return Bounds(0.0, 0.0), None
        each = [self.epsilon(attendance.rounds, delta) for attendance in attendances]
        upper = max(bounds.upper for bounds in each)
        place = next(i for i, bounds in enumerate(each) if bounds.upper == upper)
        return Bounds(max(bounds.lower for bounds in each), upper), attendances[place]


class SharedCosts(Costs):
    """The same for many sets of the same rounds, the largest first: they share their lattices."""

    def __init__(self, rtol: float) -> None:
        super().__init__(rtol)
        self._parts: dict[Round, Parts] = {}
        self._lattices: dict[float, SharedLattices] = {}

    def _computed(self, rounds: CountedRounds, delta: float) -> Bounds[float]:
        if delta not in self._lattices:
            self._lattices[delta] = SharedLattices(delta, self._rtol)
        parts = []
        for round_, count in rounds:
            if round_ not in self._parts:
                self._parts[round_] = round_.parts
            parts += [(profile, count * each) for profile, each in self._parts[round_]]
        return self._lattices[delta].epsilon_bounds(parts)
