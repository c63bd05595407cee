"""The four questions that a round, any other mechanism and an accountant answer alike."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from . import _validate, one_round
from .binomial import Array
from .bounds import Bounds
from .profile import PrivacyProfile

#: Relative width of the bracket in epsilon that is promised unless another is asked for.
DEFAULT_RTOL = 1e-3

Many = Sequence[float] | NDArray[Any]


class Guarantee(ABC):
    """Certified epsilon and delta. Scalars in, floats out; arrays in, arrays of that shape out."""

    @overload
    def get_epsilon(self, delta: float, *, rtol: float = ...) -> float: ...
    @overload
    def get_epsilon(self, delta: Many, *, rtol: float = ...) -> Array: ...
    def get_epsilon(self, delta: float | Many, *, rtol: float = DEFAULT_RTOL) -> float | Array:
        """The epsilon to publish at this delta: never below the exact value."""
        return self.epsilon_bounds(delta, rtol=rtol).upper

    @overload
    def get_delta(self, epsilon: float, *, rtol: float = ...) -> float: ...
    @overload
    def get_delta(self, epsilon: Many, *, rtol: float = ...) -> Array: ...
    def get_delta(self, epsilon: float | Many, *, rtol: float = DEFAULT_RTOL) -> float | Array:
        """The delta to publish at this epsilon: never below the exact value."""
        return self.delta_bounds(epsilon, rtol=rtol).upper

    @overload
    def epsilon_bounds(self, delta: float, *, rtol: float = ...) -> Bounds[float]: ...
    @overload
    def epsilon_bounds(self, delta: Many, *, rtol: float = ...) -> Bounds[Array]: ...
    def epsilon_bounds(
        self, delta: float | Many, *, rtol: float = DEFAULT_RTOL
    ) -> Bounds[float] | Bounds[Array]:
        """lower <= exact epsilon <= upper. delta = 0 asks for pure DP.

        `rtol` is the largest relative width; NotCertified tells what was reached instead.
        """
        rtol = _validate.tolerance(rtol)

        def one(value: float) -> Bounds[float]:
            if value == 0:
                return Bounds(self._max_loss(), self._max_loss())
            return Bounds(0.0, 0.0) if value == 1 else self._epsilon_bounds(value, rtol)

        return _each(_validate.deltas(delta), one)

    @overload
    def delta_bounds(self, epsilon: float, *, rtol: float = ...) -> Bounds[float]: ...
    @overload
    def delta_bounds(self, epsilon: Many, *, rtol: float = ...) -> Bounds[Array]: ...
    def delta_bounds(
        self, epsilon: float | Many, *, rtol: float = DEFAULT_RTOL
    ) -> Bounds[float] | Bounds[Array]:
        """lower <= exact delta <= upper. `rtol` is a width in epsilon, as in `epsilon_bounds`."""
        rtol = _validate.tolerance(rtol)
        return _each(_validate.epsilons(epsilon), lambda value: self._delta_bounds(value, rtol))

    @abstractmethod
    def _max_loss(self) -> float:
        """The epsilon of pure DP."""

    @abstractmethod
    def _epsilon_bounds(self, delta: float, rtol: float) -> Bounds[float]:
        """For one valid delta other than 0 and 1."""

    @abstractmethod
    def _delta_bounds(self, epsilon: float, rtol: float) -> Bounds[float]:
        """For one valid epsilon."""


class Mechanism(Guarantee):
    """What an accountant can compose: anything immutable and hashable with a profile."""

    @property
    @abstractmethod
    def profile(self) -> PrivacyProfile:
        """delta as a function of epsilon."""

    def _max_loss(self) -> float:
        return self.profile.max_loss if self.profile.bounded else math.inf

    def _epsilon_bounds(self, delta: float, rtol: float) -> Bounds[float]:
        return one_round.epsilon_bounds(self.profile, delta, rtol)

    def _delta_bounds(self, epsilon: float, rtol: float) -> Bounds[float]:
        return one_round.delta_bounds(self.profile, epsilon, rtol)


def _each(values: Array, one: Callable[[float], Bounds[float]]) -> Bounds[float] | Bounds[Array]:
    if values.ndim == 0:
        return one(float(values))
    result = np.array([one(float(value)) for value in values.ravel()]).reshape((*values.shape, 2))
    return Bounds(result[..., 0], result[..., 1])
