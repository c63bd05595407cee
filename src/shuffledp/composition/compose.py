"""Rounds and mixtures of rounds: from profiles to certified (epsilon, delta) of the composition.

Adaptive composition of dominating pairs is dominated by their product (Zhu, Dong, Wang 2022,
Theorem 10), so the privacy losses of the rounds add up as independent variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import BOTH, Array, Bounds, Side
from ..bounds import tuning as bounds_tuning
from ..bounds.crossing import crossing
from ..bounds.one_round import (
    aim,
    certified,
    depth_for,
    narrower,
    not_certified,
)
from ..profiles.base import PrivacyProfile
from . import tuning
from .pld import PLD, lower_pld, upper_pld
from .split_sum import SplitSum, split
from .tilted_sum import (
    LatticeTooLong,
    Parts,
    TiltedSum,
    log_mgf,
    round_up,
    tilt_for_delta,
    tilt_for_epsilon,
)

# proof constants: docs/theory.md, "Constants"
#: Where only the slope at the largest loss is given, that loss has been rounded up by less.
_ENDS_BEFORE = 2.0**-46

#: From upper and lower PLDs to bounds and how many times too wide these are.
Attempt = Callable[[Parts, Parts], tuple[Bounds[float], float]]


class Composition:
    """`rounds` pairs of a profile and how many rounds have it. Keeps what queries can share."""

    def __init__(self, rounds: Sequence[tuple[PrivacyProfile, int]]) -> None:
        self._rounds = tuple(rounds)
        self._outlines = [(_outline(profile), count) for profile, count in rounds]
        self.max_loss = _sum_up([(profile.max_loss, count) for profile, count in rounds])
        self.bounded = all(profile.bounded for profile, _ in rounds)
        self._total = sum(count for _, count in rounds)
        self._squares = [_spread(outline) ** 2 for outline, _ in self._outlines]
        # the lattice contains the largest loss of the kind of round that counts most
        shares = [count * _spread(outline) for outline, count in self._outlines]
        self._anchor = rounds[shares.index(max(shares))][0].max_loss
        self._resolution = 1.0  # grows when a query finds the lattice too coarse
        self._made: dict[tuple[int, float, float], tuple[Parts, Parts]] = {}

    def epsilon_bounds(self, delta: float, rtol: float) -> Bounds[float]:
        """Certified epsilon at 0 < delta < 1."""

        def attempt(upper: Parts, lower: Parts) -> tuple[Bounds[float], float]:
            high = self._crossing(upper, delta, Side.UPPER)[1]
            low = self._crossing(lower, delta, Side.LOWER)[0]
            if high == math.inf:
                return certified(low, high), 1.0 if low == math.inf else 64.0
            return certified(low, high), (high - low) / (
                rtol * max(high, bounds_tuning.SMALL_EPSILON)
            )

        depth = depth_for(-math.log(delta) + math.log(self._total) + 14)
        worst = Bounds(0.0, self.max_loss if self.bounded else math.inf)
        return self._refined("epsilon", attempt, depth, rtol, worst)

    def delta_bounds(self, epsilon: float, rtol: float) -> Bounds[float]:
        """Certified delta; rtol is in epsilon: upper(epsilon) <= lower(epsilon (1 - rtol))."""
        if epsilon >= self.max_loss:
            if self.bounded:
                return Bounds(0.0, 0.0)
            epsilon = self.max_loss

        def attempt(upper: Parts, lower: Parts) -> tuple[Bounds[float], float]:
            high, low = _delta(upper, epsilon, Side.UPPER), _delta(lower, epsilon, Side.LOWER)
            if high <= max((1 + rtol) * low, bounds_tuning.NEGLIGIBLE_DELTA):
                return certified(low, high), 1.0
            goal = _delta(lower, epsilon * (1 - rtol), Side.LOWER)
            return certified(low, high), 1.0 if high <= goal else 4.0

        tilt = tilt_for_epsilon(self._outlines, epsilon)
        log_delta = log_mgf(self._outlines, tilt)[0] - tilt * epsilon
        depth = depth_for(-log_delta + math.log(self._total) + 20)
        return self._refined("delta", attempt, depth, rtol, Bounds(0.0, 1.0))

    def deltas(
        self, epsilon: Array, least: float, rtol: float, sides: Sequence[Side] = BOTH
    ) -> list[Array]:
        """Lower or upper values at many epsilons, sharp down to a delta of about `least`.

        A few tilts serve all of them. 0 and 1 where every lattice is too long.
        """
        depth = depth_for(-math.log(least) + math.log(self._total) + 14)
        for _ in range(bounds_tuning.LATTICES):
            try:
                upper, lower = self._parts(depth, rtol, self._resolution)
                on = {Side.LOWER: lower, Side.UPPER: upper}
                return [_at_many(on[side], epsilon, side) for side in sides]
            except LatticeTooLong:
                self._resolution /= 2
        trivial = {Side.LOWER: np.zeros(len(epsilon)), Side.UPPER: np.ones(len(epsilon))}
        return [trivial[side] for side in sides]

    def _refined(
        self, what: str, attempt: Attempt, depth: float, rtol: float, worst: Bounds[float]
    ) -> Bounds[float]:
        """Repeat an attempt on finer lattices until its bracket is narrow enough.

        An attempt returns its bounds and how many times too wide they are.
        """
        best, resolution = worst, self._resolution
        for _ in range(bounds_tuning.LATTICES):
            try:
                parts = self._parts(depth, rtol, resolution)
                bounds, excess = attempt(*parts)
            except LatticeTooLong:
                if best is not worst:
                    break
                resolution /= 2  # too much was asked for: find out what can be had
                continue
            if excess <= 1:
                self._resolution = resolution
                return bounds
            best = narrower(best, bounds)
            deeper = depth_for(depth + 1) if what == "delta" else depth
            if deeper > depth and self._cut_off(parts[0]) > bounds_tuning.CUT_OFF * bounds.lower:
                depth = deeper  # what was cut off is what makes the difference
            else:
                resolution *= min(max(1.2 * math.sqrt(excess), 1.6), 8.0)
        raise not_certified(what, best, rtol)

    def _cut_off(self, upper: Parts) -> float:
        """Finite losses that were counted as infinite, all rounds together."""
        return sum(
            count * pld.infinite
            for (pld, count), (profile, _) in zip(upper, self._rounds, strict=True)
            if profile.bounded
        )

    def _crossing(self, parts: Parts, delta: float, side: Side) -> tuple[float, float]:
        total = TiltedSum(parts, tilt_for_delta(parts, delta)[0])
        found = self._root(total, delta, total.about(delta), side)
        if not total.sharp(min(found[1], self.max_loss)):
            apart = split(parts, delta, lambda term, ways: tilt_for_delta(term, delta / ways)[0])
            if apart is not None:
                again = self._root(apart, delta, min(found[1], self.max_loss), side)
                found = min(found, again) if side is Side.UPPER else max(found, again)
        return found

    def _root(
        self, total: TiltedSum | SplitSum, delta: float, guess: float, side: Side
    ) -> tuple[float, float]:
        if not self.bounded and total.delta(self.max_loss, side) > delta:
            return math.inf, math.inf
        return crossing(lambda e: total.delta(e, side), delta, guess, self.max_loss)

    def _strides(self, rtol: float, resolution: float) -> list[float]:
        """The distance of losses at which each kind of round should be sampled.

        A distance h adds about h^2/6 to the variance of a round from above and takes h^2/3 from
        below: h^2 = 4 w times its mean square loss costs about w in relative epsilon. Rounds that
        hardly count in the total may be sampled more coarsely.
        """
        unit, squares = math.sqrt(4 * aim(rtol)) / resolution, self._squares
        total = sum(
            square * count for square, (_, count) in zip(squares, self._rounds, strict=True)
        )
        shares = [total / (len(squares) * count) for _, count in self._rounds]
        return [
            unit * math.sqrt(max(square, share / resolution**2))
            for square, share in zip(squares, shares, strict=True)
        ]

    def _parts(self, depth: float, rtol: float, resolution: float) -> tuple[Parts, Parts]:
        """The rounds' upper and lower PLDs on one lattice."""
        strides = self._strides(rtol, resolution)
        divisions = round_up(max(self._anchor / min(strides), tuning.LEAST_DIVISIONS))
        fine = 3 * aim(rtol) / resolution
        key = (divisions, depth, fine)
        made = self._made.get(key)
        if made is None:
            step = self._anchor / divisions
            if Fraction(step) * divisions < Fraction(self._anchor):
                step = math.nextafter(step, math.inf)
            deviation = math.sqrt(log_mgf(self._outlines, 0.0)[2])
            if 12 * deviation > tuning.MAX_POINTS * step or divisions > tuning.MAX_DIVISIONS:
                raise LatticeTooLong
            parts: tuple[list[tuple[PLD, int]], list[tuple[PLD, int]]] = ([], [])
            for i, (profile, count) in enumerate(self._rounds):
                stride = max(1, math.floor(strides[i] / step))
                pair = _discretize(profile, self._outlines[i][0], step, stride, depth, fine)
                for side, pld in zip(parts, pair, strict=True):
                    side.append((pld, count))
            made = parts
            while len(self._made) >= tuning.KEPT_LATTICES:  # keep memory bounded
                del self._made[next(iter(self._made))]
            self._made[key] = made
        return made


def _at_many(parts: Parts, epsilon: Array, side: Side) -> Array:
    """delta(epsilon) of a composition by the two nearest tilts: an upper bound if side is UPPER."""
    end = float(epsilon.max())
    apart = max(math.sqrt(log_mgf(parts, 0.0)[2]) / 2, end / 400, 1e-300)
    # no two centres are nearer to each other than that, and none is farther from an epsilon
    centres = apart * np.unique(np.append(np.floor(epsilon / apart), np.ceil(epsilon / apart)))
    sums = [TiltedSum(parts, tilt_for_epsilon(parts, centre)) for centre in centres.tolist()]
    before = np.maximum(np.searchsorted(centres, epsilon, side="right") - 1, 0)
    after = np.minimum(np.searchsorted(centres, epsilon), len(centres) - 1)
    best = min if side is Side.UPPER else max
    return np.array(
        [
            best(sums[i].delta(e, side), sums[j].delta(e, side))
            for e, i, j in zip(epsilon.tolist(), before.tolist(), after.tolist(), strict=True)
        ]
    )


def _delta(parts: Parts, epsilon: float, side: Side) -> float:
    """delta(epsilon) of a composition, an upper bound if side is UPPER."""
    total = TiltedSum(parts, tilt_for_epsilon(parts, epsilon))
    value = total.delta(epsilon, side)
    if total.sharp(epsilon):
        return value
    scale, smaller = math.inf, total.delta(epsilon, Side.UPPER)
    while smaller < 0.1 * scale:  # the terms that count depend on delta itself
        scale = smaller
        apart = split(parts, scale, lambda term, _: tilt_for_epsilon(term, epsilon))
        if apart is None:
            break
        again, smaller = apart.delta(epsilon, side), apart.delta(epsilon, Side.UPPER)
        value = min(value, again) if side is Side.UPPER else max(value, again)
    return value


def _outline(profile: PrivacyProfile) -> PLD:
    """A coarse upper PLD at about 170 geometrically spaced losses: the scale of things, cheaply."""
    steps = tuning.OUTLINE_STEPS
    index = np.unique(np.geomspace(1, steps, tuning.OUTLINE_POINTS).astype(np.int64))
    index = np.append(0, index[index > steps * tuning.OUTLINE_LEAST])
    step = profile.max_loss / steps
    samples = profile.sampler(depth_for(700), tuning.OUTLINE_WIDTH)(
        np.minimum(step * index, profile.max_loss)
    )
    return upper_pld(step, index, samples)


def _discretize(
    profile: PrivacyProfile, outline: PLD, step: float, stride: int, depth: float, rtol: float
) -> tuple[PLD, PLD]:
    """(upper, lower) PLD of one round on multiples of `step`, to deltas of e^-depth."""
    # the first loss beyond which the round's own delta is below e^-depth, from the outline
    tail = np.cumsum(outline.masses[::-1])[::-1]
    beyond = outline.losses[tail + outline.infinite <= math.exp(-depth)]
    largest = profile.max_loss
    end = min(float(beyond[0]) if len(beyond) else math.inf, largest)
    top = math.ceil(end / step * (1 - 1e-14))
    if end == largest and Fraction(step) * top < Fraction(largest):
        top += 1
    index = sparse_range(math.ceil(tuning.DENSE * _spread(outline) / step), top, stride)
    epsilon: Array = step * index.astype(float)
    if abs(epsilon[-1] - largest) <= 2.0**-51 * largest:
        epsilon[-1] = largest  # on the lattice, up to what TiltedSum charges
    # differences of samples over a step h lose what the bracket of each is wide: h^2 for both
    width = rtol if profile.has_slopes else rtol**2 / tuning.SLOPELESS
    samples = profile.sampler(depth, width)(epsilon)
    flat = not profile.bounded and epsilon[-1] >= largest
    lower = lower_pld(step, index, samples, flat)
    if samples.slope_low is not None and not profile.has_slopes:
        lower = replace(lower, loss_error=_ENDS_BEFORE * (1 + largest))
    return upper_pld(step, index, samples), lower


def _spread(pld: PLD) -> float:
    """Root mean square of the finite loss; small ones do not matter beside much infinite loss."""
    largest = pld.step * tuning.OUTLINE_STEPS
    if pld.masses @ -np.expm1(-np.maximum(pld.losses, 0.0)) < 1e-12 * largest:
        return largest  # nothing but infinite loss, and rounding: any lattice will do
    negligible = (1e-9 + 0.01 * pld.infinite) * largest
    return max(math.sqrt(float(pld.masses @ pld.losses**2)), negligible)


def sparse_range(dense: int, top: int, stride: int) -> NDArray[np.int64]:
    """0, stride, ..., dense, then geometrically sparser, top: the far tail needs fewer points."""
    near = np.arange(0, min(dense, top), stride, dtype=np.int64)
    if top <= dense:
        return np.append(near, top)
    count = math.ceil(math.log(top / dense) / math.log1p(stride / dense)) + 1
    far = np.unique(np.rint(np.geomspace(dense, top, count + 1)).astype(np.int64))
    return np.concatenate([near, far])


def _sum_up(terms: Sequence[tuple[float, int]]) -> float:
    """Sum of value * count, rounded up."""
    exact = sum((Fraction(value) * count for value, count in terms), Fraction(0))
    result = float(exact)
    return result if Fraction(result) >= exact else math.nextafter(result, math.inf)
