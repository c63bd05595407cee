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

    The cap is the one whose messages are the longest along the true vector on average (Asi et al.
    2022), but no cap is below 1/256 of the sphere. The caps of opposite vectors are disjoint.

    Parameters
    ----------
    dimension : int
        Length of the vectors, 2 to 1e6.
    eps0 : float
        Local epsilon of a message, 1e-6 to 200.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
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
        """Smallest inner product with a vector of the outputs in its cap."""
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
        """Two opposite vectors."""
        first = [1.0, *[0.0] * (self.dimension - 1)]
        return [first, [-x for x in first]]

    def describe(self) -> str:
        return f"unit vectors of {self.dimension} numbers, {self!r}, {plain(self.eps0)}-LDP"
