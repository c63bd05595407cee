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
    """How `calibrate` searches for a parameter.

    Parameters
    ----------
    start : float
        A value to begin with.
    grows : bool
        Whether epsilon grows with the parameter.

    Examples
    --------
    >>> from shuffledp.randomizers import Parameter, Search
    >>> Parameter("noise", 0.1, 10.0, search=Search(1.0, grows=False)).search.start
    1.0
    """

    start: float
    grows: bool


@dataclass(frozen=True)
class Parameter:
    """Meaning and limits of a parameter: a number, a text, or what is read from a file.

    Parameters
    ----------
    meaning : str
        A few words for help texts.
    least, most : float
        Smallest and largest number that is supported.
    whole : bool
        Whether it is a whole number.
    search : Search, optional
        How to calibrate it; None if it cannot be.
    check : callable, optional
        From name and value to the value that is kept, or an error.
    read : callable, optional
        From the name of a file to the value.
    text : bool
        Whether it is given as a line of text.
    needed : bool, optional
        Whether it has to be given; None: if the field has no default.
    shuffled : tuple, optional
        Narrower limits (least, most) for shuffled messages.
    summed : bool
        Whether it has a meaning only for sums, not for shuffled messages.

    Examples
    --------
    >>> from shuffledp.randomizers import Parameter
    >>> Parameter("number of values", 2, 100, whole=True).checked("k", 5.0)
    5
    """

    meaning: str
    least: float = 0.0
    most: float = 1.0
    whole: bool = False
    search: Search | None = None
    check: Callable[[str, Any], Any] | None = None
    read: Callable[[str], Any] | None = None
    text: bool = False
    needed: bool | None = None
    shuffled: tuple[float, float] | None = None
    summed: bool = False

    def limits(self, view: str) -> tuple[float, float]:
        """Smallest and largest value that a view supports.

        Parameters
        ----------
        view : str
            Name of the view, such as "shuffle" or "aggregate".

        Returns
        -------
        tuple of float
            The two limits.
        """
        if view == "shuffle" and self.shuffled is not None:
            return self.shuffled
        return self.least, self.most

    def checked(self, name: str, value: Any) -> Any:
        """Value as it is kept.

        Parameters
        ----------
        name : str
            Name of the parameter, for the error.
        value : object
            What was given.

        Returns
        -------
        object
            An int for a whole number, else a float, or what `check` makes of it.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        if self.check is not None:
            return self.check(name, value)
        if self.whole:
            return validate.count(name, value, int(self.most), int(self.least))
        return validate.between(name, value, self.least, self.most)


@dataclass(frozen=True)
class Family:
    """Randomizers of one kind: the target determines the parameter `find`, an option all others.

    Parameters
    ----------
    find : str
        Parameter that is calibrated to the target.
    options : sequence of mapping
        Other parameters by name, ordered such that results improve towards the best option from
        either side.

    Examples
    --------
    >>> from shuffledp.randomizers import SubsetSelection
    >>> [family.find for family in SubsetSelection.families(16)]
    ['eps0']
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
