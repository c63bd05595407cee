"""Draws the pictures of the README and of the guide: `make picture`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from shuffledp import (
    Accountant,
    Aggregate,
    MixedShuffle,
    Plan,
    PureLDP,
    RandomAllocation,
    Shuffle,
    ShuffledBatches,
    UnaryEncoding,
)
from shuffledp.central import GaussianNoise
from shuffledp.guarantee import Guarantee, Mechanism
from shuffledp.mechanisms import PoissonSampled
from shuffledp.plotting import plot_ledger
from shuffledp.tools.style import GREY, OURS, finish, label_end, new_figure, set_title

LINES = ("-", "--", "-.", ":")


def draw(
    file: str,
    title: str,
    users: Sequence[int],
    curves: Mapping[str, Callable[[int], Guarantee]],
    eps0: float,
    delta: float,
) -> None:
    """Certified epsilon against users, a curve for each label, and the local guarantee."""
    axes = new_figure(7, 4).subplots()
    for (label, make), line, colour in zip(curves.items(), LINES, OURS, strict=False):
        curve = [make(count).get_epsilon(delta) for count in users]
        axes.loglog(users, curve, line, color=colour, linewidth=2)
        label_end(axes, users[-1], curve[-1], label, colour, fontsize=9.5)
    axes.axhline(eps0, color=GREY, linewidth=1)
    label_end(axes, users[-1], eps0, f"single message: {eps0:g}", GREY, fontsize=9.5)
    axes.set(xlabel="users in each round", ylabel="certified epsilon", xlim=(users[0], users[-1]))
    set_title(axes, f"{title}: eps0 = {eps0:g}, delta = {delta:g}")
    finish(axes)
    axes.figure.savefig(Path(__file__).with_name(file))


def repeated(rounds: int) -> Callable[[int], Guarantee]:
    def make(users: int) -> Guarantee:
        return Accountant().compose(Shuffle(PureLDP(4.0), users), rounds=rounds)

    return make


def powers(steps: int) -> list[int]:
    """From 10^2 to 10^9, so many in each decade."""
    return [round(10 ** (x / steps)) for x in range(2 * steps, 9 * steps + 1)]


def main() -> None:
    curves = {"1 round": repeated(1)}
    curves |= {f"{rounds:,} rounds": repeated(rounds) for rounds in (10, 100, 1000)}
    title = "What shuffling is worth, replace-one"
    draw("epsilon-against-users.png", title, powers(6), curves, eps0=4.0, delta=1e-6)

    bits = UnaryEncoding(k=256, eps0=8.0)
    views: dict[str, Callable[[int], Guarantee]] = {
        "messages seen": lambda users: Shuffle(bits, users),
        "sums seen, replace-one": lambda users: Aggregate(bits, users, "replace"),
        "sums seen, remove-one": lambda users: Aggregate(bits, users, "remove"),
    }
    title = "What is seen of unary encoding"
    draw("views.png", title, powers(3), views, eps0=8.0, delta=1e-9)
    draw_training("dp-sgd.png", sigma=1.0, steps=1000, delta=1e-6)
    plan = Plan.read(Path(__file__).parents[1] / "examples" / "years.toml")
    title = "Two years of telemetry, one person, delta = 1e-08, replace-one"
    figure = new_figure(7, 4.2)
    plot_ledger(plan.ledger(), title=title, ax=figure.subplots())
    figure.savefig(Path(__file__).with_name("years.png"))
    draw_rollout("rolling-out.png", delta=1e-8)


def draw_training(file: str, sigma: float, steps: int, delta: float) -> None:
    """Epsilon against epochs, for three ways to draw batches; of one of them between two curves."""
    axes, epochs = new_figure(7, 4).subplots(), [1, 2, 3, 5, 10, 20, 30, 50, 100]
    noise = GaussianNoise(sigma, neighbours="remove")
    poisson = PoissonSampled(noise, 1 / steps)
    kinds: dict[str, tuple[Mechanism, int]] = {
        "shuffled, zero-out, at most": (noise, 1),
        "shuffled batches, at least": (ShuffledBatches(sigma, steps), 1),
        "Poisson batches": (poisson, steps),
        "random allocation": (RandomAllocation(sigma, steps), 1),
    }
    for (label, (kind, times)), line, colour in zip(kinds.items(), LINES, OURS, strict=False):
        runs = [Accountant().compose(kind, count * times) for count in epochs]
        floor = isinstance(kind, ShuffledBatches)
        curve = [run.attained_epsilon(delta) if floor else run.get_epsilon(delta) for run in runs]
        axes.loglog(epochs, curve, line, color=colour, linewidth=2)
        label_end(axes, epochs[-1], curve[-1], label, colour, fontsize=9.5)
    axes.set(xlabel="epochs", ylabel="epsilon", xlim=(epochs[0], epochs[-1]))
    set_title(axes, f"Training: noise multiplier {sigma:g}, {steps:,} steps, delta = {delta:g}")
    finish(axes)
    axes.figure.savefig(Path(__file__).with_name(file))


def draw_rollout(file: str, delta: float) -> None:
    """Epsilon of each week of a roll-out for both releases, together and each by itself."""
    plan = Plan.read(Path(__file__).parents[1] / "examples" / "rollout.toml")
    rounds = [planned.round for planned in plan.rounds]
    axes, weeks = new_figure(7, 4).subplots(), range(1, len(rounds) + 1)
    for place, colour in zip((0, 1), OURS, strict=False):
        together, alone = [], []
        for round_ in rounds:
            assert isinstance(round_, MixedShuffle)
            group = round_.groups[place]
            together.append(round_.of(group.name).get_epsilon(delta))
            alone.append(Shuffle(group.randomizer, group.users).get_epsilon(delta))
        axes.semilogy(weeks, together, "-", color=colour, linewidth=2, marker="o")
        label_end(axes, weeks[-1], together[-1], f"{group.name} release", colour, fontsize=9.5)
        axes.semilogy(weeks, alone, "--", color=colour, linewidth=1.5)
        if place == 0:  # the other one ends at the same value as together
            label_end(axes, weeks[-1], alone[-1], "old, by itself", colour, fontsize=9.5)
        else:
            axes.annotate(
                "new, by itself", (weeks[1], alone[1]), (8, 3), textcoords="offset points",
                color=colour, fontsize=9.5,
            )  # fmt: skip
    axes.set(xlabel="week", ylabel="certified epsilon of the week", xlim=(weeks[0], weeks[-1]))
    set_title(axes, f"Two releases, eps0 = 4 and 2, a million users, delta = {delta:g}")
    finish(axes)
    axes.figure.savefig(Path(__file__).with_name(file))


if __name__ == "__main__":
    main()
