"""Certified epsilon and delta of rounds: of a single one by its profile, else by composition."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from .._support.numeric import Bounds
from ..composition.compose import Composition
from ..profiles.base import PrivacyProfile
from . import composed, one_round


class Rounds:
    """Profiles and how many rounds have each; rounds in which nothing is lost do not count.

    Keeps the composition for later questions, which may come from several threads. `refine`: if
    the first lattice of a composition is too coarse, a finer one is tried.
    """

    def __init__(self, parts: Sequence[tuple[PrivacyProfile, int]], *, refine: bool = True) -> None:
        self._refine = refine
        counts: dict[PrivacyProfile, int] = {}  # rounds with equal profiles are one kind
        for profile, count in parts:
            if profile.max_loss > 0 or not profile.bounded:
                counts[profile] = counts.get(profile, 0) + count
        self._kinds = tuple(counts.items())
        self._composition: Composition | None = None
        self._lock = threading.Lock()

    @property
    def composition(self) -> Composition:
        """Of rounds that lose something."""
        with self._lock:
            if self._composition is None:
                self._composition = Composition(self._kinds)
            return self._composition

    @property
    def _only(self) -> PrivacyProfile | None:
        """The profile, if there is one round."""
        match self._kinds:
            case ((profile, 1),):
                return profile
        return None

    def max_loss(self) -> float:
        """The epsilon of pure DP."""
        if not self._kinds:
            return 0.0
        if not all(profile.bounded for profile, _ in self._kinds):
            return math.inf
        return self.composition.max_loss if self._only is None else self._only.max_loss

    def epsilon_bounds(self, delta: float, rtol: float) -> Bounds[float]:
        """At any delta; 0 asks for pure DP."""
        if delta == 0:
            return Bounds(*[self.max_loss()] * 2)
        if delta == 1 or not self._kinds:
            return Bounds(0.0, 0.0)
        if self._only is not None:
            return one_round.epsilon_bounds(self._only, delta, rtol)
        return composed.epsilon_bounds(self.composition, delta, rtol, self._refine)

    def delta_bounds(self, epsilon: float, rtol: float) -> Bounds[float]:
        if not self._kinds:
            return Bounds(0.0, 0.0)
        if self._only is not None:
            return one_round.delta_bounds(self._only, epsilon, rtol)
        return composed.delta_bounds(self.composition, epsilon, rtol, self._refine)
