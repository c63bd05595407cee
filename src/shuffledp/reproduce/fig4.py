"""Figure 4: the shuffled Gaussian, sigma = 2, by Monte Carlo, on the sorted grid, and exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._support.numeric import Array
from ..randomizers import Gaussian
from . import gaussian_shuffle, ours
from .gaussian_shuffle import CUBE
from .result import Curve, Panel, Result, Settings

SIGMA = 2.0
CUBE_METHOD, GRID_METHOD = "Monte Carlo on the cube (99.9 % band)", "regular grid, m^n/n! points"
PLAIN_METHOD = "one-dimensional, plain FFT"
EXACT_METHOD = "one-dimensional, certified (ours)"
#: Points in each dimension of the regular grid.
POINTS = {1: 4000, 2: 800, 3: 160, 4: 60}
FEW, MANY = range(1, 8), [10**digits for digits in range(1, 7)]


def count_curves(settings: Settings) -> int:
    return 3 * len(FEW) + len(POINTS) + 2 * len(MANY)


def run(settings: Settings) -> Result:
    epsilons = np.linspace(0, 1, 6 if settings.quick else 11)
    curves: list[Curve] = []
    rows = []
    for users in FEW:
        more, row = _small(users, epsilons, settings)
        curves += more
        rows.append(row)
    panels = [Panel("n = 1 ... 7, as in the paper", "epsilon", "delta", curves, ylim=(3e-8, 0.5))]
    look: dict[str, Any] = {"xscale": "log", "ylim": (1e-9, 0.5)}
    panels.append(Panel("n = 10 ... 10^6", "epsilon", "delta", _many(settings), **look))
    return Result(
        "fig4",
        f"Figure 4. Shuffled Gaussian, sigma = {SIGMA:g}: H(M(X') || M(X)), X = 0, X' = e_1",
        f"Monte Carlo: {settings.draws:,} samples on [-{CUBE * SIGMA:g}, {CUBE * SIGMA:g}]^n, "
        f"seed {settings.seed}; replace-one",
        {"sigma": SIGMA, "samples": settings.draws, "seed": settings.seed, "cube": CUBE * SIGMA},
        panels,
        {"rows": rows},
    )


def _small(users: int, epsilons: Array, settings: Settings) -> tuple[list[Curve], dict[str, Any]]:
    """Monte Carlo on the cube and from the law, the sorted grid, and the exact value."""
    estimate, drawn = (
        gaussian_shuffle.monte_carlo(users, SIGMA, epsilons, samples, settings.seed, where)
        for where, samples in (("cube", settings.draws), ("law", max(settings.draws // 10, 1)))
    )
    low, high = estimate.band()
    beyond = gaussian_shuffle.beyond_the_cube(users, SIGMA)
    label = f"n = {users}"
    curves = [settings.curve(CUBE_METHOD, epsilons, estimate.mean, label, low, high + beyond)]
    some = epsilons[:: 3 if settings.quick else 1]
    exact = ours.attained(Gaussian(SIGMA), users, some, settings.width)
    curves.append(settings.curve(EXACT_METHOD, some, exact, label))
    plain = gaussian_shuffle.one_dimensional(users, SIGMA, epsilons)
    curves.append(settings.curve(PLAIN_METHOD, epsilons, plain, label))
    row: dict[str, Any] = {
        "users": users,
        "epsilon": epsilons,
        "exact_epsilon": some,
        "exact": exact,
        "mean": estimate.mean,
        "error": estimate.error,
        "beyond_the_cube": beyond,
        "law_mean": drawn.mean,
        "law_error": drawn.error,
        "law_samples": drawn.samples,
        "plain": plain,
    }
    if users in POINTS:
        points = POINTS[users] // (2 if settings.quick and users > 2 else 1)
        values, evaluations = gaussian_shuffle.on_sorted_grid(users, SIGMA, epsilons, points)
        curves.insert(0, settings.curve(GRID_METHOD, epsilons, values, label))
        row |= {"grid": values, "grid_points": points, "grid_evaluations": evaluations}
    return curves, row


def _many(settings: Settings) -> list[Curve]:
    """What the paper calls out of reach."""
    curves = []
    for digits, users in enumerate(MANY, start=1):
        scale = 3 / math.sqrt(users)
        x = np.geomspace(scale / 30, scale, 5 if settings.quick else 25)
        label = f"10^{digits}"
        plain = gaussian_shuffle.one_dimensional(users, SIGMA, x)
        curves.append(settings.curve(PLAIN_METHOD, x, plain, label))
        exact = ours.attained(Gaussian(SIGMA), users, x, settings.width)
        curves.append(settings.curve(EXACT_METHOD, x, exact, label))
    return curves
