"""Users who send several messages in a round, all of which may change together.

Shuffling all messages together is a post-processing of shuffling everybody's first messages, then
everybody's second ones, and so on: a bundle of m messages is bounded by m rounds. Where whole users
are sampled, those m rounds have one sample, so that they are composed first and sampled then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from .._support.numeric import Array
from ..laws.base import Law
from ..profiles import tuning as of_profiles
from ..profiles.base import PrivacyProfile, Sampler
from ..profiles.rounds import round_profile
from ..profiles.samples import Samples
from ..profiles.sender_count import SenderCount
from ..profiles.subsampled import SubsampledProfile
from . import tuning
from .compose import Composition


@dataclass(frozen=True)
class ComposedProfile(PrivacyProfile):
    """The profile of `rounds` rounds of one kind, as if they were one."""

    one: PrivacyProfile
    rounds: int
    coarse: float = 0.0  # a width that is narrow enough

    @property
    def depths(self) -> Sequence[float]:
        return of_profiles.DEPTHS

    @property
    def dear(self) -> bool:
        return True

    @cached_property
    def composition(self) -> Composition:
        return Composition([(self.one, self.rounds)])

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


@dataclass(frozen=True)
class BundledRounds:
    """Rounds of a random subset of the honest users, of each of whom `messages` messages are sent.

    With f_t the profile of the round of t senders, (t/n) f_t(1 + (alpha - 1) n/t) grows with the
    share t/n while f_t falls with t: the two ends of a bucket bound it.
    """

    law: Law
    count: SenderCount
    messages: int
    coarse: ClassVar[float] = 2.0  # every composition takes a while
    _composed: dict[int, ComposedProfile] = field(default_factory=dict, compare=False, repr=False)

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
        if hidden not in self._composed:
            self._composed[hidden] = ComposedProfile(
                round_profile(self.law, hidden), self.messages, tuning.COARSE
            )
        return SubsampledProfile(self._composed[hidden], sent / self.count.honest)
