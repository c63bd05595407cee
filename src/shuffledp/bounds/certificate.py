"""Certified bounds, and what is said where they are wider than was asked for.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math

from .._support.numeric import Bounds
from .._support.text import plain, rounded_down, rounded_up
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


def no_guarantee(what: str, at: float, bounds: Bounds[float]) -> NotCertified | None:
    """The error if `bounds` promise nothing: an infinite epsilon at a delta, or a delta of 1.

    >>> str(no_guarantee("epsilon", 0.0, Bounds(math.inf, math.inf)))
    'no epsilon is certified at delta=0; ask with a larger delta, or change the protocol.'
    """
    if what == "epsilon" and bounds.upper == math.inf:
        said, remedy = f"no epsilon is certified at delta={plain(at)}", "ask with a larger delta"
    elif what == "delta" and float(rounded_up(bounds.upper)) >= 1:  # as it is published
        said = f"no delta below 1 is certified at epsilon={plain(at)}"
        remedy = "ask with a larger epsilon"
    elif what == "epsilon" and at >= 1:
        return NotCertified(f"delta={plain(at)} guarantees nothing; give a smaller one.", bounds)
    else:
        return None
    return NotCertified(f"{said}; {remedy}, or change the protocol.", bounds)


def too_wide(bounds: Bounds[float], rtol: float) -> NotCertified | None:
    """The error if a bracket of epsilon is wider than `rtol` asks for, up to the rounding of its
    width: of bounds whose error was passed over by `guarantee.best_effort`.

    >>> too_wide(Bounds(1.0, 1.0009), 1e-3) is None, too_wide(Bounds(1.0, 1.1), 1e-3) is None
    (True, False)
    """
    asked = rtol * max(bounds.upper, tuning.SMALL_EPSILON) * (1 + 1e-12)
    narrow = bounds.lower == bounds.upper or bounds.upper - bounds.lower <= asked < math.inf
    return None if narrow else not_certified("epsilon", bounds, rtol)
