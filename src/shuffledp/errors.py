"""Every error that shuffledp raises on purpose."""

from __future__ import annotations

from .bounds import Bounds


class ShuffleDPError(Exception):
    """Base class of all errors of this package."""


class InvalidParameter(ShuffleDPError, ValueError):
    """An argument that has no meaning; the message names the value, the limit and the remedy."""


class OutOfRange(ShuffleDPError, ValueError):
    """A meaningful argument outside the range in which a theorem or the numerics hold."""


class NotCertified(ShuffleDPError):
    """The requested width was not reached. `bounds` holds what was certified nevertheless."""

    def __init__(self, message: str, bounds: Bounds[float]) -> None:
        super().__init__(message)
        self.bounds = bounds


class Infeasible(ShuffleDPError, ValueError):
    """No value meets a target. `nearest` comes closest, and its epsilon has these `bounds`."""

    def __init__(self, message: str, nearest: float, bounds: Bounds[float]) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.bounds = bounds
