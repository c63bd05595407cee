"""`shuffledp epsilon` and `shuffledp delta`."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, NotRequired, TypedDict

from .._support.json_types import Finite, Keywords, Probabilities, RoundsAsked, Value, Values
from .._support.numeric import Bounds
from .._support.progress import progress
from .._support.text import plain, rounded_down, rounded_up
from ..accountant import Accountant, repeated
from ..errors import NotCertified
from ..guarantee import best_effort, no_guarantee
from ..mixed import MixedShuffle
from ..rounds import Round
from ..tools.statement import statement
from .options import GROUPS, PROTOCOL, command, make_round, numbers, options
from .report import print_answer

_SEVERAL = "several with commas, or repeated."
_VALUES: dict[str, Any] = {"required": True, "multiple": True}


class GroupBounds(TypedDict):
    """The bounds of one group of users."""

    name: str
    lower: Sequence[Value]
    upper: Sequence[Value]


class Answered(RoundsAsked):
    """What the answers of epsilon and delta share."""

    lower: Values
    upper: Values
    """the numbers to publish, one for each value that was asked for"""
    certified: Annotated[Sequence[bool], Keywords(minItems=1)]
    """whether each bracket is as narrow as rtol, and the upper value a guarantee: a finite epsilon,
    a delta below 1"""
    statement: str
    """the text that is printed without --json"""
    groups: NotRequired[Annotated[Sequence[GroupBounds], Keywords(minItems=2)]]
    """of users with different randomizers, the bounds of every group"""


class EpsilonAnswer(Answered):
    """What `shuffledp epsilon` answers."""

    delta: Annotated[Probabilities, Keywords(minItems=1)]


class DeltaAnswer(Answered):
    """What `shuffledp delta` answers."""

    epsilon: Annotated[Sequence[Finite], Keywords(minItems=1)]


@command()
@options(
    *(*PROTOCOL, *GROUPS),
    numbers("delta", f"The delta; {_SEVERAL} 0 asks for pure DP.", **_VALUES),
)
def epsilon(delta: Sequence[Sequence[float]], **given: Any) -> None:
    """Which epsilon holds at a given delta; exit code 3 if none is certified.

    \b
      shuffledp epsilon --eps0 4 --users 10000 --rounds 4 --delta 1e-6
      shuffledp epsilon --eps0 1 --users 1e9 --delta 1e-6,1e-9 --json
      shuffledp epsilon --randomizer rr --k 16 --group "users=900k eps0=4" \\
        --group "users=100k eps0=2" --delta 1e-8
    """
    _answer("epsilon", "delta", [*chain(*delta)], **given)


@command()
@options(*PROTOCOL, *GROUPS, numbers("epsilon", f"The epsilon; {_SEVERAL}", **_VALUES))
def delta(epsilon: Sequence[Sequence[float]], **given: Any) -> None:
    """Which delta holds at a given epsilon; exit code 3 if none below 1 is certified.

    \b
      shuffledp delta --eps0 4 --users 10000 --rounds 4 --epsilon 1
      shuffledp delta --eps0 4 --users 1e5 --analysis clones --epsilon 0.1,0.2 --json
    """
    _answer("delta", "epsilon", [*chain(*epsilon)], **given)


def _answer(
    query: str, at: str, values: list[float], rounds: int, rtol: float, form: str, **given: Any
) -> None:
    """Print the bounds of `query`, "epsilon" or "delta", at each value of the other, `at`.

    A bracket that is too wide is printed all the same; the exit code then says so.
    """
    round_ = make_round(given)
    accountant = repeated(round_, rounds)
    ask = accountant.epsilon_bounds if query == "epsilon" else accountant.delta_bounds
    bounds, certified, shortfall = [], [], None
    with progress(query, len(values) if len(values) > 1 else None) as done:
        for value in values:
            width_error = None
            try:
                bounds.append(ask(value, rtol=rtol))
            except NotCertified as error:  # an answer all the same, and a word about its width
                bounds.append(error.bounds)
                width_error = error
            problem = no_guarantee(query, value, bounds[-1]) or width_error
            certified.append(problem is None)
            shortfall = problem or shortfall
            done(1)
    guarantees = [
        _guarantee(accountant, query, at, value, b, rtol)
        for value, b in zip(values, bounds, strict=True)
    ]
    groups = _by_group(round_, rounds, query, values, rtol)
    text = statement(round_, rounds, guarantees, _group_lines(groups, query, at, values))
    lower, upper = ([float(side) for side in sides] for sides in zip(*bounds, strict=True))
    answer: Answered = {
        "lower": lower,
        "upper": upper,
        "certified": certified,
        "statement": text,
        "rounds": rounds,
        "rtol": rtol,
    }
    if groups:
        answer["groups"] = [
            {"name": name, "lower": [b.lower for b in found], "upper": [b.upper for b in found]}
            for name, found in groups.items()
        ]
    print_answer(query, text, form, {at: values, **answer}, round_, shortfall=shortfall)


def _by_group(
    round_: Round, rounds: int, query: str, values: Sequence[float], rtol: float
) -> dict[str, list[Bounds[float]]]:
    """The bounds of every protected group of a mixed population, by its name."""
    if not isinstance(round_, MixedShuffle) or len(round_.protected) == 1:
        return {}
    found = {}
    for group in round_.protected:
        account = repeated(round_.of(group.name), rounds)
        ask = account.epsilon_bounds if query == "epsilon" else account.delta_bounds
        found[group.name] = [best_effort(ask, value, rtol=rtol) for value in values]
    return found


def _group_lines(
    groups: Mapping[str, Sequence[Bounds[float]]], query: str, at: str, values: Sequence[float]
) -> list[tuple[str, str]]:
    """What a statement says of every group."""
    if not groups:
        return []
    return [
        (
            "by group",
            ", ".join(
                f"{name!r}: {query} = {rounded_up(float(found[i].upper))}"
                for name, found in groups.items()
            )
            + f" at {at} = {plain(value)}",
        )
        for i, value in enumerate(values)
    ]


def _guarantee(
    accountant: Accountant, query: str, at: str, value: float, bounds: Bounds[float], rtol: float
) -> tuple[str, str, str]:
    """(epsilon, delta, bracket) as `statement` takes them."""
    low, high = rounded_down(float(bounds.lower), 7), rounded_up(float(bounds.upper), 7)
    pair = {query: rounded_up(float(bounds.upper)), at: plain(value)}
    bracket = f"{low} <= exact {query} of the analyzed pair <= {high} at {at} = {plain(value)}"
    if query == "epsilon" and bounds.upper == math.inf:
        bracket = _explain_infinite(accountant, value, bounds.lower, rtol)
    return pair["epsilon"], pair["delta"], bracket


def _explain_infinite(accountant: Accountant, delta: float, lower: float, rtol: float) -> str:
    """Why no epsilon holds at this delta, and from which delta on there is one."""
    if delta == 0:
        return "the privacy loss has no upper limit. Ask with a delta above 0."
    if lower < math.inf:
        return f"all that is known is that epsilon is at least {rounded_down(lower)}."
    # beyond all finite losses, delta is the probability of the infinite one
    least = rounded_up(accountant.get_delta(sys.float_info.max, rtol=rtol))
    why = "the probability of results that only one of two neighbouring datasets can have is larger"
    if float(least) >= 1:
        return f"{why}. No delta below 1 has a finite epsilon."
    return f"{why}. A finite epsilon exists for delta >= {least}."
