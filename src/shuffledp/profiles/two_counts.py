"""One message replaced among noise: one count has a message more and another one has it less.

H_alpha((N+1, N')||(N, N'+1)) is the mean over N' of f(alpha r(N')), where r(s) is Pr[N = s-1] over
Pr[N = s] and f the divergence of (N+1, N), a polygon with a corner at every r(s). Both are added up
count by count: all terms are positive. If the message is there with some probability only, f is
evaluated at other places.

Theory: docs/theory/noise-messages.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import tuning
from .._support.numeric import UNDERFLOW, UNIT, Array
from ..laws.class_law import sampled_loss
from ..laws.noise_law import NegativeBinomialNoise, Noise
from .base import PrivacyProfile, Sampler, Samples, joined
from .one_more import infinite_mass, largest_loss, one_more, point_masses
from .sender_count import bernstein


class NoiseCounts(NamedTuple):
    """Consecutive counts from `first` on, their masses and ratios r, up to a relative `error`.

    All other counts together have a probability of at most `rest`, also one count later.
    """

    first: int
    mass: Array
    ratio: Array
    error: float
    rest: float


def countable(noise: Noise) -> bool:
    """Whether there are few enough counts to add up, and r grows with them."""
    log_concave = not isinstance(noise, NegativeBinomialNoise) or noise.shape >= 1
    return log_concave and noise.moments[1] <= tuning.COUNTED**2


def counts_of(noise: Noise, depth: float) -> NoiseCounts:
    """All counts but some with a total probability of at most e^-depth.

    Parameters
    ----------
    noise : Noise
        With log-concave masses: beyond both ends these fall at least geometrically.
    depth : float
    """
    mean, variance = noise.moments
    reach = bernstein(variance, depth)
    while True:
        first = max(math.floor(mean - reach), 0)
        last = math.ceil(min(mean + reach, noise.most))
        s = np.arange(first, last + 1, dtype=float)
        log_mass, error = point_masses(noise, s)
        mass, ratio = np.exp(log_mass), noise.ratio(np.append(s, last + 1.0))
        # masses fall at least geometrically to both sides
        below = mass[0] * ratio[0] / max(1 - ratio[0], 1e-300) if first else 0.0
        above = mass[-1] * ratio[-1] / max(ratio[-1] - 1, 1e-300) if last < noise.most else 0.0
        rest = 1.01 * (below + above)
        if rest <= math.exp(-depth):
            return NoiseCounts(first, mass, ratio[:-1], float(error.max()), rest)
        reach *= 1.5


class _Tail:
    """f, the divergence of (N+1, N), at any alpha >= 0."""

    def __init__(self, noise: Noise, counts: NoiseCounts) -> None:
        self._noise, self._before = noise, counts.first - 1
        # there are infinite losses if N has a largest value
        infinite, self.error = infinite_mass(noise.log_infinite(more=True))
        above = np.cumsum(counts.mass[::-1])[::-1]
        # at each corner: that at the next one, and all that is beyond times the distance
        falls = np.append(np.diff(counts.ratio) * above[1:], infinite)
        value = np.cumsum(falls[::-1])[::-1]
        self._ratio, self._value = np.append(counts.ratio, 0.0), np.append(value, infinite)
        self._above = np.append(above, 0.0)

    def __call__(self, alpha: Array) -> tuple[Array, Array, Array]:
        """The value by the first corner beyond, minus the slope, and that before the corner."""
        after = self._noise.count_at(alpha) - self._before
        at = np.clip(after, 0, len(self._ratio) - 1).astype(np.intp)
        slope = self._above[at]
        gap = np.maximum(self._ratio[at] - alpha, 0.0)
        return self._value[at] + gap * slope, slope, self._above[np.maximum(at - 1, 0)]


@dataclass(frozen=True)
class TwoCountsProfile(PrivacyProfile):
    """The profile of (N+1, N') and (N, N'+1), which is the same in both orders, by counting.

    Parameters
    ----------
    noise : Noise
    rate : float
        The message is there with this probability only; else both counts are noise alone. Below 1
        the noise has to be binomial, or negative binomial with a shape of at least 1.
    """

    noise: Noise
    rate: float = 1.0

    @cached_property
    def max_loss(self) -> float:
        if self.rate == 1:
            losses = (one_more(self.noise, more).max_loss for more in (True, False))
            return sum(losses) * (1 + 2.0**-50)
        # (1 - rate + rate r)/(1 - rate), r the largest ratio: N' = 0 has the ratio 0
        largest = largest_loss(self.noise, more=True) * (1 + 2.0**-46)
        gained = sampled_loss(largest, self.rate)
        return (gained - math.log1p(-self.rate)) * (1 + 2.0**-46)

    @property
    def bounded(self) -> bool:
        """N' may be 0, and N + 1 may be more than N can be, or lose more than any number."""
        return self.rate < 1 and isinstance(self.noise, NegativeBinomialNoise)

    @property
    def depths(self) -> tuple[float, ...]:
        return tuning.DEPTHS

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Sums over all counts; masses, ratios and sums are charged with their roundings."""
        counts = counts_of(self.noise, depth + 12)
        tail, mass = _Tail(self.noise, counts), counts.mass
        error = 2 * (counts.error + tail.error) + UNIT * (4 * len(mass) + 64)
        # ratios err like epsilons do
        turned = UNIT * (len(mass) + 64)
        rate, shift = self.rate, (1 - self.rate) / self.rate
        place = counts.ratio + shift
        rows = max((1 << 13) // len(mass), 1)  # arrays that stay in the cache

        def sample(epsilon: Array) -> Samples:
            blocks = [epsilon[i : i + rows] for i in range(0, len(epsilon), rows)]
            return joined([block(part) for part in blocks])

        def block(epsilon: Array) -> Samples:
            epsilon = np.minimum(epsilon, 700.0)
            alpha = np.exp(epsilon)
            shifted = np.multiply.outer(alpha, counts.ratio) + (np.expm1(epsilon) * shift)[:, None]
            value, slope, steep = tail(shifted)
            found, slope = value @ mass, slope @ (mass * place)
            off = turned * alpha * (1 + epsilon) * (steep @ (mass * place))
            lower = rate * (found * (1 - error) - off)
            upper = rate * (found * (1 + error) + off) + 2 * counts.rest + UNDERFLOW
            is_inside = self.may_be_positive(epsilon)
            return Samples(
                np.where(is_inside & (lower > UNDERFLOW), lower, 0.0),
                np.where(is_inside, np.minimum(upper, 1.0), 0.0),
                np.where(is_inside, rate * slope * (1 - error), 0.0),
                rate * slope * (1 + error) + 1e-307,
            )

        return sample
