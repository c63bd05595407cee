"""Subset selection."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, ClassVar

from .._support import validate
from .base import register
from .exact import ExactMatrix, of_sets, ratio
from .membership import MembershipRandomizer, best_neighbour
from .parameter import Family, NeededEpsilon, Parameter, Values

if TYPE_CHECKING:
    from ..clients import Client


@register
@dataclass(frozen=True)
class SubsetSelection(MembershipRandomizer):
    """Subset selection: a random subset of the values, e^eps0 times likelier one with the true
    value.

    Parameters
    ----------
    k : int
        Number of values, 2 to 1e12.
    size : int, optional
        Number of values in a subset, 1 to k - 1. By default the one with which counts are estimated
        best: about k/(e^eps0 + 1) (Ye, Barg 2018).
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp.randomizers import SubsetSelection
    >>> SubsetSelection(k=10, eps0=1.0)
    SubsetSelection(k=10, size=2, eps0=1.0)
    """

    name: ClassVar[str] = "subset"
    also: ClassVar[tuple[str, ...]] = ("subset-selection", "ss")
    task: ClassVar[str] = "count"
    example: ClassVar[Mapping[str, float]] = {"k": 4, "size": 2, "eps0": 1.0}
    two_of_two: ClassVar[bool] = True

    k: Values
    size: Annotated[int, Parameter("number of values in a subset", 1, 10**12, whole=True)] = None  # type: ignore[assignment]
    eps0: NeededEpsilon = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.size is None:
            k = validate.count("k", self.k, 10**12, least=2)
            self._keep("size", _best_size(k, math.exp(validate.local_epsilon(self.eps0))))
        super().__post_init__()
        validate.count("size", self.size, self.k - 1)

    @property
    def in_words(self) -> str:
        size = f"{self.size:,} of {self.k:,} values"
        return f"a random set of {size}, more likely one with the own value"

    @classmethod
    def families(cls, size: int) -> Sequence[Family]:
        # sets of one value are randomized response, and large ones tell less than small ones
        powers = (2**i for i in range(1, size.bit_length()))
        options = [{"k": size, "size": power} for power in powers if power <= max(size // 2, 2)]
        return (Family("eps0", options),) if size > 2 else ()

    @property
    def blanket_key(self) -> Hashable:
        """Number of values and size: in the blanket all subsets are equally likely."""
        return self.k, self.size

    def base_mass(self, inside: int, given: int) -> float:
        # C(k - given, size - inside) / (E C(k-1, size-1) + C(k-1, size)), through the chance that a
        # random subset of the k values holds the given ones as said
        chance, k, size = 1.0, self.k, self.size
        for i in range(given):
            chance *= (size - i if i < inside else k - size - (i - inside)) / (k - i)
        held = size / k
        return max(chance, 0.0) / (math.exp(self.eps0) * held + (1 - held))

    @cached_property
    def client(self) -> Client:
        from ..clients.subsets import SubsetsClient

        return SubsetsClient(self.k, self.size, ratio(self.eps0))

    def exact(self) -> ExactMatrix:
        k = self.k
        smaller = min(self.size, k - self.size, 20)  # beyond 20 the sets are too many already
        return ExactMatrix(
            k,
            math.comb(k, smaller),
            lambda: of_sets(k, combinations(range(k), self.size), self.eps0),
        )


def _best_size(k: int, ratio: float) -> int:
    def chances(size: int) -> tuple[float, float]:
        own = size * ratio / (size * ratio + k - size)
        return own, (size - own) / (k - 1)

    return best_neighbour(k / (ratio + 1), 1, k - 1, chances)
