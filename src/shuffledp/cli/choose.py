"""`shuffledp choose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from .._support.json_types import (
    Bracket,
    Count,
    Natural,
    Neighbours,
    Positive,
    Probability,
    RoundReport,
    RoundsAsked,
    Sampling,
    Value,
)
from ..records import USER_ROUNDS, described
from ..tools.choose import TASKS, Choice
from ..tools.choose import choose as rank
from . import options as o
from .figure import draw, picture_options
from .report import print_answer

_VIEWS = (*USER_ROUNDS, "any")
_ERRORS = ("standard_error", "average_error", "frequency_error", "bits")


class ChoiceReport(RoundReport):
    """A randomizer that meets the target, and its errors."""

    standard_error: Value
    average_error: Value
    frequency_error: Value | None
    bits: Value
    """of the messages of one device, without dummies that the shuffler adds"""
    epsilon: Bracket
    local_eps0: Value
    """of one message whose sender is known; Infinity if nothing limits it"""
    caution: str
    """what devices send if it is the true value; else empty"""
    asked: Literal["separate", "bundle", "one-of"] | None
    """how several questions are asked; null if there is one"""


class UnmetReport(TypedDict):
    """A randomizer that does not meet the target, or was not tried."""

    randomizer: str
    view: str
    reason: str


class ChooseAnswer(RoundsAsked):
    """What `shuffledp choose` answers."""

    choices: Sequence[ChoiceReport]
    remarks: str
    """sentences about the columns, about what the errors leave out, and about true values"""
    unmet: Sequence[UnmetReport]
    task: Literal["count", "mean", "vector"]
    users: Count
    values: Count | None
    questions: Count
    dimension: Count | None
    epsilon: float
    delta: Probability
    view: Literal["shuffle", "aggregate", "any"]
    sample_rate: Positive
    sampling: Sampling
    colluding: Natural
    dropouts: Natural
    messages: Count
    neighbours: Neighbours
    max_eps0: Positive | None
    """the largest local eps0 that was allowed; null if any was, and none"""


@o.command()
@o.options(
    o.USERS,
    o.number("values", "Number of values (task count).", whole=True),
    *(*o.TARGET, o.ROUNDS, *o.people_options(), o.view_options()[1]),
    o.number(
        "max-eps0", "Largest local eps0; randomizers without one are left out.  [default: any]"
    ),
    o.choice("view", _VIEWS, "What the adversary sees.", default="any", show_default=True),
    o.choice("task", [*TASKS], "What is estimated.", default="count", show_default=True),
    o.number("dimension", "The length of the vectors (task vector).", whole=True),
    o.number(
        "questions", "Questions of this kind that every user answers.", whole=True, default="1"
    ),
    o.number("rtol", "Largest relative width of the certified bracket in epsilon.", default=2e-3),
    *(o.JSON, o.CSV, *o.TYPESET),
    *picture_options("--plot", "Draw errors against epsilon too: .png, .pdf or .svg."),
)
def choose(form: str, picture: str | None, **given: Any) -> None:
    """Rank the randomizers that meet a target by the error of their estimate.

    Free parameters are calibrated. Not among them: geometric dummies and --value-rate. The exit
    code is 1 if no randomizer meets the target.

    \b
      shuffledp choose --users 1e6 --values 100 --epsilon 1 --delta 1e-8
      shuffledp choose --users 1e6 --task mean --epsilon 1 --delta 1e-8 --plot errors.png
      shuffledp choose --users 1e6 --values 4 --questions 3 --epsilon 1 --delta 1e-8
      shuffledp choose --users 1e6 --task vector --dimension 100 --epsilon 1 --delta 1e-8
    """
    found = rank(**{name: value for name, value in given.items() if value is not None})
    draw(found.plot, picture)
    answer: dict[str, Any] = {
        "choices": [_choice(choice) for choice in found],
        "remarks": found.explained,
        "unmet": [row._asdict() for row in found.unmet],
    }
    answer |= {**given, **found.question.settings}
    print_answer("choose", found, form, answer, holds=len(found) > 0)


def _choice(choice: Choice) -> dict[str, Any]:
    """A choice as the round that it is, with its errors."""
    return {
        **described(choice.round),
        **{name: getattr(choice, name) for name in _ERRORS},
        "epsilon": choice.epsilon._asdict(),
        "local_eps0": choice.local_eps0,
        "caution": choice.caution,
        "asked": choice.asked,
    }
