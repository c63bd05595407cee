"""Groups of similar rounds, and a coarse outline of each, from which lattices are planned.

No bound rests on an outline.

Theory: docs/theory/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..profiles.base import Parts, PrivacyProfile, Samples, factored
from . import tuning
from .pld import PLD, Sampled, upper_pld


@dataclass(frozen=True, eq=False)
class RoundGroup:
    """Rounds with one profile, or with profiles of one family and about as many users.

    Attributes
    ----------
    members : Sequence of (PrivacyProfile, int)
        Profiles and how many rounds have each; fewest users first.
    outline : PLD
        A coarse upper PLD of the first, which is the largest.
    spread : float
        The root mean square loss of the outline.
    """

    members: Parts
    outline: PLD
    spread: float

    @property
    def profile(self) -> PrivacyProfile:
        """The largest profile."""
        return self.members[0][0]

    @property
    def count(self) -> int:
        return sum(count for _, count in self.members)


def group_rounds(rounds: Sequence[tuple[PrivacyProfile, int]]) -> tuple[RoundGroup, ...]:
    """Return groups of similar rounds, in an order that does not depend on that of composing.

    Parameters
    ----------
    rounds : Sequence of (PrivacyProfile, int)
        Profiles, and how many rounds have each.

    Returns
    -------
    tuple of RoundGroup
        Rounds with one profile, or of one family with numbers of users that differ by a factor of
        at most ALIKE.
    """
    families: dict[Hashable, list[tuple[int, PrivacyProfile, int]]] = {}
    for profile, count in factored(rounds):
        family, users = profile.family
        families.setdefault(family, []).append((users, profile, count))
    groups = []
    for members in families.values():
        members.sort(key=lambda member: member[0])
        while members:
            most_users = max(tuning.ALIKE, 1.0) * members[0][0]
            similar = [member[1:] for member in members if member[0] <= most_users]
            del members[: len(similar)]
            outline = _outline(similar[0][0])
            spread = _spread(outline, _largest_loss(similar[0][0]))
            groups.append(RoundGroup(similar, outline, spread))
    return tuple(sorted(groups, key=_rank))


def _rank(group: RoundGroup) -> tuple[float, ...]:
    outline = group.outline
    at_one = float(outline.masses @ np.maximum(-np.expm1(-outline.losses), 0.0))
    return group.profile.max_loss, group.spread, group.count, outline.infinite, at_one


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
        values = order.outlined(places, 0.2)
        sampled.append(Sampled(index, Samples.without_slopes(values, values)))
    outline = upper_pld(step, *sampled)
    # samples that are not narrow leave more than there is at the smallest losses
    rank = np.argsort(-np.abs(outline.index))
    larger = np.cumsum(outline.masses[rank]) - outline.masses[rank]
    masses = np.empty(len(rank))
    masses[rank] = np.clip(1 - outline.infinite - larger, 1e-300, outline.masses[rank])
    return replace(outline, masses=masses)


def _largest_loss(profile: PrivacyProfile) -> float:
    """Return the largest finite loss in either order of the neighbours."""
    return max(profile.max_loss, (profile.reverse or profile).max_loss)


def _spread(outline: PLD, largest: float) -> float:
    """Return the root mean square of the finite loss, or a scale below which none matters.

    It is at least 1e-150, so that its square is not 0.
    """
    largest = max(largest, 1e-150)
    if outline.masses @ -np.expm1(-np.maximum(outline.losses, 0.0)) < 1e-12 * largest:
        return largest  # nothing but infinite loss, and rounding: any lattice will do
    negligible = (1e-9 + 0.01 * outline.infinite) * largest
    return max(math.sqrt(float(outline.masses @ outline.losses**2)), negligible)


def representatives(
    group: RoundGroup, ratio: float
) -> Iterator[tuple[PrivacyProfile, Parts, Parts]]:
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
        yield group.members[at][0], group.members[at:after], group.members[before + 1 : at + 1]
