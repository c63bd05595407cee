"""Figure 1: delta(epsilon) of general eps0-LDP shufflers, n = 10^4, eps0 = 4, n_c = 1 .. 4."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..binomial import Array
from .clone_curves import TAU, compare
from .fourier_accountant import Grid
from .result import Panel, Result, Settings

USERS, EPS0, ROUNDS, WIDTH = 10_000, 4.0, (1, 2, 3, 4), 20.0
FLOOR = 1e-11


def run(settings: Settings) -> Result:
    # 0.405 and 1.0 are among the epsilons in both settings
    many = np.concatenate((np.linspace(0.0, 2.0, 9 if settings.quick else 41), [0.405]))
    epsilons: Array = np.unique(np.round(many, 6)).astype(np.float64)
    grid = Grid(WIDTH, settings.points)
    panels: list[Panel] = []
    rows: list[dict[str, Any]] = []
    for analysis, title in (
        ("clones", "the paper's pair (clones)"),
        ("stronger-clones", "the attained pair (stronger clones)"),
    ):
        curves, agreement = compare(USERS, EPS0, ROUNDS, epsilons, grid, analysis)
        panels.append(Panel(title, "epsilon", "delta", curves, ylim=(FLOOR, 1.0)))
        rows += agreement
    return Result(
        "fig1",
        f"Figure 1. Shuffled eps0-LDP randomizers: n = {USERS:,}, eps0 = {EPS0:g}, "
        "n_c adaptive rounds, replace-one",
        f"Fourier accountant: L = {WIDTH:g}, m = {grid.points:,}, tau = {TAU:g}; its band is the "
        "left and right placement with all charges.",
        {"users": USERS, "eps0": EPS0, "rounds": ROUNDS, "L": WIDTH, "m": grid.points, "tau": TAU},
        panels,
        {"agreement": rows},
    )
