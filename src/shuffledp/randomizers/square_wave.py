"""Square wave reporting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .._support.text import plain
from .base import register
from .parameter import LocalEpsilon
from .two_levels import SMALLEST_WINDOW, WindowRandomizer


@register
@dataclass(frozen=True)
class SquareWave(WindowRandomizer):
    """A number x in [0, 1] as a point of [-b, 1 + b], likelier one within b of x.

    This is square wave reporting of Li et al. 2020, with the b of that paper (the window is no less
    than 2^-16 of the interval, from eps0 = 14 on).

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
    >>> from shuffledp.randomizers import SquareWave
    >>> round(SquareWave(eps0=1.0).half_width, 6)
    0.256083
    """

    name: ClassVar[str] = "square-wave"
    also: ClassVar[tuple[str, ...]] = ("sw",)
    example: ClassVar[Mapping[str, float]] = {"eps0": 1.0}

    eps0: LocalEpsilon

    @property
    def half_width(self) -> float:
        """b, which maximizes the mutual information of number and message."""
        e = self.eps0
        if e > 1:
            grown = math.exp(e)
            return (e - 1 + 1 / grown) / (2 * (grown - 1 - e))
        # numerator and denominator over e^2, without cancellation
        terms = [e**j / math.factorial(j + 2) for j in range(20)]
        above = math.fsum((j + 1) * term for j, term in enumerate(terms))
        return above / (2 * math.exp(e) * math.fsum(terms))

    @property
    def share(self) -> float:
        width = 2 * self.half_width
        return max(width / (1 + width), SMALLEST_WINDOW)

    def describe(self) -> str:
        return f"numbers in [0, 1], square wave, {plain(self.eps0)}-LDP"
