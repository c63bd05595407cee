"""Figure 3: shuffled k-ary randomized response, n = 1000, gamma = 1/4, k = 4, n_c = 1, 4, 16."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._support.numeric import Array
from . import ours
from .fourier_accountant import Grid, GridPLD
from .krr_pld import PrintedRandomizedResponse
from .result import Curve, Panel, Result, Settings, progress

USERS, K, GAMMA, WIDTH, TAU = 1000, 4, 0.25, 20.0, 1e-14
REACH = {1: 1.6, 4: 3.2, 16: 6.4}  # largest epsilon for each number of rounds
FLOOR = 1e-12
TRUE = {"A_s": "strong", "A_w": "blanket"}


def run(settings: Settings) -> Result:
    grid = Grid(WIDTH, settings.points)
    points = 9 if settings.quick else 33
    plds = {(name, joint): _printed(name, joint, grid) for name in TRUE for joint in (False, True)}
    panels, rows = [], []
    for rounds, reach in REACH.items():
        epsilons = np.linspace(0.0, reach, points)
        curves = []
        for adversary, analysis in TRUE.items():
            true = ours.response_delta(USERS, K, GAMMA, analysis, rounds, epsilons)
            printed = {}
            for joint, word in ((False, "independent"), (True, "joint")):
                composed = plds[adversary, joint].compose(rounds)
                printed[word] = composed.tail(epsilons)
                method = f"{adversary} as printed, {word} counts"
                curves.append(Curve(method, epsilons.tolist(), printed[word].tolist()))
            method = f"{adversary}, true divergence (ours)"
            low, high = true.lower.tolist(), true.upper.tolist()
            curves.append(Curve(method, epsilons.tolist(), high, "", low, high))
            rows += _rows(adversary, rounds, epsilons, printed, true.lower, true.upper)
        if rounds == 1:
            attained = ours.response_attained(USERS, K, GAMMA, epsilons.tolist())
            method = "attained by actual datasets (ours)"
            curves.append(Curve(method, epsilons.tolist(), attained.tolist()))
            curves.append(_balle(points))
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


def _printed(adversary: str, joint: bool, grid: Grid) -> GridPLD:
    law = PrintedRandomizedResponse(USERS, K, GAMMA, adversary, joint, TAU)
    return GridPLD.of(progress(law.atoms(), USERS, f"k-RR, {adversary}"), law.infinite, grid)


def _balle(points: int) -> Curve:
    """The closed form, where it applies (epsilon <= 1): epsilon at each delta."""
    deltas = np.geomspace(0.999, 1e-3, 4 * points).tolist()
    epsilons = ours.balle_closed_form(K, GAMMA, USERS, deltas)
    inside = [i for i, epsilon in enumerate(epsilons) if math.isfinite(epsilon)]
    x, y = [epsilons[i] for i in inside], [deltas[i] for i in inside]
    return Curve("Balle et al. 2019, Thm 3.1", x, y)


def _rows(
    adversary: str,
    rounds: int,
    epsilons: Array,
    printed: dict[str, Array],
    lower: Array,
    upper: Array,
) -> list[dict[str, Any]]:
    return [
        {
            "adversary": adversary,
            "rounds": rounds,
            "epsilon": float(epsilons[i]),
            "printed_independent": float(printed["independent"][i]),
            "printed_joint": float(printed["joint"][i]),
            "true_lower": float(lower[i]),
            "true_upper": float(upper[i]),
        }
        for i in range(len(epsilons))
    ]
