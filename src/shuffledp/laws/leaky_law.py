"""The law of randomizers that are (eps0, delta0)-LDP: the clone pair and a little that leaks.

Theory: docs/theory/approximate-ldp.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .class_law import ThreePointLaw

# proof constants: docs/theory/constants.md
#: Relative rounding of a dozen operations on positive numbers, rounded up.
_ROUNDING = 2.0**-44


@dataclass(frozen=True)
class LeakyLaw:
    """The law of a shuffled round of any (eps0, delta0)-LDP randomizer.

    It depends on the number of users: what is paid for the differences between the other users
    grows with it.

    Parameters
    ----------
    eps0 : float
    delta0 : float
        At most 0.1.
    rate : float
        Every user sends with this probability, else an empty message.
    most : int
        The law is made for this many users if a round has fewer, so that rounds of different
        numbers of users can be compared.
    """

    eps0: float
    delta0: float
    rate: float = 1.0
    most: int = 0

    @property
    def clones(self) -> ThreePointLaw:
        """The law of what has finite losses, over its mass: a clone pair with fewer clones."""
        small = math.exp(-self.eps0)
        clone = 2 * small * ((1 - self.delta0) / (1 + small) - self.delta0)
        other = (-math.expm1(-self.eps0) + 2 * small * self.delta0) / (1 + small)
        return ThreePointLaw(self.eps0, clone, other + 2 * small * self.delta0)

    def paid(self, users: int, distance: float) -> float:
        """A probability p with which p + (1 - p) times the profile of `clones` is a bound.

        It is 2 delta0 for what leaks and what no other user's message covers, and the differences
        between the other users, of a round of so many users. In a sample it is that times the
        share of those who send.

        Parameters
        ----------
        users : int
        distance : float
            An upper bound of the profile of `clones` at alpha = 1.
        """
        differences = self.differences(users)
        # the clone pair is over its mass, which leaves room for some of it
        small = math.exp(-self.eps0)
        left = max(differences - small * self.delta0, 0.0)
        # no pair of such losses is further apart than tanh(eps0/2)
        room = max(1 - distance, 2 * small / (1 + small) * (1 - _ROUNDING))
        paid = 2 * self.delta0 + differences + left * min(distance, 1.0) / room
        return min(self.rate * paid * (1 + _ROUNDING), 1.0)

    def differences(self, users: int) -> float:
        """What is paid, rounded up, for replacing the laws of the other users by their mean.

        It is (E - 1)/2 ((1 + w g(x))^(n - 1) - 1) for E = e^eps0, w = (1 - 3 delta0)/E,
        x = 4 delta0/(1 - 3 delta0) and g(x) = e^-x/(1 - x) - 1, where log(1 + g(x)) is at most
        x^2/(2 (1 - x)). One other user is their own mean.
        """
        users = max(users, self.most)
        if users <= 2 or self.delta0 == 0:
            return 0.0
        known = 1 - 3 * self.delta0
        x = 4 * self.delta0 / known
        growth = (users - 1) * math.log1p(
            known * math.exp(-self.eps0) * math.expm1(x * x / (2 * (1 - x)))
        )
        paid = math.expm1(self.eps0) / 2 * math.expm1(min(growth, 700.0))
        return min(paid * (1 + _ROUNDING), 1.0)

    def up_to(self, users: int) -> LeakyLaw:
        """The law made for this many users, or for more."""
        return replace(self, most=max(users, self.most))

    def thinned(self, rate: float) -> LeakyLaw:
        return replace(self, rate=rate * self.rate)

    def worst(self, epsilon: float, users: int) -> LeakyLaw:
        return self

    @property
    def reversed(self) -> LeakyLaw:
        return self
