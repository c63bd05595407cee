"""`shuffledp plot`."""

from __future__ import annotations

from typing import Any

import click

from ..accountant import repeated
from ..tools.protocol import randomizer_of, split
from .figure import picture_option, save
from .options import PERHAPS_USERS, ROUNDS, number, numbers, options, round_options, take_round

_PUBLISHED = click.option("--published", is_flag=True, help="Add the bounds of the literature.")
_OUT = picture_option("--out", "The picture: .png, .pdf or .svg.", required=True)
_CURVES = (number("delta", "At delta.", default="1e-6"), _PUBLISHED, _OUT)
_MANY = "1,3,10,30,100,300,1000"


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
@options(*round_options(), PERHAPS_USERS, ROUNDS, _OUT)
def profile(rounds: int, picture: str, **given: Any) -> None:
    """delta against epsilon."""
    from ..plotting import plot_profile

    save(plot_profile(repeated(take_round(given), rounds)), picture)


@plot.command("epsilon-vs-users")
@options(*round_options())
@options(numbers("users", "Users in each round.", whole=True, default="1e3,1e4,1e5,1e6,1e7"))
@options(numbers("rounds", "How many rounds are composed.", whole=True, default="1"), *_CURVES)
def epsilon_vs_users(
    users: list[int], rounds: list[int], delta: float, published: bool, picture: str, **given: Any
) -> None:
    """epsilon against users, a curve for each number of rounds."""
    from ..plotting import plot_epsilon_vs_users

    kind, own, kept = split(given)
    randomizer = randomizer_of(kind, own, dash="--")
    shown = {"delta": delta, "rounds": rounds, "published": published, **kept}
    save(plot_epsilon_vs_users(randomizer, users, **shown), picture)


@plot.command("epsilon-vs-rounds")
@options(*round_options(), PERHAPS_USERS)
@options(numbers("rounds", "Rounds to compose.", whole=True, default=_MANY), *_CURVES)
def epsilon_vs_rounds(
    rounds: list[int], delta: float, published: bool, picture: str, **given: Any
) -> None:
    """epsilon against rounds."""
    from ..plotting import plot_epsilon_vs_rounds

    round_ = take_round(given)
    save(plot_epsilon_vs_rounds(round_, rounds, delta=delta, published=published), picture)


@plot.command()
# --eps0 is a list here, and gamma is another way to say it
@options(*round_options(but=("eps0", "gamma")))
@options(numbers("eps0", "Local epsilons.", default="0.5:6:0.5"))
@options(numbers("users", "Users in the round.", whole=True, default="1e3,1e4,1e5,1e6"), *_CURVES)
def amplification(
    users: list[int], eps0: list[float], delta: float, published: bool, picture: str, **given: Any
) -> None:
    """epsilon of one round against eps0, a curve for each number of users."""
    from ..plotting import plot_amplification

    kind, own, kept = split(given)

    def family(eps0: float) -> Any:
        return randomizer_of(kind, {**own, "eps0": eps0}, dash="--")

    called = " ".join([kind, *(f"{name}={value}" for name, value in own.items())])
    shown = {"delta": delta, "published": published, "called": called, **kept}
    save(plot_amplification(family, eps0, users, **shown), picture)
