"""Rounds and mixtures of rounds: from profiles to certified delta of the composition.

Adaptive composition of dominating pairs is dominated by their product (Zhu, Dong, Wang 2022,
Theorem 10), so the privacy losses of the rounds add up as independent variables.
bounds/composed.py has the questions that are answered with it.

Theory: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .._support.numeric import BOTH, Array, Side
from ..profiles import tuning as of_profiles
from ..profiles.base import PrivacyProfile, factored
from . import tuning
from .lattice import Lattices
from .outlines import group_rounds
from .tilted_sum import CountedPLDs, LatticeTooLong, TiltedSum, log_mgf, tilt_for_epsilon


class Composition:
    """Rounds to be composed. Keeps what questions can share.

    Parameters
    ----------
    rounds : Sequence of (PrivacyProfile, int)
        Profiles, and how many rounds have each.
    lattices : Lattices, optional
        Those of the rounds, if they are known.
    """

    def __init__(
        self, rounds: Sequence[tuple[PrivacyProfile, int]], lattices: Lattices | None = None
    ) -> None:
        rounds = factored(rounds)
        self.lattices = lattices or Lattices(group_rounds(rounds))
        self.max_loss = _sum_up([(profile.max_loss, count) for profile, count in rounds])
        self.bounded = all(profile.bounded for profile, _ in rounds)
        self.rounds = sum(count for _, count in rounds)
        self.fineness = 1.0  # grows when a query finds the lattice too coarse

    def depth_for(self, log_inverse_delta: float) -> float:
        """Return the depth of a round's profile that deltas of the composition need."""
        return min(
            log_inverse_delta + tuning.DEEPER + math.log(self.rounds), of_profiles.DEPTHS[-1]
        )

    def deltas(
        self, epsilon: Array, least: float, rtol: float, sides: Sequence[Side] = BOTH
    ) -> list[Array]:
        """Return lower or upper deltas at many epsilons, sharp down to a delta of about `least`.

        Parameters
        ----------
        epsilon : Array
            Shape [epsilons]. A few tilts serve all of them.
        least : float
        rtol : float
            Relative width in epsilon to aim for.
        sides : Sequence of Side

        Returns
        -------
        list of Array
            For each side the bounds, [epsilons]; 0 and 1 where every lattice is too long.
        """
        depth = self.depth_for(-math.log(least))
        targets = tuple(-math.log(least) * share for share in tuning.GRADED)
        for _ in range(8):  # no lattice that is short enough is coarser
            try:
                plds = self.lattices.plds(depth, rtol, self.fineness, targets)
                by_side = {Side.LOWER: plds.lower, Side.UPPER: plds.upper}
                return [_deltas(by_side[side], epsilon, side) for side in sides]
            except LatticeTooLong:
                self.fineness /= 2
        trivial = {Side.LOWER: np.zeros(len(epsilon)), Side.UPPER: np.ones(len(epsilon))}
        return [trivial[side] for side in sides]


def _deltas(plds: CountedPLDs, epsilon: Array, side: Side) -> Array:
    """Return delta at each epsilon, by the two nearest of a few tilts."""
    deviation = math.sqrt(log_mgf(plds, 0.0)[2])
    # two deviations from its centre a tilted sum still has twelve digits
    distance = max(2 * deviation, float(epsilon.max()) / 400, 1e-300)
    # no two centres are nearer to each other than that, and none is farther from an epsilon
    before, after = np.floor(epsilon / distance), np.ceil(epsilon / distance)
    sharper = np.minimum if side is Side.UPPER else np.maximum
    deltas = np.full(len(epsilon), side * math.inf)
    for centre in np.unique(np.append(before, after)).tolist():
        nearby = (before == centre) | (after == centre)
        total = TiltedSum(plds, tilt_for_epsilon(plds, distance * centre))
        deltas[nearby] = sharper(deltas[nearby], total.deltas(epsilon[nearby], side))
    return deltas


def _sum_up(terms: Sequence[tuple[float, int]]) -> float:
    """Return the sum of value * count, rounded up."""
    exact = sum((Fraction(value) * count for value, count in terms), Fraction(0))
    result = float(exact)
    return result if Fraction(result) >= exact else math.nextafter(result, math.inf)
