"""Rounds that are alike, and what they look like from afar: outlines, cheap and coarse.

Outlines tell the scale of things, nothing more: no bound rests on them.

Theory: docs/theory/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..profiles.base import PrivacyProfile
from ..profiles.samples import Samples
from . import tuning
from .pld import PLD, Sampled, upper_pld


@dataclass(frozen=True, eq=False)
class Kind:
    """Rounds with one profile, or with profiles of one family and about as many users.

    The outline is a coarse upper PLD and the spread its root mean square loss: the scale of
    things, nothing more.
    """

    members: Sequence[tuple[PrivacyProfile, int]]  # and how many rounds; fewest users first
    outline: PLD
    spread: float

    @property
    def profile(self) -> PrivacyProfile:
        """The largest."""
        return self.members[0][0]

    @property
    def count(self) -> int:
        return sum(count for _, count in self.members)


def kinds_of(rounds: Sequence[tuple[PrivacyProfile, int]]) -> tuple[Kind, ...]:
    """The kinds, ordered by their numbers: the order of composing does not matter."""
    families: dict[Hashable, list[tuple[int, PrivacyProfile, int]]] = {}
    for profile, count in rounds:
        family, users = profile.family
        families.setdefault(family, []).append((users, profile, count))
    kinds = []
    for alike in families.values():
        alike.sort(key=lambda member: member[0])
        while alike:
            most = max(tuning.ALIKE, 1.0) * alike[0][0]
            near = [member[1:] for member in alike if member[0] <= most]
            del alike[: len(near)]
            outline = _outline(near[0][0])
            kinds.append(Kind(near, outline, _spread(outline, _largest_loss(near[0][0]))))
    return tuple(sorted(kinds, key=_rank))


def _rank(kind: Kind) -> tuple[float, ...]:
    outline = kind.outline
    at_one = float(outline.masses @ np.maximum(-np.expm1(-outline.losses), 0.0))
    return kind.profile.max_loss, kind.spread, kind.count, outline.infinite, at_one


def _outline(profile: PrivacyProfile) -> PLD:
    """A coarse upper PLD at about 170 geometrically spaced losses: the scale of things, cheaply."""
    # far above the ratio of the largest loss to any other that matters: only mass costs time
    steps = 1 << 40
    index = np.unique(np.geomspace(1, steps, 220).astype(np.int64))
    index = np.append(0, index[index > steps * 1e-9])
    orders = [profile] if profile.reverse is None else [profile, profile.reverse]
    step = _largest_loss(profile) / steps
    sampled = []
    for order in orders:
        places = np.minimum(step * index, order.max_loss)
        about = order.outlined(places, 0.2)
        sampled.append(Sampled(index, Samples.without_slopes(about, about)))
    outline = upper_pld(step, *sampled)
    # samples that are not narrow leave more than there is at the smallest losses
    rank = np.argsort(-np.abs(outline.index))
    larger = np.cumsum(outline.masses[rank]) - outline.masses[rank]
    masses = np.empty(len(rank))
    masses[rank] = np.clip(1 - outline.infinite - larger, 1e-300, outline.masses[rank])
    return replace(outline, masses=masses)


def _largest_loss(profile: PrivacyProfile) -> float:
    """The largest finite loss in either order of the neighbours."""
    return max(profile.max_loss, (profile.reverse or profile).max_loss)


def _spread(outline: PLD, largest: float) -> float:
    """Root mean square of the finite loss; small ones do not matter beside much infinite loss."""
    if outline.masses @ -np.expm1(-np.maximum(outline.losses, 0.0)) < 1e-12 * largest:
        return largest  # nothing but infinite loss, and rounding: any lattice will do
    negligible = (1e-9 + 0.01 * outline.infinite) * largest
    return max(math.sqrt(float(outline.masses @ outline.losses**2)), negligible)
