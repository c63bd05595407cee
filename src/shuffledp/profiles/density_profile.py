"""The profile of a density: between the profiles of laws over cells of its outputs.

Theory: docs/theory/densities.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from .._support.numeric import BOTH, Array
from ..laws.class_law import sampled_loss
from ..laws.density_law import DensityLaw
from . import tuning
from .base import PrivacyProfile, Sampler
from .class_profile import ClassSampler, LawTable
from .samples import Samples


@dataclass(frozen=True)
class DensityProfile(PrivacyProfile):
    """Profile of a shuffled round, between those of laws over cells of outputs.

    The senders are a random subset of `users` out of users + idle.
    """

    law: DensityLaw
    users: int
    idle: int = 0

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def is_expensive(self) -> bool:
        return True

    @property
    def max_loss(self) -> float:
        # R(0)/omega is at most the largest ratio, and R(1)/omega at least 1
        rate = self.users / (self.users + self.idle)
        return sampled_loss(self.law.max_loss, rate) if self.idle else self.law.max_loss

    @property
    def bounded(self) -> bool:
        return self.law.bounded

    @property
    def family(self) -> tuple[Hashable, int]:
        return super().family if self.idle else (self.law, self.users)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self._sampler(depth, rtol, slopes=True)

    def values(self, depth: float, rtol: float) -> Sampler:
        return self._sampler(depth, rtol, slopes=False)

    def _sampler(self, depth: float, rtol: float, slopes: bool) -> Sampler:
        # An outline has coarse cells and stops early, so that the far tail does not make the rest
        # wide: without this, Gaussian noise takes twice as long.
        if rtol >= tuning.FIRST_LOOK:
            depth, rtol = min(depth, tuning.DEPTHS[1]), tuning.OUTLINE_WIDTH
        return _DensitySampler(self, depth, rtol, slopes)


class _DensitySampler:
    """Samples of a density between laws over cells.

    Sums that a single score reaches have cells of their own. An outline has an upper side only.
    """

    def __init__(self, profile: DensityProfile, depth: float, width: float, slopes: bool) -> None:
        self._profile, self._depth, self._width, self._slopes = profile, depth, width, slopes
        # cells get 0.4 of the width: with 0.27 compositions take a third longer, with 0.6 more of
        # them miss the width at first
        self._cutting = profile.law.cut(width * 0.4, depth, profile.users)
        self._made: dict[bool, tuple[ClassSampler, ClassSampler]] = {}

    def __call__(self, epsilon: Array) -> Samples:
        population = self._profile.users + self._profile.idle
        # the mean of a score is 1 - alpha
        sums = population * np.expm1(np.minimum(epsilon, 600.0))
        one_large = np.array([self._cutting.one_score_reaches(total) for total in sums.tolist()])
        found = np.empty((4, len(epsilon)))
        for large in (False, True):
            rows = np.flatnonzero(one_large == large)
            if len(rows):
                found[:, rows] = self._sample(epsilon[rows], large)
        return self._profile.inside(Samples(*found), epsilon)

    def _sample(self, epsilon: Array, one_large: bool) -> Array:
        lower, upper = self._samplers(one_large)
        high = upper(epsilon)
        if self._width >= tuning.OUTLINE_WIDTH:
            return np.array(Samples.without_slopes(0 * high.lower, high.upper).columns)
        low = lower(epsilon)
        return np.array([low.lower, high.upper, low.slope_low, low.slope_high])

    def _samplers(self, one_large: bool) -> tuple[ClassSampler, ClassSampler]:
        """Samplers of the laws below and above, made once for each set of cells."""
        if one_large not in self._made:
            profile, cutting = self._profile, self._cutting
            below, above = profile.law.enclosed(cutting, one_large)
            width = cutting.width / 8  # engines may cost an eighth of what cells do
            tables = (LawTable(side.laws, profile.users, profile.idle) for side in (below, above))
            lower, upper = (
                ClassSampler(table, width, self._depth, (side,), self._slopes)
                for table, side in zip(tables, BOTH, strict=True)
            )
            self._made[one_large] = lower, upper
        return self._made[one_large]
