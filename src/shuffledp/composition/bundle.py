"""Rounds that are several: columns of sums, or messages of a user, which may change together.

Shuffling all messages together is a post-processing of shuffling everybody's first messages, then
everybody's second ones, and so on: a bundle of m messages is bounded by m rounds. Where whole users
are sampled, those m rounds have one sample, so that they are composed first and sampled then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._support.numeric import Array
from ..profiles import tuning as of_profiles
from ..profiles.base import Parts, PrivacyProfile, Sampler, merged, swapped
from ..profiles.parts import round_parts
from ..profiles.rounds import NothingLost
from ..profiles.samples import Samples
from ..profiles.sender_count import SenderCount
from ..profiles.subsampled import SubsampledProfile
from . import tuning
from .compose import Composition


@dataclass(frozen=True)
class ComposedProfile(PrivacyProfile):
    """The profile of several rounds, as if they were one."""

    rounds: tuple[tuple[PrivacyProfile, int], ...]
    coarse: float = 0.0  # a width that is narrow enough

    @property
    def depths(self) -> Sequence[float]:
        return of_profiles.DEPTHS

    @property
    def dear(self) -> bool:
        return True

    @property
    def slow(self) -> bool:
        return True

    @cached_property
    def composition(self) -> Composition:
        return Composition(self.rounds)

    @property
    def reverse(self) -> PrivacyProfile | None:
        other = self.swapped
        return None if other is self else other

    @property
    def swapped(self) -> ComposedProfile:
        other = swapped(self.rounds)
        return self if other == self.rounds else replace(self, rounds=other)

    @property
    def max_loss(self) -> float:
        return self.composition.max_loss

    @property
    def bounded(self) -> bool:
        return self.composition.bounded

    def sampler(self, depth: float, rtol: float) -> Sampler:
        def sample(epsilon: Array) -> Samples:
            inside, places = self.some_left(epsilon), np.minimum(epsilon, self.max_loss)
            width = max(rtol, self.coarse)
            lower, upper = self.composition.deltas(places, math.exp(-depth), width)
            return Samples.without_slopes(lower * inside, upper * inside)

        return sample


def as_one(parts: Parts, coarse: float = 0.0) -> PrivacyProfile:
    """The profile of parts that are composed."""
    match merged(parts):
        case ():
            return NothingLost()
        case ((profile, 1),):
            return profile
        case kinds:
            return ComposedProfile(kinds, coarse)


@dataclass(frozen=True)
class BundledRounds:
    """Rounds of a random subset of the honest users, of each of whom `messages` messages are sent.

    With f_t the profile of the round of t senders, (t/n) f_t(1 + (alpha - 1) n/t) grows with the
    share t/n while f_t falls with t: the two ends of a bucket bound it. It is that of replace-one
    neighbours: someone else is in the sample instead (docs/theory.md, "Sampling").
    """

    law: Any
    count: SenderCount
    messages: int
    coarse: ClassVar[float] = 2.0  # every composition takes a while
    _made: dict[int, PrivacyProfile] = field(default_factory=dict, compare=False, repr=False)

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        most = self.count.most
        return self.profile((1, most)), self.profile((most, most))

    def above(self, first: int, last: int) -> tuple[int, int] | None:
        return (max(first, 1), last) if last else None

    def below(self, first: int, last: int) -> tuple[int, int] | None:
        return (last, first) if first else None

    def profile(self, key: tuple[int, int]) -> PrivacyProfile:
        """For (t, s): f_t with the share s/n."""
        hidden, sent = key
        if hidden not in self._made:
            parts = round_parts(self.law, hidden)
            each = [(part, self.messages * count) for part, count in parts]
            self._made[hidden] = as_one(each, tuning.COARSE)
        return SubsampledProfile(self._made[hidden], sent / self.count.honest)
