"""The mean of the profiles of rounds over a random number of users, which the adversary sees.

Users who collude with the adversary or drop out provide no cover. If a sample of a fixed size is
drawn from all users, the number of honest senders in it has a hypergeometric law; if every user
sends with some probability, a binomial one. Given this number, the round is one of a sample of the
honest users (`SampledRounds`). If users have different randomizers, those others hide a user who
draw from a common blanket, and their number is a sum of binomial variables (`CoveredProfile`).

`MixtureProfile` takes the mean over all of them, in buckets of numbers between whose first and last
the profile lies, as it grows or falls with the number.

Theory: docs/theory/senders.md, docs/theory/mixed.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import BOTH, UNDERFLOW, UNIT, Array, Side
from ..laws.class_law import ClassLaw, ClassLaws
from .base import NothingLost, PrivacyProfile, Sampler, Samples, largest
from .parts import round_profile
from .sender_count import Bucket, CountCells, SenderCount, TotalCount

# proof constants: docs/theory/constants.md
#: Users with less of the blanket are left out, which is sound.
_LEAST_SHARE = 2.0**-30


class Between(NamedTuple):
    """Samples of the mean profile of a bucket of counts, at some epsilons.

    `own` is the part of their width that is due to the rounds rather than to the bucket, and
    `slope` about minus the slope in alpha.
    """

    lower: Array
    upper: Array
    fall_low: Array
    fall_high: Array
    own: Array
    slope: Array

    @classmethod
    def of(cls, samples: Samples) -> Between:
        """Of a single count."""
        lower, upper, low, high = samples.columns
        # minus a slope is a probability
        return cls(lower, upper, low, np.minimum(high, 1.0), upper - lower, low)


@dataclass(frozen=True)
class MixtureProfile(PrivacyProfile):
    """The mean of the profiles of rounds over the number of users, which the adversary sees.

    Parameters
    ----------
    law : Any
        That of a message, for `profile`.
    count : SenderCount or TotalCount
        The law of the number.
    """

    law: Any
    count: SenderCount | TotalCount
    grows: ClassVar[bool] = False

    @abstractmethod
    def profile(self, count: int) -> PrivacyProfile:
        """The profile of the round, given the number: it grows with it, or falls (`grows`)."""

    @property
    def ends(self) -> Sequence[PrivacyProfile]:
        """Profiles that bound the losses of all rounds.

        No round has a larger finite loss, however unlikely, than all of these, nor infinite losses
        if these have none.
        """
        return self.profile(self.count.least), self.profile(self.count.most)

    @property
    def most_buckets(self) -> int:
        """The most buckets, fewer if rounds are expensive."""
        return tuning.MOST_BUCKETS

    @property
    def depths(self) -> Sequence[float]:
        return tuning.DEPTHS

    @property
    def is_slow(self) -> bool:
        # narrow brackets cost little if there are few counts; without this flag, bundles of
        # messages take 20 times as long
        return self.count.deviation > 8 or any(end.is_slow for end in self.ends)

    @property
    def max_loss(self) -> float:
        return max(end.max_loss for end in self.ends)

    @property
    def bounded(self) -> bool:
        return all(end.bounded for end in self.ends)

    def bracket(self, epsilon: Array, depth: float, rtol: float) -> Callable[[Bucket], Between]:
        """A function that bounds buckets at some epsilons, to this width if they are one count.

        Buckets lie between the rounds of their first count and of their last one.
        """

        @cache
        def samples(count: int) -> Samples:
            return self.profile(count).sampler(depth, rtol)(epsilon)

        def between(bucket: Bucket) -> Between:
            first, last = (samples(count) for count in (bucket.first, bucket.last))
            below, above = (first, last) if self.grows else (last, first)
            return Between.of(below)._replace(upper=above.upper)

        return between

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Cut buckets where that narrows the bounds; what was cut for some epsilons stays cut."""
        cells = self.count.cells(depth)
        middle = int(np.searchsorted(cells.first, self.count.mean))
        start = np.unique([0, min(middle, len(cells.first) - 1)])

        def cut(epsilon: Array) -> Samples:
            nonlocal start
            # samples may cost 0.3 of the width and buckets 0.5
            bracket = self.bracket(epsilon, depth, 0.3 * rtol)
            known: dict[tuple[int, ...], Between] = {}
            while True:
                buckets = cells.buckets(start)
                known = {b.key: known.get(b.key) or bracket(b) for b in buckets}
                found = Between(*np.array(list(known.values())).swapaxes(0, 1))
                masses = np.array([(b.lower, b.upper) for b in buckets]).T
                charge = UNIT * (len(buckets) + 8)
                lower, low = (masses[0] @ side * (1 - charge) for side in found[0:3:2])
                high = masses[0] @ found.fall_high * (1 + charge)
                upper = (masses[1] @ found.upper) * (1 + charge) + cells.rest + UNDERFLOW
                falls = epsilon * np.exp(np.minimum(epsilon, 700.0)) * (masses[0] @ found.slope)
                gap = np.maximum(found.upper - found.lower - found.own, 0.0) * masses[1][:, None]
                with np.errstate(over="ignore"):
                    gap = np.minimum(gap / (0.5 * rtol * (upper + falls + math.exp(-depth))), 1e300)
                new = _worth_cutting(start, len(cells.first), gap, self.most_buckets)
                if not len(new):
                    return Samples(lower, np.minimum(upper, 1.0), low, high)
                start = np.union1d(start, new)

        def sample(epsilon: Array) -> Samples:
            stride = len(epsilon) // 8
            if stride > 1:  # where to cut is found at about eight of them
                cut(epsilon[::stride])
            return cut(epsilon)

        return self.zeroed_beyond_max_loss(sample)


def _worth_cutting(
    start: NDArray[np.intp], cells: int, gap: Array, most_buckets: int
) -> NDArray[np.intp]:
    """The cells at which to cut buckets; none if all of them together are narrow enough.

    Parameters
    ----------
    start : ndarray
        The cells at which buckets start.
    cells : int
        The number of all cells.
    gap : Array
        What each bucket costs, [buckets, epsilons], over what all together may.
    most_buckets : int
    """
    middle = start + np.diff(start, append=cells) // 2
    too_wide = gap.sum(axis=0) > 1
    worst = gap[:, too_wide].max(axis=1, initial=0.0) * (middle > start)
    number = max(int(np.count_nonzero(gap.any(axis=1))), 1)  # single counts have no gap
    worst[worst <= 0.9 / number] = 0.0  # with 0.5, 1,000 senders take a third longer
    # the worst ones, if not all of them may be cut
    cut = np.argsort(-worst)[: max(most_buckets - len(start), 0)]
    result: NDArray[np.intp] = middle[cut[worst[cut] > 0]]
    return result


@dataclass(frozen=True)
class SampledRounds(MixtureProfile):
    """Rounds of a random subset of the honest users.

    The bound of a sampled round grows with the senders: one more of them replaces a constant by a
    draw with that mean. Each sends `messages` messages, one of which is in question.
    """

    count: SenderCount
    messages: int = 1
    grows: ClassVar[bool] = True

    def profile(self, count: int) -> PrivacyProfile:
        m = self.messages
        if not count:
            return NothingLost()
        return round_profile(self.law, m * count, m * (self.count.honest - count))


def covered_profile(laws: ClassLaws, others: Iterable[tuple[float, int]]) -> PrivacyProfile:
    """The mean of the profiles of rounds over the number of users who provide cover.

    Parameters
    ----------
    laws : ClassLaws
        Those of the user in question, with a blanket omega.
    others : iterable of (float, int)
        Shares in [0, 1], and how many other users have laws that are at least so many times omega.
    """
    counts: dict[float, int] = {}
    for share, users in others:
        if share >= _LEAST_SHARE and users:
            counts[share] = counts.get(share, 0) + users
    if counts.keys() <= {1.0}:
        return round_profile(laws, 1 + counts.get(1.0, 0))
    if not laws.laws:
        return NothingLost()
    # each by itself: the mean of the largest profile would be more than the largest mean
    return largest(tuple(CoveredProfile(law, _total(counts.items())) for law in laws.laws))


def _total(others: Iterable[tuple[float, int]]) -> TotalCount:
    """The number of users who do something, with a probability for each group of users."""
    every = sorted(others)
    terms = tuple(SenderCount(users, rate=chance) for chance, users in every if chance < 1)
    return TotalCount(terms, sum(users for chance, users in every if chance >= 1))


class BinomialBound(NamedTuple):
    """A bound by a round of users with one randomizer, whose number of draws is binomial.

    Attributes
    ----------
    profile : PrivacyProfile
        That of the round.
    factor : float
        The bound is `factor` times the profile, plus `missed` from above or less it from below.
    missed : float
    cost : float
        About how far the bound is away, in relative epsilon.
    """

    profile: PrivacyProfile
    factor: float
    missed: float
    cost: float


@dataclass(frozen=True)
class CoveredProfile(MixtureProfile):
    """The mean of the profiles of rounds over the number of users who provide cover.

    Parameters
    ----------
    law : ClassLaw
        That of the user in question, with a blanket omega.
    count : TotalCount
        The number of other users who draw from omega.

    Notes
    -----
    docs/theory/mixed.md. The bound falls with this number. Counts are mixed for few users. For many
    users the number of those who draw from omega/|omega| lies between two binomial variables in
    stochastic order, and these are the numbers of two ordinary rounds.
    """

    law: ClassLaw
    count: TotalCount

    def profile(self, count: int) -> PrivacyProfile:
        return round_profile(ClassLaws((self.law,)), 1 + count)

    def outlined(self, epsilon: Array) -> Array:
        return self.profile(round(self.count.mean)).outlined(epsilon)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        many = self.count.mean >= tuning.MANY_COVER
        bounds = [self._binomial_bound(depth, side) for side in BOTH] if many else []
        known = [bound for bound in bounds if bound]
        if len(known) < 2 or sum(bound.cost for bound in known) > 2 * rtol:
            return super().sampler(depth, rtol)
        least, most = known
        below, above = (bound.profile.sampler(depth, rtol) for bound in known)

        def sample(epsilon: Array) -> Samples:
            lower, _, flat, steep = below(epsilon).columns
            lower = lower * least.factor * (1 - 4 * UNIT) - least.missed
            upper = above(epsilon).upper * most.factor * (1 + 4 * UNIT) + most.missed
            flat = flat * (lower > 0) * least.factor * (1 - 4 * UNIT)
            steep = steep * least.factor * (1 + 4 * UNIT)
            return Samples(np.maximum(lower, 0.0), np.minimum(upper, 1.0), flat, steep)

        return self.zeroed_beyond_max_loss(sample)

    def _binomial_bound(self, depth: float, side: Side) -> BinomialBound | None:
        """The bound from one side by a binomial number of draws; None if it fails.

        Its mean and variance are about those of the draws. Below, three quarters of what makes up
        for the skewness are taken from the variance and 0.3 of it are added to the mean: any choice
        is sound.
        """
        mass = min(math.fsum(self.law.blanket), 1.0)
        others = [(term.rate, term.honest) for term in self.count.terms]
        draws = [(share * mass, users) for share, users in [*others, (1.0, self.count.certain)]]
        first, second, third = (
            math.fsum(chance**power * users for chance, users in draws) for power in (1, 2, 3)
        )
        total = _total((chance, users) for chance, users in draws if users)
        # so much less variance, or so much more mean, makes up for the skewness of the sum down to
        # a probability of e^-depth
        reach, variance = math.sqrt(2 * depth + 24), max(first - second, 1e-300)
        skewed = 2 * (third - second**2 / first) / variance**1.5 * reach
        distance, less = 0.05 + total.rounded_off, 0.0
        if side is Side.LOWER:
            distance, less = distance + 0.05 * skewed * reach * math.sqrt(variance), skewed / 4
        mean = first - side * distance
        trials = round(mean / (1 - (1 - second / first) * (1 - less)))
        if less >= 1 or trials < 1 or not 0 < mean < trials:
            return None
        chance = mean / trials
        known, binomial = (n.cells(depth) for n in (total, SenderCount(trials, rate=chance)))
        slack = known.rest + binomial.rest
        off = _excess(known, binomial, side, slack)
        if not off < 0.5:
            return None
        law = replace(self.law, blanket=chance / mass * self.law.blanket)
        profile = round_profile(ClassLaws((law,)), trials + 1)
        return BinomialBound(profile, 1 + side * off, 2 * slack, distance / (2 * first) + off / 4)


def _excess(total: CountCells, binomial: CountCells, side: Side, slack: float) -> float:
    """By how much a bound by a binomial variable has to be changed relatively.

    Parameters
    ----------
    total, binomial : CountCells
    side : Side
        UPPER: the binomial variable is to be smaller than the total, for a bound from above.
    slack : float
        Probabilities that are charged otherwise.

    Returns
    -------
    float
        The least eta for which, at every count, F_total <= (1 + eta) F_binomial + slack (UPPER) or
        F_total >= (1 - eta) F_binomial - slack (LOWER), for all that is known of these
        distribution functions.

    Notes
    -----
    docs/theory/mixed.md.
    """
    small, large = (binomial, total) if side is Side.UPPER else (total, binomial)
    # the bound of F_large changes at the first counts of its cells only, that of F_small grows
    least, most = small.up_to(large.first)[0], large.up_to(large.first)[1]
    over = np.maximum(most - least - slack, 0.0)
    relative_to = least if side is Side.UPPER else most
    off = np.divide(over, relative_to, out=np.where(over > 0, np.inf, 0.0), where=relative_to > 0)
    return float(off.max()) * (1 + 8 * UNIT)
