"""Privacy profiles: delta as a function of epsilon for one shuffled round, certified both ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from .._support.numeric import BOTH, Array, Side
from ..laws.classes import ClassLaw, sampled_loss
from ..laws.three_point import ThreePointLaw
from .class_sampler import ClassSampler
from .clone_sampler import ThreePointSampler
from .samples import Samples

Sampler = Callable[[Array], Samples]

#: log(1/delta) down to which a sampler is asked to resolve a profile: steps of a fixed ladder, so
#: that queries at neighbouring deltas share the same discretisation.
DEPTHS = (40.0, 60.0, 90.0, 135.0, 200.0, 300.0, 450.0, 680.0)
#: The same for profiles to which every step of depth costs.
_FINE_DEPTHS = (20.0, 25.0, 32.0, 40.0, 50.0, 60.0, 75.0, *DEPTHS[2:])
#: And for those that resolve every delta alike.
ANY_DEPTH = (DEPTHS[-1],)
ROUGH = 0.01  # the relative width in epsilon at which to find out where to look closely
#: Variance of the number of clones up to which each number is evaluated, for a narrow bracket.
_FEW_CLONES = 4000.0


class PrivacyProfile(Protocol):
    """delta(epsilon) of one round, the supremum over replace-one neighbours in both orders."""

    @property
    def max_loss(self) -> float:
        """The largest finite loss: delta is constant from this epsilon on."""
        ...

    @property
    def bounded(self) -> bool:
        """Is that constant 0, that is, is there no infinite loss?"""
        ...

    @property
    def has_slopes(self) -> bool:
        """Do samples come with slopes? Otherwise these are taken from differences."""
        ...

    @property
    def depths(self) -> Sequence[float]:
        """The depths between which a sampler makes a difference."""
        ...

    @property
    def pointwise(self) -> PrivacyProfile:
        """The same profile, by whatever is quickest for a few epsilons, with slopes or without."""
        ...

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Evaluates the profile at epsilons >= 0, down to delta = e^-depth."""
        ...


class RoundProfile(PrivacyProfile, Protocol):
    """The profile of a round in which all users send; docs/theory.md, "Sampling", has the rest."""

    def sampled(self, idle: int) -> PrivacyProfile:
        """Its users are a random subset of them and `idle` others, who send nothing."""
        ...

    def thinned(self, rate: float) -> PrivacyProfile:
        """Each of its users sends with probability `rate` only."""
        ...

    def of(self, users: int) -> RoundProfile:
        """The same with another number of users."""
        ...

    def worst_alone(self, epsilon: float) -> RoundProfile:
        """With the one law that, for many users, is about the largest at this epsilon."""
        ...


@dataclass(frozen=True)
class NothingLost:
    """The profile of a round whose messages do not depend on the values."""

    max_loss: ClassVar[float] = 0.0
    bounded: ClassVar[bool] = True
    has_slopes: ClassVar[bool] = False
    depths: ClassVar[Sequence[float]] = ANY_DEPTH

    @property
    def pointwise(self) -> NothingLost:
        return self

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return lambda epsilon: Samples(0.0 * epsilon, 0.0 * epsilon)

    def of(self, users: int) -> NothingLost:
        return self

    def worst_alone(self, epsilon: float) -> NothingLost:
        return self

    def sampled(self, idle: int) -> NothingLost:
        return self

    def thinned(self, rate: float) -> NothingLost:
        return self


@dataclass(frozen=True)
class ThreePointProfile:
    """Profile of a shuffled round under a three-point score law (the clone analyses)."""

    law: ThreePointLaw
    users: int
    has_slopes: ClassVar[bool] = True
    depths: ClassVar[Sequence[float]] = DEPTHS

    @property
    def max_loss(self) -> float:
        return self.law.eps0 if self.bounded else math.log(self.users + 1)

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.law.eps0)

    @property
    def pointwise(self) -> PrivacyProfile:
        few = self.users * self.law.clone * self.law.other <= _FEW_CLONES
        if few or not self.bounded or self.law.weight != 1:
            return self
        return ClassProfile((self.law.classes,), self.users)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return ThreePointSampler(self.law, self.users, depth, rtol)

    def of(self, users: int) -> ThreePointProfile:
        return replace(self, users=users)

    def worst_alone(self, epsilon: float) -> ThreePointProfile:
        return self

    def sampled(self, idle: int) -> ClassProfile:
        return ClassProfile((self.law.classes,), self.users, idle)

    def thinned(self, rate: float) -> ClassProfile:
        return ClassProfile((self.law.classes.thinned(rate),), self.users)


@dataclass(frozen=True)
class ClassProfile:
    """Profile of a shuffled round: the largest over some laws of classes of outputs.

    The senders are a random subset of them and `idle` others. The laws `of_all` have as classes
    what the messages of all users together can be; they say nothing about samples.
    """

    laws: tuple[ClassLaw, ...]
    users: int
    idle: int = 0
    of_all: tuple[ClassLaw, ...] = ()
    has_slopes: ClassVar[bool] = False
    depths: ClassVar[Sequence[float]] = ANY_DEPTH

    @property
    def max_loss(self) -> float:
        return max(law.max_loss(self.users, self.idle) for law in self.laws + self.of_all)

    @property
    def bounded(self) -> bool:
        return all(law.bounded(self.idle) for law in self.laws + self.of_all)

    @property
    def pointwise(self) -> ClassProfile:
        return self

    def sampler(self, depth: float, rtol: float) -> Sampler:
        first, *others = (
            ClassSampler(laws, self.users, rtol, depth=depth, idle=self.idle)
            for laws in (self.laws, self.of_all)
            if laws
        )
        if not others:
            return first

        def larger(epsilon: Array) -> Samples:
            a, b = first(epsilon), others[0](epsilon)
            return Samples(np.maximum(a.lower, b.lower), np.maximum(a.upper, b.upper))

        return larger

    def of(self, users: int) -> ClassProfile:
        return replace(self, users=users)

    def worst_alone(self, epsilon: float) -> ClassProfile:
        return ClassProfile((max(self.laws, key=lambda law: law.spread(epsilon)),), self.users)

    def sampled(self, idle: int) -> ClassProfile:
        return ClassProfile(self.laws, self.users, idle)

    def thinned(self, rate: float) -> ClassProfile:
        return ClassProfile(tuple(law.thinned(rate) for law in self.laws), self.users)


@dataclass(frozen=True)
class DensityProfile:
    """Profile of a shuffled round between those of laws over cells of outputs.

    `laws(cells, depth)` are laws below and above, the closer the more cells there are.
    """

    laws: Callable[[int, float], tuple[Sequence[ClassLaw], Sequence[ClassLaw]]]
    users: int
    max_loss: float
    bounded: bool
    idle: int = 0
    has_slopes: ClassVar[bool] = False
    depths: ClassVar[Sequence[float]] = _FINE_DEPTHS

    @property
    def pointwise(self) -> DensityProfile:
        return self

    def of(self, users: int) -> DensityProfile:
        return replace(self, users=users)

    def worst_alone(self, epsilon: float) -> DensityProfile:
        below = self.laws(24, 40.0)[0]
        worst = max(range(len(below)), key=lambda i: below[i].spread(epsilon))

        def laws(cells: int, depth: float) -> tuple[Sequence[ClassLaw], Sequence[ClassLaw]]:
            alone = [self.laws(cells, depth)[0][worst]]
            return alone, alone

        return replace(self, laws=laws)

    def sampled(self, idle: int) -> DensityProfile:
        # R(0)/omega is at most the largest ratio, and R(1)/omega at least 1
        most = sampled_loss(self.max_loss, self.users / (self.users + idle))
        return replace(self, max_loss=most, idle=idle)

    def thinned(self, rate: float) -> DensityProfile:
        def laws(cells: int, depth: float) -> tuple[Sequence[ClassLaw], Sequence[ClassLaw]]:
            below, above = self.laws(cells, depth)
            low, high = ([law.thinned(rate) for law in side] for side in (below, above))
            return low, low if above is below else high

        return replace(self, laws=laws)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        if rtol >= ROUGH:  # an outline: what is far out in the tail must not spoil the rest
            depth, rtol = min(depth, 60.0), 2e-3
        # k cells cost about (2.5/k)^2 in relative epsilon
        cells = round(min(max(2.5 / math.sqrt(rtol), 24.0), 4000.0))
        below, above = self.laws(cells, depth)
        alone = above is below
        # cells are dear, so most of the width is left to them
        width = rtol / 8
        lower, upper = (
            ClassSampler(laws, self.users, width, BOTH if alone else (side,), depth, self.idle)
            for side, laws in ((Side.LOWER, below), (Side.UPPER, above))
        )

        def sample(epsilon: Array) -> Samples:
            inside = (epsilon < self.max_loss) | (not self.bounded)
            low = lower(epsilon)
            high = low if alone else upper(epsilon)
            return Samples(low.lower * inside, high.upper * inside)

        return sample
