"""Checks of arguments: each message names the value, the limit and the remedy."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from .._support.numeric import Array
from ..errors import InvalidParameter, OutOfRange, SampleNotWhole

T = TypeVar("T")

MAX_EPS0 = 200.0
MIN_EPS0 = 1e-6
MAX_USERS = 10**12  # no binomial law with more trials is evaluated
MAX_ROUNDS = 10**7
MAX_MESSAGES = 10**4
MIN_DELTA = 1e-280


def show(value: Any) -> str:
    """repr(value) in one line, as much of it as fits a sentence."""
    try:
        item = value.item() if isinstance(value, np.generic) else value
        text = " ".join(repr(item).split())
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def real(name: str, value: Any) -> float:
    """A finite number that is not a bool."""
    if isinstance(value, (bool, np.bool_, np.timedelta64)) or not isinstance(value, numbers.Real):
        raise _no_number(name, value)
    try:
        number = float(value)
    except OverflowError:
        raise OutOfRange(f"{name} is above 1e308; give a smaller number.") from None
    except (TypeError, ValueError):
        raise _no_number(name, value) from None
    if not math.isfinite(number):
        raise InvalidParameter(f"{name}={show(value)} is not finite; give a finite number.")
    return number


def real_or_infinite(name: str, value: Any) -> float:
    """A number that may be infinite, as an epsilon that does not exist is."""
    return value if isinstance(value, float) and math.isinf(value) else real(name, value)


def _no_number(name: str, value: Any) -> InvalidParameter:
    return InvalidParameter(f"{name}={show(value)} is not a number; give a real number.")


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """One of the known words."""
    words = list(known)
    if not isinstance(value, str) or value not in words:
        listed = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
        raise InvalidParameter(f"{name}={show(value)} is unknown; choose {listed}.")
    return value


def count(name: str, value: Any, most: int, least: int = 1) -> int:
    """A whole number in least .. most; floats like 1e6 are taken if they are whole."""
    number = real(name, value)
    whole = int(value) if isinstance(value, (int, np.integer)) else int(number)
    if number != math.floor(number):
        raise InvalidParameter(f"{name}={show(value)} is not whole; give a whole number.")
    if whole < least:
        raise InvalidParameter(f"{name}={show(value)} is below {least}; give a larger number.")
    if whole > most:
        raise OutOfRange(f"{name}={show(value)} is above {most:.6g}; give a smaller number.")
    return whole


def local_epsilon(value: Any) -> float:
    eps0 = real("eps0", value)
    if eps0 < value:  # an exact fraction may not become a smaller number
        eps0 = math.nextafter(eps0, math.inf)
    if eps0 <= 0:
        raise InvalidParameter(f"eps0={show(value)} is not positive; give the local epsilon, > 0.")
    if not MIN_EPS0 <= eps0 <= MAX_EPS0:
        raise OutOfRange(
            f"eps0={show(value)} is outside the supported [{MIN_EPS0:g}, {MAX_EPS0:g}]; "
            f"{'round it up to the limit' if eps0 < 1 else 'no privacy is left beyond it'}."
        )
    return eps0


def between(name: str, value: Any, least: float, most: float) -> float:
    """A number in [least, most]."""
    number = real(name, value)
    if not least <= number <= most:
        raise OutOfRange(
            f"{name}={show(value)} is outside the supported [{least:.15g}, {most:.15g}]; choose a "
            "value inside it."
        )
    return number


def probability(name: str, value: Any) -> float:
    """Strictly between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise InvalidParameter(f"{name}={show(value)} is outside (0, 1); give a probability.")
    return number


def sample_rate(value: Any) -> float:
    rate = real("sample_rate", value)
    if not 0 < rate <= 1:
        raise InvalidParameter(
            f"sample_rate={show(value)} is outside (0, 1]; give the share of users in each round."
        )
    if rate < 1e-9:
        raise OutOfRange(f"sample_rate={show(value)} is below the supported 1e-09; give more.")
    return rate


def count_or_share(name: str, value: Any, users: int) -> int:
    """A count from 0 on, or a share of the users below 1, of which as many as that or one more."""
    number = real(name, value)
    if number < 0:
        raise InvalidParameter(
            f"{name}={show(value)} is negative; give a number of users or a share below 1."
        )
    if number < 1:
        # a float stands for the decimal number that it is written as
        share = (
            Fraction(repr(number)) if isinstance(value, (float, np.floating)) else Fraction(value)
        )
        return math.ceil(share * users)
    if number == 1 and not isinstance(value, (int, np.integer)):
        raise InvalidParameter(
            f"{name}={show(value)} may be one user or all of them; give 1, or a share below 1."
        )
    return count(name, value, MAX_USERS)


def sample_size(users: int, rate: float) -> int:
    """How many users the share `rate` of them is: a whole number, up to the rounding of a float."""
    sampled = round(rate * users)
    if sampled < 1 or not math.isclose(rate * users, sampled, rel_tol=1e-9):
        raise SampleNotWhole(
            f"sample_rate={rate!r} of users={users} is {rate * users:.12g} users, not a whole "
            "number >= 1; change either, or choose sampling='poisson'.",
            rate,
        )
    return sampled


def instance(value: T, kind: type | tuple[type, ...], wrong: str, name: str = "") -> T:
    """The value, which is to be of that kind; else the error says what is `wrong` with it."""
    if not isinstance(value, kind):
        raise InvalidParameter(f"{name}{'=' if name else ''}{show(value)} {wrong}")
    return value


def listed(values: Any) -> bool:
    """Is it a list, a tuple or an array of one dimension?"""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        return False
    return getattr(values, "ndim", 1) == 1


def maker(argument: str, given: Any, what: str, name: str, such: str) -> Callable[..., Any]:
    """The given function; that it makes nothing of `name` alone is told in one sentence."""
    shown = f"{argument}={show(given)}"
    if not callable(given):
        raise InvalidParameter(
            f"{shown} does not make {what}s; give a function from {name} to one, such as {such}."
        )

    def make(*value: Any, **named: Any) -> Any:
        try:
            return given(*value, **named)
        except TypeError as error:
            raise InvalidParameter(
                f"{shown} makes no {what} of {name} alone: {error}; give a function of {name}."
            ) from error

    return make


def tolerance(value: Any) -> float:
    rtol = real("rtol", value)
    if not 1e-7 <= rtol <= 0.5:
        raise OutOfRange(f"rtol={show(value)} is outside [1e-07, 0.5]; the default is 0.001.")
    return rtol


def deltas(value: Any) -> Array:
    return _each("delta", value, delta)


def epsilons(value: Any) -> Array:
    return _each("epsilon", value, epsilon)


def delta(value: Any) -> float:
    number = real("delta", value)
    if number > value:
        number = math.nextafter(number, -math.inf)
    if not 0 <= number <= 1:
        raise InvalidParameter(f"delta={show(value)} is outside [0, 1]; give a probability.")
    if 0 < number < MIN_DELTA:
        raise OutOfRange(
            f"delta={show(value)} is below the supported {MIN_DELTA:g}; give 0 for pure DP."
        )
    return number


def epsilon(value: Any) -> float:
    number = real("epsilon", value)
    if number > value:  # an exact fraction may not become a larger number
        number = math.nextafter(number, -math.inf)
    if number < 0:
        raise InvalidParameter(f"epsilon={show(value)} is negative; give an epsilon >= 0.")
    return number


def _each(name: str, value: Any, check: Any) -> Array:
    """`check` applied to a scalar or to every element of an array-like; the shape is kept."""
    if isinstance(value, str):
        raise _no_number(name, value)
    items = np.asarray(value, dtype=object)
    checked = np.empty(items.shape)
    for where in np.ndindex(items.shape):
        checked[where] = check(items[where])
    return checked
