"""Sums of bits at the nodes of a Fourier sum, and what is left out of it.

Proofs: docs/theory.md, "Binary messages".
"""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import UNIT, Array
from .tilted_bits import BITS_ERROR, TiltedBits

# proof constants: docs/theory.md, "Constants"
#: |e^iy - 1| / |1 - e^(-theta - iy)| is at most 1 + sqrt(2).
_LARGEST = 2.415
#: Chernoff's bound is given in ranges in which H may change by more than e to this.
STEEPEST = 200.0
#: In units of rounding: what turning cosines and sines by an angle adds to their error.
_TURN = 16


class Nodes:
    """The characteristic functions of tilted laws, less their means, at nodes of half a circle.

    Terms are evaluated at `turns` places of the threshold, the first one by its angle. Changes with
    m are those at a `fixed` threshold, or along the mean.
    """

    def __init__(self, bits: TiltedBits, count: int, turns: int, fixed: bool = False) -> None:
        self.bits, self._count, self.turns = bits, count, turns
        # what depends on theta and on the circle only is the same for many ranges of m
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
        each = [_of_one(g.rare[:, None], y, sine, half) for g in kinds.groups]  # of one user
        steps = [g.sign[:, None] * turn for g, (_, turn, _) in zip(kinds.groups, each, strict=True)]
        #: Change of the logarithm of the modulus, and of the angle, with m; and no less than the
        #: size of all its parts.
        by, turn = each[0][0] - each[1][0], steps[0] - steps[1]
        moves = kinds.drift[:, None] * y * fixed
        moved = np.abs(by) + np.abs(turn) + np.abs(moves)
        self.change, self.moved = (by[same], (turn + moves)[same]), moved[same]
        self.y, self.cosine, self.sine = y[same], cosine[same], sine[same]
        self.real, self.imaginary, self.norm = real[same], imaginary[same], norm[same]

        log_modulus, angle, charge = np.zeros((3, len(same), count))
        for g, (log_of, _, sensitive), step in zip(bits.groups, each, steps, strict=True):
            log_modulus += g.users[:, None] * log_of[same]
            angle += g.users[:, None] * step[same]
            charge += (g.users + bits.w)[:, None] * sensitive[same]
        self.angle = angle
        self.modulus = np.exp(log_modulus) * (inside * (2 / length))[same]
        self.size = self.modulus * (2 * np.sqrt(half / norm))[same]  # of the terms of H
        #: Relative error of each term.
        self.charge = _grown(BITS_ERROR * (1 + charge) + (count + _TURN * turns) * UNIT)
        #: At most so much larger is a term anywhere in the range.
        self.growth: Array = np.ones(1)
        if bits.w.any():
            self.growth = np.exp(np.minimum(bits.w[:, None] * np.abs(self.change[0]), STEEPEST))

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
        bits = self.bits
        rounding = np.einsum(
            "rn,rn,rn->r", self.size, 1 + bits.w[:, None] * self.moved, self.charge
        )
        largest = (self.modulus * (1 + self.charge) * self.growth).sum(axis=1) + left_out
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


def _grown(exponent: Array) -> Array:
    """e^exponent - 1 at most, with few exponentials: errors are small."""
    grown: Array = exponent * (1 + exponent)
    large = exponent > 1
    grown[large] = np.expm1(np.minimum(exponent[large], 300.0))
    return grown


def turned(nodes: Nodes, place: Array, across: Array, along: Array) -> tuple[Array, Array]:
    """Cosines and sines at thresholds t - 1 - mean = `place`, and at as many as the nodes have
    turns, in equal steps upwards whose angles have these cosines and sines: [rows, turns, nodes]"""
    angle = nodes.angle - nodes.y * (0.5 + place)[:, None]
    cosine, sine = np.empty((2, len(angle), nodes.turns, angle.shape[1]))
    cosine[:, 0], sine[:, 0] = np.cos(angle), np.sin(angle)
    for i in range(1, nodes.turns):
        c, s = cosine[:, i - 1], sine[:, i - 1]
        cosine[:, i], sine[:, i] = c * across + s * along, s * across - c * along
    return cosine, sine


def terms(nodes: Nodes, turns: tuple[Array, Array], change: tuple[Array, Array] | None) -> Array:
    """The Fourier sum of H, or that of every term times change[0] + i change[1]. [rows, turns]"""
    cosine, sine = turns
    weight = nodes.size / np.sqrt(nodes.norm)
    real, imaginary = weight * nodes.imaginary, weight * nodes.real
    if change is not None:
        by, turn = change
        real, imaginary = real * by - imaginary * turn, imaginary * by + real * turn
    value: Array = np.einsum("rpn,rn->rp", cosine, real)
    value -= np.einsum("rpn,rn->rp", sine, imaginary)
    return value
