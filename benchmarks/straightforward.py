"""The obvious O(n^2) evaluation of the clone pair against ours, whose cost is flat in n."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from shuffledp import PureLDP, Shuffle

from .measuring import measured, spread

EPS0 = 4.0
USERS = [100, 300, 1000, 3000, 10**4, 10**6, 10**9]
MOST = 10**4  # users up to which all outcomes are added up


def epsilon_for(users: int) -> float:
    """About as far in the tail for every number of users."""
    return 30 / math.sqrt(users)


def straightforward(users: int) -> float:
    """Adds up (P - e^epsilon Q)_+ over all outcomes (a, b), b + a <= n, in double precision."""
    alpha, e, clone = math.exp(epsilon_for(users)), math.exp(EPS0), 2 / (math.exp(EPS0) + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, users + 1)))])
    total = 0.0
    for c in range(users):  # clones among the others
        log_count = (
            log_factorial[users - 1] - log_factorial[c] - log_factorial[users - 1 - c]
            + c * math.log(clone) + (users - 1 - c) * math.log1p(-clone)
        )  # fmt: skip
        a = np.arange(c + 1)
        mass = np.exp(
            log_count + log_factorial[c] - log_factorial[a] - log_factorial[c - a] - c * math.log(2)
        )
        p, q = np.zeros(c + 2), np.zeros(c + 2)  # by the number of the first kind
        for law, heavy in ((p, e / (e + 1)), (q, 1 / (e + 1))):
            law[1:] += heavy * mass
            law[:-1] += (1 - heavy) * mass
        total += float(np.maximum(p - alpha * q, 0.0).sum())
    return total


def measure(repeats: int) -> list[dict[str, Any]]:
    rows = []
    for users in USERS:
        row: dict[str, Any] = {"users": users}
        survey = Shuffle(PureLDP(EPS0), users)
        bounds, row["ours"] = measured(
            functools.partial(survey.delta_bounds, epsilon_for(users)), repeats
        )
        row |= {"lower": bounds.lower, "upper": bounds.upper}
        if users <= MOST:
            calls = 1 if users > 1000 else repeats
            row["value"], row["all_outcomes"] = measured(
                functools.partial(straightforward, users), calls
            )
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    print(f"delta(30/sqrt(n)) of one round, eps0 = {EPS0:g}: all outcomes against ours\n")
    print(f"{'users':>12}{'delta, upper':>14}{'width':>9}{'all / ours':>12}{'MB, ours':>10}"
          "   ours ms; all outcomes ms")  # fmt: skip
    for row in rows:
        width = 1 - row["lower"] / row["upper"] if row["upper"] > 1e-290 else 0.0
        other = row.get("all_outcomes")
        ratio = f"{other['median_ms'] / row['ours']['median_ms']:.1f}" if other else "-"
        times = spread(row["ours"]) + ("; " + spread(other) if other else "")
        print(f"{row['users']:>12}{row['upper']:>14.6g}{width:>9.0e}{ratio:>12}"
              f"{row['ours']['peak_mb']:>10.1f}   {times}")  # fmt: skip
    print()


def draw(rows: list[dict[str, Any]], path: Any) -> None:
    """Time against users, both axes logarithmic: ours is flat."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for key, label in (("all_outcomes", "all outcomes, O(n^2)"), ("ours", "shuffledp")):
        some = [row for row in rows if key in row]
        users = [row["users"] for row in some]
        middle = [row[key]["median_ms"] for row in some]
        low, high = ([row[key][side] for row in some] for side in ("least_ms", "most_ms"))
        axes.loglog(users, middle, marker="o", label=label)
        axes.fill_between(users, low, high, alpha=0.2)
    axes.set(xlabel="users", ylabel="milliseconds", title="one certified delta, against users")
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)
