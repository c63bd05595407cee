"""Figure 3: shuffled k-ary randomized response, n = 1000, gamma = 1/4, k = 4, n_c = 1, 4, 16."""

from __future__ import annotations

import math

import numpy as np

from .._support.numeric import Array
from ..published import balle2019
from ..published.bound import or_nan
from ..randomizers import RandomizedResponse
from . import ours
from .fourier_accountant import GridPLD, LossGrid
from .printed_laws import PrintedRandomizedResponse
from .result import Curve, Panel, Result, Settings, table

USERS, K, GAMMA, WIDTH, TAU = 1000, 4, 0.25, 20.0, 1e-14
REACH = {1: 1.6, 4: 3.2, 16: 6.4}  # largest epsilon for each number of rounds
FLOOR = 1e-12
TRUE = {"A_s": "strong", "A_w": "blanket"}
COUNTS = {False: "independent", True: "joint"}


def count_curves(settings: Settings) -> int:
    return len(REACH) * len(TRUE) * (len(COUNTS) + 1) + 2


def run(settings: Settings) -> Result:
    grid = LossGrid(WIDTH, settings.points)
    points = 9 if settings.quick else 33
    plds = {(name, joint): _printed(name, joint, grid) for name in TRUE for joint in COUNTS}
    panels, rows = [], []
    for rounds, reach in REACH.items():
        epsilons = np.linspace(0.0, reach, points)
        curves = []
        for adversary, analysis in TRUE.items():
            columns: dict[str, Array] = {"epsilon": epsilons}
            for joint, word in COUNTS.items():
                printed = plds[adversary, joint].compose(rounds).tail(epsilons)
                method = f"{adversary} as printed, {word} counts"
                curves.append(settings.curve(method, epsilons, printed))
                columns[f"printed_{word}"] = printed
            true = ours.response(USERS, K, GAMMA, analysis, rounds).delta_bounds(
                epsilons, rtol=settings.width
            )
            method = f"{adversary}, true divergence (ours)"
            curves.append(settings.curve(method, epsilons, true.upper, "", *true))
            columns |= {"true_lower": true.lower, "true_upper": true.upper}
            rows += table(columns, adversary=adversary, rounds=rounds)
        if rounds == 1:
            attained = ours.attained(RandomizedResponse(K, gamma=GAMMA), USERS, epsilons)
            method = "attained by actual datasets (ours)"
            curves += [settings.curve(method, epsilons, attained), _balle(points, settings)]
        panels.append(Panel(f"n_c = {rounds}", "epsilon", "delta", curves, ylim=(FLOOR, 2.0)))
    return Result(
        "fig3",
        f"Figure 3. Shuffled {K}-ary randomized response: n = {USERS:,}, gamma = {GAMMA:g}, "
        "n_c adaptive rounds, replace-one",
        f"As printed: Pr[sum of Z >= epsilon] by the Fourier accountant, L = {WIDTH:g}, "
        f"m = {grid.points:,}, tau = {TAU:g}. True divergences: certified brackets",
        {"users": USERS, "k": K, "gamma": GAMMA, "rounds": list(REACH), "L": WIDTH,
         "m": grid.points, "tau": TAU},
        panels,
        {"rows": rows},
    )  # fmt: skip


def _printed(adversary: str, joint: bool, grid: LossGrid) -> GridPLD:
    law = PrintedRandomizedResponse(USERS, K, GAMMA, adversary, joint, TAU)
    return GridPLD.of(law.atoms(), law.infinite, grid)


def _balle(points: int, settings: Settings) -> Curve:
    """The closed form, where it applies (epsilon <= 1): epsilon at each delta."""
    deltas = np.geomspace(0.999, 1e-3, 4 * points).tolist()
    every = [(or_nan(balle2019.closed_form, K, GAMMA, USERS, delta), delta) for delta in deltas]
    inside = [(epsilon, delta) for epsilon, delta in every if math.isfinite(epsilon)]
    x, y = zip(*inside, strict=True)
    return settings.curve("Balle et al. 2019, Thm 3.1", x, y)
