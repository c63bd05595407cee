"""Figure 4: the shuffled Gaussian, sigma = 2, by Monte Carlo, on the sorted grid, and exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..binomial import Array
from .gaussian_shuffle import CUBE, Estimate, monte_carlo, on_sorted_grid
from .result import Curve, Panel, Result, Settings, progress

SIGMA = 2.0
CUBE_METHOD, GRID_METHOD = "Monte Carlo on the cube (99.9 % band)", "regular grid, m^n/n! points"
#: Points in each dimension of the regular grid.
POINTS = {1: 4000, 2: 800, 3: 160, 4: 60}


def run(settings: Settings) -> Result:
    epsilons = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0] if settings.quick else np.linspace(0, 1, 11))
    curves, rows = [], []
    for users in range(1, 8):
        estimate = _estimate(users, epsilons, settings, "cube")
        low, high = estimate.band()
        x = epsilons.tolist()
        curves.append(
            Curve(
                CUBE_METHOD, x, estimate.mean.tolist(), f"n = {users}", low.tolist(), high.tolist()
            )
        )
        row = {"users": users, "epsilon": x, "mean": estimate.mean, "error": estimate.error}
        drawn = _estimate(users, epsilons, settings, "law")
        row |= {"law_mean": drawn.mean, "law_error": drawn.error}
        if users in POINTS:
            points = POINTS[users] // (2 if settings.quick and users > 2 else 1)
            values, evaluations = on_sorted_grid(users, SIGMA, epsilons, points)
            curves.append(Curve(GRID_METHOD, x, values.tolist()))
            row |= {"grid": values, "grid_points": points, "grid_evaluations": evaluations}
        rows.append(row)
    panels = [Panel("n = 1 ... 7, as in the paper", "epsilon", "delta", curves, ylim=(1e-7, 0.5))]
    return Result(
        "fig4",
        f"Figure 4. Shuffled Gaussian, sigma = {SIGMA:g}: H(M(X') || M(X)), X = 0, X' = e_1",
        f"{settings.draws:,} samples on [-{CUBE * SIGMA:g}, {CUBE * SIGMA:g}]^n, seed "
        f"{settings.seed}; replace-one.",
        {"sigma": SIGMA, "samples": settings.draws, "seed": settings.seed, "cube": CUBE * SIGMA},
        panels,
        {"rows": rows},
    )


def _estimate(users: int, epsilons: Array, settings: Settings, where: str) -> Estimate:
    samples = settings.draws if where == "cube" else max(settings.draws // 10, 1)
    chunks = monte_carlo(users, SIGMA, epsilons, samples, settings.seed, where)
    last: Sequence[Estimate | None] = [
        *progress(chunks, samples // (1 << 18) + 2, f"Monte Carlo, n={users}, {where}")
    ]
    assert last[-1] is not None
    return last[-1]
