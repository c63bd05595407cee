"""PrivUnit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from .._support.text import plain
from .base import register
from .exact import ratio
from .parameter import LocalEpsilon, Parameter
from .two_levels import TwoLevelRandomizer

if TYPE_CHECKING:
    from ..clients import Client


@register
@dataclass(frozen=True)
class PrivUnit(TwoLevelRandomizer):
    """A unit vector as a random one, likelier one in the cap around it (Bhowmick et al. 2018).

    Of all caps the one is taken whose messages are the longest along the own vector on average
    (Asi et al. 2022), but none below 1/256 of the sphere. The caps of opposite vectors share
    nothing.

    >>> from shuffledp.randomizers import PrivUnit
    >>> round(PrivUnit(dimension=3, eps0=2.0).share, 6)
    0.268941
    """

    name: ClassVar[str] = "priv-unit"
    also: ClassVar[tuple[str, ...]] = ("privunit",)
    task: ClassVar[str] = "vector"
    example: ClassVar[Mapping[str, float]] = {"dimension": 5, "eps0": 1.0}

    dimension: Annotated[int, Parameter("length of the vectors", 2, 10**6, whole=True)]
    eps0: LocalEpsilon

    @cached_property
    def threshold(self) -> float:
        """An output is in the cap of a vector if its product with it is no less than this."""
        from ..clients.caps import best_threshold

        return best_threshold(self.dimension, self.eps0)

    @cached_property
    def share(self) -> float:
        from ..clients.caps import cap_share

        return cap_share(self.dimension, self.threshold)

    @cached_property
    def third_alone(self) -> float:
        from ..clients.caps import cap_overlap

        # of a vector at right angles to the other two
        return max(self.share - 2 * cap_overlap(self.dimension, self.threshold), 0.0)

    @property
    def third_error(self) -> float:
        return 2e-11 / (1 - 2 * self.share)  # shares err by 5e-12, and 1 - 2 share may be small

    @cached_property
    def client(self) -> Client:
        from ..clients.sphere import SphereClient

        return SphereClient(self.dimension, self.share, ratio(self.eps0))

    def telling_values(self) -> list[Any]:
        """Opposite vectors."""
        first = [1.0, *[0.0] * (self.dimension - 1)]
        return [first, [-x for x in first]]

    def describe(self) -> str:
        return f"unit vectors of {self.dimension} numbers, {self!r}, {plain(self.eps0)}-LDP"
