"""How many colluding users a plan survives."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from .._support.numeric import Bounds
from .._support.text import plain
from ..calibration import Calibration, Decimals, ParameterRange, meet
from ..errors import Infeasible, InvalidParameter
from ..guarantee import DEFAULT_RTOL
from ..mixed import MixedShuffle
from ..rounds import RoundOfUsers
from .participation import Costs
from .periods import period_accounts

if TYPE_CHECKING:
    from .plan import Plan

#: Shares of colluding users, in four digits.
_SHARES = Decimals(1e-4, 0.9999)


def colluding_share(plan: Plan, *, rtol: float = DEFAULT_RTOL) -> Calibration:
    """The largest share of the users of every round that may collude if the plan is to fit.

    Parameters
    ----------
    plan : Plan
        What its entries say of colluding users is replaced.
    rtol : float
        The relative width of each bracket to aim for.

    Returns
    -------
    Calibration
        Its `value` is the share, in four digits, with which the target and all budgets are
        certified to be kept; one step `beyond` they are not. `achieved` has the epsilon of the plan
        there or, if a budget for a period is closer to its end, the same share of the target.

    Raises
    ------
    InvalidParameter
        If the plan has no rounds of users, or one with several groups of them.
    Infeasible
        If no share of 0.0001 or more is left; the error says whether the plan fits with none.

    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.tools.colluders import colluding_share
    >>> from shuffledp.tools.plan import PlannedRound
    >>> survey = PlannedRound("survey", Shuffle(PureLDP(4.0), users=10_000))
    >>> colluding_share(Plan(0.5, 1e-6, (survey,))).value
    0.2969
    """
    mixed = [each.name for each in plan.rounds if isinstance(each.round, MixedShuffle)]
    if mixed:
        raise InvalidParameter(
            f"the entry {mixed[0]!r} has several groups of users, for which colluding cannot be "
            "looked for; leave out find."
        )
    if not any(isinstance(planned.round, RoundOfUsers) for planned in plan.rounds):
        raise InvalidParameter(
            "the plan has no rounds of users of whom some could collude; leave out find."
        )

    def evaluate(share: float, width: float) -> Bounds[float]:
        try:
            return _scaled_epsilon(_with_colluding(plan, share), Costs(width))
        except InvalidParameter:  # nobody is left to protect
            return Bounds(math.inf, math.inf)

    shares = ParameterRange("colluding", _SHARES, 0.1, grows=True)
    try:
        return meet(shares, evaluate, plan.epsilon, plan.delta, rtol)
    except Infeasible as error:
        none = _scaled_epsilon(_with_colluding(plan, 0.0), Costs(rtol)).upper
        smallest = "colluding=0.0001 of the users of every round, the smallest share that is tried"
        share = smallest if none <= plan.epsilon else "0 colluding users either"
        every = " and all budgets" if plan.budgets else ""
        raise Infeasible(
            f"the plan is not certified to fit the target ({plain(plan.epsilon)}, "
            f"{plain(plan.delta)}){every} with {share}; plan fewer rounds or allow more.",
            error.nearest,
            error.bounds,
        ) from None


def _with_colluding(plan: Plan, share: float) -> Plan:
    rounds = []
    for planned in plan.rounds:
        kind = planned.round
        if isinstance(kind, RoundOfUsers):
            count = math.floor(share * kind.users)
            kind = replace(kind, colluding=count)  # type: ignore[type-var]
        rounds.append(replace(planned, round=kind))
    return replace(plan, rounds=tuple(rounds))


def _scaled_epsilon(plan: Plan, costs: Costs) -> Bounds[float]:
    """The largest of all epsilons, each over its budget, times the target."""
    people = plan.people()
    found = [
        (costs.worst(person.attendances(), plan.delta)[0], plan.epsilon)
        for person in people.values()
    ]
    for budget in plan.budgets:
        found += [(each.total, budget.epsilon) for each in period_accounts(budget, people, costs)]
    lower, upper = (
        max(_share(bounds[side], budget) for bounds, budget in found) * plan.epsilon
        for side in (0, 1)
    )
    # a quotient that is rounded must not turn an excess into none
    exceeded = any(bounds.upper > budget for bounds, budget in found)
    return Bounds(lower, max(upper, math.nextafter(plan.epsilon, math.inf)) if exceeded else upper)


def _share(epsilon: float, budget: float) -> float:
    return epsilon / budget if budget else (math.inf if epsilon else 0.0)
