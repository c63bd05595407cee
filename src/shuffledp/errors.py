"""Every error that shuffledp raises on purpose."""

from __future__ import annotations

from ._support.numeric import Bounds


class ShuffleDPError(Exception):
    """Base class of all errors of this package.

    Examples
    --------
    >>> from shuffledp import PureLDP, ShuffleDPError
    >>> try:
    ...     PureLDP(eps0=1000.0)
    ... except ShuffleDPError as error:
    ...     print(error)
    eps0=1000.0 is outside the supported [1e-06, 200]; no privacy is left beyond it.
    """


class InvalidParameter(ShuffleDPError, ValueError):
    """An argument that has no meaning; the message names the value, the limit and the remedy.

    Examples
    --------
    >>> from shuffledp import PureLDP
    >>> PureLDP(eps0=-1.0)
    Traceback (most recent call last):
    shuffledp.errors.InvalidParameter: eps0=-1.0 is not positive; give the local epsilon, > 0.
    """


class SampleNotWhole(InvalidParameter):
    """The share `rate` of the users that is to be sampled is not a whole number of them.

    Parameters
    ----------
    message : str
        One sentence: the share, the number of users and a remedy.
    rate : float
        The share of the users.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle
    >>> Shuffle(PureLDP(eps0=1.0), users=10, sample_rate=0.25)
    Traceback (most recent call last):
    shuffledp.errors.SampleNotWhole: sample_rate=0.25 of users=10 is 2.5 users, not a whole number \
>= 1; change either, or choose sampling='poisson'.
    """

    def __init__(self, message: str, rate: float) -> None:
        super().__init__(message)
        self.rate = rate


class OutOfRange(ShuffleDPError, ValueError):
    """A meaningful argument outside the range in which a theorem or the numerics hold.

    Examples
    --------
    >>> from shuffledp.mechanisms import ApproximateDP
    >>> ApproximateDP(epsilon=1000)
    Traceback (most recent call last):
    shuffledp.errors.OutOfRange: epsilon=1000 is above 500; no privacy is left beyond it.
    """


class NotCertified(ShuffleDPError):
    """The requested width was not reached; `bounds` holds what was certified nevertheless.

    Parameters
    ----------
    message : str
        One sentence: what was reached, and a remedy.
    bounds : Bounds
        Certified lower and upper bounds, wider than requested.

    Examples
    --------
    >>> from shuffledp import NotCertified
    >>> from shuffledp.bounds import Bounds
    >>> try:
    ...     raise NotCertified("too wide", Bounds(0.1, 0.2))
    ... except NotCertified as error:
    ...     print(error.bounds.upper)
    0.2
    """

    def __init__(self, message: str, bounds: Bounds[float]) -> None:
        super().__init__(message)
        self.bounds = bounds


class Infeasible(ShuffleDPError, ValueError):
    """No value of a parameter meets the target; `nearest` comes closest.

    Parameters
    ----------
    message : str
        One sentence: the target, the nearest value and a remedy.
    nearest : float
        The value of the parameter that comes closest.
    bounds : Bounds
        Certified bounds on epsilon at the nearest value.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle, calibrate
    >>> from shuffledp.errors import Infeasible
    >>> try:
    ...     calibrate("rounds", Shuffle(PureLDP(4.0), users=100), epsilon=0.1, delta=1e-6)
    ... except Infeasible as error:
    ...     print(error.nearest)
    1
    """

    def __init__(self, message: str, nearest: float, bounds: Bounds[float]) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.bounds = bounds
