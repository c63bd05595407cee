"""Figure 2: epsilon of subsampled shufflers, against the users and against the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..published import girgis2021
from ..published.bound import or_nan
from . import ours
from .clone_curves import TAU
from .fourier_accountant import GridPLD, LossGrid
from .printed_laws import ClonePair
from .result import AS_ONE, CLONES, STRONGER, Curve, Panel, Result, Settings, table

EPS0, RATE, WIDTH = 3.0, 0.01, 4.0
FIXED_ROUNDS, FIXED_USERS = 100, 10**5
PRINTED = "paper's subsampled pair (one order only)"
CLOSED = "paper's accountant on the closed pair"
CLOSED_STRONGER = "paper's accountant on the closed stronger pair"
RENYI = "Girgis et al. 2021, RDP"
#: Analyses and atoms for the paper's accountant, and analyses for ours.
ACCOUNTANTS = {
    PRINTED: ("clones", ClonePair.subsampled_atoms),
    CLOSED: ("clones", ClonePair.closed_atoms),
    CLOSED_STRONGER: ("stronger-clones", ClonePair.closed_atoms),
}
CERTIFIED = {CLONES: "clones", STRONGER: "stronger-clones", AS_ONE: "best"}


def count_curves(settings: Settings) -> int:
    return 2 * (1 + len(ACCOUNTANTS) + len(CERTIFIED))


def run(settings: Settings) -> Result:
    grid = LossGrid(WIDTH, settings.points)
    if settings.quick:
        users, rounds = [10**4, 10**5, 10**6], [1, 10, 1000]
    else:
        users = [10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7]
        rounds = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000]
    users_curves, by_users = _compare([(n, FIXED_ROUNDS) for n in users], "users", grid, settings)
    rounds_curves, by_rounds = _compare(
        [(FIXED_USERS, k) for k in rounds], "rounds", grid, settings
    )
    titles = f"n_c = {FIXED_ROUNDS} rounds, delta = 1/n", f"n = {FIXED_USERS:,} users, delta = 1/n"
    panels = [
        Panel(titles[0], "users n", "epsilon", users_curves, xscale="log"),
        Panel(titles[1], "rounds n_c", "epsilon", rounds_curves, xscale="log"),
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


def _compare(
    cases: Sequence[tuple[int, int]], against: str, grid: LossGrid, settings: Settings
) -> tuple[list[Curve], list[dict[str, Any]]]:
    """Curves of epsilon at delta = 1/n, and one row for each number of users and of rounds."""
    users, rounds = zip(*cases, strict=True)
    columns: dict[str, Sequence[float]] = {"users": users, "rounds": rounds}
    columns["delta"] = [1 / n for n in users]
    curves: list[Curve] = []

    def add(method: str, epsilons: Sequence[float]) -> None:
        columns[method] = epsilons
        curves.append(settings.curve(method, columns[against], epsilons))

    add(RENYI, [or_nan(girgis2021.epsilon, EPS0, n, RATE, k, 1 / n) for n, k in cases])
    for method in ACCOUNTANTS:
        composed = ((n, _pld(method, n, grid).compose(k)) for n, k in cases)
        add(method, [c.epsilon(1 / n, c.periodisation + c.rounding) for n, c in composed])
    for method, analysis in CERTIFIED.items():
        rounds_of = ((ours.clones(n, EPS0, analysis, k, RATE), 1 / n) for n, k in cases)
        each = [one.epsilon_bounds(delta, rtol=settings.width) for one, delta in rounds_of]
        add(method, [bounds.upper for bounds in each])
        columns[f"{method}, lower"] = [bounds.lower for bounds in each]
    return curves, table(columns)


@lru_cache(maxsize=1)
def _pld(method: str, users: int, grid: LossGrid) -> GridPLD:
    """Of one round by the paper's accountant."""
    analysis, atoms = ACCOUNTANTS[method]
    pair = ClonePair(round(RATE * users), EPS0, analysis, TAU * 1e-3)
    return GridPLD.of(atoms(pair, RATE), pair.infinite, grid)
