"""The Gaussian mechanism: the profile of two normal laws of the same variance.

With `shift` the distance of their means in standard deviations, the loss is normal with mean
shift^2/2 and standard deviation `shift`, in both orders, so that with x = epsilon/(shift sqrt(2))
and s = shift/sqrt(8)

    delta = (erfc(x - s) - e^epsilon erfc(x + s)) / 2,

and minus the slope in e^epsilon is Q[loss > epsilon] = erfc(x + s)/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._support.numeric import UNDERFLOW, UNIT, Array
from .base import PrivacyProfile, Sampler
from .samples import Samples

# proof constants: docs/theory.md, "Constants"
#: Standard deviations of the loss beyond which it counts as infinite: a probability below 1e-290.
_FARTHEST = 36.5
#: Losses from which on all count as infinite: e^loss, also over a sample rate of 1e-9, is a double.
_LARGEST = 600.0
#: More than delta is there: losses are not infinite, so that less of it is nothing from below.
_NOTHING = 1e-290
#: Roundings of an argument of erfc, and of erfc itself.
_ARGUMENT, _VALUE = 8 * UNIT, 16 * UNIT


@dataclass(frozen=True)
class GaussianProfile(PrivacyProfile):
    """Of normal laws whose means are `shift` standard deviations apart, up to a relative 4 units.

    No loss is the largest, so delta is above 0 everywhere. From above, losses beyond `max_loss`
    count as infinite; from below, delta counts as 0 there, because they are finite.
    """

    shift: float

    @property
    def max_loss(self) -> float:
        return min(self.shift * (self.shift / 2 + _FARTHEST), _LARGEST)

    @property
    def bounded(self) -> bool:
        return False

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """The values are exact up to rounding: neither a depth nor a width is needed."""
        return self._sample

    def _sample(self, epsilon: Array) -> Samples:
        epsilon = np.minimum(np.asarray(epsilon, dtype=float), self.max_loss)
        x, s = epsilon / (self.shift * math.sqrt(2)), self.shift / math.sqrt(8)
        # a relative change of z changes erfc(z) by 2 z^2 + 2 times that, at most
        error = _VALUE + _ARGUMENT * (2 * (x + s) ** 2 + 2) + UNIT * (4 + 4 * epsilon)
        above, below = _erfc(x - s) / 2, _erfc(x + s) / 2
        seen = np.exp(epsilon) * below
        upper = above * (1 + error) - seen * (1 - error) + UNDERFLOW
        # where Q's tail underflows it is below e^-700, which e^epsilon may make visible
        lower = above * (1 - error) - seen * (1 + error) - np.exp(epsilon - 700)
        return Samples(
            np.where((lower > _NOTHING) & (epsilon < self.max_loss), lower, 0.0),
            np.clip(upper, UNDERFLOW, 1.0),
            below * (1 - error),
            below * (1 + error) + UNDERFLOW,
        )


def _erfc(x: Array) -> Array:
    return np.array([math.erfc(value) for value in x.tolist()])
