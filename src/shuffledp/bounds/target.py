"""The last value of a parameter that meets a target, with the evidence on both sides of it.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._support import validate
from .._support.numeric import Bounds
from .._support.progress import progress
from .._support.tables import html_facts
from .._support.text import plain, rounded_down, rounded_up
from ..errors import Infeasible, InvalidParameter, OutOfRange
from .boundary import Evaluate, Found, Grid, boundary

_CALLED = {"users": "number of users", "rounds": "number of rounds", "sample_rate": "sample rate"}


@dataclass(frozen=True)
class Calibration:
    """A value that meets the target, and what was certified there and one step beyond.

    >>> from shuffledp import PureLDP, Shuffle, calibrate
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> calibrate("rounds", survey, epsilon=1.0, delta=1e-6).room > 0
    True
    """

    parameter: str
    value: float
    achieved: Bounds[float]  # epsilon at the value
    epsilon: float  # the target
    delta: float
    beyond: float | None  # one step further; None if the value is the last supported one
    beyond_achieved: Bounds[float] | None

    @property
    def room(self) -> float:
        """How far the certified upper epsilon is below the target."""
        return self.epsilon - self.achieved.upper

    def _repr_html_(self) -> str:
        found = [
            (f"{self.parameter} = {self.value:,}", bracket(self.achieved)),
            ("room left", rounded_down(self.room, 3)),
        ]
        if self.beyond is not None and self.beyond_achieved is not None:
            found.append((f"{self.parameter} = {self.beyond:,}", bracket(self.beyond_achieved)))
        target = f"epsilon {plain(self.epsilon)} at delta {plain(self.delta)}"
        return html_facts(f"Calibrated {self.parameter}: {target}", found)


def bracket(bounds: Bounds[float]) -> str:
    """Both bounds in a sentence, rounded outwards."""
    low, high = rounded_down(bounds.lower, 7), rounded_up(bounds.upper, 7)
    return f"{low} <= exact epsilon of the analyzed pair <= {high}"


@dataclass(frozen=True)
class Quest:
    """What to look for: the name of a parameter, the values it may have, one to start from, and
    whether epsilon grows with it."""

    name: str
    grid: Grid
    start: float
    grows: bool


def meet(
    quest: Quest, evaluate: Evaluate, epsilon: float, delta: float, rtol: float
) -> Calibration:
    """The largest value (smallest, if epsilon falls with it) whose certified epsilon is at most the
    target. `evaluate` gives its bounds at a value and a width."""
    target, delta = validate.epsilon(epsilon), validate.delta(delta)
    rtol = validate.tolerance(rtol)
    if target == 0:
        raise InvalidParameter(f"epsilon={target:g} is not positive; give a target > 0.")
    if target < 1e-300:  # quotients by it would be infinite
        raise OutOfRange(f"epsilon={target:g} is below 1e-300; give a larger target.")
    grid = quest.grid
    with progress(f"calibrating {quest.name}") as done:

        def counted(value: float, width: float) -> Bounds[float]:
            bounds = evaluate(value, width)
            done(1)
            return bounds

        found = boundary(grid, 1 if quest.grows else -1, counted, target, rtol, quest.start)
    if found.good is None:
        raise infeasible(quest, found, target, delta)
    return Calibration(
        parameter=quest.name,
        value=grid.value(found.good),
        achieved=found.bounds[found.good],
        epsilon=target,
        delta=delta,
        beyond=None if found.bad is None else grid.value(found.bad),
        beyond_achieved=None if found.bad is None else found.bounds[found.bad],
    )


def infeasible(quest: Quest, found: Found, target: float, delta: float) -> Infeasible:
    """That no value meets the target, and what the nearest one has."""
    index = next(iter(found.bounds)) if found.bad is None else found.bad
    nearest, bounds = quest.grid.value(index), found.bounds[index]
    if math.isinf(bounds.upper):
        reached, remedy = "infinite epsilon", "allow a larger delta"
    else:
        reached, remedy = f"epsilon {rounded_up(bounds.upper)}", "allow that much"
    name = quest.name
    return Infeasible(
        f"no {_CALLED.get(name, name)} meets epsilon={plain(target)} at delta={plain(delta)}: "
        f"{name}={plain(nearest)}, the nearest to it, has {reached}; {remedy} or change the other "
        "parameters.",
        nearest,
        bounds,
    )
