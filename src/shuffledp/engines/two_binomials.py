"""One bit more or less among bits of two kinds: the divergence of their sum, at a cost flat in n.

With the tilt of `tilted_bits.py` H(m) is a Fourier sum in which nothing cancels. Along the means,
and at a fixed threshold, it depends on m so smoothly that Taylor's series bounds it for a whole
range of m.
Proofs: docs/theory.md, "Binary messages".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array, Side
from ..laws.binary import BinaryPair
from . import tuning
from .bit_nodes import STEEPEST, Nodes, terms, turned
from .tilted_bits import BITS_ERROR, Ranges, TiltedBits

# proof constants: docs/theory.md, "Constants"
#: Below e to this Chernoff's bound is given, and nothing from below.
_DEEPEST = -700.0
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
        few = TiltedBits(self._pair, self._others, ranges, Side.UPPER).moved < 0.5
        for chosen, points in ((few, 1), (~few, max(tuning.POINTS, 2))):
            for rows, nodes in self._blocks(ranges, np.flatnonzero(chosen), points, Side.UPPER):
                result[rows] = _upper(nodes, points)
        return result

    def likely(self, ranges: Ranges, from_first: NDArray[np.bool_]) -> Array:
        """Where H(m) may be large in each range, as far as possible at its first or last m: there
        the mean of the tilted law is half way between two integers. [rows, 3]"""
        bits = TiltedBits(self._pair, self._others, ranges, Side.LOWER)
        end, inwards = np.where(from_first, -bits.w, bits.w), np.where(from_first, 1.0, -1.0)
        speed = bits.drift * inwards
        missing = np.mod((0.5 - (bits.mean + bits.drift * end)) * np.sign(speed), 1.0)
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
    ) -> Iterator[tuple[NDArray[np.intp], Nodes]]:
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
            yield part, Nodes(bits, int(counts[stop - 1]), fixed=points == 1)
            start = stop


def _places(bits: TiltedBits, points: int) -> tuple[Array, Array]:
    """t - 1 - mean, from .. to, in three parts: those of three t, or of all that can be."""
    move = bits.moved
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


def _upper(nodes: Nodes, points: int) -> Array:
    """H(m) at most, for every m of each range."""
    bits = nodes.bits
    start, end = _places(bits, points)
    slack = nodes.uncertain(nodes.left_out()[0])
    steep = np.abs(bits.rise) * bits.w if points == 1 else bits.falls
    vague = (bits.level < _DEEPEST) | (steep > STEEPEST) | (slack > 1)
    vague |= (bits.mean_error >= 0.5) | (bits.scale_error > 0.1)
    angle = nodes.angle[:, None, :] - nodes.y[:, None, :] * (0.5 + start)[..., None]
    if points == 1:
        largest = _at_fixed(nodes, start, angle, np.minimum(slack, 1.0))
    else:
        largest = _anywhere(nodes, start, end, angle, np.minimum(slack, 1.0), points)
    scale = bits.b * np.exp(np.maximum(bits.level, _DEEPEST)) * (1 + 2 * bits.scale_error)
    total = np.maximum(largest, 0.0) * scale
    known, known_error = nodes.known_copies()
    total -= bits.excess * known * (1 - known_error)
    exponent = bits.level + bits.falls + bits.mean_error * bits.theta + bits.scale_error
    chernoff = 2 * bits.b * np.exp(np.minimum(exponent, 300.0))
    total = np.where(vague, chernoff, np.minimum(total, chernoff))
    total = np.maximum(total, 0.0) * (1 + BITS_ERROR) + _UNDERFLOW
    return np.where(bits.some, np.minimum(total, 1.0), 0.0)


def _at_fixed(nodes: Nodes, start: Array, angle: Array, slack: Array) -> Array:
    """In units of the scale at the centre, for the three t of ranges whose means hardly move: the
    largest of e^(rise d) (value + d first + rest) over |d| <= w."""
    bits, cosines = nodes.bits, turned(angle, angle, 1)
    value = terms(nodes, cosines, np.ones(1), np.zeros(1))[..., 0]
    w, rise = bits.w[:, None], bits.rise[:, None]
    if bits.w.any():
        first = terms(nodes, cosines, *nodes.change)[..., 0]
        bend = rise * first
        peak = -(first + rise * value) / np.where(bend == 0, 1.0, bend)
        ways = np.stack([-w + 0 * peak, w + 0 * peak, np.clip(peak, -w, w)])
        exponent = np.clip(rise * ways, -STEEPEST, STEEPEST)
        value = (np.exp(exponent) * (value + ways * first)).max(axis=0)
        slack = np.exp(np.minimum(np.abs(bits.rise) * bits.w, STEEPEST)) * (slack + _rest(nodes)[0])
    places = np.exp(-bits.theta[:, None] * (1 + start))
    largest: Array = ((value + slack[:, None]) * places).max(axis=1)
    return largest


def _anywhere(
    nodes: Nodes, start: Array, end: Array, angle: Array, slack: Array, points: int
) -> Array:
    """In units of the scale at the centre, wherever between start and end the threshold is."""
    bits = nodes.bits
    turns = turned(angle, nodes.y[:, None, :] * (end - start)[..., None], points)
    value = terms(nodes, turns, np.ones(1), np.zeros(1))
    growth = np.exp(np.minimum(bits.falls, STEEPEST))
    value, rest, grown = _along(nodes, turns, value, growth)
    slack = growth * (slack + rest)
    squares = (bits.theta**2)[:, None] + nodes.y**2
    bend = growth * np.einsum("rn,rn->r", grown, squares)
    places = start[..., None] + (end - start)[..., None] * (np.arange(points) / (points - 1))
    theta = bits.theta[:, None]
    largest = (value * np.exp(-theta[..., None] * (1 + places))).max(axis=2)
    between = ((end - start) / (points - 1)) ** 2 / 8 * bend[:, None]
    largest += (slack[:, None] + between) * np.exp(-theta * (1 + start))
    result: Array = largest.max(axis=1)
    return result


def _rest(nodes: Nodes) -> tuple[Array, Array]:
    """The rest of Taylor's series, and the largest size of each term."""
    (by, turn), w = nodes.change, nodes.bits.w
    grown = nodes.size * (1 + nodes.charge)
    grown *= np.exp(np.minimum(w[:, None] * np.abs(by), STEEPEST))
    return w**2 / 2 * np.einsum("rn,rn->r", grown, by**2 + turn**2), grown


def _along(
    nodes: Nodes, turns: tuple[Array, Array], value: Array, growth: Array
) -> tuple[Array, Array, Array]:
    """The largest of e^(-fall d) (value + d first) over |d| <= w, the rest of Taylor's series, and
    the largest size of each term."""
    (by, turn), w = nodes.change, nodes.bits.w
    first = terms(nodes, turns, by, turn)
    rest, grown = _rest(nodes)
    fall, d, grows = (x[:, None, None] for x in (nodes.bits.fall, w, growth))
    near = value + d * np.abs(first - fall * value)
    near += d**2 * grows * (np.abs(fall * first) + fall**2 / 2 * np.abs(value))
    far = grows * (np.maximum(value, 0.0) + d * np.abs(first))
    return np.minimum(near, far), rest, grown


def _lower(nodes: Nodes) -> tuple[Array, Array, Array]:
    """H(m) at least, for single m, by the event S + bit >= t; and Q's mass of it."""
    bits, y = nodes.bits, nodes.y
    theta, row = bits.theta, np.arange(len(y))
    places = np.floor(bits.mean)[:, None] + np.arange(2) - bits.mean[:, None]
    angle = nodes.angle[:, None, :] - y[:, None, :] * (0.5 + places)[..., None]
    values = terms(nodes, turned(angle, angle, 1), np.ones(1), np.zeros(1))[..., 0]
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
