"""Draws the picture of the README: `make picture`."""

from __future__ import annotations

from pathlib import Path

from shuffledp import Accountant, PureLDP, Shuffle
from shuffledp.tools.style import BLUE, GREEN, PURPLE, VERMILION, finish, label_end, new_figure

EPS0, DELTA = 4.0, 1e-6
USERS = [round(10 ** (x / 6)) for x in range(6 * 2, 6 * 9 + 1)]
ROUNDS = [
    (1, "-", BLUE),
    (10, "--", VERMILION),
    (100, "-.", GREEN),
    (1000, ":", PURPLE),
]


def epsilon(users: int, rounds: int) -> float:
    accountant = Accountant()
    accountant.compose(Shuffle(PureLDP(EPS0), users), rounds=rounds)
    return accountant.get_epsilon(DELTA)


def main() -> None:
    figure = new_figure(7, 4)
    axes = figure.subplots()
    for rounds, style, colour in ROUNDS:
        curve = [epsilon(users, rounds) for users in USERS]
        axes.loglog(USERS, curve, style, color=colour, linewidth=2)
        label = "1 round" if rounds == 1 else f"{rounds:,} rounds"
        label_end(axes, USERS[-1], curve[-1], label, colour, fontsize=10)
    axes.axhline(EPS0, color="0.5", linewidth=1)
    axes.annotate(
        f"local guarantee of a single message: {EPS0:g}", (USERS[-1], EPS0), (0, 4),
        textcoords="offset points", ha="right", color="0.35",
    )  # fmt: skip
    axes.set(
        xlabel="users in each round",
        ylabel="certified epsilon",
        title=f"What shuffling is worth: eps0 = {EPS0:g}, delta = {DELTA:g}, replace-one",
        xlim=(USERS[0], USERS[-1] * 12),
    )
    finish(axes)
    figure.savefig(Path(__file__).with_name("epsilon-against-users.png"))


if __name__ == "__main__":
    main()
