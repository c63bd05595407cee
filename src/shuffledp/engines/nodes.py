"""Which nodes of the Fourier integral matter, and the characteristic function there.

With n users the integrand has the modulus |E~ e^(itz)|^n, next to nothing at most nodes. With
d(t)^2 = 1 - |E~ e^(itz)|^2 this is at most e^(-n d^2/2), and d changes by at most the root mean
square score per unit of t: one value of d says how far around it there is nothing. The same is true
of a part of the law. So blocks of nodes are looked at in their middle, split where that is not
enough, and those that are left are evaluated. docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from . import tuning
from .tilted_law import MORE, TiltedLaw


class Nodes(NamedTuple):
    """The trapezoidal rule of each row: the distance of its nodes, and how many there are."""

    step: Array
    number: NDArray[np.intp]


class Blocks(NamedTuple):
    """Nodes first, first + 1, ..., first + size - 1 of some rows."""

    row: NDArray[np.intp]
    first: NDArray[np.int64]

    def where(self, some: NDArray[np.bool_]) -> Blocks:
        return Blocks(self.row[some], self.first[some])

    @property
    def rank(self) -> NDArray[np.intp]:
        """The place of each among those of its row, which follow each other."""
        counts = np.bincount(self.row)
        return np.arange(len(self.row)) - (np.cumsum(counts) - counts)[self.row]


class Missing:
    """What nodes that are left out may have, of sums of 1/|w|^2 + tau^2 and of 1/|w|."""

    def __init__(self, law: TiltedLaw, nodes: Nodes) -> None:
        self._law, self._nodes = law, nodes
        self.value, self.slope = np.zeros((2, len(law.theta)))

    def add(self, blocks: Blocks, size: int | NDArray[np.intp], decay: Array) -> None:
        """Blocks in which |E~ e^(itz)|^(n-1) is at most e^-decay."""
        row, rows = blocks.row, len(self.value)
        start, step = self._nodes.step[row] * blocks.first, self._nodes.step[row]
        tau, far = self._law.tau[row], np.hypot(self._law.theta[row], start)
        mass = size * step / math.pi * np.exp(-decay - (tau * start) ** 2 / 2) * (1 + 1e-9)
        self.value += np.bincount(row, mass * (far**-2 + tau**2), rows)
        self.slope += np.bincount(row, mass / far, rows)


def lively_blocks(
    law: TiltedLaw, nodes: Nodes, cut: Array, missing: Missing
) -> tuple[Blocks, Array]:
    """The blocks of BLOCK nodes in which the integrand may exceed e^-cut of the scale; and of each
    a power of 1/e that it does not exceed."""
    size, parts = tuning.BLOCK_NODES, max(tuning.SPLIT, 2)
    if len(law.theta) * nodes.number.max() <= tuning.FEW_NODES:
        blocks = _all_blocks(nodes.number, size)
        return blocks, np.zeros(len(blocks.row))
    while nodes.number.max() // size >= max(tuning.FIRST_BLOCKS // len(law.theta), 1):
        size *= parts
    blocks = _all_blocks(nodes.number, size)
    others, usual = float(law.sums.users - 1), usual_part(law)
    spread = np.sqrt(others * np.sum(usual.weights * usual.scores**2, axis=1)) * MORE
    while True:
        half = nodes.step[blocks.row] * (size / 2)
        middle = nodes.step[blocks.row] * (blocks.first + size / 2)
        away = _distance(law, usual, blocks.row, middle)
        apart = np.sqrt(others * away) - spread[blocks.row] * half
        decay = np.maximum(apart, 0.0) ** 2 / 2
        alive = ~(decay > cut[blocks.row])
        missing.add(blocks.where(~alive), size, decay[~alive])
        blocks = blocks.where(alive)
        if size == tuning.BLOCK_NODES:
            return blocks, decay[alive]
        size //= parts
        children = blocks.first[:, None] + size * np.arange(parts)
        blocks = Blocks(np.repeat(blocks.row, parts), children.ravel())
        blocks = blocks.where(blocks.first <= nodes.number[blocks.row])


def _all_blocks(number: NDArray[np.intp], size: int) -> Blocks:
    """Blocks of one size that cover so many nodes of each row."""
    counts = number // size + 1
    row = np.repeat(np.arange(len(counts)), counts)
    return Blocks(row, size * Blocks(row, row).rank)


def turned(angle: Array) -> tuple[Array, Array]:
    """cos - 1 and sin of an angle, in which nothing cancels: both by the tangent of half of it,
    for which numpy takes a tenth of the time of a sine."""
    half = np.tan(angle / 2)
    sine = 2 * half / (1 + half * half)
    return -half * sine, sine


class Usual(NamedTuple):
    """A part of the law of each row, and how much of it there is, with what scores 0."""

    scores: Array
    weights: Array
    total: Array


def usual_part(law: TiltedLaw) -> Usual:
    """Without rare large scores, which make d change quickly and hardly matter else: d is smaller
    without them, at every t."""
    scores, weights = law.sums.scores, law.weights
    if weights.min() > tuning.RARELY / law.sums.users:  # none is rare
        return Usual(scores, weights, np.ones(len(weights)))
    order = np.argsort(-np.abs(scores), axis=1)
    larger = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    kept = np.zeros(larger.shape, dtype=bool)
    np.put_along_axis(kept, order, larger > tuning.RARELY / law.sums.users, axis=1)
    some = np.flatnonzero(kept.any(axis=0))
    total = 1 - np.sum(weights * ~kept, axis=1)
    return Usual(scores[:, some], (weights * kept)[:, some], total)


def _distance(law: TiltedLaw, usual: Usual, row: NDArray[np.intp], t: Array) -> Array:
    """d^2 of the usual part: its squared mass, with what scores 0, less |E~ e^(itz)|^2 at these t,
    from below."""
    found, chunk = np.empty(len(row)), max(1, tuning.AT_ONCE // max(usual.scores.shape[1], 1))
    for i in range(0, len(row), chunk):
        rows = row[i : i + chunk]
        angles, chosen = t[i : i + chunk, None] * usual.scores[rows], usual.weights[rows]
        real, imag = (np.einsum("ij,ij->i", chosen, part) for part in turned(angles))
        found[i : i + chunk] = -2 * usual.total[rows] * real - real**2 - imag**2
    away: Array = np.maximum(found - 4 * change_error(law, row, t), 0.0)
    return away


def change_error(law: TiltedLaw, row: NDArray[np.intp], t: Array) -> Array:
    """Bound of the error of E~ e^(itz) - 1 for these rows at these t: angles, weights, sums."""
    moved = t * law.mean_size[row]  # E~ |tz|
    rounding = 2 * (law.relative + law.change) + (64 + 4 * law.sums.scores.shape[1]) * UNIT
    size: Array = 32 * UNIT * moved + rounding[row] * np.minimum(moved, 4.0)
    return size


class Characteristic(NamedTuple):
    """E~ e^(itz) - 1 and E~[fall e^(itz)] at some nodes of each row, [rows, nodes], and E~ e^(itz)
    and E~[fall e^(itz)] of the last user; then bounds of their errors."""

    change: Array
    change_error: Array
    falling: Array | float = 0.0
    falling_error: Array | float = 0.0
    last: Array | float = 1.0
    last_error: Array | float = 0.0
    last_falling: Array | float = 0.0
    last_falling_error: Array | float = 0.0

    @classmethod
    def of(cls, sums: Mapping[str, Array], errors: Mapping[str, Array]) -> Characteristic:
        return cls(**sums, **{f"{kind}_error": error for kind, error in errors.items()})


def means(law: TiltedLaw) -> dict[str, Array]:
    """The weights of each of these: [rows, values]."""
    kinds = {"change": law.weights}
    if law.last is not None:
        kinds["last"] = law.last
    if law.sums.falls is not None:
        falls = {"change": "falling", "last": "last_falling"}
        kinds |= {falls[kind]: weights * law.sums.falls for kind, weights in kinds.items()}
    return kinds


def direct_errors(law: TiltedLaw, t: Array) -> dict[str, Array]:
    """Of sums that are added up score by score. t: [rows, nodes]."""
    errors = {"change": change_error(law, np.arange(len(t))[:, None], t)}
    if law.last is not None:
        errors["last"] = law.last_error(np.ones(law.weights.shape), t)
    if law.sums.falls is not None:
        errors["falling"] = law.fall_error(t)
        if law.last is not None:
            errors["last_falling"] = law.last_error(law.sums.falls, t)
    return errors


def characteristic(law: TiltedLaw, step: Array, first: Array) -> Characteristic:
    """At the nodes of blocks with these first ones: [rows, blocks * BLOCK].

    At node first + j, e^(itz) = (1 + a_j)(1 + b), b at the first node of the block: a product of
    two small matrices does it, and a and b are small where the angles are, so nothing cancels.
    """
    scores, weights = law.sums.scores, law.weights

    def turns(place: Array) -> Array:
        angles = (step[:, None] * place)[:, :, None] * scores[:, None, :]
        turn: Array = np.empty(angles.shape, dtype=complex)
        turn.real, turn.imag = turned(angles)
        return turn

    within = np.arange(tuning.BLOCK_NODES)
    a = turns(np.broadcast_to(within, (len(step), tuning.BLOCK_NODES)))
    start, blocks = turns(first), first.shape[1]
    kinds = means(law)
    b = start * weights[:, None, :]
    parts = [b, *((1 + start) * kinds[kind][:, None, :] for kind in kinds if kind != "change")]
    product = _product(np.concatenate([weights[:, None, :], *parts], axis=1), a)
    sums = [
        product[:, 1 + i * blocks : 1 + (i + 1) * blocks] + part.sum(axis=2)[:, :, None]
        for i, part in enumerate(parts)
    ]
    sums[0] = sums[0] + product[:, :1]
    t = step[:, None] * (first[:, :, None] + within).reshape(len(step), -1)
    flat = (part.reshape(len(step), -1) for part in sums)
    return Characteristic.of(dict(zip(kinds, flat, strict=True)), direct_errors(law, t))


def _product(b: Array, a: Array) -> Array:
    """The matrices b, of at least two rows, times the transposed a, in tiles so small that no
    threads are started for them: on a busy machine, waiting for those takes far longer than the
    work. No tile is a vector, for which threads are started earlier."""
    product: Array = np.zeros((len(b), b.shape[1], a.shape[1]), dtype=complex)
    turned = a.transpose(0, 2, 1)
    depth = min(max(tuning.UNTHREADED // (4 * a.shape[1]), 1), b.shape[2])
    side = max(tuning.UNTHREADED // (depth * a.shape[1]), 4)
    for rows in np.array_split(np.arange(b.shape[1]), -(-b.shape[1] // side)):
        tile = slice(rows[0], rows[-1] + 1)
        for j in range(0, b.shape[2], depth):
            product[:, tile] += b[:, tile, j : j + depth] @ turned[:, j : j + depth]
    return product
