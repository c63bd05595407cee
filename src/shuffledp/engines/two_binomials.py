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
from ..laws.binary_law import BinaryPair
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
    """Evaluates H of `others` + 1 users for ranges of m, to a relative `width` if that is cheaper
    than what rounding leaves."""

    def __init__(self, pair: BinaryPair, others: int, width: float = 0.0) -> None:
        self._pair, self._others, self._width = pair, float(others), width

    def upper(self, ranges: Ranges) -> Array:
        """An upper bound of H(m) for every m of each range."""
        result = np.zeros(len(ranges.epsilon))
        bits = self._bits(ranges, Side.UPPER)
        few = bits.moved < 0.5
        for fixed, places in ((True, 3), (False, max(tuning.PLACES, 2))):
            for rows, nodes in _blocks(bits, np.flatnonzero(few == fixed), places, fixed):
                result[rows] = _upper(nodes, fixed)
        return result

    def likely(self, ranges: Ranges, from_first: NDArray[np.bool_]) -> Array:
        """Where H(m) may be large in each range, as far as possible at its first or last m: there
        the mean of the tilted law is half way between two integers. [rows, 3]"""
        bits = self._bits(ranges, Side.LOWER)
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
        for rows, nodes in _blocks(self._bits(ranges, Side.LOWER), every, 2):
            result[:, rows] = _lower(nodes)
        return Single(*result)

    def _bits(self, ranges: Ranges, side: Side) -> TiltedBits:
        return TiltedBits(self._pair, self._others, ranges, side, self._width)


def _blocks(
    bits: TiltedBits, rows: NDArray[np.intp], places: int, fixed: bool = True
) -> Iterator[tuple[NDArray[np.intp], Nodes]]:
    """Rows that need about as many nodes, together."""
    counts = bits.nodes[rows]
    rows = rows[np.argsort(counts, kind="stable")]
    counts.sort()
    start = 0
    while start < len(rows):
        fits = max(1, tuning.AT_ONCE // (places * int(counts[start])))
        stop = min(start + fits, int(np.searchsorted(counts, 2 * counts[start], "right")))
        part = rows[start:stop]
        yield part, Nodes(bits.rows(part), int(counts[stop - 1]), places, fixed)
        start = stop


def _upper(nodes: Nodes, fixed: bool) -> Array:
    """H(m) at most, for every m of each range."""
    bits = nodes.bits
    slack = nodes.uncertain(nodes.left_out()[0])
    steep = np.abs(bits.rise) * bits.w if fixed else bits.falls
    vague = (bits.level < _DEEPEST) | (steep > STEEPEST) | (slack > 1)
    vague |= (bits.mean_error >= 0.5) | (bits.scale_error > 0.1)
    largest = (_at_fixed if fixed else _anywhere)(nodes, np.minimum(slack, 1.0))
    scale = bits.b * np.exp(np.maximum(bits.level, _DEEPEST)) * (1 + 2 * bits.scale_error)
    total = np.maximum(largest, 0.0) * scale
    known, known_error = nodes.known_copies()
    total -= bits.excess * known * (1 - known_error)
    exponent = bits.level + bits.falls + bits.mean_error * bits.theta + bits.scale_error
    chernoff = 2 * bits.b * np.exp(np.minimum(exponent, 300.0))
    total = np.where(vague, chernoff, np.minimum(total, chernoff))
    total = np.maximum(total, 0.0) * (1 + BITS_ERROR) + _UNDERFLOW
    return np.where(bits.some, np.minimum(total, 1.0), 0.0)


def _at_fixed(nodes: Nodes, slack: Array) -> Array:
    """In units of the scale at the centre, for the three t of ranges whose means hardly move: the
    largest of e^(rise d) (value + d first + rest) over |d| <= w."""
    bits = nodes.bits
    lowest = np.floor(bits.mean - bits.moved) - bits.mean  # t - 1 - mean of the first of them
    turns = turned(nodes, lowest, nodes.cosine, nodes.sine)
    value = terms(nodes, turns, None)
    w, rise = bits.w[:, None], bits.rise[:, None]
    if bits.w.any():
        first = terms(nodes, turns, nodes.change)
        bend = rise * first
        peak = -(first + rise * value) / np.where(bend == 0, 1.0, bend)
        ways = np.stack([-w + 0 * peak, w + 0 * peak, np.clip(peak, -w, w)])
        exponent = np.clip(rise * ways, -STEEPEST, STEEPEST)
        value = (np.exp(exponent) * (value + ways * first)).max(axis=0)
        slack = np.exp(np.minimum(np.abs(bits.rise) * bits.w, STEEPEST)) * (slack + _rest(nodes)[0])
    places = lowest[:, None] + np.arange(nodes.turns)
    largest: Array = ((value + slack[:, None]) * np.exp(-bits.theta[:, None] * (1 + places))).max(
        axis=1
    )
    return largest


def _anywhere(nodes: Nodes, slack: Array) -> Array:
    """In units of the scale at the centre, wherever around the mean the threshold is."""
    bits = nodes.bits
    most = 1 + bits.mean_error
    apart = 2 * most / (nodes.turns - 1)
    step = nodes.y * apart[:, None]
    turns = turned(nodes, -most, np.cos(step), np.sin(step))
    growth = np.exp(np.minimum(bits.falls, STEEPEST))
    value, rest, grown = _along(nodes, turns, growth)
    places = -most[:, None] + apart[:, None] * np.arange(nodes.turns)
    fall = np.exp(-bits.theta[:, None] * (1 + places))
    value *= fall
    # between two places it exceeds the larger one by no more than its bend allows
    squares = (bits.theta**2)[:, None] + nodes.y**2
    bend = growth * np.einsum("rn,rn->r", grown, squares)
    more = growth * (slack + rest) + apart**2 / 8 * bend
    cells = np.maximum(value[:, :-1], value[:, 1:]) + more[:, None] * fall[:, :-1]
    largest: Array = cells.max(axis=1)
    return largest


def _rest(nodes: Nodes) -> tuple[Array, Array]:
    """The rest of Taylor's series, and the largest size of each term."""
    (by, turn), w = nodes.change, nodes.bits.w
    grown = nodes.size * (1 + nodes.charge) * nodes.growth
    return w**2 / 2 * np.einsum("rn,rn->r", grown, by**2 + turn**2), grown


def _along(nodes: Nodes, turns: tuple[Array, Array], growth: Array) -> tuple[Array, Array, Array]:
    """The largest of e^(-fall d) (value + d first) over |d| <= w, the rest of Taylor's series, and
    the largest size of each term."""
    value, first = terms(nodes, turns, None), terms(nodes, turns, nodes.change)
    rest, grown = _rest(nodes)
    fall, d, grows = (x[:, None] for x in (nodes.bits.fall, nodes.bits.w, growth))
    near = value + d * np.abs(first - fall * value)
    near += d**2 * grows * (np.abs(fall * first) + fall**2 / 2 * np.abs(value))
    far = grows * (np.maximum(value, 0.0) + d * np.abs(first))
    return np.minimum(near, far), rest, grown


def _lower(nodes: Nodes) -> tuple[Array, Array, Array]:
    """H(m) at least, for single m, by the event S + bit >= t; and Q's mass of it."""
    bits, y = nodes.bits, nodes.y
    theta, row = bits.theta, np.arange(len(y))
    lowest = np.floor(bits.mean) - bits.mean
    places = lowest[:, None] + np.arange(nodes.turns)
    values = terms(nodes, turned(nodes, lowest, nodes.cosine, nodes.sine), None)
    best = (values * np.exp(-theta[:, None] * places)).argmax(axis=1)
    exponent = bits.level - theta * (1 + places[row, best])
    scale = np.exp(np.maximum(exponent, _DEEPEST))
    left_out, tail_left_out = nodes.left_out()
    slack = np.minimum(nodes.uncertain(left_out), 1e10)
    known, known_error = nodes.known_copies()
    lower = (values[row, best] - slack) * bits.b * scale * (1 - 2 * bits.scale_error)
    lower -= bits.excess * known * (1 + known_error)

    # Q's mass is Pr[S >= t] + q Pr[S = t-1]
    seen = nodes.angle - y * (1 + places[row, best])[:, None]
    weight = nodes.modulus / nodes.norm
    cosine, sine = np.cos(seen), np.sin(seen)
    tail = np.einsum("rn,rn->r", cosine, weight * nodes.real)
    tail += np.einsum("rn,rn->r", sine, weight * nodes.imaginary)
    # the cosine of seen + y
    mass = np.einsum("rn,rn->r", cosine * nodes.cosine - sine * nodes.sine, nodes.modulus)
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
