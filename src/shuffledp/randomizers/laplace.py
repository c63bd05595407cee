"""Laplace noise on values in [0, 1]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .. import laws
from .._support.numeric import UNIT, Array
from .._support.text import plain
from .analyses import KNOWN_AND_PURE, Analysis
from .base import register
from .density_randomizer import REAL_NOISE, DensityRandomizer
from .parameter import LocalEpsilon

if TYPE_CHECKING:
    from ..clients import Client


@register
@dataclass(frozen=True)
class Laplace(DensityRandomizer):
    """Laplace noise of scale 1/eps0 on a value in [0, 1].

    Parameters
    ----------
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import Laplace, Shuffle
    >>> Shuffle(Laplace(eps0=2.0), users=10_000).get_epsilon(1e-6) < 0.104
    True
    """

    name: ClassVar[str] = "laplace"
    task: ClassVar[str] = "mean"
    example: ClassVar[Mapping[str, float]] = {"eps0": 1.0}

    eps0: LocalEpsilon

    @property
    def max_loss(self) -> float:
        return self.eps0

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return KNOWN_AND_PURE

    def tails(self, loss: Array) -> laws.density_law.Tails:
        # the loss is eps0 (1 - 2t) for outputs t in [0, 1] and eps0 for all below 0
        rest = np.exp((loss - self.eps0) / 2) / 2
        one = np.exp(-(loss + self.eps0) / 2) / 2
        error = np.full(loss.shape, UNIT * (8 + 2 * self.eps0))
        return laws.density_law.Tails(1 - rest, one, rest, error)

    @cached_property
    def client(self) -> Client:
        from ..clients.noisy import NoisyClient

        return NoisyClient(1 / Fraction(self.eps0), gaussian=False)

    def describe(self) -> str:
        local = plain(self.eps0)
        noise = f"Laplace noise of scale 1/{local}, {REAL_NOISE}"
        return f"values clipped to [0, 1] plus {noise}; {local}-LDP"
