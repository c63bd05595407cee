"""Exchange with dp-accounting (extra `interop`): shuffled rounds there, central mechanisms here.

What comes from dp-accounting is as sound as dp-accounting: its masses carry rounding errors of its
own, near 1e-16 in the tails. What goes there is an upper bound when it leaves.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._support import validate
from ._support.numeric import Array, Bounds
from ._support.progress import progress
from .accountant import Accountant
from .bounds.certificate import not_certified
from .composition.pld import Sampled, upper_pld
from .errors import InvalidParameter, OutOfRange
from .guarantee import Guarantee, Mechanism
from .mechanisms import MAX_LOSS, GivenPLD
from .profiles.base import Samples, depth_for, larger_of

try:
    import attr
    from dp_accounting import NeighboringRelation, dp_event, privacy_accountant
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "shuffledp.interop needs dp-accounting; install it with pip install 'shuffledp[interop]'."
    ) from error

__all__ = ["ShuffleAccountant", "ShuffleDpEvent", "from_dp_accounting", "to_dp_accounting"]

_MAX_POINTS = 1 << 22
#: Samples up to the epsilon at a delta of 1e-3: costs about 1e-4 in relative epsilon.
_FINENESS = 100
#: The relative width of samples, and of those that are expensive: at 1e-4 training takes 20 s.
_RTOL, _EXPENSIVE_RTOL = 1e-4, 1e-3
#: Masses of dp-accounting may be off by this much.
_ROUNDING = 1e-12
_BUILD_IT = (
    "build it with neighboring_relation=NeighboringRelation.REPLACE_ONE, or with twice the "
    "sensitivity where nothing is sampled"
)

Losses = tuple[Array, Array, float]
#: The neighbours of dp-accounting, and ours.
_RELATIONS: dict[Any, str] = {
    "replace-one": "replace",
    "remove-one": "remove",
    NeighboringRelation.REPLACE_ONE: "replace",
    NeighboringRelation.ADD_OR_REMOVE_ONE: "remove",
}
#: What dp-accounting calls the masses of the other order, its infinite mass, and that it has one.
_ADDED = ("rounded_probability_mass_function_add", "infinity_mass_add", "symmetric")


@progress("exporting")
def to_dp_accounting(
    what: Mechanism | Accountant, *, interval: float | None = None, truncation: float = 1e-30
) -> PrivacyLossDistribution:
    """Pessimistic dp-accounting PLD of a round, a mechanism, or all that was composed.

    For remove-one neighbours it has both orders, as dp-accounting has them for
    NeighboringRelation.ADD_OR_REMOVE_ONE.

    Parameters
    ----------
    what : Mechanism or Accountant
        A round, another mechanism, or an accountant with at least one round.
    interval : float, optional
        Step of the losses, above 0 and up to 500. PLDs must share it to be composed in
        dp-accounting. By default it is chosen to fit.
    truncation : float
        P-mass beyond the last loss that may count as infinite loss, about; 1e-280 to 1.

    Returns
    -------
    PrivacyLossDistribution
        An upper bound when it leaves; dp-accounting adds rounding errors of its own.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument is none of these, or `interval` needs too many points.
    NotCertified
        If no lattice is fine enough for the composition.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.interop import to_dp_accounting
    >>> survey = Shuffle(PureLDP(eps0=2.0), users=1000)
    >>> to_dp_accounting(survey).get_epsilon_for_delta(1e-6) < 1.001 * survey.get_epsilon(1e-6)
    True
    """
    truncation = validate.probability("truncation", truncation)
    if truncation < validate.MIN_DELTA:
        raise OutOfRange(
            f"truncation={truncation!r} is below the supported {validate.MIN_DELTA:g}; give more."
        )
    if interval is not None:
        interval = _interval("interval", interval)
    neighbours = getattr(what, "neighbours", "replace")
    if isinstance(what, Accountant):
        if what.total_rounds == 0:
            raise InvalidParameter("the accountant is empty; compose a round first.")
        if what.total_rounds > 1:
            return _exported(_of_composition(what, interval, truncation), neighbours)
        what = what.rounds[0][0]
    wrong = "is neither a round nor an accountant; give a Shuffle, another mechanism or an "
    validate.instance(what, Mechanism, wrong + "Accountant.")
    if sum(count for _, count in what.parts) > 1:
        return _exported(_of_composition(what, interval, truncation), neighbours)
    return _exported(_of_profile(what, interval, truncation), neighbours)


def _interval(name: str, value: Any) -> float:
    step = validate.real(name, value)
    if not 0 < step <= MAX_LOSS:
        raise InvalidParameter(
            f"{name}={validate.show(value)} is outside (0, {MAX_LOSS:g}]; give a step of the "
            "losses, such as 1e-4."
        )
    return step


def from_dp_accounting(
    pld: PrivacyLossDistribution, *, relation: str | NeighboringRelation
) -> GivenPLD:
    """Mechanism for an `Accountant` from a pessimistic dp-accounting PLD.

    Infinite mass, and what is missing from a total of 1, count as infinite loss.

    Parameters
    ----------
    pld : PrivacyLossDistribution
        Built with pessimistic_estimate=True.
    relation : str or NeighboringRelation
        Neighbours for which the PLD was built, which dp-accounting does not record: "replace-one"
        or "remove-one", or NeighboringRelation.REPLACE_ONE or ADD_OR_REMOVE_ONE. A PLD whose two
        orders differ is not for replace-one neighbours and is refused as such.

    Returns
    -------
    GivenPLD
        As sound as the masses of dp-accounting.

    Raises
    ------
    InvalidParameter
        If it is not such a PLD, or not for the neighbours that are named.

    Examples
    --------
    >>> from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
    >>> from shuffledp.interop import from_dp_accounting
    >>> pld = from_gaussian_mechanism(4.0, sensitivity=2.0)  # one record moves the sum by up to 2
    >>> 2.2 < from_dp_accounting(pld, relation="replace-one").get_epsilon(1e-6) < 2.5
    True
    >>> step = from_gaussian_mechanism(1.0, sampling_prob=0.01)  # of DP-SGD
    >>> from_dp_accounting(step, relation="remove-one").get_epsilon(1e-6) < 0.8
    True
    """
    wrong = "is not a dp-accounting PrivacyLossDistribution; give one."
    validate.instance(pld, PrivacyLossDistribution, wrong)
    neighbours = _RELATIONS.get(relation) if isinstance(relation, Hashable) else None
    if neighbours is None:
        raise InvalidParameter(
            f"relation={validate.show(relation)} is neither replace-one nor remove-one; "
            f"{_BUILD_IT}, and say relation='replace-one', or build it for "
            "NeighboringRelation.ADD_OR_REMOVE_ONE and say relation='remove-one'."
        )
    differs = not pld._symmetric and _differ(_losses(pld._pmf_remove), _losses(pld._pmf_add))
    if neighbours == "replace" and differs:
        raise InvalidParameter(
            "the two orders of the PLD differ, so it is not for replace-one neighbours as "
            f"relation={validate.show(relation)} says; {_BUILD_IT}."
        )
    return _given(pld, neighbours)


def _given(pld: PrivacyLossDistribution, neighbours: str = "replace") -> GivenPLD:
    """Both orders: for replace-one neighbours the larger one counts, where they differ."""
    remove = _losses(pld._pmf_remove)
    if pld._symmetric:
        return GivenPLD(*remove, symmetric=True, neighbours=neighbours)
    add = GivenPLD(*_losses(pld._pmf_add), symmetric=True, neighbours=neighbours)
    return GivenPLD(*remove, reverse=add, neighbours=neighbours)


def _differ(one: Losses, other: Losses) -> bool:
    """Do the losses and masses of two orders differ by more than their rounding?"""
    a, b = (np.concatenate([losses, masses, [lost]]) for losses, masses, lost in (one, other))
    return len(a) != len(b) or not np.allclose(a, b, rtol=0.0, atol=_ROUNDING)


def _losses(pmf: Any) -> Losses:
    """Losses rounded up, masses, infinite mass. dp-accounting has no public names for these."""
    dense = pmf.to_dense_pmf()
    if not dense._pessimistic_estimate:
        raise InvalidParameter(
            "the PLD is an optimistic estimate; build it with pessimistic_estimate=True."
        )
    masses = np.maximum(np.asarray(dense._probs, dtype=float), 0.0)  # an FFT leaves some below 0
    index = np.arange(len(masses)) + float(dense._lower_loss)
    losses = np.nextafter(index * float(dense._discretization), np.inf)
    beyond = losses > MAX_LOSS
    infinite = float(dense._infinity_mass) + math.fsum(masses[beyond])
    if beyond.all():
        return np.zeros(1), np.zeros(1), 1.0
    # how negative a loss is does not matter: the other order is bounded by its own PLD
    return np.maximum(losses[~beyond], -MAX_LOSS), masses[~beyond], min(infinite, 1.0)


class _Orders(NamedTuple):
    """Upper values of the profile of each order of the neighbours, on one lattice."""

    step: float
    places: NDArray[np.int64]
    samples: Sequence[Samples]


def _of_profile(mechanism: Mechanism, interval: float | None, truncation: float) -> _Orders:
    profile = mechanism.profile
    orders = [profile, *([] if profile.reverse is None else [profile.reverse])]
    largest = max(order.max_loss for order in orders)
    step, index = _lattice(mechanism, largest, interval, truncation)
    epsilon, depth = step * index.astype(float), depth_for(-math.log(truncation))
    each = [
        o.sampler(depth, _EXPENSIVE_RTOL if o.is_expensive else _RTOL)(
            np.minimum(epsilon, o.max_loss)
        )
        for o in orders
    ]
    return _Orders(step, index, each)


def _of_composition(what: Guarantee, interval: float | None, truncation: float) -> _Orders:
    orders = what._certified_rounds.compositions
    largest = max(composition.max_loss for composition in orders)
    step, index = _lattice(what, largest, interval, truncation)
    epsilon = step * index.astype(float)
    each = []
    for composition in orders:
        places = np.minimum(epsilon, composition.max_loss)
        rtol = _EXPENSIVE_RTOL if composition.is_expensive else _RTOL
        _, above = composition.deltas(places, truncation, rtol)
        if above.min() == 1:  # every lattice is too long
            raise not_certified("delta", Bounds(0.0, 1.0), rtol)
        if composition.bounded:
            above[epsilon >= composition.max_loss] = 0.0
        each.append(Samples.without_falls(np.zeros(len(above)), above))
    return _Orders(step, index, each)


def _lattice(
    guarantee: Guarantee, max_loss: float, interval: float | None, truncation: float
) -> tuple[float, NDArray[np.int64]]:
    """The step, and indices from 0 to a loss beyond which delta is about `truncation`.

    Not every point is used: evenly spaced ones, scale / _FINENESS apart, then sparser ones.
    """
    end = min(_about(guarantee, truncation), max_loss, MAX_LOSS) or max_loss
    # the smallest epsilon that matters and is not trivial
    epsilons = [_about(guarantee, delta) for delta in (1e-3, 1e-6, 1e-9)]
    scale = min([e for e in epsilons if 0 < e < end], default=end)
    if interval is None:  # the largest loss on the lattice: the first double that reaches it
        steps = math.ceil(end * _FINENESS / scale)
        step = math.nextafter(end / steps, math.inf)
    else:
        step, steps = interval, 0
    if end / step > _MAX_POINTS:
        raise OutOfRange(
            f"interval={step:g} needs {end / step:.3g} points up to the loss {end:g}, above "
            f"{_MAX_POINTS}; give a larger interval or truncation."
        )
    stride = max(1, math.floor(scale / _FINENESS / step))
    return step, _sparse_range(
        max(2, math.ceil(3 * scale / step)), steps or math.ceil(end / step), stride
    )


def _about(guarantee: Guarantee, delta: float) -> float:
    """An epsilon at or a little above the one at this delta."""
    return guarantee.get_epsilon(delta, rtol=0.1)


def _exported(orders: _Orders, neighbours: str) -> PrivacyLossDistribution:
    """With both orders if a value is there or missing, and the larger one if it is replaced."""
    step, index, samples = orders
    if neighbours == "replace" or len(samples) == 1:
        samples = [reduce(larger_of, samples)]
    sampled = [Sampled(index, each) for each in samples]
    given: list[Any] = []
    for first in range(len(sampled)):  # each order, followed by the other one
        pld = upper_pld(step, *sampled[first:], *sampled[:first])
        # dp-accounting divides by the first mass: none may be subnormal, and more mass is safe
        enough = np.where(pld.masses > 0, np.maximum(pld.masses, np.finfo(float).tiny), 0.0)
        masses = dict(zip(pld.index.tolist(), enough.tolist(), strict=True))
        given.append((masses, min(pld.infinite, 1.0)))
    more = {} if len(given) == 1 else dict(zip(_ADDED, (*given[1], False), strict=True))
    return PrivacyLossDistribution.create_from_rounded_probability(*given[0], step, **more)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffleDpEvent(dp_event.DpEvent):  # type: ignore[misc,unused-ignore]
    """A shuffled round, or another mechanism for replace-one neighbours, as a dp-accounting event.

    `ShuffleAccountant` composes it. It refuses what is for remove-one neighbours, such as training:
    compose that in an `Accountant`, or hand it over with `to_dp_accounting`.

    Attributes
    ----------
    mechanism : Mechanism
        A round, or a mechanism such as `ApproximateDP`, for neighbours="replace".

    Raises
    ------
    InvalidParameter
        If it is something else.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.interop import ShuffleDpEvent
    >>> ShuffleDpEvent(Shuffle(PureLDP(eps0=2.0), users=1000)).mechanism.users
    1000
    """

    mechanism: Mechanism

    def __attrs_post_init__(self) -> None:
        wrong = "is not a mechanism; give a Shuffle or one such as ApproximateDP."
        validate.instance(self.mechanism, Mechanism, wrong, "mechanism")


class ShuffleAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc,unused-ignore]
    """A dp-accounting accountant that knows `ShuffleDpEvent` and composes with shuffledp.

    The guarantee is for replace-one neighbours. dp-accounting's PLDAccountant builds the PLD of
    every other event, for these neighbours as well: Poisson-sampled Gaussian noise, a step of
    DP-SGD, then costs more than for remove-one. For that, compose `PoissonSampled` in an
    `Accountant`, or hand it to dp-accounting with `to_dp_accounting`. The composition is ours.

    Parameters
    ----------
    value_discretization_interval : float
        Step of the losses of these PLDs, above 0 and up to 500.

    Raises
    ------
    InvalidParameter
        If the step is outside its limits.

    Examples
    --------
    >>> import dp_accounting
    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.interop import ShuffleAccountant, ShuffleDpEvent
    >>> survey = ShuffleDpEvent(Shuffle(PureLDP(eps0=2.0), users=1000))
    >>> accountant = ShuffleAccountant().compose(survey, 4)
    >>> epsilon = accountant.compose(dp_accounting.GaussianDpEvent(8.0)).get_epsilon(1e-6)
    >>> 1 < epsilon < 2
    True
    """

    def __init__(self, value_discretization_interval: float = 1e-4) -> None:
        super().__init__(NeighboringRelation.REPLACE_ONE)
        self._interval = _interval("value_discretization_interval", value_discretization_interval)
        self._accountant = Accountant()
        self._private = True

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        if isinstance(event, dp_event.NonPrivateDpEvent):
            self._private &= not do_compose
            return None
        if isinstance(event, dp_event.SelfComposedDpEvent):
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if isinstance(event, dp_event.ComposedDpEvent):
            answers = (self._maybe_compose(e, count, do_compose) for e in event.events)
            return next((answer for answer in answers if answer is not None), None)
        if isinstance(event, ShuffleDpEvent):
            if event.mechanism.neighbours != "replace":
                raise InvalidParameter(
                    f"{event.mechanism!r} is for {event.mechanism.relation} neighbours, this "
                    "accountant for replace-one; compose it in a shuffledp.Accountant, or hand it "
                    "over with to_dp_accounting."
                )
            if do_compose:
                self._accountant.compose(event.mechanism, count)
            return None
        theirs = PLDAccountant(self.neighboring_relation, self._interval)
        refused = theirs._maybe_compose(event, 1, do_compose)
        if refused is None and do_compose:
            self._private &= not theirs._contains_non_dp_event
            if not isinstance(event, dp_event.NoOpDpEvent):
                # built for our relation: where its orders differ, the larger one is right
                self._accountant.compose(_given(theirs._pld), count)
        return refused

    def get_epsilon(self, target_delta: float) -> float:
        """Epsilon at this delta; infinite if a non-private event was composed.

        Parameters
        ----------
        target_delta : float
            Privacy parameter, 0 for pure DP or 1e-280 to 1.

        Returns
        -------
        float
            As sound as the PLDs of dp-accounting.
        """
        return self._accountant.get_epsilon(target_delta) if self._private else math.inf

    def get_delta(self, target_epsilon: float) -> float:
        """Delta at this epsilon; 1 if a non-private event was composed.

        Parameters
        ----------
        target_epsilon : float
            Privacy parameter, 0 or larger.

        Returns
        -------
        float
            As sound as the PLDs of dp-accounting.
        """
        return self._accountant.get_delta(target_epsilon) if self._private else 1.0


def _sparse_range(dense: int, top: int, stride: int) -> NDArray[np.int64]:
    """Return 0, stride, ..., dense, and then geometrically sparser indices up to top."""
    near = np.arange(0, min(dense, top), stride, dtype=np.int64)
    if top <= dense:
        return np.append(near, top)
    count = math.ceil(math.log(top / dense) / math.log1p(stride / dense)) + 1
    far = np.unique(np.rint(np.geomspace(dense, top, count + 1)).astype(np.int64))
    return np.concatenate([near, far])
