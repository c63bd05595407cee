"""Side by side with other accountants, in one run: time, memory and tightness.

A peer is a function from a number of rounds to a call that returns its upper epsilon at DELTA. Add
one to `peers()` and it has every table; the paper's own accountant belongs there as well.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp.interop import from_dp_accounting, to_dp_accounting
from shuffledp.mechanisms import ApproximateDP

from .measuring import measured, spread

DELTA = 1e-6
ROUNDS = [10, 1000, 100_000]
SURVEY = Shuffle(PureLDP(4.0), users=10**6)
#: dp-accounting's customary interval, and one ten times finer.
INTERVALS = [1e-4, 1e-5]
LOCAL = 0.1  # eps0 of the randomized response that prv-accountant can express

Peer = Callable[[int], Callable[[], float]]


def ours(mechanism: Any, rounds: int) -> float:
    """A fresh accountant each time; the bracket is certified on both sides on the way."""
    accountant = Accountant()
    accountant.compose(mechanism, rounds=rounds)
    return accountant.epsilon_bounds(DELTA).upper


def peers() -> dict[str, dict[str, Peer]]:
    """Tables of peers that answer the same question."""
    tables: dict[str, dict[str, Peer]] = {}
    for interval in INTERVALS:
        pld = to_dp_accounting(SURVEY, interval=interval)
        given = from_dp_accounting(pld, relation="replace-one")
        tables[f"the same PLD, interval {interval:g}"] = {
            "shuffledp": lambda k, g=given: functools.partial(ours, g, k),  # type: ignore[misc]
            "shuffledp, from the profile on": lambda k: functools.partial(ours, SURVEY, k),
            "dp-accounting": lambda k, p=pld: (  # type: ignore[misc]
                lambda: p.self_compose(k).get_epsilon_for_delta(DELTA)
            ),
        }
    table: dict[str, Peer] = {
        "shuffledp": lambda k: functools.partial(ours, ApproximateDP(LOCAL), k)
    }
    try:
        table["prv-accountant"] = _prv_accountant()
    except ImportError:
        print("prv-accountant is not installed and left out\n")
    tables[f"randomized response with eps0 = {LOCAL:g}"] = table
    return tables


def _prv_accountant() -> Peer:
    """It can express randomized response; it has no law of losses from a list."""
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import PureDPMechanism

    def ask(rounds: int) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            accountant = PRVAccountant(
                PureDPMechanism(LOCAL),
                eps_error=0.01,
                delta_error=1e-3 * DELTA,
                max_self_compositions=rounds,
            )
            return float(accountant.compute_epsilon(DELTA, [rounds])[2])

    return lambda k: functools.partial(ask, k)


def measure(repeats: int) -> list[dict[str, Any]]:
    rows = []
    for table, members in peers().items():
        mechanism: Any = SURVEY if "PLD" in table else ApproximateDP(LOCAL)
        for rounds in ROUNDS:
            accountant = Accountant()
            accountant.compose(mechanism, rounds=rounds)
            # the truth, from below: what is above it is looseness
            lower = accountant.epsilon_bounds(DELTA, rtol=1e-4).lower
            for name, peer in members.items():
                if name == "prv-accountant" and rounds > 1000:
                    continue  # its lattice would need minutes and gigabytes
                epsilon, figures = measured(peer(rounds), repeats)
                excess = epsilon / lower - 1
                row = {"table": table, "rounds": rounds, "peer": name, "epsilon": epsilon}
                rows.append({**row, "excess": excess, **figures})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    for table in dict.fromkeys(row["table"] for row in rows):
        print(f"{table}, delta = {DELTA:g}; excess over a certified lower bound\n")
        print(f"{'rounds':>8} {'':<34}{'epsilon':>12}{'excess':>10}{'MB':>8}{'time / ours':>13}"
              "   median ms (least..most)")  # fmt: skip
        for row in (row for row in rows if row["table"] == table):
            base = next(r for r in rows if r["table"] == table and r["rounds"] == row["rounds"])
            print(f"{row['rounds']:>8} {row['peer']:<34}{row['epsilon']:>12.6g}"
                  f"{row['excess']:>10.1e}{row['peak_mb']:>8.1f}"
                  f"{row['median_ms'] / base['median_ms']:>13.2f}   {spread(row)}")  # fmt: skip
        print()
