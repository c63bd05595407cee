"""What a guarantee means: how much an attacker can find out, and Rényi differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import validate
from .._support.numeric import Array, Bounds
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import CaptionedTable, Table, html_table, text_table
from .._support.text import (
    PAGE,
    percent,
    percent_down,
    percent_up,
    plain,
    rounded_up,
    several,
    wrapped,
)
from ..accountant import Accountant, repeated
from ..bounds.readings import false_negative_rates, renyi_divergences, true_positive_rates
from ..errors import InvalidParameter
from ..guarantee import DEFAULT_RTOL, Mechanism, best_effort
from ..profiles.closed_form import GaussianProfile
from ..randomizers import Gaussian
from ..rounds import Round
from . import style, tuning
from .statement import aim, protected_group

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: False positive rates of an attacker, and orders of Rényi divergences, unless others are given.
RATES = (0.001, 0.01, 0.1)
ORDERS = (2.0, 4.0, 8.0, 16.0, 32.0)


@dataclass(frozen=True, eq=False, repr=False)
class Risk(Records, style.Drawable):
    """What an attacker can achieve at most, and the Rényi divergences, of a guarantee.

    Attributes
    ----------
    guarantee : Accountant
        The rounds that were asked about.
    advantage : Bounds
        Largest difference of the true and the false positive rate: delta at epsilon = 0.
    false_positive_rates : tuple of float
        Rates that were asked for.
    true_positive_rates : tuple of float
        For each of them, never below what any attacker achieves with that false positive rate or a
        smaller one.
    false_negative_rates : tuple of float
        For each of them, never above that of any such attacker: the trade-off curve.
    orders : tuple of float
        Orders of the Rényi divergences.
    divergences : tuple of float
        For each order, never below the exact one; infinite if some loss may be, or if no finite
        bound is computed.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle, risk
    >>> found = risk(Shuffle(PureLDP(eps0=4.0), users=10_000), orders=[2])
    >>> found.advantage.upper < 0.041 and found.false_negative_rates[1] > 0.986
    True
    """

    figsize = (6.2, 5.0)
    guarantee: Accountant
    advantage: Bounds[float]
    false_positive_rates: tuple[float, ...]
    true_positive_rates: tuple[float, ...]
    false_negative_rates: tuple[float, ...]
    orders: tuple[float, ...]
    divergences: tuple[float, ...]
    _profile: tuple[Array, Array] = field(repr=False)

    def tradeoff(self, false_positive_rates: Sequence[float]) -> Array:
        """Smallest false negative rate at each of some false positive rates, from below.

        Parameters
        ----------
        false_positive_rates : sequence of float
            Each in [0, 1].

        Returns
        -------
        ndarray
            One rate for each.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        return false_negative_rates(*self._profile, np.array(_rates(false_positive_rates)))

    @property
    def title(self) -> str:
        """Description of the rounds that it is the risk of."""
        rounds, total = self.guarantee.rounds, self.guarantee.total_rounds
        if len(rounds) == 1 and isinstance(rounds[0][0], Round):
            round_ = rounds[0][0]
            relation = f"{round_.relation}{protected_group(round_)}"
            who = f"{several(total, round_.noun)} of {round_.participants}"
            return f"{who}, {round_.inside}, {relation}"
        kinds = several(len(rounds), "kind")
        return f"{several(total, 'round')} of {kinds}, {self.guarantee.relation}"

    def records(self) -> list[dict[str, Any]]:
        readings: list[tuple[str, float | None, float | None, float | None]]
        readings = [("advantage", None, *self.advantage)]
        for rate, found, missed in self._achieved:
            readings.append(("true positive rate", rate, None, found))
            readings.append(("false negative rate", rate, missed, None))
        readings += [("renyi divergence", order, None, value) for order, value in self._renyi]
        names = ("reading", "at", "lower", "upper")
        return [dict(zip(names, row, strict=True)) for row in readings]

    @property
    def _achieved(self) -> list[tuple[float, float, float]]:
        """For each false positive rate: the true positive and the false negative rate."""
        rates = self.false_positive_rates, self.true_positive_rates, self.false_negative_rates
        return list(zip(*rates, strict=True))

    @property
    def _renyi(self) -> list[tuple[float, float]]:
        return list(zip(self.orders, self.divergences, strict=True))

    def __str__(self) -> str:
        best = f"right at most {percent_up((1 + self.advantage.upper) / 2)} of the time"
        composed = [round_ for round_, _ in self.guarantee.rounds]
        tested = aim(composed, self.guarantee.total_rounds)
        attacker = (
            f"An attacker who decides {tested} has an advantage of at "
            f"most {rounded_up(self.advantage.upper)}: {best} if both are equally likely."
        )
        parts = [wrapped(f"{self.title}.", piped=PAGE), wrapped(attacker, piped=PAGE)]
        parts += [
            text_table(*table) for table in (self._rates_table, self._orders_table) if table[1]
        ]
        return "\n\n".join(parts)

    @property
    def _rates_table(self) -> Table:
        rates = ("true positive rate, at most", "false negative rate, at least")
        head = ("false positive rate", *rates)
        return head, [
            (percent(rate), percent_up(found), percent_down(missed))
            for rate, found, missed in self._achieved
        ]

    @property
    def _orders_table(self) -> Table:
        none = "no finite bound"
        rows = [
            (plain(order), rounded_up(value) if value < math.inf else none)
            for order, value in self._renyi
        ]
        return ("order", "Renyi divergence, at most"), rows

    def as_table(self) -> CaptionedTable:
        advantage = f"advantage at most {rounded_up(self.advantage.upper)}"
        return CaptionedTable(f"{self.title}: {advantage}", *self._rates_table)

    def _repr_html_(self) -> str:
        orders = html_table("Rényi divergences", *self._orders_table, named_by=0)
        return super()._repr_html_() + (orders if self.orders else "")

    def draw_on(self, axes: Axes) -> str:
        # the trade-off curve: no attacker gets below it
        places = np.union1d(np.geomspace(1e-5, 1, 200), np.linspace(0, 1, 201))
        missed = self.tradeoff(places.tolist())
        axes.plot(places, 1 - places, color=style.GREY, linestyle="--", label="guessing")
        axes.plot(places, missed, color=style.BLUE, linewidth=2, label="certified trade-off")
        axes.fill_between(places, missed, color=style.BLUE, alpha=0.12, linewidth=0)
        size = style.points(axes, 9.5)
        axes.annotate("no attacker is here", (0.06, 0.05), color=style.BLUE, fontsize=size)
        axes.set(xlabel="false positive rate", ylabel="false negative rate")
        axes.set(xlim=(0, 1), ylim=(0, 1))
        style.finish(axes)
        style.legend_below(axes)
        return self.title


def risk(
    what: Mechanism | Accountant,
    rounds: int = 1,
    *,
    false_positive_rates: Sequence[float] = RATES,
    orders: Sequence[float] = ORDERS,
    rtol: float = DEFAULT_RTOL,
) -> Risk:
    """Risk: how much an attacker can find out from rounds like this one, or from a composition.

    The attacker knows all but one user's data and tests between two neighbouring datasets: which of
    two values the user holds, say. All values are certified readings of the privacy profile.

    Parameters
    ----------
    what : Mechanism or Accountant
        A round, another mechanism, or all that an accountant composed.
    rounds : int
        Number of rounds, 1 to 1e7; 1 for an accountant.
    false_positive_rates : sequence of float
        Each in [0, 1]. For each there are the largest true positive rate and the smallest false
        negative rate.
    orders : sequence of float
        Orders of the Rényi divergences, 1 to 1e6. Divergences of rounds add up. They are infinite
        where a loss may be, and for training, where no finite bound is known here.
    rtol : float
        Relative width in epsilon to aim for, 1e-7 to 0.5.

    Returns
    -------
    Risk
        Print it for a table; `plot` draws the trade-off curve.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle, risk
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> found = risk(survey, rounds=4, false_positive_rates=[0.01], orders=[2, 8])
    >>> found.advantage.upper < 0.0811, found.true_positive_rates[0] < 0.017
    (True, True)
    >>> found.divergences[0] < 0.0415
    True
    """
    rates, all_orders = _rates(false_positive_rates), _orders(orders)
    rtol = validate.tolerance(rtol)
    accountant = _accountant(what, rounds)
    with progress("risk", 3) as done:
        advantage = best_effort(accountant.delta_bounds, 0.0, rtol=rtol)
        done(1)
        accused = np.array(rates)
        profile = _profile(accountant, advantage.upper, accused, rtol)
        done(1)
        divergences = _total_divergences(accountant, np.array(all_orders), rtol)
        done(1)
    caught, missed = (
        side(*profile, accused) for side in (true_positive_rates, false_negative_rates)
    )
    return Risk(
        accountant, advantage, rates, tuple(caught.tolist()), tuple(missed.tolist()), all_orders,
        divergences, profile,
    )  # fmt: skip


def _accountant(what: Any, rounds: int) -> Accountant:
    if isinstance(what, Mechanism):
        return repeated(what, rounds)
    wrong = "is neither a round nor an accountant; give a Shuffle, another mechanism or an "
    accountant: Accountant = validate.instance(what, Accountant, wrong + "Accountant.")
    if rounds != 1:
        raise InvalidParameter(
            f"rounds={validate.show(rounds)} is for one kind of rounds; compose them into the "
            "accountant instead."
        )
    return accountant.copy()


def _listed(name: str, values: Any, what: str, least: float, most: float) -> tuple[float, ...]:
    """The numbers of a list, each within its range."""
    if not validate.listed(values):
        raise InvalidParameter(f"{name}s={validate.show(values)} is not a list; give {what}.")
    return tuple(validate.between(name, value, least, most) for value in values)


def _rates(values: Any) -> tuple[float, ...]:
    return _listed("false_positive_rate", values, "shares in [0, 1]", 0.0, 1.0)


def _orders(values: Any) -> tuple[float, ...]:
    return _listed("order", values, "orders of Rényi divergences >= 1", 1.0, 1e6)


def _profile(
    accountant: Accountant, at_zero: float, accused: Array, rtol: float
) -> tuple[Array, Array]:
    """Guarantees (epsilon, delta) that tell the attacker's limits: any would do, but at each rate
    one epsilon is best, and the nearer an evaluated one is, the less is given away."""
    rounds = accountant._certified_rounds
    if at_zero == 0:
        return np.zeros(1), np.zeros(1)
    # as if losses were normal: their deviation
    spread = 2 * NormalDist().inv_cdf((1 + min(at_zero, 1 - 1e-15)) / 2)
    spread = max(spread, math.sqrt(2 * math.pi) * at_zero)
    usual = spread * (spread / 2 + tuning.FARTHEST)
    end = rounds.max_loss
    even, sparse = np.linspace(0.0, usual, tuning.EVEN), np.geomspace(usual, end, tuning.SPARSE)
    epsilon = np.unique(np.concatenate([[0.0, end], even[even < end], sparse[sparse < end]]))
    least = max(float(accused[accused > 0].min(initial=1.0)) * at_zero * 1e-3, 1e-200)

    def sampled(places: Array) -> Array:
        return np.minimum(rounds.upper_deltas(places, least, rtol), 1.0)

    delta = sampled(epsilon)
    for _ in range(tuning.CLOSER):
        more = np.setdiff1d(_between(epsilon, delta, accused), epsilon)
        if len(more) == 0:
            break
        order = np.argsort(np.append(epsilon, more))
        epsilon, delta = np.append(epsilon, more)[order], np.append(delta, sampled(more))[order]
    return epsilon, delta


def _between(epsilon: Array, delta: Array, accused: Array) -> Array:
    """Epsilons on both sides of the best one for each rate: what counts has one maximum."""
    with np.errstate(over="ignore"):
        few = delta + np.exp(epsilon) * accused[:, None]
        many = 1 - np.exp(-epsilon) * (1 - delta - accused[:, None])
    best = np.unique(np.argmin(np.minimum(few, many), axis=1))
    places = []
    for share in (0.25, 0.5, 0.75):
        for i in best.tolist():
            if i > 0:
                places.append(epsilon[i - 1] + share * (epsilon[i] - epsilon[i - 1]))
            if i + 1 < len(epsilon):
                places.append(epsilon[i] + share * (epsilon[i + 1] - epsilon[i]))
    return np.array(places)


def _total_divergences(accountant: Accountant, orders: Array, rtol: float) -> tuple[float, ...]:
    """Those of the rounds add up, in either order of the neighbours."""
    total = np.zeros((2, len(orders)))
    for round_, count in accountant.rounds if len(orders) else ():
        total += count * renyi_divergences(round_.parts, orders, _distance(round_), rtol)
    return tuple((total.max(axis=0) * (1 + 2.0**-50 * (1 + len(accountant.rounds)))).tolist())


def _distance(round_: Mechanism) -> float:
    """Largest distance, in standard deviations, of normal laws that each part post-processes.

    They are those of a user's own messages, or of a step in which the example is known to be.
    Infinite if there are none.
    """
    randomizer = getattr(round_, "randomizer", None)
    step = getattr(round_, "unamplified", None)
    distance = math.inf
    if isinstance(randomizer, Gaussian):
        between = randomizer.sum_law().distance("replace")
        distance = between * math.sqrt(round_.messages) / randomizer.sigma
    elif isinstance(step, GaussianProfile):
        distance = step.shift
    return distance * (1 + 2.0**-50)
