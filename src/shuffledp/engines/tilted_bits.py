"""Sums of bits of two kinds, tilted to where two neighbouring laws are told apart.

With S = Bin(m, p) + Bin(M - m, q), P the law of S + Bernoulli(p) and Q that of S + Bernoulli(q),

    H(m) = max over t of a Pr[S >= t-1] - b Pr[S >= t],   a = p - alpha q,  b = a + alpha - 1.

The law of S is tilted by e^theta = b/a, the same for every m. Then t - 1 is a mode of the tilted
law and differs by less than 1 from its mean (Darroch 1964), which is linear in m.
Proofs: docs/theory.md, "Binary messages".
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from ..laws.binary_law import BinaryPair
from . import tuning

# proof constants: docs/theory.md, "Constants"
#: Roundings of tilted probabilities, logarithms and angles, in units of their own size.
BITS_ERROR = 64 * UNIT


class Ranges(NamedTuple):
    """Rows: at an epsilon, numbers m in first .. last of those who send 1 with probability p."""

    epsilon: Array
    first: Array
    last: Array

    def rows(self, chosen: NDArray[np.intp]) -> Ranges:
        return Ranges(self.epsilon[chosen], self.first[chosen], self.last[chosen])


class Bits(NamedTuple):
    """Users with one probability, tilted. Where more than half of them send 1 their 0s count, as -1
    each: only the rare messages have to be summed up."""

    users: Array
    rare: Array  # the tilted probability of the rarer message, at most 1/2
    sign: Array
    log_mgf: Array  # of the rare messages, before the tilt, at theta

    @classmethod
    def of(cls, users: Array, one: float, zero: float, theta: Array) -> Bits:
        small, large = np.exp(-theta), np.exp(np.minimum(theta, 700.0))
        ones, zeros = one / (one + zero * small), zero * small / (one + zero * small)
        usual = ones > 0.5
        change = np.where(usual, zero * np.expm1(-theta), one * (large - 1))
        near = np.where(usual, zero * np.expm1(-theta), one * np.expm1(np.minimum(theta, 700.0)))
        total = np.where(usual, one + zero * small, zero + one * large)
        log_mgf = np.where(np.abs(change) < 0.5, np.log1p(np.clip(near, -0.5, 0.5)), np.log(total))
        return cls(users, np.minimum(ones, zeros), np.where(usual, -1.0, 1.0), log_mgf)

    @property
    def mean(self) -> Array:
        return self.sign * self.rare

    def rows(self, chosen: NDArray[np.intp]) -> Bits:
        return Bits(*(column[chosen] for column in self))

    @property
    def variance(self) -> Array:
        return self.rare * (1 - self.rare)


class TiltedBits:
    """The tilted laws of ranges of m, at their centres, and how much they change in the range.

    a is rounded up for upper bounds and down for lower ones. `width` is how wide, relatively, what
    is made of them may be: the narrower, the more nodes. 0 asks for what rounding leaves.
    """

    def __init__(
        self, pair: BinaryPair, others: float, ranges: Ranges, side: Side, width: float = 0.0
    ) -> None:
        self.pair, self.others = pair, others
        self.excess = np.expm1(ranges.epsilon)  # alpha - 1
        lost = self.excess * pair.q
        a = pair.gap - lost + side * 16 * UNIT * (pair.gap + lost)
        self.some = a > 0  # otherwise nothing is alpha times likelier
        a = np.where(self.some, a, 1.0)
        self.b = np.maximum(np.where(self.some, pair.gap + self.excess * pair.not_q, 1.0), a)
        self.theta = theta = np.where(self.some, np.log1p(self.excess / a), 0.0)
        #: Relative errors of b and of the equation a e^theta = b.
        self.error = 2 * BITS_ERROR * (1 + theta)

        centre, w = (ranges.first + ranges.last) / 2, (ranges.last - ranges.first) / 2
        self.w = w
        p = Bits.of(centre, pair.p, pair.not_p, theta)
        q = Bits.of(others - centre, pair.q, pair.not_q, theta)
        self.groups: tuple[Bits, ...] = (p, q)
        self.mean: Array = p.users * p.mean + q.users * q.mean
        self.drift: Array = p.mean - q.mean  # of the mean with m
        #: The change of log E e^(theta S) with m.
        self.rise: Array = p.log_mgf - q.log_mgf
        #: The logarithm of E e^(theta (S - mean)), and how much it falls with m.
        self.level: Array = p.users * p.log_mgf + q.users * q.log_mgf - theta * self.mean
        self.fall = (theta * p.mean - p.log_mgf) - (theta * q.mean - q.log_mgf)
        self.falls = np.abs(self.fall) * w  # at most, in the range
        #: Variances, the least and the largest of the range.
        spread = p.users * p.variance + q.users * q.variance
        change = w * np.abs(p.variance - q.variance)
        self.least, self.most = np.maximum(spread - change, 0.0), spread + change

        size, moved = np.zeros((2, len(w)))
        for g in self.groups:
            size += (g.users + w) * g.rare
            moved += (g.users + w) * (np.abs(g.log_mgf) + theta * g.rare)
        self.scale_error = BITS_ERROR * (1 + theta + moved)
        #: The mode is that of the law with the exact tilt.
        self.mean_error = BITS_ERROR * (1 + size) + 1.01 * self.most * self.error
        #: How far the mean may be from that of the centre.
        self.moved: Array = np.abs(self.drift) * w + self.mean_error
        self._cut = self._negligible(width)
        self.length = self._length()

    def rows(self, chosen: NDArray[np.intp]) -> TiltedBits:
        """Some of the ranges."""
        part = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(part, name, value[chosen])
        part.groups = tuple(group.rows(chosen) for group in self.groups)
        return part

    def _negligible(self, width: float) -> Array:
        """As powers of e: what may be left out, in units of the scale. H itself is about
        1/(deviation (1 + V theta^2)) of that, as of a normal law."""
        if width <= 0:
            return np.full(len(self.w), tuning.BITS_CUT)
        bent = self.most * np.minimum(self.theta, 1.0) ** 2
        cut: Array = tuning.BITS_MARGIN - math.log(width) + np.log1p(np.sqrt(self.most))
        cut += np.log1p(bent)
        return np.minimum(cut, tuning.BITS_CUT)

    def _length(self) -> Array:
        """Nodes on the circle: so many that copies of the law, shifted by it, hardly overlap."""
        cut, theta = self._cut, self.theta
        length = 4 + cut / 3 + np.sqrt((cut / 3) ** 2 + 2 * cut * self.most)
        steep = theta > np.log1p(length / np.maximum(self.most, 1e-300))
        depth = cut + np.clip(self.falls - self.level, 0.0, 800.0)
        longer = np.maximum(length, 4 + depth / np.where(steep, theta, 1.0))
        length = np.where(steep, longer, length)
        return 2 * np.ceil(np.minimum(length, self.others + 4) / 2)

    @property
    def all_apart(self) -> NDArray[np.bool_]:
        """Do copies of the law not overlap at all?"""
        return self.length >= self.others + 4

    @property
    def nodes(self) -> NDArray[np.intp]:
        """Nodes on half the circle that are worth a look: the others hardly count."""
        half = np.sqrt(np.minimum(self._cut / 2 / np.maximum(self.least, 1e-300), 1.0))
        nodes = np.ceil(np.arcsin(half) / np.pi * self.length)
        most = np.minimum(self.length / 2, tuning.MOST_BITS_NODES)
        return np.clip(nodes, 1, most).astype(np.intp)
