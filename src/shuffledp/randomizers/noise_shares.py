"""Shares of integer noise, which secure aggregation adds up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .. import laws
from .._support.text import plain, several
from ..errors import InvalidParameter
from .analyses import SENSITIVITY, SUMS, Analysis, chapter
from .base import SUMMED, Randomizer, spelled
from .parameter import Family, Parameter, Search

if TYPE_CHECKING:
    from ..clients import Counts
    from ..clients.integer_shares import Share, SharesClient

#: How the noise is given: exactly one of them.
_KINDS = ("discrete_gaussian", "skellam", "binomial", "discrete_laplace")
SHARES = Analysis(
    name="integer-noise",
    theorem=(
        "exact hockey-stick divergence between the summed integer noise and its shift, in every "
        f"column in which two values differ; proof: {chapter('Noise on integers')}"
    ),
    adversary=SUMS.adversary,
    assumption=(
        "every honest user, also one without a value, draws a noise share from exactly this "
        "distribution for every number that is summed, independently of the other users and afresh "
        "in every round, and adds it; sums may be reduced modulo the size of a finite group, which "
        "is post-processing"
    ),
    gist=SUMS.gist,
    law=SUMS.law,
    as_one=False,
)
_VECTORS = replace(
    SHARES,
    name="integer-vectors",
    theorem=(
        "upper bound, not exact, of the hockey-stick divergence between the summed integer noise "
        "and its shift by any vector up to the L2 sensitivity, by Gaussian noise that protects "
        f"less in every coordinate; proof: {chapter('Vectors of integers')}"
    ),
)
#: Numbers in [0, 1] are rounded to multiples of 2 to minus this, at the finest.
_FINEST = 19
#: Noise of which a bound for vectors is known.
_VECTOR_KINDS = ("discrete_gaussian", "skellam")
_NO_VECTORS = {
    "binomial": "coins have a largest sum, where losses are infinite",
    "discrete_laplace": "losses grow with the L1 norm, not with the L2 norm",
}


@dataclass(frozen=True, repr=False, kw_only=True)
class NoiseShares(Randomizer):
    """A value plus a share of integer noise from every user; only sums are seen (`Aggregate`).

    The value is one of `k` and adds 1 to its column of a histogram; or it is a whole number in 0 ..
    `largest` and is added to the only column; or it is a vector of `dimension` whole numbers whose
    L2 norm is at most `norm`, and is added coordinate by coordinate. Every user adds a share of
    noise to every column.

    Users who collude with the adversary or drop out add no noise: `Aggregate` leaves out their
    shares. Sums of Skellam shares, coins and discrete Laplace shares have a law of the same kind;
    discrete Gaussian shares do not, and their sum is analysed as it is.

    Histograms and numbers are analysed exactly. For vectors the worst direction is not known, and
    epsilon is an upper bound: that of Gaussian noise whose variance is smaller by 0.73 at most than
    that of all Skellam shares in a coordinate, and by about 0.1 for discrete Gaussian shares with a
    little more noise than the least supported. Other shares have no such bound. The L2 sensitivity
    is 2 `norm` for replace-one neighbours and `norm` for remove-one neighbours.

    Parameters
    ----------
    discrete_gaussian : float, optional
        sigma of a share, 0.05 to 1e6: x has a probability proportional to exp(-x^2/(2 sigma^2)).
        Give exactly one of the four laws.
    skellam : float, optional
        Mean of each of two Poisson variables whose difference is a share, 1e-12 to 1e6.
    binomial : int, optional
        Number of fair coins of a share, 1 to 1000, whose heads are counted.
    discrete_laplace : float, optional
        Scale, 0.01 to 1e3, of the noise to which the shares of `complete` users add up; each is the
        difference of two negative binomial variables. If fewer or more users take part, the noise
        is another one, which is accounted for as it is.
    complete : int, optional
        With `discrete_laplace`: number of shares that add up to noise of that scale, 1 to 1e12.
    k : int, optional
        Number of columns of a histogram, 2 to 1e12; or give `largest`, or `dimension` and `norm`.
    largest : int, optional
        Largest value, 1 to 1e6, if values are added up.
    dimension : int, optional
        Length of vectors that are added up, 1 to 1e6.
    norm : float, optional
        Largest L2 norm of such a vector, 1 to 1e6.

    Raises
    ------
    InvalidParameter, OutOfRange
        If noise and values are not each given in exactly one way, or a number is outside its
        limits.

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
        int,
        Parameter("number of fair coins of a share", 1, 1000, True, search=Search(40, grows=False)),
    ] = None  # type: ignore[assignment]
    discrete_laplace: Annotated[
        float,
        Parameter(
            "scale of the noise to which the shares add up",
            0.01,
            1e3,
            search=Search(1.0, grows=False),
        ),
    ] = None  # type: ignore[assignment]
    complete: Annotated[
        int, Parameter("number of shares that add up to discrete Laplace noise", 1, 10**12, True)
    ] = None  # type: ignore[assignment]
    k: Annotated[int, Parameter("number of values", 2, 10**12, whole=True)] = None  # type: ignore[assignment]
    largest: Annotated[
        int, Parameter("largest whole number that a user may hold", 1, 10**6, whole=True)
    ] = None  # type: ignore[assignment]
    dimension: Annotated[int, Parameter("length of the vectors", 1, 10**6, whole=True)] = None  # type: ignore[assignment]
    norm: Annotated[float, Parameter("largest L2 norm of a vector", 1.0, 1e6)] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        kind = self._keep_one_noise(_KINDS)
        if (self.complete is None) != (self.discrete_laplace is None):
            raise InvalidParameter("discrete_laplace and complete go together; give both or none.")
        if (self.dimension is None) != (self.norm is None):
            raise InvalidParameter("dimension and norm go together; give both or none.")
        if sum(size is not None for size in (self.k, self.largest, self.norm)) != 1:
            raise InvalidParameter(
                "values are counted in k columns, or numbers or vectors are added up; give either "
                "k or largest, or dimension and norm."
            )
        if self.norm is not None and kind not in _VECTOR_KINDS:
            wrong = f"{kind} shares of vectors are not bounded here"
            raise InvalidParameter(
                f"{wrong}: {_NO_VECTORS[kind]}; use {' or '.join(_VECTOR_KINDS)}."
            )

    @classmethod
    def families_for(cls, task: str, size: int, honest: int) -> Sequence[Family]:
        # numbers in [0, 1] are multiplied by `largest` and rounded at random
        complete = {"complete": honest}
        if task == "count":
            more = {"discrete_laplace": complete}
            return [Family(kind, [{"k": size, **more.get(kind, {})}]) for kind in _KINDS]
        if task != "mean":
            return ()
        # from here on the rounding adds less than a hundredth of the noise
        finest = min(math.isqrt(honest).bit_length() + 2, _FINEST)
        powers = [1 << i for i in range(finest + 1)]
        limited = [
            Family("binomial", [{"largest": power} for power in powers]),
            Family("discrete_laplace", [{**complete, "largest": power} for power in powers]),
        ]
        wide = [Family(kind, [{"largest": powers[-1]}]) for kind in _VECTOR_KINDS]
        return [*wide, *limited]

    @property
    def share(self) -> laws.integer_noise.IntegerShare:
        """Law of the noise that one user adds to a column."""
        if self.discrete_gaussian is not None:
            return laws.integer_noise.DiscreteGaussianLaw(self.discrete_gaussian)
        if self.skellam is not None:
            return laws.integer_noise.SkellamLaw(self.skellam)
        if self.binomial is not None:
            return laws.integer_noise.FairCoins(self.binomial)
        return laws.integer_noise.PolyaDifference(self.discrete_laplace, self.complete)

    def sum_law(
        self,
    ) -> laws.integer_noise.SharedNoise | laws.integer_noise.SharedVectorNoise:
        share = self.share
        if self.norm is not None and isinstance(share, laws.integer_noise.VectorShare):
            return laws.integer_noise.SharedVectorNoise(share, self.norm, self.dimension)
        return laws.integer_noise.SharedNoise(share, self.largest or 1, self.k is not None)

    @property
    def sum_analysis(self) -> Analysis:
        return SHARES if self.norm is None else _VECTORS

    @property
    def sum_remarks(self) -> Mapping[str, str]:
        if self.norm is None:
            return {}
        norm = plain(self.norm)
        return {"sensitivity": SENSITIVITY.format(norm=norm, twice=plain(2 * self.norm))}

    @property
    def no_local_eps0(self) -> str:
        return (
            "a message has the noise share of one user only, which hides a value in the sum of all "
            "users, and is often 0 or small by itself"
        )

    @property
    def is_summed(self) -> bool:
        return True

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        raise InvalidParameter(
            f"{self!r} protects values in sums only: a single message has the noise of one user "
            "only; use Aggregate."
        )

    @property
    def shared(self) -> Share:
        """The share as those draw it who send it."""
        from ..clients import integer_shares as clients

        if self.discrete_gaussian is not None:
            return clients.DiscreteGaussianShare(Fraction(self.discrete_gaussian))
        if self.skellam is not None:
            return clients.SkellamShare(Fraction(self.skellam))
        if self.binomial is not None:
            return clients.CoinsShare(self.binomial)
        return clients.PolyaShare(Fraction(self.discrete_laplace), self.complete)

    @cached_property
    def client(self) -> SharesClient:
        from ..clients.integer_shares import SharesClient

        return SharesClient(self.shared, self.k or self.dimension, self.largest or 1, self.norm)

    def unit_variance(self, users: int) -> float:
        if self.largest is None:
            return super().unit_variance(users)
        return (self.mean_variance(users) + 0.25 / users) / self.largest**2

    def count(self, messages: Any, modulus: int | None = None) -> Counts:
        """Sums of messages: all that an estimate needs; sums add up, in any order.

        Parameters
        ----------
        messages : array_like
            Messages of any users, as `randomize` returns them.
        modulus : int, optional
            Size of the group by which messages were reduced; `estimate` undoes that.

        Returns
        -------
        Counts
            Number of users and the sums.

        Raises
        ------
        InvalidParameter
            If a message is not one of the randomizer's.
        """
        from ..clients import Counts

        counts = super().count(messages)
        return Counts(counts.users, counts.tally, modulus=modulus, protocol=counts.protocol)

    def attained_law(self) -> Any:
        return self.sum_law()

    def describe(self) -> str:
        if self.discrete_gaussian is not None:
            noise = f"discrete Gaussian noise of sigma {plain(self.discrete_gaussian)}"
        elif self.skellam is not None:
            noise = f"the difference of two Poisson variables of mean {plain(self.skellam)}"
        elif self.binomial is not None:
            noise = f"the heads of {several(self.binomial, 'fair coin')}"
        else:
            scale, shares = plain(self.discrete_laplace), f"{self.complete:,}"
            noise = f"one of {shares} shares of discrete Laplace noise of scale {scale}"
        if self.norm is not None:
            vector = f"a vector of {self.dimension:,} whole numbers whose L2 norm is at most "
            return f"{vector}{plain(self.norm)}, and in every coordinate {noise}"
        if self.k is None:
            return f"a whole number from 0 to {self.largest:,} plus {noise}"
        return f"1 in one of {self.k:,} columns, and in every column {noise}"

    def __repr__(self) -> str:
        return spelled(self)


SUMMED[NoiseShares.name] = NoiseShares
