"""The supplement: Figure 1 for n = 10^5 and 10^6; the clones against the strong k-RR adversary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import ours
from .clone_curves import TAU, compare
from .fourier_accountant import GridPLD, LossGrid
from .printed_laws import PrintedRandomizedResponse
from .result import CLONES, STRONGER, Curve, Panel, Result, Settings

EPS0, ROUNDS, WIDTH = 4.0, (1, 2, 3, 4), 20.0
K, GAMMA, K_USERS = 4, 0.25, 10_000


def run(settings: Settings) -> Result:
    grid = LossGrid(WIDTH, settings.points)
    panels: list[Panel] = []
    rows: list[dict[str, Any]] = []
    for users, reach in ((10**5, 0.65), (10**6, 0.2)):
        if settings.quick and users > 10**5:
            continue  # the paper's PLD alone would take a third of the time of everything else
        for analysis, share in (("clones", 1.0), ("stronger-clones", 0.75)):
            epsilons = np.linspace(0.0, share * reach, 6 if settings.quick else 31)
            rounds = (1, 4) if settings.quick else ROUNDS
            curves, agreement = compare(users, EPS0, rounds, epsilons, grid, analysis)
            title = f"{analysis}, n = {users:,}"
            panels.append(Panel(title, "epsilon", "delta", curves, ylim=(1e-14, 1.0)))
            rows += agreement
    panels += [_against_strong(k, grid, settings) for k in (1, 4)]
    eps0 = _local_epsilon()
    return Result(
        "supplement",
        f"Supplement. Figure 1 for more users (eps0 = {EPS0:g}), and clones against the strong "
        f"adversary of {K}-RR (gamma = {GAMMA:g}, eps0 = {eps0:.4f}), replace-one",
        f"Fourier accountant: L = {WIDTH:g}, m = {grid.points:,}, tau = {TAU:g}",
        {"eps0": EPS0, "rounds": ROUNDS, "k": K, "gamma": GAMMA, "k_users": K_USERS,
         "k_eps0": eps0, "L": WIDTH, "m": grid.points, "tau": TAU},
        panels,
        {"agreement": rows},
    )  # fmt: skip


def _local_epsilon() -> float:
    """eps0 of k-RR with this gamma."""
    return math.log((1 - GAMMA + GAMMA / K) / (GAMMA / K))


def _against_strong(rounds: int, grid: LossGrid, settings: Settings) -> Panel:
    epsilons = np.linspace(0.0, 0.4 * math.sqrt(rounds), 6 if settings.quick else 31)
    law = PrintedRandomizedResponse(K_USERS, K, GAMMA, "A_s", True, TAU)
    composed = GridPLD.of(law.atoms(), law.infinite, grid).compose(rounds)
    printed = composed.tail(epsilons) + composed.periodisation + composed.rounding
    curves = [Curve("A_s as printed, joint counts", epsilons, printed)]
    for method, analysis in (
        (CLONES, "clones"),
        (STRONGER, "stronger-clones"),
        ("A_s, true divergence (ours)", "strong"),
        ("A_w, true divergence (ours)", "blanket"),
    ):
        bounds = ours.response(K_USERS, K, GAMMA, analysis, rounds).delta_bounds(epsilons)
        curves.append(Curve(method, epsilons, bounds.upper, "", *bounds))
    title = f"{K}-RR, n = {K_USERS:,}, n_c = {rounds}"
    return Panel(title, "epsilon", "delta", curves, ylim=(1e-14, 1.0))
