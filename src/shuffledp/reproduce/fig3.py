"""Figure 3: shuffled k-ary randomized response, n = 1000, gamma = 1/4, k = 4, n_c = 1, 4, 16."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..binomial import Array
from . import ours
from .fourier_accountant import Grid, GridPLD
from .krr_pld import PrintedRandomizedResponse
from .result import Curve, Panel, Result, Settings, progress

USERS, K, GAMMA, ROUNDS, WIDTH, TAU = 1000, 4, 0.25, (1, 4, 16), 20.0, 1e-12
FLOOR = 1e-11
TRUE = {"A_s": "strong", "A_w": "blanket"}


def run(settings: Settings) -> Result:
    grid = Grid(WIDTH, settings.points)
    points = 9 if settings.quick else 33
    reach = {1: 1.6, 4: 3.2, 16: 6.4}
    panels, rows = [], []
    plds = {name: _printed(name, grid) for name in TRUE}
    for rounds in ROUNDS:
        epsilons = np.linspace(0.0, reach[rounds], points)
        curves = []
        for adversary, analysis in TRUE.items():
            composed = plds[adversary].compose(rounds)
            printed = composed.tail(epsilons) + composed.periodisation + composed.rounding
            true = ours.response_delta(USERS, K, GAMMA, analysis, rounds, epsilons)
            x = epsilons.tolist()
            curves.append(Curve(f"{adversary} as printed in the paper", x, printed.tolist()))
            curves.append(
                Curve(
                    f"{adversary}, true divergence (ours)", x, true.upper.tolist(), "",
                    true.lower.tolist(), true.upper.tolist(),
                )
            )  # fmt: skip
            rows += _rows(adversary, rounds, epsilons, printed, true.lower, true.upper)
        if rounds == 1:
            attained = ours.response_attained(USERS, K, GAMMA, epsilons.tolist())
            method = "attained by actual datasets (ours)"
            curves.append(Curve(method, epsilons.tolist(), attained.tolist()))
        panels.append(Panel(f"n_c = {rounds}", "epsilon", "delta", curves, ylim=(FLOOR, 2.0)))
    return Result(
        "fig3",
        f"Figure 3. Shuffled {K}-ary randomized response: n = {USERS:,}, gamma = {GAMMA:g}, "
        "replace-one",
        f"As printed: Pr[sum of Z >= epsilon] by the Fourier accountant, L = {WIDTH:g}, "
        f"m = {grid.points:,}, tau = {TAU:g}. True divergences: certified brackets.",
        {"users": USERS, "k": K, "gamma": GAMMA, "rounds": ROUNDS, "L": WIDTH, "m": grid.points,
         "tau": TAU},
        panels,
        {"rows": rows},
    )  # fmt: skip


def _printed(adversary: str, grid: Grid) -> GridPLD:
    law = PrintedRandomizedResponse(USERS, K, GAMMA, adversary, TAU)
    return GridPLD.of(progress(law.atoms(), USERS, f"k-RR, {adversary}"), law.infinite, grid)


def _rows(
    adversary: str, rounds: int, epsilons: Array, printed: Array, lower: Array, upper: Array
) -> list[dict[str, Any]]:
    return [
        {
            "adversary": adversary,
            "rounds": rounds,
            "epsilon": float(epsilons[i]),
            "printed": float(printed[i]),
            "true_lower": float(lower[i]),
            "true_upper": float(upper[i]),
        }
        for i in range(len(epsilons))
    ]
