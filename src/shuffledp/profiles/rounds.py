"""Profiles of shuffled rounds: a law, how many users send, and how many more might have."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import ClassVar

import numpy as np

from .._support.numeric import BOTH, Array
from ..laws import tuning as of_laws
from ..laws.base import Law
from ..laws.binary_law import BinaryLaw
from ..laws.class_law import ClassLaw, ClassLaws, ThreePointLaw, mixed_laws, sampled_loss
from ..laws.density_law import DensityLaw
from ..laws.matrix_law import LeadingPairsLaw, PairsLaw
from . import tuning
from .base import PrivacyProfile, Sampler
from .binary import BinaryProfile
from .class_sampler import ClassSampler
from .matrix import PairsProfile
from .samples import Samples, larger_of


@singledispatch
def round_profile(law: Law, users: int, idle: int = 0) -> PrivacyProfile:
    """The profile of a round in which `users` users send, a random subset of them and `idle`
    others, who send nothing (docs/theory.md, "Sampling")."""
    raise TypeError(f"no profile is known for {law!r}")


@round_profile.register
def _(law: ThreePointLaw, users: int, idle: int = 0) -> PrivacyProfile:
    return round_profile(law.classes, users, idle)


@round_profile.register
def _(law: ClassLaws, users: int, idle: int = 0) -> PrivacyProfile:
    if not law.laws:
        return NothingLost()
    few_of_all = law.values and not idle and users <= of_laws.FEW_USERS
    of_all = mixed_laws(law.values, users) if few_of_all else ()
    return ClassProfile(law.laws, users, idle, of_all)


@round_profile.register
def _(law: BinaryLaw, users: int, idle: int = 0) -> PrivacyProfile:
    if idle:
        raise NotImplementedError("of sampled rounds as one only the blanket is known")
    return BinaryProfile.of_both(law, users) if law.depends_on_value else NothingLost()


@round_profile.register
def _(law: DensityLaw, users: int, idle: int = 0) -> PrivacyProfile:
    return DensityProfile(law, users, idle)


@round_profile.register
def _(law: PairsLaw, users: int, idle: int = 0) -> PrivacyProfile:
    return PairsProfile(law.matrix, users, idle)


@round_profile.register
def _(law: LeadingPairsLaw, users: int, idle: int = 0) -> PrivacyProfile:
    return round_profile(law.among(users), users, idle)


@dataclass(frozen=True)
class NothingLost(PrivacyProfile):
    """The profile of a round whose messages do not depend on the values."""

    max_loss: ClassVar[float] = 0.0
    bounded: ClassVar[bool] = True

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return lambda epsilon: Samples(*np.zeros((4, len(epsilon))))


@dataclass(frozen=True)
class ClassProfile(PrivacyProfile):
    """Profile of a shuffled round: the largest over some laws of classes of outputs.

    The laws `of_all` have as classes what the messages of all users together can be.
    """

    laws: tuple[ClassLaw, ...]
    users: int
    idle: int = 0
    of_all: tuple[ClassLaw, ...] = ()

    @property
    def max_loss(self) -> float:
        return max(law.max_loss(self.users, self.idle) for law in self.laws + self.of_all)

    @property
    def bounded(self) -> bool:
        return all(law.bounded(self.idle) for law in self.laws + self.of_all)

    @property
    def about_zero(self) -> float | None:
        """E[(S)_+] if S were normal, which few users or outputs that are not covered forbid."""
        most = max(law.spread(0.0) for law in self.laws)
        normal = math.sqrt(self.users * most / (2 * math.pi)) / (self.users + self.idle)
        return normal if normal < tuning.NORMAL and not self.of_all else None

    @property
    def family(self) -> tuple[Hashable, int]:
        return super().family if self.idle or self.of_all else (self.laws, self.users)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self._sampler(depth, rtol, slopes=True)

    def values(self, depth: float, rtol: float) -> Sampler:
        return self._sampler(depth, rtol, slopes=False)

    def _sampler(self, depth: float, rtol: float, slopes: bool) -> Sampler:
        first, *others = (
            ClassSampler(laws, self.users, rtol, depth=depth, idle=self.idle, slopes=slopes)
            for laws in (self.laws, self.of_all)
            if laws
        )
        if not others:
            return first

        def both(epsilon: Array) -> Samples:
            return larger_of(first(epsilon), others[0](epsilon))

        return both


@dataclass(frozen=True)
class DensityProfile(PrivacyProfile):
    """Profile of a shuffled round between those of laws over cells of outputs."""

    law: DensityLaw
    users: int
    idle: int = 0

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def dear(self) -> bool:
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
        if rtol >= tuning.FIRST_LOOK:
            depth, rtol = min(depth, tuning.OUTLINE_DEPTH), tuning.OUTLINE_WIDTH
        return _DensitySampler(self, depth, rtol, slopes)


class _DensitySampler:
    """Samples of a density between laws of cells: other ones where a score alone makes a sum large.
    If only an outline is asked for, the upper side says enough."""

    def __init__(self, profile: DensityProfile, depth: float, width: float, slopes: bool) -> None:
        self._profile, self._depth, self._width, self._slopes = profile, depth, width, slopes
        self._cutting = profile.law.cut(width * tuning.CELL_SHARE, depth, profile.users)
        self._made: dict[bool, tuple[ClassSampler, ClassSampler]] = {}

    def __call__(self, epsilon: Array) -> Samples:
        population = self._profile.users + self._profile.idle
        # the mean of a score is 1 - alpha
        sums = population * np.expm1(np.minimum(epsilon, 600.0))
        one_large = np.array([self._cutting.one_score_reaches(total) for total in sums.tolist()])
        found, inside = np.empty((4, len(epsilon))), self._profile.some_left(epsilon)
        for large in (False, True):
            rows = np.flatnonzero(one_large == large)
            if len(rows):
                found[:, rows] = self._sample(epsilon[rows], large)
        return Samples(found[0] * inside, found[1] * inside, found[2], found[3])

    def _sample(self, epsilon: Array, one_large: bool) -> Array:
        lower, upper = self._samplers(one_large)
        high = upper(epsilon)
        if self._width >= tuning.OUTLINE_WIDTH:
            return np.array(Samples.without_slopes(0 * high.lower, high.upper).columns)
        low = lower(epsilon)
        return np.array([low.lower, high.upper, low.slope_low, low.slope_high])

    def _samplers(self, one_large: bool) -> tuple[ClassSampler, ClassSampler]:
        if one_large not in self._made:
            profile, cutting = self._profile, self._cutting
            below, above = profile.law.enclosed(cutting, one_large)
            width = cutting.width * tuning.ENGINE_SHARE
            rest = profile.users, width, self._depth, profile.idle
            sides = zip((below, above), BOTH, strict=True)
            lower, upper = (
                ClassSampler(laws.laws, *rest, (side,), self._slopes) for laws, side in sides
            )
            self._made[one_large] = lower, upper
        return self._made[one_large]
