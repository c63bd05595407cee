"""Section 3.2: what Hoeffding's inequality saves, and that cost need not grow with n at all."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from . import ours
from .clone_curves import TAU
from .fourier_accountant import GridPLD, LossGrid
from .printed_laws import ClonePair
from .result import CLONES, Panel, Result, Settings

EPS0, DELTA = 4.0, 1e-6
ALL, KEPT = "paper's PLD, all O(n^2) terms", "paper's PLD, Hoeffding O(n)"
USERS = (300, 1_000, 3_000, 10_000, 30_000, 10**5, 10**6, 10**7, 10**8, 10**9)
#: The truncations whose effect is shown.
TRUNCATED = ((ALL, None), (KEPT, 1e-6), (KEPT, 1e-9), (KEPT, TAU))


def count_curves(settings: Settings) -> int:
    return 2 * 2 + 1 + len(TRUNCATED) + 1


def run(settings: Settings) -> Result:
    largest_all = 3_000 if settings.quick else 30_000
    largest_kept = 10**5 if settings.quick else 10**6
    grid = LossGrid(20.0, settings.points)
    rows: list[dict[str, Any]] = []
    for users in USERS:
        epsilon, seconds = _ours(users)
        rows.append({"users": users, "epsilon": epsilon, "ours_seconds": seconds})
    ours_times = settings.curve(CLONES, USERS, [row["ours_seconds"] for row in rows])
    terms, times = [], []
    for method, kind, tau, largest in (
        (ALL, "all", None, largest_all),
        (KEPT, "kept", TAU, largest_kept),
    ):
        done = [row for row in rows if row["users"] <= largest]
        for row in done:
            row[kind] = _paper(ClonePair(row["users"], EPS0, tau=tau), grid, row["epsilon"])
        x = [row["users"] for row in done]
        terms.append(settings.curve(method, x, [row[kind]["terms"] for row in done]))
        times.append(settings.curve(method, x, [row[kind]["seconds"] for row in done]))
    times.append(ours_times)
    title = "terms of the privacy loss distribution"
    panels = [
        Panel(title, "users n", "terms", terms, xscale="log"),
        Panel("seconds on one core, one round", "users n", "seconds", times, xscale="log"),
        _effect(5_000 if settings.quick else 10_000, grid, 9 if settings.quick else 33, settings),
    ]
    return Result(
        "truncation",
        f"Section 3.2. From O(n^2) to O(n) to flat: eps0 = {EPS0:g}, one round",
        f"tau = {TAU:g}, L = 20, m = {grid.points:,}; seconds to form the PLD; "
        "ours: a certified epsilon at delta = 1e-6, clones",
        {"eps0": EPS0, "delta": DELTA, "tau": TAU, "L": 20.0, "m": grid.points},
        panels,
        {"rows": rows},
    )


def _ours(users: int) -> tuple[float, float]:
    """The certified epsilon of the clones at delta, and the least of three times."""
    times, epsilon = [], 0.0
    for _ in range(3):
        start = time.perf_counter()
        epsilon = ours.clones(users, EPS0, "clones").epsilon_bounds(DELTA).upper
        times.append(time.perf_counter() - start)
    return epsilon, min(times)


def _paper(pair: ClonePair, grid: LossGrid, epsilon: float) -> dict[str, float]:
    start = time.perf_counter()
    pld = GridPLD.of(pair.atoms(), pair.infinite, grid)
    seconds = time.perf_counter() - start
    delta = float(pld.compose(1).delta(np.array([epsilon]))[0])
    kept = float(pld.mass.sum())
    return {"terms": pair.terms, "seconds": seconds, "delta": delta, "missing_mass": 1 - kept}


def _effect(users: int, grid: LossGrid, points: int, settings: Settings) -> Panel:
    """delta(epsilon) with and without the truncation."""
    last = ours.clones(users, EPS0, "clones").epsilon_bounds(1e-14).upper
    epsilons = np.linspace(0.0, last, points)
    curves = []
    for method, tau in TRUNCATED:
        pair = ClonePair(users, EPS0, tau=tau)
        delta = GridPLD.of(pair.atoms(), pair.infinite, grid).compose(1).delta(epsilons)
        label = f"tau = {tau:g}" if tau else ""
        curves.append(settings.curve(method, epsilons, delta, label))
    mine = ours.clones(users, EPS0, "clones").delta_bounds(epsilons)
    curves.append(settings.curve(CLONES, epsilons, mine.upper, "", *mine))
    title = f"what the truncation does to delta, n = {users:,}"
    return Panel(title, "epsilon", "delta", curves, ylim=(1e-15, 1.0))
