"""Estimates that lattices are planned with: groups of similar rounds, their outlines, influences.

An outline is a coarse PLD. Splitting or merging the outcomes of a round whose losses lie in a cell
of width h around l, with mass m, changes delta(epsilon) in proportion to m h^2 times the density of
the other rounds' sum at epsilon - l. So what counts is the law of one round's loss given that all
losses add up to epsilon. Of light tails that is the law under the composition's tilt, of heavy ones
it is not: by a formula with the tilt alone, 2 to 100 rounds of Gaussian(0.35) with 10^9 users take
more than 10 s instead of 1 s.

No bound rests on anything here.

Theory: docs/theory/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .. import tuning
from .._support.numeric import Array, Side
from .._support.transforms import discounted_sums
from ..profiles.base import Parts, PrivacyProfile, Samples, factored
from .pld import PLD, Sampled, upper_pld
from .tilted_sum import (
    CountedPLDs,
    LatticeTooLong,
    TiltedSum,
    cumulants,
    infinite_mass,
    tilt_for_delta,
    tilt_for_epsilon,
)

#: Losses of one round are sampled up to here: e to this power is a double. Those beyond, of several
#: messages that hide nothing, count as infinite from above and are dropped from below.
FARTHEST_SAMPLE = 600.0


@dataclass(frozen=True, eq=False)
class RoundGroup:
    """Rounds with one profile, or with profiles of one family and about as many users.

    Attributes
    ----------
    members : Sequence of (PrivacyProfile, int)
        Profiles and how many rounds have each; fewest users first.
    outline : PLD
        A coarse upper PLD of the first, which is the largest.
    loss_scale : float
        The root mean square loss of the outline, or what `_loss_scale` puts in its place.
    """

    members: Parts
    outline: PLD
    loss_scale: float

    @property
    def profile(self) -> PrivacyProfile:
        """The largest profile."""
        return self.members[0][0]

    @property
    def count(self) -> int:
        return sum(count for _, count in self.members)


def group_rounds(parts: Parts) -> tuple[RoundGroup, ...]:
    """Return groups of similar rounds, in an order that does not depend on that of composing.

    Parameters
    ----------
    parts : Sequence of (PrivacyProfile, int)
        Profiles, and how many rounds have each.

    Returns
    -------
    tuple of RoundGroup
        Rounds with one profile, or of one family with numbers of users that differ by a factor of
        at most ALIKE.
    """
    families: dict[Hashable, list[tuple[int, PrivacyProfile, int]]] = {}
    for profile, count in factored(parts):
        family, users = profile.family
        families.setdefault(family, []).append((users, profile, count))
    groups = []
    for members in families.values():
        members.sort(key=lambda member: member[0])
        while members:
            most_users = max(tuning.ALIKE, 1.0) * members[0][0]
            similar = [member[1:] for member in members if member[0] <= most_users]
            del members[: len(similar)]
            largest, _ = similar[0]
            outline = _outline(largest)
            loss_scale = _loss_scale(outline, _largest_loss(largest))
            groups.append(RoundGroup(similar, outline, loss_scale))
    return tuple(sorted(groups, key=_rank))


def _rank(group: RoundGroup) -> tuple[float, ...]:
    outline = group.outline
    at_one = float(outline.masses @ np.maximum(-np.expm1(-outline.losses), 0.0))
    return group.profile.max_loss, group.loss_scale, group.count, outline.infinite, at_one


def _outline(profile: PrivacyProfile) -> PLD:
    """Return a coarse upper PLD at about 170 geometrically spaced losses."""
    # far above the ratio of the largest loss to any other that matters: only mass costs time
    steps = 1 << 40
    index = np.unique(np.geomspace(1, steps, 220).astype(np.int64))
    index = np.append(0, index[index > steps * 1e-9])
    orders = [profile] if profile.reverse is None else [profile, profile.reverse]
    step = _largest_loss(profile) / steps
    sampled = []
    for order in orders:
        places = np.minimum(step * index, order.max_loss)
        values = order.outlined(places)
        sampled.append(Sampled(index, Samples.without_falls(values, values)))
    outline = upper_pld(step, *sampled)
    # samples that are not narrow leave more than there is at the smallest losses
    rank = np.argsort(-np.abs(outline.index))
    larger = np.cumsum(outline.masses[rank]) - outline.masses[rank]
    masses = np.empty(len(rank))
    masses[rank] = np.clip(1 - outline.infinite - larger, 1e-300, outline.masses[rank])
    return replace(outline, masses=masses)


def _largest_loss(profile: PrivacyProfile) -> float:
    """Return the largest finite loss in either order of the neighbours, as far as it is sampled."""
    largest = max(profile.max_loss, (profile.reverse or profile).max_loss)
    return min(largest, FARTHEST_SAMPLE)


def _loss_scale(outline: PLD, largest: float) -> float:
    """Return the root mean square of the finite loss, or a scale below which none matters.

    It is at least 1e-150, so that its square is not 0.
    """
    largest = max(largest, 1e-150)
    if outline.masses @ -np.expm1(-np.maximum(outline.losses, 0.0)) < 1e-12 * largest:
        return largest  # nothing but infinite loss, and rounding: any lattice will do
    negligible = (1e-9 + 0.01 * outline.infinite) * largest
    return max(math.sqrt(float(outline.masses @ outline.losses**2)), negligible)


def targets_between(outlines: CountedPLDs, least: float, most: float) -> tuple[float, ...]:
    """Return log(1/delta) for which a lattice is sampled: a ladder that encloses least .. most.

    Questions in the same step of the ladder share a lattice. Where epsilon changes much within one
    step, because a rare large loss decides it, the lattice is for `most` alone.
    """
    factor = max(tuning.RUNG, 1.01)
    first, last = (math.floor(math.log(max(x, 1.0)) / math.log(factor)) for x in (least, most))
    steps = tuple(factor**step for step in range(first, last + 2))
    if first == last and _has_heavy_tail(outlines, steps[1]):
        return (most,)
    return steps


def _has_heavy_tail(outlines: CountedPLDs, target: float) -> bool:
    """Whether epsilon changes much from one step of the ladder of log(1/delta) to this one.

    Then lattices are made for one target, and influences are widened. Without this and `_widened`,
    7 of 9 compositions of Gaussian(0.35) with 10^9 users are not certified to 1e-3 (2 to 100
    rounds, delta from 1e-6 to 1e-10).
    """
    before = target / max(tuning.RUNG, 1.01)
    below, above = (_DeltaEstimate.at(outlines, each).epsilon for each in (before, target))
    return above > 1.3 * below  # light tails have 1.07


def log_inverse_delta(outlines: CountedPLDs, epsilon: float) -> float:
    """Return an estimate of log(1/delta) at an epsilon; nothing is proven.

    Parameters
    ----------
    outlines : CountedPLDs
        Coarse PLDs of the rounds.
    epsilon : float

    Notes
    -----
    Losses that do not count at the delta that was found before are left out, again and again: they
    may not even be resolved, and would spoil the tilt.
    """
    rounds, resolved = sum(count for _, count in outlines), tuning.DEPTHS[-1]
    deviation = math.sqrt(cumulants(outlines, 0.0).variance / rounds)
    for _ in range(10):
        frequent = _frequent_losses(outlines, math.exp(-resolved))
        total = _coarse_sum(frequent, tilt_for_epsilon(frequent, epsilon), deviation)
        delta = total.delta(epsilon, Side.UPPER)
        estimate = -math.log(min(max(delta + infinite_mass(outlines), 1e-300), 1.0))
        if total.delta(epsilon, Side.LOWER) < delta / 2 and resolved > 1:
            resolved /= 2  # no tilt fits
        elif estimate < resolved:
            resolved = estimate
        else:
            break
    return estimate


class Influence(NamedTuple):
    """How much errors at some losses of a round widen the bracket of the composition.

    Attributes
    ----------
    losses : Array
        Shape [losses].
    of_cells : Array
        Relative width in epsilon for cells of width h, over h^2 and per unit of loss.
    of_samples : Array
        Relative width in epsilon for samples of absolute width w, over w and per unit of loss.
    """

    losses: Array
    of_cells: Array
    of_samples: Array


def influences(outlines: CountedPLDs, targets: Sequence[float]) -> list[Influence]:
    """Return, for each kind of round, the largest influence at deltas with these log(1/delta)."""
    finer = [(_interpolated(pld), count) for pld, count in outlines]
    largest = [np.zeros((2, len(pld.index))) for pld, _ in finer]
    for target in targets:
        for known, another in zip(largest, _influence_at(finer, target), strict=True):
            np.maximum(known, another, out=known)
    return [Influence(pld.losses, *each) for (pld, _), each in zip(finer, largest, strict=True)]


def _interpolated(pld: PLD) -> PLD:
    """Return an outline with losses between its own, and masses as if these had a density.

    Without it, 100 rounds of Gaussian(0.35) with 10^9 users are not certified at delta 1e-10;
    most other brackets stay the same.
    """
    density, number = pld.masses / _gaps(pld), len(pld.index)
    own, places = np.arange(number), np.linspace(0, number - 1, (number - 1) * 6 + 1)
    index = np.rint(np.interp(places, own, pld.index)).astype(np.int64)
    index, first = np.unique(index, return_index=True)
    finer = replace(pld, index=index, masses=np.ones(len(index)))
    masses = np.exp(np.interp(places[first], own, np.log(density + 1e-300))) * _gaps(finer)
    return replace(finer, masses=masses * (pld.masses.sum() / masses.sum()))


def _gaps(pld: PLD) -> Array:
    """Return how much of the line of losses belongs to each."""
    middle = np.diff(pld.losses) / 2
    gaps: Array = np.append(middle, 0.0) + np.append(0.0, middle)
    return np.maximum(gaps, 1e-300)


class _DeltaEstimate(NamedTuple):
    """What outlines tell about a delta.

    Attributes
    ----------
    frequent : CountedPLDs
        The outlines without losses that do not count at this delta.
    tilt : float
        The tilt under which the sum is centred at its epsilon.
    deviation : float
        The standard deviation of a round's loss.
    epsilon : float
        About the epsilon at this delta.
    """

    frequent: CountedPLDs
    tilt: float
    deviation: float
    epsilon: float

    @classmethod
    def at(cls, outlines: CountedPLDs, target: float) -> _DeltaEstimate:
        delta = math.exp(-min(target, 690.0))
        frequent = _frequent_losses(outlines, delta)
        tilt = tilt_for_delta(frequent, delta)
        of_sum = math.sqrt(cumulants(frequent, 0.0).variance)
        deviation = of_sum / math.sqrt(sum(count for _, count in outlines))
        epsilon = _coarse_sum(frequent, tilt, deviation).estimated_epsilon(delta)
        return cls(frequent, tilt, deviation, max(epsilon, of_sum, 1e-300))


def _influence_at(outlines: CountedPLDs, target: float) -> list[Array]:
    """Return the influence of each loss at one log(1/delta): [2, losses] for each outline.

    With g the density of the sum of all rounds but one, an error w(l) of a round's profile at the
    losses l changes delta(epsilon) by the integral of w(l) g(epsilon - l), and epsilon by that over
    the slope of delta. Cells of width h around losses with the density p make w = p h^2/4.
    """
    rounds = sum(count for _, count in outlines)
    frequent, tilt, deviation, epsilon = _DeltaEstimate.at(outlines, target)
    uncertainty = 0.03 * epsilon  # about how well an outline tells epsilon
    if uncertainty <= deviation * math.sqrt(rounds) or not _has_heavy_tail(outlines, target):
        uncertainty = 0.0
    # of many, one more or less makes no difference; of three kinds of rounds, one of which has a
    # far larger loss than the others, it does
    few = rounds <= 8
    common = max(range(len(frequent)), key=lambda i: frequent[i][1])
    found: list[Array] = []
    for i, (pld, count) in enumerate(outlines):
        if few or i == 0:
            left_out = i if few else common
            others = [(each, number - (j == left_out)) for j, (each, number) in enumerate(frequent)]
            others = [part for part in others if part[1]] or list(frequent)
            sums, density = _coarse_sum(others, tilt, deviation).density
            slopes = _slopes(sums, density)
            if uncertainty and len(sums) > 1:
                density = _widened(density, int(min(uncertainty / (sums[1] - sums[0]), len(sums))))
        at_others = np.interp(epsilon - pld.losses, sums, density, 0.0, 0.0)
        slope = float(pld.masses @ np.interp(epsilon - pld.losses, sums, slopes, 0.0, 0.0))
        given = pld.masses * at_others
        if not (given.any() and np.isfinite(given).all() and slope > 1e-200):  # no tilt fits
            at_others, slope = np.ones(len(given)), 1 / (1 + tilt)
        with np.errstate(over="ignore"):
            of_samples = count / max(epsilon * slope, 1e-250) * at_others
            of_cells = of_samples * (pld.masses / _gaps(pld)) / 4
        found.append(np.minimum([of_cells, of_samples], 1e250))
    return found


def _slopes(losses: Array, density: Array) -> Array:
    """Return minus the slope of delta(epsilon) of a sum with this density, at each of its losses.

    It is the mean of e^(epsilon - loss) over the losses above epsilon.
    """
    step = float(losses[1] - losses[0]) if len(losses) > 1 else 1.0
    terms = step * np.append(density[::-1], 0.0)
    return discounted_sums(np.zeros(1), terms[None, :], np.array([min(step, 600.0)]))[0, :0:-1]


def _widened(density: Array, reach: int) -> Array:
    """Return the largest of the values up to `reach` places around each."""
    done = 0
    while done < reach:
        shift = min(done + 1, reach - done)
        padded = np.pad(density, shift)
        density = np.maximum(density, np.maximum(padded[: -2 * shift], padded[2 * shift :]))
        done += shift
    return density


def _frequent_losses(outlines: CountedPLDs, delta: float) -> CountedPLDs:
    """Return the outlines without losses so rare that they do not count at delta.

    They would only spoil the tilt. All that is left out of a round has a hundredth of its share.
    """
    share = 0.01 * delta / sum(count for _, count in outlines)
    found = []
    for pld, count in outlines:
        tail = np.cumsum(pld.masses[::-1])[::-1]
        kept = (tail > share) | (pld.index <= 0)
        found.append((replace(pld, index=pld.index[kept], masses=pld.masses[kept]), count))
    return found


def _coarse_sum(plds: CountedPLDs, tilt: float, deviation: float) -> TiltedSum:
    """Return about the sum of the losses; one of them has about this standard deviation.

    The lattice has eight points in the deviation and in a loss of 2, beyond which e^-loss is small,
    or fewer if the sum is too long for a millisecond.
    """
    largest = max(float(np.abs(pld.losses).max()) for pld, _ in plds)
    step = max(min(deviation, 2.0) / 8, 1e-12 * largest, 1e-300)
    while True:
        try:
            return TiltedSum(_rounded(plds, step), tilt, 1 << 14)
        except LatticeTooLong:
            step *= 4


def _rounded(plds: CountedPLDs, step: float) -> CountedPLDs:
    """Return the PLDs with every loss at the nearest multiple of a step."""
    found = []
    for pld, count in plds:
        index, place = np.unique(np.rint(pld.losses / step).astype(np.int64), return_inverse=True)
        found.append((PLD(step, index, np.bincount(place, pld.masses).astype(float), 0.0), count))
    return found
