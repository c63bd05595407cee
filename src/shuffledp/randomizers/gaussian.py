"""Gaussian noise on values in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

from .. import laws
from .._support.numeric import UNIT, Array, erfc
from .._support.text import plain
from .base import register
from .density_randomizer import DensityRandomizer
from .parameter import Parameter, Search

if TYPE_CHECKING:
    from ..clients import Client


@register
@dataclass(frozen=True)
class Gaussian(DensityRandomizer):
    """The value, in [0, 1], plus Gaussian noise of standard deviation sigma; not eps0-LDP.

    Sums of such messages are answered for every sigma that a client can send: from 1e-12, near the
    rounding of a value in [0, 1], to 1e12, above which not one step of a message fits into [0, 1].
    Shuffled messages are supported for sigma in [0.1, 1000].

    >>> from shuffledp import Gaussian
    >>> Gaussian(sigma=2.0)
    Gaussian(sigma=2.0)
    """

    name: ClassVar[str] = "gaussian"
    also: ClassVar[tuple[str, ...]] = ("normal",)
    task: ClassVar[str] = "mean"
    example: ClassVar[Mapping[str, float]] = {"sigma": 3.0}

    sigma: Annotated[
        float,
        Parameter(
            "standard deviation of the noise",
            1e-12,
            1e12,
            search=Search(1.0, grows=False),
            shuffled=(0.1, 1000.0),
        ),
    ]

    @property
    def max_loss(self) -> float:
        return math.inf

    def tails(self, loss: Array) -> laws.density_law.Tails:
        # for input 0 the loss (1 - 2t)/(2 sigma^2) is normal: mean 1/(2 sigma^2), deviation 1/sigma
        scaled, shift = self.sigma * loss / math.sqrt(2), 1 / (2 * math.sqrt(2) * self.sigma)
        zero, one, rest = (erfc(x) / 2 for x in (scaled - shift, scaled + shift, shift - scaled))
        # erfc changes by 2 x^2 + 2 times a relative change of its argument, at most
        error = UNIT * (16 + 8 * (scaled + shift) ** 2)
        return laws.density_law.Tails(zero, one, rest, error)

    def sum_law(self) -> laws.noise_law.GaussianShare:
        return laws.noise_law.GaussianShare(self.sigma)

    @cached_property
    def client(self) -> Client:
        from ..clients.noisy import NoisyClient

        return NoisyClient(Fraction(self.sigma), gaussian=True)

    def describe(self) -> str:
        return f"values in [0, 1] plus Gaussian noise of standard deviation {plain(self.sigma)}"
