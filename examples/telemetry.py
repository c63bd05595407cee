"""A telemetry roll-out: a million users, one question a week for a year, a tenth of them asked.

Up to 5 % of the users may collude, and 20 % may send nothing, for other reasons than
their value. Which eps0 may the devices use if the
year is to stay (1, 1e-8)-differentially private, what does a change of plan cost, and what is left
for an unforeseen campaign? Run: python examples/telemetry.py
"""

from __future__ import annotations

import sys

from shuffledp import Accountant, Plan, PureLDP, Shuffle, calibrate, rounded_up, sweep
from shuffledp.tools.plan import PlannedRound

USERS, WEEKS, SHARE = 1_000_000, 52, 0.1
EPSILON, DELTA = 1.0, 1e-8
COLLUDING, DROPOUTS = 0.05, 0.2


def asked(eps0: float, share: float = 1.0) -> Shuffle:
    """A round that asks a share of the users."""
    return Shuffle(PureLDP(eps0), USERS, sample_rate=share, colluding=COLLUDING, dropouts=DROPOUTS)


def main(picture: str | None = None) -> None:
    # 1. the largest eps0 that a year of weekly questions allows, whatever the randomizer is: an
    # epsilon that is certified within 1 % is enough to plan with, and is much faster
    found = calibrate(
        "eps0",
        lambda eps0: asked(eps0, SHARE),
        rounds=WEEKS,
        epsilon=EPSILON,
        delta=DELTA,
        rtol=0.01,
    )
    print(f"Largest eps0 for the whole target: {found.value} (epsilon {_up(found.achieved.upper)})")

    # 2. be modest, so that something is left, and account for the year as planned
    weekly, survey = asked(6.0, SHARE), asked(4.0)
    plan = Plan(
        EPSILON,
        DELTA,
        (PlannedRound("weekly question", weekly, WEEKS), PlannedRound("big survey", survey, 4)),
    )
    ledger = plan.ledger()
    print(f"\n{ledger}\n")

    # 3. how many emergency rounds of all users are left after that?
    accountant = Accountant()
    for planned in plan.rounds:
        accountant.compose(planned.round, rounds=planned.rounds)
    spare = accountant.remaining_rounds(survey, EPSILON, DELTA)
    print(f"{spare} more rounds like the big survey would fit.")

    # 4. what other shares would have cost
    for row in sweep(
        {"sample_rate": [0.05, 0.2]},
        eps0=6.0,
        users=USERS,
        colluding=COLLUDING,
        dropouts=DROPOUTS,
        rounds=WEEKS,
        delta=DELTA,
        jobs=1,
    ):
        print(f"asking {row['sample_rate']:4.0%} each week: epsilon {_up(row['epsilon_upper'])}")

    if picture:
        from shuffledp.plotting import plot_ledger

        plot_ledger(ledger).get_figure(root=True).savefig(picture)  # type: ignore[union-attr]


def _up(value: float) -> str:
    return rounded_up(value, 3)


if __name__ == "__main__":
    main(*sys.argv[1:2])
