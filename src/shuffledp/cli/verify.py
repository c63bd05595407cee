"""`shuffledp verify`."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidParameter
from ..tools.protocol import round_of_users
from ..tools.verify import verify as enumerate_and_compare
from . import options as o
from .report import print_answer

_EPSILONS = o.numbers("epsilon", "Epsilons, with commas; else shares of the most.")


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
    rows = [row._asdict() for row in result.rows]
    answer = {"holds": result.holds, "datasets": result.datasets, "rows": rows}
    round_ = round_of_users(randomizer, users, **settings)
    print_answer("verify", result, form, answer, round_, holds=result.holds, rtol=rtol)
