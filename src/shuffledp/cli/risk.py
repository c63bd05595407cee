"""`shuffledp risk`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from .._support.json_types import Positive, Probabilities, Probability, RoundsAsked, Value
from .._support.text import PAGE, rounded_down, rounded_up, wrapped
from ..guarantee import no_guarantee
from ..tools.risk import ORDERS, RATES
from ..tools.risk import risk as readings
from ..tools.statement import background
from .figure import PICTURE, draw
from .options import CSV, GROUPS, PROTOCOL, TYPESET, command, make_round, numbers, options
from .report import print_answer


def _listed(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


_RATES = numbers("false-positive-rate", "False positive rates.", default=_listed(RATES))
_ORDERS = numbers("order", "Orders of the Renyi divergences, from 1 on.", default=_listed(ORDERS))


class Advantage(TypedDict):
    """The largest true minus false positive rate."""

    lower: Probability
    upper: Probability


class RiskAnswer(RoundsAsked):
    """What `shuffledp risk` answers."""

    advantage: Advantage
    false_positive_rate: Probabilities
    """shares of the innocent that are accused"""
    true_positive_rate_upper: Probabilities
    """the largest share of the guilty that is caught at each of them"""
    false_negative_rate_lower: Probabilities
    """the smallest share of the guilty that is missed at each of them"""
    order: Sequence[Positive]
    """orders of the Rényi divergences"""
    renyi_divergence_upper: Sequence[Value]
    """at each order, of all rounds together"""


@command()
@options(*PROTOCOL, *GROUPS, _RATES, _ORDERS, CSV, *TYPESET, *PICTURE)
def risk(
    false_positive_rate: Sequence[float],
    order: Sequence[float],
    rounds: int,
    rtol: float,
    form: str,
    picture: str | None,
    **given: Any,
) -> None:
    """How much an attacker can find out: advantage, error rates, Renyi divergences.

    The picture is the trade-off curve: no attacker has a smaller false negative rate.

    \b
      shuffledp risk --eps0 4 --users 10000 --rounds 4
      shuffledp risk --randomizer rr --k 16 --eps0 2 --users 1e5 --false-positive-rate 1e-4,1%
    """
    round_ = make_round(given)
    rates: dict[str, Any] = {"false_positive_rates": false_positive_rate, "orders": order}
    found = readings(round_, rounds, rtol=rtol, **rates)
    draw(found.plot, picture)
    shortfall = no_guarantee("delta", 0.0, found.advantage)  # the advantage is delta at epsilon 0
    lower, upper = found.advantage
    answer: RiskAnswer = {
        "advantage": {"lower": lower, "upper": upper},
        "false_positive_rate": found.false_positive_rates,
        "true_positive_rate_upper": found.true_positive_rates,
        "false_negative_rate_lower": found.false_negative_rates,
        "order": found.orders,
        "renyi_divergence_upper": found.divergences,
        "rounds": rounds,
        "rtol": rtol,
    }
    ends = rounded_down(lower, 7), rounded_up(upper, 7)
    bracket = wrapped(
        f"{ends[0]} <= exact advantage of the analyzed pair <= {ends[1]}",
        "  bracket      ",
        15,
        piped=PAGE,
    )
    text = f"{found}\n\n{bracket}\n{background(round_, rounds)}"
    shown = found if form else text
    print_answer("risk", shown, form, answer, round_, shortfall=shortfall)
