"""Tilted sums of bits of two kinds, and their Fourier sums on the circle.

With S = Bin(m, p) + Bin(M - m, q), P the law of S + Bernoulli(p) and Q that of S + Bernoulli(q),

    H(m) = max over t of a Pr[S >= t-1] - b Pr[S >= t],   a = p - alpha q,  b = a + alpha - 1.

The law of S is tilted by e^theta = b/a, the same for every m. Then t - 1 is a mode of the tilted
law and differs by less than 1 from its mean (Darroch 1964), which is linear in m. H(m) is a Fourier
sum over the characteristic function of the tilted law in which nothing cancels.

Theory: docs/theory/bits.md.
"""

from __future__ import annotations

import copy
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import UNIT, Array, Side
from ..laws.binary_law import BinaryPair

# proof constants: docs/theory/constants.md
#: Rounding error of tilted probabilities, logarithms and angles, relative to their size.
BITS_ERROR = 64 * UNIT
#: |e^iy - 1| / |1 - e^(-theta - iy)| is at most 1 + sqrt(2).
_LARGEST = 2.415
#: Chernoff's bound is returned for ranges in which H may change by more than e to this.
STEEPEST = 200.0
#: In units of rounding: what rotating cosines and sines by an angle adds to their error.
_TURN = 16


class Ranges(NamedTuple):
    """One row per epsilon: the numbers m = first .. last of users who send 1 with probability p."""

    epsilon: Array
    first: Array
    last: Array

    def rows(self, chosen: NDArray[np.intp]) -> Ranges:
        return Ranges(self.epsilon[chosen], self.first[chosen], self.last[chosen])


class BitGroup(NamedTuple):
    """Users who share one probability, after the tilt.

    Where more than half of them send 1, their 0s are counted as -1 each: only the rare messages
    have to be summed, so rounding errors are relative to the rare ones.

    Attributes
    ----------
    users : Array
        Number of users.
    rare : Array
        Tilted probability of the rarer message, at most 1/2.
    sign : Array
        1 if the rare message is 1, else -1.
    log_mgf : Array
        log E e^(theta x) of one rare message x, before the tilt.
    """

    users: Array
    rare: Array
    sign: Array
    log_mgf: Array

    @classmethod
    def of(cls, users: Array, one: float, zero: float, theta: Array) -> BitGroup:
        """Tilt users who send 1 with probability `one` and 0 with probability `zero`."""
        small, growth = np.exp(-theta), np.expm1(np.minimum(theta, 700.0))
        ones, zeros = one / (one + zero * small), zero * small / (one + zero * small)
        counts_zeros = ones > 0.5
        change = np.where(counts_zeros, zero * np.expm1(-theta), one * growth)
        total = np.where(counts_zeros, one + zero * small, zero + one * (1 + growth))
        is_small = np.abs(change) < 0.5
        log_mgf = np.where(is_small, np.log1p(np.clip(change, -0.5, 0.5)), np.log(total))
        return cls(users, np.minimum(ones, zeros), np.where(counts_zeros, -1.0, 1.0), log_mgf)

    @property
    def mean(self) -> Array:
        return self.sign * self.rare

    @property
    def variance(self) -> Array:
        return self.rare * (1 - self.rare)

    def rows(self, chosen: NDArray[np.intp]) -> BitGroup:
        return BitGroup(*(column[chosen] for column in self))


class TiltedBits:
    """The tilted laws at the centres of ranges of m, and how much they change within a range.

    Parameters
    ----------
    pair : BinaryPair
        The probabilities p and q with their complements.
    others : float
        M, the number of users besides the one in question.
    ranges : Ranges
        Epsilons and ranges of m, one per row.
    side : Side
        The coefficient a is rounded up for upper bounds and down for lower bounds.
    width : float
        Relative accuracy to aim for: a smaller width needs more nodes. 0 asks for the accuracy that
        rounding allows.
    """

    def __init__(
        self, pair: BinaryPair, others: float, ranges: Ranges, side: Side, width: float = 0.0
    ) -> None:
        self.pair, self.others = pair, others
        self.excess = np.expm1(ranges.epsilon)  # alpha - 1
        lost = self.excess * pair.q
        a = pair.gap - lost + side * 16 * UNIT * (pair.gap + lost)
        self.is_informative = a > 0  # otherwise H is 0
        a = np.where(self.is_informative, a, 1.0)
        b = np.where(self.is_informative, pair.gap + self.excess * pair.not_q, 1.0)
        self.b = np.maximum(b, a)
        self.theta = theta = np.where(self.is_informative, np.log1p(self.excess / a), 0.0)
        #: Relative errors of b and of the equation a e^theta = b.
        self.error = 2 * BITS_ERROR * (1 + theta)

        centre, half_width = (ranges.first + ranges.last) / 2, (ranges.last - ranges.first) / 2
        self.half_width = half_width
        p = BitGroup.of(centre, pair.p, pair.not_p, theta)
        q = BitGroup.of(others - centre, pair.q, pair.not_q, theta)
        self.groups: tuple[BitGroup, ...] = (p, q)
        self.mean: Array = p.users * p.mean + q.users * q.mean
        #: Change of the mean with m.
        self.drift: Array = p.mean - q.mean
        #: Change of log E e^(theta S) with m.
        self.rise: Array = p.log_mgf - q.log_mgf
        #: log E e^(theta (S - mean)) at the centre.
        self.level: Array = p.users * p.log_mgf + q.users * q.log_mgf - theta * self.mean
        #: How much the level falls from one m to the next.
        self.level_fall = (theta * p.mean - p.log_mgf) - (theta * q.mean - q.log_mgf)
        #: The largest change of the level within the range.
        self.level_change = np.abs(self.level_fall) * half_width
        #: The smallest and the largest variance within the range.
        variance = p.users * p.variance + q.users * q.variance
        change = half_width * np.abs(p.variance - q.variance)
        self.least_variance = np.maximum(variance - change, 0.0)
        self.most_variance = variance + change

        size, parts = np.zeros((2, len(half_width)))
        for g in self.groups:
            size += (g.users + half_width) * g.rare
            parts += (g.users + half_width) * (np.abs(g.log_mgf) + theta * g.rare)
        self.scale_error = BITS_ERROR * (1 + theta + parts)
        #: Includes how far the mode of the law with the exact tilt may be away.
        self.mean_error = BITS_ERROR * (1 + size) + 1.01 * self.most_variance * self.error
        #: Largest distance of a mean within the range from that of the centre.
        self.mean_shift: Array = np.abs(self.drift) * half_width + self.mean_error
        self._cut = self._negligible_exponent(width)
        self.length = self._circle_length()

    def rows(self, chosen: NDArray[np.intp]) -> TiltedBits:
        """Return the chosen rows."""
        part = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(part, name, value[chosen])
        part.groups = tuple(group.rows(chosen) for group in self.groups)
        return part

    def _negligible_exponent(self, width: float) -> Array:
        """Return c such that terms of e^-c, in units of the scale, may be omitted.

        H is about 1/(deviation (1 + V theta^2)) in these units, as for a normal law.
        """
        if width <= 0:
            return np.full(len(self.half_width), tuning.BITS_CUT)
        bent = self.most_variance * np.minimum(self.theta, 1.0) ** 2
        # e^-7 of the width: the omitted terms then hardly widen the bracket
        cut: Array = 7.0 - math.log(width) + np.log1p(np.sqrt(self.most_variance))
        cut += np.log1p(bent)
        return np.minimum(cut, tuning.BITS_CUT)

    def _circle_length(self) -> Array:
        """Return the number of nodes on the circle, such that aliases hardly overlap the law."""
        cut, theta = self._cut, self.theta
        length = 4 + cut / 3 + np.sqrt((cut / 3) ** 2 + 2 * cut * self.most_variance)
        steep = theta > np.log1p(length / np.maximum(self.most_variance, 1e-300))
        depth = cut + np.clip(self.level_change - self.level, 0.0, 800.0)
        longer = np.maximum(length, 4 + depth / np.where(steep, theta, 1.0))
        length = np.where(steep, longer, length)
        return 2 * np.ceil(np.minimum(length, self.others + 4) / 2)

    @property
    def is_alias_free(self) -> NDArray[np.bool_]:
        """Whether aliases do not overlap the law at all."""
        return self.length >= self.others + 4

    @property
    def node_counts(self) -> NDArray[np.intp]:
        """Numbers of nodes on half the circle to evaluate; the others are negligible."""
        half = np.sqrt(np.minimum(self._cut / 2 / np.maximum(self.least_variance, 1e-300), 1.0))
        nodes = np.ceil(np.arcsin(half) / np.pi * self.length)
        # a range of laws with very different variances could use more than 512
        return np.clip(nodes, 1, np.minimum(self.length / 2, 512)).astype(np.intp)


class BitNodes:
    """Characteristic functions of tilted laws, less their means, at nodes of half a circle.

    Parameters
    ----------
    bits : TiltedBits
        The laws, one per row.
    count : int
        Number of nodes to evaluate in every row.
    places : int
        Number of places of the threshold at which terms are evaluated.
    fixed : bool
        Whether changes with m are taken at a fixed threshold; otherwise the threshold follows the
        mean.

    Attributes
    ----------
    change : tuple of Array
        Change with m of the logarithm of the modulus and of the angle, [rows, nodes].
    change_size : Array
        An upper bound on the sum of the parts of `change`.
    size : Array
        Moduli of the terms of H.
    charge : Array
        Relative error of each term.
    growth : Array
        Factor by which a term may be larger elsewhere in the range.
    """

    def __init__(self, bits: TiltedBits, count: int, places: int, fixed: bool) -> None:
        self.bits, self._count, self.places = bits, count, places
        # many ranges of m share theta and the circle: evaluate what depends on these once
        _, first, same = np.unique(
            bits.theta + 1j * bits.length, return_index=True, return_inverse=True
        )
        kinds = bits.rows(first)
        length = kinds.length[:, None]
        y = (2 * np.arange(count) + 1) * math.pi / length
        inside = y < math.pi
        y = np.where(inside, y, math.pi / 2)
        sine, cosine, half = np.sin(y), np.cos(y), np.sin(y / 2) ** 2
        small = np.exp(-kinds.theta)[:, None]
        # 1 - e^(-theta - iy) = real + i imaginary
        real, imaginary = -np.expm1(-kinds.theta)[:, None] + 2 * small * half, small * sine
        norm = real**2 + imaginary**2
        each = [_one_user(g.rare[:, None], y, sine, half) for g in kinds.groups]
        steps = [g.sign[:, None] * turn for g, (_, turn, _) in zip(kinds.groups, each, strict=True)]
        by, turn = each[0][0] - each[1][0], steps[0] - steps[1]
        threshold_turn = kinds.drift[:, None] * y * fixed
        change_size = np.abs(by) + np.abs(turn) + np.abs(threshold_turn)
        self.change = by[same], (turn + threshold_turn)[same]
        self.change_size = change_size[same]
        self.y, self.cosine, self.sine = y[same], cosine[same], sine[same]
        self.real, self.imaginary, self.norm = real[same], imaginary[same], norm[same]

        log_modulus, angle, charge = np.zeros((3, len(same), count))
        for g, (log_of, _, sensitivity), step in zip(bits.groups, each, steps, strict=True):
            log_modulus += g.users[:, None] * log_of[same]
            angle += g.users[:, None] * step[same]
            charge += (g.users + bits.half_width)[:, None] * sensitivity[same]
        self.angle = angle
        self.modulus = np.exp(log_modulus) * (inside * (2 / length))[same]
        self.size = self.modulus * (2 * np.sqrt(half / norm))[same]
        self.charge = _expm1_bound(BITS_ERROR * (1 + charge) + (count + _TURN * places) * UNIT)
        self.growth: Array = np.ones(1)
        if bits.half_width.any():
            exponent = bits.half_width[:, None] * np.abs(self.change[0])
            self.growth = np.exp(np.minimum(exponent, STEEPEST))

    def truncation_errors(self) -> tuple[Array, Array]:
        """Return bounds on omitted nodes and aliases, for H and for Pr[S >= t].

        Both are in units of the scale, one entry per row. Omitted nodes are bounded by the decay of
        the characteristic function, aliases by Bennett's inequality.
        """
        bits = self.bits
        reach = np.sin(np.minimum((2 * self._count - 1) * math.pi / bits.length, math.pi) / 2)
        cut = _LARGEST * np.exp(-2 * bits.least_variance * reach**2)
        cut *= 2 * self._count < bits.length
        d = np.maximum(bits.length - 4 - bits.mean_error, 0.0)
        variance = np.maximum(bits.most_variance, 1e-300)
        best = np.log1p(d / variance)
        tilt = np.minimum(np.maximum(best, bits.theta), 300.0)
        trivial = bits.level_change - bits.level - bits.theta * (bits.length - 4)
        bennett = variance * (np.expm1(tilt) - tilt) - tilt * d
        below = np.exp(np.minimum(np.minimum(bennett, trivial), 300.0))
        above = np.exp(variance * (np.expm1(best) - best) - best * d)
        copies = np.where(bits.is_alias_free, 0.0, 2.001 * (above + below))
        return cut + copies, cut / (2 * reach) + copies

    def value_error(self, truncation: Array) -> Array:
        """Return a bound on the error of H(m), in units of the scale.

        It covers the truncation, the rounding of the nodes, and that of a, b and theta, each of
        which counts with Pr[S >= t].
        """
        bits = self.bits
        sensitivity = 1 + bits.half_width[:, None] * self.change_size
        rounding = np.einsum("rn,rn,rn->r", self.size, sensitivity, self.charge)
        largest = (self.modulus * (1 + self.charge) * self.growth).sum(axis=1) + truncation
        tail = np.minimum(1.0, largest / np.maximum(-np.expm1(-bits.theta), 1e-300))
        error: Array = rounding + truncation + bits.error * tail
        return error

    def known_copies(self) -> tuple[Array, Array]:
        """Return what aliases below the support take from Pr[S >= t], and its relative error.

        There Pr[S >= t] is 1, so that these aliases are known in closed form.
        """
        turn = self.bits.theta * self.bits.length
        alias: Array = np.exp(-turn)
        return alias / (1 + alias), np.minimum(BITS_ERROR * (1 + turn), 1.0)

    def rotated(self, place: Array, across: Array, along: Array) -> tuple[Array, Array]:
        """Return cosines and sines of the terms at equidistant thresholds.

        Parameters
        ----------
        place : Array
            The first threshold of each row, as t - 1 - mean.
        across, along : Array
            Cosine and sine of the angle from one threshold to the next, [rows, nodes].

        Returns
        -------
        tuple of Array
            Shape [rows, places, nodes].
        """
        angle = self.angle - self.y * (0.5 + place)[:, None]
        cosine, sine = np.empty((2, len(angle), self.places, angle.shape[1]))
        cosine[:, 0], sine[:, 0] = np.cos(angle), np.sin(angle)
        for i in range(1, self.places):
            c, s = cosine[:, i - 1], sine[:, i - 1]
            cosine[:, i], sine[:, i] = c * across + s * along, s * across - c * along
        return cosine, sine

    def fourier_sum(
        self, rotation: tuple[Array, Array], change: tuple[Array, Array] | None
    ) -> Array:
        """Return the Fourier sum of H, or that of every term times change[0] + i change[1].

        Parameters
        ----------
        rotation : tuple of Array
            Cosines and sines from `rotated`.
        change : tuple of Array or None
            Real and imaginary part of a factor of every term, [rows, nodes].

        Returns
        -------
        Array
            Shape [rows, places], in units of the scale.
        """
        cosine, sine = rotation
        weight = self.size / np.sqrt(self.norm)
        # the sum is the real part of (along + i across)(cosine + i sine), and along + i across is i
        # times (real - i imaginary)
        along, across = weight * self.imaginary, weight * self.real
        if change is not None:
            by, turn = change
            along, across = along * by - across * turn, across * by + along * turn
        value: Array = np.einsum("rpn,rn->rp", cosine, along)
        value -= np.einsum("rpn,rn->rp", sine, across)
        return value


def _one_user(rare: Array, y: Array, sine: Array, half: Array) -> tuple[Array, Array, Array]:
    """Return log|f| and the angle of f = 1 + rare (e^iy - 1) less its mean, and their sensitivity.

    The sensitivity is how much both change with the logarithm of `rare`.
    """
    change = -4 * rare * (1 - rare) * half
    square, log_of = 1 + change, np.log1p(np.maximum(change, -0.75))
    far = change < -0.5
    if far.any():  # there 1 + change may cancel; elsewhere this form would lose a small `rare`
        sum_of_squares = (1 - 2 * rare) ** 2 + 4 * rare * (1 - rare) * (1 - half)
        square = np.maximum(np.where(far, sum_of_squares, square), 1e-300)
        log_of = np.where(far, np.log(square), log_of)
    turn = np.arctan2(rare * sine, 1 - 2 * rare * half) - rare * y
    return log_of / 2, turn, rare * (y + y * y) / square


def _expm1_bound(exponent: Array) -> Array:
    """Return an upper bound on e^exponent - 1, with few exponentials as most are small."""
    bound: Array = exponent * (1 + exponent)
    large = exponent > 1
    bound[large] = np.expm1(np.minimum(exponent[large], 300.0))
    return bound
