"""`shuffledp plot`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import click

from ..accountant import repeated
from ..errors import InvalidParameter
from ..tools.protocol import randomizer_of, split
from .figure import looks, picture_options, save
from .options import (
    DELTA,
    PERHAPS_USERS,
    ROUNDS,
    Group,
    number,
    numbers,
    options,
    round_options,
    take_round,
)

_PUBLISHED = click.option("--published", is_flag=True, help="Add the bounds of the literature.")
_OUT = picture_options("--out", "The picture: .png, .pdf or .svg.")
_TARGET = number("target", "Draw a line there, at a value of the vertical axis.")
_CURVES = (DELTA, _PUBLISHED, _TARGET, *_OUT)
_MANY = "1,3,10,30,100,300,1000"


class Drawing(NamedTuple):
    """One picture: the file, if it was named there, a function that draws, and how it looks."""

    file: str | None
    draw: Callable[..., Any]
    look: dict[str, Any]


@click.group(chain=True, cls=Group)
def plot() -> None:
    """Pictures of certified values, with their brackets as bands.

    \b
      shuffledp plot profile --eps0 4 --users 10000 --rounds 4 --out profile.png
      shuffledp plot epsilon-vs-users --eps0 4 --delta 1e-6 --rounds 1,10,100 --out users.pdf
      shuffledp plot epsilon-vs-rounds --eps0 2 --users 1e5 --delta 1e-6 --published --out r.svg
      shuffledp plot amplification --users 1e3,1e4,1e5 --delta 1e-6 --eps0 0.5:6:0.5 --out a.png

    \b
    Two of them, one after the other, are two panels of one figure:
      shuffledp plot profile --eps0 4 --users 1e4 \\
          epsilon-vs-rounds --eps0 4 --users 1e4 --delta 1e-6 --figsize 12x4 --out both.pdf
    """


@plot.result_callback()
def together(drawings: list[Drawing]) -> None:
    """One picture, or several as panels of one."""
    from ..plotting import panels

    file = _once("--out", [drawing.file for drawing in drawings])
    size, dpi = (
        _once(f"--{name}", [drawing.look.pop(name, None) for drawing in drawings], needed=False)
        for name in ("figsize", "dpi")
    )
    if len(drawings) == 1:
        ((_, draw, look),) = drawings
        axes = draw(figsize=size, **look)
    else:
        places = panels(len(drawings), figsize=size)
        for (_, draw, look), ax in zip(drawings, places, strict=True):
            axes = draw(ax=ax, **look)
    save(axes, file, dpi)


def _once(name: str, given: list[Any], needed: bool = True) -> Any:
    """What is said for the whole figure."""
    found = [value for value in given if value is not None]
    if len(found) > 1 or (needed and not found):
        wrong = "is given more than once" if found else "is missing"
        raise InvalidParameter(f"{name} {wrong}; give it once for the whole picture.")
    return found[0] if found else None


def _drawing(file: str | None, plot: Callable[..., Any], *what: Any, **shown: Any) -> Drawing:
    return Drawing(file, partial(plot, *what, **shown), dict(looks()))


@plot.command()
@options(*round_options(), PERHAPS_USERS, ROUNDS, _TARGET, *_OUT)
def profile(rounds: int, target: float | None, picture: str | None, **given: Any) -> Drawing:
    """delta against epsilon."""
    from ..plotting import plot_profile

    shown = repeated(take_round(given), rounds)
    return _drawing(picture, plot_profile, shown, target=target)


@plot.command("epsilon-vs-users")
@options(*round_options())
@options(numbers("users", "Users in each round.", whole=True, default="1e3,1e4,1e5,1e6,1e7"))
@options(numbers("rounds", "How many rounds are composed.", whole=True, default="1"), *_CURVES)
def epsilon_vs_users(
    users: list[int],
    rounds: list[int],
    delta: float,
    published: bool,
    target: float | None,
    picture: str | None,
    **given: Any,
) -> Drawing:
    """epsilon against users, a curve for each number of rounds."""
    from ..plotting import plot_epsilon_vs_users

    kind, own, kept = split(given)
    randomizer = randomizer_of(kind, own, dash="--")
    shown = {"delta": delta, "rounds": rounds, "published": published, "target": target, **kept}
    return _drawing(picture, plot_epsilon_vs_users, randomizer, users, **shown)


@plot.command("epsilon-vs-rounds")
@options(*round_options(), PERHAPS_USERS)
@options(numbers("rounds", "Rounds to compose.", whole=True, default=_MANY), *_CURVES)
def epsilon_vs_rounds(
    rounds: list[int],
    delta: float,
    published: bool,
    target: float | None,
    picture: str | None,
    **given: Any,
) -> Drawing:
    """epsilon against rounds."""
    from ..plotting import plot_epsilon_vs_rounds

    round_ = take_round(given)
    shown: dict[str, Any] = {"delta": delta, "published": published, "target": target}
    return _drawing(picture, plot_epsilon_vs_rounds, round_, rounds, **shown)


@plot.command()
# --eps0 is a list here, and gamma is another way to say it
@options(*round_options(but=("eps0", "gamma")))
@options(numbers("eps0", "Local epsilons.", default="0.5:6:0.5"))
@options(numbers("users", "Users in the round.", whole=True, default="1e3,1e4,1e5,1e6"), *_CURVES)
def amplification(
    users: list[int],
    eps0: list[float],
    delta: float,
    published: bool,
    target: float | None,
    picture: str | None,
    **given: Any,
) -> Drawing:
    """epsilon of one round against eps0, a curve for each number of users."""
    from ..plotting import plot_amplification

    kind, own, kept = split(given)

    def family(eps0: float) -> Any:
        return randomizer_of(kind, {**own, "eps0": eps0}, dash="--")

    called = " ".join([kind, *(f"{name}={value}" for name, value in own.items())])
    shown = {"delta": delta, "published": published, "target": target, "called": called, **kept}
    return _drawing(picture, plot_amplification, family, eps0, users, **shown)
