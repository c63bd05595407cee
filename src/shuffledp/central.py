"""Central mechanisms: whoever holds the data of all users releases something.

Here are those with noise of a known law; `mechanisms` has those of which a guarantee is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from . import profiles
from ._support import validate
from ._support.text import plain
from .guarantee import NEIGHBOURS
from .randomizers import Analysis, Laplace, Parameter
from .randomizers.parameter import parameters_of
from .rounds import RoundOfReports

if TYPE_CHECKING:
    from .profiles.base import Parts, PrivacyProfile

GIVEN = Analysis(
    name="given",
    theorem="the guarantee that is given, as that of the worst pair of outputs which has it",
    adversary="sees what is released and knows the data of every user but one",
    assumption=(
        "the mechanism has the guarantee that is given, for these neighbours and whatever was "
        "released before"
    ),
    gist="sees what is released",
    law=lambda round_: None,
    as_one=False,
)


class Given(RoundOfReports):
    """A central mechanism: whoever holds the data of all users releases something. Of a mechanism
    that is not ours only a profile is known.

    Subclasses are frozen dataclasses; what is a field is a parameter.
    """

    view: ClassVar[str] = "central"
    noun: ClassVar[str] = "release"
    mechanism_label: ClassVar[str] = "central mechanism"
    seen: ClassVar[str] = "what a curator releases"
    trusted: ClassVar[str] = (
        "whoever holds the data is trusted with them and releases nothing else of them"
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
        return "statistics of all users"

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
    "by no more than its sensitivity; the noise is drawn from exactly this law, on real numbers "
    "and afresh for every release"
)
_CHANGED = "neighbours, whatever was released before, change what noise is added to,"
_GAUSSIAN = replace(
    GIVEN,
    name="gaussian",
    theorem="exact hockey-stick divergence of two normal laws (Balle, Wang 2018)",
    assumption=f"{_CHANGED} a number or (in length) a vector, {_DRAWN}",
)
_LAPLACE = replace(
    GIVEN,
    name="laplace",
    theorem="exact hockey-stick divergence of two Laplace laws",
    assumption=f"{_CHANGED} a single number, {_DRAWN}",
)
Sensitivity = Annotated[
    float, Parameter("the most that neighbours change, before noise", 1e-12, 1e12)
]


class CentralNoise(Given):
    """Noise on what neighbours, those that are named, change by no more than its sensitivity."""

    neighbours: str

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(type(self)).items():
            object.__setattr__(self, name, parameter.checked(name, getattr(self, name)))
        validate.choice("neighbours", self.neighbours, NEIGHBOURS)


@dataclass(frozen=True)
class GaussianNoise(CentralNoise):
    """The central Gaussian mechanism: noise of standard deviation `sigma` on a number, or on each
    coordinate of a vector that neighbours change by a length of `sensitivity` at most.

    >>> from shuffledp import Accountant
    >>> from shuffledp.central import GaussianNoise
    >>> Accountant().compose(GaussianNoise(sigma=50.0), 12).get_epsilon(1e-8) < 0.364
    True
    """

    name: ClassVar[str] = "gaussian"

    sigma: Annotated[float, Parameter("standard deviation of the noise", 1e-12, 1e12)]
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
    """The central Laplace mechanism: noise of scale `scale` on a number that neighbours change by
    `sensitivity` at most.

    >>> from shuffledp.central import LaplaceNoise
    >>> LaplaceNoise(scale=10.0).get_epsilon(0)  # one unit in the last place is for the quotient
    0.10000000000000002
    """

    name: ClassVar[str] = "laplace"

    scale: Annotated[float, Parameter("scale of the noise", 1e-12, 1e12)]
    sensitivity: Sensitivity = 1.0
    neighbours: str = field(default="replace", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.between("scale/sensitivity", self.scale / self.sensitivity, 0.006, 1e6)

    @property
    def profile(self) -> PrivacyProfile:
        """Of one user who adds the noise: nobody else hides them."""
        loss = math.nextafter(self.sensitivity / self.scale, math.inf)
        return profiles.parts.round_profile(Laplace(loss).law("best"), 1)

    @property
    def explained(self) -> Analysis:
        return _LAPLACE

    @property
    def described(self) -> str:
        return f"Laplace noise of scale {plain(self.scale)}, sensitivity {plain(self.sensitivity)}"
