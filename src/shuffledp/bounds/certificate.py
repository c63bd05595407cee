"""Certified bounds, and what is said where they are wider than was asked for."""

from __future__ import annotations

from .._support.numeric import Bounds
from ..errors import NotCertified, ShuffleDPError
from . import tuning


def certified(lower: float, upper: float) -> Bounds[float]:
    """Both sides enclose the same number: if they contradict each other, neither is to be used."""
    if not lower <= upper:
        raise ShuffleDPError(
            f"the certified bounds {lower!r} and {upper!r} contradict each other; use neither and "
            "report this as a bug of shuffledp."
        )
    return Bounds(lower, upper)


def narrower(a: Bounds[float], b: Bounds[float]) -> Bounds[float]:
    """What both say of the same number."""
    return certified(max(a.lower, b.lower), min(a.upper, b.upper))


def improved(last: Bounds[float], best: Bounds[float]) -> bool:
    """Is it worth going on?"""
    return best.upper - best.lower <= tuning.PROGRESS * (last.upper - last.lower)


def not_certified(what: str, bounds: Bounds[float], rtol: float) -> NotCertified:
    return NotCertified(
        f"{what} was certified to lie in [{bounds.lower:.6g}, {bounds.upper:.6g}] only, wider than "
        f"rtol={rtol:g} asks for; use those bounds or a larger rtol.",
        bounds,
    )
