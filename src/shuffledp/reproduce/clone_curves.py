"""delta(epsilon) of clone pairs by the paper's accountant and by the certified engine, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.numeric import Array
from . import ours
from .clone_pld import ClonePair
from .fourier_accountant import Grid, GridPLD
from .result import CLONES, PAPER, PAPER_STRONGER, STRONGER, Curve, progress

TAU = 1e-12
METHODS = {"clones": (PAPER, CLONES), "stronger-clones": (PAPER_STRONGER, STRONGER)}


@dataclass(frozen=True)
class Bracket:
    """What the paper's accountant proves of delta: masses moved left and right, all charged."""

    right: Array  # the value that the paper plots
    low: Array
    high: Array


def paper_bracket(
    pair: ClonePair, grid: Grid, rounds: Sequence[int], epsilons: Array
) -> dict[int, Bracket]:
    """For every number of rounds, with one PLD for each side."""
    plds = {
        side: GridPLD.of(
            progress(pair.atoms(), sum(1 for _ in pair.windows()), f"PLD, {side}, n={pair.users}"),
            pair.infinite,
            grid,
            side,
        )
        for side in ("left", "right")
    }
    brackets = {}
    for k in rounds:
        left, right = plds["left"].compose(k), plds["right"].compose(k)
        # only what is neglected is at infinity, and it may lie anywhere: none of it counts below
        low = left.delta(epsilons) - left.infinite - left.periodisation - left.rounding
        value = right.delta(epsilons)
        high = value + right.periodisation + right.rounding
        brackets[k] = Bracket(value, np.maximum(low, 0.0), high)
    return brackets


def compare(
    users: int, eps0: float, rounds: Sequence[int], epsilons: Array, grid: Grid, analysis: str
) -> tuple[list[Curve], list[dict[str, Any]]]:
    """Curves of both, and one row for each point: do the two brackets meet?"""
    paper_method, our_method = METHODS[analysis]
    pair = ClonePair(users, eps0, analysis, TAU)
    brackets = paper_bracket(pair, grid, rounds, epsilons)
    curves, rows = [], []
    for k in rounds:
        b = brackets[k]
        mine = ours.clone_delta(users, eps0, analysis, k, epsilons)
        x = epsilons.tolist()
        curves.append(Curve(paper_method, x, b.right.tolist(), "", b.low.tolist(), b.high.tolist()))
        curves.append(
            Curve(
                our_method, x, mine.upper.tolist(), f"n_c = {k}",
                mine.lower.tolist(), mine.upper.tolist(),
            )
        )  # fmt: skip
        for i, epsilon in enumerate(x):
            rows.append(
                {
                    "analysis": analysis,
                    "users": users,
                    "rounds": k,
                    "epsilon": epsilon,
                    "paper": float(b.right[i]),
                    "paper_low": float(b.low[i]),
                    "paper_high": float(b.high[i]),
                    "ours_lower": float(mine.lower[i]),
                    "ours_upper": float(mine.upper[i]),
                    "agree": bool(mine.lower[i] <= b.high[i] and b.low[i] <= mine.upper[i]),
                }
            )
    return curves, rows
