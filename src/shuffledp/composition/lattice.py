"""From profiles to privacy loss distributions on one lattice: where to sample, and how narrowly.

The upper and the lower PLD of a round bound its profile whatever the lattice and the samples are.
These cost time and width only, so that they are chosen by estimates: from coarse outlines of the
rounds, and from the influence of each loss on the composition.

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
from ..profiles.base import Parts, PrivacyProfile, Samples, aim, joined
from . import tuning
from .influence import Influence, influences
from .outlines import RoundGroup, representatives
from .pld import PLD, Sampled, lower_pld, upper_pld
from .tilted_sum import CountedPLDs, LatticeTooLong, log_mgf

# proof constants: docs/theory/constants.md
#: The largest loss, at which a profile may be 0 with a slope, has been rounded up by less.
_ENDS_BEFORE = 2.0**-46


@dataclass(frozen=True, eq=False)
class PLDBracket:
    """Upper and lower PLDs of all rounds, on one lattice.

    Attributes
    ----------
    upper, lower : CountedPLDs
        They bound the composition from above and from below.
    upper_if_exact : CountedPLDs
        What `upper` would be if the lower values of all samples were exact: what cells alone cost.
    are_samples_narrow : bool
        Whether samples widen the bracket no more than they may, by estimate.
    stand_for : Sequence of _Representative
        The rounds that each of the PLDs bounds.
    """

    upper: CountedPLDs
    lower: CountedPLDs
    upper_if_exact: CountedPLDs
    are_samples_narrow: bool
    stand_for: Sequence[_Representative]

    def selected(self, counts: Mapping[PrivacyProfile, int]) -> tuple[CountedPLDs, CountedPLDs]:
        """Return upper and lower PLDs of other numbers of the same rounds.

        A PLD bounds each of its rounds, whatever else is composed. Profiles that are not among
        those of this lattice are not allowed.
        """
        upper, lower = [], []
        for (above, _), (below, _), each in zip(
            self.upper, self.lower, self.stand_for, strict=True
        ):
            upper.append((above, sum(counts.get(profile, 0) for profile, _ in each.members_above)))
            lower.append((below, sum(counts.get(profile, 0) for profile, _ in each.members_below)))
        return [pair for pair in upper if pair[1]], [pair for pair in lower if pair[1]]


class _Representative(NamedTuple):
    """A profile that stands for rounds of its group, some from above and some from below."""

    profile: PrivacyProfile
    group: int
    members_above: Parts
    members_below: Parts

    @property
    def above(self) -> int:
        return sum(count for _, count in self.members_above)

    @property
    def below(self) -> int:
        return sum(count for _, count in self.members_below)


class Lattices:
    """PLDs of groups of rounds for any question, and those made for earlier ones.

    Parameters
    ----------
    groups : Sequence of RoundGroup
    like : Lattices, optional
        Of groups with the same outlines, from which the influence of losses is known.
    """

    def __init__(self, groups: Sequence[RoundGroup], like: Lattices | None = None) -> None:
        self._groups = groups
        self.outlines: CountedPLDs = [(group.outline, group.count) for group in groups]
        # a lattice contains the largest loss of the group that counts most, or of its other order
        leading = max(groups, key=lambda group: group.count * group.spread).profile
        own, other = leading.max_loss, (leading.reverse or leading).max_loss
        self._anchor = own if own > 1e-4 * other else other
        self._deviation = math.sqrt(log_mgf(self.outlines, 0.0)[2])
        # many different rounds are expensive, too: each of them has to be sampled
        many = sum(len(group.members) for group in groups) > 8
        self.is_expensive = many or any(group.profile.is_expensive for group in groups)
        self.cached: dict[tuple[float, ...], PLDBracket] = {}
        self._influences: dict[tuple[float, ...], Sequence[Influence]] = (
            like._influences if like else {}
        )

    def plds(
        self, depth: float, rtol: float, fineness: float, targets: tuple[float, ...]
    ) -> PLDBracket:
        """Return PLDs of the rounds above and below them.

        Parameters
        ----------
        depth : float
            Deltas of a round are resolved down to e^-depth.
        rtol : float
            Relative width in epsilon that is asked for. At a fineness of 1 about a third of it
            goes to cells and as much to samples.
        fineness : float
            Both of these widths fall with its square.
        targets : tuple of float
            log(1/delta) of the composition for which the PLDs are to be sharp.

        Raises
        ------
        LatticeTooLong
            If no transform has room for the sum of the losses.
        """
        key = depth, rtol, fineness, *targets
        plds = self.cached.get(key)
        if plds is None:
            plds = self._make(depth, rtol, fineness, targets)
            too_many = max(len(self.cached) + 1 - tuning.KEPT_LATTICES, 0)
            for old in list(self.cached)[:too_many]:  # keep memory bounded
                self.cached.pop(old, None)
            self.cached[key] = plds
        return plds

    def finest(self, rtol: float) -> float:
        """Return the fineness beyond which lattices are not worth their time."""
        if not self.is_expensive:
            return math.inf
        room = self._target_width(rtol) / max(of_profiles.LEAST_EXPENSIVE, 1e-300)
        return min(math.sqrt(room), tuning.FINEST_EXPENSIVE)

    def _target_width(self, rtol: float) -> float:
        """Return the width in relative epsilon that cells may cost at a fineness of 1."""
        return aim(rtol, self.is_expensive, any(group.profile.is_slow for group in self._groups))

    def _make(
        self, depth: float, rtol: float, fineness: float, targets: tuple[float, ...]
    ) -> PLDBracket:
        """Sample one profile for similar rounds and turn the samples into PLDs; see `plds`."""
        goal = self._target_width(rtol)
        influence = self._influence(targets)
        cells = cell_widths(self.outlines, influence, goal / fineness**2)
        strides = self._strides(goal, fineness)
        representing = list(self._representatives(strides, tuning.TOGETHER * rtol / (4 * goal)))
        places = {
            profile: SamplePlaces(self._groups[group].outline, *cells[group], depth)
            for profile, group, *_ in representing
        }
        step = self._step(min(strides), places, fineness)
        share = tuning.EXPENSIVE_SHARE if self.is_expensive else tuning.SHARE
        width = min(share * goal, of_profiles.FIRST_LOOK / 2)  # wider ones may know one side only
        samplers: dict[tuple[PrivacyProfile, Side], _LatticeSampler] = {}
        for representative in representing:
            profile, group, above = *representative[:2], representative.above
            for side, sampled in ((Side.UPPER, profile), (Side.LOWER, profile.reverse)):
                is_known = side is Side.LOWER and (profile.swapped, Side.UPPER) in samplers
                if sampled is not None and not is_known:
                    sampler = _LatticeSampler(
                        sampled, step, places[profile], _losses_of(profile, side), width
                    )
                    sampler.weigh(influence[group], above / self._groups[group].count)
                    samplers[profile, side] = sampler
        are_narrow = narrow_samples(list(samplers.values()), goal / fineness**2)
        upper, lower, if_exact = [], [], []
        for representative in representing:
            profile, above, below = representative[0], representative.above, representative.below
            forward, reverse = samplers[profile, Side.UPPER].sampled, None
            if profile.reverse is not None:
                other = samplers.get((profile, Side.LOWER))
                reverse = (other or samplers[profile.swapped, Side.UPPER]).sampled
            upper.append((upper_pld(step, forward, reverse), above))
            lower.append((_lower_pld(profile, step, forward, reverse), below))
            if not are_narrow:
                exact = upper_pld(step, forward.lowest, reverse and reverse.lowest)
                if_exact.append((exact, above))
        return PLDBracket(upper, lower, if_exact or upper, are_narrow, representing)

    def _influence(self, targets: tuple[float, ...]) -> Sequence[Influence]:
        """Return how much each loss counts at these log(1/delta), from before if it is known."""
        if targets not in self._influences:
            if len(self._influences) >= tuning.KEPT_LATTICES:
                self._influences.clear()
            self._influences[targets] = influences(self.outlines, targets)
        return self._influences[targets]

    def _strides(self, goal: float, fineness: float) -> list[float]:
        """Return the distance of losses at which each group should be sampled if all are alike.

        A distance h adds about h^2/6 to the variance of a round from above and takes h^2/3 from
        below: h^2 = 4 w times its mean square loss costs about w in relative epsilon. Rounds that
        hardly count in the total may be sampled more coarsely.
        """
        unit = math.sqrt(4 * goal) / fineness
        total = sum(group.spread**2 * group.count for group in self._groups)
        shares = [total / (len(self._groups) * group.count) for group in self._groups]
        return [
            unit * math.sqrt(max(group.spread**2, share / fineness**2))
            for group, share in zip(self._groups, shares, strict=True)
        ]

    def _representatives(self, strides: Sequence[float], scale: float) -> Iterator[_Representative]:
        """Yield the profiles to be sampled, of users whose ratio is `scale` stride^2/spread^2."""
        for i, (group, stride) in enumerate(zip(self._groups, strides, strict=True)):
            ratio = scale * (stride / group.spread) ** 2
            for profile, above, below in representatives(group, ratio):
                yield _Representative(profile, i, above, below)

    def _step(
        self, stride: float, places: Mapping[PrivacyProfile, SamplePlaces], fineness: float
    ) -> float:
        """Return a lattice step, below the stride, that divides the anchor up to rounding."""
        # the longest transform may leave no room for a lattice finer than that
        longest = 30 * self._deviation / tuning.MAX_POINTS
        # cells cost their squared width, but moving atoms to the lattice its step
        wanted = min(stride, max(stride / tuning.FINER / max(fineness, 1.0), longest))
        if self.is_expensive:  # a second lattice costs far more than a finer one
            gaps = (
                np.diff(graded.losses(profile, _losses_of(profile, Side.UPPER)))
                for profile, graded in places.items()
            )
            narrowest = min(float(gap[gap > 0].min(initial=math.inf)) for gap in gaps)
            wanted = min(wanted, max(narrowest / 2, stride / 64, longest))
        divisions = round_up(max(self._anchor / wanted, 16.0))
        step = self._anchor / divisions
        if Fraction(step) * divisions < Fraction(self._anchor):
            step = math.nextafter(step, math.inf)
        if 12 * self._deviation > tuning.MAX_POINTS * step or divisions > 1 << 40:
            raise LatticeTooLong
        return step


def _lower_pld(
    profile: PrivacyProfile, step: float, forward: Sampled, reverse: Sampled | None
) -> PLD:
    """Return the lower PLD of one round on a lattice, with the error of its largest loss."""
    if reverse is not None and reverse.samples.lower[-1] == 0:
        # how far its place was rounded up is charged to positive losses only
        samples = reverse.samples
        samples = replace(samples, slope_low=np.append(samples.slope_low[:-1], 0.0))
        reverse = replace(reverse, samples=samples)
    lower = lower_pld(step, forward, reverse)
    if forward.samples.lower[-1] == 0 and forward.samples.slope_low[-1] > 0:
        lower = replace(lower, loss_error=_ENDS_BEFORE * (1 + profile.max_loss))
    return lower


def _losses_of(profile: PrivacyProfile, side: Side) -> Side | None:
    """Return which losses an order stands for: positive, negative, or (None) both alike."""
    return None if profile.swapped is profile else side


class CellWidths(NamedTuple):
    """How wide cells may be around some losses."""

    losses: Array
    widths: Array


def cell_widths(
    outlines: CountedPLDs, influence: Sequence[Influence], width: float
) -> list[CellWidths]:
    """Return how wide cells may be for all of them together to cost `width` in relative epsilon.

    Parameters
    ----------
    outlines : CountedPLDs
    influence : Sequence of Influence
        Of each outline.
    width : float

    Returns
    -------
    list of CellWidths
        For each outline the width, shape [losses], at the losses of its influence.

    Notes
    -----
    docs/theory/lattice.md. Where cells of width h cost r h^2 for each unit of loss, the fewest of
    them have h = c r^(-1/3).
    """
    total = sum(_area(each.losses, np.cbrt(each.of_cells)) for each in influence)
    unit = math.sqrt(width / max(total, 1e-300))
    found = []
    for (losses, cost, _), (pld, _) in zip(influence, outlines, strict=True):
        spread = math.sqrt(float(pld.masses @ pld.losses**2))
        # an outline may miss where the losses are: no cell is wider than a share of its loss, nor
        # of 1, or of half the spread, where that is more
        widest = np.minimum(np.abs(losses) + spread, max(1.0, spread / 2))
        widest *= min(12 * math.sqrt(width), 0.5)
        found.append(CellWidths(losses, np.minimum(unit / np.cbrt(cost + 1e-300), widest)))
    return found


def _area(x: Array, y: Array) -> float:
    return float(np.diff(x) @ (y[1:] + y[:-1])) / 2


@dataclass(frozen=True, eq=False)
class SamplePlaces:
    """Where to sample rounds of which an outline is known: close together where losses count."""

    outline: PLD
    cell_losses: Array
    cell_widths: Array
    depth: float  # log(1/delta) of the smallest delta that is asked for

    def losses(self, profile: PrivacyProfile, side: Side | None = None) -> Array:
        """Return the losses at which to sample a profile, from 0 on.

        Parameters
        ----------
        profile : PrivacyProfile
        side : Side, optional
            UPPER for positive losses, LOWER for negative ones as seen from Q, and None for both at
            once where they are mirror images.

        Returns
        -------
        Array
            Shape [losses]. They end at the profile's largest loss, or at one beyond which delta is
            about e^-depth.
        """
        losses, masses, infinite = self.outline.losses, self.outline.masses, self.outline.infinite
        places, widths = self.cell_losses, self.cell_widths
        if side is Side.LOWER:
            losses, masses = -losses[::-1], (masses * np.exp(-losses))[::-1]
            infinite = 0.0 if profile.bounded else math.inf  # not part of an outline of P
            places, widths = -places[::-1], widths[::-1]
        elif side is None:
            widths = np.minimum(widths, np.interp(-places, places, widths))
        tail = np.cumsum(masses[::-1])[::-1]
        beyond = losses[tail + infinite <= math.exp(-self.depth)]
        end = min(float(beyond[0]) if len(beyond) else math.inf, profile.max_loss)
        inside = (places > 0) & (places < end)
        return _spaced(np.append(places[inside], end), np.append(widths[inside], math.inf))


def _spaced(losses: Array, widths: Array) -> Array:
    """Return places from 0 to the last of these losses, about as far apart as the widths say."""
    narrower = np.minimum(widths, np.append(widths[:1], widths[:-1]))  # at the ends of a gap
    count = np.append(0.0, np.cumsum(np.diff(losses, prepend=0.0) / narrower))
    number = min(count[-1], tuning.MOST_SAMPLES)
    spaced: Array = np.interp(
        np.linspace(0.0, count[-1], math.ceil(number) + 1), count, np.append(0.0, losses)
    )
    return spaced


def beside_kinks(kinks: Array, step: float, largest: float) -> Array:
    """Return the lattice points on either side of each kink, from 0 to the largest loss.

    Between them a profile is straight, so that no other samples are needed.
    """
    places = step * np.concatenate([[0.0], np.floor(kinks / step), np.ceil(kinks / step)])
    return np.append(np.unique(np.minimum(places, largest)), largest)


def on_lattice(losses: Array, step: float, largest: float) -> NDArray[np.int64]:
    """Return lattice points near losses up to their last, which is covered if it is the largest.

    The two points before the last are included: much of the mass may be there, since the largest
    loss may have been rounded up.
    """
    end = float(losses[-1])
    top = math.ceil(end / step * (1 - 1e-14))
    if end == largest and Fraction(step) * top < Fraction(largest):
        top += 1
    index = np.minimum(np.rint(losses / step), top).astype(np.int64)
    return np.unique(np.concatenate([index, [0, max(top - 2, 0), max(top - 1, 0), top]]))


class _LatticeSampler:
    """A profile on a lattice: sampled once, and then again where narrower samples are needed."""

    def __init__(
        self,
        profile: PrivacyProfile,
        step: float,
        places: SamplePlaces,
        side: Side | None,
        width: float,
    ) -> None:
        self._profile, self._step, self._side = profile, step, side
        self._depth, self._width = places.depth, width
        largest, kinks = profile.max_loss, profile.kinks
        if kinks is None:
            index = on_lattice(places.losses(profile, side), step, largest)
        else:
            index = on_lattice(beside_kinks(kinks, step, largest), step, largest)
        samples = self._sample(index, width)
        # chords beside a kink tell slopes that are missing
        missing = index[~np.isfinite(samples.slope_high)] if kinks is not None else index[:0]
        more = np.setdiff1d(np.concatenate([missing - 1, missing + 1]), index)
        more = more[(more > 0) & (more < index[-1])]
        if len(more):
            index, samples = np.append(index, more), joined([samples, self._sample(more, width)])
            order = np.argsort(index)
            index, samples = index[order], samples.rows(order)
        self._index, self._samples = index, samples
        self._weights = np.zeros(len(index))

    def _sample(self, index: NDArray[np.int64], width: float) -> Samples:
        epsilon: Array = self._step * index.astype(float)
        largest = self._profile.max_loss
        # the last one is on the lattice, up to what TiltedSum charges
        at_end = np.abs(epsilon - largest) <= 2.0**-51 * largest
        return self._profile.sampler(self._depth, width)(np.where(at_end, largest, epsilon))

    def weigh(self, influence: Influence, share: float) -> None:
        """Estimate how much the width of each sample costs, in relative epsilon.

        A width w of f at alpha < 1 is alpha w of the profile of the other order at 1/alpha.
        """
        epsilon = self._step * self._index.astype(float)
        cells = np.gradient(epsilon) if len(epsilon) > 1 else np.zeros(1)
        for side in (Side.UPPER, Side.LOWER):
            if self._side in (None, side):
                of_samples = np.interp(side * epsilon, *influence[::2], 0.0, 0.0)
                scale = 1.0 if side is Side.UPPER else np.exp(-epsilon)
                self._weights += share * cells * scale * of_samples

    @property
    def costs(self) -> Array:
        """About how much each sample adds to the relative width of epsilon, shape [samples]."""
        return self._weights * (self._samples.upper - self._samples.lower)

    def narrow(self, goal: float) -> None:
        """Sample again, at narrower and narrower widths, where the width of samples costs most.

        This ends when all of them cost at most `goal`, when it has taken its share of samples, or
        when narrower ones hardly help.
        """
        left, width = round(tuning.NARROWING * len(self._index)), self._width
        while (costs := self.costs).sum() > goal:
            order = np.argsort(-costs)
            # so many that all others cost half of the goal
            remaining = costs.sum() - np.cumsum(costs[order])
            chosen = order[: min(int(np.argmax(remaining <= goal / 2)) + 1, left)]
            if len(chosen) == 0:
                break
            left -= len(chosen)
            width /= 4
            self._samples = self._samples.narrowed(chosen, self._sample(self._index[chosen], width))
            if self.costs[chosen].sum() > 0.7 * costs[chosen].sum():
                break

    @property
    def sampled(self) -> Sampled:
        end = self._step * float(self._index[-1])
        flat = not self._profile.bounded and bool(end >= self._profile.max_loss)
        return Sampled(self._index, self._samples, flat)


def narrow_samples(samplers: Sequence[_LatticeSampler], goal: float) -> bool:
    """Narrow samples until all together cost at most `goal`, and say whether they do."""
    total = sum(float(each.costs.sum()) for each in samplers)
    if total > goal:
        for each in samplers:
            each.narrow(goal * float(each.costs.sum()) / total)
        total = sum(float(each.costs.sum()) for each in samplers)
    return total <= goal * (1 + 1e-9)
