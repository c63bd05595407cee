"""Integer noise against the same noise shifted: numbers and vectors with noise on integers.

The masses are log-concave, so that the loss grows with the outcome and the best event is a tail:
delta(epsilon) = Pr[X >= m - s] - e^epsilon Pr[X >= m]. `IntegerNoiseProfile` finds the threshold m
and evaluates both by `engines/tails.py`. Discrete Laplace noise, whose loss has few
values, is a polygon; the sum of too few or too many shares of it is added up mass by mass.

Of vectors the worst direction is not known, so that the profile is a bound: integer noise whose
log-masses bend by at most kappa hides a shift s at least as well as a normal variable of variance 1
hides a shift of s M, M^2 (1 - M^2/12) = kappa. Normal variables compose along every direction
alike.

Theory: docs/theory/integer-noise.md, docs/theory/integer-vectors.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines.tails import noise_masses, noise_tails
from ..errors import OutOfRange
from ..laws.integer_noise import DiscreteGaussianLaw, IntegerNoise, PolyaDifference
from .base import PrivacyProfile
from .closed_form import BetweenPolygons, GaussianProfile, Polygon, polygons_between
from .one_more import Bracket, Event, TailProfile

# proof constants: docs/theory/constants.md
#: log(1/probability) beyond which losses count as infinite from above; below 1e-290 in all.
_DEEPEST = 670.0
#: Losses from which on all count as infinite from above, as in closed_form.py.
_LARGEST = 600.0
#: Of incomplete shares of discrete Laplace noise: the outcomes that are told apart and the terms of
#: their masses, in units of the scale; what is beyond is charged.
_OUTCOMES, _TERMS = 45, 20
#: How many times more shares than complete noise needs are evaluated.
_MOST_SHARES = 16
#: Log-masses that bend by more than this are not compared with a normal variable.
_MOST_CURVATURE = 3.0


@dataclass(frozen=True)
class IntegerNoiseProfile(TailProfile):
    """The profile of X + shift against X, which is the same in both orders.

    Parameters
    ----------
    law : IntegerNoise
        The law of X.
    shift : int
        A positive integer.

    Notes
    -----
    docs/theory/integer-noise.md. Losses beyond `max_loss` count as infinite from above, and as
    nothing from below unless they are infinite.
    """

    bounded: ClassVar[bool] = False

    law: IntegerNoise
    shift: int

    @cached_property
    def _last(self) -> float:
        """The largest outcome with a loss that counts: P has e^-_DEEPEST at most beyond."""
        law, low, high = self.law, 1.0, 1e18
        for _ in range(3):  # Chernoff's bound falls
            x = np.minimum(np.ceil(np.geomspace(low, high, 40)), law.top)
            tilt = law.saddle(x)
            at = int(np.argmin((x < law.top) & (law.cumulant(tilt) - tilt * x > -_DEEPEST)))
            low, high = float(x[max(at - 1, 0)]), float(x[at])
        return min(high + law.offset + self.shift, law.top)

    @cached_property
    def _largest(self) -> tuple[float, float]:
        """The largest loss that counts, and a bound on the error of losses around it."""
        if self._last <= self.shift / 2 or self._last - self.shift < -self.law.top:
            return 0.0, 0.0
        loss, error = (float(part[0]) for part in self._loss(np.array([self._last])))
        return min((loss + error) * (1 + 8 * UNIT), _LARGEST), error

    @property
    def _losses(self) -> tuple[float, float]:
        return self._largest[0], self._largest[0]

    @cached_property
    def kinks(self) -> Array | None:
        """All losses, if there are few outcomes."""
        first = self._none_below + 1
        if not 0 <= self._last - first <= tuning.FEW_OUTCOMES:
            return None if self._last > first else np.zeros(0)
        losses = self._loss(np.arange(first, self._last + 1))[0]
        found: Array = losses[(losses > 0) & (losses < self.max_loss)]
        return found

    @property
    def _none_below(self) -> float:
        """An outcome up to which no loss is positive."""
        offset = self.law.offset
        least = math.floor(self.shift / 2 - offset) + offset
        return max(least, self.shift - self.law.top - 1)

    def _loss(self, x: Array) -> tuple[Array, Array]:
        """log Pr[X = x - shift] / Pr[X = x], and bounds on the error."""
        known = self.law.loss(x, self.shift)
        if known is not None:
            return known, 8 * UNIT * np.abs(known)
        before, here = noise_masses(self.law, x - self.shift), noise_masses(self.law, x)
        error = before.error + here.error
        error = error + 4 * UNIT * (np.abs(before.log_value) + np.abs(here.log_value))
        return before.log_value - here.log_value, error

    def _threshold(self, epsilon: Array) -> tuple[Array, Array]:
        """The first outcome whose loss may exceed epsilon, and a bound on the error of that loss.

        By its bounds, the loss at `low` is at most epsilon, and that at `high` may exceed it.
        """
        law, s = self.law, self.shift
        low, high = (np.full(len(epsilon), x) for x in (self._none_below, self._last + 1))
        error, step = np.full(len(epsilon), self._largest[1]), np.ones(len(epsilon))
        # about the mean under the tilt epsilon/shift, halfway between the two laws
        guess = law.moments(epsilon / s)[0] + s / 2
        guess = np.floor(guess - law.offset) + law.offset + 1
        open_ = np.flatnonzero(high - low > 1)
        while len(open_):
            at = np.clip(guess[open_], low[open_] + 1, high[open_] - 1)
            loss, found = self._loss(at)
            above = loss + found > epsilon[open_]
            high[open_] = np.where(above, at, high[open_])
            low[open_] = np.where(above, low[open_], at)
            error[open_] = np.where(above, found, error[open_])
            # first beside the guess, then in growing steps, then in the middle
            gallop = np.where(above, at - step[open_], at + step[open_])
            middle = np.floor((low[open_] + high[open_]) / 2 - law.offset) + law.offset
            inside = (gallop > low[open_]) & (gallop < high[open_])
            guess[open_] = np.where(inside & (step[open_] < 1e15), gallop, middle)
            step[open_] *= 8
            open_ = open_[high[open_] - low[open_] > 1]
        return high, error

    @cached_property
    def _infinite(self) -> tuple[float, float]:
        """From below, the probability of outcomes that X cannot have."""
        least, zero = 0.0, np.zeros(1)
        if math.isfinite(self.law.top) and self.max_loss < _LARGEST:
            least = float(self._tail(zero + self.law.top + 1 - self.shift, zero)[0][0])
        most = float(self._divergences(zero + self.max_loss)[1][0])
        return least if least > UNDERFLOW else 0.0, most

    def _best_event(self, epsilon: Array) -> Event:
        """The outcomes from the threshold on."""
        first, error = self._threshold(epsilon)
        seen = self._tail(first, epsilon)
        moved = 2 * error + 16 * UNIT * epsilon
        if self.shift > tuning.FEW_BETWEEN:
            zero = np.zeros(len(epsilon))
            before, after = self._tail(first - self.shift, zero), self._tail(first, zero)
            return Event((before[0] - after[1], before[1] - after[0]), seen, moved)
        # the masses that the shift moves into the event are of the size of the difference
        between = first[:, None] - np.arange(1.0, self.shift + 1)
        inside = np.abs(between) <= self.law.top
        masses = noise_masses(self.law, np.where(inside, between, self.law.offset))
        low, high = (np.where(inside, side, 0.0).sum(axis=1) for side in masses.times(0 * between))
        slack = 2 * UNIT * self.shift
        return Event((low * (1 - slack), high * (1 + slack)), seen, moved)

    def _tail(self, x: Array, log_factor: Array) -> Bracket:
        """Bounds of e^log_factor Pr[X >= x]; log_factor is 0 where x is not positive."""
        inside = np.abs(x - 0.5) < self.law.top + 0.5
        place = np.where(x > 0, x, 1 - x)
        found = noise_tails(self.law, np.where(inside, place, 1 - self.law.offset))
        low, high = (np.where(inside, side, 0.0) for side in found.times(log_factor))
        below = x <= 0
        return (
            np.where(below, np.maximum(1 - high - UNIT, 0.0), low),
            np.where(below, np.minimum(1 - low + UNIT, 1.0), high),
        )


def shifted_profile(law: IntegerNoise | PolyaDifference, shift: int) -> PrivacyProfile:
    """The profile of X + shift against X, in both orders, for any law of this chapter."""
    if isinstance(law, IntegerNoise):
        return IntegerNoiseProfile(law, shift)
    if law.users == law.needed:
        return DiscreteLaplaceProfile(law.scale, shift)
    if law.shape > _MOST_SHARES:
        raise OutOfRange(
            f"{law.users} shares are more than {_MOST_SHARES} times the complete={law.needed} that "
            "add up to discrete Laplace noise; give a larger complete."
        )
    return PolyaProfile(law, shift)


@dataclass(frozen=True)
class DiscreteLaplaceProfile(BetweenPolygons):
    """The profile of discrete Laplace noise against its shift: a polygon with `shift` corners.

    The loss of an outcome x in 0 .. shift is (2x - shift)/scale, and no other is larger.
    """

    scale: float
    shift: int

    @cached_property
    def _polygons(self) -> tuple[Polygon, Polygon]:
        # outcomes with a positive loss, the last of which stands for all from the shift on
        x = np.arange(self.shift // 2 + 1.0, self.shift + 1)
        losses, theta = (2 * x - self.shift) / self.scale, math.exp(-1 / self.scale)
        masses = -math.expm1(-1 / self.scale) / (1 + theta) * np.exp((x - self.shift) / self.scale)
        masses[-1] = 1 / (1 + theta)
        # quotients are rounded once; the masses have exponents up to the largest loss
        low, high = np.nextafter(losses, 0.0), np.nextafter(losses, np.inf)
        return polygons_between((low, masses), (high, masses), 16 * UNIT * (2 + losses[-1]))


@dataclass(frozen=True)
class PolyaProfile(BetweenPolygons):
    """The profile of the sum of too few or too many shares of discrete Laplace noise.

    Masses are sums of positive terms. Above and below the profile is a polygon with the losses of
    all outcomes but a tail, moved by their errors.
    """

    law: PolyaDifference
    shift: int

    @cached_property
    def _polygons(self) -> tuple[Polygon, Polygon]:
        """Below and above."""
        log_mass, error = self.log_masses()
        s, theta_loss = self.shift, 1 / self.law.scale
        x = np.arange(s // 2 + 1, len(log_mass))
        before = np.abs(x - s)
        losses, mass = log_mass[before] - log_mass[x], np.exp(log_mass[before])
        slack = 2 * error + 8 * UNIT * (1 + float(np.abs(log_mass).max()))
        # the masses beyond fall at least by this factor
        last = len(log_mass) - 1 - s
        is_convex = self.law.users < self.law.needed
        fall = theta_loss if is_convex else float(log_mass[last] - log_mass[last + 1]) - slack
        tail = math.exp(log_mass[last + 1]) * (1 + 2 * error) / -math.expm1(-fall)
        farthest = losses[-1] if is_convex else s * theta_loss
        largest = self._largest_loss() if is_convex else s * theta_loss * (1 + 4 * UNIT)
        low = np.minimum(losses - slack, largest)
        high = np.minimum(np.append(losses, farthest) + slack, largest)
        if is_convex:  # that of the outcome s, which was rounded up
            low[s - x[0]], high[s - x[0]] = largest * (1 - 16 * UNIT), largest
        return polygons_between((low, mass), (high, np.append(mass, tail)), error)

    def _largest_loss(self) -> float:
        """log Pr[0]/Pr[shift] of log-convex masses, rounded up from many digits."""
        from decimal import Decimal, localcontext  # slow to load

        with localcontext(prec=40):
            b, r = Decimal(self.law.scale), Decimal(self.law.users) / self.law.needed
            square, s = (-2 / b).exp(), self.shift
            weights = [Decimal(1)]
            for j in range(1, math.ceil(self.law.scale * 2 * _TERMS) + s + 40):
                weights.append(weights[-1] * (j - 1 + r) / j)
            power, none, all_of = Decimal(1), Decimal(0), Decimal(0)
            for first, second in zip(weights, weights[s:], strict=False):
                none += first * first * power
                all_of += second * first * power
                power *= square
            loss = s / b + (none / all_of).ln()
            return float(loss) * (1 + 4 * UNIT)

    def log_masses(self) -> tuple[Array, float]:
        """log Pr[X = 0], log Pr[X = 1], ..., and a bound on the relative error of the masses."""
        b, r = self.law.scale, self.law.shape
        outcomes = math.ceil(b * (_OUTCOMES + 3 * r)) + 2 * self.shift + 2
        terms = math.ceil(b * (_TERMS + 2 * r)) + 20
        j = np.arange(1.0, outcomes + terms)
        weight = np.append(1.0, np.cumprod((j - 1 + r) / j))
        inner = weight[:terms] * np.exp(-2 * np.arange(float(terms)) / b)
        total = np.correlate(weight, inner, "valid")[:outcomes]
        # what was left out falls at least geometrically
        factor = math.exp(-2 / b) * max(1.0, (terms + r) / (terms + 1)) ** 2
        rest = weight[terms - 1 : terms - 1 + outcomes] * inner[-1] * factor / (1 - factor)
        x = np.arange(float(outcomes))
        log_rest = math.log(-math.expm1(-1 / b))
        log_mass = 2 * r * log_rest - x / b + np.log(total)
        error = UNIT * (8 * (outcomes + terms) + 64 + 16 * r * abs(log_rest) + 8 * _OUTCOMES)
        return log_mass, error + float((rest / total).max())


def normal_shift(law: IntegerNoise) -> float:
    """The shift M of a standard normal variable that is at least as visible as one of X by 1.

    Parameters
    ----------
    law : IntegerNoise

    Returns
    -------
    float
        Rounded up. About 1 over the standard deviation, for large ones.

    Raises
    ------
    OutOfRange
        If there is too little noise, or it is in too small shares.
    """
    kappa = law.curvature
    if kappa > _MOST_CURVATURE:
        raise OutOfRange(_too_little(law))
    return math.sqrt(2 * kappa / (1 + math.sqrt(1 - kappa / 3))) * (1 + 16 * UNIT)


def _too_little(law: IntegerNoise) -> str:
    """Why there is no bound, and what to do."""
    if isinstance(law, DiscreteGaussianLaw):
        steps = (step / 20 for step in range(6, 60))
        least = next(s for s in steps if replace(law, sigma=s).curvature <= _MOST_CURVATURE)
        return (
            f"sigma={law.sigma:g} of {law.shares:,} discrete Gaussian shares is below {least:g}, "
            "from which on vectors are bounded; give larger shares, or Skellam shares."
        )
    return (
        f"{law!r} is too little noise in a coordinate, and vectors are bounded from a mean of 0.23 "
        "of Skellam noise on; give larger shares or more users."
    )


def vector_profile(law: IntegerNoise, norm: float, replaced: bool) -> GaussianProfile:
    """A profile above that of every shift by a vector, for vectors up to this L2 norm.

    Two vectors differ by up to twice their norm (`replaced`), a vector and zeros by the norm.
    """
    distance = (2 if replaced else 1) * norm
    return GaussianProfile(normal_shift(law) * distance * (1 + 4 * UNIT))


def shifts_within(norm: float, dimension: int) -> list[dict[int, int]]:
    """Coordinates of two vectors that are about as long as allowed, and how often each occurs.

    The first has few coordinates that are as large as possible, the second one equal ones in as
    many places as possible.
    """
    square = math.floor(Fraction(norm) ** 2)
    left, large = square, Counter[int]()
    while left and large.total() < dimension:
        large[math.isqrt(left)] += 1
        left -= math.isqrt(left) ** 2
    places = min(square, dimension)
    return [dict(large), {math.isqrt(square // places): places}]
