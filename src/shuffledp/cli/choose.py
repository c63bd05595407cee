"""`shuffledp choose`."""

from __future__ import annotations

import sys
from typing import Any

import click

from ..records import OF_USERS, described
from ..tools.choose import TASKS, Choice
from ..tools.choose import choose as ranked
from .figure import draw, picture_options
from .options import (
    CSV,
    JSON,
    PEOPLE,
    RELATION,
    ROUNDS,
    SAMPLING,
    USERS,
    choice,
    command,
    number,
    options,
)
from .report import ANSWER_IS_NO, check_format, json_report

_VIEWS = (*OF_USERS, "any")


@command()
@options(
    USERS,
    number("values", "How many values there are (task count).", whole=True),
    number("epsilon", "The target: at most this epsilon", required=True),
    number("delta", "at this delta.", required=True),
    ROUNDS,
    *(*SAMPLING, *PEOPLE, RELATION),
    number("max-eps0", "No local eps0 above this, and no randomizer without one.  [default: any]"),
    choice("view", _VIEWS, "What is seen.", default="any", show_default=True),
    choice("task", TASKS, "What for.", default="count", show_default=True),
    number("dimension", "The length of the vectors (task vector).", whole=True),
    number("rtol", "Largest relative width of the certified bracket in epsilon.", default=2e-3),
    JSON,
    CSV,
    *picture_options("--plot", "Draw errors against epsilon too: .png, .pdf or .svg."),
)
def choose(as_json: bool, as_csv: bool, picture: str | None, **given: Any) -> None:
    """Which randomizer to deploy: all that meet a target, ranked by the error of the estimate.

    The exit code is 1 if none does.

    \b
      shuffledp choose --users 1e6 --values 100 --epsilon 1 --delta 1e-8
      shuffledp choose --users 1e6 --task mean --epsilon 1 --delta 1e-8 --plot errors.png
      shuffledp choose --users 1e6 --task vector --dimension 100 --epsilon 1 --delta 1e-8
    """
    check_format(as_json, as_csv)
    asked = {name: value for name, value in given.items() if value is not None}
    found = ranked(**asked)
    draw(found.plot, picture)
    if as_json:
        rows = {"choices": [_choice(choice) for choice in found]}
        unmet = {"unmet": [row._asdict() for row in found.unmet]}
        given |= found.question.settings
        click.echo(json_report("choose", {**rows, **unmet}, **given))
    elif as_csv:
        click.echo(found.to_csv(), nl=False)
    else:
        click.echo(str(found))
    if not len(found):
        sys.exit(ANSWER_IS_NO)


def _choice(choice: Choice) -> dict[str, Any]:
    """A choice as the round that it is, with its errors."""
    return {
        **described(choice.round),
        "standard_error": choice.standard_error,
        "average_error": choice.average_error,
        "frequency_error": choice.frequency_error,
        "bits": choice.bits,
        "epsilon": choice.epsilon._asdict(),
        "local_eps0": choice.local_eps0,
    }
