"""Certified brackets: the search for where a function crosses a level, and what is said of them.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import tuning
from .._support.numeric import BOTH, Array, Bounds
from .._support.text import rounded_down, rounded_up
from ..errors import NotCertified, ShuffleDPError

#: Lower and upper values of a decreasing function at some places, each of shape [places].
Sides = Callable[[Array], tuple[Array, Array]]


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
    """Whether the best bracket is narrower than PROGRESS times the last one."""
    return best.upper - best.lower <= tuning.PROGRESS * (last.upper - last.lower)


def excess_width(bounds: Bounds[float], rtol: float) -> float:
    """The width of a bracket of epsilon over the one that `rtol` asks for.

    With one trivial side there is no width; 8 makes the next lattice three times finer.
    """
    if bounds.lower == bounds.upper:
        return 0.0
    if bounds.upper == math.inf:
        return 8.0
    return (bounds.upper - bounds.lower) / (rtol * max(bounds.upper, tuning.SMALL_EPSILON))


def is_narrow_delta(bounds: Bounds[float], rtol: float) -> bool:
    """Whether a bracket of delta is as narrow in delta itself as `rtol` asks for in epsilon."""
    return bounds.upper <= max((1 + rtol) * bounds.lower, tuning.NEGLIGIBLE_DELTA)


def enclose_epsilon(
    sample: Sides,
    delta: float,
    start: Array,
    top: float,
    bounded: bool,
    rtol: float,
    *,
    enough: float,
) -> Bounds[float]:
    """Certified epsilon at a delta, of losses up to `top`; the other parameters: `enclose_sides`.

    Parameters
    ----------
    bounded : bool
        Whether delta is 0 from `top` on. If not, it is constant from there on: epsilon is infinite
        if delta is smaller.
    """
    if not bounded:
        lower, upper = sample(np.array([top]))
        if lower[0] > delta:
            return Bounds(math.inf, math.inf)
        if upper[0] > delta:  # only the lower side crosses it
            lower_twice = both_sides(lambda places: sample(places)[0])
            low, _ = enclose_sides(lower_twice, delta, start, top, rtol, enough=enough)
            return Bounds(low, math.inf)
    return certified(*enclose_sides(sample, delta, start, top, rtol, enough=enough))


def both_sides(function: Callable[[Array], Array]) -> Sides:
    """A single function as both sides of what is enclosed."""
    return lambda places: (function(places),) * 2


def enclose_sides(
    sample: Sides,
    level: float,
    start: Array,
    top: float,
    rtol: float,
    *,
    enough: float,
) -> tuple[float, float]:
    """Enclose the place where a decreasing function, known from two sides, crosses a level.

    Parameters
    ----------
    sample : Sides
        Lower and upper values of the function at some places.
    level : float
    start : Array
        Places that are evaluated first, shape [places].
    top : float
        The end of the interval [0, top], where the function is taken to be at most `level`.
    rtol : float
        Relative width at which the search for one side ends. It also ends at 0.03 of the distance
        between the crossings of the two sides.
    enough : float
        A bracket of this relative width need not be proven to be as narrow as possible.

    Returns
    -------
    tuple of float
        (low, high), both evaluated: the lower value at `low` exceeds the level, or low = 0, and
        the upper value at `high` does not, or high = top; (0, 0) if that at 0 does not.

    Notes
    -----
    docs/theory/epsilon.md. Both sides are searched at once.
    """
    sides = (_OneSidedCrossing(level, top), _OneSidedCrossing(level, top))
    places = np.asarray(start, dtype=float)
    for _ in range(100):
        for side, values in zip(sides, sample(places), strict=True):
            for x, value in zip(places.tolist(), values.tolist(), strict=True):
                side.learn(x, value)
        low, high = sides[0].low, sides[1].high
        expected = [side.expected() for side in sides]
        gap = (expected[1] - expected[0]) / max(high, 1e-300)
        tol = max(rtol, 0.03 * gap)
        narrow = high - low <= enough * high
        wanted = [
            side.next_place(x, sign * tol, narrow)
            for side, x, sign in zip(sides, expected, BOTH, strict=True)
        ]
        places = np.unique([x for x in wanted if x is not None])
        if len(places) == 0:
            break
    if low == 0 and sample(np.zeros(1))[1][0] <= level:
        high = 0.0
    return low, high


class _OneSidedCrossing:
    """What is known of one decreasing function: the last place above the level, the first below."""

    def __init__(self, level: float, top: float) -> None:
        self.low, self.high = 0.0, top
        self._top, self._level = top, level
        self._points: list[tuple[float, float]] = []  # (height, -log(1 - place/top))
        self._widths = [math.inf, math.inf]

    def learn(self, x: float, value: float) -> None:
        if value > self._level:
            self.low = max(self.low, x)
        elif value <= self._level:  # what is no number certifies nothing
            self.high = min(self.high, x)
        if x < self._top:
            # close to a straight line, for a Gaussian tail and where the function falls to 0 at top
            height = math.sqrt(1 - math.log(min(max(value, 1e-300), 1.0)))
            height -= math.sqrt(1 - math.log(self._level))
            self._points.append((height, -math.log1p(-x / self._top)))

    def expected(self) -> float:
        """Return about where the function crosses the level.

        It is interpolated, place by height, between the known points closest to the level. Heights
        are transformed so that a normal tail is nearly a straight line.
        """
        heights = dict(self._points)
        best = sorted(heights.items(), key=lambda point: abs(point[0]))[:3]
        if len(best) < 2:
            return self._middle()
        place = 0.0
        for height, known in best:
            others = [other for other, _ in best if other != height]
            place += known * math.prod(-other / (height - other) for other in others)
        x = -self._top * math.expm1(-max(place, 0.0))
        if self.low == 0:
            x = max(x, self.high / 16)
        elif self.high == self._top:
            x = min(x, 16 * self.low)
        return x if self.low < x < self.high else self._middle()

    def next_place(self, expected: float, shift: float, narrow: bool) -> float | None:
        """Where to look next: a little beyond where the function should cross; None when done.

        Beyond is above the crossing for the upper side, where `shift` is positive, and below it for
        the lower side. Once the end that is to be published is within twice the shift of where the
        function should cross, it stays. Then, unless the bracket is `narrow` enough already, the
        other end is looked for, on the other side of the crossing.
        """
        width = self.high - self.low
        if width <= abs(shift) * self.high or self.high <= 1e-12 * self._top:
            return None
        limit = expected * (1 + 2 * shift)
        end_is_near = self.high <= limit or self.low >= limit
        if end_is_near and narrow:
            return None
        # the last two evaluations did not quarter the interval
        is_stuck = width > 0.25 * self._widths[-2]
        self._widths.append(width)
        x = expected * (1 - shift if end_is_near else 1 + shift)
        return x if self.low < x < self.high and not is_stuck else self._middle()

    def _middle(self) -> float:
        if self.low == 0:
            return self.high / 16
        return min((self.low + self.high) / 2, 16 * self.low)


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
