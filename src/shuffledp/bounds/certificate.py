"""Certified bounds, and what is said where they are wider than was asked for."""

from __future__ import annotations

from .._support.numeric import Bounds
from .._support.text import rounded_down, rounded_up
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
    """The error, with as many digits of the bounds as tell them apart, six at least."""
    lower, upper = bounds
    digits = next((d for d in range(6, 18) if f"{lower:.{d}g}" != f"{upper:.{d}g}"), 6)
    return NotCertified(
        f"{what} was certified to lie in [{rounded_down(lower, digits)}, "
        f"{rounded_up(upper, digits)}] only, wider than rtol={rtol:g} asks for; use those bounds "
        "or a larger rtol.",
        bounds,
    )
