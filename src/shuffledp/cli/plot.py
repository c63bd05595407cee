"""`shuffledp plot`."""

from __future__ import annotations

from typing import Any

import click

from ..accountant import composed
from ..tools.options import (
    ANALYSIS,
    GAMMA,
    KIND,
    OTHER_PARAMETERS,
    PEOPLE,
    RANDOMIZER,
    ROUNDS,
    SAMPLING,
    USERS,
    Number,
    build,
    options,
    round_options,
    take_round,
)
from .figure import savable, save
from .ranges import Range

_PUBLISHED = click.option("--published", is_flag=True, help="Add the bounds of the literature.")
_OUT = click.option("--out", required=True, metavar="FILE", help="The picture: .png, .pdf or .svg.")
_DELTA = click.option("--delta", type=Number(), default="1e-6", show_default=True, help="At delta.")


#: gamma is another way to say eps0.
_BUT_GAMMA = [option for option in OTHER_PARAMETERS if option is not GAMMA]


def _list(name: str, default: str | None, text: str, whole: bool = True) -> Any:
    return click.option(
        f"--{name}",
        type=Range(whole),
        default=default,
        required=default is None,
        show_default=default is not None,
        metavar="LIST",
        help=text,
    )


@click.group()
def plot() -> None:
    """Pictures of certified values, with their brackets as bands.

    \b
      shuffledp plot profile --eps0 4 --users 10000 --rounds 4 --out profile.png
      shuffledp plot epsilon-vs-users --eps0 4 --rounds 1,10,100 --out users.pdf
      shuffledp plot epsilon-vs-rounds --eps0 2 --users 1e5 --published --out rounds.svg
      shuffledp plot amplification --users 1e3,1e4,1e5 --eps0 0.5:6:0.5 --out amplification.png
    """


@plot.command()
@options(*KIND, *SAMPLING, *PEOPLE, USERS, ROUNDS, _OUT)
def profile(rounds: int, out: str, **given: Any) -> None:
    """delta against epsilon."""
    from ..plotting import plot_profile

    savable(out)
    save(plot_profile(composed(take_round(given)[0], rounds)), out)


@plot.command("epsilon-vs-users")
@options(*KIND, *SAMPLING, *PEOPLE, _list("users", "1e3,1e4,1e5,1e6,1e7", "Users in each round."))
@options(_list("rounds", "1", "How many rounds are composed."), _DELTA, _PUBLISHED, _OUT)
def epsilon_vs_users(
    randomizer: str,
    users: list[int],
    rounds: list[int],
    delta: float,
    published: bool,
    out: str,
    **given: Any,
) -> None:
    """epsilon against users, a curve for each number of rounds."""
    from ..plotting import plot_epsilon_vs_users

    savable(out)
    kept = round_options(given)
    made = build(randomizer, given)
    drawn = plot_epsilon_vs_users(
        made, users, delta=delta, rounds=rounds, published=published, **kept
    )
    save(drawn, out)


@plot.command("epsilon-vs-rounds")
@options(*KIND, *SAMPLING, *PEOPLE, USERS)
@options(_list("rounds", "1,3,10,30,100,300,1000", "Rounds to compose."), _DELTA, _PUBLISHED, _OUT)
def epsilon_vs_rounds(
    rounds: list[int], delta: float, published: bool, out: str, **given: Any
) -> None:
    """epsilon against rounds."""
    from ..plotting import plot_epsilon_vs_rounds

    savable(out)
    round_, _ = take_round(given)
    save(plot_epsilon_vs_rounds(round_, rounds, delta=delta, published=published), out)


@plot.command()
@options(RANDOMIZER, *_BUT_GAMMA, ANALYSIS, *SAMPLING, *PEOPLE)  # --eps0 is a list here
@options(_list("eps0", "0.5:6:0.5", "Local epsilons.", whole=False))
@options(_list("users", "1e3,1e4,1e5,1e6", "Users in the round."), _DELTA, _PUBLISHED, _OUT)
def amplification(
    randomizer: str,
    users: list[int],
    eps0: list[float],
    delta: float,
    published: bool,
    out: str,
    **given: Any,
) -> None:
    """epsilon of one round against eps0, a curve for each number of users."""
    from ..plotting import plot_amplification

    savable(out)
    kept = round_options(given)

    def family(**value: float) -> Any:
        return build(randomizer, {**given, **value})

    fixed = [f"{name}={value}" for name, value in given.items() if value is not None]
    family.__name__ = " ".join([randomizer, *fixed])  # for the title
    drawn = plot_amplification(family, eps0, users, delta=delta, published=published, **kept)
    save(drawn, out)
