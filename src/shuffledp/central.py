"""Central mechanisms: whoever holds the data of all users releases something.

Here are those with noise of a known law; `mechanisms` has those of which a guarantee is given.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from . import laws, profiles
from ._support import validate
from ._support.text import plain, several
from .guarantee import NEIGHBOURS
from .randomizers import Analysis, Laplace, Parameter
from .randomizers.analyses import ROUNDING, chapter
from .randomizers.parameter import Search, parameters_of
from .rounds import RoundWithOwnParameters

if TYPE_CHECKING:
    from .profiles.base import Parts, PrivacyProfile

GIVEN = Analysis(
    name="given",
    theorem="the given guarantee, and the worst pair of output distributions that satisfies it",
    adversary="sees what is released and is taken to know the data of every user but one",
    assumption=(
        "the mechanism satisfies the given guarantee, for this neighbouring relation and for all "
        "possible earlier releases"
    ),
    gist="sees what is released",
    law=lambda round_: None,
    as_one=False,
)


class Given(RoundWithOwnParameters):
    """A central mechanism: a trusted curator holds the data of all users and releases something.

    Subclasses are frozen dataclasses whose fields are the parameters. If the mechanism is not one
    of this package, only its profile is known.

    Examples
    --------
    >>> from shuffledp.central import Given
    >>> from shuffledp.mechanisms import ApproximateDP
    >>> isinstance(ApproximateDP(epsilon=1.0), Given)
    True
    """

    view: ClassVar[str] = "central"
    noun: ClassVar[str] = "release"
    mechanism_label: ClassVar[str] = "central mechanism"
    seen: ClassVar[str] = "the releases of a curator"
    trusted: ClassVar[str] = (
        "the curator, who holds the data, is trusted with them and releases nothing else about them"
    )

    @property
    def parts(self) -> Parts:
        return [(self.profile, 1)]

    @property
    def explained(self) -> Analysis:
        return GIVEN

    @property
    def crowd(self) -> str:
        return "-"

    @property
    def participants(self) -> str:
        return "statistics about all users"

    @property
    def removed(self) -> str:
        return (
            f"one {self.member} is in the data; nothing stands for a missing one, or zeros if what "
            "is assumed, such as a constant by which results are divided, holds only if the number "
            "stays the same"
        )

    @property
    def inside(self) -> str:
        return self.described

    @property
    def described(self) -> str:
        return repr(self)

    @property
    def given(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self) if not each.kw_only}  # type: ignore[arg-type]

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"messages": self.messages, "neighbours": self.neighbours}


_DRAWN = (
    "differs by at most the sensitivity between neighbouring datasets, for all possible earlier "
    "releases; the noise is drawn from exactly this distribution, on real numbers and afresh for "
    "every release"
)
_DRAWN_WHOLE = _DRAWN.replace("real numbers", "integers")
_GAUSSIAN = replace(
    GIVEN,
    name="gaussian",
    theorem="exact hockey-stick divergence of two Gaussian distributions (Balle, Wang 2018)",
    assumption=f"the number, or in L2 norm the vector, to which noise is added {_DRAWN}",
)
_LAPLACE = replace(
    GIVEN,
    name="laplace",
    theorem="exact hockey-stick divergence of two Laplace distributions",
    assumption=f"the single number to which noise is added {_DRAWN}",
)
_INTEGERS = replace(
    GIVEN,
    name="integer-noise",
    theorem=(
        "exact hockey-stick divergence between integer noise and its shift; "
        f"proof: {chapter('Noise on integers')}"
    ),
    assumption=f"the single integer to which noise is added {_DRAWN_WHOLE}",
)
Sensitivity = Annotated[
    float,
    Parameter("the most that neighbours change the number or vector, before noise", 1e-12, 1e12),
]


WholeSensitivity = Annotated[
    int, Parameter("the most that neighbours change the integer, before noise", 1, 10**6, True)
]


class CentralNoise(Given):
    """Noise on what neighbours change by no more than its sensitivity.

    Some pair of neighbours changes it by exactly its sensitivity, so that the bounds are attained.

    Examples
    --------
    >>> from shuffledp.central import CentralNoise, GaussianNoise
    >>> isinstance(GaussianNoise(sigma=1.0), CentralNoise)
    True
    """

    neighbours: str

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(type(self)).items():
            object.__setattr__(self, name, parameter.checked(name, getattr(self, name)))
        validate.choice("neighbours", self.neighbours, NEIGHBOURS)

    @property
    def attained_parts(self) -> Sequence[Parts]:
        return [self.parts] * 2

    @property
    def uncovered(self) -> Sequence[str]:
        return [ROUNDING]


@dataclass(frozen=True)
class GaussianNoise(CentralNoise):
    """The central Gaussian mechanism: noise on a number, or on each coordinate of a vector.

    On a computer neither the noise nor the sum is a real number, and rounding can reveal the number
    that was hidden (Mironov 2012). Sample on a grid, or release an integer with
    `DiscreteGaussianNoise`, whose guarantee holds for what is really added.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, 1e-12 to 1e12.
    sensitivity : float
        Largest change of the number, or of the vector in L2 norm, between neighbours, 1e-12 to
        1e12.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import Accountant
    >>> from shuffledp.central import GaussianNoise
    >>> Accountant().compose(GaussianNoise(sigma=50.0), 12).get_epsilon(1e-8) < 0.364
    True
    """

    name: ClassVar[str] = "gaussian"

    sigma: Annotated[
        float,
        Parameter("standard deviation of the noise", 1e-12, 1e12, search=Search(1.0, grows=False)),
    ]
    sensitivity: Sensitivity = 1.0
    neighbours: str = field(default="replace", kw_only=True)

    @property
    def profile(self) -> PrivacyProfile:
        from .profiles.closed_form import GaussianProfile  # loaded with the first question

        # the quotient errs by one unit
        loss = math.nextafter(self.sensitivity / self.sigma, math.inf)
        return GaussianProfile(loss)

    @property
    def explained(self) -> Analysis:
        return _GAUSSIAN

    @property
    def described(self) -> str:
        noise = f"Gaussian noise of standard deviation {plain(self.sigma)}"
        return f"{noise}, sensitivity {plain(self.sensitivity)}"


@dataclass(frozen=True)
class LaplaceNoise(CentralNoise):
    """The central Laplace mechanism: noise on a number.

    On a computer neither the noise nor the sum is a real number, and rounding can reveal the number
    that was hidden (Mironov 2012). Sample on a grid, or release an integer with
    `DiscreteLaplaceNoise`, whose guarantee holds for what is really added.

    Parameters
    ----------
    scale : float
        Scale of the noise, 0.006 to 1e6 times the sensitivity.
    sensitivity : float
        Largest change of the number between neighbours, 1e-12 to 1e12.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.central import LaplaceNoise
    >>> LaplaceNoise(scale=10.0).get_epsilon(0)  # one unit in the last place is for the quotient
    0.10000000000000002
    """

    name: ClassVar[str] = "laplace"

    scale: Annotated[
        float, Parameter("scale of the noise", 1e-12, 1e12, search=Search(1.0, grows=False))
    ]
    sensitivity: Sensitivity = 1.0
    neighbours: str = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.between("scale/sensitivity", self.scale / self.sensitivity, 0.006, 1e6)

    @property
    def profile(self) -> PrivacyProfile:
        """Privacy profile of one user who adds the noise, with nobody else to hide them."""
        loss = math.nextafter(self.sensitivity / self.scale, math.inf)
        return profiles.parts.round_profile(Laplace(loss).law("best"), 1)

    @property
    def explained(self) -> Analysis:
        return _LAPLACE

    @property
    def described(self) -> str:
        return f"Laplace noise of scale {plain(self.scale)}, sensitivity {plain(self.sensitivity)}"


class CentralIntegerNoise(CentralNoise):
    """Noise on an integer, drawn on integers: what is analysed is what is added.

    Whatever is done with the noisy integer, such as a reduction modulo the size of a group, is
    post-processing.

    Examples
    --------
    >>> from shuffledp.central import CentralIntegerNoise, SkellamNoise
    >>> isinstance(SkellamNoise(mu=1.0), CentralIntegerNoise)
    True
    """

    sensitivity: int

    @property
    def explained(self) -> Analysis:
        return _INTEGERS

    @property
    def uncovered(self) -> Sequence[str]:
        return ()

    @property
    @abstractmethod
    def noise(self) -> str:
        """Description of the law of the noise."""

    @property
    def described(self) -> str:
        return f"{self.noise} on an integer, sensitivity {self.sensitivity}"


@dataclass(frozen=True)
class DiscreteGaussianNoise(CentralIntegerNoise):
    """Discrete Gaussian noise on an integer (Canonne, Kamath, Steinke 2020).

    The noise is x with probability proportional to exp(-x^2/(2 sigma^2)).

    Parameters
    ----------
    sigma : float
        0.05 to 1e6; about the standard deviation, unless it is below 1.
    sensitivity : int
        Largest change of the integer between neighbours, 1 to 1e6.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.mechanisms import DiscreteGaussianNoise
    >>> DiscreteGaussianNoise(sigma=3.0).get_epsilon(1e-6) < 1.45492
    True
    """

    name: ClassVar[str] = "discrete-gaussian"

    sigma: Annotated[
        float, Parameter("sigma of the noise", 0.05, 1e6, search=Search(3.0, grows=False))
    ]
    sensitivity: WholeSensitivity = 1
    neighbours: str = field(default="replace", kw_only=True)

    @property
    def profile(self) -> PrivacyProfile:
        law = laws.integer_noise.DiscreteGaussianLaw(self.sigma)
        return profiles.shifted_noise.IntegerNoiseProfile(law, self.sensitivity)

    @property
    def noise(self) -> str:
        return f"discrete Gaussian noise of sigma {plain(self.sigma)}"


@dataclass(frozen=True)
class DiscreteLaplaceNoise(CentralIntegerNoise):
    """Discrete Laplace noise on an integer: x with probability proportional to exp(-|x|/scale).

    Parameters
    ----------
    scale : float
        Scale of the noise, 0.002 to 1e12 times the sensitivity. The loss is sensitivity/scale at
        most.
    sensitivity : int
        Largest change of the integer between neighbours, 1 to 1e6.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.mechanisms import DiscreteLaplaceNoise
    >>> DiscreteLaplaceNoise(scale=10.0).get_epsilon(0)  # one unit in the last place is rounding
    0.10000000000000002
    """

    name: ClassVar[str] = "discrete-laplace"

    scale: Annotated[
        float, Parameter("scale of the noise", 1e-12, 1e12, search=Search(3.0, grows=False))
    ]
    sensitivity: WholeSensitivity = 1
    neighbours: str = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.between("scale/sensitivity", self.scale / self.sensitivity, 0.002, 1e12)

    @property
    def profile(self) -> PrivacyProfile:
        return profiles.shifted_noise.DiscreteLaplaceProfile(self.scale, self.sensitivity)

    @property
    def noise(self) -> str:
        return f"discrete Laplace noise of scale {plain(self.scale)}"


@dataclass(frozen=True)
class SkellamNoise(CentralIntegerNoise):
    """Skellam noise on an integer: the difference of two Poisson variables with mean `mu` each.

    Parameters
    ----------
    mu : float
        Mean of each Poisson variable, 1e-6 to 1e12; the variance is 2 mu.
    sensitivity : int
        Largest change of the integer between neighbours, 1 to 1e6.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.mechanisms import SkellamNoise
    >>> SkellamNoise(mu=100.0).get_epsilon(1e-6) < 0.27156
    True
    """

    name: ClassVar[str] = "skellam"

    mu: Annotated[
        float, Parameter("mean of each Poisson variable", 1e-6, 1e12, search=Search(20.0, False))
    ]
    sensitivity: WholeSensitivity = 1
    neighbours: str = field(default="replace", kw_only=True)

    @property
    def profile(self) -> PrivacyProfile:
        law = laws.integer_noise.SkellamLaw(self.mu)
        return profiles.shifted_noise.IntegerNoiseProfile(law, self.sensitivity)

    @property
    def noise(self) -> str:
        return f"the difference of two Poisson variables of mean {plain(self.mu)}"


@dataclass(frozen=True)
class BinomialNoise(CentralIntegerNoise):
    """Binomial noise on an integer: the number of heads of `coins` fair coins.

    Parameters
    ----------
    coins : int
        Number of coins, 1 to 1e12; the variance is a quarter of it.
    sensitivity : int
        Largest change of the integer between neighbours, 1 to 1e6.
    neighbours : str
        "replace" or "remove": the neighbours that the guarantee is about.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.mechanisms import BinomialNoise
    >>> BinomialNoise(coins=80).get_epsilon(1e-6) < 1 < BinomialNoise(coins=79).get_epsilon(1e-6)
    True
    """

    name: ClassVar[str] = "binomial"

    coins: Annotated[
        int, Parameter("number of fair coins", 1, 10**12, True, search=Search(100, False))
    ]
    sensitivity: WholeSensitivity = 1
    neighbours: str = field(default="replace", kw_only=True)

    @property
    def profile(self) -> PrivacyProfile:
        law = laws.integer_noise.FairCoins(self.coins)
        return profiles.shifted_noise.IntegerNoiseProfile(law, self.sensitivity)

    @property
    def noise(self) -> str:
        return f"the number of heads of {several(self.coins, 'fair coin')}"
