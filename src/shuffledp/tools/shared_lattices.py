"""Epsilon of many selections of the same rounds, from lattices that they share."""

from __future__ import annotations

from .._support.numeric import Bounds
from ..bounds.certified_rounds import CertifiedRounds
from ..bounds.composed import epsilon_attempt, epsilon_bounds
from ..composition.compose import Composition, PLDBracket
from ..composition.tilted_sum import LatticeTooLong
from ..guarantee import best_effort
from ..profiles.base import Parts, both_orders


class SharedLattices:
    """Epsilon at one delta of selections of rounds; fastest if the largest are asked for first.

    The PLDs above and below a round bound it in every composition. So the PLDs that were made for
    all rounds of a plan serve each part of it, such as its first weeks. Where the bracket becomes
    too wide, because fewer rounds have other losses that matter, a lattice is made for that part,
    and serves the smaller ones.

    docs/theory/epsilon.md, selections of the same rounds.

    Parameters
    ----------
    delta : float
    rtol : float
        Relative width to aim for.
    """

    def __init__(self, delta: float, rtol: float) -> None:
        self._delta, self._rtol = delta, rtol
        self._known: dict[int, PLDBracket] = {}

    def epsilon_bounds(self, parts: Parts) -> Bounds[float]:
        """Certified bounds of the epsilon of some rounds, as narrow as was achieved."""
        orders = both_orders(parts)
        if 0 < self._delta < 1 and sum(count for _, count in orders[0]) > 1:
            each = [self._in_order(order, merged) for order, merged in enumerate(orders)]
            return Bounds(max(b.lower for b in each), max(b.upper for b in each))
        return best_effort(CertifiedRounds(parts).epsilon_bounds, self._delta, self._rtol)

    def _in_order(self, order: int, parts: Parts) -> Bounds[float]:
        """The same in one of the orders of the neighbours."""
        found = self._from_known(order, parts)
        if found is not None:
            return found
        composition = Composition(parts)
        bounds = best_effort(epsilon_bounds, composition, self._delta, self._rtol)
        if composition.cached:
            self._known[order] = [*composition.cached.values()][-1]
        return bounds

    def _from_known(self, order: int, parts: Parts) -> Bounds[float] | None:
        """From the lattice of earlier rounds, if it has these and is fine enough for them."""
        if order not in self._known:
            return None
        plds = self._known[order].selected(dict(parts))
        if plds is None:
            return None
        try:
            found = epsilon_attempt(Composition(parts), self._delta, self._rtol, *plds)
        except LatticeTooLong:
            return None
        return found.bounds if found.excess <= 1 else None
