"""Certified epsilons of many selections of the same rounds, from lattices that they share.

The PLDs above and below a round bound it in every composition. So the PLDs that were made for all
rounds of a plan serve each part of it, such as its first weeks. Where the bracket becomes too wide,
because fewer rounds have other losses that matter, a lattice is made for that part, and serves the
smaller ones.

Theory: docs/theory/epsilon.md.
"""

from __future__ import annotations

from .._support.numeric import Bounds
from ..composition.compose import Composition
from ..composition.lattice import PLDBracket
from ..composition.tilted_sum import LatticeTooLong
from ..errors import NotCertified
from ..profiles.base import Parts, merged, swapped
from . import composed
from .certified_rounds import CertifiedRounds


class SharedLattices:
    """Epsilon at one delta of selections of rounds; fastest if the largest are asked for first.

    Parameters
    ----------
    delta : float
    rtol : float
        Relative width to aim for.
    """

    def __init__(self, delta: float, rtol: float) -> None:
        self._delta, self._rtol = delta, rtol
        self._known: dict[int, tuple[Composition, PLDBracket]] = {}

    def epsilon_bounds(self, parts: Parts) -> Bounds[float]:
        """Certified bounds of the epsilon of some rounds, as narrow as was achieved."""
        forward, backward = merged(parts), swapped(parts)
        orders = [forward] if forward == backward else [forward, backward]
        if 0 < self._delta < 1 and sum(count for _, count in forward) > 1:
            each = [self._in_order(number, kinds) for number, kinds in enumerate(orders)]
            return Bounds(max(b.lower for b in each), max(b.upper for b in each))
        try:
            return CertifiedRounds(parts).epsilon_bounds(self._delta, self._rtol)
        except NotCertified as error:
            return error.bounds

    def _in_order(self, number: int, kinds: Parts) -> Bounds[float]:
        """The same in one of the orders of the neighbours."""
        found = self._from_known(number, kinds)
        if found is not None:
            return found
        composition = Composition(kinds)
        try:
            bounds = composed.epsilon_bounds(composition, self._delta, self._rtol)
        except NotCertified as error:
            bounds = error.bounds
        if composition.lattices.cached:
            last = [*composition.lattices.cached.values()][-1]
            self._known[number] = composition, last
        return bounds

    def _from_known(self, number: int, kinds: Parts) -> Bounds[float] | None:
        """From the lattice of earlier rounds, if it has these and is fine enough for them."""
        if number not in self._known:
            return None
        composition, plds = self._known[number]
        known = {profile for each in plds.stand_for for profile, _ in each.members_above}
        counts = dict(kinds)
        if not counts.keys() <= known:
            return None
        part = Composition(kinds, composition.lattices)
        try:
            return composed.epsilon_from_plds(part, self._delta, self._rtol, *plds.selected(counts))
        except LatticeTooLong:
            return None
