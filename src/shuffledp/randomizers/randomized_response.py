"""k-ary randomized response."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .. import laws
from .._support import validate
from ..errors import InvalidParameter
from ..laws.class_law import Law
from .analyses import STRONG, Analysis
from .base import register
from .exact import ExactMatrix, Fractions, exp_bracket, of_sets, ratio
from .membership import MembershipRandomizer
from .parameter import LocalEpsilon, Parameter, Search, Values

if TYPE_CHECKING:
    from ..clients import Client


@register
@dataclass(frozen=True, repr=False)
class RandomizedResponse(MembershipRandomizer):
    """k-ary randomized response: a uniformly random value with probability gamma, else the true
    one.

    Parameters
    ----------
    k : int
        Number of values, 2 to 1e12.
    gamma : float
        Probability of a uniformly random answer, the true value included, in (0, 1). Give either
        this or `eps0`.
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.

    Raises
    ------
    InvalidParameter, OutOfRange
        If not exactly one of `gamma` and `eps0` is given, or one is outside its limits.

    Examples
    --------
    >>> from shuffledp import RandomizedResponse, Shuffle
    >>> RandomizedResponse(k=4, gamma=0.25)
    RandomizedResponse(k=4, gamma=0.25)
    >>> Shuffle(RandomizedResponse(k=16, eps0=2.0), users=100_000).get_epsilon(1e-6) < 0.04
    True
    """

    name: ClassVar[str] = "rr"
    also: ClassVar[tuple[str, ...]] = ("krr", "k-rr", "grr", "randomized-response", "kary-rr")
    task: ClassVar[str] = "count"
    example: ClassVar[Mapping[str, float]] = {"k": 3, "eps0": 1.0}
    two_of_two: ClassVar[bool] = True

    k: Values
    gamma: Annotated[
        float,
        Parameter(
            "probability of a random answer, the true value included",
            1e-12,
            0.9999,
            search=Search(0.1, grows=False),
        ),
    ] = field(default=None, kw_only=True)  # type: ignore[assignment]
    eps0: LocalEpsilon = field(default=None, kw_only=True)  # type: ignore[assignment]
    #: Was gamma given? Then it is exact and eps0 was rounded up; otherwise eps0 is exact.
    by_gamma: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Check the fields, and derive eps0 from gamma or gamma from eps0."""
        self._keep("k", validate.count("k", self.k, 10**12, least=2))
        if self.gamma is None and self.eps0 is None:
            raise InvalidParameter("neither eps0 nor gamma is given; give one of them.")
        if self.gamma is not None and self.eps0 is not None:
            raise InvalidParameter("eps0 and gamma say the same in two ways; give one of them.")
        self._keep("by_gamma", self.gamma is not None)
        if self.by_gamma:
            self._keep("gamma", validate.probability("gamma", self.gamma))
            # the argument errs by three units, hence the logarithm relatively by no more
            exact_eps0 = math.log1p(self.k * (1 - self.gamma) / self.gamma)
            self._keep("eps0", validate.local_epsilon(exact_eps0 * (1 + 2.0**-50)))
        else:
            self._keep("eps0", validate.local_epsilon(self.eps0))
            self._keep("gamma", self.k / (math.expm1(self.eps0) + self.k))

    @property
    def in_words(self) -> str:
        return f"one of {self.k:,} values, the own one or, at random, any of them"

    @property
    def given(self) -> dict[str, Any]:
        told = "gamma" if self.by_gamma else "eps0"
        return {name: getattr(self, name) for name in ("k", told)}

    @property
    def ratio(self) -> float:
        return 1 + self.k * (1 - self.gamma) / self.gamma if self.by_gamma else super().ratio

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        return {**super().analyses, "strong": STRONG}

    @property
    def truth_probability(self) -> Fraction:
        if self.by_gamma:
            return 1 - Fraction(self.gamma) * (self.k - 1) / self.k
        above = exp_bracket(Fraction(self.eps0), 50)[1]
        return above / (above + self.k - 1)

    def strong_law(self) -> Law:
        """Law of a message for an adversary who is told which users answered at random.

        The user in question is one of them.
        """
        # (1 - gamma) E[(n1 - alpha n2)_+] / (n r) with r = gamma/k: three points, eps0 infinite
        return laws.class_law.clone_pair(math.inf, 2 * self.gamma / self.k, 1 - self.gamma)

    @property
    def blanket_key(self) -> Hashable:
        """Number of values: in the blanket all of them are equally likely."""
        return self.k

    def base_mass(self, inside: int, given: int) -> float:
        if inside > 1:
            return 0.0
        return self.gamma / self.k * (1 if inside == 1 else self.k - given)

    def explicit_values(self) -> tuple[tuple[float, ...], ...]:
        low = self.gamma / self.k
        high, values = low * self.ratio, range(min(self.k, 3))
        rest = (low * (self.k - 3),) if self.k > 3 else ()
        return tuple((*rest, *(high if x == y else low for y in values)) for x in values)

    @cached_property
    def client(self) -> Client:
        from ..clients.response import ResponseClient

        exact = 1 + self.k * (1 / Fraction(self.gamma) - 1) if self.by_gamma else ratio(self.eps0)
        return ResponseClient(self.k, exact)

    def exact(self) -> ExactMatrix:
        return ExactMatrix(self.k, self.k, self._matrix)

    def _matrix(self) -> Fractions:
        k, values = self.k, range(self.k)
        if not self.by_gamma:
            return of_sets(k, ([y] for y in values), self.eps0)
        gamma = Fraction(self.gamma)
        return [[gamma / k + (1 - gamma) * (x == y) for y in values] for x in values]

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        return f"RandomizedResponse({said})"
