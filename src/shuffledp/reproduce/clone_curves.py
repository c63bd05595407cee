"""delta(epsilon) of clone pairs by the paper's accountant and by the certified engine, compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support.numeric import Array
from . import ours
from .fourier_accountant import GridPLD, LossGrid
from .printed_laws import ClonePair
from .result import CLONES, PAPER, PAPER_STRONGER, STRONGER, Curve, Settings, table

TAU = 1e-12
METHODS = {"clones": (PAPER, CLONES), "stronger-clones": (PAPER_STRONGER, STRONGER)}


def paper_bracket(
    pair: ClonePair, grid: LossGrid, rounds: Sequence[int], epsilons: Array
) -> dict[int, tuple[Array, Array, Array]]:
    """What the paper's accountant proves of delta: masses moved left and right, all charged.

    For every number of rounds the value that the paper plots, and below and above it a bound.
    """
    sides = ("left", "right")
    plds = {side: GridPLD.of(pair.atoms(), pair.infinite, grid, side) for side in sides}
    brackets = {}
    for k in rounds:
        left, right = plds["left"].compose(k), plds["right"].compose(k)
        # only what is neglected is at infinity, and it may lie anywhere: none of it counts below
        low = left.delta(epsilons) - left.infinite - left.periodisation - left.rounding
        value = right.delta(epsilons)
        high = value + right.periodisation + right.rounding
        brackets[k] = value, np.maximum(low, 0.0), high
    return brackets


def compare(
    users: int,
    eps0: float,
    rounds: Sequence[int],
    epsilons: Array,
    grid: LossGrid,
    analysis: str,
    settings: Settings,
) -> tuple[list[Curve], list[dict[str, Any]]]:
    """Curves of both, and one row for each point: do the two brackets meet?"""
    paper_method, our_method = METHODS[analysis]
    pair = ClonePair(users, eps0, analysis, TAU)
    curves, rows = [], []
    for k, (value, low, high) in paper_bracket(pair, grid, rounds, epsilons).items():
        curves.append(settings.curve(paper_method, epsilons, value, f"n_c = {k}", low, high))
        mine = ours.clones(users, eps0, analysis, k).delta_bounds(epsilons, rtol=settings.width)
        curves.append(settings.curve(our_method, epsilons, mine.upper, f"n_c = {k}", *mine))
        columns: dict[str, Any] = {"epsilon": epsilons, "paper": value}
        columns |= {"paper_low": low, "paper_high": high}
        columns |= {"ours_lower": mine.lower, "ours_upper": mine.upper}
        columns["agree"] = (mine.lower <= high) & (low <= mine.upper)
        rows += table(columns, analysis=analysis, users=users, rounds=k)
    return curves, rows
