"""Privacy profiles: delta as a function of epsilon for one shuffled round, certified both ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ._solve import Sides, approach, enclose
from .binomial import Array
from .bounds import Bounds
from .class_sampler import ClassSampler
from .errors import NotCertified, ShuffleDPError
from .scores import ClassLaw, ThreePointLaw, sampled_loss
from .stop_loss import Samples, ThreePointSampler

Sampler = Callable[[Array], Samples]

#: log(1/delta) down to which a sampler is asked to resolve a profile: steps of a fixed ladder, so
#: that queries at neighbouring deltas share the same discretisation.
DEPTHS = (40.0, 60.0, 90.0, 135.0, 200.0, 300.0, 450.0, 680.0)
#: The same for profiles to which every step of depth costs.
_FINE_DEPTHS = (20.0, 25.0, 32.0, 40.0, 50.0, 60.0, 75.0, *DEPTHS[2:])
#: And for those that resolve every delta alike.
ANY_DEPTH = (DEPTHS[-1],)
_REFINEMENTS = 6
_ROUGH = 0.01  # the relative width in epsilon at which to find out where to look closely
#: Variance of the number of clones up to which each number is evaluated, for a narrow bracket.
_FEW_CLONES = 4000.0

#: Epsilons below this only need the absolute width rtol * SMALL_EPSILON.
SMALL_EPSILON = 1e-3
#: Deltas below this need no relative accuracy.
NEGLIGIBLE_DELTA = 1e-290


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


@dataclass(frozen=True)
class ThreePointProfile:
    """Profile of a shuffled round under a three-point score law (the clone analyses)."""

    law: ThreePointLaw
    users: int

    @property
    def max_loss(self) -> float:
        return self.law.eps0 if self.bounded else math.log(self.users + 1)

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.law.eps0)

    @property
    def has_slopes(self) -> bool:
        return True

    @property
    def depths(self) -> Sequence[float]:
        return DEPTHS

    @property
    def pointwise(self) -> PrivacyProfile:
        few = self.users * self.law.clone * self.law.other <= _FEW_CLONES
        if few or not self.bounded or self.law.weight != 1:
            return self
        return ClassProfile((self.law.classes,), self.users)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return ThreePointSampler(self.law, self.users, depth, rtol)

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

    @property
    def max_loss(self) -> float:
        return max(law.max_loss(self.users, self.idle) for law in self.laws + self.of_all)

    @property
    def bounded(self) -> bool:
        return all(law.bounded(self.idle) for law in self.laws + self.of_all)

    @property
    def has_slopes(self) -> bool:
        return False

    @property
    def depths(self) -> Sequence[float]:
        return ANY_DEPTH

    @property
    def pointwise(self) -> ClassProfile:
        return self

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return ClassSampler(self.laws + self.of_all, self.users, rtol, depth=depth, idle=self.idle)

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
    has_slopes: bool = False

    @property
    def depths(self) -> Sequence[float]:
        return _FINE_DEPTHS

    @property
    def pointwise(self) -> DensityProfile:
        return self

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
        if rtol >= _ROUGH:  # an outline: what is far out in the tail must not spoil the rest
            depth, rtol = min(depth, 60.0), 2e-3
        # k cells cost about (2.5/k)^2 in relative epsilon
        cells = round(min(max(2.5 / math.sqrt(rtol), 24.0), 4000.0))
        below, above = self.laws(cells, depth)
        alone = above is below
        # cells are dear, so most of the width is left to them
        width = rtol / 8
        lower, upper = (
            ClassSampler(laws, self.users, width, 0 if alone else side, depth, self.idle)
            for side, laws in ((-1, below), (1, above))
        )

        def sample(epsilon: Array) -> Samples:
            inside = (epsilon < self.max_loss) | (not self.bounded)
            low = lower(epsilon)
            high = low if alone else upper(epsilon)
            return Samples(low.lower * inside, high.upper * inside)

        return sample


def aim(rtol: float) -> float:
    """The width that discretisations aim at: 1e-4 by default, closer to rtol away from it."""
    return max(0.1 * rtol, min(0.5 * rtol, 1e-4))


def depth_for(log_inverse_delta: float, ladder: Sequence[float] = DEPTHS) -> float:
    """The ladder's first depth that is deep enough."""
    return next((d for d in ladder if d >= log_inverse_delta), ladder[-1])


def epsilon_bounds(profile: PrivacyProfile, delta: float, rtol: float) -> Bounds[float]:
    """Certified epsilon of one round at 0 < delta < 1."""
    top, quick = profile.max_loss, profile.pointwise
    depth = depth_for(-math.log(delta) + 6, quick.depths)
    rough = quick.sampler(depth, _ROUGH)
    at_zero = float(rough(np.zeros(1)).upper[0])
    if at_zero <= delta:
        return Bounds(0.0, 0.0)
    guess = approach(_sides(rough), delta, min(_normal_epsilon(at_zero, delta), top), top)
    start = np.minimum([guess * 0.9975, guess * 1.0025], top)
    for refinement in range(_REFINEMENTS):
        sampler = quick.sampler(depth, aim(rtol) / 4**refinement)
        # beyond the largest finite loss only the infinite one is left
        end = None if profile.bounded else sampler(np.array([top]))
        if end is not None and end.lower[0] > delta:
            return Bounds(math.inf, math.inf)
        reached = end is None or end.upper[0] <= delta
        search = 2.5e-10 if quick.has_slopes else 1e-3 * rtol
        low, high = enclose(_sides(sampler, reached), delta, start, top, search, rtol)
        bounds = certified(low, high if reached else math.inf)
        if bounds.upper - low <= rtol * max(high, SMALL_EPSILON):
            return bounds
        start = np.array([low, high])
    raise not_certified("epsilon", bounds, rtol)


def delta_bounds(profile: PrivacyProfile, epsilon: float, rtol: float) -> Bounds[float]:
    """Certified delta of one round; rtol is in epsilon: upper(eps) <= lower(eps (1 - rtol))."""
    if epsilon >= profile.max_loss:
        if profile.bounded:
            return Bounds(0.0, 0.0)
        epsilon = profile.max_loss
    quick, points = profile.pointwise, np.array([epsilon, epsilon * (1 - rtol)])
    depth = _deep_enough(quick, points[:1])
    for refinement in range(_REFINEMENTS):
        s = quick.sampler(depth, aim(rtol) / 4**refinement)(points)
        bounds = certified(float(s.lower[0]), float(s.upper[0]))
        if s.upper[0] <= max(s.lower[1], (1 + rtol) * s.lower[0], NEGLIGIBLE_DELTA):
            return bounds
    raise not_certified("delta", bounds, rtol)


def _deep_enough(profile: PrivacyProfile, epsilon: Array) -> float:
    """The depth at which this delta can be told from nothing."""
    for depth in profile.depths[:-1]:
        if profile.sampler(depth, _ROUGH)(epsilon).upper[0] > math.exp(6 - depth):
            return depth
    return profile.depths[-1]


def _normal_epsilon(at_zero: float, delta: float) -> float:
    """epsilon at delta if the losses were normal, with delta(0) = `at_zero`: a guess, good if many
    users hide one. Their mean is m^2/2 and their deviation m, and erf(m / sqrt 8) = delta(0)."""

    def normal_delta(epsilon: float, m: float) -> float:
        x, shift = epsilon / m / math.sqrt(2), m / math.sqrt(8)
        return (math.erfc(x - shift) - math.exp(epsilon) * math.erfc(x + shift)) / 2

    at_zero = min(at_zero, 1 - 1e-12)
    most = math.sqrt(-8 * math.log1p(-at_zero))
    m = _halve(lambda m: normal_delta(0.0, m) >= at_zero, math.sqrt(2 * math.pi) * at_zero, most)
    most = m * m / 2 + m * math.sqrt(-2 * math.log(delta))
    return _halve(lambda epsilon: normal_delta(epsilon, m) <= delta, 0.0, most)


def _halve(beyond: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high


def _sides(sampler: Sampler, both: bool = True) -> Sides:
    """Lower and upper values; or the lower ones twice, if upper ones are not searched for."""

    def sides(epsilon: Array) -> tuple[Array, Array]:
        samples = sampler(epsilon)
        return samples.lower, samples.upper if both else samples.lower

    return sides


def certified(lower: float, upper: float) -> Bounds[float]:
    """Both sides enclose the same number: if they contradict each other, neither is to be used."""
    if not lower <= upper:
        raise ShuffleDPError(
            f"the certified bounds {lower!r} and {upper!r} contradict each other; use neither and "
            "report this as a bug of shuffledp."
        )
    return Bounds(lower, upper)


def not_certified(what: str, bounds: Bounds[float], rtol: float) -> NotCertified:
    return NotCertified(
        f"{what} was certified to lie in [{bounds.lower:.6g}, {bounds.upper:.6g}] only, wider than "
        f"rtol={rtol:g} asks for; use those bounds or a larger rtol.",
        bounds,
    )
