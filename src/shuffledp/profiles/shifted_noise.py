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

import numpy as np

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array
from ..engines.tails import noise_masses, noise_tails
from ..errors import OutOfRange
from ..laws.integer_noise import DiscreteGaussianLaw, IntegerNoise, PolyaDifference
from .base import PrivacyProfile, Sampler, Samples, joined
from .closed_form import BetweenPolygons, GaussianProfile, Polygon, polygon_above, polygon_below

# proof constants: docs/theory/constants.md
#: log(1/probability) beyond which losses count as infinite from above; below 1e-290 in all.
_DEEPEST = 670.0
#: Losses from which on all count as infinite from above, as in closed_form.py.
_LARGEST = 600.0
#: A scale for infinite losses, if there are no finite ones.
_NO_LOSS = 1e-6
#: Of incomplete shares of discrete Laplace noise: the outcomes that are told apart and the terms of
#: their masses, in units of the scale; what is beyond is charged.
_OUTCOMES, _TERMS = 45, 20
#: How many times more shares than complete noise needs are evaluated.
_MOST_SHARES = 16
#: Log-masses that bend by more than this are not compared with a normal variable.
_MOST_CURVATURE = 3.0


@dataclass(frozen=True)
class IntegerNoiseProfile(PrivacyProfile):
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

    law: IntegerNoise
    shift: int

    @property
    def bounded(self) -> bool:
        return False

    @cached_property
    def _last(self) -> float:
        """The largest outcome with a loss that counts: P has e^-_DEEPEST at most beyond."""
        low, high = 0.0, 1.0
        law = self.law

        def is_likely(x: float) -> bool:
            place = np.array([min(x, law.top)])
            tilt = law.saddle(place)
            return x < law.top and float((law.cumulant(tilt) - tilt * x)[0]) > -_DEEPEST

        while is_likely(high):
            low, high = high, 2 * high
        while high - low > max(1.0, 1e-3 * low):
            middle = (low + high) / 2
            low, high = (middle, high) if is_likely(middle) else (low, middle)
        return min(math.ceil(high) + law.offset + self.shift, law.top)

    @cached_property
    def max_loss(self) -> float:
        last = self._last
        if last <= self.shift / 2 or last - self.shift < -self.law.top:
            return _NO_LOSS
        loss, error = self._loss(np.array([last]))
        return min(float(loss[0] + error[0]) * (1 + 8 * UNIT) or _NO_LOSS, _LARGEST)

    @cached_property
    def kinks(self) -> Array | None:
        """All losses, if there are few outcomes."""
        first = math.floor(self.shift / 2) + 1 - self.law.offset
        if self._last - first > tuning.FEW_OUTCOMES:
            return None
        outcomes = np.arange(first, self._last + 1)
        outcomes = outcomes[outcomes > self.shift / 2]
        losses = self._loss(outcomes)[0] if len(outcomes) else outcomes
        found: Array = losses[(losses > 0) & (losses < self.max_loss)]
        return found

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
        """The first outcome whose loss exceeds epsilon, for an epsilon this near to the given one.

        The loss at `low` is at most epsilon and that at `high` exceeds it, as computed.
        """
        law, s = self.law, self.shift
        low = np.full(len(epsilon), math.floor(s / 2 - law.offset) + law.offset)
        low, high = np.maximum(low, s - law.top - 1), np.full(len(epsilon), self._last + 1)
        error, step = np.zeros(len(epsilon)), np.ones(len(epsilon))
        # about the mean under the tilt epsilon/shift, halfway between the two laws
        guess = law.mean(epsilon / s) + s / 2
        guess = np.floor(guess - law.offset) + law.offset + 1
        open_ = np.flatnonzero(high - low > 1)
        while len(open_):
            at = np.clip(guess[open_], low[open_] + 1, high[open_] - 1)
            loss, found = self._loss(at)
            above = loss > epsilon[open_]
            high[open_] = np.where(above, at, high[open_])
            low[open_] = np.where(above, low[open_], at)
            # errors of a loss that was far from epsilon do not matter
            near = np.abs(loss - epsilon[open_]) <= found
            error[open_] = np.where(near, np.maximum(error[open_], found), error[open_])
            # first beside the guess, then in growing steps, then in the middle
            gallop = np.where(above, at - step[open_], at + step[open_])
            middle = np.floor((low[open_] + high[open_]) / 2 - law.offset) + law.offset
            inside = (gallop > low[open_]) & (gallop < high[open_])
            guess[open_] = np.where(inside & (step[open_] < 1e15), gallop, middle)
            step[open_] *= 8
            open_ = open_[high[open_] - low[open_] > 1]
        return high, error

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Samples that are exact up to charged errors, whatever the depth and the width."""
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        epsilon = np.asarray(epsilon, dtype=float)
        rows = max((1 << 14) // self.shift, 1)  # arrays of a few megabytes
        blocks = [self._block(epsilon[i : i + rows]) for i in range(0, len(epsilon), rows)]
        return joined(blocks) if blocks else Samples(*np.zeros((4, 0)))

    def _block(self, epsilon: Array) -> Samples:
        """Samples at a few epsilons: the divergence of the event from the threshold on."""
        is_inside = epsilon < self.max_loss
        epsilon = np.minimum(epsilon, self.max_loss)
        first, error = self._threshold(epsilon)
        gained, paid = self._event(first, epsilon)
        slope = self._tail(first, np.zeros(len(epsilon)))
        # the best event may start elsewhere, among outcomes whose loss is nearly epsilon
        moved = self._moved(first, epsilon, error)
        upper = (gained[1] - paid[0]) * (1 + 4 * UNIT) + moved + 2 * UNDERFLOW
        lower = (gained[0] - paid[1]) * (1 - 4 * UNIT)
        lower = np.where(lower > UNDERFLOW, lower, 0.0)
        least = self._infinite if self.max_loss < _LARGEST else 0.0
        return Samples(
            np.where(is_inside, np.maximum(lower, least), least),
            np.clip(upper, UNDERFLOW, 1.0),
            np.where(is_inside & (lower > least), slope[0], 0.0),
            np.minimum(slope[1] + UNDERFLOW, 1.0),
        )

    @cached_property
    def _infinite(self) -> float:
        """At most the probability of infinite loss: of outcomes that X cannot have."""
        if math.isinf(self.law.top):
            return 0.0
        place = np.array([self.law.top + 1 - self.shift])
        found = float(self._tail(place, np.zeros(1))[0][0])
        return found if found > UNDERFLOW else 0.0

    def _event(self, first: Array, epsilon: Array) -> tuple[tuple[Array, Array], ...]:
        """Brackets of two numbers whose difference is the divergence of the event x >= first.

        For few outcomes between the two thresholds these are the masses in between, and
        (e^epsilon - 1) Pr[X >= first]: they are of the size of their difference.
        """
        if self.shift > tuning.FEW_BETWEEN:
            zero = np.zeros(len(epsilon))
            return self._tail(first - self.shift, zero), self._tail(first, epsilon)
        between = first[:, None] - np.arange(1.0, self.shift + 1)
        inside = np.abs(between) <= self.law.top
        every = noise_masses(self.law, np.where(inside, between, self.law.offset))
        gained = (np.where(inside, side, 0.0).sum(axis=1) for side in every.times(0 * between))
        slack = 2 * UNIT * self.shift
        low, high = (side * (1 + sign * slack) for side, sign in zip(gained, (-1, 1), strict=True))
        excess = epsilon + np.log(-np.expm1(-np.maximum(epsilon, 1e-300)))
        return (low, high), self._tail(first, excess)

    def _tail(self, x: Array, log_factor: Array) -> tuple[Array, Array]:
        """Bounds of e^log_factor Pr[X >= x]; log_factor is 0 where x is not positive."""
        inside = np.abs(x - 0.5) < self.law.top + 0.5
        place = np.where(x > 0, x, 1 - x)
        low, high = noise_tails(self.law, np.where(inside, place, 1 - self.law.offset)).times(
            log_factor
        )
        low, high = np.where(inside, low, 0.0), np.where(inside, high, 0.0)
        below = x <= 0
        return (
            np.where(below, np.maximum(1 - high - UNIT, 0.0), low),
            np.where(below, np.minimum(1 - low + UNIT, 1.0), high),
        )

    def _moved(self, first: Array, epsilon: Array, error: Array) -> Array:
        """At least e^epsilon (e^(2 error) - 1) Pr[loss > epsilon] of X; 0 without an error."""
        moved = np.zeros(len(first))
        at = np.flatnonzero(error > 0)
        if len(at):
            deviation = float(self.law.deviation(np.zeros(1))[0])
            # losses are positive from here on
            least = math.floor(self.shift / 2 - self.law.offset) + 1 + self.law.offset
            earlier = first[at] - (math.ceil(0.02 * deviation) + 1)
            loss, found = self._loss(np.clip(earlier, least, self.law.top))
            surely_less = (loss + found < epsilon[at]) & (earlier >= least)
            place = np.where(surely_less, earlier + 1, least)
            factor = epsilon[at] + np.log(np.expm1(np.minimum(2 * error[at], 1.0)))
            moved[at] = np.where(error[at] < 0.5, self._tail(place, factor)[1], np.inf)
        return moved


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

    The loss of an outcome x in 0 .. shift is (2x - shift)/scale, and no other is larger. The
    quotient is rounded down for the polygon below and up for the one above.
    """

    scale: float
    shift: int

    @property
    def kinks(self) -> Array | None:
        corners = self._polygons[1].epsilon[1:]
        return corners if len(corners) <= 500 else None

    @cached_property
    def _polygons(self) -> tuple[Polygon, Polygon]:
        return self._polygon(-math.inf), self._polygon(math.inf)

    def _polygon(self, towards: float) -> Polygon:
        shift, loss = self.shift, math.nextafter(self.shift / self.scale, towards)
        theta, rest = math.exp(-loss / shift), -math.expm1(-loss / shift)
        # outcomes with a positive loss that is not the last
        inner = np.arange(shift // 2 + 1.0, shift)
        masses = rest / (1 + theta) * np.exp((inner - shift) * (loss / shift))
        losses = (2 * inner - shift) * (loss / shift)
        every = np.append(losses, loss), np.append(masses, 1 / (1 + theta))
        polygon = polygon_below(*every) if towards < 0 else polygon_above(*every)
        # exponents up to the loss, and the differences of two outcomes
        return replace(polygon, error=polygon.error + 16 * UNIT * (2 + loss))


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
        both = []
        for side, beyond in ((-1, 0.0), (1, tail)):
            moved = np.minimum(np.append(losses, farthest) + side * slack, largest)
            if is_convex:  # that of the outcome s, which was rounded up
                moved[s - x[0]] = largest if side > 0 else largest * (1 - 16 * UNIT)
            polygon = (polygon_below if side < 0 else polygon_above)(moved, np.append(mass, beyond))
            both.append(replace(polygon, error=polygon.error + error))
        return both[0], both[1]

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
