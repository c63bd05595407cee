"""The piecewise mechanism."""

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
class Piecewise(WindowRandomizer):
    """A number in [0, 1] as a point of an interval, likelier one in a window that moves with it.

    This is the piecewise mechanism of Wang et al. 2019: the window is a share 1/(e^(eps0/2) + 1) of
    the interval, at its ends for the numbers 0 and 1 (no less than 2^-16 of it, from eps0 = 22 on).

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
    >>> from shuffledp.randomizers import Piecewise
    >>> round(Piecewise(eps0=2.0).share, 6)
    0.268941
    """

    name: ClassVar[str] = "piecewise"
    also: ClassVar[tuple[str, ...]] = ("pm", "piecewise-mechanism")
    example: ClassVar[Mapping[str, float]] = {"eps0": 1.0}

    eps0: LocalEpsilon

    @property
    def share(self) -> float:
        return max(1 / (math.exp(self.eps0 / 2) + 1), SMALLEST_WINDOW)

    def describe(self) -> str:
        return f"numbers in [0, 1], piecewise mechanism, {plain(self.eps0)}-LDP"
