"""Shares of integer noise, which secure aggregation adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .. import laws
from .._support.text import plain
from ..errors import InvalidParameter
from .analyses import SUMS, Analysis
from .base import SUMMED, Randomizer
from .parameter import Family, Parameter, Search, parameters_of

if TYPE_CHECKING:
    from ..clients import Client
    from ..clients.integer_shares import Share

#: How the noise is given: exactly one of them.
_KINDS = ("discrete_gaussian", "skellam", "binomial", "discrete_laplace")
SHARES = Analysis(
    name="integer-noise",
    theorem=(
        "exact hockey-stick divergence of the summed integer noise and its shift, in every column "
        "in which two values differ; proof in docs/theory/integer-noise.md"
    ),
    adversary=SUMS.adversary,
    assumption=(
        "every honest user, also one without a value, draws a share from exactly this law for "
        "every column, independently of the other users and afresh in every round, and adds it; "
        "sums may be reduced modulo the size of a group, which is post-processing"
    ),
    gist=SUMS.gist,
    law=SUMS.law,
    as_one=False,
)


@dataclass(frozen=True, repr=False, kw_only=True)
class NoiseShares(Randomizer):
    """Every user adds the value and a share of integer noise; only sums are seen (`Aggregate`).

    The value is one of `k` and adds 1 to its column of a histogram, or it is a whole number in
    0 .. `largest` and is added to the only column. Every user adds a share of noise to every
    column, one of

    * `discrete_gaussian`: its sigma, x with probability proportional to exp(-x^2/(2 sigma^2)),
    * `skellam`: the mean mu of each of two Poisson variables, whose difference it is,
    * `binomial`: the number of fair coins, whose heads are counted,
    * `discrete_laplace`: the scale of the noise to which the shares of `complete` users add up;
      each is the difference of two negative binomial variables. If fewer or more take part, the
      noise is another one, which is accounted for as it is.

    Users who collude with the adversary or drop out add no noise: `Aggregate` leaves out their
    shares. Sums of Skellam shares, coins and discrete Laplace shares have a law of the same kind;
    discrete Gaussian shares have not, and their sum is analysed as it is.

    Parameters
    ----------
    discrete_gaussian, skellam, binomial, discrete_laplace : float, optional
        The law of a share: give exactly one.
    complete : int, optional
        With `discrete_laplace`: how many shares add up to noise of that scale.
    k : int, optional
        The number of columns of a histogram; or give `largest`.
    largest : int, optional
        The largest value, if values are added up.

    Examples
    --------
    >>> from shuffledp import Aggregate
    >>> from shuffledp.randomizers import NoiseShares
    >>> shares = NoiseShares(discrete_gaussian=0.6, largest=1)
    >>> Aggregate(shares, users=50).get_epsilon(1e-6) < 0.99563
    True
    >>> sums = shares.count(shares.randomize([0, 1, 1, 0] * 50))
    >>> abs(shares.estimate(sums).mean - 0.5) < 0.5
    True
    """

    name: ClassVar[str] = "noise-shares"
    task: ClassVar[str] = "count"
    example: ClassVar[Mapping[str, float]] = {"skellam": 0.1, "k": 2}

    discrete_gaussian: Annotated[
        float, Parameter("sigma of a share", 0.05, 1e6, search=Search(1.0, grows=False))
    ] = None  # type: ignore[assignment]
    skellam: Annotated[
        float,
        Parameter("mean of each Poisson variable", 1e-12, 1e6, search=Search(1.0, grows=False)),
    ] = None  # type: ignore[assignment]
    binomial: Annotated[
        int, Parameter("fair coins of a share", 1, 1000, True, search=Search(40, grows=False))
    ] = None  # type: ignore[assignment]
    discrete_laplace: Annotated[
        float,
        Parameter("scale of the noise of all shares", 0.01, 1e3, search=Search(1.0, grows=False)),
    ] = None  # type: ignore[assignment]
    complete: Annotated[
        int, Parameter("shares that add up to discrete Laplace noise", 1, 10**12, True)
    ] = None  # type: ignore[assignment]
    k: Annotated[int, Parameter("number of values", 2, 10**12, whole=True)] = None  # type: ignore[assignment]
    largest: Annotated[int, Parameter("largest value of a sum", 1, 10**6, whole=True)] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(type(self)).items():
            value = getattr(self, name)
            if value is not None:
                self._keep(name, parameter.checked(name, value))
        given = [name for name in _KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidParameter(
                f"the noise is given in {len(given)} ways; give exactly one of {', '.join(_KINDS)}."
            )
        if (self.complete is None) != (self.discrete_laplace is None):
            raise InvalidParameter("discrete_laplace and complete go together; give both or none.")
        if (self.k is None) == (self.largest is None):
            raise InvalidParameter(
                "values are counted in k columns or added up; give either k or largest."
            )

    @classmethod
    def families(cls, size: int) -> Sequence[Family]:
        kinds = ("discrete_gaussian", "skellam", "binomial")
        return [Family(kind, [{"k": size}]) for kind in kinds]

    @property
    def share(self) -> laws.integer_noise.IntegerShare:
        """The law of the noise that one user adds to a column."""
        if self.discrete_gaussian is not None:
            return laws.integer_noise.DiscreteGaussianLaw(self.discrete_gaussian)
        if self.skellam is not None:
            return laws.integer_noise.SkellamLaw(self.skellam)
        if self.binomial is not None:
            return laws.integer_noise.FairCoins(self.binomial)
        return laws.integer_noise.PolyaDifference(self.discrete_laplace, self.complete)

    def sum_law(self) -> laws.integer_noise.SharedNoise:
        return laws.integer_noise.SharedNoise(self.share, self.largest or 1, self.k is not None)

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        raise InvalidParameter(
            f"{self!r} hides values in sums only: whoever sees its messages one by one sees the "
            "noise of one user; use Aggregate."
        )

    @property
    def shared(self) -> Share:
        """The same for those who draw it."""
        from ..clients import integer_shares as clients

        if self.discrete_gaussian is not None:
            return clients.DiscreteGaussianShare(Fraction(self.discrete_gaussian))
        if self.skellam is not None:
            return clients.SkellamShare(Fraction(self.skellam))
        if self.binomial is not None:
            return clients.CoinsShare(self.binomial)
        return clients.PolyaShare(Fraction(self.discrete_laplace), self.complete)

    @cached_property
    def client(self) -> Client:
        from ..clients.integer_shares import SharesClient

        return SharesClient(self.shared, self.k, self.largest or 1)

    def attained_law(self) -> Any:
        return self.sum_law()

    def describe(self) -> str:
        if self.discrete_gaussian is not None:
            noise = f"discrete Gaussian noise of sigma {plain(self.discrete_gaussian)}"
        elif self.skellam is not None:
            noise = f"the difference of two Poisson variables of mean {plain(self.skellam)}"
        elif self.binomial is not None:
            noise = f"the heads of {self.binomial:,} fair coin{'' if self.binomial == 1 else 's'}"
        else:
            scale, shares = plain(self.discrete_laplace), f"{self.complete:,}"
            noise = f"one of {shares} shares of discrete Laplace noise of scale {scale}"
        if self.k is None:
            return f"a whole number in 0 .. {self.largest:,} plus {noise}"
        return f"1 in one of {self.k:,} columns, and in every column {noise}"

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in parameters_of(type(self))}
        said = ", ".join(f"{name}={value!r}" for name, value in shown.items() if value is not None)
        return f"NoiseShares({said})"


SUMMED[NoiseShares.name] = NoiseShares
