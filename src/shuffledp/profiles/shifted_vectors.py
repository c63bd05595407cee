"""Vectors of integers with noise in every coordinate, shifted by any vector of bounded length.

The worst direction is not known, so that the profile is a bound: integer noise whose log-masses
bend by at most kappa hides a shift s at least as well as a normal variable of variance 1 hides a
shift of s M, M^2 (1 - M^2/12) = kappa. Normal variables compose along every direction alike.

Theory: docs/theory/integer-vectors.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

from .._support.numeric import UNIT
from ..errors import OutOfRange
from ..laws.integer_noise import DiscreteGaussianLaw, IntegerNoise
from .closed_form import GaussianProfile

# proof constant: docs/theory/constants.md
#: Log-masses that bend by more than this are not compared with a normal variable.
_MOST_CURVATURE = 3.0


def normal_shift(law: IntegerNoise) -> float:
    """The shift M of a standard normal variable that is at least as visible as one of X by 1.

    Parameters
    ----------
    law : IntegerNoise

    Returns
    -------
    float
        Rounded up. About 1 over the standard deviation, for large ones.

    Raises
    ------
    OutOfRange
        If there is too little noise, or it is in too small shares.
    """
    kappa = law.curvature
    if kappa > _MOST_CURVATURE:
        raise OutOfRange(_too_little(law))
    return math.sqrt(2 * kappa / (1 + math.sqrt(1 - kappa / 3))) * (1 + 16 * UNIT)


def _too_little(law: IntegerNoise) -> str:
    """Why there is no bound, and what to do."""
    if isinstance(law, DiscreteGaussianLaw):
        steps = (step / 20 for step in range(6, 60))
        least = next(s for s in steps if replace(law, sigma=s).curvature <= _MOST_CURVATURE)
        return (
            f"sigma={law.sigma:g} of {law.shares:,} discrete Gaussian shares is below {least:g}, "
            "from which on vectors are bounded; give larger shares, or Skellam shares."
        )
    return (
        f"{law!r} is too little noise in a coordinate, and vectors are bounded from a mean of 0.23 "
        "of Skellam noise on; give larger shares or more users."
    )


def vector_profile(law: IntegerNoise, norm: float, replaced: bool) -> GaussianProfile:
    """A profile above that of every shift by a vector, for vectors up to this L2 norm.

    Two vectors differ by up to twice their norm (`replaced`), a vector and zeros by the norm.
    """
    distance = (2 if replaced else 1) * norm
    return GaussianProfile(normal_shift(law) * distance * (1 + 4 * UNIT))


def shifts_within(norm: float, dimension: int) -> list[dict[int, int]]:
    """Coordinates of two vectors that are about as long as allowed, and how often each occurs.

    The first has few coordinates that are as large as possible, the second one equal ones in as
    many places as possible.
    """
    square = math.floor(Fraction(norm) ** 2)
    left, large = square, Counter[int]()
    while left and large.total() < dimension:
        large[math.isqrt(left)] += 1
        left -= math.isqrt(left) ** 2
    places = min(square, dimension)
    return [dict(large), {math.isqrt(square // places): places}]
