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


class Nodes:
    """The characteristic functions of tilted laws, less their means, at nodes of half a circle."""

    def __init__(self, bits: TiltedBits, count: int, fixed: bool = False) -> None:
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
        #: Change of the logarithm of the modulus, and of the angle, with m: along the mean, or at
        #: a fixed threshold; and no less than the size of all its parts.
        by, turn = each[0][0] - each[1][0], each[0][1] - each[1][1]
        moves = bits.drift[:, None] * y * fixed
        self.change = by, turn + moves
        self.moved = np.abs(by) + np.abs(turn) + np.abs(moves)
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
        bits, by = self.bits, self.change[0]
        w = bits.w[:, None]
        rounding = np.einsum("rn,rn,rn->r", self.size, 1 + w * self.moved, self.charge)
        grown = self.modulus * (1 + self.charge) * np.exp(np.minimum(w * np.abs(by), STEEPEST))
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


def turned(angle: Array, span: Array, points: int) -> tuple[Array, Array]:
    """Cosines and sines from `angle` backwards, in equal steps: [rows, 3, points, nodes]."""
    cosine, sine = np.empty((2, *angle.shape[:2], points, angle.shape[2]))
    cosine[:, :, 0], sine[:, :, 0] = np.cos(angle), np.sin(angle)
    if points > 1:
        across, along = np.cos(span / (points - 1)), np.sin(span / (points - 1))
        for i in range(1, points):
            c, s = cosine[:, :, i - 1], sine[:, :, i - 1]
            cosine[:, :, i], sine[:, :, i] = c * across + s * along, s * across - c * along
    return cosine, sine


def terms(nodes: Nodes, turns: tuple[Array, Array], by: Array, turn: Array) -> Array:
    """The Fourier sum of H, every term times by + i turn."""
    cosine, sine = turns
    weight = nodes.size / np.sqrt(nodes.norm)
    real, imaginary = weight * nodes.imaginary, weight * nodes.real
    value: Array = np.einsum("rabn,rn->rab", cosine, real * by - imaginary * turn)
    value -= np.einsum("rabn,rn->rab", sine, imaginary * by + real * turn)
    return value
