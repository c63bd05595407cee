"""Profiles of rounds in which the number of honest senders is random.

Users who collude with the adversary or drop out provide no cover. If a sample of a fixed size is
drawn from all users, the number of honest senders in it has a hypergeometric law; if every user
sends with some probability, a binomial one. Given this number, which the adversary sees, the round
is one of a sample of the honest users. If users have different randomizers, the number of those who
provide cover is random, too (`CoveredRounds`).

Theory: docs/theory/senders.md, docs/theory/mixed.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array
from ..laws.class_law import Law
from .base import NothingLost, PrivacyProfile, Sampler, Samples, chord_falls
from .parts import round_profile
from .sender_count import Bucket, SenderCount, TotalCount


class Between(NamedTuple):
    """Bounds of the mean profile of a bucket of counts, at some epsilons.

    There is a profile `below` and a bound `above`; `gap` is their distance without the width of the
    samples themselves, and `slope` about minus the slope in alpha.
    """

    below: Samples
    above: Array
    gap: Array
    slope: Array


Ends = Callable[[Bucket, Array], Between]


Which = TypeVar("Which", bound=Hashable)


class Remembered(Generic[Which]):
    """A cache of samples of several rounds, at the epsilons of the last call."""

    def __init__(self, evaluate: Callable[[Which, Array], Samples]) -> None:
        self._evaluate, self._at = evaluate, b""
        self._known: dict[Which, Samples] = {}

    def __call__(self, which: Which, epsilon: Array) -> Samples:
        if self._at != epsilon.tobytes():
            self._at, self._known = epsilon.tobytes(), {}
        if which not in self._known:
            self._known[which] = self._evaluate(which, epsilon)
        return self._known[which]


class RoundsBySenders(Protocol):
    """Rounds by the number of honest senders, of which one is carried out."""

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        """Profiles that bound the losses of all rounds.

        No round has a larger finite loss, however unlikely, than all of these, nor infinite losses
        if these have none.
        """
        ...

    @property
    def most(self) -> int:
        """The most buckets, fewer if rounds are expensive."""
        ...

    def bracket(self, depth: float, rtol: float) -> Ends:
        """A function that bounds buckets, to this width if they have a single count."""
        ...


@dataclass(frozen=True)
class SampledRounds:
    """Rounds of a random subset of the honest users.

    The bound of a sampled round grows with the senders: one more of them replaces a constant by a
    draw with that mean. Each sends `messages` messages, one of which is in question.
    """

    law: Law
    count: SenderCount
    messages: int = 1

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        return (self.profile(self.count.most),)

    @property
    def most(self) -> int:
        return tuning.MOST_BUCKETS

    def profile(self, senders: int) -> PrivacyProfile:
        m = self.messages
        if not senders:
            return NothingLost()
        return round_profile(self.law, m * senders, m * (self.count.honest - senders))

    def bracket(self, depth: float, rtol: float) -> Ends:
        """Buckets lie between the rounds of their node and of their last count."""
        return _between(
            self.profile, lambda bucket: bucket.node, lambda bucket: bucket.last, depth, rtol
        )


@dataclass(frozen=True)
class CoveredRounds:
    """Rounds of the user in question, `certain` - 1 others and a random number of more others.

    More users hide better, so that the bound falls with their number (docs/theory/scores.md).
    """

    law: Law
    certain: int
    count: SenderCount | TotalCount

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        return self.profile(self.count.least), self.profile(self.count.most)

    @property
    def most(self) -> int:
        return tuning.MOST_BUCKETS

    def profile(self, others: int) -> PrivacyProfile:
        return round_profile(self.law, self.certain + others)

    def bracket(self, depth: float, rtol: float) -> Ends:
        """Buckets lie between the rounds of their last count and of their node."""
        rounded_off, largest = self.count.rounded_off, self.count.most

        def most(bucket: Bucket) -> int:
            return min(bucket.last + rounded_off, largest)

        return _between(self.profile, most, lambda bucket: bucket.node, depth, rtol)


def _between(
    profile: Callable[[int], PrivacyProfile],
    smaller: Callable[[Bucket], int],
    larger: Callable[[Bucket], int],
    depth: float,
    rtol: float,
) -> Ends:
    """Bounds of buckets by the rounds of two counts, with smaller and with larger profiles."""

    def evaluate(senders: int, epsilon: Array) -> Samples:
        return profile(senders).sampler(depth, rtol)(epsilon)

    sample_of = Remembered(evaluate)

    def ends(bucket: Bucket, epsilon: Array) -> Between:
        below, above = (sample_of(count(bucket), epsilon) for count in (smaller, larger))
        gap = np.maximum(above.upper - below.upper, 0.0)
        return Between(below, above.upper, gap, below.fall_low)

    return ends


@dataclass(frozen=True)
class MixtureProfile(PrivacyProfile):
    """The mean of the profiles of rounds over the number of senders, which the adversary sees."""

    count: SenderCount | TotalCount
    rounds: RoundsBySenders

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def is_expensive(self) -> bool:
        return True

    @property
    def is_slow(self) -> bool:
        # narrow brackets cost little if there are few counts; without this flag, bundles of
        # messages take 20 times as long
        return self.count.deviation > 8 or any(end.is_slow for end in self.rounds.ends)

    @property
    def max_loss(self) -> float:
        return max(end.max_loss for end in self.rounds.ends)

    @property
    def bounded(self) -> bool:
        return all(end.bounded for end in self.rounds.ends)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        # samples may cost 0.3 of the width and buckets 0.5
        ends = self.rounds.bracket(depth, 0.3 * rtol)
        mixed = _Mixed(self.count, ends, depth, 0.5 * rtol, self.rounds.most)

        return lambda epsilon: self.zeroed_beyond_max_loss(
            mixed(np.asarray(epsilon, dtype=float)), epsilon
        )


class _Mixed:
    """The mean over all counts, in buckets that are cut where that narrows the bounds.

    Buckets that were cut for some epsilons stay cut for others.
    """

    def __init__(
        self,
        count: SenderCount | TotalCount,
        ends: Ends,
        depth: float,
        rtol: float,
        most: int,
    ) -> None:
        self._cells, self._ends = count.cells(depth), ends
        self._least, self._rtol, self._most = math.exp(-depth), rtol, most
        middle = int(np.searchsorted(self._cells.point, count.mean))
        self._nodes = np.unique([0, min(middle, len(self._cells.point) - 1)])

    def __call__(self, epsilon: Array) -> Samples:
        stride = len(epsilon) // 8
        if stride > 1:  # where to cut is found at about eight of them
            self._cut(epsilon[::stride])
        return self._cut(epsilon)

    def _cut(self, epsilon: Array) -> Samples:
        """Samples of the mean, after cutting buckets until they are narrow enough."""
        known: dict[tuple[int, ...], tuple[Array, ...]] = {}
        while True:
            buckets = self._cells.buckets(self._nodes)
            for bucket in buckets:
                if bucket.key not in known:
                    found = self._ends(bucket, epsilon)
                    known[bucket.key] = np.array(found.below.columns), *found[1:]
            below, above, gap, slope = (
                np.array(side) for side in zip(*(known[b.key] for b in buckets), strict=True)
            )
            lower, upper = np.array([(b.lower, b.upper) for b in buckets]).T
            mean = self._mean(epsilon, lower, upper, below, above)
            cut = self._worth_cutting(epsilon, mean.upper, lower @ slope, upper[:, None] * gap)
            if not len(cut):
                return mean
            self._nodes = np.union1d(self._nodes, cut)

    def _worth_cutting(
        self, epsilon: Array, mean: Array, slope: Array, gap: Array
    ) -> NDArray[np.intp]:
        """The cells at which to cut buckets; none if all of them together are narrow enough."""
        falls = epsilon * np.exp(np.minimum(epsilon, 700.0)) * slope
        with np.errstate(over="ignore"):
            gap = np.minimum(gap / (self._rtol * (mean + falls + self._least)), 1e300)
        start = self._cells.starts(self._nodes)
        middle = start + np.diff(start, append=len(self._cells.point)) // 2
        too_wide, is_new = gap.sum(axis=0) > 1, ~np.isin(middle, self._nodes)
        worst = gap[:, too_wide].max(axis=1, initial=0.0) * is_new
        number = max(int(np.count_nonzero(gap.any(axis=1))), 1)  # single counts have no gap
        worst[worst <= 0.9 / number] = 0.0  # with 0.5, 1,000 senders take a third longer
        # the worst ones, if not all of them may be cut
        cut = np.argsort(-worst)[: max(self._most - len(self._nodes), 0)]
        result: NDArray[np.intp] = middle[cut[worst[cut] > 0]]
        return result

    def _mean(
        self, epsilon: Array, lower: Array, upper: Array, below: Array, above: Array
    ) -> Samples:
        """Samples of the mean over buckets.

        lower and upper have the shape [buckets], below [buckets, 4, epsilons] and above
        [buckets, epsilons]. Sums are charged with one rounding per bucket.
        """
        charge = UNIT * (len(lower) + 8)
        positive = lower > 0  # an unknown slope is infinite
        low, high, flat, steep = np.einsum("i,ijk->jk", lower[positive], below[positive])
        low, flat = low * (1 - charge), flat * (1 - charge)
        high, steep = high * (1 + charge), steep * (1 + charge)
        most = (upper @ above) * (1 + charge) + self._cells.rest + UNDERFLOW
        if (np.diff(epsilon) > 0).all() and (epsilon < 700).all():
            chords = chord_falls(low, high, np.expm1(epsilon), np.inf)
            steep, flat = np.minimum(steep, chords[0]), np.maximum(flat, chords[1])
        return Samples(low, np.minimum(most, 1.0), flat, steep)
