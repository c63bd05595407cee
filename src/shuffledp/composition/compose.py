"""Rounds to be composed: PLDs above and below all of them, on one lattice, and delta of their sum.

Adaptive composition of dominating pairs is dominated by their product (Zhu, Dong, Wang 2022,
Theorem 10), so the privacy losses of the rounds add up as independent variables. The upper and the
lower PLD of a round bound its profile whatever the lattice and the samples are. These cost time and
width only, so that they are chosen by the estimates of outlines.py.
bounds/composed.py has the questions that are answered with it.

Theory: docs/theory/composition.md, docs/theory/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from .. import tuning
from .._support.numeric import Array, Side
from .._support.transforms import fast_length
from ..profiles.base import Parts, PrivacyProfile, factored, sample_width
from .lattice import LatticeSampler, Order, SamplePlaces, cell_widths, narrow_samples
from .outlines import FARTHEST_SAMPLE, Influence, RoundGroup, group_rounds, influences
from .pld import PLD, Sampled, lower_pld, upper_pld
from .tilted_sum import CountedPLDs, LatticeTooLong, TiltedSum, cumulants, tilt_for_epsilon

# proof constants: docs/theory/constants.md
#: A largest loss, where the profile reaches 0 with a slope, has been rounded up by a smaller share.
_ENDS_BEFORE = 2.0**-46


class Representative(NamedTuple):
    """A profile that stands for rounds of its group, some from above and some from below."""

    profile: PrivacyProfile
    bounded_above: Parts
    bounded_below: Parts


def representatives(group: RoundGroup, ratio: float) -> Iterator[Representative]:
    """Yield some profiles of a group, and the rounds that each bounds from above and from below.

    A profile falls with the number of users: those in between two that differ by less than the
    ratio lie between them. This costs about half the ratio in relative epsilon.
    """
    users = [profile.family[1] for profile, _ in group.members]
    chosen = [0]
    for i in range(1, len(users)):
        if i + 1 == len(users) or users[i + 1] > (1 + ratio) * users[chosen[-1]]:
            chosen.append(i)
    for before, at, after in zip([-1, *chosen], chosen, [*chosen[1:], len(users)], strict=False):
        above, below = group.members[at:after], group.members[before + 1 : at + 1]
        yield Representative(group.members[at][0], above, below)


@dataclass(frozen=True, eq=False)
class PLDBracket:
    """Upper and lower PLDs of all rounds, on one lattice.

    Attributes
    ----------
    upper, lower : CountedPLDs
        They bound the composition from above and from below.
    are_samples_narrow : bool
        Whether samples widen the bracket no more than cells do, by estimate. If not, those of a
        finer lattice would not be narrower.
    representatives : Sequence of Representative
        The rounds that each of the PLDs bounds.
    """

    upper: CountedPLDs
    lower: CountedPLDs
    are_samples_narrow: bool
    representatives: Sequence[Representative]

    def selected(
        self, counts: Mapping[PrivacyProfile, int]
    ) -> tuple[CountedPLDs, CountedPLDs] | None:
        """Return upper and lower PLDs of other numbers of the same rounds.

        A PLD bounds each of its rounds, whatever else is composed. None if a profile is not among
        those of this lattice.
        """
        known = {profile for each in self.representatives for profile, _ in each.bounded_above}
        if not counts.keys() <= known:
            return None
        upper, lower = [], []
        for (above, _), (below, _), each in zip(
            self.upper, self.lower, self.representatives, strict=True
        ):
            upper.append((above, sum(counts.get(profile, 0) for profile, _ in each.bounded_above)))
            lower.append((below, sum(counts.get(profile, 0) for profile, _ in each.bounded_below)))
        return [pair for pair in upper if pair[1]], [pair for pair in lower if pair[1]]


class Composition:
    """Rounds to be composed. Keeps what questions can share: outlines, influences and lattices.

    Parameters
    ----------
    parts : Sequence of (PrivacyProfile, int)
        Profiles, and how many rounds have each.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = factored(parts)
        self.max_loss = _sum_up([(profile.max_loss, count) for profile, count in self._parts])
        self.bounded = all(profile.bounded for profile, _ in self._parts)
        self.number_of_rounds = sum(count for _, count in self._parts)
        # many different rounds are expensive, too: each of them has to be sampled
        many = len(self._parts) > 8
        self.is_expensive = many or any(profile.is_expensive for profile, _ in self._parts)
        # where the next question starts: what the last one needed
        self.fineness = 1.0
        self.cached: dict[tuple[float, ...], PLDBracket] = {}

    @cached_property
    def groups(self) -> Sequence[RoundGroup]:
        return group_rounds(self._parts)

    @cached_property
    def outlines(self) -> CountedPLDs:
        return [(group.outline, group.count) for group in self.groups]

    @cached_property
    def _influences(self) -> Callable[[tuple[float, ...]], Sequence[Influence]]:
        """How much each loss counts at some log(1/delta)."""
        return lru_cache(tuning.KEPT_LATTICES)(partial(influences, self.outlines))

    @cached_property
    def _anchor(self) -> float:
        """The largest loss of the group that counts most, which is a point of every lattice.

        It is that of the other order if that is far larger.
        """
        leading = max(self.groups, key=lambda group: group.count * group.loss_scale).profile
        own, other = leading.max_loss, (leading.reverse or leading).max_loss
        return min(own if own > 1e-4 * other else other, FARTHEST_SAMPLE)

    def plds(self, rtol: float, fineness: float, targets: tuple[float, ...]) -> PLDBracket:
        """Return PLDs above and below the rounds, those of an earlier question or new ones.

        Parameters
        ----------
        rtol : float
            Relative width in epsilon that is asked for. At a fineness of 1 at most a third of it
            (`sample_width`) goes to cells, and as much to samples.
        fineness : float
            What cells and samples may cost falls with its square.
        targets : tuple of float
            log(1/delta) of the composition for which the PLDs are to be sharp, the largest last:
            rounds are resolved a little deeper than that.

        Raises
        ------
        LatticeTooLong
            If no transform has room for the sum of the losses.
        """
        key = rtol, fineness, *targets
        plds = self.cached.get(key)
        if plds is None:
            plds = self._make(rtol, fineness, targets)
            too_many = max(len(self.cached) + 1 - tuning.KEPT_LATTICES, 0)
            for old in list(self.cached)[:too_many]:  # keep memory bounded
                self.cached.pop(old, None)
            self.cached[key] = plds
        return plds

    def finest(self, rtol: float) -> float:
        """Return the fineness beyond which lattices are not worth their time."""
        if not self.is_expensive:
            return math.inf
        room = self._width_goal(rtol) / max(tuning.LEAST_EXPENSIVE, 1e-300)
        return min(math.sqrt(room), tuning.FINEST_EXPENSIVE)

    def deltas(self, epsilon: Array, least: float, rtol: float) -> tuple[Array, Array]:
        """Return lower and upper deltas at many epsilons, sharp down to a delta of about `least`.

        Parameters
        ----------
        epsilon : Array
            Shape [epsilons]. A few tilts serve all of them.
        least : float
        rtol : float
            Relative width in epsilon to aim for.

        Returns
        -------
        tuple of Array
            Shape [epsilons] each; 0 and 1 where every lattice is too long.
        """
        targets = tuple(-math.log(least) * share for share in tuning.GRADED)
        for _ in range(8):  # after eight halvings every lattice that can fit does
            try:
                plds = self.plds(rtol, self.fineness, targets)
                lower = _deltas(plds.lower, epsilon, Side.LOWER)
                return lower, _deltas(plds.upper, epsilon, Side.UPPER)
            except LatticeTooLong:
                self.fineness /= 2
        return np.zeros(len(epsilon)), np.ones(len(epsilon))

    def _width_goal(self, rtol: float) -> float:
        """Return the width in relative epsilon that cells may cost at a fineness of 1."""
        return sample_width(
            rtol, self.is_expensive, any(profile.is_slow for profile, _ in self._parts)
        )

    def _make(self, rtol: float, fineness: float, targets: tuple[float, ...]) -> PLDBracket:
        """Sample one profile for similar rounds and turn the samples into PLDs; see `plds`."""
        goal = self._width_goal(rtol)
        strides = self._strides(goal, fineness)
        step = self._step(min(strides), fineness)
        influence = self._influences(targets)
        cells = cell_widths(self.outlines, influence, goal / fineness**2)
        depth = targets[-1] + tuning.DEEPER + math.log(self.number_of_rounds)
        width = goal * (tuning.EXPENSIVE_SHARE if self.is_expensive else tuning.SHARE)
        representing: list[Representative] = []
        samplers: list[list[LatticeSampler]] = []  # of each, in one order or in both
        for group, stride, widths, costs in zip(
            self.groups, strides, cells, influence, strict=True
        ):
            places = SamplePlaces(group.outline, widths, min(depth, tuning.DEPTHS[-1]))
            ratio = tuning.TOGETHER * rtol / (4 * goal) * (stride / group.loss_scale) ** 2
            for each in representatives(group, ratio):
                share = sum(count for _, count in each.bounded_above) / group.count
                representing.append(each)
                samplers.append(
                    [
                        LatticeSampler(profile, step, places, order, width, costs, share)
                        for profile, order in _orders(each.profile)
                    ]
                )
        are_narrow = narrow_samples([*chain(*samplers)], goal / fineness**2)
        upper, lower = [], []
        for (profile, above, below), each_order in zip(representing, samplers, strict=True):
            sampled = [sampler.sampled for sampler in each_order]
            upper.append((upper_pld(step, *sampled), sum(count for _, count in above)))
            count_below = sum(count for _, count in below)
            lower.append((_lower_pld(profile, step, *sampled), count_below))
        return PLDBracket(upper, lower, are_narrow, representing)

    def _strides(self, goal: float, fineness: float) -> list[float]:
        """Return how far apart each group's samples should be if all of its cells are equally wide.

        A distance h adds about h^2/6 to the variance of a round from above and takes h^2/3 from
        below: h^2 = 4 w times its mean square loss costs about w in relative epsilon. Rounds that
        hardly count in the total may be sampled more coarsely.
        """
        unit = math.sqrt(4 * goal) / fineness
        total = sum(group.loss_scale**2 * group.count for group in self.groups)
        shares = [total / (len(self.groups) * group.count) for group in self.groups]
        return [
            unit * math.sqrt(max(group.loss_scale**2, share / fineness**2))
            for group, share in zip(self.groups, shares, strict=True)
        ]

    def _step(self, stride: float, fineness: float) -> float:
        """Return a lattice step, below the stride, that divides the anchor up to rounding."""
        deviation = math.sqrt(cumulants(self.outlines, 0.0).variance)
        # the longest transform may leave no room for a lattice finer than that
        longest = 30 * deviation / tuning.MAX_POINTS
        # cells cost their squared width, but moving atoms to the lattice its step
        wanted = min(stride, max(stride / tuning.FINER / max(fineness, 1.0), longest))
        divisions = fast_length(max(self._anchor / wanted, 16.0))
        step = self._anchor / divisions
        if Fraction(step) * divisions < Fraction(self._anchor):
            step = math.nextafter(step, math.inf)
        if 12 * deviation > tuning.MAX_POINTS * step or divisions > 1 << 40:
            raise LatticeTooLong
        return step


def _orders(profile: PrivacyProfile) -> list[tuple[PrivacyProfile, Order | None]]:
    """Return what to sample, and which losses the samples stand for; None for both."""
    if profile.reverse is None:
        return [(profile, None)]
    return [(profile, Order.FORWARD), (profile.reverse, Order.BACKWARD)]


def _lower_pld(
    profile: PrivacyProfile, step: float, forward: Sampled, reverse: Sampled | None = None
) -> PLD:
    """Return the lower PLD of one round on a lattice, with the error of its largest loss."""
    if reverse is not None and reverse.samples.lower[-1] == 0:
        # how far its place was rounded up is charged to positive losses only
        reverse = reverse.without_last_fall()
    lower = lower_pld(step, forward, reverse)
    if forward.samples.lower[-1] == 0 and forward.samples.fall_low[-1] > 0:
        lower = replace(lower, loss_error=_ENDS_BEFORE * (1 + profile.max_loss))
    return lower


def _deltas(plds: CountedPLDs, epsilon: Array, side: Side) -> Array:
    """Return delta at each epsilon, by the two nearest of a few tilts."""
    deviation = math.sqrt(cumulants(plds, 0.0).variance)
    # two deviations from its centre a tilted sum still has twelve digits
    distance = max(2 * deviation, float(epsilon.max()) / 400, 1e-300)
    # the centres are that far apart, so that every epsilon is between two of them
    before, after = np.floor(epsilon / distance), np.ceil(epsilon / distance)
    sharper = np.minimum if side is Side.UPPER else np.maximum
    deltas = np.full(len(epsilon), side * math.inf)
    for centre in np.unique(np.append(before, after)).tolist():
        nearby = (before == centre) | (after == centre)
        total = TiltedSum(plds, tilt_for_epsilon(plds, distance * centre))
        deltas[nearby] = sharper(deltas[nearby], total.deltas(epsilon[nearby], side))
    return deltas


def _sum_up(terms: Sequence[tuple[float, int]]) -> float:
    """Return the sum of value * count, rounded up."""
    exact = sum((Fraction(value) * count for value, count in terms), Fraction(0))
    result = float(exact)
    return result if Fraction(result) >= exact else math.nextafter(result, math.inf)
