"""Samples of the users of any mechanism.

Theory: docs/theory/sampling.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._support.numeric import UNIT, Array, Side
from ..laws.class_law import sampled_loss
from .base import DerivedProfile, PrivacyProfile, Sampler, Samples

# proof constants: docs/theory/constants.md
_ULP = 2 * UNIT


def magnified(epsilon: Array, rate: float | Array, side: Side) -> Array:
    """log(1 + (e^epsilon - 1)/rate), rounded up if side is UPPER, else down."""
    # above 300 the 1 is below every rounding
    with np.errstate(over="ignore"):
        small = np.log1p(np.expm1(np.minimum(epsilon, 300.0)) / rate)
    exact: Array = np.where(epsilon > 300, epsilon - np.log(rate), small)
    return exact * (1 + side * 16 * _ULP)


@dataclass(frozen=True)
class _SampleProfile(DerivedProfile):
    """Of a sample: `full` is the profile of those who take part, `rate` their share."""

    full: PrivacyProfile
    rate: float

    @property
    def inner(self) -> Sequence[PrivacyProfile]:
        return (self.full,)


@dataclass(frozen=True)
class SubsampledProfile(_SampleProfile):
    """A random subset, the share `rate` of all users, takes part in the round with profile `full`.

    f_rate(alpha) = rate f(1 + (alpha - 1)/rate) for alpha >= 1 (Zhu, Dong, Wang 2022, Prop. 30).
    """

    @property
    def max_loss(self) -> float:
        return sampled_loss(self.full.max_loss, self.rate)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        sampled = subsampled(self.full.sampler(depth, rtol), self.rate, self.full.max_loss)
        return self.zeroed_beyond_max_loss(sampled)


def subsampled(inner: Sampler, rate: float, largest: float) -> Sampler:
    """The sampler of a share `rate` of all users, from that of the round of those who take part.

    Parameters
    ----------
    inner : Sampler
        Of the round of those who take part.
    rate : float
    largest : float
        The largest loss of that round. From it on f is constant for whoever asks, and may be far
        below what it is just before.

    Notes
    -----
    docs/theory/sampling.md: f_rate(alpha) = rate f(1 + (alpha - 1)/rate). The place at which f is
    evaluated is rounded down, but not below the largest loss where it is no smaller, and the lower
    value is moved along the line below f from there, or evaluated at the place rounded up if there
    is no line.
    """
    end = sampled_loss(largest, rate)

    def sample(epsilon: Array) -> Samples:
        # the slope in alpha is that of the full round
        before, after = (magnified(epsilon, rate, side) for side in (Side.LOWER, Side.UPPER))
        before = np.where(epsilon >= end, np.maximum(before, largest), before)
        after = np.maximum(after, before)
        found = inner(before)
        if np.isfinite(found.fall_high).all():  # along the line below
            growth = np.exp(np.minimum(before, 700.0))
            distance = growth * np.expm1(after - before) * (1 + 16 * _ULP)
            # no line is known where alpha is no double
            line = np.where(before < 700, found.lower - found.fall_high * distance, 0.0)
            lower = np.maximum(line, 0.0)
            slopes = found.fall_low, found.fall_high
        else:
            second = inner(after)
            lower, slopes = second.lower, (second.fall_low, second.fall_high)
        # from the largest loss on only a line that does not fall is below what is before
        low, high = np.where(epsilon < end, slopes[0], 0.0), slopes[1]
        lower, upper = lower * rate * (1 - 4 * _ULP), found.upper * rate * (1 + 4 * _ULP)
        return Samples(lower, upper, low, high)

    return sample


def missing_loss(full: PrivacyProfile, rate: float, kept: float) -> float:
    """-log(kept + rate e^-loss), kept = 1 - rate, for the largest loss of `full`, rounded up."""
    loss = full.max_loss if full.bounded else math.inf
    share = -rate * math.expm1(-loss)
    # both without cancellation: an error of a few units is below 2^-46 of the result
    left = math.log1p(-share) if share < 0.5 else math.log(kept + rate * math.exp(-loss))
    return -left * (1 + 2.0**-46)


@dataclass(frozen=True)
class MissingFromSample(_SampleProfile):
    """A user who would take part with probability `rate` is missing: the other order of a sample.

    With (P, Q) the pair with the user and without, whose other order has the profile `full`, the
    adversary compares Q with (1 - rate) Q + rate P. For c = 1 - alpha (1 - rate) > 0 that has
    the divergence c full(1 + (alpha - 1)/c), and for larger alpha none.

    Notes
    -----
    docs/theory/sampling.md. A line below `full`, as a function of alpha, becomes a line.
    """

    bounded: ClassVar[bool] = True

    @property
    def max_loss(self) -> float:
        return missing_loss(self.full, self.rate, 1 - self.rate)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """A sampler that evaluates `full` on both sides of 1 + (alpha - 1)/c, as c is rounded."""
        inner, rate, kept = self.full.sampler(depth, rtol), self.rate, 1 - self.rate

        def sample(epsilon: Array) -> Samples:
            excess = np.expm1(epsilon)
            share, error = rate - kept * excess, 8 * _ULP * (rate + kept * excess)
            least, most = np.maximum(share - error, 1e-300), np.maximum(share + error, 1e-300)
            upper = inner(magnified(epsilon, most, Side.LOWER)).upper
            beyond = np.minimum(magnified(epsilon, least, Side.UPPER), 700.0)
            below = inner(beyond)
            is_inside = self.may_be_positive(epsilon) & (share > error) & (beyond < 700)
            # a line through (beta, value) with minus the slope s
            with np.errstate(invalid="ignore"):
                slopes = (
                    kept * (below.lower + s * np.exp(beyond)) + s * rate
                    for s in (below.fall_low, below.fall_high)
                )
                low, high = (np.where(is_inside, slope, 0.0) for slope in slopes)
            return Samples(
                np.where(is_inside, least * below.lower * (1 - 4 * _ULP), 0.0),
                np.where(self.may_be_positive(epsilon), most * upper * (1 + 4 * _ULP), 0.0),
                low * (1 - 8 * _ULP),
                high * (1 + 8 * _ULP),
            )

        return sample
