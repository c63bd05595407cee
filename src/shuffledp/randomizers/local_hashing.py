"""Local hashing."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .._support import validate
from ..errors import InvalidParameter
from .base import register
from .exact import ExactMatrix, Fractions, of_sets, ratio
from .membership import MembershipRandomizer, best_neighbour
from .parameter import Family, NeededEpsilon, Parameter

if TYPE_CHECKING:
    from ..clients import Client, Counts, Estimate
    from ..clients.hashing import HashClient


@register
@dataclass(frozen=True)
class LocalHashing(MembershipRandomizer):
    """Local hashing: a random hash function to g values, and g-ary randomized response on the hash.

    The hash functions are taken to be independent on any three values (pairs for the blanket).

    Parameters
    ----------
    g : int, optional
        Number of values of the hash functions, 2 to 1e12. By default the one with which counts are
        estimated best: about e^eps0 + 1 (Wang et al. 2017, OLH).
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.randomizers import LocalHashing
    >>> LocalHashing(eps0=1.0)
    LocalHashing(g=4, eps0=1.0)
    """

    name: ClassVar[str] = "hashing"
    also: ClassVar[tuple[str, ...]] = ("olh", "lh", "blh", "local-hashing")
    task: ClassVar[str] = "count"
    example: ClassVar[Mapping[str, float]] = {"g": 2, "eps0": 1.0}
    # no output contains all values if there are more than a few; then their number plays no part
    k: ClassVar[int] = 3  # type: ignore[misc]

    g: Annotated[
        int, Parameter("number of values of the hash functions", 2, 10**12, whole=True)
    ] = None  # type: ignore[assignment]
    eps0: NeededEpsilon = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.g is None:
            self._keep("g", _best_range(math.exp(validate.local_epsilon(self.eps0))))
        super().__post_init__()

    @property
    def in_words(self) -> str:
        return "a random hash function, and the hash of the value or, at random, any of its numbers"

    @classmethod
    def families(cls, size: int) -> Sequence[Family]:
        return (Family("eps0", [{"g": round(2 ** (half / 2))} for half in range(2, 61)]),)

    @property
    def blanket_key(self) -> Hashable:
        """Number of hash values: in the blanket all functions and all hash values are equally
        likely."""
        return self.g

    def base_mass(self, inside: int, given: int) -> float:
        each = 1 / self.g
        chance = each**inside * (1 - each) ** (given - inside)
        return self.g * chance / (math.expm1(self.eps0) + self.g)

    def describe(self) -> str:
        return f"{super().describe()}, with an ideal hash function drawn afresh for every message"

    @cached_property
    def client(self) -> Client:
        return self._counting()

    def count(self, messages: Any, k: int | None = None) -> Counts:
        """Counts of messages: all that an estimate needs; counts add up, in any order.

        Parameters
        ----------
        messages : array_like
            Messages of any users, as `randomize` returns them.
        k : int, optional
            Number of values: 0 .. k - 1 are counted. It has to be given, since messages do not tell
            it.

        Returns
        -------
        Counts
            Number of users and a tally.

        Raises
        ------
        InvalidParameter
            If `k` is missing, or a message is not one of the randomizer's.
        """
        return self.counting_client(k).count(messages).of_protocol(repr(self))

    def counting_client(self, values: int | None = None) -> Client:
        if values is None:
            raise InvalidParameter(
                "k is missing: messages of local hashing do not tell how many values there are; "
                "give k, to count the values 0 .. k - 1."
            )
        return self._counting(values)

    def counts_of(self, messages: Any, users: int, values: int) -> Counts:
        return self.count(messages, values)

    def estimate(self, messages: Any, k: int | None = None) -> Estimate:
        """Estimate of what the values of all users were.

        Parameters
        ----------
        messages : array_like or Counts
            Messages, or counts of them.
        k : int, optional
            Number of values, which messages do not tell; counts do.

        Returns
        -------
        Estimate
            Counts of each value.

        Raises
        ------
        InvalidParameter
            If `k` is missing, or messages or counts are not the randomizer's.
        """
        from ..clients import Counts

        counts = messages if isinstance(messages, Counts) else self.count(messages, k)
        return self._counting(len(counts.tally)).estimate(counts.of_protocol(repr(self)))

    def _counting(self, k: int | None = None) -> HashClient:
        """Counts the values below k; unless told, below all that may be hashed."""
        from ..clients.hashing import PRIME, HashClient

        k = PRIME if k is None else validate.count("k", k, PRIME)
        return HashClient(k, self.g, ratio(self.eps0))

    def exact(self) -> ExactMatrix:
        """Probabilities for three values and all functions from them to g: as many as the bounds
        need."""
        return ExactMatrix(self.k, self.g ** (self.k + 1), self._hashed)

    def _hashed(self) -> Fractions:
        hashed = (
            [x for x in range(self.k) if function[x] == message]
            for function in product(range(self.g), repeat=self.k)
            for message in range(self.g)
        )
        return of_sets(self.k, hashed, self.eps0)


def _best_range(ratio: float) -> int:
    def chances(g: int) -> tuple[float, float]:
        return ratio / (ratio + g - 1), 1 / g

    return best_neighbour(ratio + 1, 2, 10**12, chances)
