"""The last value of a grid at which a certified epsilon still meets a target.

It comes with the evidence: what was certified there and one step beyond.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from . import tuning
from ._support import validate
from ._support.numeric import Bounds
from ._support.progress import progress
from ._support.tables import html_facts
from ._support.text import plain, rounded_down, rounded_up
from .errors import Infeasible, InvalidParameter, OutOfRange

#: Certified bounds of epsilon at a value and a relative width.
Evaluate = Callable[[float, float], Bounds[float]]


class Grid(ABC):
    """Ascending positive values, counted by consecutive indices first .. last."""

    first: int
    last: int

    @abstractmethod
    def value(self, index: int) -> float: ...

    @abstractmethod
    def index(self, value: float) -> int:
        """Of a value close to this one."""

    @abstractmethod
    def part(self, first: int, last: int) -> Grid:
        """The grid of these indices only."""

    def log(self, index: int) -> float:
        return math.log(self.value(index))

    def nearest(self, logarithm: float) -> int:
        """The index of about the value with this logarithm, within the grid."""
        inside = min(max(logarithm, self.log(self.first)), self.log(self.last))
        return min(max(self.index(math.exp(inside)), self.first), self.last)


@dataclass(frozen=True)
class Decimals(Grid):
    """Numbers of four significant digits: the next one is a relative 1e-4 to 1e-3 away.

    >>> grid = Decimals(0.1, 1000.0)
    >>> grid.value(grid.index(2.71828)), grid.value(grid.index(2.71828) + 1)
    (2.718, 2.719)
    """

    smallest: float
    largest: float

    @property
    def first(self) -> int:  # type: ignore[override]
        return self.index(self.smallest)

    @property
    def last(self) -> int:  # type: ignore[override]
        return self.index(self.largest)

    def value(self, index: int) -> float:
        exponent, digits = divmod(index, 9000)
        return float(f"{1000 + digits}e{exponent - 3}")

    def index(self, value: float) -> int:
        digits, _, exponent = f"{value:.3e}".partition("e")
        return 9000 * int(exponent) + round(1000 * float(digits)) - 1000

    def part(self, first: int, last: int) -> Decimals:
        return Decimals(self.value(first), self.value(last))


@dataclass(frozen=True)
class Multiples(Grid):
    """Index times unit: counts, or counts in steps, or (`over` a count) fractions."""

    last: int
    unit: int = 1
    over: int = 1
    first: int = 1

    def value(self, index: int) -> float:
        return index * self.unit if self.over == 1 else index * self.unit / self.over

    def index(self, value: float) -> int:
        return round(value * self.over / self.unit)

    def part(self, first: int, last: int) -> Multiples:
        return replace(self, first=first, last=last)


@dataclass(frozen=True)
class ParameterRange:
    """The name of a parameter, the values it may have, one to start from, and whether epsilon
    grows with it."""

    name: str
    grid: Grid
    start: float
    grows: bool

    def limit(self, index: int) -> str:
        """What keeps the parameter from going further, as the end of a sentence."""
        ends = {self.grid.first: "smallest", self.grid.last: "largest"}
        if index not in ends:
            return f"the next {self.name} exceeds the target"
        value = plain(self.grid.value(index))
        return f"{self.name}={value} is the {ends[index]} value that is supported"


class Found(NamedTuple):
    """What a search found.

    Attributes
    ----------
    good, bad : int or None
        The last indices that met and missed the target; None where the grid ends before.
    bounds : Mapping
        All that was evaluated, by the index.
    steepness : float or None
        About how much faster than the value epsilon changes at the target, on logarithms.
    """

    good: int | None
    bad: int | None
    bounds: Mapping[int, Bounds[float]]
    steepness: float | None


def boundary(values: ParameterRange, evaluate: Evaluate, target: float, rtol: float) -> Found:
    """Where epsilon leaves the target: two neighbours on the grid, or one where the grid ends.

    Certified epsilons are monotone only up to their bracket: several neighbours may have the
    property. What is returned was evaluated at width rtol, on both sides. Wider brackets, which are
    cheaper, only tell where to look: each stage is a hundred times as narrow as the one before.
    """
    width, steepness = min(max(tuning.ROUGH_RTOL, rtol), 0.5), None
    near = tuning.ROUGH_RTOL
    while width > rtol * 1.01 or steepness is None:
        rough = approach(values, evaluate, target, width, near, steepness)
        steepness = rough.steepness or 1.0
        # the exact values are about in the middle
        middles = {i: _height(sum(each) / 2, target) for i, each in rough.bounds.items()}
        index = min(middles, key=lambda i: abs(middles[i]))
        change = -middles[index] / steepness
        start = values.grid.log(index) + (change if values.grows else -change)
        values = replace(values, start=values.grid.value(values.grid.nearest(start)))
        width = near = width / 100
    return approach(values, evaluate, target, rtol, 0.0, steepness)


def approach(
    values: ParameterRange,
    evaluate: Evaluate,
    target: float,
    rtol: float,
    near: float,
    steepness: float | None = None,
) -> Found:
    """Search for a value that meets the target, but not by more than needed.

    Parameters
    ----------
    values : ParameterRange
    evaluate : Evaluate
    target : float
        The largest epsilon.
    rtol : float
        Relative width of the brackets.
    near : float
        Any value is good enough whose epsilon is below the target by no more than this, relatively.
        With 0, the search ends at two neighbours, one that meets the target and one that does not.
    steepness : float, optional
        About how much faster than the value epsilon changes, on logarithms.
    """
    grid, worse = values.grid, 1 if values.grows else -1
    seen: dict[int, Bounds[float]] = {}

    def height(index: int) -> float:
        if index not in seen:
            seen[index] = evaluate(grid.value(index), rtol)
        return _height(seen[index].upper, target)

    index = grid.nearest(math.log(values.start))
    good: int | None = None
    bad: int | None = None
    # a short first stride as long as it is not known how fast epsilon changes
    stride = 0.7 if steepness is None else 1.5
    widths = [math.inf, math.inf]
    while True:
        good, bad = (good, index) if height(index) > 0 else (index, bad)
        if near and good is not None and height(good) >= -near:
            break
        if good is None or bad is None:
            # a little more than should be needed, if both sides of the target are needed
            away = abs(height(index) + near / 2) * (1.0 if near else 1.3)
            if 0 < seen[index].upper < math.inf:
                stride = min(away / max(steepness or 1.0, 0.05), stride)
            step = -worse if good is None else worse
            ahead = grid.nearest(grid.log(index) + step * stride)
            if ahead == index:  # the next one, if there is any
                ahead = min(max(index + step, grid.first), grid.last)
            if ahead == index:
                break
            steepness = abs(height(index) - height(ahead)) / abs(grid.log(index) - grid.log(ahead))
            index, stride = ahead, 1.5
        elif abs(bad - good) == 1 or abs(grid.log(bad) - grid.log(good)) < near / 10:
            break
        else:
            widths.append(abs(bad - good))
            # certified values are not quite smooth, and they may jump to infinity
            if widths[-1] > widths[-3] / 2 or math.isinf(seen[bad].upper):
                index = (good + bad) // 2
                continue
            # where a straight line through both, on logarithms, crosses the target
            share = (height(good) + near / 2) / (height(good) - height(bad))
            aimed = grid.nearest(grid.log(good) + share * (grid.log(bad) - grid.log(good)))
            index = min(max(aimed, min(good, bad) + 1), max(good, bad) - 1)
    nearest = sorted(seen, key=lambda i: abs(height(i)))[:2]
    if len(nearest) == 2:
        rise, run = (abs(f(nearest[0]) - f(nearest[1])) for f in (height, grid.log))
        steepness = rise / run
    return Found(good, bad, seen, steepness)


def _height(upper: float, target: float) -> float:
    """log(upper / target), positive if and only if the target is missed."""
    if upper <= 0 or math.isinf(upper):
        return -50.0 if upper <= 0 else 50.0  # beyond every finite one
    ratio = math.log(upper / target)
    return max(ratio, 1e-15) if upper > target else min(ratio, 0.0)


_CALLED = {"users": "number of users", "rounds": "number of rounds", "sample_rate": "sample rate"}


@dataclass(frozen=True, repr=False)
class Calibration:
    """A value that meets the target, and what was certified there and one step beyond.

    Parameters
    ----------
    parameter : str
        Name of the parameter that was searched.
    value : float
        The last value whose certified upper epsilon is at most the target.
    achieved : Bounds
        Certified bounds on epsilon at the value.
    epsilon : float
        The target.
    delta : float
        Privacy parameter, 0 for pure DP or 1e-280 to 1.
    beyond : float or None
        One step further; None if the value is the last supported one.
    beyond_achieved : Bounds or None
        Certified bounds on epsilon there; the upper one is above the target.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle, calibrate
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> calibrate("rounds", survey, epsilon=1.0, delta=1e-6).room > 0
    True
    """

    parameter: str
    value: float
    achieved: Bounds[float]
    epsilon: float
    delta: float
    beyond: float | None
    beyond_achieved: Bounds[float] | None

    @property
    def room(self) -> float:
        """Target epsilon minus the certified upper epsilon."""
        return self.epsilon - self.achieved.upper

    def __repr__(self) -> str:
        target = f"epsilon {plain(self.epsilon)} at delta {plain(self.delta)}"
        return f"<Calibration: {self.parameter} = {self.value:,} for {target}>"

    def _repr_html_(self) -> str:
        found = [
            (f"{self.parameter} = {self.value:,}", bracket(self.achieved)),
            ("slack", rounded_down(self.room, 3)),
        ]
        if self.beyond is not None and self.beyond_achieved is not None:
            found.append((f"{self.parameter} = {self.beyond:,}", bracket(self.beyond_achieved)))
        target = f"epsilon {plain(self.epsilon)} at delta {plain(self.delta)}"
        return html_facts(f"Calibrated {self.parameter}: {target}", found)


def bracket(bounds: Bounds[float]) -> str:
    """Both bounds in a sentence, rounded outwards."""
    low, high = rounded_down(bounds.lower, 7), rounded_up(bounds.upper, 7)
    return f"{low} <= exact epsilon of the analyzed pair <= {high}"


def meet(
    values: ParameterRange, evaluate: Evaluate, epsilon: float, delta: float, rtol: float
) -> Calibration:
    """The largest value whose certified epsilon is at most the target, or the smallest one.

    Parameters
    ----------
    values : ParameterRange
        If epsilon falls with the value, the smallest one is searched for.
    evaluate : Evaluate
        Returns the bounds of epsilon at a value and a width.
    epsilon, delta : float
        The target.
    rtol : float
        Relative width of the brackets.

    Raises
    ------
    Infeasible
        If no value of the grid meets the target.
    """
    target, delta = validate.epsilon(epsilon), validate.delta(delta)
    rtol = validate.tolerance(rtol)
    if target == 0:
        raise InvalidParameter(f"epsilon={target:g} is not positive; give a target > 0.")
    if target < 1e-300:  # quotients by it would be infinite
        raise OutOfRange(f"epsilon={target:g} is below 1e-300; give a larger target.")
    grid = values.grid
    with progress(f"calibrating {values.name}") as done:

        def counted(value: float, width: float) -> Bounds[float]:
            bounds = evaluate(value, width)
            done(1)
            return bounds

        found = boundary(values, counted, target, rtol)
    if found.good is None:
        raise infeasible(values, found, target, delta)
    return Calibration(
        parameter=values.name,
        value=grid.value(found.good),
        achieved=found.bounds[found.good],
        epsilon=target,
        delta=delta,
        beyond=None if found.bad is None else grid.value(found.bad),
        beyond_achieved=None if found.bad is None else found.bounds[found.bad],
    )


def infeasible(values: ParameterRange, found: Found, target: float, delta: float) -> Infeasible:
    """That no value meets the target, and what the nearest one has."""
    index = next(iter(found.bounds)) if found.bad is None else found.bad
    nearest, bounds = values.grid.value(index), found.bounds[index]
    if math.isinf(bounds.upper):
        reached, remedy = "infinite epsilon", "allow a larger delta"
    else:
        reached, remedy = f"epsilon {rounded_up(bounds.upper)}", "allow that much"
    name = values.name
    return Infeasible(
        f"no {_CALLED.get(name, name)} meets epsilon={plain(target)} at delta={plain(delta)}: "
        f"{name}={plain(nearest)}, the nearest to it, has {reached}; {remedy} or change the other "
        "parameters.",
        nearest,
        bounds,
    )
