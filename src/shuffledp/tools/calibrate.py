"""The largest or smallest value of one parameter that meets a target.

Every answer was evaluated: the certified upper epsilon at the value is at most the target, and
one step beyond it is above. A step is the next count for users, rounds, sampled users and other
counts, and the next number of four significant digits (a relative 1e-4 to 1e-3) otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from .._support import validate
from .._support.numeric import Bounds
from .._support.text import known_instead, plain, rounded_up
from ..accountant import Accountant, repeated
from ..calibration import (
    Calibration,
    Decimals,
    Evaluate,
    Grid,
    Multiples,
    ParameterRange,
    meet,
)
from ..errors import Infeasible, InvalidParameter, OutOfRange, SampleNotWhole
from ..guarantee import DEFAULT_RTOL, Mechanism, best_effort
from ..mechanisms import PoissonSampled
from ..mixed import MixedShuffle
from ..randomizers.base import SUMMED, known_parameters, parameter_named
from ..randomizers.parameter import Parameter, parameters_of
from ..records import CENTRAL
from ..rounds import RoundOfUsers
from .protocol import NOISE_PARAMETERS, ROUND_PARAMETERS

__all__ = ["Calibration", "calibrate", "searchable"]

#: What has to meet a target: a round, or all that an accountant has.
Composed = Mechanism | Accountant

#: Beyond values that have a meaning: so few users that nobody is left to protect; bits that say
#: nothing of the value, because 0s are sent as 1 no less often than 1s.
_LIMITS = {"users": Bounds(math.inf, math.inf), "p": Bounds(0.0, 0.0), "q": Bounds(0.0, 0.0)}


def searchable() -> dict[str, bool]:
    """What `calibrate` can find: does epsilon grow with it?"""
    named = [(name, each) for name, uses in known_parameters().items() for each in uses.values()]
    found = {
        name: parameter.search.grows
        for name, parameter in [*named, *ROUND_PARAMETERS.items(), *NOISE_PARAMETERS.items()]
        if parameter.search is not None
    }
    return {
        **found,
        "users": False,
        "rounds": True,
        "sample_rate": True,
        "colluding": True,
    }


def calibrate(
    find: str,
    make_round: Callable[[Any], Composed] | Mechanism,
    *,
    epsilon: float,
    delta: float,
    rounds: int | None = None,
    rtol: float = DEFAULT_RTOL,
) -> Calibration:
    """Largest or smallest value of a parameter at which `rounds` rounds meet (epsilon, delta).

    It is the largest eps0, sample_rate, ... or the fewest users or smallest gamma, sigma, ...
    With a fixed-size `sample_rate`, only populations are tried of which that share is whole. If the
    target is met up to the last supported value, that is the answer, and `beyond` is None.

    Parameters
    ----------
    find : str
        Name of the parameter; "rounds" finds how many rounds fit, and "colluding" how many
        colluding users the target survives, which may be 0.
    make_round : callable or Mechanism
        From a value of the parameter to the round, or to an `Accountant` with all that has to meet
        the target together; for find="rounds", the round itself. A function that ignores its
        argument is refused.
    epsilon : float
        Privacy parameter of the target, above 0.
    delta : float
        Privacy parameter, 0 for pure DP or 1e-280 to 1.
    rounds : int, optional
        Number of rounds, 1 to 1e7; 1 by default, and left out for find="rounds". Of an accountant,
        how many times all that it has is composed.
    rtol : float
        Relative width in epsilon to aim for, 1e-7 to 0.5. With a narrower one, a value one or a few
        steps further may be certified.

    Returns
    -------
    Calibration
        The value, and what was certified there and one step beyond.

    Raises
    ------
    Infeasible
        If no value meets the target.
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import Accountant, PureLDP, Shuffle, calibrate
    >>> def survey(eps0):
    ...     return Shuffle(PureLDP(eps0), users=10_000)
    >>> calibrate("eps0", survey, epsilon=0.5, delta=1e-6).value
    4.336
    >>> calibrate("rounds", survey(4.0), epsilon=1.0, delta=1e-6).value
    5
    >>> def with_earlier_ones(eps0):
    ...     return Accountant().compose(survey(2.0), rounds=8).compose(survey(eps0))
    >>> calibrate("eps0", with_earlier_ones, epsilon=0.5, delta=1e-6).value
    3.701
    """
    validate.instance(find, str, "is not a name; give one such as 'eps0'.", "find")
    if find not in searchable():
        raise _cannot_be_found(find)
    if find == "rounds":
        return _rounds(make_round, rounds, epsilon, delta, rtol)
    making = validate.maker("make_round", make_round, "round", find, f"lambda {find}: Shuffle(...)")

    def make(value: float) -> Composed:
        wrong = "is not a round; return a Shuffle or another round, or an Accountant of several."
        kinds = Mechanism, Accountant
        made: Composed = validate.instance(making(value), kinds, wrong, f"make_round({value:g})")
        if isinstance(made, Accountant) and not made.rounds:
            raise InvalidParameter(f"make_round({value:g}) has no rounds; compose one.")
        return made

    times = 1 if rounds is None else validate.count("rounds", rounds, validate.MAX_ROUNDS)
    if find == "colluding":
        return _colluding(make, epsilon, delta, times, rtol)
    values, evaluate = values_of(find, make), evaluation(find, make, delta, times)
    try:
        found = meet(values, evaluate, epsilon, delta, rtol)
    except Infeasible:
        _refuse_constant(find, make, values.grid)
        raise
    if found.beyond is None:
        _refuse_constant(find, make, values.grid)
    return found


def _refuse_constant(find: str, make: Callable[[float], Composed], grid: Grid) -> None:
    """All values meet the target, or none does: is that because `make` ignores its argument?"""
    ends = [grid.value(index) for index in (grid.first, grid.last)]
    try:
        first, last = map(make, ends)
    except Exception:  # whatever it is, one of both values is to blame
        return
    if repeated(first, 1).rounds == repeated(last, 1).rounds and ends[0] != ends[1]:
        both = " and ".join(f"{find}={plain(end)}" for end in ends)
        raise InvalidParameter(
            f"make_round makes the same round, {validate.show(first)}, of {both}; let it use its "
            "argument."
        )


def evaluation(find: str, make: Callable[[float], Composed], delta: float, rounds: int) -> Evaluate:
    """The certified epsilon of so many rounds, by a value of the parameter and a width."""

    def evaluate(value: float, width: float) -> Bounds[float]:
        try:
            round_ = make(value)
        except InvalidParameter:
            if find not in _LIMITS:
                raise
            return _LIMITS[find]
        return best_effort(repeated(round_, rounds).epsilon_bounds, delta, rtol=width)

    return evaluate


def _rounds(
    round_: Any, rounds: int | None, epsilon: float, delta: float, rtol: float
) -> Calibration:
    if rounds is not None:
        raise InvalidParameter("rounds is what is looked for; leave it out.")
    wrong = "is not a round; give a Shuffle, or ask an Accountant for calibrate_rounds(round)."
    validate.instance(round_, Mechanism, wrong)
    return Accountant().calibrate_rounds(round_, epsilon, delta, rtol=rtol)


def _colluding(
    make: Callable[[Any], Composed], epsilon: float, delta: float, rounds: int, rtol: float
) -> Calibration:
    """The largest number of colluding users, by the fewest honest ones: that number is not 0."""
    none = make(0)
    if isinstance(none, (MixedShuffle, Accountant)):
        raise InvalidParameter(
            f"{validate.show(none)} has several groups of users or rounds, for which colluding "
            "cannot be looked for; give a Shuffle."
        )
    if not isinstance(none, RoundOfUsers) or none.colluding:
        raise InvalidParameter(
            f"{validate.show(none)} is not a round of users of whom 0 collude; let make_round use "
            "its argument as colluding."
        )
    honest = none.honest
    inner = evaluation("colluding", lambda kept: make(honest - int(kept)), delta, rounds)
    values = ParameterRange("honest", Multiples(honest), max(honest / 2, 1), grows=False)
    try:
        found = meet(values, inner, epsilon, delta, rtol)
    except Infeasible as error:
        reached = f"epsilon {rounded_up(error.bounds.upper)}"
        raise Infeasible(
            f"no number of colluding users meets epsilon={plain(epsilon)} at delta={plain(delta)}: "
            f"colluding=0 has {reached}; allow that much or change the other parameters.",
            0,
            error.bounds,
        ) from None
    beyond = None if found.beyond is None else honest - int(found.beyond)
    value = honest - int(found.value)
    if beyond is None and value and make(value) == none:
        raise InvalidParameter("make_round ignores colluding; let it use its argument.")
    return replace(found, parameter="colluding", value=value, beyond=beyond)


def values_of(find: str, make: Callable[[float], Composed]) -> ParameterRange:
    """How the parameter is looked for."""
    if find == "users":
        unit = _smallest_population(make)
        return ParameterRange(find, Multiples(validate.MAX_USERS // unit, unit), 1e5, grows=False)
    if find == "sample_rate":
        grid: Grid = Decimals(1e-9, 1.0)
        whole = _last(make(1.0))
        if isinstance(whole, RoundOfUsers) and whole.sampling == "fixed":
            grid = Multiples(whole.users, over=whole.users)
        return ParameterRange(find, grid, 0.1, grows=True)
    own = _own_parameter(find, make)
    parameter = own or parameter_named(find) or ROUND_PARAMETERS.get(find)
    if parameter is None or parameter.search is None:
        raise _cannot_be_found(find)
    least, most = parameter.least, parameter.most
    if parameter.shuffled is not None:  # how far to look is a matter of the view
        least, most = parameter.limits(getattr(_last(make(parameter.search.start)), "view", ""))
    grid = Multiples(int(most), first=int(least)) if parameter.whole else Decimals(least, most)
    grows = parameter.search.grows
    if find in _LIMITS:
        with suppress(OutOfRange):  # no round can be made of bits that say even the most
            make(grid.value(grid.last if grows else grid.first))
    return ParameterRange(find, grid, parameter.search.start, grows)


def _cannot_be_found(find: str) -> InvalidParameter:
    instead = known_instead(find, [*searchable()])
    return InvalidParameter(f"find={validate.show(find)} cannot be looked for; {instead}")


def _last(made: Composed) -> Mechanism:
    """The round that was made, or the last one of an accountant: it says how far to look."""
    return made.rounds[-1][0] if isinstance(made, Accountant) else made


def _own_parameter(find: str, make: Callable[[float], Composed]) -> Parameter | None:
    """The parameter of that name of a central mechanism or of noise shares, if that is made."""
    kinds: tuple[Any, ...] = (*CENTRAL.values(), *SUMMED.values())
    for kind in kinds:
        parameter = parameters_of(kind).get(find)
        if parameter is not None and parameter.search is not None:
            made = _last(make(parameter.search.start))
            inside = made.mechanism if isinstance(made, PoissonSampled) else made
            own: Any = type(inside.randomizer if isinstance(inside, RoundOfUsers) else inside)
            return parameters_of(own).get(find) if issubclass(own, kinds) else None
    return None


def _smallest_population(make: Callable[[float], Composed]) -> int:
    """The fewest users of whom the sampled share is whole, up to the rounding of a float."""
    try:
        round_ = _last(make(validate.MAX_USERS))
        fixed = isinstance(round_, RoundOfUsers) and round_.sampling == "fixed"
        rate = round_.sample_rate if isinstance(round_, RoundOfUsers) and fixed else 1.0
    except SampleNotWhole as error:
        rate = error.rate
    shares = (Fraction(rate).limit_denominator(10**digits) for digits in range(13))
    unit = next(s for s in shares if math.isclose(s, rate, rel_tol=1e-10)).denominator
    make(validate.MAX_USERS // unit * unit)  # what is wrong with it now is not the number of users
    return unit
