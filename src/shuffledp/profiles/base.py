"""Privacy profiles: delta as a function of epsilon for one round, certified both ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array
from . import tuning
from .samples import Samples

Sampler = Callable[[Array], Samples]


class PrivacyProfile(ABC):
    """delta(epsilon) of one round, the supremum over neighbours in both orders; or of one order
    only, with a `reverse`."""

    @property
    @abstractmethod
    def max_loss(self) -> float:
        """The largest finite loss: delta is constant from this epsilon on."""

    @property
    def farthest_loss(self) -> float:
        """The largest finite loss, however unlikely: `max_loss` may be one from which on delta is
        below every double."""
        return self.max_loss

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Is that constant 0, that is, is there no infinite loss?"""

    @abstractmethod
    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Evaluates the profile at epsilons >= 0, down to delta = e^-depth."""

    def values(self, depth: float, rtol: float) -> Sampler:
        """The same for who needs no slopes, which may be missing."""
        return self.sampler(depth, rtol)

    def outlined(self, epsilon: Array, width: float) -> Array:
        """About delta at some epsilons, however small it is, for the scale of things: nothing is
        proven with it."""
        return self.values(tuning.DEPTHS[-1], width)(epsilon).upper

    @property
    def about_zero(self) -> float | None:
        """About delta at epsilon = 0, if that can be said without a sample."""
        return None

    @property
    def depths(self) -> Sequence[float]:
        """The depths between which a sampler makes a difference; one if it resolves every delta."""
        return tuning.DEPTHS[-1:]

    @property
    def dear(self) -> bool:
        """Is narrowing a sample so dear that many of them should be no narrower than needed?"""
        return False

    @property
    def slow(self) -> bool:
        """Does a sample take so long that there should be no more of them than needed?"""
        return False

    @property
    def smooth(self) -> bool:
        """Is it known to have no kinks, whatever its samples look like?"""
        return False

    @property
    def kinks(self) -> Array | None:
        """About the losses at which the profile bends, if it is linear in e^epsilon between a few
        of them; None if that is not known. They say where to sample: nothing is proven with them.
        """
        return None

    @property
    def family(self) -> tuple[Hashable, int]:
        """What it shares with all profiles that differ from it in the number of users only, and
        that number: the more users, the smaller the profile. By default it is the only one."""
        return self, 1

    @property
    def reverse(self) -> PrivacyProfile | None:
        """If it is of pairs (P, Q) in this order only: the profile of (Q, P)."""
        return None

    @property
    def swapped(self) -> PrivacyProfile:
        """Of the other order of the neighbours, with this one as its reverse."""
        return self

    def some_left(self, epsilon: Array) -> NDArray[np.bool_]:
        """Where delta may be above 0."""
        return (epsilon < self.max_loss) | (not self.bounded)


#: Profiles whose composition is a round, and how often each counts.
Parts = Sequence[tuple[PrivacyProfile, int]]


def merged(parts: Parts) -> tuple[tuple[PrivacyProfile, int], ...]:
    """Equal profiles together; those in which nothing is lost do not count."""
    counts: dict[PrivacyProfile, int] = {}
    for profile, count in parts:
        if count and (not profile.bounded or profile.max_loss > 0):  # which may take a while
            counts[profile] = counts.get(profile, 0) + count
    return tuple(counts.items())


def swapped(parts: Parts) -> tuple[tuple[PrivacyProfile, int], ...]:
    """In the other order of the neighbours; the same if they are alike in both."""
    other = merged([(profile.swapped, count) for profile, count in parts])
    here = merged(parts)
    return here if dict(other) == dict(here) else other
