"""Rounds in which the number of honest senders is random: what that does to a profile.

Users who collude with the adversary or drop out are left out of what hides the user in question.
If a sample of a fixed size is drawn from all users, then how many of them were drawn is seen, and
what is left of the sample is honest: a random number of senders, with a hypergeometric law. Given
it, the round is one of a sample of the honest users (docs/theory.md, "Collusion and drop-outs").
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array
from ..laws.base import Law
from . import tuning
from .base import PrivacyProfile, Sampler
from .convex import chord_slopes
from .rounds import round_profile
from .samples import Samples
from .sender_count import SenderCount


class Rounds(Protocol):
    """The rounds of which one is carried out, by how many honest users send in it.

    A key names a profile that bounds those of all rounds with first .. last senders, from above or
    from below; None stands for delta = 0.
    """

    @property
    def coarse(self) -> float:
        """Width of a bucket in standard deviations, at least: rounds may be dear."""
        ...

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        """No round has a larger loss than all of these, nor infinite losses if they have none."""
        ...

    def above(self, first: int, last: int) -> Hashable: ...

    def below(self, first: int, last: int) -> Hashable: ...

    def profile(self, key: Any) -> PrivacyProfile: ...


@dataclass(frozen=True)
class SampledRounds:
    """Rounds of a random subset of the honest users.

    The bound of a sampled round grows with the senders: one more of them replaces a constant by a
    draw with that mean. Each sends `messages` messages, one of which is in question.
    """

    law: Law
    count: SenderCount
    messages: int = 1
    coarse: ClassVar[float] = 0.0

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        return (self.profile(self.count.most),)

    def above(self, first: int, last: int) -> int | None:
        return last or None

    def below(self, first: int, last: int) -> int | None:
        return first or None

    def profile(self, key: int) -> PrivacyProfile:
        m = self.messages
        return round_profile(self.law, m * key, m * (self.count.honest - key))


@dataclass(frozen=True)
class MixtureProfile(PrivacyProfile):
    """The number of senders is seen, whoever they are: the mean of the rounds' profiles.

    Counts are put together in buckets, whose rounds are bounded by one above and one below.
    """

    count: SenderCount
    rounds: Rounds

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def dear(self) -> bool:
        return True

    @property
    def slow(self) -> bool:
        return any(end.slow for end in self.rounds.ends)

    @property
    def max_loss(self) -> float:
        return max(end.max_loss for end in self.rounds.ends)

    @property
    def bounded(self) -> bool:
        return all(end.bounded for end in self.rounds.ends)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        # epsilon goes like the square root of the senders, so a bucket costs half its width
        buckets = self.count.buckets(depth, 2 * tuning.SHARE * rtol, self.rounds.coarse)
        # a bucket of one count is exact; a wider one borrows the next bucket's first count
        following = np.append(buckets.first[1:], buckets.last[-1])
        last = np.where(buckets.last > buckets.first, following, buckets.last)
        masses: dict[Hashable, Array] = {}  # in the profiles below and above
        ends = zip(buckets.first.tolist(), last.tolist(), strict=True)
        for (a, b), *pair in zip(ends, buckets.lower, buckets.upper, strict=True):
            for side, key in enumerate((self.rounds.below(a, b), self.rounds.above(a, b))):
                if key is not None:
                    masses.setdefault(key, np.zeros(2))[side] += pair[side]
        parts = [
            (*pair, self.rounds.profile(key).sampler(depth, rtol)) for key, pair in masses.items()
        ]
        charge = UNIT * (len(parts) + 8)

        def sample(epsilon: Array) -> Samples:
            inside = self.some_left(epsilon)
            # the lower profile from below and above, its lines, and the upper profile
            total = np.zeros((5, len(epsilon)))
            for lower, upper, sampler in parts:
                s = sampler(epsilon)
                if lower:  # an unknown slope is infinite
                    total[:4] += lower * np.array(astuple(s))
                total[4] += upper * s.upper
            low, high, flat, steep, most = (
                side * (1 + sign * charge)
                for side, sign in zip(total, (-1, 1, -1, 1, 1), strict=True)
            )
            most = np.minimum(most + buckets.rest + UNDERFLOW, 1.0)
            if (np.diff(epsilon) > 0).all():
                chords = chord_slopes(low, high, np.expm1(epsilon), np.inf)
                steep, flat = np.minimum(steep, chords[0]), np.maximum(flat, chords[1])
            return Samples(low * inside, most * inside, flat, steep)

        return sample
