"""Figure 2: epsilon of subsampled shufflers, against the users and against the rounds."""

from __future__ import annotations

from typing import Any

from ..published import girgis2021
from ..published.bound import or_nan
from . import ours
from .clone_curves import TAU
from .fourier_accountant import GridPLD, LossGrid
from .printed_laws import ClonePair
from .result import AS_ONE, CLONES, STRONGER, Curve, Panel, Result, Settings

EPS0, RATE, WIDTH = 3.0, 0.01, 4.0
FIXED_ROUNDS, FIXED_USERS = 100, 10**5
PRINTED = "paper's subsampled pair (one order only)"
CLOSED = "paper's accountant on the closed pair"
CLOSED_STRONGER = "paper's accountant on the closed stronger pair"


def run(settings: Settings) -> Result:
    grid = LossGrid(WIDTH, settings.points)
    if settings.quick:
        users, rounds = [10**4, 10**5, 10**6], [1, 10, 1000]
    else:
        users = [10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7]
        rounds = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000]
    by_users = [_point(n, [FIXED_ROUNDS], grid)[0] for n in users]
    by_rounds = _point(FIXED_USERS, rounds, grid)
    titles = f"n_c = {FIXED_ROUNDS} rounds, delta = 1/n", f"n = {FIXED_USERS:,} users, delta = 1/n"
    panels = [
        Panel(titles[0], "users n", "epsilon", _curves(by_users, "users"), xscale="log"),
        Panel(titles[1], "rounds n_c", "epsilon", _curves(by_rounds, "rounds"), xscale="log"),
    ]
    return Result(
        "fig2",
        f"Figure 2. Subsampled shufflers: eps0 = {EPS0:g}, rate gamma = {RATE:g}, replace-one",
        f"Fourier accountant: L = {WIDTH:g}, m = {grid.points:,}, tau = {TAU * 1e-3:g}; gamma n "
        "users chosen afresh each round",
        {"eps0": EPS0, "rate": RATE, "L": WIDTH, "m": grid.points, "tau": TAU * 1e-3},
        panels,
        {"by_users": by_users, "by_rounds": by_rounds},
    )


def _point(users: int, rounds: list[int], grid: LossGrid) -> list[dict[str, Any]]:
    """All epsilons at delta = 1/n for one population."""
    delta = 1 / users
    pair = ClonePair(round(RATE * users), EPS0, tau=TAU * 1e-3)
    stronger = ClonePair(pair.users, EPS0, "stronger-clones", pair.tau)
    plds = {
        PRINTED: GridPLD.of(pair.subsampled_atoms(RATE), pair.infinite, grid),
        CLOSED: GridPLD.of(pair.closed_atoms(RATE), pair.infinite, grid),
        CLOSED_STRONGER: GridPLD.of(stronger.closed_atoms(RATE), stronger.infinite, grid),
    }
    rows = []
    for k in rounds:
        row: dict[str, Any] = {"users": users, "rounds": k, "delta": delta}
        for method, pld in plds.items():
            composed = pld.compose(k)
            row[method] = composed.epsilon(delta, composed.periodisation + composed.rounding)
        certified = (CLONES, "clones"), (STRONGER, "stronger-clones"), (AS_ONE, "best")
        for method, analysis in certified:
            bounds = ours.clones(users, EPS0, analysis, k, RATE).epsilon_bounds(delta)
            row[method], row[f"{method}, lower"] = bounds.upper, bounds.lower
        row["Girgis et al. 2021, RDP"] = or_nan(girgis2021.epsilon, EPS0, users, RATE, k, delta)
        rows.append(row)
    return rows


def _curves(rows: list[dict[str, Any]], against: str) -> list[Curve]:
    methods = ["Girgis et al. 2021, RDP", PRINTED, CLOSED, CLOSED_STRONGER]
    methods += [CLONES, STRONGER, AS_ONE]
    x = [row[against] for row in rows]
    return [Curve(m, x, [row[m] for row in rows]) for m in methods]
