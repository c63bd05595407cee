"""How long a certified epsilon takes, over users and rounds, and how narrow its bracket is.

Machines differ and are noisy: read the ratios, which compare medians from the same run.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import resource
import statistics
import subprocess
import sys

from shuffledp import Accountant, PureLDP, RandomizedResponse, Shuffle
from shuffledp._support.files import replacing, write_text_atomically
from shuffledp.bounds import Bounds
from shuffledp.randomizers import Randomizer

from . import atlas, clients, counters, depth, paper, peers, straightforward, training, weeks
from .measuring import timed

DELTA = 1e-6
RANDOMIZERS: list[Randomizer] = [PureLDP(4.0), RandomizedResponse(16, eps0=4.0)]
USERS = [10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**10]
ROUNDS = [1, 100, 10_000, 1_000_000]


def ask(randomizer: Randomizer, users: int, rounds: int) -> Bounds[float]:
    """A fresh accountant each time: nothing is shared between the repeats."""
    accountant = Accountant()
    accountant.compose(Shuffle(randomizer, users), rounds=rounds)
    return accountant.epsilon_bounds(DELTA)


def measure(randomizer: Randomizer, repeats: int) -> list[dict[str, float]]:
    rows = []
    for rounds, users in itertools.product(ROUNDS, USERS):
        call = functools.partial(ask, randomizer, users, rounds)
        bounds, seconds = call(), timed(call, repeats)
        rows.append(
            {
                "rounds": rounds,
                "users": users,
                "epsilon": bounds.upper,
                "width": (bounds.upper - bounds.lower) / bounds.upper,
                "median_ms": 1e3 * statistics.median(seconds),
                "least_ms": 1e3 * min(seconds),
                "most_ms": 1e3 * max(seconds),
            }
        )
    return rows


def show(randomizer: Randomizer, rows: list[dict[str, float]]) -> None:
    print(f"certified epsilon, {randomizer!r}, best analysis, delta = {DELTA:g}\n")
    print(f"{'rounds':>9} {'users':>12} {'epsilon':>12} {'width':>8} {'median ms':>10} "
          f"{'least..most':>15} {'time / n=1e4':>13}")  # fmt: skip
    for row in rows:
        base = next(r for r in rows if r["rounds"] == row["rounds"] and r["users"] == USERS[0])
        spread = f"{row['least_ms']:.0f}..{row['most_ms']:.0f}"
        print(f"{row['rounds']:>9} {row['users']:>12} {row['epsilon']:>12.6g} {row['width']:>8.0e} "
              f"{row['median_ms']:>10.1f} {spread:>15} "
              f"{row['median_ms'] / base['median_ms']:>13.2f}")  # fmt: skip
    print()


def start_up(*arguments: str) -> float:
    command = [sys.executable, *arguments]
    run = lambda: subprocess.run(command, check=True, capture_output=True)  # noqa: E731
    return 1e3 * statistics.median(timed(run, 5))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--picture", metavar="FILE", help="also draw time against users to FILE")
    parser.add_argument("--only-peers", action="store_true", help="leave out the survey of our own")
    options = parser.parse_args()

    report: dict[str, object] = {}
    side_by_side = peers.measure(options.repeats)
    peers.show(side_by_side)
    deep = depth.measure()
    depth.show(deep)
    flat = straightforward.measure(options.repeats)
    straightforward.show(flat)
    differing = weeks.measure()
    weeks.show(differing)
    trained = training.measure()
    training.show(trained)
    counted = counters.measure(options.repeats)
    counters.show(counted)
    sent = clients.measure()
    clients.show(sent)
    report |= {
        "clients": sent,
        "counters": counted,
        "training": trained,
        "peers": side_by_side,
        "depth": deep,
        "straightforward": flat,
        "weeks": differing,
    }
    if options.picture:
        with replacing(options.picture) as file:
            straightforward.draw(flat, file)
    for randomizer in [] if options.only_peers else RANDOMIZERS:
        rows = measure(randomizer, options.repeats)
        show(randomizer, rows)
        report[repr(randomizer)] = rows
    against = paper.measure(options.repeats)
    paper.show(against)
    asked = atlas.measure()
    atlas.show(asked)
    report |= {"paper": against, "atlas": [dataclasses.asdict(answer) for answer in asked]}
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    empty, imported = start_up("-c", "pass"), start_up("-c", "import shuffledp")
    answer = start_up("-m", "shuffledp", "epsilon", "--eps0", "4", "--users", "1e9",
                      "--rounds", "100", "--delta", "1e-6")  # fmt: skip
    print(f"peak memory {usage:.0f} MB; import {imported - empty:.0f} ms; "
          f"command line, 100 rounds of 10^9 users, all in all {answer:.0f} ms")  # fmt: skip
    if options.json:
        report |= {"peak_mb": usage, "import_ms": imported - empty, "cli_ms": answer}
        write_text_atomically(options.json, json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
