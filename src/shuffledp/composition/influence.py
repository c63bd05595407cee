"""How much each loss of a round counts in a composition: an estimate, from coarse outlines.

Splitting or merging the outcomes of a round whose losses lie in a cell of width h around l, with
mass m, changes delta(epsilon) by about m h^2 times the density of the other rounds' sum at
epsilon - l. So what counts is the law of one round's loss given that all losses add up to epsilon.
Of light tails that is the law under the composition's tilt, of heavy ones it is not.

Theory: docs/theory/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._support.numeric import Array, Side
from ..profiles import tuning as of_profiles
from . import tuning
from .pld import PLD
from .tilted_sum import (
    CountedPLDs,
    LatticeTooLong,
    TiltedSum,
    infinite_mass,
    log_mgf,
    tilt_for_delta,
    tilt_for_epsilon,
)


def aims_between(outlines: CountedPLDs, least: float, most: float) -> tuple[float, ...]:
    """log(1/delta) for which a lattice is sampled: steps of a ladder that enclose least .. most.

    Questions in the same step share a lattice. Where epsilon changes much within one step, because
    a rare large loss decides it, the lattice is for `most` alone.
    """
    factor = max(tuning.RUNG, 1.01)
    first, last = (math.floor(math.log(max(x, 1.0)) / math.log(factor)) for x in (least, most))
    steps = tuple(factor**step for step in range(first, last + 2))
    if first == last and _heavy(outlines, steps[1]):
        return (most,)
    return steps


def _heavy(outlines: CountedPLDs, aim: float) -> bool:
    """Does epsilon change much from one step of the ladder of log(1/delta) to this one?"""
    below, above = (_around(outlines, x).epsilon for x in (aim / max(tuning.RUNG, 1.01), aim))
    return above > 1.3 * below  # light tails have 1.07


def log_inverse_delta(outlines: CountedPLDs, epsilon: float) -> float:
    """About log(1/delta) at an epsilon, by the losses that count at the delta that was found
    before: rarer ones, which may not even be resolved, would spoil the tilt."""
    rounds, seen_at = sum(count for _, count in outlines), of_profiles.DEPTHS[-1]
    spread = math.sqrt(log_mgf(outlines, 0.0)[2] / rounds)
    for _ in range(10):
        seen = _seen(outlines, math.exp(-seen_at))
        total = _sum(seen, tilt_for_epsilon(seen, epsilon), spread)
        delta = total.delta(epsilon, Side.UPPER)
        found = -math.log(min(max(delta + infinite_mass(outlines), 1e-300), 1.0))
        if total.delta(epsilon, Side.LOWER) < delta / 2 and seen_at > 1:
            seen_at /= 2  # no tilt fits
        elif found < seen_at:
            seen_at = found
        else:
            break
    return found


class Costs(NamedTuple):
    """What cells of width h around some losses of a round cost, over h^2 and for each unit of
    loss, in relative epsilon."""

    losses: Array
    cost: Array


def costs(outlines: CountedPLDs, aims: Sequence[float]) -> list[Costs]:
    """Of each kind of round, the most at deltas with these log(1/delta)."""
    finer = [(_finer(pld), count) for pld, count in outlines]
    found = [np.zeros(len(pld.index)) for pld, _ in finer]
    for aim in aims:
        for cost, another in zip(found, _costs_at(finer, aim), strict=True):
            np.maximum(cost, another, out=cost)
    return [Costs(pld.losses, cost) for (pld, _), cost in zip(finer, found, strict=True)]


def _finer(pld: PLD) -> PLD:
    """An outline with losses between its own, and their masses as if these had a density."""
    density, number = pld.masses / _gaps(pld), len(pld.index)
    place = np.linspace(0, number - 1, (number - 1) * 6 + 1)
    own = np.arange(number)
    index = np.rint(np.interp(place, own, pld.index)).astype(np.int64)
    index, first = np.unique(index, return_index=True)
    finer = replace(pld, index=index, masses=np.ones(len(index)))
    masses = np.exp(np.interp(place[first], own, np.log(density + 1e-300))) * _gaps(finer)
    return replace(finer, masses=masses * (pld.masses.sum() / masses.sum()))


def _gaps(pld: PLD) -> Array:
    """How much of the line of losses belongs to each."""
    middle = np.diff(pld.losses) / 2
    gaps: Array = np.append(middle, 0.0) + np.append(0.0, middle)
    return np.maximum(gaps, 1e-300)


class _Around(NamedTuple):
    """The rounds without losses that do not count at a delta, and the tilt that makes its epsilon
    usual; the root mean square loss of a round."""

    seen: CountedPLDs
    tilt: float
    spread: float
    epsilon: float


def _around(outlines: CountedPLDs, aim: float) -> _Around:
    delta = math.exp(-min(aim, 690.0))
    seen = _seen(outlines, delta)
    tilt, deviation = tilt_for_delta(seen, delta)[0], math.sqrt(log_mgf(seen, 0.0)[2])
    spread = deviation / math.sqrt(sum(count for _, count in outlines))
    epsilon = max(_sum(seen, tilt, spread).estimated_epsilon(delta), deviation, 1e-300)
    return _Around(seen, tilt, spread, epsilon)


def _costs_at(outlines: CountedPLDs, aim: float) -> list[Array]:
    rounds = sum(count for _, count in outlines)
    seen, tilt, spread, epsilon = _around(outlines, aim)
    unsure = 0.03 * epsilon  # about how well an outline tells epsilon
    if unsure <= spread * math.sqrt(rounds) or not _heavy(outlines, aim):
        unsure = 0.0
    few = rounds <= 8  # of many, one more or less makes no difference
    common = max(range(len(seen)), key=lambda i: seen[i][1])
    found: list[Array] = []
    for i, (pld, count) in enumerate(outlines):
        if few or i == 0:
            one = i if few else common
            fewer = [(each, number - (j == one)) for j, (each, number) in enumerate(seen)]
            sums, density = _sum([part for part in fewer if part[1]] or seen, tilt, spread).density
            falls = _falls(sums, density)
            if unsure and len(sums) > 1:
                density = _widened(density, int(min(unsure / (sums[1] - sums[0]), len(sums))))
        at_sums = epsilon - pld.losses
        given = pld.masses * np.interp(at_sums, sums, density, 0.0, 0.0)
        slope = float(pld.masses @ np.interp(at_sums, sums, falls, 0.0, 0.0))
        if not (given.any() and np.isfinite(given).all() and slope > 1e-200):  # no tilt fits
            given, slope = pld.masses, 1 / (1 + tilt)
        with np.errstate(over="ignore"):
            cost = count / max(4 * epsilon * slope, 1e-250) * (given / _gaps(pld))
        found.append(np.minimum(cost, 1e250))
    return found


def _falls(losses: Array, density: Array) -> Array:
    """How fast delta of a sum with this density falls: the mean of e^(epsilon - loss) over the
    losses above epsilon, each of them in turn."""
    step = float(losses[1] - losses[0]) if len(losses) > 1 else 1.0
    found, after, block = np.empty(len(losses)), 0.0, max(1, int(300 / step))
    for end in range(len(losses), 0, -block):
        part = slice(max(end - block, 0), end)
        left = np.exp(losses[part] - losses[part][0])
        sums = np.cumsum((density[part] * step / left)[::-1])[::-1]
        found[part] = (sums + after / (left[-1] * math.exp(step))) * left
        after = float(found[part][0])
    return found


def _widened(density: Array, reach: int) -> Array:
    """The largest of the values around each, so many on either side: epsilon is not known well."""
    done = 0
    while done < reach:
        shift = min(done + 1, reach - done)
        padded = np.pad(density, shift)
        density = np.maximum(density, np.maximum(padded[: -2 * shift], padded[2 * shift :]))
        done += shift
    return density


def _seen(outlines: CountedPLDs, delta: float) -> CountedPLDs:
    """Without losses so rare that they do not count at delta: they would only spoil the tilt."""
    rounds = sum(count for _, count in outlines)
    return [(_frequent(pld, 0.01 * delta / rounds), count) for pld, count in outlines]


def _frequent(pld: PLD, least: float) -> PLD:
    """Without the largest losses, which have so small a probability together."""
    tail = np.cumsum(pld.masses[::-1])[::-1]
    some = (tail > least) | (pld.index <= 0)
    return replace(pld, index=pld.index[some], masses=pld.masses[some])


def _sum(parts: CountedPLDs, tilt: float, spread: float) -> TiltedSum:
    """About the sum of the losses, of which one has this root mean square, on a coarse lattice."""
    largest = max(float(np.abs(pld.losses).max()) for pld, _ in parts)
    step = max(spread / 8, 1e-12 * largest, 1e-300)
    while True:
        try:
            return TiltedSum(_on_lattice(parts, step), tilt, 1 << 14)  # a millisecond
        except LatticeTooLong:
            step *= 4


def _on_lattice(parts: CountedPLDs, step: float) -> Sequence[tuple[PLD, int]]:
    """With every loss at the nearest multiple of a step."""
    found = []
    for pld, count in parts:
        index, place = np.unique(np.rint(pld.losses / step).astype(np.int64), return_inverse=True)
        found.append((PLD(step, index, np.bincount(place, pld.masses).astype(float), 0.0), count))
    return found
