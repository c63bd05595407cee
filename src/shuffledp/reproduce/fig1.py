"""Figure 1: delta(epsilon) of general eps0-LDP shufflers, n = 10^4, eps0 = 4, n_c = 1 .. 4."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.numeric import Array
from ..published import feldman2021
from .clone_curves import TAU, compare
from .fourier_accountant import LossGrid
from .result import Curve, Panel, Result, Settings

USERS, EPS0, ROUNDS, WIDTH = 10_000, 4.0, (1, 2, 3, 4), 20.0
FLOOR = 1e-14  # below tau, where the paper's curves turn flat
#: Analyses, their titles, and the largest epsilon.
ANALYSES = (
    ("clones", "the paper's pair (clones)", 2.0),
    ("stronger-clones", "the sharper pair (stronger clones)", 1.5),
)


def count_curves(settings: Settings) -> int:
    return len(ANALYSES) * 2 * len(_rounds(settings)) + 1


def _rounds(settings: Settings) -> tuple[int, ...]:
    return (1, 4) if settings.quick else ROUNDS


def run(settings: Settings) -> Result:
    grid = LossGrid(WIDTH, settings.points)
    panels: list[Panel] = []
    rows: list[dict[str, Any]] = []
    rounds = _rounds(settings)
    for analysis, title, reach in ANALYSES:
        # 0.405 and 1.0 are always among the epsilons
        many = np.append(np.linspace(0.0, reach, 5 if settings.quick else 41), [0.405, 1.0])
        epsilons: Array = np.unique(np.round(many, 6)).astype(np.float64)
        curves, agreement = compare(USERS, EPS0, rounds, epsilons, grid, analysis, settings)
        if analysis == "clones":
            curves.append(_feldman(settings))
        panels.append(Panel(title, "epsilon", "delta", curves, ylim=(FLOOR, 1.0)))
        rows += agreement
    return Result(
        "fig1",
        f"Figure 1. Shuffled eps0-LDP randomizers: n = {USERS:,}, eps0 = {EPS0:g}, "
        "n_c adaptive rounds, replace-one",
        f"Fourier accountant: L = {WIDTH:g}, m = {grid.points:,}, tau = {TAU:g}; its band is the "
        "left and right placement with all charges.",
        {"users": USERS, "eps0": EPS0, "rounds": rounds, "L": WIDTH, "m": grid.points, "tau": TAU},
        panels,
        {"agreement": rows},
    )


def _feldman(settings: Settings) -> Curve:
    """Their numerical method bounds one round: epsilon at each delta."""
    deltas = np.geomspace(1e-2, FLOOR, 7 if settings.quick else 25).tolist()
    epsilons = [feldman2021.upper_numerical(EPS0, USERS, delta) for delta in deltas]
    return settings.curve("Feldman et al. 2021, numerical", epsilons, deltas)
