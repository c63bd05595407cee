"""Laplace noise on values in [0, 1]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ..profiles.rounds import RoundProfile
from .base import BLANKET, KNOWN_AND_PURE, Analysis
from .density import DensityRandomizer, Tails
from .pure_ldp import clone_profile


@dataclass(frozen=True)
class Laplace(DensityRandomizer):
    """The value, in [0, 1], plus Laplace noise of scale 1/eps0.

    >>> from shuffledp import Laplace
    >>> Laplace(eps0=2.0)
    Laplace(eps0=2.0)
    """

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validate.local_epsilon(self.eps0))

    @property
    def name(self) -> str:
        return "laplace"

    @property
    def largest(self) -> float:
        return self.eps0

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return KNOWN_AND_PURE

    def profile(self, analysis: str, users: int) -> RoundProfile:
        chosen = self.analyses[analysis]
        if chosen is BLANKET:
            return super().profile(analysis, users)
        return clone_profile(chosen, self.eps0, users)

    def tails(self, loss: Array) -> Tails:
        # the loss is eps0 (1 - 2t) for outputs t in [0, 1] and eps0 for all below 0
        rest = np.exp((loss - self.eps0) / 2) / 2
        one = np.exp(-(loss + self.eps0) / 2) / 2
        error = np.full(loss.shape, 2.0**-53 * (8 + 2 * self.eps0))
        return Tails(1 - rest, one, rest, error)

    def describe(self) -> str:
        return f"values in [0, 1] plus Laplace noise of scale {1 / self.eps0:g}, {self.eps0:g}-LDP"
