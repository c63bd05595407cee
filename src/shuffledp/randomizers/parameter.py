"""The parameters of randomizers: what each means, its limits, and how to look for it.

They stand in the annotations of a randomizer's fields; the command line, plans, sweeps, calibrate
and the tests read them from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, get_type_hints

from .._support import validate


@dataclass(frozen=True)
class Search:
    """How `calibrate` looks for a parameter."""

    start: float  # a value to begin with
    grows: bool  # does epsilon grow with it?


@dataclass(frozen=True)
class Parameter:
    """A number in [least, most], whole or not; or a text, or what is read from a file."""

    meaning: str  # a few words for help texts
    least: float = 0.0
    most: float = 1.0
    whole: bool = False
    search: Search | None = None  # None: it cannot be calibrated
    check: Callable[[str, Any], Any] | None = None  # the value as it is kept, or an error
    read: Callable[[str], Any] | None = None  # for a parameter that is given as a file
    text: bool = False  # is it given as a line of text?
    needed: bool | None = None  # by the randomizer that has it; None: if it has no default
    #: Narrower limits for shuffled messages, where less can be answered than of sums.
    shuffled: tuple[float, float] | None = None
    summed: bool = False  # it has a meaning if only sums are seen

    def limits(self, view: str) -> tuple[float, float]:
        """The least and the largest value that a view supports, by the name of the view."""
        if view == "shuffle" and self.shuffled is not None:
            return self.shuffled
        return self.least, self.most

    def checked(self, name: str, value: Any) -> Any:
        """The value as it is kept; whatever is wrong with it is told in one sentence."""
        if self.check is not None:
            return self.check(name, value)
        if self.whole:
            return validate.count(name, value, int(self.most), int(self.least))
        return validate.between(name, value, self.least, self.most)


@dataclass(frozen=True)
class Family:
    """Randomizers of one kind: a target says the parameter `find`, one of the options the others.

    The options are ordered such that the best one has better ones towards it on either side.
    """

    find: str
    options: Sequence[Mapping[str, Any]]


@cache
def parameters_of(randomizer: type[Any]) -> Mapping[str, Parameter]:
    """The parameters of a class of randomizers, by name, in their order; none without fields."""
    if not is_dataclass(randomizer):
        return {}
    hints = get_type_hints(randomizer, include_extras=True)
    return {
        field.name: extra
        if extra.needed is not None
        else replace(extra, needed=field.default is MISSING)
        for field in fields(randomizer)
        for extra in getattr(hints[field.name], "__metadata__", ())
        if isinstance(extra, Parameter)
    }


_EPS0 = Parameter(
    "local epsilon of the randomizer",
    validate.MIN_EPS0,
    validate.MAX_EPS0,
    search=Search(start=2.0, grows=True),
    check=lambda name, value: validate.local_epsilon(value),
)
LocalEpsilon = Annotated[float, _EPS0]
#: The same behind a parameter that need not be given.
NeededEpsilon = Annotated[float, replace(_EPS0, needed=True)]
Values = Annotated[int, Parameter("number of values", 2, 10**12, whole=True)]
