"""Where to sample profiles for a lattice of privacy losses, and how narrowly.

Places and widths come from the influence of each loss on the composition. They cost time and width
only: PLDs made from the samples bound a profile whatever the samples are.

Theory: docs/theory/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import Array
from ..profiles.base import PrivacyProfile, Samples
from .outlines import FARTHEST_SAMPLE, Influence
from .pld import PLD, Sampled
from .tilted_sum import CountedPLDs


class Order(IntEnum):
    """The order in which a profile takes the two neighbours; as a factor, the sign of its losses.

    A loss of (Q, P) is minus a loss of (P, Q): sampled backward, a profile tells of the negative
    losses.
    """

    FORWARD = 1  # (P, Q)
    BACKWARD = -1  # (Q, P)


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
        # an outline may miss where the losses are: no cell is wider than a share of its loss plus
        # the spread, nor than a share of 1 or half the spread, whichever is more
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
    cells: CellWidths
    depth: float  # deltas of a round are resolved down to e^-depth

    def losses(self, profile: PrivacyProfile, order: Order | None = None) -> Array:
        """Return the losses at which to sample a profile, from 0 on.

        Parameters
        ----------
        profile : PrivacyProfile
        order : Order, optional
            FORWARD for positive losses, BACKWARD for negative ones as seen from Q, and None for
            both at once where they are mirror images.

        Returns
        -------
        Array
            Shape [losses]. They end at the profile's largest loss, or at one beyond which delta is
            about e^-depth.
        """
        losses, masses, infinite = self.outline.losses, self.outline.masses, self.outline.infinite
        places, widths = self.cells
        if order is Order.BACKWARD:
            losses, masses = -losses[::-1], (masses * np.exp(-losses))[::-1]
            infinite = 0.0 if profile.bounded else math.inf  # not part of an outline of P
            places, widths = -places[::-1], widths[::-1]
        elif order is None:
            widths = np.minimum(widths, np.interp(-places, places, widths))
        tail = np.cumsum(masses[::-1])[::-1]
        # the outline may have no loss at all of this order that counts
        beyond = losses[(tail + infinite <= math.exp(-self.depth)) & (losses > 0)]
        negligible = float(beyond[0]) if len(beyond) else math.inf
        end = min(negligible, profile.max_loss, FARTHEST_SAMPLE)
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


class LatticeSampler:
    """A profile on a lattice: sampled once, and then again where narrower samples are needed.

    Parameters
    ----------
    profile : PrivacyProfile
        What is sampled.
    step : float
        The distance of the lattice points.
    places : SamplePlaces
        Where to sample a profile without known kinks, and how deep.
    order : Order, optional
        The losses that the samples stand for: positive, negative, or (None) both alike.
    width : float
        Relative width in epsilon of the first samples, which are taken at once.
    influence : Influence
        Of the group of rounds.
    share : float
        Of the rounds of its group for which the profile stands.
    """

    def __init__(
        self,
        profile: PrivacyProfile,
        step: float,
        places: SamplePlaces,
        order: Order | None,
        width: float,
        influence: Influence,
        share: float,
    ) -> None:
        self._profile, self._step, self._order = profile, step, order
        self._depth, self._width = places.depth, width
        largest, kinks = profile.max_loss, profile.kinks
        if kinks is None:
            index = on_lattice(places.losses(profile, order), step, largest)
        else:
            beside = on_lattice(beside_kinks(kinks, step, largest), step, largest)
            # chords of two points beside a kink tell slopes that are missing
            index = np.unique(np.clip(np.add.outer(beside, [-1, 0, 1]), 0, beside[-1]))
        samples = self._sample(index, width)
        self._index, self._samples = index, samples
        self._weights = self._weighed(influence, share)

    def _sample(self, index: NDArray[np.int64], width: float) -> Samples:
        epsilon: Array = self._step * index.astype(float)
        largest = self._profile.max_loss
        # the last one is on the lattice, up to what TiltedSum charges
        at_end = np.abs(epsilon - largest) <= 2.0**-51 * largest
        return self._profile.sampler(self._depth, width)(np.where(at_end, largest, epsilon))

    def _weighed(self, influence: Influence, share: float) -> Array:
        """Estimate how much the width of each sample costs, in relative epsilon.

        A width w of f at alpha < 1 is alpha w of the profile of the other order at 1/alpha.
        """
        epsilon = self._step * self._index.astype(float)
        cells = np.gradient(epsilon) if len(epsilon) > 1 else np.zeros(1)
        weights = np.zeros(len(epsilon))
        for order in Order:
            if self._order in (None, order):
                of_samples = np.interp(
                    order * epsilon, influence.losses, influence.of_samples, 0.0, 0.0
                )
                scale = 1.0 if order is Order.FORWARD else np.exp(-epsilon)
                weights += share * cells * scale * of_samples
        return weights

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


def narrow_samples(samplers: Sequence[LatticeSampler], goal: float) -> bool:
    """Narrow samples until all together cost at most `goal`, and say whether they do."""
    total = sum(float(each.costs.sum()) for each in samplers)
    if total > goal:
        for each in samplers:
            each.narrow(goal * float(each.costs.sum()) / total)
        total = sum(float(each.costs.sum()) for each in samplers)
    return total <= goal * (1 + 1e-9)
