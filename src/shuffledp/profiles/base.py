"""Privacy profiles: delta as a function of epsilon for one round, certified both ways.

`Samples` are a profile at some epsilons, from both sides, with what its convexity in alpha implies.
`PrivacyProfile` is what every profile offers; `PairProfile` adds the other order of the neighbours,
and `NothingLost` is the profile of a round that reveals nothing. `sample_width` and `depth_for` say
how accurately a profile is sampled for a question.

Theory: docs/theory/profiles.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import Array


@dataclass(frozen=True)
class Samples:
    """A profile f(alpha) = delta(log alpha) at some epsilons, certified.

    All columns have the shape [epsilons]. lower <= f <= upper. Through each (alpha, lower) goes a
    line that is nowhere above f; its fall, the decrease per unit of alpha, lies in [fall_low,
    fall_high], which is [0, inf] if nothing is known of it.
    """

    lower: Array
    upper: Array
    fall_low: Array
    fall_high: Array

    def __post_init__(self) -> None:
        # a value that is no number, after an overflow, must not count as a bound
        if np.isnan(self.lower).any() or np.isnan(self.upper).any():
            unknown = np.isnan(self.lower) | np.isnan(self.upper)
            names = ("lower", "upper", "fall_low", "fall_high")
            trivial = zip(names, (0.0, 1.0, 0.0, np.inf), strict=True)
            for name, value in trivial:
                object.__setattr__(self, name, np.where(unknown, value, getattr(self, name)))

    @classmethod
    def without_falls(cls, lower: Array, upper: Array) -> Samples:
        return cls(lower, upper, np.zeros(len(lower)), np.full(len(lower), np.inf))

    @property
    def columns(self) -> tuple[Array, Array, Array, Array]:
        return self.lower, self.upper, self.fall_low, self.fall_high

    def rows(self, index: NDArray[np.intp]) -> Samples:
        return Samples(*(column[index] for column in self.columns))

    def narrowed(self, index: NDArray[np.intp], others: Samples) -> Samples:
        """Return the samples with those at `index` replaced by the narrower ones of two.

        `others` are of the same profile, at the epsilons of `index`. Both are certified, so that
        the larger lower value, with its line, and the smaller upper value are.
        """
        columns, known = np.array(self.columns), self.rows(index)
        upper = np.minimum(others.upper, known.upper)
        columns[:, index] = replace(larger_of(others, known), upper=upper).columns
        return Samples(*columns)


def joined(parts: Sequence[Samples]) -> Samples:
    """Samples at the epsilons of all parts, one after the other."""
    columns = zip(*(part.columns for part in parts), strict=True)
    return Samples(*(np.concatenate(column) for column in columns))


def larger_of(a: Samples, b: Samples) -> Samples:
    """Samples of the pointwise larger of two profiles, at the same epsilons."""
    first, lower = a.lower >= b.lower, np.maximum(a.lower, b.lower)
    low, high = (
        np.where(first, getattr(a, side), getattr(b, side)) for side in ("fall_low", "fall_high")
    )
    return Samples(lower, np.maximum(a.upper, b.upper), low, high)


def chord_falls(
    lower: Array, upper: Array, excess: Array, steepest: float | None = None
) -> tuple[Array, Array]:
    """Bounds on the fall of a profile, from chords between its lower and upper values.

    Parameters
    ----------
    lower, upper : Array, shape [points]
        Bounds of the profile.
    excess : Array, shape [points]
        alpha - 1 of the points, increasing from 0.
    steepest : float, optional
        An upper bound of the fall at alpha = 1; (1 - f)/2 by default, which holds of
        symmetric profiles.

    Returns
    -------
    tuple of Array
        An upper bound of the fall to the right of each point, and a lower bound to its left.

    Notes
    -----
    A convex function is at most as steep as any chord that ends at the point, and at least as steep
    as any that starts there. The shortest chord fits best, but the width of the brackets matters
    less in a longer one, so that chords of all powers of two are tried.
    """
    if steepest is None:
        steepest = (1 - lower[0]) / 2
    steep, flat = np.full(len(excess), steepest), np.zeros(len(excess))
    span = 1
    while span < len(excess):
        width = excess[span:] - excess[:-span]
        steep[span:] = np.minimum(steep[span:], (upper[:-span] - lower[span:]) / width)
        flat[:-span] = np.maximum(flat[:-span], (lower[:-span] - upper[span:]) / width)
        span *= 2
    return steep, flat


def convex_corners(x: Array, y: Array) -> NDArray[np.intp]:
    """Indices of the corners of the greatest convex minorant of the points (x increasing)."""
    corner = np.arange(len(x))
    while True:
        slope = np.diff(y[corner]) / np.diff(x[corner])
        dent = np.flatnonzero(np.diff(slope) < 0) + 1
        if len(dent) == 0:
            return corner
        # a point above the chord of its neighbours is no corner, whatever else is removed
        corner = np.delete(corner, dent)


#: Evaluates a profile at epsilons, shape [epsilons].
Sampler = Callable[[Array], Samples]


class PrivacyProfile(ABC):
    """delta(epsilon) of one round.

    It is the supremum over neighbours in both orders, or of one order only if there is a `reverse`.
    """

    @property
    @abstractmethod
    def max_loss(self) -> float:
        """The largest finite loss, rounded up: delta is constant from this epsilon on.

        Where losses have no end, a loss at which the profile is cut off: from there on, the
        probability that is left counts as that of an infinite loss above, and of none below.
        """

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Whether delta is 0 from `max_loss` on: no loss is larger, and none is infinite."""

    @abstractmethod
    def sampler(self, depth: float, rtol: float) -> Sampler:
        """A function that evaluates the profile at epsilons >= 0.

        Parameters
        ----------
        depth : float
            Deltas are resolved relatively down to e^-depth.
        rtol : float
            Relative width in epsilon to aim for. Samples may be wider, never wrong.
        """

    def outlined(self, epsilon: Array) -> Array:
        """A rough delta at each epsilon; nothing is proven with it.

        Where depths matter it is resolved down to the second one only: coarse cells that reach
        into the far tail are wide everywhere.
        """
        return self.sampler(self.depths[:2][-1], 0.2)(epsilon).upper

    @property
    def depths(self) -> Sequence[float]:
        """The depths that make a difference to a sampler; one if it resolves every delta."""
        return tuning.DEPTHS[-1:]

    @property
    def is_expensive(self) -> bool:
        """Whether narrow samples are so expensive that they should be no narrower than needed.

        They are where depths make a difference, unless the profile evaluates others.
        """
        return len(self.depths) > 1

    @property
    def is_slow(self) -> bool:
        """Whether a sample takes so long that there should be no more samples than needed."""
        return False

    @property
    def kinks(self) -> Array | None:
        """About the losses at which the profile bends, if it is linear in e^epsilon between a few
        of them; None if that is not known. They say where to sample: nothing is proven with them.
        """
        return None

    @property
    def family(self) -> tuple[Hashable, int]:
        """A key that profiles share if they differ in the number of users only, and that number.

        The more users, the smaller the profile. By default a profile is alone in its family.
        """
        return self, 1

    @property
    def reverse(self) -> PrivacyProfile | None:
        """The profile of (Q, P), if this one is of pairs (P, Q) in this order only."""
        return None

    @property
    def swapped(self) -> PrivacyProfile:
        """The profile of the other order of the neighbours, with this one as its reverse."""
        return self

    @property
    def factors(self) -> Sequence[tuple[PrivacyProfile, int]]:
        """Profiles whose composition it is, and how often each counts: mostly itself, once."""
        return [(self, 1)]

    def may_be_positive(self, epsilon: Array) -> NDArray[np.bool_]:
        """Where delta may be above 0, shape [epsilons]."""
        return (epsilon < self.max_loss) | (not self.bounded)

    def zeroed_beyond_max_loss(self, sampler: Sampler) -> Sampler:
        """A sampler of this profile, with 0 where delta cannot be above 0."""

        def sample(epsilon: Array) -> Samples:
            epsilon = np.asarray(epsilon, dtype=float)
            columns = np.array(sampler(epsilon).columns)
            columns[:3] *= self.may_be_positive(epsilon)
            return Samples(*columns)

        return sample


@dataclass(frozen=True)
class NothingLost(PrivacyProfile):
    """The profile of a round whose messages do not depend on the values."""

    max_loss: ClassVar[float] = 0.0
    bounded: ClassVar[bool] = True

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return lambda epsilon: Samples(*np.zeros((4, len(epsilon))))


class DerivedProfile(PrivacyProfile):
    """A profile that evaluates others: it is as expensive as they are.

    Unless it says otherwise, it has no larger loss than they have.
    """

    @property
    @abstractmethod
    def inner(self) -> Sequence[PrivacyProfile]:
        """The profiles that it evaluates, at least one."""

    @cached_property
    def max_loss(self) -> float:
        return max(each.max_loss for each in self.inner)

    @cached_property
    def bounded(self) -> bool:
        return all(each.bounded for each in self.inner)

    @property
    def depths(self) -> Sequence[float]:
        return max((each.depths for each in self.inner), key=len)

    @property
    def is_expensive(self) -> bool:
        return any(each.is_expensive for each in self.inner)

    @property
    def is_slow(self) -> bool:
        return any(each.is_slow for each in self.inner)


@dataclass(frozen=True)
class PairProfile(DerivedProfile):
    """The profile `forward` of a pair (P, Q), together with the profile `backward` of (Q, P).

    The two differ in general, and the losses of several rounds cannot be added up without both.
    For several pairs they are the largest profiles in either order: together they are the profile
    of one pair that dominates all of them, since both have the same value at epsilon = 0, the
    largest total variation (docs/theory/profiles.md).
    """

    forward: PrivacyProfile
    backward: PrivacyProfile

    @property
    def reverse(self) -> PrivacyProfile:
        return self.backward

    @property
    def swapped(self) -> PairProfile:
        return PairProfile(self.backward, self.forward)

    @property
    def inner(self) -> Sequence[PrivacyProfile]:
        return (self.forward,)

    @property
    def kinks(self) -> Array | None:
        return self.forward.kinks

    @property
    def family(self) -> tuple[Hashable, int]:
        (family, users), (other, _) = self.forward.family, self.backward.family
        return ("pair", family, other), users

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self.forward.sampler(depth, rtol)


def largest(profiles: tuple[PrivacyProfile, ...]) -> PrivacyProfile:
    """The pointwise largest profile, which bounds users who have any of these profiles."""
    if len(profiles) == 1:
        return profiles[0]
    backward = tuple(profile.reverse or profile for profile in profiles)
    if backward == profiles:
        return LargestProfile(profiles)
    return PairProfile(LargestProfile(profiles), LargestProfile(backward))


@dataclass(frozen=True)
class LargestProfile(DerivedProfile):
    """The pointwise largest of several profiles."""

    profiles: tuple[PrivacyProfile, ...]

    @property
    def inner(self) -> Sequence[PrivacyProfile]:
        return self.profiles

    def outlined(self, epsilon: Array) -> Array:
        return np.asarray(np.max([profile.outlined(epsilon) for profile in self.profiles], axis=0))

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """The profile that leads by a rough estimate first; then those that may be larger."""
        rough, fine = (
            [profile.zeroed_beyond_max_loss(profile.sampler(depth, w)) for profile in self.profiles]
            for w in (tuning.FIRST_LOOK, rtol)
        )

        def sample(epsilon: Array) -> Samples:
            looks = [look(epsilon) for look in rough]
            first = max(range(len(looks)), key=lambda i: float(looks[i].lower.sum()))
            best = fine[first](epsilon)
            for i, look in enumerate(looks):
                if i != first and (look.upper > best.lower).any():
                    best = larger_of(best, fine[i](epsilon))
            return best

        return sample


#: Profiles whose composition is a round, and how often each counts.
Parts = Sequence[tuple[PrivacyProfile, int]]


def merged(parts: Parts) -> tuple[tuple[PrivacyProfile, int], ...]:
    """The parts with equal profiles merged, without those that lose nothing."""
    counts: dict[PrivacyProfile, int] = {}
    for profile, count in parts:
        # `max_loss` may take a while, so that `bounded` is asked first
        if count and (not profile.bounded or profile.max_loss > 0):
            counts[profile] = counts.get(profile, 0) + count
    return tuple(counts.items())


def factored(parts: Parts) -> tuple[tuple[PrivacyProfile, int], ...]:
    """The parts with each profile replaced by its factors, merged."""
    return merged(
        [(factor, count * n) for profile, count in parts for factor, n in profile.factors]
    )


def swapped(parts: Parts) -> tuple[tuple[PrivacyProfile, int], ...]:
    """The parts in the other order of the neighbours; the same ones if both orders are equal."""
    other = merged([(profile.swapped, count) for profile, count in parts])
    here = merged(parts)
    return here if dict(other) == dict(here) else other


def both_orders(parts: Parts) -> list[tuple[tuple[PrivacyProfile, int], ...]]:
    """The merged parts in the orders of the neighbours that differ, one or two."""
    forward, backward = merged(parts), swapped(parts)
    return [forward] if forward == backward else [forward, backward]


def attained_loss(max_loss: float) -> float:
    """Return no more than the largest finite loss, which was rounded up to `max_loss`.

    All roundings of a largest loss are below a part in 2^42 of it, and of 1.
    """
    return max(max_loss * (1 - 2.0**-42) - 2.0**-42, 0.0)


def sample_width(rtol: float, expensive: bool = False, slow: bool = False) -> float:
    """The relative width in epsilon that samples aim for, if an answer may have the width `rtol`.

    It is AIM, but at most 0.31 rtol, since a second attempt costs more than a finer discretisation,
    and at least LEAST_AIM times rtol.

    Parameters
    ----------
    rtol : float
    expensive : bool
        Many expensive samples aim for EXPENSIVE_AIM, and for no less than LEAST_EXPENSIVE.
    slow : bool
        Slow samples are as wide as they may be.
    """
    usual = math.inf if slow else tuning.EXPENSIVE_AIM if expensive else tuning.AIM
    least = tuning.LEAST_EXPENSIVE if expensive else 0.0
    return max(tuning.LEAST_AIM * rtol, min(0.31 * rtol, usual), least)


def depth_for(log_inverse_delta: float, ladder: Sequence[float] = ()) -> float:
    """The first depth of the ladder, or of the usual one, that is deep enough."""
    ladder = ladder or tuning.DEPTHS
    return next((d for d in ladder if d >= log_inverse_delta), ladder[-1])
