"""Gaussian noise on values in [0, 1], or on vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

from .. import laws
from .._support.numeric import UNIT, Array, erfc
from .._support.text import plain
from ..errors import InvalidParameter
from .analyses import SENSITIVITY, SUMS, Analysis
from .base import register, spelled
from .density_randomizer import REAL_NOISE, DensityRandomizer
from .parameter import Family, Parameter, Search, parameters_of

if TYPE_CHECKING:
    from ..clients import Client

_VECTORS = replace(
    SUMS,
    name="gaussian",
    theorem=(
        "exact hockey-stick divergence of two normal laws whose means are as far apart as the L2 "
        "sensitivity (Balle, Wang 2018)"
    ),
)


@register
@dataclass(frozen=True, repr=False)
class Gaussian(DensityRandomizer):
    """Gaussian noise on a value in [0, 1], or on a vector; not eps0-LDP.

    With a `dimension` only sums are supported (`Aggregate`). Two vectors of L2 norm up to 1 are up
    to 2 apart, so that the L2 sensitivity is 2 for replace-one neighbours and 1 for remove-one
    neighbours.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on every number: 0.1 to 1000 for shuffled messages, 1e-12 to
        1e12 for sums. That is every sigma that a client can send.
    dimension : int, optional
        Length of the vectors, 1 to 1e6, if values are vectors of L2 norm up to 1.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import Aggregate, Gaussian
    >>> from shuffledp.central import GaussianNoise
    >>> vectors = Aggregate(Gaussian(sigma=0.5, dimension=1000), users=400, neighbours="remove")
    >>> abs(vectors.get_epsilon(1e-6) - GaussianNoise(sigma=10.0).get_epsilon(1e-6)) < 1e-9
    True
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
    dimension: Annotated[
        int, Parameter("length of the vectors", 1, 10**6, whole=True, summed=True)
    ] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.dimension is not None:
            super().__post_init__()
        else:
            self._keep("sigma", parameters_of(type(self))["sigma"].checked("sigma", self.sigma))

    @classmethod
    def families_for(cls, task: str, size: int, honest: int) -> Sequence[Family]:
        options: dict[str, dict[str, int]] = {"mean": {}, "vector": {"dimension": size}}
        return [Family("sigma", [options[task]])] if task in options else []

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        if self.dimension is None:
            return super().analyses
        raise InvalidParameter(
            f"{self!r} protects vectors in sums only: no bound is known for shuffled noisy "
            "vectors; use Aggregate."
        )

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
        return laws.noise_law.GaussianShare(self.sigma, self.dimension is not None)

    @property
    def sum_analysis(self) -> Analysis:
        return SUMS if self.dimension is None else _VECTORS

    @property
    def sum_remarks(self) -> Mapping[str, str]:
        real = (
            "of exact real numbers, which no device sends: of sums of rounded shares nothing is "
            "proven; with integer noise (NoiseShares) there is a guarantee for what is sent"
        )
        bound = {"sensitivity": SENSITIVITY.format(norm=1, twice=2)}
        return {**({} if self.dimension is None else bound), "noise": real}

    @property
    def is_summed(self) -> bool:
        return self.dimension is not None

    @cached_property
    def client(self) -> Client:
        from ..clients.noisy import NoisyClient, NoisyVectorClient

        noise = NoisyClient(Fraction(self.sigma), gaussian=True)
        return noise if self.dimension is None else NoisyVectorClient(noise, self.dimension)

    def describe(self) -> str:
        noise = f"Gaussian noise of standard deviation {plain(self.sigma)}"
        if self.dimension is None:
            return f"values clipped to [0, 1] plus {noise}, {REAL_NOISE}"
        return f"vectors of {self.dimension:,} numbers, of L2 norm at most 1, plus {noise} in each"

    def __repr__(self) -> str:
        return spelled(self)
