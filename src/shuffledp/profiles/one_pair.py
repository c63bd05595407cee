"""The profile of neighbouring datasets in one order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from .._support.numeric import Array
from .base import PrivacyProfile, Sampler


@dataclass(frozen=True)
class PairProfile(PrivacyProfile):
    """The profile `forward` of a pair (P, Q), and that of (Q, P): in general another one, without
    which the losses of several rounds cannot be added up.

    Of several pairs they are the largest profiles in either order: together they are the profile of
    one pair that dominates all of them, since both have the same value at epsilon = 0, the largest
    total variation (docs/theory.md, "Only the sums are seen").
    """

    forward: PrivacyProfile
    backward: PrivacyProfile

    @property
    def reverse(self) -> PrivacyProfile:
        return self.backward

    @property
    def swapped(self) -> PairProfile:
        return PairProfile(self.backward, self.forward)

    @property
    def max_loss(self) -> float:
        return self.forward.max_loss

    @property
    def farthest_loss(self) -> float:
        return self.forward.farthest_loss

    @property
    def bounded(self) -> bool:
        return self.forward.bounded

    @property
    def depths(self) -> Sequence[float]:
        return self.forward.depths

    @property
    def dear(self) -> bool:
        return self.forward.dear

    @property
    def slow(self) -> bool:
        return self.forward.slow

    @property
    def family(self) -> tuple[Hashable, int]:
        (family, users), (other, _) = self.forward.family, self.backward.family
        return ("pair", family, other), users

    def outlined(self, epsilon: Array, width: float) -> Array:
        return self.forward.outlined(epsilon, width)

    def sampler(self, depth: float, rtol: float) -> Sampler:
        return self.forward.sampler(depth, rtol)
