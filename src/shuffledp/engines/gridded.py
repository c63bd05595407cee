"""The characteristic function of many scores at many nodes, by fast Fourier transforms.

A sum of p e^(itz) over K scores at N nodes, equally far apart, takes K N multiplications. Instead
each score is spread over the points of a grid near it, by a Gaussian bell; the transform of the
grid, divided by that of the bell, is the sum, up to what the bell has beyond the points that it was
spread over and beyond the frequencies of the grid: both are known in closed form. Scores that turn
by a radian at most at the last node need no grid: their power series does.
docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from .._support.transforms import round_up, transform_error
from . import tuning
from .nodes import (
    Blocks,
    Characteristic,
    Missing,
    Nodes,
    Usual,
    change_error,
    direct_errors,
    means,
    usual_part,
)
from .tilted_law import MORE, TiltedLaw

# proof constants: docs/theory.md, "Constants"
_TERMS = 18  # of the power series of e^x for |x| <= 1: what is left out is below 2 u |x|
_SPREAD = 64  # units: bells, their places and their weights, beside sums of as many scores


class Grid(NamedTuple):
    """Points in a period, and the nodes whose frequencies are asked for."""

    points: int
    nodes: int

    @classmethod
    def of(cls, nodes: int) -> Grid:
        return cls(round_up(max(tuning.OVERSAMPLING, 2.5) * nodes), nodes)

    @property
    def bell(self) -> Array:
        """One over the transform of a bell at each node."""
        turn = math.sqrt(2) * math.pi * _width() * np.arange(self.nodes) / self.points
        whole: Array = np.exp(turn**2) / (_width() * math.sqrt(2 * math.pi))
        return whole

    def error(self, values: int) -> float:
        """Of every node, over the sum of the weights: rounding, which grows by the largest of the
        factors; frequencies that the grid cannot tell apart; points beyond those of a bell."""
        width, share = _width(), self.nodes / self.points
        factor, reach = math.exp(2 * (math.pi * width * share) ** 2), _reach()
        next_one = math.exp(-2 * (math.pi * width) ** 2 * (1 - 2 * share))
        alias = 2 * next_one / (1 - next_one)
        rounding = factor * (transform_error(self.points) + (_SPREAD + values) * UNIT)
        left_out = 2 * math.exp(-((reach / width) ** 2) / 2) / -math.expm1(-reach / width**2)
        left_out *= factor / (width * math.sqrt(2 * math.pi))
        return 1.1 * (rounding * (1 + alias) + alias + left_out)


def _width() -> float:
    """Deviation of a bell, in points: more than these would leave the range of a double."""
    return min(max(tuning.BELL, 0.1), 8.0)


def _reach() -> int:
    """Points of a bell on either side of a score."""
    return max(int(tuning.BELL_REACH), 1)


def gridded(law: TiltedLaw, step: Array, nodes: int) -> Characteristic:
    """At the first nodes, 0, step, 2 step, ..., of each row."""
    kinds = means(law)
    each = np.stack(list(kinds.values()))  # [kinds, rows, values]
    sums, spread = changes(each, law.sums.scores, step, nodes)
    sums[1:] += each[1:].sum(axis=2)[:, :, None]
    errors = direct_errors(law, step[:, None] * np.arange(nodes))
    for kind, error in zip(kinds, spread, strict=True):
        errors[kind] += error[:, None]
    return Characteristic.of(dict(zip(kinds, sums, strict=True)), errors)


def changes(weights: Array, scores: Array, step: Array, nodes: int) -> tuple[Array, Array]:
    """Sums of weights, [kinds, rows, values], times e^(itz) - 1 at the first nodes: [kinds, rows,
    nodes]. And what spreading adds to the errors of sums term by term, [kinds, rows]."""
    grid, t = Grid.of(nodes), step[:, None] * np.arange(nodes)
    far = np.abs(scores) * (step * nodes)[:, None] > 1
    large = np.sum(np.where(far, weights, 0.0), axis=2)
    sums = _near(np.where(far, 0.0, weights), scores, t)
    sums += _far(weights, scores, far, step, grid) - large[:, :, None]
    return sums, grid.error(scores.shape[1]) * large


def lively_nodes(law: TiltedLaw, nodes: Nodes, cut: Array, missing: Missing) -> NDArray[np.intp]:
    """How many nodes of each row there are up to the last at which the integrand may exceed e^-cut
    of the scale: by d, as for lively_blocks, in the middle of blocks of equal size.

    Where scores turn as if independent of each other, d is nearly as large as it can be, and of
    many users that is nearly everywhere: so first by blocks as large as they may be there.
    """
    usual, others = usual_part(law), float(law.sums.users - 1)
    spread = np.sqrt(others * np.sum(usual.weights * usual.scores**2, axis=1)) * MORE
    still = usual.total - usual.weights.sum(axis=1)
    usually = usual.total**2 - still**2 - np.sum(usual.weights**2, axis=1)  # d^2
    room = np.sqrt(others * np.maximum(usually, 0.0)) - np.sqrt(2 * cut)
    number = nodes.number
    with np.errstate(divide="ignore", invalid="ignore"):
        small, large = (
            np.clip(2 * half / (spread * nodes.step), 1, number)
            for half in (tuning.HALF_BLOCK, tuning.LARGE_BLOCK * room)
        )
    every = np.arange(len(number))
    for rows, size in ((np.flatnonzero(large > tuning.WORTH * small), large), (every, small)):
        size = np.where(np.isfinite(size), size, 1).astype(np.intp)
        up_to = Nodes(nodes.step, number)
        number = _last_lively(law, usual, spread, up_to, size, cut, rows, missing)
        number = np.minimum(number, nodes.number + 1)  # what is beyond is charged as such
    return number


def _last_lively(
    law: TiltedLaw,
    usual: Usual,
    spread: Array,
    nodes: Nodes,
    size: NDArray[np.intp],
    cut: Array,
    rows: NDArray[np.intp],
    missing: Missing,
) -> NDArray[np.intp]:
    """The same by blocks of `size` nodes, of some rows."""
    number, others = nodes.number.copy(), float(law.sums.users - 1)
    blocks = number // size + 2
    order = rows[np.argsort(blocks[rows])]
    while len(order):
        together = max(1, tuning.PAIRS // int(blocks[order[-1]]))
        rows, order = order[-together:], order[:-together]
        most, total = int(blocks[rows].max()), usual.total[rows][:, None]
        each, step = size[rows], nodes.step[rows] * size[rows]
        (change,), (error,) = changes(usual.weights[rows][None], usual.scores[rows], step, most)
        away = -2 * total * change.real - change.real**2 - change.imag**2
        t = step[:, None] * np.arange(most)
        away -= 4 * (change_error(law, rows[:, None], t) + error[:, None])
        apart = np.sqrt(others * np.maximum(away, 0.0)) - (spread[rows] * step / 2)[:, None]
        decay = np.maximum(apart, 0.0) ** 2 / 2
        used = np.arange(most) < blocks[rows][:, None]
        last = np.where(used & ~(decay > cut[rows][:, None]), np.arange(most), 0).max(axis=1)
        number[rows] = last * each + each // 2 + 1
        row, block = np.nonzero(used & (np.arange(most) > last[:, None]))
        first = block * each[row] - each[row] // 2
        missing.add(Blocks(rows[row], first), each[row] + 1, decay[row, block])
    return number


def _near(weights: Array, scores: Array, t: Array) -> Array:
    """Sums of weights times e^(itz) - 1, by the power series: [kinds, rows, nodes]."""
    size = np.abs(np.where(weights.any(axis=0), scores, 0.0)).max(axis=1, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    x, unit = scores / size[:, None], t * size[:, None]
    square = -(unit**2)
    powers, moments = x.copy(), []
    for term in range(1, _TERMS):
        moments.append(np.sum(weights * powers, axis=2) / math.factorial(term))
        powers *= x
    found = np.zeros((len(weights), *t.shape), dtype=complex)
    for odd, part in ((1, found.imag), (0, found.real)):
        for moment in moments[1 - odd :: 2][::-1]:
            part *= square
            part += moment[:, :, None]
        part *= unit if odd else square
    return found


def _far(weights: Array, scores: Array, far: NDArray[np.bool_], step: Array, grid: Grid) -> Array:
    """Sums of weights times e^(itz) over the scores that are far, by transforms."""
    kinds, rows = weights.shape[:2]
    row, value = np.nonzero(far & weights.any(axis=0))
    if not len(row):
        return np.zeros((kinds, rows, grid.nodes), dtype=complex)
    finite = np.where(np.isfinite(step), step, 0.0)  # else nothing will be made of the row
    place = scores[row, value] * (finite * (grid.points / (2 * math.pi)))[row]
    near, around = np.floor(place), np.arange(1 - _reach(), _reach() + 1)
    bells = np.exp(((around - (place - near)[:, None]) / _width()) ** 2 / -2)
    index = ((near % grid.points).astype(np.intp)[:, None] + around) % grid.points
    index += grid.points * row[:, None]
    laid = [
        np.bincount(index.ravel(), (bells * kind[row, value, None]).ravel(), rows * grid.points)
        for kind in weights
    ]
    spectra = np.fft.rfft(np.reshape(laid, (kinds, rows, grid.points)))
    return np.asarray(spectra[:, :, : grid.nodes].conj() * grid.bell)
