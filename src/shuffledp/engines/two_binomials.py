"""One bit more or less among bits of two kinds: the divergence of their sum, at a cost flat in n.

With the tilt of `tilted_bits.py` H(m) is a Fourier sum in which nothing cancels. Along the means it
depends on m so smoothly that Taylor's series bounds it for a whole range of m.
Proofs: docs/theory.md, "Binary messages".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array, Side
from ..laws.binary import BinaryPair
from . import tuning
from .tilted_bits import BITS_ERROR, Ranges, TiltedBits

# proof constants: docs/theory.md, "Constants"
#: |e^iy - 1| / |1 - e^(-theta - iy)| is at most 1 + sqrt(2).
_LARGEST = 2.415
#: Below e to this Chernoff's bound is given, and nothing from below.
_DEEPEST = -700.0
#: So it is in ranges in which H may change by more than e to this.
_STEEPEST = 200.0
#: More than what is lost below the range of a double.
_UNDERFLOW = 1e-305


class Single(NamedTuple):
    """Of single m: H from below, and Q's mass of that event, from both sides."""

    lower: Array
    slope_low: Array
    slope_high: Array


class TwoBinomials:
    """Evaluates H of `others` + 1 users for ranges of m."""

    def __init__(self, pair: BinaryPair, others: int) -> None:
        self._pair, self._others = pair, float(others)

    def upper(self, ranges: Ranges) -> Array:
        """An upper bound of H(m) for every m of each range."""
        result = np.zeros(len(ranges.epsilon))
        single = ranges.first == ranges.last
        for chosen, points in ((single, 1), (~single, max(tuning.POINTS, 2))):
            for rows, nodes in self._blocks(ranges, np.flatnonzero(chosen), points, Side.UPPER):
                result[rows] = _upper(nodes, points)
        return result

    def likely(self, ranges: Ranges, from_first: NDArray[np.bool_]) -> Array:
        """Where H(m) may be large in each range, as far as possible at its first or last m: there
        the mean of the tilted law is half way between two integers. [rows, 3]"""
        bits = TiltedBits(self._pair, self._others, ranges, Side.LOWER)
        p, q = bits.groups
        end, inwards = np.where(from_first, -bits.w, bits.w), np.where(from_first, 1.0, -1.0)
        speed = (p.mean - q.mean) * inwards
        missing = np.mod((0.5 - (bits.mean + (p.mean - q.mean) * end)) * np.sign(speed), 1.0)
        steps = missing / np.maximum(np.abs(speed), 1e-300)
        found = np.stack([0 * steps, np.floor(steps), np.floor(steps) + 1], axis=1)
        found = np.minimum(found, (ranges.last - ranges.first)[:, None])
        start = np.where(from_first, ranges.first, ranges.last)
        result: Array = start[:, None] + inwards[:, None] * found
        return result

    def single(self, ranges: Ranges) -> Single:
        """H(m) from below for ranges of one m each, with slopes."""
        result = np.zeros((3, len(ranges.epsilon)))
        every = np.arange(len(ranges.epsilon))
        for rows, nodes in self._blocks(ranges, every, 1, Side.LOWER):
            result[:, rows] = _lower(nodes)
        return Single(*result)

    def _blocks(
        self, ranges: Ranges, rows: NDArray[np.intp], points: int, side: Side
    ) -> Iterator[tuple[NDArray[np.intp], _Nodes]]:
        """Rows that need about as many nodes, together."""
        counts = TiltedBits(self._pair, self._others, ranges.rows(rows), side).nodes
        rows = rows[np.argsort(counts, kind="stable")]
        counts.sort()
        start = 0
        while start < len(rows):
            fits = max(1, tuning.BITS_AT_ONCE // (3 * points * int(counts[start])))
            stop = min(start + fits, int(np.searchsorted(counts, 2 * counts[start], "right")))
            part = rows[start:stop]
            bits = TiltedBits(self._pair, self._others, ranges.rows(part), side)
            yield part, _Nodes(bits, int(counts[stop - 1]))
            start = stop


class _Nodes:
    """The characteristic functions of tilted laws, less their means, at nodes of half a circle."""

    def __init__(self, bits: TiltedBits, count: int) -> None:
        self.bits, self._count = bits, count
        length = bits.length[:, None]
        y = (2 * np.arange(count) + 1) * math.pi / length
        inside = y < math.pi
        self.y = y = np.where(inside, y, math.pi / 2)
        sine, half = np.sin(y), np.sin(y / 2) ** 2
        log_modulus, angle, charge = np.zeros((3, *y.shape))
        each = []  # of a user of each kind
        for g in bits.groups:
            log_of, turn, sensitive = _of_one(g.rare[:, None], y, sine, half)
            each.append((log_of, g.sign[:, None] * turn))
            log_modulus += g.users[:, None] * log_of
            angle += (g.users * g.sign)[:, None] * turn
            charge += (g.users + bits.w)[:, None] * sensitive
        self.angle = angle
        self.modulus = np.exp(log_modulus) * inside * (2 / length)
        #: Relative error of each term.
        self.charge = np.expm1(np.minimum(BITS_ERROR * (1 + charge) + count * UNIT, 300.0))
        #: Change of the logarithm of the modulus, and of the angle, with m.
        self.change = each[0][0] - each[1][0], each[0][1] - each[1][1]
        small = np.exp(-bits.theta)[:, None]
        # 1 - e^(-theta - iy) = real + i imaginary
        self.real = -np.expm1(-bits.theta)[:, None] + 2 * small * half
        self.imaginary = small * sine
        self.norm = self.real**2 + self.imaginary**2
        self.size = self.modulus * 2 * np.sqrt(half / self.norm)  # of the terms of H

    def left_out(self) -> tuple[Array, Array]:
        """Nodes that are left out and copies of the law, in units of the scale, for H and for
        Pr[S >= t]."""
        bits = self.bits
        reach = np.sin(np.minimum((2 * self._count - 1) * math.pi / bits.length, math.pi) / 2)
        cut = _LARGEST * np.exp(-2 * bits.least * reach**2) * (2 * self._count < bits.length)
        # Bennett: how likely a sum of bounded terms is so far from its mean
        d = np.maximum(bits.length - 4 - bits.mean_error, 0.0)
        variance = np.maximum(bits.most, 1e-300)
        best = np.log1p(d / variance)
        tilt = np.minimum(np.maximum(best, bits.theta), 300.0)
        trivial = bits.falls - bits.level - bits.theta * (bits.length - 4)
        bennett = variance * (np.expm1(tilt) - tilt) - tilt * d
        below = np.exp(np.minimum(np.minimum(bennett, trivial), 300.0))
        above = np.exp(variance * (np.expm1(best) - best) - best * d)
        copies = np.where(bits.all_apart, 0.0, 2.001 * (above + below))
        return cut + copies, cut / (2 * reach) + copies

    def uncertain(self, left_out: Array) -> Array:
        """What H(m) may be off by, in units of the scale: rounding of the nodes and of a, b and
        theta, which count with Pr[S >= t] each."""
        bits, (by, turn) = self.bits, self.change
        w = bits.w[:, None]
        moved = 1 + w * (np.abs(by) + np.abs(turn))
        rounding = np.einsum("rn,rn,rn->r", self.size, moved, self.charge)
        grown = self.modulus * (1 + self.charge) * np.exp(np.minimum(w * np.abs(by), _STEEPEST))
        largest = np.einsum("rn->r", grown) + left_out
        tail = np.minimum(1.0, largest / np.maximum(-np.expm1(-bits.theta), 1e-300))
        uncertain: Array = rounding + left_out + bits.error * tail
        return uncertain

    def known_copies(self) -> tuple[Array, Array]:
        """What copies of the law below its support take from Pr[S >= t], since there it is 1, and
        the relative error of that."""
        turn = self.bits.theta * self.bits.length
        copy: Array = np.exp(-turn)
        return copy / (1 + copy), np.minimum(BITS_ERROR * (1 + turn), 1.0)


def _of_one(rare: Array, y: Array, sine: Array, half: Array) -> tuple[Array, Array, Array]:
    """log|f| and the angle of f = 1 + rare (e^iy - 1), less its mean; and how much they change,
    relatively to rare."""
    change = -4 * rare * (1 - rare) * half
    square, log_of = 1 + change, np.log1p(np.maximum(change, -0.75))
    far = change < -0.5
    if far.any():  # there 1 + change may cancel; elsewhere it would lose what is rare
        sure = (1 - 2 * rare) ** 2 + 4 * rare * (1 - rare) * (1 - half)
        square = np.maximum(np.where(far, sure, square), 1e-300)
        log_of = np.where(far, np.log(square), log_of)
    turn = np.arctan2(rare * sine, 1 - 2 * rare * half) - rare * y
    return log_of / 2, turn, rare * (y + y * y) / square


def _places(bits: TiltedBits, points: int) -> tuple[Array, Array]:
    """t - 1 - mean, from .. to, in three parts: those of three t, or of all that can be."""
    move = bits.drift * bits.w + bits.mean_error
    low, high = (bits.mean - move)[:, None], (bits.mean + move)[:, None]
    t = np.floor(low) + np.arange(1, 4)
    if points == 1:
        place = t - 1 - bits.mean[:, None]
        return place, place
    most = (1 + bits.mean_error)[:, None]
    start, end = np.clip(t - 1 - high, -most, most), np.clip(t - 1 - low, -most, most)
    thirds = most * np.array([-1.0, -1 / 3, 1 / 3, 1.0])
    wide = high >= np.floor(low) + 2
    return np.where(wide, thirds[:, :-1], start), np.where(wide, thirds[:, 1:], end)


def _upper(nodes: _Nodes, points: int) -> Array:
    """H(m) at most, for every m of each range."""
    bits = nodes.bits
    start, end = _places(bits, points)
    slack = nodes.uncertain(nodes.left_out()[0])
    vague = (bits.level < _DEEPEST) | (bits.falls > _STEEPEST) | (slack > 1)
    vague |= (bits.mean_error >= 0.5) | (bits.scale_error > 0.1)
    slack = np.minimum(slack, 1.0)
    angle = nodes.angle[:, None, :] - nodes.y[:, None, :] * (0.5 + start)[..., None]
    turns = _turned(angle, nodes.y[:, None, :] * (end - start)[..., None], points)
    value = _terms(nodes, turns, np.ones(1), np.zeros(1))
    bend = np.zeros(len(slack))
    if points > 1:
        growth = np.exp(np.minimum(bits.falls, _STEEPEST))
        value, rest, grown = _along(nodes, turns, value, growth)
        slack = growth * (slack + rest)
        squares = (bits.theta**2)[:, None] + nodes.y**2
        bend = growth * np.einsum("rn,rn->r", grown, squares)
    share = np.arange(points) / max(points - 1, 1)
    places = start[..., None] + (end - start)[..., None] * share
    theta = bits.theta[:, None]
    largest = (value * np.exp(-theta[..., None] * (1 + places))).max(axis=2)
    between = ((end - start) / max(points - 1, 1)) ** 2 / 8 * bend[:, None]
    largest += (slack[:, None] + between) * np.exp(-theta * (1 + start))
    scale = bits.b * np.exp(np.maximum(bits.level, _DEEPEST)) * (1 + 2 * bits.scale_error)
    total = np.maximum(largest.max(axis=1), 0.0) * scale
    known, known_error = nodes.known_copies()
    total -= bits.excess * known * (1 - known_error)
    exponent = bits.level + bits.falls + bits.mean_error * bits.theta + bits.scale_error
    chernoff = 2 * bits.b * np.exp(np.minimum(exponent, 300.0))
    total = np.where(vague, chernoff, np.minimum(total, chernoff))
    total = np.maximum(total, 0.0) * (1 + BITS_ERROR) + _UNDERFLOW
    return np.where(bits.some, np.minimum(total, 1.0), 0.0)


def _turned(angle: Array, span: Array, points: int) -> tuple[Array, Array]:
    """Cosines and sines from `angle` backwards, in equal steps: [rows, 3, points, nodes]."""
    cosine, sine = np.empty((2, *angle.shape[:2], points, angle.shape[2]))
    cosine[:, :, 0], sine[:, :, 0] = np.cos(angle), np.sin(angle)
    if points > 1:
        across, along = np.cos(span / (points - 1)), np.sin(span / (points - 1))
        for i in range(1, points):
            c, s = cosine[:, :, i - 1], sine[:, :, i - 1]
            cosine[:, :, i], sine[:, :, i] = c * across + s * along, s * across - c * along
    return cosine, sine


def _terms(nodes: _Nodes, turns: tuple[Array, Array], by: Array, turn: Array) -> Array:
    """The Fourier sum of H, every term times by + i turn."""
    cosine, sine = turns
    weight = nodes.size / np.sqrt(nodes.norm)
    real, imaginary = weight * nodes.imaginary, weight * nodes.real
    value: Array = np.einsum("rabn,rn->rab", cosine, real * by - imaginary * turn)
    value -= np.einsum("rabn,rn->rab", sine, imaginary * by + real * turn)
    return value


def _along(
    nodes: _Nodes, turns: tuple[Array, Array], value: Array, growth: Array
) -> tuple[Array, Array, Array]:
    """The largest of e^(-fall d) (value + d first) over |d| <= w, the rest of Taylor's series, and
    the largest size of each term."""
    (by, turn), w = nodes.change, nodes.bits.w
    first = _terms(nodes, turns, by, turn)
    grown = nodes.size * (1 + nodes.charge)
    grown *= np.exp(np.minimum(w[:, None] * np.abs(by), _STEEPEST))
    rest = w**2 / 2 * np.einsum("rn,rn->r", grown, by**2 + turn**2)
    fall, d, grows = (x[:, None, None] for x in (nodes.bits.fall, w, growth))
    near = value + d * np.abs(first - fall * value)
    near += d**2 * grows * (np.abs(fall * first) + fall**2 / 2 * np.abs(value))
    far = grows * (np.maximum(value, 0.0) + d * np.abs(first))
    return np.minimum(near, far), rest, grown


def _lower(nodes: _Nodes) -> tuple[Array, Array, Array]:
    """H(m) at least, for single m, by the event S + bit >= t; and Q's mass of it."""
    bits, y = nodes.bits, nodes.y
    theta, row = bits.theta, np.arange(len(y))
    places = np.floor(bits.mean)[:, None] + np.arange(2) - bits.mean[:, None]
    angle = nodes.angle[:, None, :] - y[:, None, :] * (0.5 + places)[..., None]
    values = _terms(nodes, _turned(angle, angle, 1), np.ones(1), np.zeros(1))[..., 0]
    best = (values * np.exp(-theta[:, None] * places)).argmax(axis=1)
    exponent = bits.level - theta * (1 + places[row, best])
    scale = np.exp(np.maximum(exponent, _DEEPEST))
    left_out, tail_left_out = nodes.left_out()
    slack = np.minimum(nodes.uncertain(left_out), 1e10)
    known, known_error = nodes.known_copies()
    lower = (values[row, best] - slack) * bits.b * scale * (1 - 2 * bits.scale_error)
    lower -= bits.excess * known * (1 + known_error)

    # Q's mass is Pr[S >= t] + q Pr[S = t-1]
    seen, weight = angle[row, best] - y / 2, nodes.modulus / nodes.norm
    tail = np.einsum("rn,rn->r", np.cos(seen), weight * nodes.real)
    tail += np.einsum("rn,rn->r", np.sin(seen), weight * nodes.imaginary)
    mass = np.einsum("rn,rn->r", np.cos(seen + y), nodes.modulus)
    error = np.einsum("rn,rn->r", nodes.modulus / np.sqrt(nodes.norm), nodes.charge)
    mass_error = np.einsum("rn,rn->r", nodes.modulus, nodes.charge) + left_out
    q = bits.pair.q * np.exp(np.minimum(theta, 300.0))
    middle = scale * (tail + q * mass) + known
    around = scale * np.minimum(error + tail_left_out + q * mass_error, 1e100)
    around += (2 * bits.scale_error + BITS_ERROR) * np.abs(middle) + known_error * known
    around += _UNDERFLOW
    clear = bits.some & (exponent > _DEEPEST) & (bits.scale_error < 0.1) & (theta < 300)
    low = np.where(clear, np.maximum(middle - around, 0.0), 0.0)
    high = np.where(clear, np.minimum(middle + around, 1.0), 1.0)
    return np.where(clear & (lower > _UNDERFLOW), lower, 0.0), low, high
