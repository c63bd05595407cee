"""What a local randomizer has to offer, and the registry of those that have a name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import laws
from .._support import validate
from ..errors import InvalidParameter
from ..laws.class_law import Law
from .analyses import SUMS, Analysis
from .exact import ExactMatrix
from .parameter import Family, Parameter, parameters_of

if TYPE_CHECKING:  # clients are loaded when the first one is asked for: an accountant needs none
    from ..clients import Client, Counts, Specification


class Randomizer(ABC):
    """A local randomizer: an immutable value that knows the laws of its messages.

    It knows nothing about users, samples, rounds or numerics. Subclasses are frozen dataclasses
    whose fields are annotated with a `Parameter`.

    Examples
    --------
    >>> from shuffledp.randomizers import RandomizedResponse, Randomizer
    >>> isinstance(RandomizedResponse(k=4, eps0=1.0), Randomizer)
    True
    """

    #: As on the command line.
    name: ClassVar[str]
    #: What else it is called: who writes that is told the name.
    also: ClassVar[tuple[str, ...]] = ()
    #: Parameters of a small one: for tests and help texts.
    example: ClassVar[Mapping[str, Any]]
    #: Whether the analyzed pair covers the exchange of a user's value for that of any other user,
    #: which the theorem for samples of any mechanism needs.
    covers_every_exchange: ClassVar[bool] = True
    #: Whether equal objects are one and the same randomizer. False if it stands for many: then two
    #: groups of users with equal ones may send messages that have nothing in common.
    is_one_randomizer: ClassVar[bool] = True
    #: What is estimated from its messages: "count", "mean" or "vector"; None if it has no client.
    task: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(type(self)).items():
            self._keep(name, parameter.checked(name, getattr(self, name)))

    def _keep_one_noise(self, kinds: Sequence[str]) -> str:
        """Check the parameters that are given; return the one of these that says the noise."""
        for name, parameter in parameters_of(type(self)).items():
            value = getattr(self, name)
            if value is not None:
                self._keep(name, parameter.checked(name, value))
        given = [name for name in kinds if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidParameter(
                f"the noise is given in {len(given)} ways; give exactly one of {', '.join(kinds)}."
            )
        return given[0]

    def _keep(self, name: str, value: Any) -> None:
        """Put a validated value into a frozen dataclass."""
        object.__setattr__(self, name, value)

    @property
    def given(self) -> dict[str, Any]:
        """Parameters by name; the class makes an equal randomizer of them."""
        values = {name: getattr(self, name) for name in parameters_of(type(self))}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def reported(self) -> dict[str, Any]:
        """Parameters by name for a report; what is too large for one is replaced by its digest."""
        return self.given

    @classmethod
    def families(cls, size: int) -> Sequence[Family]:
        """Families that `choose` has to choose among.

        Parameters
        ----------
        size : int
            Number of values, or length of the vectors.

        Returns
        -------
        sequence of Family
            Empty if there is nothing to search for.
        """
        known = parameters_of(cls)
        searched = [name for name, parameter in known.items() if parameter.search is not None]
        if cls.task is None or not searched:
            return ()
        find = "eps0" if "eps0" in searched else searched[0]
        sizes = {name: size for name in ("k", "dimension") if name in known}
        free = {name for name, parameter in known.items() if parameter.needed} - {find, *sizes}
        return (Family(find, ({**sizes, **{name: cls.example[name] for name in free}},)),)

    @classmethod
    def families_for(cls, task: str, size: int, honest: int) -> Sequence[Family]:
        """Families that `choose` has to choose among for a task; most randomizers are for one task
        only.

        Parameters
        ----------
        task : str
            "count", "mean" or "vector".
        size, honest : int
            Number of values, or length of the vectors; and number of honest users.

        Returns
        -------
        sequence of Family
            Empty if the randomizer is not for this task.
        """
        return cls.families(size) if task == cls.task else ()

    @property
    @abstractmethod
    def analyses(self) -> Mapping[str, Analysis]:
        """Analyses that apply, by the names a user may ask for; "best" is among them."""

    def law(self, analysis: str) -> Law:
        """Law of a message, as an analysis sees it.

        Parameters
        ----------
        analysis : str
            A name of `analyses`.

        Returns
        -------
        Law
            Probabilities of messages from the differing user and from the others.
        """
        law: Law = self.analyses[analysis].law(self)
        return law

    @property
    def relations(self) -> tuple[str, ...]:
        """Neighbours that have a meaning if messages are shuffled: "replace", "remove" or both."""
        return ("replace",)

    @property
    def local_eps0(self) -> float:
        """Local epsilon of one message whose sender is known; infinite if there is none."""
        return float(getattr(self, "eps0", math.inf))

    @property
    def no_local_eps0(self) -> str:
        """Words of a statement about one message whose sender is known, if it has no local eps0."""
        return "a message has no local eps0"

    @property
    def truth_probability(self) -> Fraction | None:
        """Probability that a user sends their value unchanged, rounded up; None if messages are not
        values."""
        return None

    @abstractmethod
    def attained_law(self) -> Law:
        """Laws of a message in the neighbouring datasets `attained_by`, in both orders."""

    @property
    def blanket_key(self) -> Hashable | None:
        """Key that randomizers share if their blankets are multiples of one law, or None.

        Users of randomizers with one key hide each other (docs/theory/mixed.md).
        """
        return None

    @property
    def attained_by(self) -> str:
        """Description of the datasets that `attained_law` is about."""
        return "neighbouring datasets of this randomizer"

    def binary_law(self) -> laws.binary_law.BinaryLaw | None:
        """Probabilities of the two messages, or None if there are more."""
        return None

    def sum_law(self) -> Any:
        """Law of what one user adds, if only the sum is seen; None if none is known."""
        bits = self.binary_law()
        return None if bits is None else laws.binary_law.BitColumns(bits)

    @property
    def is_summed(self) -> bool:
        """Whether values are hidden in sums only, so that messages must not be seen one by one."""
        return False

    @property
    def sum_analysis(self) -> Analysis:
        """Analysis behind the numbers if only sums are seen."""
        return SUMS

    @property
    def sum_remarks(self) -> Mapping[str, str]:
        """Further lines of a statement about sums, by name."""
        return {}

    @property
    def in_words(self) -> str:
        """What a message is, in words that need no formula, where `describe` has a name only."""
        return ""

    @abstractmethod
    def describe(self) -> str:
        """Description of what the randomizer does, for a statement."""

    def exact(self) -> ExactMatrix:
        """All probabilities as fractions, from the definition alone, for `verify`.

        Raises
        ------
        InvalidParameter
            If it has no finite matrix, or stands for many randomizers.
        """
        raise InvalidParameter(
            f"{self!r} has no finite matrix; give a FiniteRandomizer or a named randomizer with "
            "finitely many outputs."
        )

    @property
    def client(self) -> Client:
        """Client: what a device runs, and how its messages are counted."""
        raise InvalidParameter(
            f"{self!r} has no client; use one of your own, and test it against the claimed eps0 "
            "with audit."
        )

    def randomize(self, values: Any, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """Messages that users with these values send.

        Parameters
        ----------
        values : array_like
            One value per user, or a single value.
        rng : numpy.random.Generator, optional
            Source of random bits for simulations only; by default they come from the operating
            system.

        Returns
        -------
        ndarray
            One message per value along the first axis; for a single value, its message.

        Raises
        ------
        InvalidParameter
            If a value is not one of the randomizer's, or it has no client.
        """
        from ..clients import Source

        return self.client.randomize(values, Source(rng))

    def client_spec(self) -> Specification:
        """Client as data, for devices that do not run Python.

        Returns
        -------
        Specification
            A JSON document: a program of exact coins and uniform choices, the form of values and
            messages, the claimed eps0, and test vectors (docs/deploy-client.md).

        Raises
        ------
        InvalidParameter
            If the client is not made of coins and uniform choices; the error says why.
        """
        from ..clients.specification import specify

        kind = getattr(self, "name", type(self).__name__)
        given = self.given if REGISTRY.get(kind, SUMMED.get(kind)) is type(self) else {}
        named = {name: repr(value) for name, value in given.items() if np.ndim(value) == 0}
        return specify(self.client, {"name": kind, "parameters": named}, self.local_eps0)

    def count(self, messages: Any) -> Counts:
        """Counts of messages: all that an estimate needs; counts add up, in any order.

        Parameters
        ----------
        messages : array_like
            Messages of any users, as `randomize` returns them; others are refused.

        Returns
        -------
        Counts
            Number of users and a tally.
        """
        return self.client.count(messages).of_protocol(repr(self))

    def counting_client(self, values: int | None = None) -> Client:
        """Client that counts messages.

        Parameters
        ----------
        values : int, optional
            Number of values to count, only for messages that do not tell it.

        Returns
        -------
        Client
            Its `count` counts messages.

        Raises
        ------
        InvalidParameter
            If the number is given although messages tell it, or the reverse.
        """
        if values is not None:
            raise InvalidParameter(
                f"k={values} is for messages that do not tell how many values there are; leave it "
                f"out for {self!r}."
            )
        return self.client

    def counts_of(self, messages: Any, users: int, values: int) -> Counts:
        """Counts of messages, given what the messages of some randomizers do not tell.

        Parameters
        ----------
        messages : array_like
            Messages of these users.
        users, values : int
            Number of users who have sent them, and number of values.

        Returns
        -------
        Counts
            Number of users and a tally.
        """
        return self.count(messages)

    def estimate(self, messages: Any) -> Any:
        """Estimate of what the values of all users were.

        Parameters
        ----------
        messages : array_like or Counts
            Messages, or counts of them; others are refused as by `count`.

        Returns
        -------
        Estimate or MeanEstimate
            Counts of each value; or the mean, for numbers and vectors.
        """
        from ..clients import Counts

        counts = messages if isinstance(messages, Counts) else self.count(messages)
        return self.client.estimate(counts.of_protocol(repr(self)))

    @property
    def bits(self) -> int:
        """Size of a message, in bits."""
        return self.client.bits

    def bits_of(self, values: int, users: int) -> float:
        """Mean number of bits that the device of each user sends in a round.

        Parameters
        ----------
        values, users : int
            Number of values, and number of users who send.

        Returns
        -------
        float
            Bits per user.
        """
        return self.bits

    def count_variance(self, users: int, count: float = 0.0) -> float:
        """Variance of the estimated count of a value.

        Parameters
        ----------
        users : int
            Number of users who send, 1 to 1e12.
        count : float
            Number of users who hold the value, 0 to `users`.

        Returns
        -------
        float
            Square of the standard error, in users squared.
        """
        users = validate.count("users", users, validate.MAX_USERS)
        return float(self.client.variance(users, validate.between("count", count, 0, users)))

    def mean_variance(self, users: int) -> float:
        """Variance of an estimated mean, or of one of its coordinates: the largest over all data.

        Parameters
        ----------
        users : int
            Number of users who send, 1 to 1e12.

        Returns
        -------
        float
            Square of the largest standard error over all data.
        """
        users = validate.count("users", users, validate.MAX_USERS)
        return self.client.mean_variance(users)

    def unit_variance(self, users: int) -> float:
        """Variance of an estimated mean of numbers in [0, 1], any rounding included, or of unit
        vectors: the largest over all such data.

        Parameters
        ----------
        users : int
            Number of users who send, 1 to 1e12.

        Returns
        -------
        float
            Square of the largest standard error over all data.
        """
        return self.mean_variance(users)


def spelled(randomizer: Randomizer) -> str:
    """The class with the parameters that were given, as a repr."""
    said = ", ".join(f"{name}={value!r}" for name, value in randomizer.given.items())
    return f"{type(randomizer).__name__}({said})"


#: Every named randomizer whose messages may be shuffled.
REGISTRY: dict[str, type[Randomizer]] = {}
#: Those that hide values in sums only.
SUMMED: dict[str, type[Randomizer]] = {}

Kind = TypeVar("Kind", bound=type[Randomizer])


def register(randomizer: Kind) -> Kind:
    """The same class, made known to all commands, plans, sweeps and tests by its `name`.

    Parameters
    ----------
    randomizer : type
        A class of randomizers with a `name`: use it as a decorator.

    Returns
    -------
    type
        The class itself.

    Raises
    ------
    InvalidParameter
        If another class has this name.

    Examples
    --------
    >>> from shuffledp.randomizers import REGISTRY
    >>> REGISTRY["rr"].__name__
    'RandomizedResponse'
    """
    if REGISTRY.setdefault(randomizer.name, randomizer) is not randomizer:
        raise InvalidParameter(f"there are two randomizers {randomizer.name!r}; rename one.")
    return randomizer


def named_randomizers() -> dict[str, type[Randomizer]]:
    """All randomizers by name, also those that hide values in sums only."""
    return {**REGISTRY, **SUMMED}


def known_parameters() -> dict[str, dict[str, Parameter]]:
    """What each parameter is, by the randomizer that has it; those of most randomizers first."""
    found: dict[str, dict[str, Parameter]] = {}
    for kind, randomizer in named_randomizers().items():
        for name, parameter in parameters_of(randomizer).items():
            found.setdefault(name, {})[kind] = parameter
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def parameter_named(name: str) -> Parameter | None:
    """A parameter of that name, one that can be searched for if there is one: parameters of one
    name are of one kind, and are searched for alike if at all."""
    uses = known_parameters().get(name, {}).values()
    return next((each for each in uses if each.search is not None), next(iter(uses), None))


def parameter_names(having: Callable[[Parameter], Any] = bool) -> list[str]:
    """The names of all parameters of this kind."""
    return [name for name, uses in known_parameters().items() if all(map(having, uses.values()))]
