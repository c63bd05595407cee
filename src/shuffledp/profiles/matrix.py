"""The blanket profile of a matrix: the largest over all pairs of rows, of which few are evaluated.

Only pairs whose bound (`pair_bounds.py`) exceeds the certified delta of a leading pair need to be
evaluated; docs/theory.md, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._support.numeric import Array
from ..laws.class_law import ClassLaw
from ..laws.matrix_law import Matrix, dominating_law, pair_law
from . import tuning
from .base import PrivacyProfile
from .class_sampler import ClassSampler, last_slope
from .pair_bounds import Candidates, PairBounds
from .samples import Samples, joined, larger_of


@dataclass(frozen=True)
class PairsProfile(PrivacyProfile):
    """Profile of a shuffled round: the largest over all ordered pairs of rows of a matrix."""

    matrix: Matrix
    users: int
    idle: int = 0

    @cached_property
    def _extremes(self) -> ClassLaw:
        """The largest and the least positive probability of each output: it has the largest loss of
        all pairs."""
        rows = self.matrix.rows
        least = np.where(rows > 0, rows, np.inf).min(axis=0)
        used = np.isfinite(least)
        base = rows.min(axis=0)
        return ClassLaw(rows.max(axis=0)[used], least[used], base[used])

    @cached_property
    def max_loss(self) -> float:
        return self._extremes.max_loss(self.users, self.idle)

    @cached_property
    def bounded(self) -> bool:
        rows = self.matrix.rows
        return not ((rows == 0).any(axis=0) & (rows > 0).any(axis=0)).any()

    @cached_property
    def bounds(self) -> PairBounds:
        return PairBounds(self.matrix.rows, self.users, self.idle, lambda: self.dominating)

    @cached_property
    def dominating(self) -> ClassLaw:
        return dominating_law(self.matrix.rows, self.matrix.rows.min(axis=0))

    def sampler(self, depth: float, rtol: float) -> PairsSampler:
        return PairsSampler(self, depth, rtol)

    def values(self, depth: float, rtol: float) -> PairsSampler:
        return PairsSampler(self, depth, rtol, slopes=False)

    @cached_property
    def last_slope(self) -> float:
        """Minus the slope of the profile where it reaches 0, from below, by the pair with the
        largest loss; 0 if nothing is known of it."""
        if self.idle or not self.bounded:
            return 0.0
        rows = self.matrix.rows
        used = rows[:, rows.max(axis=0) > 0]
        y = int((used.max(axis=0) / used.min(axis=0)).argmax())
        law = self.law(int(used[:, y].argmax()), int(used[:, y].argmin()))
        return last_slope(law, self.users, self.max_loss)

    def law(self, i: int, j: int) -> ClassLaw:
        rows = self.matrix.rows
        return pair_law(rows[i], rows[j], rows.min(axis=0))


class PairsSampler:
    """Evaluates a PairsProfile: leading pairs first, then all that may be larger."""

    def __init__(
        self, profile: PairsProfile, depth: float, rtol: float, slopes: bool = True
    ) -> None:
        self._profile, self._depth, self._slopes = profile, depth, slopes
        self._width = max(rtol, profile.bounds.least_width)
        self._close = rtol < tuning.FIRST_LOOK

    def __call__(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        parts = np.split(epsilon, range(tuning.TOGETHER, len(epsilon), tuning.TOGETHER))
        found = joined([self._evaluate(part) for part in parts])
        profile = self._profile
        slope = np.where(epsilon == profile.max_loss, profile.last_slope, found.slope_low)
        return replace(found, upper=np.minimum(found.upper, 1.0), slope_low=slope)

    @cached_property
    def _above(self) -> ClassSampler:
        return self._of((self._profile.dominating,))

    def _evaluate(self, epsilon: Array) -> Samples:
        found = [self._profile.bounds.candidates(e) for e in epsilon.tolist()]
        best = self._of_pairs(epsilon, found, [len(c.bound[: tuning.LEADERS]) for c in found])
        above = self._above(epsilon).upper
        if self._profile.bounded:
            above *= epsilon < self._profile.max_loss
        # more pairs can only tell if they may have more, and if all together do
        useful = (above > tuning.CLOSE * best.upper) & self._close
        more = [
            0 if not some else c.above(low)
            for some, c, low in zip(useful, found, best.lower, strict=True)
        ]
        if max(more, default=0) > tuning.LEADERS:
            counts = [max(count, 1) for count in more]
            best = larger_of(best, self._of_pairs(epsilon, found, counts, best.lower))
        left_out = [
            max(c.rest, float(c.bound[count]) if count < len(c.bound) else 0.0)
            for c, count in zip(found, np.maximum(more, tuning.LEADERS), strict=True)
        ]
        total = np.minimum(above, np.maximum(best.upper, left_out))
        if self._close and (total > tuning.LIMITED * best.upper).any():
            self._profile.bounds.least_width = tuning.AIM
        return replace(best, upper=total)

    def _of_pairs(
        self,
        epsilon: Array,
        found: list[Candidates],
        counts: list[int],
        known: Array | None = None,
    ) -> Samples:
        """The largest delta of as many candidates of each epsilon."""
        place: dict[ClassLaw, int] = {}
        pairs: dict[tuple[int, int], int] = {}
        wanted: list[list[int]] = []
        for candidates, count in zip(found, counts, strict=True):
            rows = zip(
                candidates.first[:count].tolist(), candidates.second[:count].tolist(), strict=True
            )
            mine = []
            for pair in rows:
                if pair not in pairs:
                    law = self._profile.law(*pair)
                    pairs[pair] = place.setdefault(law, len(place))
                mine.append(pairs[pair])
            wanted.append(mine)
        mask = np.zeros((len(place), len(epsilon)), dtype=bool)
        for column, mine in enumerate(wanted):
            mask[mine, column] = True
        return self._of(tuple(place)).largest(epsilon, mask, known)

    def _of(self, laws: tuple[ClassLaw, ...]) -> ClassSampler:
        users, idle = self._profile.users, self._profile.idle
        return ClassSampler(laws, users, self._width, self._depth, idle=idle, slopes=self._slopes)
