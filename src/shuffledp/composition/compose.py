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
from ..profiles.base import PrivacyProfile
from . import tuning
from .grading import Fineness
from .kinds import kinds_of
from .lattice import Lattices
from .tilted_sum import CountedPLDs, LatticeTooLong, TiltedSum, log_mgf, tilt_for_epsilon


class Composition:
    """`rounds` pairs of a profile and how many rounds have it, and their `lattices`, if these are
    known. Keeps what queries can share."""

    def __init__(
        self, rounds: Sequence[tuple[PrivacyProfile, int]], lattices: Lattices | None = None
    ) -> None:
        self.lattices = lattices or Lattices(kinds_of(rounds))
        self.max_loss = _sum_up([(profile.max_loss, count) for profile, count in rounds])
        self.bounded = all(profile.bounded for profile, _ in rounds)
        self.rounds = sum(count for _, count in rounds)
        self.dear = any(profile.dear for profile, _ in rounds)
        self.fineness = Fineness()  # grows when a query finds the lattice too coarse

    def depth_for(self, log_inverse_delta: float) -> float:
        """The depth of a round's profile that deltas of the composition need."""
        return min(
            log_inverse_delta + tuning.DEEPER + math.log(self.rounds), of_profiles.DEPTHS[-1]
        )

    def deltas(
        self, epsilon: Array, least: float, rtol: float, sides: Sequence[Side] = BOTH
    ) -> list[Array]:
        """Lower or upper values at many epsilons, sharp down to a delta of about `least`.

        A few tilts serve all of them. 0 and 1 where every lattice is too long.
        """
        depth = self.depth_for(-math.log(least))
        aims = tuple(-math.log(least) * share for share in tuning.GRADED)
        for _ in range(8):  # no lattice that is short enough is coarser
            try:
                parts = self.lattices.parts(depth, rtol, self.fineness, aims)
                on = {Side.LOWER: parts.lower, Side.UPPER: parts.upper}
                return [_at_many(on[side], epsilon, side) for side in sides]
            except LatticeTooLong:
                self.fineness = self.fineness.times(0.5)
        trivial = {Side.LOWER: np.zeros(len(epsilon)), Side.UPPER: np.ones(len(epsilon))}
        return [trivial[side] for side in sides]


def _at_many(parts: CountedPLDs, epsilon: Array, side: Side) -> Array:
    """delta at each epsilon, by the two nearest of a few tilts."""
    end = float(epsilon.max())
    deviation = math.sqrt(log_mgf(parts, 0.0)[2])
    # two deviations from its centre a tilted sum still has twelve digits
    apart = max(2 * deviation, end / 400, 1e-300)
    # no two centres are nearer to each other than that, and none is farther from an epsilon
    before, after = np.floor(epsilon / apart), np.ceil(epsilon / apart)
    best = np.minimum if side is Side.UPPER else np.maximum
    found = np.full(len(epsilon), side * math.inf)
    for centre in np.unique(np.append(before, after)).tolist():
        near = (before == centre) | (after == centre)
        total = TiltedSum(parts, tilt_for_epsilon(parts, apart * centre))
        found[near] = best(found[near], total.deltas(epsilon[near], side))
    return found


def _sum_up(terms: Sequence[tuple[float, int]]) -> float:
    """Sum of value * count, rounded up."""
    exact = sum((Fraction(value) * count for value, count in terms), Fraction(0))
    result = float(exact)
    return result if Fraction(result) >= exact else math.nextafter(result, math.inf)
