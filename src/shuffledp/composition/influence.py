"""How much each loss of a round counts in a composition: an estimate, from coarse outlines.

Splitting or merging the outcomes of a round whose losses lie in a cell of width h around l, with
mass m, changes delta(epsilon) by about m h^2 times the density of the other rounds' sum at
epsilon - l. So what counts is the law of one round's loss given that all losses add up to epsilon.
Of light tails that is the law under the composition's tilt, of heavy ones it is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._support.numeric import Array
from . import tuning
from .pld import PLD
from .tilted_sum import LatticeTooLong, Parts, TiltedSum, log_mgf, tilt_for_delta


def aims_around(log_inverse_delta: float) -> tuple[float, ...]:
    """Steps of a ladder of log(1/delta) below and above a question's, which others share."""
    rung = math.floor(math.log(max(log_inverse_delta, 1.0)) / math.log(max(tuning.RUNG, 1.01)))
    return tuple(max(tuning.RUNG, 1.01) ** step for step in (rung, rung + 1))


def costs(outlines: Parts, aims: Sequence[float]) -> list[Array]:
    """At the losses of each kind of round, what cells of width h around them cost in relative
    epsilon, over h^2 and per unit of loss: the most at deltas with these log(1/delta)."""
    found = [np.zeros(len(pld.index)) for pld, _ in outlines]
    for aim in aims:
        for cost, another in zip(found, _costs_at(outlines, math.exp(-min(aim, 690.0))), strict=True):
            np.maximum(cost, another, out=cost)
    return found


def gaps(pld: PLD) -> Array:
    """How much of the line of losses belongs to each loss of an outline."""
    middle = np.diff(pld.losses) / 2
    return np.append(middle, 0.0) + np.append(0.0, middle)


def _costs_at(outlines: Parts, delta: float) -> list[Array]:
    rounds = sum(count for _, count in outlines)
    # losses so rare count as infinite ones do, and no tilt fits them
    seen = [(_frequent(pld, delta / rounds), count) for pld, count in outlines]
    tilt, epsilon = tilt_for_delta(seen, delta)
    deviation = math.sqrt(log_mgf(seen, 0.0)[2])
    epsilon = max(epsilon, deviation, 1e-300)
    losses, density = _others(seen, tilt, deviation / math.sqrt(rounds))
    found = []
    for pld, count in outlines:
        given = pld.masses * np.interp(epsilon - pld.losses, losses, density, 0.0, 0.0)
        given = given if given.sum() > 0 else pld.masses
        # delta falls by its density over 1 + tilt for each unit of epsilon
        scale = count * (1 + tilt) / (4 * epsilon * given.sum())
        found.append(scale * given / np.maximum(gaps(pld), 1e-300))
    return found


def _frequent(pld: PLD, least: float) -> PLD:
    """Without the largest losses, which have so small a probability together."""
    tail = np.cumsum(pld.masses[::-1])[::-1]
    some = (tail > least) | (pld.index <= 0)
    return replace(pld, index=pld.index[some], masses=pld.masses[some])


def _others(parts: Parts, tilt: float, spread: float) -> tuple[Array, Array]:
    """Losses and about the density of their sum, over all rounds but one."""
    most = max(range(len(parts)), key=lambda i: parts[i][1])
    fewer = [(pld, count - (i == most)) for i, (pld, count) in enumerate(parts)]
    fewer = [part for part in fewer if part[1]] or list(parts)
    step = max(spread, 1e-300) / tuning.PER_SPREAD
    while True:
        try:
            return TiltedSum(_on_lattice(fewer, step), tilt, tuning.SOME_POINTS).density
        except LatticeTooLong:
            step *= 4


def _on_lattice(parts: Parts, step: float) -> Sequence[tuple[PLD, int]]:
    """With every loss at the nearest multiple of a step."""
    found = []
    for pld, count in parts:
        index, place = np.unique(np.rint(pld.losses / step).astype(np.int64), return_inverse=True)
        found.append((PLD(step, index, np.bincount(place, pld.masses), 0.0), count))
    return found
