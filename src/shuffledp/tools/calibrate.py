"""The largest or smallest value of one parameter that meets a target.

Every answer was evaluated: the certified upper epsilon at the value is at most the target, and
one step beyond it is above. A step is the next count for users, rounds and sampled users, and the
next number of four significant digits (a relative 1e-4 to 1e-3) for eps0, gamma and sigma.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .._support import validate
from .._support.numeric import Bounds
from ..accountant import Accountant, composed
from ..bounds.boundary import Decimals, Found, Grid, Multiples, boundary
from ..errors import Infeasible, InvalidParameter
from ..guarantee import DEFAULT_RTOL, Guarantee, anyway
from ..randomizers import Randomizer
from ..shuffle import Shuffle
from .statement import rounded_up

#: The parameters of randomizers: range, a place to start, and does epsilon grow with it?
_PARAMETERS: dict[str, tuple[Decimals, float, int]] = {
    "eps0": (Decimals(validate.MIN_EPS0, validate.MAX_EPS0), 2.0, 1),
    "gamma": (Decimals(1e-12, 0.9999), 0.1, -1),
    "sigma": (Decimals(0.1, 1000.0), 1.0, -1),
}


_CALLED = {"users": "number of users", "rounds": "number of rounds", "sample_rate": "sample rate"}


@dataclass(frozen=True)
class Calibration:
    """A value that meets the target, and what was certified there and one step beyond.

    >>> from shuffledp import PureLDP, Shuffle, calibrate_rounds
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> calibrate_rounds(survey, epsilon=1.0, delta=1e-6).room > 0
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


def calibrate_eps0(
    family: Callable[..., Randomizer], users: int, *, epsilon: float, delta: float, **options: Any
) -> Calibration:
    """The largest eps0 that meets (epsilon, delta). `family(eps0=...)` makes the randomizer.

    Options are `rounds`, `rtol` and those of `Shuffle`.

    >>> from shuffledp import PureLDP, calibrate_eps0
    >>> calibrate_eps0(PureLDP, users=10_000, epsilon=0.5, delta=1e-6).value
    4.336
    """
    return _parameter("eps0", family, users, epsilon, delta, **options)


def calibrate_gamma(
    family: Callable[..., Randomizer], users: int, *, epsilon: float, delta: float, **options: Any
) -> Calibration:
    """The smallest gamma that meets (epsilon, delta). `family(gamma=...)` makes the randomizer.

    >>> from functools import partial
    >>> from shuffledp import RandomizedResponse, calibrate_gamma
    >>> four = partial(RandomizedResponse, 4)
    >>> calibrate_gamma(four, users=10_000, epsilon=0.5, delta=1e-6).value
    0.04916
    """
    return _parameter("gamma", family, users, epsilon, delta, **options)


def calibrate_sigma(
    family: Callable[..., Randomizer], users: int, *, epsilon: float, delta: float, **options: Any
) -> Calibration:
    """The smallest sigma that meets (epsilon, delta). `family(sigma=...)` makes the randomizer.

    >>> from shuffledp import Gaussian, calibrate_sigma
    >>> found = calibrate_sigma(Gaussian, 1, epsilon=2.0, delta=1e-3, rtol=0.05)
    >>> found.achieved.upper <= 2.0
    True
    """
    return _parameter("sigma", family, users, epsilon, delta, **options)


def _parameter(
    name: str,
    family: Callable[..., Randomizer],
    users: int,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    rtol: float = DEFAULT_RTOL,
    **options: Any,
) -> Calibration:
    grid, start, sign = _PARAMETERS[name]

    def make(value: float) -> Guarantee:
        randomizer = validate.made(family, name, value)
        return composed(Shuffle(randomizer, users, **options), rounds)

    return _calibrate(name, grid, sign, make, start, epsilon, delta, rtol)


def calibrate_users(
    randomizer: Randomizer,
    *,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    rtol: float = DEFAULT_RTOL,
    **options: Any,
) -> Calibration:
    """The fewest users that meet (epsilon, delta).

    With a fixed-size `sample_rate` only populations are tried of which that share is whole.

    >>> from shuffledp import PureLDP, calibrate_users
    >>> calibrate_users(PureLDP(eps0=4.0), epsilon=0.5, delta=1e-6).value
    7031
    """
    unit = 1
    if options.get("sampling", "fixed") == "fixed":
        unit = _smallest_population(validate.sample_rate(options.get("sample_rate", 1.0)))
    # those who hide nobody, if their number is given, are too few
    absent = sum(_counted(options.get(name, 0)) for name in ("colluding", "dropouts"))
    grid = Multiples(validate.MAX_USERS // unit, unit, first=absent // unit + 1)

    def make(value: float) -> Guarantee:
        return composed(Shuffle(randomizer, int(value), **options), rounds)

    return _calibrate("users", grid, -1, make, 1e5, epsilon, delta, rtol)


def _counted(value: Any) -> int:
    """How many that are whatever the number of users is."""
    return math.floor(min(validate.real("colluding or dropouts", value), validate.MAX_USERS - 1))


def _smallest_population(rate: float) -> int:
    """The fewest users of whom this share is whole, up to the rounding of a float."""
    shares = (Fraction(rate).limit_denominator(10**digits) for digits in range(13))
    return next(s for s in shares if math.isclose(s, rate, rel_tol=1e-10)).denominator


def calibrate_rounds(
    round_: Shuffle, *, epsilon: float, delta: float, rtol: float = DEFAULT_RTOL
) -> Calibration:
    """The most rounds like this one that meet (epsilon, delta).

    >>> from shuffledp import PureLDP, Shuffle, calibrate_rounds
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> calibrate_rounds(survey, epsilon=1.0, delta=1e-6).value
    5
    """
    return remaining_rounds(Accountant(), round_, epsilon=epsilon, delta=delta, rtol=rtol)


def remaining_rounds(
    spent: Accountant, round_: Shuffle, *, epsilon: float, delta: float, rtol: float = DEFAULT_RTOL
) -> Calibration:
    """The most rounds like this one that still meet the target after those of an accountant."""

    def make(value: float) -> Guarantee:
        return spent.copy().compose(round_, int(value))

    room = validate.MAX_ROUNDS - spent.counted_rounds
    grid = Multiples(
        room // getattr(round_, "messages", 1)
    )  # what is no round is refused by compose
    return _calibrate("rounds", grid, 1, make, 10, epsilon, delta, rtol)


def calibrate_sample_rate(
    randomizer: Randomizer,
    users: int,
    *,
    epsilon: float,
    delta: float,
    rounds: int = 1,
    rtol: float = DEFAULT_RTOL,
    **options: Any,
) -> Calibration:
    """The largest share of the users to sample in each round that meets (epsilon, delta).

    A step is one sampled user, or one unit of the fourth digit with `sampling="poisson"`.

    >>> from shuffledp import PureLDP, calibrate_sample_rate
    >>> found = calibrate_sample_rate(PureLDP(eps0=2.0), 1000, epsilon=0.3, delta=1e-6)
    >>> 0 < found.value <= 1
    True
    """
    if "sample_rate" in options:
        raise InvalidParameter("sample_rate is what is looked for; leave it out.")
    users = validate.count("users", users, validate.MAX_USERS)
    fixed = options.get("sampling", "fixed") == "fixed"
    grid: Grid = Multiples(users, over=users) if fixed else Decimals(1e-9, 1.0)

    def make(value: float) -> Guarantee:
        return composed(Shuffle(randomizer, users, sample_rate=value, **options), rounds)

    return _calibrate("sample_rate", grid, 1, make, 0.1, epsilon, delta, rtol)


def _calibrate(
    name: str,
    grid: Grid,
    sign: int,
    make: Callable[[float], Guarantee],
    start: float,
    epsilon: float,
    delta: float,
    rtol: float,
) -> Calibration:
    target, delta = validate.epsilon(epsilon), validate.delta(delta)
    rtol = validate.tolerance(rtol)
    if target == 0:
        raise InvalidParameter(f"epsilon={target:g} is not positive; give a target > 0.")

    def evaluate(value: float, width: float) -> Bounds[float]:
        return anyway(make(value).epsilon_bounds, delta, rtol=width)

    found = boundary(grid, sign, evaluate, target, rtol, start)
    if found.good is None:
        raise _infeasible(name, grid, found, target, delta)
    return Calibration(
        parameter=name,
        value=grid.value(found.good),
        achieved=found.bounds[found.good],
        epsilon=target,
        delta=delta,
        beyond=None if found.bad is None else grid.value(found.bad),
        beyond_achieved=None if found.bad is None else found.bounds[found.bad],
    )


def _infeasible(name: str, grid: Grid, found: Found, target: float, delta: float) -> Infeasible:
    index = next(iter(found.bounds)) if found.bad is None else found.bad
    nearest, bounds = grid.value(index), found.bounds[index]
    if math.isinf(bounds.upper):
        reached, remedy = "infinite epsilon", "allow a larger delta"
    else:
        reached, remedy = f"epsilon {rounded_up(bounds.upper)}", "allow that much"
    return Infeasible(
        f"no {_CALLED.get(name, name)} meets epsilon={target:g} at delta={delta:g}: {name}="
        f"{nearest:g}, the nearest to it, has {reached}; {remedy} or change the other parameters.",
        nearest,
        bounds,
    )
