"""The Fourier integral as a sum over nodes, with a bound of everything that is left out or rounded.

docs/theory.md ("Any score law") has the proof.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import UNIT, Array
from . import tuning
from .gridded import gridded, lively_nodes
from .nodes import Blocks, Characteristic, Missing, Nodes, characteristic, lively_blocks, turned
from .tilted_law import TiltedLaw


def of_few_values(law: TiltedLaw, nodes: Nodes, cut: Array, last: bool) -> tuple[Array, Array]:
    """The node sums of every row and their errors, [5, rows], as _node_sums; and how many times too
    far the nodes of a row go, which is then evaluated at `last` only.

    By products of matrices, at the blocks of nodes that matter; rows with similar numbers of these
    are evaluated together.
    """
    found, order = np.zeros((5, len(law.theta))), np.argsort(nodes.number)
    share, size, values = np.ones(len(order)), tuning.BLOCK_NODES, law.sums.scores.shape[1]
    while len(order):
        together = max(1, tuning.LOOKED * size // int(nodes.number[order[-1]] + size))
        rows, order = np.sort(order[-together:]), order[:-together]
        part, rule = law.rows(rows), Nodes(nodes.step[rows], nodes.number[rows])
        missing = Missing(part, rule)
        blocks, decay = lively_blocks(part, rule, cut[rows], missing)
        rank = blocks.rank
        kept = rank < tuning.MOST_BLOCKS
        if not kept.all():
            too_far = blocks.where(rank == tuning.MOST_BLOCKS)
            share[rows[too_far.row]] = rule.number[too_far.row] / too_far.first
            missing.add(blocks.where(~kept), size, decay[~kept])
            kept &= last | (share[rows[blocks.row]] == 1)
        found[3, rows] += missing.value
        found[4, rows] += missing.slope * part.most_fall
        row, first, rank = blocks.row[kept], blocks.first[kept], rank[kept]
        counts = np.bincount(row, minlength=len(rows))
        left = np.argsort(counts)
        while len(left):
            most = max(int(counts[left[-1]]), 1)
            cost = most * size + (size + 3 * most) * values // 8
            together = max(1, tuning.PAIRS // cost)
            some, left = np.sort(left[-together:]), left[:-together]
            place = np.full(len(rows), -1)
            place[some] = np.arange(len(some))
            mine = place[row] >= 0
            starts = np.full((len(some), most), -1)
            starts[place[row[mine]], rank[mine]] = first[mine]
            index = (starts[:, :, None] + np.arange(size)).reshape(len(some), -1)
            index[np.repeat(starts < 0, size, axis=1)] = -1
            chosen, step = part.rows(some), rule.step[some]
            at = characteristic(chosen, step, np.maximum(starts, 0))
            found[:, rows[some]] += _node_sums(chosen, step, index, at)
    return found, share


def of_many_values(law: TiltedLaw, nodes: Nodes, cut: Array, last: bool) -> tuple[Array, Array]:
    """The same by transforms, at all nodes up to the last one that matters."""
    missing = Missing(law, nodes)
    number, most = lively_nodes(law, nodes, cut, missing), max(tuning.MAX_NODES, 1)
    share = np.where(number > most, nodes.number / most, 1.0)  # noise ends where nodes do
    found, order = np.zeros((5, len(number))), np.argsort(number)
    if last:  # what is left out may be as large as it can
        left = np.maximum(number - most, 0)
        missing.add(Blocks(np.arange(len(left)), number - left), left, np.zeros(len(left)))
        number = number - left
    else:
        order = order[share[order] == 1]
    while len(order):
        count = int(number[order[-1]])
        together = max(1, tuning.PAIRS // count)
        rows, order = order[-together:], order[:-together]
        part, step = law.rows(rows), nodes.step[rows]
        index = np.where(np.arange(count) < number[rows][:, None], np.arange(count), -1)
        found[:, rows] = _node_sums(part, step, index, gridded(part, step, count))
    found[3:] += missing.value, missing.slope * law.most_fall
    return found, share


def _node_sums(
    law: TiltedLaw, step: Array, index: NDArray[np.integer], at: Characteristic
) -> Array:
    """Trapezoidal sums of 1/w^2, of 1 and of the slope, in units of the scale; then the errors of
    the first two together, and of the slope. index: [rows, nodes], -1 for none.
    """
    users, held = float(law.sums.users), law.sums.threshold[:, None]
    theta, tau = law.theta[:, None], law.tau[:, None]
    t = step[:, None] * np.maximum(index, 0)
    twice = np.where(index == 0, 1.0, 2.0) * (index >= 0) * step[:, None] / (2 * math.pi)
    change, size, last, last_error = at.change, at.change_error, at.last, at.last_error
    real, imag = change.real, change.imag
    square = np.maximum(2 * real + real**2 + imag**2, -1.0)  # |E~ e^(itz)|^2 - 1
    far, log_far = np.sqrt(1 + square), np.log1p(square) / 2
    angle, drift = np.arctan2(imag, 1 + real), tau**2 * theta * t
    phase = (users - 1) * angle - held * t + drift
    others = np.exp((users - 1) * log_far - (tau * t) ** 2 / 2) * twice
    less, sine = turned(phase)
    base = others * (1 + less) + 1j * (others * sine)
    values, size_of_w = base * (1 + change) * last, theta**2 + t**2  # w = theta + it
    # the relative error of logarithm and phase; then of the change itself
    exponent = 16 * UNIT * (users * (np.abs(angle) - log_far) + 2 * held * t + drift + 8)
    exponent += users * size / np.maximum(far**2 - size, 1e-300)
    # where that is too much, nothing, and all that a term can be is charged
    unsure = ~((exponent < 0.5) & (size < 0.25))
    grown = np.expm1(np.minimum(exponent, 0.5))
    charge = others * far * (np.abs(last) * grown + 2 * last_error)
    at_most = np.zeros(t.shape)
    if unsure.any():
        largest = np.log(np.fmin(far + size + 16 * UNIT, 1.0))
        at_most = 2 * twice * np.exp((users - 1) * largest - (tau * t) ** 2 / 2) * (1 + 1e-9)
        charge, values = np.where(unsure, at_most, charge), np.where(unsure, 0.0, values)
    found = np.zeros((5, len(step)))
    along, across = values.real.copy(), values.imag.copy()
    found[0] = np.sum((along * (theta**2 - t**2) + across * (2 * theta * t)) / size_of_w**2, axis=1)
    found[1] = np.sum(along, axis=1)
    found[3] = np.sum(charge * (1 / size_of_w + tau**2), axis=1)
    if law.sums.falls is not None:
        fall = law.sums.held * (1 + change) + users * at.falling
        falls = fall * last + (1 + change) * at.last_falling
        err = users * at.falling_error + law.sums.held * size
        err += law.most_fall[:, None] * last_error + at.last_falling_error
        err += law.of_last(law.sums.slopes)[:, None] * size
        charge = others * (np.abs(falls) * grown + 2 * err)
        charge = np.where(unsure, at_most * law.most_fall[:, None], charge)
        falls *= base
        slope = (falls.real * theta + falls.imag * t) / size_of_w
        found[2] = np.sum(np.where(unsure, 0.0, slope), axis=1)
        found[4] = np.sum(charge / np.sqrt(size_of_w), axis=1)
    return found
