"""Sums of losses of which some are rare and far larger than all others.

No tilt fits such a sum: what makes a loss of 2 likely enough to be seen makes one of 16 so likely
that rounding drowns the rest. So the rounds with a rare large loss are counted: with s the usual
and b the rare masses of a round, (s + b)^k is the sum over j of C(k, j) b^j s^(k-j), and every
term is a sum of losses of its own, with a tilt of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .._support.numeric import Side
from ..profiles.samples import convex_corners
from . import tuning
from .pld import PLD
from .tilted_sum import INFINITE, TiltedSum, infinite_mass
from .tilts import Parts

# proof constants: docs/theory.md, "Constants"
_TERMS_ERROR = 1e-13  # relative, of a sum of terms and of how often each counts

#: From the parts of a term, and how often it counts, to the tilt for it.
TiltFor = Callable[[Parts, float], float]


class SplitSum:
    """The law of the summed loss, by the number of rounds with a rare large loss."""

    def __init__(self, terms: list[tuple[float, TiltedSum]], rest: float, infinite: float) -> None:
        self._terms, self._rest, self._infinite = terms, rest, infinite

    def delta(self, epsilon: float, side: Side) -> float:
        """As TiltedSum.delta: the terms add up, and all left out together are at most `rest`."""
        value = math.fsum(ways * term.delta(epsilon, side) for ways, term in self._terms)
        value += self._infinite * (1 + side * INFINITE)
        value += self._rest if side is Side.UPPER else 0.0
        return min(1.0, value * (1 + side * _TERMS_ERROR))


def split(parts: Parts, delta: float, tilt_for: TiltFor) -> SplitSum | None:
    """For deltas of about `delta`; None if no loss is rare and large, or too many count."""
    halves = [_halves(pld) for pld, _ in parts]
    rare = [float(large.masses.sum()) for _, large in halves]
    expected = sum(p * count for p, (_, count) in zip(rare, parts, strict=True)) * (1 + 1e-12)
    if expected == 0 or expected > tuning.EXPECTED:
        return None
    # j or more rounds have a large loss with probability at most expected^j / j!
    most, rest = 0, expected
    while rest > tuning.NEGLIGIBLE * delta:
        most += 1
        rest *= expected / (most + 1)
    counts = [count for _, count in parts]
    limits = [min(count, most) if p > 0 else 0 for count, p in zip(counts, rare, strict=True)]
    if math.prod(limit + 1 for limit in limits) > tuning.MOST_TERMS:
        return None
    terms = []
    for chosen in _choices(limits, most):
        term: list[tuple[PLD, int]] = []
        for (small, large), count, j in zip(halves, counts, chosen, strict=True):
            term += [(pld, times) for pld, times in ((small, count - j), (large, j)) if times]
        ways = float(math.prod(math.comb(k, j) for k, j in zip(counts, chosen, strict=True)))
        terms.append((ways, TiltedSum(term, tilt_for(term, ways))))
    infinite = infinite_mass(parts)
    every = most >= sum(count for count, p in zip(counts, rare, strict=True) if p > 0)
    return SplitSum(terms, 0.0 if every else rest, infinite)


def _choices(limits: list[int], most: int) -> Iterator[tuple[int, ...]]:
    """All vectors of counts up to the limits and with sum up to `most`."""
    if not limits:
        yield ()
        return
    for first in range(min(limits[0], most) + 1):
        for others in _choices(limits[1:], most - first):
            yield (first, *others)


def _halves(pld: PLD) -> tuple[PLD, PLD]:
    """The usual and the rare large losses, parted where the tail is furthest from log-concave."""
    start = int(np.searchsorted(pld.index, 0))
    losses, masses, at = pld.losses[start:], pld.masses[start:], len(pld.index)
    if len(masses) > 1:
        depth = -np.log(np.cumsum(masses[::-1])[::-1])  # -log Pr[loss >= this]
        corner = convex_corners(losses, depth)
        gap = depth[1:] - np.interp(losses[:-1], losses[corner], depth[corner])
        if gap.max() > tuning.GAP:
            at = start + int(gap.argmax()) + 1
    small, large = (
        replace(pld, index=pld.index[part], masses=pld.masses[part], infinite=0.0)
        for part in (slice(at), slice(at, None))
    )
    return small, large
