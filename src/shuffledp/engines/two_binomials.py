"""One bit more or less among bits of two kinds: the divergence of their sum, at a cost flat in n.

With S = Bin(m, p) + Bin(M - m, q), P the law of S + Bernoulli(p) and Q that of S + Bernoulli(q),

    H(m) = max over t of a Pr[S >= t-1] - b Pr[S >= t],   a = p - alpha q,  b = a + alpha - 1.

The law of S is tilted by e^theta = b/a, which is the same for every m. Then t - 1 is a mode of the
tilted law and differs by less than 1 from its mean (Darroch 1964), and H is a Fourier sum in which
nothing cancels. Along the means it depends on m so smoothly that a few terms of Taylor's series
bound it for a whole range of m. Proofs: docs/theory.md, "Binary messages".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from ..laws.binary import BinaryPair
from . import tuning

# proof constants: docs/theory.md, "Constants"
#: Roundings of tilted probabilities, logarithms and angles, in units of their own size.
_ERROR = 64 * UNIT
#: |e^iy - 1| / |1 - e^(-theta - iy)| is at most 1 + sqrt(2).
_LARGEST = 2.415
#: Exponents below it are not told apart: Chernoff's bound is given there.
_DEEPEST = -700.0
#: Ranges in which H changes by more than e to this are not looked at closely either.
_STEEPEST = 200.0
#: Less than that is lost where the numbers are below the range of a double.
_UNDERFLOW = 1e-305


class Ranges(NamedTuple):
    """Rows: at an epsilon, numbers m in first .. last of those who send 1 with probability p."""

    epsilon: Array
    first: Array
    last: Array

    def rows(self, chosen: object) -> Ranges:
        return Ranges(*(column[chosen] for column in self))  # type: ignore[index]


class Single(NamedTuple):
    """Of single m: H from below, and Q's mass of that event, from both sides."""

    lower: Array
    slope_low: Array
    slope_high: Array


class _Group(NamedTuple):
    """Users with one probability, tilted. Where more than half of them send 1 their 0s count, as -1
    each: only the rare messages have to be summed up."""

    rare: Array  # the tilted probability of the rarer message, at most 1/2
    sign: Array
    log_mgf: Array  # log of the mean of e^(theta sign message)

    @classmethod
    def of(cls, one: float, zero: float, theta: Array) -> _Group:
        small = np.exp(-theta)
        ones, zeros = one / (one + zero * small), zero * small / (one + zero * small)
        usual = ones > 0.5
        # from the common message: 1 + change, where the change is small
        change = np.where(usual, zero * np.expm1(-theta), one * np.expm1(np.minimum(theta, 700)))
        direct = np.where(usual, one + zero * small, zero + one * np.exp(np.minimum(theta, 700)))
        log_mgf = np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.5)), np.log(direct))
        return cls(np.minimum(ones, zeros), np.where(usual, -1.0, 1.0), log_mgf)

    @property
    def variance(self) -> Array:
        return self.rare * (1 - self.rare)


class TwoBinomials:
    """Evaluates H of `others` + 1 users for ranges of m."""

    def __init__(self, pair: BinaryPair, others: int) -> None:
        self._pair, self._others = pair, float(others)

    def upper(self, ranges: Ranges) -> Array:
        """An upper bound of H(m) for every m of each range."""
        result = np.zeros(len(ranges.epsilon))
        single = ranges.first == ranges.last
        for chosen, points in ((single, 1), (~single, tuning.POINTS)):
            for rows, nodes in self._blocks(ranges, np.flatnonzero(chosen), points):
                result[rows] = self._rows(ranges, rows, Side.UPPER).upper(nodes, points)
        return result

    def single(self, ranges: Ranges) -> Single:
        """H(m) from below for ranges of one m each, with slopes."""
        result = np.zeros((3, len(ranges.epsilon)))
        for rows, nodes in self._blocks(ranges, np.arange(len(ranges.epsilon)), 1):
            found = self._rows(ranges, rows, Side.LOWER).single(nodes)
            result[:, rows] = found
        return Single(*result)

    def _rows(self, ranges: Ranges, rows: NDArray[np.intp], side: Side) -> _Rows:
        return _Rows(self._pair, self._others, ranges.rows(rows), side)

    def _blocks(self, ranges: Ranges, rows: Array, points: int):  # type: ignore[no-untyped-def]
        """Rows that need about as many nodes, together."""
        if not len(rows):
            return
        counts = self._rows(ranges, rows, Side.UPPER).nodes
        order = np.argsort(counts, kind="stable")
        start = 0
        while start < len(order):
            least = int(counts[order[start]])
            stop = start + max(1, tuning.NODES_AT_ONCE // (3 * points * least))
            part = order[start:stop]
            part = part[counts[part] <= 2 * least]
            yield rows[part], int(counts[part].max())
            start += len(part)


class _Rows:
    """The tilted laws of some ranges, and the Fourier sums over them."""

    def __init__(self, pair: BinaryPair, others: float, ranges: Ranges, side: Side) -> None:
        epsilon = ranges.epsilon
        self.excess = np.expm1(epsilon)  # alpha - 1
        a = pair.gap - self.excess * pair.q
        error = 16 * UNIT * (pair.gap + self.excess * pair.q)
        a += side * error
        self.some = a > 0  # otherwise no message is likelier by alpha
        self.a = np.where(self.some, a, 1.0)
        b = pair.gap + self.excess * pair.not_q
        self.b = np.maximum(np.where(self.some, b, 1.0), self.a)
        self.theta = theta = np.where(self.some, np.log1p(self.excess / self.a), 0.0)
        # of b, and of the equation a e^theta = b
        self.error = _ERROR * (1 + theta)

        self.pair, self.others = pair, others
        self.p = _Group.of(pair.p, pair.not_p, theta)
        self.q = _Group.of(pair.q, pair.not_q, theta)
        centre = (ranges.first + ranges.last) / 2
        self.w = (ranges.last - ranges.first) / 2
        self.m = centre, others - centre  # how many have p, and q
        groups = list(zip(self.m, (self.p, self.q), strict=True))
        self.mean = sum(m * g.sign * g.rare for m, g in groups)
        self.drift = self.p.sign * self.p.rare - self.q.sign * self.q.rare
        each = [theta * g.sign * g.rare - g.log_mgf for g in (self.p, self.q)]  # >= 0
        self.level = sum(m * g.log_mgf for m, g in groups) - theta * self.mean
        self.fall = each[0] - each[1]  # how much the level falls with m
        size = sum((m + self.w) * g.rare for m, g in groups)
        self.size = size
        moved = sum((m + self.w) * (np.abs(g.log_mgf) + theta * g.rare) for m, g in groups)
        self.scale_error = _ERROR * (1 + theta + moved)
        spread = self.m[0] * self.p.variance + self.m[1] * self.q.variance
        change = self.w * np.abs(self.p.variance - self.q.variance)
        self.least, self.most = np.maximum(spread - change, 0.0), spread + change
        # the mode is that of the law with the exact tilt
        self.mean_error = _ERROR * (1 + size) + 1.01 * self.most * self.error
        self.length, self.nodes = self._rule()

    def _rule(self) -> tuple[Array, Array]:
        """How many nodes there are on the circle, and how many of them are needed."""
        cut = tuning.BINARY_CUT
        length = 4 + cut / 3 + np.sqrt((cut / 3) ** 2 + 2 * cut * self.most)
        steep = self.theta > np.log1p(length / np.maximum(self.most, 1e-300))
        depth = cut + np.minimum(np.maximum(-self.level + np.abs(self.fall) * self.w, 0.0), 800.0)
        length = np.where(steep, np.maximum(length, 4 + depth / np.maximum(self.theta, 1e-300)), length)
        length = 2 * np.ceil(np.minimum(length, self.others + 4) / 2)
        half = np.sqrt(np.minimum(cut / 2 / np.maximum(self.least, 1e-300), 1.0))
        nodes = np.ceil(2 * np.arcsin(half) * length / (2 * math.pi))
        nodes = np.clip(nodes, 1, np.minimum(length / 2, tuning.MOST_NODES))
        return length, nodes.astype(np.intp)

    def _nodes(self, count: int) -> None:
        """What does not depend on t: modulus and angle of the centred characteristic function."""
        length = self.length[:, None]
        y = (2 * np.arange(count) + 1) * math.pi / length
        inside = y < math.pi
        y = np.where(inside, y, math.pi / 2)
        sine, half = np.sin(y), np.sin(y / 2) ** 2
        far = half > 0.5
        log_modulus, angle = np.zeros(y.shape), np.zeros(y.shape)
        charge = np.full(y.shape, 1.0)
        each = []
        for m, g in zip(self.m, (self.p, self.q), strict=True):
            rare = g.rare[:, None]
            change = -4 * rare * (1 - rare) * half
            square = 1 + change
            log_of = np.log1p(np.maximum(change, -0.75))
            if far.any():  # nothing cancels there either
                near_end = (1 - 2 * rare) ** 2 + 4 * rare * (1 - rare) * (1 - half)
                square = np.maximum(np.where(far, near_end, square), 1e-300)
                log_of = np.where(far, np.log(square), log_of)
            turn = np.arctan2(rare * sine, 1 - 2 * rare * half) - rare * y
            each.append((log_of / 2, g.sign[:, None] * turn))
            log_modulus += m[:, None] * each[-1][0]
            angle += m[:, None] * each[-1][1]
            charge += (m + self.w)[:, None] * rare * (y + y * y) / square
        self.y, self.angle = y, angle
        self.modulus = np.exp(log_modulus) * inside * (2 / length)
        self.charge = np.expm1(np.minimum(_ERROR * charge + count * UNIT, 700.0))
        self.change = tuple(x - z for x, z in zip(each[0], each[1], strict=True))
        damped = np.exp(-self.theta)[:, None]
        # 1 - e^(-theta - iy) = real + i imaginary
        self.real = -np.expm1(-self.theta)[:, None] + 2 * damped * half
        self.imaginary = damped * sine
        self.norm = self.real**2 + self.imaginary**2
        self.step = 2 * np.sqrt(half)  # |e^iy - 1|

    def _left_out(self, count: int) -> tuple[Array, Array]:
        """Nodes that are left out, and copies of the law, in units of the scale; for H, and for
        Pr[S >= t]."""
        reach = np.minimum((2 * count - 1) * math.pi / self.length, math.pi) / 2
        all_used = 2 * count >= self.length
        cut = np.where(all_used, 0.0, _LARGEST * np.exp(-2 * self.least * np.sin(reach) ** 2))
        # Bennett: beyond d, a sum of bounded terms of this variance has at most this probability
        d = np.maximum(self.length - 4 - self.mean_error, 0.0)
        variance = np.maximum(self.most, 1e-300)
        best = np.log1p(d / variance)
        above = np.exp(variance * (np.expm1(best) - best) - best * d)
        tilt = np.minimum(np.maximum(best, self.theta), 700.0)
        with np.errstate(over="ignore"):
            below = np.exp(np.minimum(variance * (np.expm1(tilt) - tilt) - tilt * d, 700.0))
            trivial = np.exp(
                np.minimum(
                    -self.level + np.abs(self.fall) * self.w + self.theta * (4 - self.length), 700.0
                )
            )
        copies = 2 * (above + np.minimum(below, trivial)) * (1 + 1e-6)
        copies = np.where(self.length >= self.others + 4, 0.0, copies)
        return cut + copies, cut / (2 * np.sin(reach)) + copies

    def _places(self, points: int) -> tuple[Array, Array]:
        """t - 1 - mean, from both ends, for three parts of the values it may have."""
        move = np.abs(self.drift) * self.w + self.mean_error
        low, high = self.mean - move, self.mean + move
        t = np.floor(low)[:, None] + np.arange(1, 4)
        most = (1 + self.mean_error)[:, None]
        start = np.clip(t - 1 - high[:, None], -most, most)
        end = np.clip(t - 1 - low[:, None], -most, most)
        if points == 1:
            start = end = t - 1 - self.mean[:, None]
        wide = (high >= np.floor(low) + 2)[:, None]
        thirds = most * np.array([-1.0, -1 / 3, 1 / 3, 1.0])
        return np.where(wide, thirds[:, :-1], start), np.where(wide, thirds[:, 1:], end)

    def upper(self, count: int, points: int) -> Array:
        self._nodes(count)
        theta, w, fall = self.theta, self.w, np.abs(self.fall)
        start, end = self._places(points)
        share = np.linspace(0.0, 1.0, points) if points > 1 else np.zeros(1)
        places = start[:, :, None] + (end - start)[:, :, None] * share  # [rows, 3, points]
        weight = self.modulus * self.step / self.norm
        turned = self.angle[:, None, :] - self.y[:, None, :] * (0.5 + start)[..., None]
        cosine, sine = self._around(turned, (end - start)[..., None] * self.y[:, None, :], points)
        real, imaginary = weight * self.imaginary, weight * self.real
        value = np.einsum("rabn,rn->rab", cosine, real) - np.einsum("rabn,rn->rab", sine, imaginary)
        size = self.modulus * self.step / np.sqrt(self.norm)
        left_out = self._left_out(count)[0]
        by, turn = self.change
        moved = 1 + w[:, None] * (np.abs(by) + np.abs(turn))
        slack = np.einsum("rn,rn->r", size * moved, self.charge) + left_out
        largest = np.einsum("rn->r", self.modulus * (1 + self.charge)) + left_out
        tail = np.minimum(1.0, largest / np.maximum(-np.expm1(-theta), 1e-300))
        slack += self.error * tail
        growth = np.exp(np.minimum(fall * w, _STEEPEST))
        vague = (self.level < _DEEPEST) | (fall * w > _STEEPEST) | (slack > 1.0)
        slack = np.minimum(slack, 1.0)
        bent = np.zeros(len(w))
        if points > 1:
            # e^(-fall d) (value + d first + rest), |d| <= w
            first = np.einsum("rabn,rn->rab", cosine, real * by - imaginary * turn)
            first -= np.einsum("rabn,rn->rab", sine, imaginary * by + real * turn)
            grown = size * np.exp(np.minimum(w[:, None] * np.abs(by), _STEEPEST)) * (1 + self.charge)
            rest = w**2 / 2 * np.einsum("rn,rn->r", grown, by**2 + turn**2)
            g, d = self.fall[:, None, None], w[:, None, None]
            near = value + d * np.abs(first - g * value)
            grows = growth[:, None, None]
            near += d**2 * grows * (np.abs(g * first) + g**2 / 2 * np.abs(value))
            far = grows * (np.maximum(value, 0.0) + d * np.abs(first))
            value = np.minimum(near, far)
            slack = growth * (slack + rest)
            bent = growth * np.einsum("rn,rn->r", grown, (theta**2)[:, None] + self.y**2)
        damped = np.exp(-theta[:, None, None] * (1 + places))
        between = ((end - start) / max(points - 1, 1)) ** 2 / 8 * bent[:, None]
        at_most = (value * damped).max(axis=2) + (slack[:, None] + between) * np.exp(
            -theta[:, None] * (1 + start)
        )
        total = np.maximum(at_most.max(axis=1), 0.0)
        scale = self.b * np.exp(np.maximum(self.level, _DEEPEST))
        known = self._known_copies()
        total = total * scale * (1 + 2 * self.scale_error) - known * (1 - _ERROR)
        # Chernoff: t exceeds the mean
        lost = self.mean_error * theta
        chernoff = 2 * self.b * np.exp(
            np.minimum(self.level + fall * w + lost + self.scale_error, 700.0)
        )
        vague |= (self.mean_error >= 0.5) | (self.scale_error > 0.1)
        total = np.where(vague, chernoff, np.minimum(total, chernoff))
        total = np.maximum(total, 0.0) * (1 + _ERROR) + _UNDERFLOW
        return np.where(self.some, np.minimum(total, 1.0), 0.0)

    def _around(self, angle: Array, span: Array, points: int) -> tuple[Array, Array]:
        """Cosines and sines from `angle` on, backwards in equal steps: [rows, 3, points, nodes]."""
        cosine, sine = np.empty((2, *angle.shape[:2], points, angle.shape[2]))
        cosine[:, :, 0], sine[:, :, 0] = np.cos(angle), np.sin(angle)
        if points > 1:
            step = span / (points - 1)
            across, along = np.cos(step), np.sin(step)
            for i in range(1, points):
                c, s = cosine[:, :, i - 1], sine[:, :, i - 1]
                cosine[:, :, i] = c * across + s * along
                sine[:, :, i] = s * across - c * along
        return cosine, sine

    def _known_copies(self) -> Array:
        """What copies of the law below its support add to the rule: there Pr[S >= t] = 1."""
        copy = np.exp(-self.theta * self.length)
        return self.excess * copy / (1 + copy)

    def single(self, count: int) -> tuple[Array, Array, Array]:
        self._nodes(count)
        theta = self.theta
        places = np.floor(self.mean)[:, None] + np.arange(0, 2) - self.mean[:, None]
        weight = self.modulus / self.norm
        turned = self.angle[:, None, :] - self.y[:, None, :] * (0.5 + places)[..., None]
        real, imaginary = weight * self.imaginary * self.step, weight * self.real * self.step
        value = np.einsum("ran,rn->ra", np.cos(turned), real)
        value -= np.einsum("ran,rn->ra", np.sin(turned), imaginary)
        best = value * np.exp(-theta[:, None] * places)
        chosen = best.argmax(axis=1)
        at = np.arange(len(theta))
        place, value = places[at, chosen], value[at, chosen]
        exponent = self.level - theta * (1 + place)
        scale = np.exp(np.maximum(exponent, _DEEPEST))
        left_out, tail_left_out = self._left_out(count)
        slack = np.einsum("rn,rn->r", self.modulus * self.step / np.sqrt(self.norm), self.charge)
        largest = np.einsum("rn->r", self.modulus * (1 + self.charge)) + left_out
        tail_at_most = np.minimum(1.0, largest / np.maximum(-np.expm1(-theta), 1e-300))
        slack += left_out + self.error * tail_at_most
        known = self._known_copies()
        lower = (value - slack) * self.b * scale * (1 - 2 * self.scale_error) - known * (1 + _ERROR)

        # Pr[S >= t] and Pr[S = t-1]
        seen = turned[at, chosen] - self.y / 2
        tail = np.einsum("rn,rn->r", np.cos(seen), weight * self.real)
        tail += np.einsum("rn,rn->r", np.sin(seen), weight * self.imaginary)
        mass = np.einsum("rn,rn->r", np.cos(seen + self.y), self.modulus) * np.exp(theta)
        error = np.einsum("rn,rn->r", self.modulus / np.sqrt(self.norm), self.charge) + tail_left_out
        mass_error = np.exp(theta) * (np.einsum("rn,rn->r", self.modulus, self.charge) + left_out)
        pair, copy = self.pair, np.exp(-theta * self.length)
        middle = scale * (tail + pair.q * mass) + copy / (1 + copy)
        around = scale * (error + pair.q * mass_error) + 2 * self.scale_error * middle
        around = around + _ERROR * middle + _UNDERFLOW
        clear = self.some & (exponent > _DEEPEST) & (self.scale_error < 0.1)
        lower = np.where(clear & (lower > _UNDERFLOW), lower, 0.0)
        low = np.where(clear, np.maximum(middle - around, 0.0), 0.0)
        high = np.where(clear, middle + around, 1.0)
        return lower, low, high
