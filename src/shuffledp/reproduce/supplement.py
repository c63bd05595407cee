"""The supplement: Figure 1 for n = 10^5 and 10^6; the clones against the strong k-RR adversary."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from . import ours
from .clone_curves import TAU, compare
from .fourier_accountant import GridPLD, LossGrid
from .printed_laws import PrintedRandomizedResponse
from .result import CLONES, STRONGER, Panel, Result, Settings

EPS0, ROUNDS, WIDTH = 4.0, (1, 2, 3, 4), 20.0
K, GAMMA, K_USERS = 4, 0.25, 10_000
#: The users of Figure 1 and the largest epsilon, each analysis and its share of that epsilon.
REACH, SHARES = {10**5: 0.65, 10**6: 0.2}, {"clones": 1.0, "stronger-clones": 0.75}
STRONG_ROUNDS = (1, 4)
#: Analyses beside the strong adversary.
BESIDE = {
    CLONES: "clones",
    STRONGER: "stronger-clones",
    "A_s, true divergence (ours)": "strong",
    "A_w, true divergence (ours)": "blanket",
}


def count_curves(settings: Settings) -> int:
    rounds, reach = _size(settings)
    return len(reach) * len(SHARES) * 2 * len(rounds) + len(STRONG_ROUNDS) * (1 + len(BESIDE))


def _size(settings: Settings) -> tuple[tuple[int, ...], dict[int, float]]:
    """Rounds, and the users with their largest epsilon."""
    if settings.quick:  # the PLD of 10^6 alone would take a third of the time of everything else
        return (1, 4), {10**5: REACH[10**5]}
    return ROUNDS, REACH


def run(settings: Settings) -> Result:
    grid = LossGrid(WIDTH, settings.points)
    panels: list[Panel] = []
    rows: list[dict[str, Any]] = []
    rounds, reach = _size(settings)
    for (users, most), (analysis, share) in product(reach.items(), SHARES.items()):
        epsilons = np.linspace(0.0, share * most, 6 if settings.quick else 31)
        curves, agreement = compare(users, EPS0, rounds, epsilons, grid, analysis, settings)
        title = f"{analysis}, n = {users:,}"
        panels.append(Panel(title, "epsilon", "delta", curves, ylim=(1e-14, 1.0)))
        rows += agreement
    panels += [_against_strong(k, grid, settings) for k in STRONG_ROUNDS]
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
    curves = [settings.curve("A_s as printed, joint counts", epsilons, printed)]
    for method, analysis in BESIDE.items():
        bounds = ours.response(K_USERS, K, GAMMA, analysis, rounds).delta_bounds(
            epsilons, rtol=settings.width
        )
        curves.append(settings.curve(method, epsilons, bounds.upper, "", *bounds))
    title = f"{K}-RR, n = {K_USERS:,}, n_c = {rounds}"
    return Panel(title, "epsilon", "delta", curves, ylim=(1e-14, 1.0))
