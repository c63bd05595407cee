"""The divergence of sums of bits of two kinds that differ in one bit, at a cost flat in n.

H(m) is the delta, at some epsilon, of two sums of n bits: in both, m bits are 1 with probability p
and n - 1 - m with probability q; the last one is 1 with probability p in the first sum and with
probability q in the second. With the tilt of `tilted_bits.py`, H(m) is a Fourier sum in which
nothing cancels. Both along the means and at a fixed threshold, H depends so smoothly on m that a
first-order Taylor expansion bounds it for a whole range of m.

Theory: docs/theory/bits.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import tuning
from .._support.numeric import Array, Side
from ..laws.binary_law import BinaryPair
from .tilted_bits import BITS_ERROR, STEEPEST, BitNodes, Ranges, TiltedBits

# proof constants: docs/theory/constants.md
#: Below e to this, Chernoff's bound is the upper bound and 0 the lower one.
_DEEPEST = -700.0
#: More than the total of all products that underflow.
_UNDERFLOW = 1e-305


class LowerBounds(NamedTuple):
    """Lower bounds on H at single m, and bounds on Q's mass of the event behind each."""

    lower: Array
    fall_low: Array
    fall_high: Array


class TwoBinomials:
    """Bounds on H(m) for ranges of m.

    Parameters
    ----------
    pair : BinaryPair
        The probabilities p and q with their complements.
    others : int
        M, the number of users besides the one in question.
    width : float
        Relative accuracy to aim for; 0 asks for the accuracy that rounding allows.
    """

    def __init__(self, pair: BinaryPair, others: int, width: float = 0.0) -> None:
        self._pair, self._others, self._width = pair, float(others), width

    def upper_over(self, ranges: Ranges) -> Array:
        """Return an upper bound on H(m) for every m of each range."""
        result = np.zeros(len(ranges.epsilon))
        bits = self._bits(ranges, Side.UPPER)
        is_fixed = bits.mean_shift < 0.5  # then only three thresholds can be best
        for fixed, places in ((True, 3), (False, max(tuning.PLACES, 2))):
            for rows, nodes in _blocks(bits, np.flatnonzero(is_fixed == fixed), places, fixed):
                result[rows] = _upper(nodes, fixed)
        return result

    def promising(self, ranges: Ranges, from_first: NDArray[np.bool_]) -> Array:
        """Return m at which H(m) is likely to be large.

        Parameters
        ----------
        ranges : Ranges
            Where to look.
        from_first : NDArray[np.bool_]
            Whether to start at the first m of a range; otherwise at the last.

        Returns
        -------
        Array
            Shape [rows, 3]: the end itself, and the two m closest to it at which the mean of the
            tilted law is half way between two integers.
        """
        bits = self._bits(ranges, Side.LOWER)
        inwards = np.where(from_first, 1.0, -1.0)
        end = -inwards * bits.half_width
        speed = bits.drift * inwards
        missing = np.mod((0.5 - (bits.mean + bits.drift * end)) * np.sign(speed), 1.0)
        steps = missing / np.maximum(np.abs(speed), 1e-300)
        found = np.stack([0 * steps, np.floor(steps), np.floor(steps) + 1], axis=1)
        found = np.minimum(found, (ranges.last - ranges.first)[:, None])
        start = np.where(from_first, ranges.first, ranges.last)
        result: Array = start[:, None] + inwards[:, None] * found
        return result

    def lower_at(self, ranges: Ranges) -> LowerBounds:
        """Return lower bounds on H(m), with falls, for ranges of one m each."""
        result = np.zeros((3, len(ranges.epsilon)))
        every = np.arange(len(ranges.epsilon))
        for rows, nodes in _blocks(self._bits(ranges, Side.LOWER), every, 2, True):
            result[:, rows] = _lower(nodes)
        return LowerBounds(*result)

    def _bits(self, ranges: Ranges, side: Side) -> TiltedBits:
        return TiltedBits(self._pair, self._others, ranges, side, self._width)


def _blocks(
    bits: TiltedBits, rows: NDArray[np.intp], places: int, fixed: bool
) -> Iterator[tuple[NDArray[np.intp], BitNodes]]:
    """Yield batches of rows that need similar numbers of nodes, with those nodes."""
    counts = bits.node_counts[rows]
    rows = rows[np.argsort(counts, kind="stable")]
    counts.sort()
    start = 0
    while start < len(rows):
        fits = max(1, tuning.AT_ONCE // (places * int(counts[start])))
        stop = min(start + fits, int(np.searchsorted(counts, 2 * counts[start], "right")))
        part = rows[start:stop]
        yield part, BitNodes(bits.rows(part), int(counts[stop - 1]), places, fixed)
        start = stop


def _upper(nodes: BitNodes, fixed: bool) -> Array:
    """Return an upper bound on H(m) for every m of each range."""
    bits = nodes.bits
    slack = nodes.value_error(nodes.truncation_errors()[0])
    steep = np.abs(bits.rise) * bits.half_width if fixed else bits.level_change
    unresolved = (bits.level < _DEEPEST) | (steep > STEEPEST) | (slack > 1)
    unresolved |= (bits.mean_error >= 0.5) | (bits.scale_error > 0.1)
    largest = (_at_fixed if fixed else _anywhere)(nodes, np.minimum(slack, 1.0))
    scale = bits.b * np.exp(np.maximum(bits.level, _DEEPEST)) * (1 + 2 * bits.scale_error)
    total = np.maximum(largest, 0.0) * scale
    known, known_error = nodes.known_copies()
    total -= bits.excess * known * (1 - known_error)
    exponent = bits.level + bits.level_change + bits.mean_error * bits.theta + bits.scale_error
    chernoff = 2 * bits.b * np.exp(np.minimum(exponent, 300.0))
    total = np.where(unresolved, chernoff, np.minimum(total, chernoff))
    total = np.maximum(total, 0.0) * (1 + BITS_ERROR) + _UNDERFLOW
    return np.where(bits.is_informative, np.minimum(total, 1.0), 0.0)


def _at_fixed(nodes: BitNodes, slack: Array) -> Array:
    """Return the bound, in units of the scale at the centre, for ranges whose means hardly move.

    It is the largest of e^(rise d) (value + d first + rest) over |d| <= half_width and the three
    thresholds that can be best.
    """
    bits = nodes.bits
    lowest = np.floor(bits.mean - bits.mean_shift) - bits.mean  # t - 1 - mean of the first of them
    rotation = nodes.rotated(lowest, nodes.cosine, nodes.sine)
    value = nodes.fourier_sum(rotation, None)
    half_width, rise = bits.half_width[:, None], bits.rise[:, None]
    if bits.half_width.any():
        first = nodes.fourier_sum(rotation, nodes.change)
        bend = rise * first
        peak = -(first + rise * value) / np.where(bend == 0, 1.0, bend)
        ends = -half_width + 0 * peak, half_width + 0 * peak
        moves = np.stack([*ends, np.clip(peak, -half_width, half_width)])
        exponent = np.clip(rise * moves, -STEEPEST, STEEPEST)
        value = (np.exp(exponent) * (value + moves * first)).max(axis=0)
        growth = np.exp(np.minimum(np.abs(bits.rise) * bits.half_width, STEEPEST))
        slack = growth * (slack + _taylor_remainder(nodes)[0])
    places = lowest[:, None] + np.arange(nodes.places)
    largest: Array = ((value + slack[:, None]) * np.exp(-bits.theta[:, None] * (1 + places))).max(
        axis=1
    )
    return largest


def _anywhere(nodes: BitNodes, slack: Array) -> Array:
    """Return the bound, in units of the scale at the centre, for any threshold near the mean.

    The sum is evaluated on a grid of thresholds; between two of them it exceeds the larger value by
    at most what its second derivative allows.
    """
    bits = nodes.bits
    most = 1 + bits.mean_error
    spacing = 2 * most / (nodes.places - 1)
    step = nodes.y * spacing[:, None]
    rotation = nodes.rotated(-most, np.cos(step), np.sin(step))
    growth = np.exp(np.minimum(bits.level_change, STEEPEST))
    value, rest, grown = _along(nodes, rotation, growth)
    places = -most[:, None] + spacing[:, None] * np.arange(nodes.places)
    fall = np.exp(-bits.theta[:, None] * (1 + places))
    value *= fall
    squares = (bits.theta**2)[:, None] + nodes.y**2
    bend = growth * np.einsum("rn,rn->r", grown, squares)
    more = growth * (slack + rest) + spacing**2 / 8 * bend
    cells = np.maximum(value[:, :-1], value[:, 1:]) + more[:, None] * fall[:, :-1]
    largest: Array = cells.max(axis=1)
    return largest


def _taylor_remainder(nodes: BitNodes) -> tuple[Array, Array]:
    """Return a bound on the Taylor remainder, and the largest size of each term."""
    (by, turn), half_width = nodes.change, nodes.bits.half_width
    grown = nodes.size * (1 + nodes.charge) * nodes.growth
    return half_width**2 / 2 * np.einsum("rn,rn->r", grown, by**2 + turn**2), grown


def _along(
    nodes: BitNodes, rotation: tuple[Array, Array], growth: Array
) -> tuple[Array, Array, Array]:
    """Return a bound on e^(-fall d) (value + d first) over |d| <= half_width.

    Also return the remainder of the Taylor expansion and the largest size of each term.
    """
    value, first = nodes.fourier_sum(rotation, None), nodes.fourier_sum(rotation, nodes.change)
    rest, grown = _taylor_remainder(nodes)
    fall, d, grows = (x[:, None] for x in (nodes.bits.level_fall, nodes.bits.half_width, growth))
    by_series = value + d * np.abs(first - fall * value)
    by_series += d**2 * grows * (np.abs(fall * first) + fall**2 / 2 * np.abs(value))
    by_growth = grows * (np.maximum(value, 0.0) + d * np.abs(first))
    return np.minimum(by_series, by_growth), rest, grown


def _lower(nodes: BitNodes) -> tuple[Array, Array, Array]:
    """Return lower bounds on H(m) at single m, and bounds on Q's mass of the event.

    The event is S + bit >= t for the best of two thresholds t; Q's mass of it is the fall of
    a line below the profile.
    """
    bits, y = nodes.bits, nodes.y
    theta, row = bits.theta, np.arange(len(y))
    lowest = np.floor(bits.mean) - bits.mean
    places = lowest[:, None] + np.arange(nodes.places)
    values = nodes.fourier_sum(nodes.rotated(lowest, nodes.cosine, nodes.sine), None)
    best = (values * np.exp(-theta[:, None] * places)).argmax(axis=1)
    exponent = bits.level - theta * (1 + places[row, best])
    scale = np.exp(np.maximum(exponent, _DEEPEST))
    truncation, tail_truncation = nodes.truncation_errors()
    slack = np.minimum(nodes.value_error(truncation), 1e10)
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
    mass_error = np.einsum("rn,rn->r", nodes.modulus, nodes.charge) + truncation
    q = bits.pair.q * np.exp(np.minimum(theta, 300.0))
    middle = scale * (tail + q * mass) + known
    around = scale * np.minimum(error + tail_truncation + q * mass_error, 1e100)
    around += (2 * bits.scale_error + BITS_ERROR) * np.abs(middle) + known_error * known
    around += _UNDERFLOW
    resolved = (
        bits.is_informative & (exponent > _DEEPEST) & (bits.scale_error < 0.1) & (theta < 300)
    )
    low = np.where(resolved, np.maximum(middle - around, 0.0), 0.0)
    high = np.where(resolved, np.minimum(middle + around, 1.0), 1.0)
    return np.where(resolved & (lower > _UNDERFLOW), lower, 0.0), low, high
