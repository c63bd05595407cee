"""k-ary randomized response."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from .._support import validate
from ..errors import InvalidParameter
from ..laws.few_users import MOST_USERS, mixed_laws
from ..laws.three_point import ThreePointLaw
from ..profiles.rounds import ClassProfile, RoundProfile, ThreePointProfile
from .base import STRONG, Analysis
from .membership import MembershipRandomizer


@dataclass(frozen=True, repr=False)
class RandomizedResponse(MembershipRandomizer):
    """k-ary randomized response: a uniformly random value with probability gamma, else the own.

    >>> from shuffledp import RandomizedResponse
    >>> RandomizedResponse(k=4, gamma=0.25)
    RandomizedResponse(k=4, gamma=0.25)
    """

    k: int
    gamma: float = field(default=None, kw_only=True)  # type: ignore[assignment]
    eps0: float = field(default=None, kw_only=True)  # type: ignore[assignment]
    _given: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        self._set(k=validate.count("k", self.k, 10**12, least=2))
        if (self.gamma is None) == (self.eps0 is None):
            raise InvalidParameter(
                "gamma and eps0 say the same in two ways; give exactly one of them."
            )
        if self.gamma is not None:
            gamma = validate.probability("gamma", self.gamma)
            # 1 + k (1 - gamma)/gamma is the ratio of the true value to another; the argument errs
            # by three units, hence the logarithm relatively by no more
            exact = math.log1p(self.k * (1 - gamma) / gamma)
            eps0 = validate.local_epsilon(exact * (1 + 2.0**-50))
            given = f"gamma={gamma!r}"
        else:
            eps0 = validate.local_epsilon(self.eps0)
            gamma = self.k / (math.expm1(eps0) + self.k)
            given = f"eps0={eps0!r}"
        self._set(gamma=gamma, eps0=eps0, _given=given)

    @property
    def name(self) -> str:
        return "rr"

    @property
    def by_gamma(self) -> bool:
        """Was gamma given? Then it is exact and eps0 was rounded up; otherwise eps0 is exact."""
        return self._given.startswith("gamma")

    @property
    def ratio(self) -> float:
        return 1 + self.k * (1 - self.gamma) / self.gamma if self.by_gamma else super().ratio

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return {**super().analyses, "strong": STRONG}

    def profile(self, analysis: str, users: int) -> RoundProfile:
        if self.analyses[analysis] is not STRONG:
            return super().profile(analysis, users)
        # (1 - gamma) E[(n1 - alpha n2)_+] / (n r) with r = gamma/k: three points, eps0 infinite
        clone = 2 * self.gamma / self.k
        other = 1 - clone if self.k > 2 else 1 - self.gamma
        return ThreePointProfile(ThreePointLaw(math.inf, clone, other, 1 - self.gamma), users)

    def attained(self, users: int) -> RoundProfile:
        """The others hold one value, or, if they are few, two of the first, second and third."""
        if users > MOST_USERS:
            return super().attained(users)
        low, high = self.gamma / self.k, self.gamma / self.k * self.ratio
        values = min(self.k, 3)
        rows = [[high if x == y else low for y in range(values)] for x in range(values)]
        if self.k > 3:
            rows = [[low * (self.k - 3), *row] for row in rows]
        return ClassProfile(self._attained_laws(), users, of_all=mixed_laws(rows, users))

    def base_mass(self, inside: int, given: int) -> float:
        if inside > 1:
            return 0.0
        return self.gamma / self.k * (1 if inside == 1 else self.k - given)

    def __repr__(self) -> str:
        return f"RandomizedResponse(k={self.k}, {self._given})"
