"""`shuffledp verify`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from .._support.json_types import Count, Keywords, Positive, Value
from ..errors import InvalidParameter
from ..tools.protocol import round_of_users
from ..tools.verify import verify as enumerate_and_compare
from . import options as o
from .report import print_answer

_EPSILONS = o.numbers("epsilon", "Epsilons, with commas.  [default: fractions of the largest loss]")


class EnumeratedRow(TypedDict):
    """The exact delta of all datasets at one epsilon, beside the bounds."""

    epsilon: Value
    truth: Value
    lower: Value
    upper: Value
    attained: Value
    holds: bool
    others: Sequence[int]
    """the values of all other users in the worst dataset"""
    values: Annotated[Sequence[int], Keywords(minItems=2, maxItems=2)]
    """the two values of the differing user"""


class VerifyAnswer(TypedDict):
    """What `shuffledp verify` answers."""

    holds: bool
    datasets: Count
    rows: Annotated[Sequence[EnumeratedRow], Keywords(minItems=1)]
    rtol: Positive


@o.command()
@o.options(*o.randomizer_options(None), *o.view_options(), o.ANALYSIS, o.USERS, o.RTOL, o.JSON)
@o.options(_EPSILONS)
def verify(
    users: int,
    analysis: str | None,
    view: str | None,
    neighbours: str | None,
    rtol: float,
    form: str,
    epsilon: list[float] | None,
    **given: Any,
) -> None:
    """Enumerate a small round exactly and check the bounds; exit code 1 if one does not hold.

    \b
      shuffledp verify --matrix R.csv --users 5
      shuffledp verify --randomizer rr --k 3 --gamma 0.5 --users 8 --analysis stronger-clones
      shuffledp verify --randomizer unary --k 3 --eps0 2 --users 4 --view aggregate
    """
    if given["randomizer"] is None:
        if given["matrix"] is None:
            raise InvalidParameter(
                "verify needs --matrix FILE or --randomizer NAME, such as --randomizer rr --k 3 "
                "--eps0 1; add one of them."
            )
        given["randomizer"] = "matrix"
    randomizer = o.make_randomizer(given)
    settings = {"view": view or "shuffle", "neighbours": neighbours or "replace"}
    result = enumerate_and_compare(
        randomizer, users, analysis, **settings, epsilons=epsilon, rtol=rtol
    )
    if settings["view"] == "shuffle":
        settings["analysis"] = result.analysis
    rows: list[Any] = [row._asdict() for row in result.rows]
    answer: VerifyAnswer = {
        "holds": result.holds,
        "datasets": result.datasets,
        "rows": rows,
        "rtol": rtol,
    }
    round_ = round_of_users(randomizer, users, **settings)
    print_answer("verify", result, form, answer, round_, holds=result.holds)
