"""From profiles to privacy loss distributions on one lattice: strides, steps, sides.

The upper and the lower PLD of a kind of round bound its profile whatever the lattice is. How fine
it is costs time and width only, so it is chosen from coarse outlines of the rounds.

Theory: docs/theory/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array, Side
from .._support.transforms import round_up
from ..profiles import tuning as of_profiles
from ..profiles.base import PrivacyProfile, aim
from ..profiles.samples import Samples, joined
from . import tuning
from .grading import Fineness, Grading, around, cells_for, on_lattice
from .influence import Costs, costs
from .kinds import Kind
from .pld import PLD, Sampled, lower_pld, upper_pld
from .tilted_sum import CountedPLDs, LatticeTooLong, log_mgf

# proof constants: docs/theory/constants.md
#: The largest loss, at which a profile may be 0 with a slope, has been rounded up by less.
_ENDS_BEFORE = 2.0**-46

Gradings = Mapping[PrivacyProfile, Grading]


class SampledRound(NamedTuple):
    """A profile on a lattice, that of its other order, and how many rounds it bounds from above."""

    profile: PrivacyProfile
    forward: Sampled
    reverse: Sampled | None
    rounds: int


@dataclass(frozen=True, eq=False)
class PLDBracket:
    """Upper and lower PLDs of all rounds, and the samples that they were made of."""

    upper: CountedPLDs
    lower: CountedPLDs
    step: float
    samples: Sequence[SampledRound]

    @property
    def upper_if_exact(self) -> CountedPLDs:
        """The upper PLDs if the lower values of all samples were exact: what cells alone cost."""
        found = []
        for _, forward, reverse, rounds in self.samples:
            pld = upper_pld(self.step, forward.lowest, reverse and reverse.lowest)
            found.append((pld, rounds))
        return found


class Lattices:
    """The upper and lower PLDs of some kinds of rounds, and those made for earlier queries. Which
    losses count is known from `like`, if those are kinds with the same outlines."""

    def __init__(self, kinds: Sequence[Kind], like: Lattices | None = None) -> None:
        self._kinds = kinds
        self.outlines: CountedPLDs = [(kind.outline, kind.count) for kind in kinds]
        # it contains the largest loss of the kind that counts most, or that of its other order
        leading = max(kinds, key=lambda kind: kind.count * kind.spread).profile
        own, other = leading.max_loss, (leading.reverse or leading).max_loss
        self._anchor = own if own > 1e-9 * other else other
        self._deviation = math.sqrt(log_mgf(self.outlines, 0.0)[2])
        self.made: dict[tuple[float, ...], PLDBracket] = {}
        self._costs: dict[tuple[float, ...], Sequence[Costs]] = like._costs if like else {}

    def parts(
        self,
        depth: float,
        rtol: float,
        fineness: Fineness,
        aims: tuple[float, ...],
    ) -> PLDBracket:
        """PLDs of the rounds, to deltas of e^-depth, and sharp where log(1/delta) is near the aims.
        The width is about that of rtol at a fineness of 1."""
        key = depth, rtol, *fineness, *aims
        made = self.made.get(key)
        if made is None:
            made = self._make(depth, rtol, fineness, aims)
            too_many = max(len(self.made) + 1 - tuning.KEPT_LATTICES, 0)
            for old in list(self.made)[:too_many]:  # keep memory bounded
                self.made.pop(old, None)
            self.made[key] = made
        return made

    def width_left(
        self,
        made: PLDBracket,
        depth: float,
        rtol: float,
        fineness: Fineness,
        aims: tuple[float, ...],
    ) -> float:
        """Estimate the share of the samples' width that another fineness would leave.

        A sample costs its relative width times what cells cost there. 16 samples, spread evenly
        over these costs, are evaluated at the other width.
        """
        found = dict(zip((kind.outline for kind in self._kinds), self._counting(aims), strict=True))
        outlines = {member: kind.outline for kind in self._kinds for member, _ in kind.members}
        before = after = 0.0
        for profile, sampled, _, count in made.samples:
            losses = made.step * sampled.index.astype(float)
            costs_at = np.interp(losses, *found[outlines[profile]]) * np.gradient(losses)
            each = count * costs_at * sampled.samples.relative_widths
            total = float(each.sum())
            if total == 0:
                continue
            chosen = np.searchsorted(np.cumsum(each) / total, (np.arange(16) + 0.5) / 16)
            chosen, weights = np.unique(np.minimum(chosen, len(each) - 1), return_counts=True)
            sampler = profile.sampler(depth, self._sample_width(rtol, fineness))
            narrower = sampler(np.minimum(losses[chosen], profile.max_loss)).relative_widths
            ratio = narrower / sampled.samples.relative_widths[chosen]
            before += total
            after += total * float(np.average(ratio, weights=weights))
        return after / before if before > 0 else 1.0

    def _sample_width(self, rtol: float, fineness: Fineness) -> float:
        """The relative width at which profiles are sampled."""
        share = tuning.DEAR_SHARE if _dear(self._kinds) else tuning.SHARE
        return min(share * _aim(self._kinds, rtol) / fineness.sharpness, tuning.WIDEST_SAMPLES)

    def finest(self, rtol: float) -> Fineness:
        """Finer lattices are not worth their time."""
        if not _dear(self._kinds):
            return Fineness(math.inf, math.inf)
        room = _aim(self._kinds, rtol) / max(of_profiles.LEAST_DEAR, 1e-300)
        return Fineness().times(min(math.sqrt(room), tuning.DEAREST))

    def _make(
        self, depth: float, rtol: float, fineness: Fineness, aims: tuple[float, ...]
    ) -> PLDBracket:
        wide, resolution = _aim(self._kinds, rtol), fineness.resolution
        cells = cells_for(self.outlines, self._counting(aims), wide / resolution**2)
        gradings, rounds = {}, []
        strides = _strides(self._kinds, rtol, resolution)
        together = tuning.TOGETHER * rtol / (4 * wide)
        for kind, stride, cell in zip(self._kinds, strides, cells, strict=True):
            for profile, above, below in _shared(kind, together * (stride / kind.spread) ** 2):
                gradings[profile] = Grading(kind.outline, cell, depth)
                rounds.append((profile, above, below))
        step = self._step(min(strides), gradings, resolution)
        fine = self._sample_width(rtol, fineness)
        sampled = {
            profile: _sampled(profile, by, step, fine, _positive(profile))
            for profile, by in gradings.items()
        }
        upper, lower, samples = [], [], []
        for profile, above, below in rounds:
            reverse = None
            if profile.reverse is not None:  # often among the rounds, too
                reverse = sampled.get(profile.swapped)
                grading = gradings[profile]
                reverse = reverse or _sampled(profile.reverse, grading, step, fine, Side.LOWER)
            plds = _discretize(profile, step, sampled[profile], reverse)
            upper.append((plds[0], above))
            lower.append((plds[1], below))
            samples.append(SampledRound(profile, sampled[profile], reverse, above))
        return PLDBracket(upper, lower, step, samples)

    def _step(self, stride: float, gradings: Gradings, resolution: float) -> float:
        """Finer than a stride; the anchor is a multiple of it, up to rounding."""
        # the longest transform may leave no room for a lattice finer than that
        longest = 30 * self._deviation / tuning.MAX_POINTS
        # cells cost their squared width, but moving atoms to the lattice its step
        wanted = min(stride, max(stride / tuning.FINER / max(resolution, 1.0), longest))
        if _dear(self._kinds):  # a second lattice costs far more than a finer one
            wanted = min(wanted, max(_narrowest(gradings) / 2, stride / 64, longest))
        divisions = round_up(max(self._anchor / wanted, 16.0))
        step = self._anchor / divisions
        if Fraction(step) * divisions < Fraction(self._anchor):
            step = math.nextafter(step, math.inf)
        too_long = 12 * self._deviation > tuning.MAX_POINTS * step
        if too_long or divisions > 1 << 40:
            raise LatticeTooLong
        return step

    def _counting(self, aims: tuple[float, ...]) -> Sequence[Costs]:
        """What cells around the losses of each kind cost, as long as memory allows from before."""
        if aims not in self._costs:
            if len(self._costs) >= tuning.KEPT_LATTICES:
                self._costs.clear()
            self._costs[aims] = costs(self.outlines, aims)
        return self._costs[aims]


def _shared(kind: Kind, ratio: float) -> Iterator[tuple[PrivacyProfile, int, int]]:
    """Some profiles of a kind, and how many rounds each of them bounds from above and from below.

    A profile falls with the number of users: those in between two that differ by less than the
    ratio lie between them. This costs about half the ratio in relative epsilon.
    """
    users = [profile.family[1] for profile, _ in kind.members]
    chosen = [0]
    for i in range(1, len(users)):
        if i + 1 == len(users) or users[i + 1] > (1 + ratio) * users[chosen[-1]]:
            chosen.append(i)
    for before, at, after in zip([-1, *chosen], chosen, [*chosen[1:], len(users)], strict=False):
        above = sum(count for _, count in kind.members[at:after])
        below = sum(count for _, count in kind.members[before + 1 : at + 1])
        yield kind.members[at][0], above, below


def _dear(kinds: Sequence[Kind]) -> bool:
    """Many different rounds are dear too: most of the time goes into sampling each of them."""
    many = sum(len(kind.members) for kind in kinds) > 8
    return many or any(kind.profile.dear for kind in kinds)


def _aim(kinds: Sequence[Kind], rtol: float) -> float:
    """The width in relative epsilon that a lattice may cost."""
    return aim(rtol, _dear(kinds), any(kind.profile.slow for kind in kinds))


def _strides(kinds: Sequence[Kind], rtol: float, resolution: float) -> list[float]:
    """The distance of losses at which each kind of round should be sampled.

    A distance h adds about h^2/6 to the variance of a round from above and takes h^2/3 from
    below: h^2 = 4 w times its mean square loss costs about w in relative epsilon. Rounds that
    hardly count in the total may be sampled more coarsely.
    """
    unit = math.sqrt(4 * _aim(kinds, rtol)) / resolution
    total = sum(kind.spread**2 * kind.count for kind in kinds)
    shares = [total / (len(kinds) * kind.count) for kind in kinds]
    return [
        unit * math.sqrt(max(kind.spread**2, share / resolution**2))
        for kind, share in zip(kinds, shares, strict=True)
    ]


def _discretize(
    profile: PrivacyProfile, step: float, forward: Sampled, reverse: Sampled | None
) -> tuple[PLD, PLD]:
    """(upper, lower) PLD of one round on a lattice."""
    if reverse is not None and reverse.samples.lower[-1] == 0:
        # how far its place was rounded up is charged to positive losses only
        samples = reverse.samples
        samples = replace(samples, slope_low=np.append(samples.slope_low[:-1], 0.0))
        reverse = replace(reverse, samples=samples)
    lower = lower_pld(step, forward, reverse)
    if forward.samples.lower[-1] == 0 and forward.samples.slope_low[-1] > 0:
        lower = replace(lower, loss_error=_ENDS_BEFORE * (1 + profile.max_loss))
    return upper_pld(step, forward, reverse), lower


def _narrowest(gradings: Gradings) -> float:
    """The smallest distance of losses at which a profile is to be sampled."""
    gaps = (
        np.diff(grading.losses(profile, _positive(profile)))
        for profile, grading in gradings.items()
    )
    return min(float(gap[gap > 0].min(initial=math.inf)) for gap in gaps)


def _positive(profile: PrivacyProfile) -> Side | None:
    """The side of positive losses; None if negative losses are mirror images of them."""
    return None if profile.swapped is profile else Side.UPPER


def _sampled(
    profile: PrivacyProfile,
    grading: Grading,
    step: float,
    rtol: float,
    losses: Side | None,
) -> Sampled:
    """A profile on a lattice: of positive losses, of negative ones, or (None) of both alike."""
    largest, sampler = profile.max_loss, profile.sampler(grading.depth, rtol)
    kinks = profile.kinks
    if kinks is None:
        index = on_lattice(grading.losses(profile, losses), step, largest)
    else:
        index = on_lattice(around(kinks, step, largest), step, largest)

    def sampled(index: NDArray[np.int64]) -> Samples:
        epsilon: Array = step * index.astype(float)
        # the last one is on the lattice, up to what TiltedSum charges
        at_end = np.abs(epsilon - largest) <= 2.0**-51 * largest
        return sampler(np.where(at_end, largest, epsilon))

    samples = sampled(index)
    # chords beside a kink tell slopes that are missing
    missing = index[~np.isfinite(samples.slope_high)] if kinks is not None else index[:0]
    more = np.setdiff1d(np.concatenate([missing - 1, missing + 1]), index)
    more = more[(more > 0) & (more < index[-1])]
    if len(more):
        index, samples = np.append(index, more), joined([samples, sampled(more)])
        order = np.argsort(index)
        index, samples = index[order], samples.rows(order)
    return Sampled(index, samples, not profile.bounded and bool(step * float(index[-1]) >= largest))
