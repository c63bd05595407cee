"""`shuffledp adversaries`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from .._support.json_types import Keywords, Probability, RoundsAsked, Value
from .._support.numeric import Bounds
from ..errors import NotCertified
from ..guarantee import too_wide
from ..tools.adversaries import Ladder
from ..tools.adversaries import adversaries as compare_analyses
from ..tools.protocol import round_of_users, split
from . import options as o
from .report import epsilon_shortfall, print_answer


class LadderRow(TypedDict):
    """The epsilon of one analysis."""

    analysis: str
    lower: Value
    upper: Value | None
    """null for what is attained, which has no upper bound"""
    adversary: str


class AdversariesAnswer(RoundsAsked):
    """What `shuffledp adversaries` answers."""

    delta: Probability
    rows: Annotated[Sequence[LadderRow], Keywords(minItems=2)]


@o.command()
@o.options(
    *o.randomizer_options("rr"),
    *o.view_options(),
    o.USERS,
    *o.people_options(),
    *(o.ROUNDS, o.RTOL, o.JSON, o.CSV, *o.TYPESET, o.DELTA),
)
def adversaries(
    delta: float, users: int, rounds: int, rtol: float, form: str, **given: Any
) -> None:
    """How epsilon depends on what the adversary knows, and on what the proof uses.

    With --view aggregate: from seeing every message down to the sums.

    \b
      shuffledp adversaries --k 4 --gamma 0.25 --users 1000 --delta 1e-6 --rounds 16
      shuffledp adversaries --randomizer subset --k 8 --size 2 --eps0 2 --users 1e5 --delta 1e-6
      shuffledp adversaries --k 4 --eps0 1 --users 1e4 --sample-rate 0.1 --delta 1e-6
      shuffledp adversaries --view aggregate --randomizer oue --k 8 --eps0 6 --users 9 --delta 1e-3
    """
    randomizer, settings = o.make_randomizer(given), split(given)[2]
    ladder = compare_analyses(randomizer, users, delta, rounds=rounds, rtol=rtol, **settings)
    round_, shortfall = (
        round_of_users(randomizer, users, **settings),
        _shortfall(delta, ladder, rtol),
    )
    rows: list[Any] = [row._asdict() for row in ladder]
    answer: AdversariesAnswer = {"delta": delta, "rows": rows, "rounds": rounds, "rtol": rtol}
    print_answer("adversaries", ladder, form, answer, round_, shortfall=shortfall)


def _shortfall(delta: float, ladder: Ladder, rtol: float) -> NotCertified | None:
    """A bracket that is too wide; of infinite epsilons only that of the last analysis, which is the
    guarantee: the others tell what more knowledge costs."""
    brackets = [Bounds(row.lower, row.upper) for row in ladder if row.upper is not None]
    problems = (too_wide(bounds, rtol) for bounds in brackets)
    return epsilon_shortfall(delta, brackets[-1], rtol) or next(filter(None, problems), None)
