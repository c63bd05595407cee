"""Central mechanisms: noise of a known law, a guarantee (an (epsilon, delta), a profile, a PLD),
and Poisson samples of any of them.

They are for replace-one neighbours unless neighbours="remove" says that they hold for these, like
the rounds that they are composed with.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import profiles
from ._support import validate
from ._support.numeric import Array, digest
from ._support.text import plain, several
from .central import (
    BinomialNoise,
    CentralNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    Given,
    LaplaceNoise,
    SkellamNoise,
)
from .errors import InvalidParameter, OutOfRange
from .guarantee import NEIGHBOURS
from .profiles.base import PairProfile, PrivacyProfile, largest
from .profiles.closed_form import Polygon, PolygonProfile
from .randomizers import Analysis
from .randomizers.analyses import EVERY_EXAMPLE, OF_TRAINING, chapter, fixed_beforehand

if TYPE_CHECKING:
    from .profiles.base import Parts

__all__ = [
    "ApproximateDP",
    "BinomialNoise",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "GaussianNoise",
    "GivenPLD",
    "GivenProfile",
    "LaplaceNoise",
    "PoissonSampled",
    "SkellamNoise",
]

#: Larger losses are as good as infinite.
MAX_LOSS = 500.0
#: How far a sum of rounded probabilities may be from 1 without anything being missing.
_ROUNDING = 2.0**-50
#: How far a sum may exceed 1: more mass only makes the bound larger, much more is a mistake.
_EXCESS = 1e-4

Numbers = Sequence[float] | NDArray[Any]


@dataclass(frozen=True)
class ApproximateDP(Given):
    """Any mechanism that is (epsilon, delta)-DP.

    Its worst pair loses epsilon one way or the other, and everything with probability delta
    (Kairouz, Oh, Viswanath 2015). An epsilon between 0 and 1e-20 counts as 1e-20, in upper and in
    lower values.

    Parameters
    ----------
    epsilon : float
        Privacy parameter, 0 to 500.
    delta : float
        Privacy parameter, 0 to 1.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import Accountant
    >>> from shuffledp.mechanisms import ApproximateDP
    >>> Accountant().compose(ApproximateDP(epsilon=0.1, delta=1e-8), 100).get_epsilon(1e-5) < 5
    True
    """

    name: ClassVar[str] = "approximate-dp"

    epsilon: float
    delta: float = 0.0
    neighbours: str = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        validate.choice("neighbours", self.neighbours, NEIGHBOURS)
        epsilon, delta = _points([self.epsilon], [self.delta])
        object.__setattr__(self, "epsilon", float(epsilon[0]))
        object.__setattr__(self, "delta", float(delta[0]))

    @property
    def described(self) -> str:
        return f"any that is ({plain(self.epsilon)}, {plain(self.delta)})-differentially private"

    @property
    def profile(self) -> PolygonProfile:
        points = np.array([self.epsilon]), np.array([self.delta])
        return PolygonProfile(Polygon.of_points(*points))


@dataclass(frozen=True, repr=False)
class GivenProfile(Given):
    """A mechanism that is (epsilons[i], deltas[i])-DP for every i.

    Between the points the profile is convex in e^epsilon: its chords bound it from above. An
    epsilon between 0 and 1e-20 counts as 1e-20, in upper and in lower values.

    Parameters
    ----------
    epsilons : sequence of float
        At least one, each 0 to 500.
    deltas : sequence of float
        One for each epsilon, 0 to 1.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.mechanisms import GivenProfile
    >>> GivenProfile(epsilons=[0.5, 1.0], deltas=[1e-3, 1e-6]).get_epsilon(1e-4) < 0.965
    True
    """

    name: ClassVar[str] = "profile"

    epsilons: Numbers
    deltas: Numbers
    neighbours: str = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        validate.choice("neighbours", self.neighbours, NEIGHBOURS)
        epsilons, deltas = _points(self.epsilons, self.deltas)
        object.__setattr__(self, "epsilons", tuple(epsilons.tolist()))
        object.__setattr__(self, "deltas", tuple(deltas.tolist()))

    @functools.cached_property
    def profile(self) -> PolygonProfile:
        return PolygonProfile(Polygon.of_points(np.array(self.epsilons), np.array(self.deltas)))

    @property
    def described(self) -> str:
        many = several(len(self.epsilons), "guarantee")
        least, most = plain(min(self.epsilons)), plain(max(self.epsilons))
        return f"any that satisfies {many} (epsilon, delta), epsilon from {least} to {most}"

    def __repr__(self) -> str:
        least, most = min(self.epsilons), max(self.epsilons)
        return f"<GivenProfile: {len(self.epsilons)} guarantees, epsilon {least:g} to {most:g}>"


@dataclass(frozen=True, eq=False, repr=False)
class GivenPLD(Given):
    """A mechanism with a dominating pair (P, Q): P-masses at privacy losses log P/Q.

    Neighbours come in both orders. If neither `reverse` nor `symmetric` says what the other order
    is, it is derived from the same masses, where what Q = P e^-loss lacks counts as infinite loss.
    For neighbours="replace" an accountant composes the larger of both profiles: sound, and exact
    for a symmetric pair. For neighbours="remove" P is the law with the value in question and Q the
    law without it; both orders are composed by themselves and the larger result counts.

    Parameters
    ----------
    losses : sequence of float
        Privacy losses log P/Q, -500 to 500.
    masses : sequence of float
        P-probability of each loss, 0 or larger.
    infinite : float
        P-probability of an infinite loss, 0 to 1. Mass that is missing from a sum of 1 is added to
        it, unless the rounding of the masses explains it (4e-15).
    symmetric : bool
        Whether these masses bound both orders.
    reverse : GivenPLD, optional
        PLD of the other order.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If the masses are not those of a distribution, a loss is too large, or two arguments
        contradict each other.

    Examples
    --------
    >>> from math import exp
    >>> from shuffledp.mechanisms import GivenPLD
    >>> GivenPLD(losses=[1, -1], masses=[exp(1) / (1 + exp(1)), 1 / (1 + exp(1))]).get_epsilon(0)
    1.0
    """

    name: ClassVar[str] = "pld"

    losses: Numbers
    masses: Numbers
    infinite: float = 0.0
    symmetric: bool = False
    reverse: GivenPLD | None = None
    neighbours: str = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        validate.choice("neighbours", self.neighbours, NEIGHBOURS)
        losses, masses = _numbers("losses", self.losses), _numbers("masses", self.masses)
        if len(losses) != len(masses):
            raise InvalidParameter(
                f"there are {len(losses)} losses and {len(masses)} masses; give one mass for each."
            )
        if np.abs(losses).max() > MAX_LOSS:
            raise OutOfRange(
                f"losses reach {np.abs(losses).max():g}, beyond {MAX_LOSS:g}; add the masses "
                "there to infinite."
            )
        if masses.min() < 0:
            raise InvalidParameter(f"masses has {masses.min():g}; give probabilities >= 0.")
        infinite = validate.real("infinite", self.infinite)
        if not 0 <= infinite <= 1:
            raise InvalidParameter(f"infinite={infinite!r} is outside [0, 1]; give a probability.")
        wrong = "is no truth value; give True or False."
        validate.instance(self.symmetric, bool, wrong, "symmetric")
        if self.symmetric and self.reverse is not None:
            raise InvalidParameter("symmetric=True contradicts reverse=...; leave one of them out.")
        wrong = "is not a GivenPLD; give one or none."
        validate.instance(self.reverse, (GivenPLD, type(None)), wrong, "reverse")
        _lacking("P", math.fsum(masses) + infinite)
        losses.flags.writeable = masses.flags.writeable = False
        for name, value in (("losses", losses), ("masses", masses), ("infinite", infinite)):
            object.__setattr__(self, name, value)

    @functools.cached_property
    def profile(self) -> PrivacyProfile:
        forward = PolygonProfile(self._polygon())
        if self.symmetric:
            return forward
        other = self._backward() if self.reverse is None else self.reverse._polygon()
        backward = PolygonProfile(other)
        if self.neighbours == "remove":
            return PairProfile(forward, backward)
        return largest((forward, backward))

    def _backward(self) -> Polygon:
        """Of the other order, from the masses of this one."""
        losses, masses = np.asarray(self.losses), np.asarray(self.masses)
        with np.errstate(under="ignore"):
            reversed_masses = masses * np.exp(-losses)
            # e^-loss errs by its exponent
            scale = 4 + float(reversed_masses @ np.abs(losses))
        missing = _lacking("Q = P e^-loss", math.fsum(reversed_masses), scale)
        return Polygon.of_losses(-losses, reversed_masses, missing)

    @property
    def given(self) -> dict[str, Any]:
        reverse = None if self.reverse is None else self.reverse.given
        numbers = {name: np.asarray(getattr(self, name)).tolist() for name in ("losses", "masses")}
        return {**super().given, **numbers, "reverse": reverse}

    @property
    def reported(self) -> dict[str, Any]:
        """Parameters by name for a report; losses and masses are replaced by their digest."""
        orders = [self] if self.reverse is None else [self, self.reverse]
        lines = np.concatenate([np.array([each.losses, each.masses]) for each in orders], axis=1)
        told = {"infinite": self.infinite, "symmetric": self.symmetric}
        return {"losses_and_masses": {"shape": list(lines.shape), "sha256": digest(lines)}, **told}

    def _polygon(self) -> Polygon:
        """Of this order alone."""
        losses, masses = np.asarray(self.losses), np.asarray(self.masses)
        missing = _lacking("P", math.fsum(masses) + self.infinite)
        infinite = math.nextafter(self.infinite + missing, 1.0) if missing else self.infinite
        return Polygon.of_losses(losses, masses, infinite)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GivenPLD):
            return False
        return self.neighbours == other.neighbours and self.profile == other.profile

    def __hash__(self) -> int:
        return hash(self.profile)

    @property
    def described(self) -> str:
        losses = np.asarray(self.losses)
        least, most = plain(float(losses.min())), plain(float(losses.max()))
        return (
            f"any that a privacy loss distribution dominates: {len(losses):,} losses from "
            f"{least} to {most}, an infinite loss with probability {plain(self.infinite)}"
        )

    def __repr__(self) -> str:
        losses = np.asarray(self.losses)
        return (
            f"<GivenPLD: {len(losses)} losses from {losses.min():g} to {losses.max():g}, "
            f"infinite={self.infinite:g}>"
        )


@dataclass(frozen=True)
class PoissonSampled(Given):
    """A central mechanism on a Poisson sample: each user takes part with probability `rate`.

    Samples are independent of all other users and drawn afresh for every release. With Gaussian
    noise this is a step of DP-SGD on Poisson batches. The profile is exact, for removing and for
    adding a user, if that of `mechanism` is.

    Parameters
    ----------
    mechanism : Given
        The mechanism that is applied to the sample, with its guarantee for neighbours="remove".
    rate : float
        Probability to be in the sample, 1e-9 to 1.
    neighbours : str
        "remove", the only relation supported here: one user is missing.

    Raises
    ------
    InvalidParameter, OutOfRange
        If the mechanism is sampled already or for other neighbours, or the rate is outside its
        limits.

    Examples
    --------
    >>> from shuffledp import Accountant
    >>> from shuffledp.central import GaussianNoise
    >>> from shuffledp.mechanisms import PoissonSampled
    >>> step = PoissonSampled(GaussianNoise(sigma=1.0, neighbours="remove"), rate=0.01)
    >>> Accountant().compose(step, rounds=1000).get_epsilon(1e-5) < 1.83
    True
    """

    name: ClassVar[str] = "poisson-sampled"
    member: ClassVar[str] = "example"

    mechanism: Given
    rate: float
    neighbours: str = field(default="remove", kw_only=True)

    def __post_init__(self) -> None:
        wrong = "is not a central mechanism; give one such as GaussianNoise."
        validate.instance(self.mechanism, Given, wrong, "mechanism")
        if isinstance(self.mechanism, PoissonSampled):
            raise InvalidParameter(
                f"mechanism={self.mechanism!r} is sampled already; give what is inside of it, with "
                "the product of both rates."
            )
        rate = validate.between("rate", self.rate, 1e-9, 1.0)
        object.__setattr__(self, "rate", rate)
        if self.neighbours != "remove" or self.mechanism.neighbours != "remove":
            raise InvalidParameter(
                f"{self.mechanism!r} is for {self.mechanism.relation} neighbours, and a Poisson "
                "sample for remove-one; make it with neighbours='remove'."
            )

    @property
    def unamplified(self) -> PrivacyProfile:
        """Profile of the mechanism if the sample is known."""
        return self.mechanism.profile

    @property
    def profile(self) -> PrivacyProfile:
        inner = self.unamplified
        if self.rate == 1:
            return inner
        sampled = profiles.subsampled
        there = sampled.SubsampledProfile(inner, self.rate)
        return PairProfile(there, sampled.MissingFromSample(inner.reverse or inner, self.rate))

    @property
    def attained_parts(self) -> Sequence[Parts]:
        """Those of the guarantee where the mechanism attains its own; else none."""
        return [self.parts] * 2 if self.mechanism.attained_parts else ()

    @property
    def explained(self) -> Analysis:
        inner = self.mechanism.explained
        return replace(
            inner,
            name="poisson-sampled",
            theorem=f"{inner.theorem}; exact for a Poisson sample: {chapter('Sampling')}",
            adversary=(
                "sees what is released and is taken to know all examples but one; does not see "
                "whether that one was sampled"
            ),
            assumption=(
                f"{inner.assumption}; every example is sampled independently of the other "
                "examples, of the data and of earlier results; the size of a sample is not "
                f"revealed, and no result is divided by it; {fixed_beforehand('the rate')}"
            ),
        )

    @property
    def noun(self) -> str:  # type: ignore[override]
        """What one release is: "noisy sum", if that is known."""
        return "noisy sum" if isinstance(self.mechanism, CentralNoise) else super().noun

    @property
    def participants(self) -> str:
        return "a random sample of the examples, drawn afresh for each"

    @property
    def protected_ones(self) -> str:
        return EVERY_EXAMPLE

    @property
    def uncovered(self) -> Sequence[str]:
        return [*self.mechanism.uncovered, *OF_TRAINING]

    @property
    def described(self) -> str:
        return f"{self.mechanism.described}, on a Poisson sample of rate {plain(self.rate)}"

    @property
    def given(self) -> dict[str, Any]:
        inner = self.mechanism
        return {"mechanism": {"name": inner.name, "parameters": inner.given}, "rate": self.rate}

    @property
    def reported(self) -> dict[str, Any]:
        return {**self.mechanism.reported, "rate": self.rate}


def _points(epsilons: Any, deltas: Any) -> tuple[Array, Array]:
    """Checked guarantees; epsilons and deltas that are no doubles are rounded up."""
    epsilon = _numbers("epsilon", epsilons, _rounded_up)
    delta = _numbers("delta", deltas, _rounded_up)
    if len(epsilon) != len(delta):
        raise InvalidParameter(
            f"there are {len(epsilon)} epsilons and {len(delta)} deltas; give one delta for each."
        )
    if epsilon.min() < 0:
        raise InvalidParameter(f"epsilon={epsilon.min():g} is negative; give an epsilon >= 0.")
    if epsilon.max() > MAX_LOSS:
        raise OutOfRange(
            f"epsilon={epsilon.max():g} is above {MAX_LOSS:g}; no privacy is left beyond it."
        )
    if not (delta.min() >= 0 and delta.max() <= 1):
        wrong = delta.min() if delta.min() < 0 else delta.max()
        raise InvalidParameter(f"delta={wrong:g} is outside [0, 1]; give a probability.")
    return epsilon, delta


def _rounded_up(name: str, value: Any) -> float:
    number = validate.real(name, value)
    return math.nextafter(number, math.inf) if number < value else number


def _numbers(name: str, values: Any, check: Any = validate.real) -> Array:
    """A list of finite numbers, at least one."""
    if isinstance(values, np.ndarray) and values.dtype == float and values.ndim == 1:
        if len(values) and np.isfinite(values).all():
            return values.copy()
    elif not validate.listed(values):
        raise InvalidParameter(f"{name}={validate.show(values)} is not a list; give numbers.")
    if len(values) == 0:
        raise InvalidParameter(f"{name} is empty; give at least one number.")
    return np.array([check(name, value) for value in values])


def _lacking(what: str, total: float, scale: float = 4.0) -> float:
    """What is missing from a sum of 1, beyond what rounding explains."""
    if total > 1 + _EXCESS:
        raise InvalidParameter(
            f"the masses of {what} sum to {total:.12g}; give those of a pair of distributions, "
            "with sums at most 1."
        )
    return 0.0 if abs(total - 1) <= scale * _ROUNDING else max(1 - total, 0.0)
