"""Certified epsilon and delta of rounds: of a single one by its profile, else by composition.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import bounds, composition
from .._support.numeric import Array, Bounds
from ..errors import NotCertified
from ..profiles.base import NothingLost, Parts, PrivacyProfile, both_orders, depth_for, sample_width
from . import one_round
from .certificate import not_certified

if TYPE_CHECKING:  # loaded with the first question about several rounds
    from ..composition.compose import Composition
    from .composed import Range


class CertifiedRounds:
    """Profiles and how many rounds have each; rounds in which nothing is lost do not count.

    If a profile covers one order of the neighbours only (`PrivacyProfile.reverse`), both orders are
    composed and the larger value counts.
    """

    def __init__(self, parts: Parts) -> None:
        self._orders = [OneOrder(order) for order in both_orders(parts)]

    @property
    def compositions(self) -> Sequence[Composition]:
        """Of rounds that lose something: one, or one for each order of the neighbours."""
        return [order.composition for order in self._orders]

    @property
    def pure_epsilon(self) -> float:
        """The epsilon of pure DP: the largest loss, infinite if losses may be infinite."""
        return max(order.pure_epsilon for order in self._orders)

    @property
    def max_loss(self) -> float:
        """The largest finite loss, from which on delta is constant; see `PrivacyProfile`."""
        return max(order.max_loss for order in self._orders)

    def epsilon_bounds(
        self, delta: float, rtol: float, curve: Range | None = None
    ) -> Bounds[float]:
        """Bounds at any delta. `curve` is the range of all deltas of a curve.

        At 0, which asks for pure DP, both are the largest loss, rounded up.
        """
        if delta == 0:
            return Bounds(*[self.pure_epsilon] * 2)
        return self._larger("epsilon", lambda order: order.epsilon_bounds(delta, rtol, curve), rtol)

    def delta_bounds(
        self, epsilon: float, rtol: float, curve: Range | None = None
    ) -> Bounds[float]:
        """At any epsilon. `curve`: the range of all epsilons of a curve."""
        return self._larger("delta", lambda order: order.delta_bounds(epsilon, rtol, curve), rtol)

    def upper_deltas(self, epsilon: Array, least: float, rtol: float) -> Array:
        """Upper values at many epsilons at once, sharp down to a delta of about `least`; of their
        width nothing is promised."""
        each = [order.upper_deltas(epsilon, least, rtol) for order in self._orders]
        return np.asarray(np.max(each, axis=0))

    def _larger(
        self, what: str, ask: Callable[[OneOrder], Bounds[float]], rtol: float
    ) -> Bounds[float]:
        """Return the larger bounds of the two orders.

        A bracket that is too wide is accepted if the other order exceeds it on both sides.
        """
        narrow, wide = [], []
        for order in self._orders:
            try:
                narrow.append(ask(order))
            except NotCertified as error:
                wide.append(error.bounds)
        found = narrow + wide
        largest = Bounds(max(b.lower for b in found), max(b.upper for b in found))
        # one narrow order with the larger value on both sides decides
        if wide and largest not in narrow:
            raise not_certified(what, largest, rtol)
        return largest


class OneOrder:
    """Rounds in one order of the neighbours.

    `bounds.one_round` answers questions about one part that counts once, `bounds.composed` all
    others.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts or ((NothingLost(), 1),)

    @cached_property
    def composition(self) -> Composition:
        """The composition, which later questions share. Two threads may both make it."""
        return composition.compose.Composition(self._parts)

    @property
    def _single_profile(self) -> PrivacyProfile | None:
        """The profile, if there is one part that counts once; None if parts are to be composed."""
        match self._parts:
            case ((profile, 1),):
                return profile
        return None

    @property
    def max_loss(self) -> float:
        profile = self._single_profile
        return self.composition.max_loss if profile is None else profile.max_loss

    @property
    def pure_epsilon(self) -> float:
        is_bounded = all(profile.bounded for profile, _ in self._parts)
        return self.max_loss if is_bounded else math.inf

    def epsilon_bounds(
        self, delta: float, rtol: float, curve: Range | None = None
    ) -> Bounds[float]:
        if delta == 1:
            return Bounds(0.0, 0.0)
        if self._single_profile is not None:
            return one_round.epsilon_bounds(self._single_profile, delta, rtol)
        return bounds.composed.epsilon_bounds(self.composition, delta, rtol, curve)

    def delta_bounds(
        self, epsilon: float, rtol: float, curve: Range | None = None
    ) -> Bounds[float]:
        if self._single_profile is not None:
            return one_round.delta_bounds(self._single_profile, epsilon, rtol)
        return bounds.composed.delta_bounds(self.composition, epsilon, rtol, curve)

    def upper_deltas(self, epsilon: Array, least: float, rtol: float) -> Array:
        """Return upper deltas, [epsilons], of one round by its profile, else by composition."""
        profile = self._single_profile
        if profile is None:
            whole = self.composition
            places = np.minimum(epsilon, whole.max_loss)
            _, upper = whole.deltas(places, least, rtol)
            return np.where((epsilon < whole.max_loss) | (not whole.bounded), upper, 0.0)
        depth = depth_for(-math.log(least) + 6, profile.depths)
        sampler = profile.sampler(depth, sample_width(rtol, profile.is_expensive, profile.is_slow))
        return sampler(np.minimum(epsilon, profile.max_loss)).upper * profile.may_be_positive(
            epsilon
        )
