"""Draws the picture of docs/deployments.md: epsilon against users, for each view."""

from __future__ import annotations

from pathlib import Path

from shuffledp import Aggregate, Shuffle, UnaryEncoding
from shuffledp.rounds import Round
from shuffledp.tools.style import BLUE, GREEN, VERMILION, finish, label_end, new_figure

EPS0, DELTA = 8.0, 1e-9
USERS = [round(10 ** (x / 3)) for x in range(3 * 2, 3 * 9 + 1)]
BITS = UnaryEncoding(k=256, eps0=EPS0)


def rounds(users: int) -> list[Round]:
    summed = (Aggregate(BITS, users, neighbours) for neighbours in ("replace", "remove"))
    return [Shuffle(BITS, users), *summed]


LOOKS = [
    ("messages seen", "-", BLUE, (6, 3)),
    ("sums seen, replace-one", "--", VERMILION, (6, 3)),
    ("sums seen, remove-one", ":", GREEN, (6, -3)),
]


def main() -> None:
    figure = new_figure(7, 4)
    axes = figure.subplots()
    curves = zip(*([r.get_epsilon(DELTA) for r in rounds(users)] for users in USERS), strict=True)
    for curve, (label, style, colour, place) in zip(curves, LOOKS, strict=True):
        axes.loglog(USERS, curve, style, color=colour, linewidth=2)
        label_end(axes, USERS[-1], curve[-1], label, colour, fontsize=9, xytext=place)
    axes.axhline(EPS0, color="0.5", linewidth=1)
    axes.annotate(
        f"local guarantee of a single message: {EPS0:g}", (USERS[-1], EPS0), (0, 4),
        textcoords="offset points", ha="right", color="0.35",
    )  # fmt: skip
    axes.set(
        xlabel="users",
        ylabel="certified epsilon",
        title=f"What is seen of unary encoding: eps0 = {EPS0:g}, delta = {DELTA:g}",
        xlim=(USERS[0], USERS[-1] * 300),
        ylim=(4e-4, 20),
    )
    finish(axes)
    figure.savefig(Path(__file__).with_name("views.png"))


if __name__ == "__main__":
    main()
