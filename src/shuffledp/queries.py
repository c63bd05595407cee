"""The four questions that a round and an accountant answer alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _validate
from .bounds import Bounds

#: Relative width of the bracket in epsilon that is promised unless another is asked for.
DEFAULT_RTOL = 1e-3

FloatOrArray = float | NDArray[np.float64]


class Guarantee:
    """Certified epsilon and delta. Scalars in, floats out; arrays in, arrays of that shape out."""

    def get_epsilon(self, delta: Any, *, rtol: float = DEFAULT_RTOL) -> Any:
        """The epsilon to publish at this delta: never below the exact value."""
        return self.epsilon_bounds(delta, rtol=rtol).upper

    def get_delta(self, epsilon: Any, *, rtol: float = DEFAULT_RTOL) -> Any:
        """The delta to publish at this epsilon: never below the exact value."""
        return self.delta_bounds(epsilon, rtol=rtol).upper

    def epsilon_bounds(self, delta: Any, *, rtol: float = DEFAULT_RTOL) -> Bounds:
        """lower <= exact epsilon <= upper. delta = 0 asks for pure DP.

        `rtol` is the largest relative width; NotCertified tells what was reached instead.
        """
        rtol = _validate.tolerance(rtol)

        def one(value: float) -> Bounds:
            if value == 0:
                return Bounds(self._max_loss(), self._max_loss())
            return Bounds(0.0, 0.0) if value == 1 else self._epsilon_bounds(value, rtol)

        return _each(_validate.deltas(delta), one)

    def delta_bounds(self, epsilon: Any, *, rtol: float = DEFAULT_RTOL) -> Bounds:
        """lower <= exact delta <= upper. `rtol` is a width in epsilon, as in `epsilon_bounds`."""
        rtol = _validate.tolerance(rtol)

        def one(value: float) -> Bounds:
            return self._delta_bounds(value, rtol)

        return _each(_validate.epsilons(epsilon), one)

    def _max_loss(self) -> float:
        """The epsilon of pure DP."""
        raise NotImplementedError

    def _epsilon_bounds(self, delta: float, rtol: float) -> Bounds:
        raise NotImplementedError

    def _delta_bounds(self, epsilon: float, rtol: float) -> Bounds:
        raise NotImplementedError


def _each(values: NDArray[np.float64], one: Callable[[float], Bounds]) -> Bounds:
    if values.ndim == 0:
        bounds = one(float(values))
        return Bounds(float(bounds.lower), float(bounds.upper))
    result = np.array([one(float(value)) for value in values.ravel()]).reshape((*values.shape, 2))
    return Bounds(result[..., 0], result[..., 1])
