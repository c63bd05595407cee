"""The questions that a round, any other mechanism and an accountant answer alike."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from . import bounds, composition, profiles
from ._support import validate
from ._support.numeric import Array, Bounds
from ._support.progress import progress
from ._support.text import plain, rounded_up
from .errors import NotCertified

if TYPE_CHECKING:  # what answers is loaded with the first question
    from .bounds.certified_rounds import CertifiedRounds
    from .profiles.base import Parts, PrivacyProfile

    #: A question to rounds.
    Ask = Callable[[CertifiedRounds], Bounds[float]]

#: Relative width of the bracket in epsilon that is promised unless another is asked for.
DEFAULT_RTOL = 1e-3

#: What is said where rounds for different neighbours are composed.
SUPPORTED_RELATIONS = (
    "training supports remove-one only, and shuffled messages, but for noise messages, replace-one"
)

Many = Sequence[float] | NDArray[Any]


class Guarantee(ABC):
    """Certified epsilon and delta. Scalars in, floats out; arrays in, arrays of that shape out."""

    @property
    @abstractmethod
    def neighbours(self) -> str:
        """Neighbouring datasets that the guarantee is about: "replace" or "remove"."""

    @property
    def relation(self) -> str:
        """Name of the relation between neighbours: "replace-one" or "remove-one"."""
        return NEIGHBOURS[self.neighbours][0]

    @overload
    def get_epsilon(self, delta: float, *, rtol: float = ...) -> float: ...
    @overload
    def get_epsilon(self, delta: Many, *, rtol: float = ...) -> Array: ...
    def get_epsilon(self, delta: float | Many, *, rtol: float = DEFAULT_RTOL) -> float | Array:
        """Epsilon to publish at this delta: never below the exact value.

        If the width `rtol` is out of reach, the smallest value that was certified is returned.

        Parameters
        ----------
        delta : float or array_like
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        float or ndarray
            A float for a scalar, else an array of the shape of `delta`. Infinite if no epsilon
            meets delta.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        values = validate.deltas(delta)
        ask = self._certified_rounds.epsilon_bounds
        return _each("epsilon", values, ask, rtol, accept_wide=True).upper

    @overload
    def get_delta(self, epsilon: float, *, rtol: float = ...) -> float: ...
    @overload
    def get_delta(self, epsilon: Many, *, rtol: float = ...) -> Array: ...
    def get_delta(self, epsilon: float | Many, *, rtol: float = DEFAULT_RTOL) -> float | Array:
        """Delta to publish at this epsilon: never below the exact value.

        If the width `rtol` is out of reach, the smallest value that was certified is returned.

        Parameters
        ----------
        epsilon : float or array_like
            Privacy parameter, 0 or larger.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        float or ndarray
            A float for a scalar, else an array of the shape of `epsilon`.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        values = validate.epsilons(epsilon)
        return _each(
            "delta", values, self._certified_rounds.delta_bounds, rtol, accept_wide=True
        ).upper

    @overload
    def epsilon_bounds(self, delta: float, *, rtol: float = ...) -> Bounds[float]: ...
    @overload
    def epsilon_bounds(self, delta: Many, *, rtol: float = ...) -> Bounds[Array]: ...
    def epsilon_bounds(
        self, delta: float | Many, *, rtol: float = DEFAULT_RTOL
    ) -> Bounds[float] | Bounds[Array]:
        """Certified bounds on epsilon at this delta: lower <= exact epsilon <= upper.

        The exact value is that of the analyzed pair. The protocol itself may lose less, never more
        than the upper bound. At delta = 0 both bounds are the largest loss of the pair, rounded up.

        Parameters
        ----------
        delta : float or array_like
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Largest relative width in epsilon, 1e-7 to 0.5.

        Returns
        -------
        Bounds
            Floats for a scalar, else arrays of the shape of `delta`.

        Raises
        ------
        NotCertified
            If the width was not reached; its `bounds` hold what was certified.
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        return _each("epsilon", validate.deltas(delta), self._certified_rounds.epsilon_bounds, rtol)

    @overload
    def delta_bounds(self, epsilon: float, *, rtol: float = ...) -> Bounds[float]: ...
    @overload
    def delta_bounds(self, epsilon: Many, *, rtol: float = ...) -> Bounds[Array]: ...
    def delta_bounds(
        self, epsilon: float | Many, *, rtol: float = DEFAULT_RTOL
    ) -> Bounds[float] | Bounds[Array]:
        """Certified bounds on delta at this epsilon: lower <= exact delta <= upper.

        The exact value is that of the analyzed pair. The protocol itself may lose less, never more
        than the upper bound.

        Parameters
        ----------
        epsilon : float or array_like
            Privacy parameter, 0 or larger.
        rtol : float
            Largest relative width in epsilon, 1e-7 to 0.5, as in `epsilon_bounds`.

        Returns
        -------
        Bounds
            Floats for a scalar, else arrays of the shape of `epsilon`.

        Raises
        ------
        NotCertified
            If the width was not reached; its `bounds` hold what was certified.
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        return _each("delta", validate.epsilons(epsilon), self._certified_rounds.delta_bounds, rtol)

    @property
    @abstractmethod
    def _certified_rounds(self) -> CertifiedRounds:
        """What certifies epsilon and delta of these rounds."""


#: What neighbouring datasets are: how a relation is called, and what it means.
NEIGHBOURS = {
    "replace": ("replace-one", "neighbouring datasets differ in the value of one user"),
    "remove": (
        "remove-one",
        "neighbouring datasets differ in whether the data of one user are present",
    ),
}


class Mechanism(Guarantee):
    """What an accountant can compose: anything immutable and hashable with parts, or a profile."""

    messages: int = 1  # of a user in a round; limits on rounds count each of them as a round
    neighbours: str = "replace"  # or "remove": the datasets that the guarantee is about

    @property
    @abstractmethod
    def parts(self) -> Parts:
        """Profiles whose composition is the mechanism, and how often each counts.

        Each is about a pair in one order of the neighbours; the other order is just as possible.
        """

    @property
    def profile(self) -> PrivacyProfile:
        """Privacy profile: delta as a function of epsilon."""
        return composition.composed_profile.profile_of_parts(self.parts)

    @property
    def summary(self) -> tuple[str, str, str]:
        """Users, analysis and mechanism, as texts for a table."""
        return "-", "given", repr(self)

    @progress("attained delta")
    def attained_delta(self, epsilon: float, *, rtol: float = 1e-4) -> float:
        """Delta that actual neighbouring datasets reach: no valid bound is below it.

        Parameters
        ----------
        epsilon : float
            Privacy parameter, 0 or larger.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        float
            Certified from below; 0 if nothing but the guarantee is known, as of `ApproximateDP`.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        epsilon, rtol = validate.epsilon(epsilon), validate.tolerance(rtol)
        return self._attained(lambda rounds: rounds.delta_bounds(epsilon, rtol))

    @progress("attained epsilon")
    def attained_epsilon(self, delta: float, *, rtol: float = 1e-4) -> float:
        """Epsilon that actual neighbouring datasets reach: no valid bound is below it.

        Parameters
        ----------
        delta : float
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        float
            Certified from below; 0 if nothing but the guarantee is known, as of `ApproximateDP`.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        delta, rtol = validate.delta(delta), validate.tolerance(rtol)
        found = self._attained(lambda rounds: rounds.epsilon_bounds(delta, rtol))
        return found if delta else profiles.base.attained_loss(found)

    def _attained(self, ask: Ask) -> float:
        choices = dict.fromkeys(tuple(choice) for choice in self.attained_parts)
        rounds = map(bounds.certified_rounds.CertifiedRounds, choices)
        return max((best_effort(ask, each).lower for each in rounds), default=0.0)

    @property
    def attained_parts(self) -> Sequence[Parts]:
        """Parts of actual neighbouring datasets; the worst of several choices counts.

        There are equally many choices for every mechanism, or none.
        """
        return ()

    @property
    def _certified_rounds(self) -> CertifiedRounds:
        return bounds.certified_rounds.CertifiedRounds(self.parts)


def best_effort(ask: Callable[..., Bounds[float]], *question: Any, **options: Any) -> Bounds[float]:
    """What was certified, whether it is as narrow as was asked for or not."""
    try:
        return ask(*question, **options)
    except NotCertified as error:
        return error.bounds


def no_guarantee(what: str, at: float, bracket: Bounds[float]) -> NotCertified | None:
    """The error if a bracket promises nothing: an infinite epsilon at a delta, or a delta of 1.

    >>> str(no_guarantee("epsilon", 0.0, Bounds(math.inf, math.inf)))
    'no epsilon is certified at delta=0; ask with a larger delta, or change the protocol.'
    """
    if what == "epsilon" and bracket.upper == math.inf:
        said, remedy = f"no epsilon is certified at delta={plain(at)}", "ask with a larger delta"
    elif what == "delta" and float(rounded_up(bracket.upper)) >= 1:  # as it is published
        said = f"no delta below 1 is certified at epsilon={plain(at)}"
        remedy = "ask with a larger epsilon"
    elif what == "epsilon" and at >= 1:
        return NotCertified(f"delta={plain(at)} guarantees nothing; give a smaller one.", bracket)
    else:
        return None
    return NotCertified(f"{said}; {remedy}, or change the protocol.", bracket)


def too_wide(bracket: Bounds[float], rtol: float) -> NotCertified | None:
    """The error if a bracket of epsilon is wider than `rtol` asks for, up to the rounding of its
    width: for a bracket whose error `best_effort` passed over.

    >>> too_wide(Bounds(1.0, 1.0009), 1e-3) is None, too_wide(Bounds(1.0, 1.1), 1e-3) is None
    (True, False)
    """
    narrow = bounds.certificate.excess_width(bracket, rtol * (1 + 1e-12)) <= 1
    return None if narrow else bounds.certificate.not_certified("epsilon", bracket, rtol)


def _each(
    label: str,
    values: Array,
    ask: Callable[[float, float, tuple[float, float] | None], Bounds[float]],
    rtol: float,
    accept_wide: bool = False,
) -> Bounds[float] | Bounds[Array]:
    """Bounds at each value; if they may be wide, whatever was certified.

    Several values share their lattices, which are made for the range of all of them.
    """
    rtol = validate.tolerance(rtol)
    ask_one = partial(best_effort, ask) if accept_wide else ask
    # deltas of 0 and 1 need no lattice
    inner = values[(values > 0) & (values < 1)] if label == "epsilon" else values
    curve = (float(inner.min()), float(inner.max())) if inner.size > 1 else None
    each = []
    with progress(label, values.size if values.size > 1 else None) as advance:
        for value in values.ravel():
            each.append(ask_one(float(value), rtol, curve))
            advance(1)
    if values.ndim == 0:
        return each[0]
    result = np.array(each).reshape((*values.shape, 2))
    return Bounds(result[..., 0], result[..., 1])
