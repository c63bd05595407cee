"""`shuffledp plot`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import click

from .._support.files import STDIN
from ..accountant import repeated
from ..errors import InvalidParameter
from ..tools.protocol import files, randomizer_of, split
from ..tools.sweep import in_words
from . import options as o
from .figure import looks, picture_options, save
from .values import Numbers

_OUT = (
    o.number("target", "Draw a line there, at a value of the vertical axis."),
    *picture_options("--out", "The picture: .png, .pdf or .svg."),
)
_PUBLISHED = click.option(
    "--published", is_flag=True, help="Add published bounds, for the first curve."
)
_CURVES = (o.DELTA, _PUBLISHED, *_OUT)


def _counts(name: str, text: str, default: str) -> Any:
    return o.numbers(name, text, whole=True, default=default)


class Drawing(NamedTuple):
    """One picture: the file, if it was named there, a function that draws, and how it looks."""

    file: str | None
    draw: Callable[..., Any]
    look: dict[str, Any]


@click.group(chain=True, cls=o.CommandGroup)
def plot() -> None:
    """Pictures of certified values, with their brackets as bands.

    \b
      shuffledp plot profile --eps0 4 --users 10000 --rounds 4 --out profile.png
      shuffledp plot profile --eps0 2 --users 1e4 --analysis clones,best --out two.png
      shuffledp plot epsilon-vs-users --eps0 4 --delta 1e-6 --rounds 1,10,100 --out users.pdf
      shuffledp plot epsilon-vs-rounds --eps0 2 --users 1e5 --delta 1e-6 --published --out r.svg
      shuffledp plot amplification --users 1e3,1e4,1e5 --delta 1e-6 --eps0 0.5:6:0.5 --out a.png

    \b
    Two of them, one after the other, are two panels of one figure:
      shuffledp plot profile --eps0 4 --users 1e4 \\
          epsilon-vs-rounds --eps0 4 --users 1e4 --delta 1e-6 --figsize 12x4 --out both.pdf
    """


@plot.result_callback()
def draw_together(drawings: list[Drawing]) -> None:
    """One picture, or several as panels of one."""
    from ..plotting import panels

    file = _once("--out", [drawing.file for drawing in drawings])
    size, dpi = (
        _once(f"--{name}", [drawing.look.pop(name, None) for drawing in drawings], needed=False)
        for name in ("figsize", "dpi")
    )
    if len(drawings) == 1:
        axes = drawings[0].draw(figsize=size, **drawings[0].look)
    else:
        places = panels(len(drawings), figsize=size)
        for (_, draw, look), ax in zip(drawings, places, strict=True):
            axes = draw(ax=ax, **look)
    save(axes, file, dpi)
    click.echo(f"Wrote {file}.")


def _once(name: str, given: list[Any], needed: bool = True) -> Any:
    """What is said for the whole figure."""
    found = [value for value in given if value is not None]
    if len(found) > 1 or (needed and not found):
        wrong = "is given more than once" if found else "is missing"
        raise InvalidParameter(f"{name} {wrong}; give it once for the whole picture.")
    return found[0] if found else None


def _drawing(given: dict[str, Any], name: str, *what: Any, **options: Any) -> Drawing:
    """The function of `plotting` of that name, to be called with all that was given for it."""
    from .. import plotting

    shown = {key: given[key] for key in ("delta", "published", "target") if key in given}
    draw = partial(getattr(plotting, name), *what, **shown, **options)
    return Drawing(given["picture"], draw, dict(looks()))


@plot.command()
@o.options(*o.round_options(None, Numbers), o.numbers("users", "Users in each round.", whole=True))
@o.options(_counts("rounds", "How many rounds are composed.", "1"), *_OUT)
def profile(picture: str | None, target: float | None, **given: Any) -> Drawing:
    """delta against epsilon, a curve for every combination of lists, as in a sweep."""
    over, fixed = o.lists_and_values(given)
    piped = [name for name in files() if over and fixed.get(name) == STDIN]
    if piped:
        raise InvalidParameter(f"--{piped[0]} - can be read only once; give several curves a file.")
    curves = {}
    for point in itertools.product(*over.values()):
        case = fixed | dict(zip(over, point, strict=True))
        label = ", ".join(in_words(name, case[name]) for name in over) or "certified"
        curves[label] = repeated(o.make_round(case), case.pop("rounds"))
    drawing = _drawing({"picture": picture, "target": target}, "plot_profile", curves)
    if over:  # labels say what differs, and the title what does not
        relations = dict.fromkeys(each.relation for each in curves.values())
        same = [in_words(name, value) for name, value in fixed.items()]
        said = ", ".join(["Privacy profiles", *same, " or ".join(relations)])
        drawing.look.setdefault("title", said)
    return drawing


@plot.command("epsilon-vs-users")
@o.options(*o.round_options(), _counts("users", "Users in each round.", "1e3,1e4,1e5,1e6,1e7"))
@o.options(_counts("rounds", "How many rounds are composed.", "1"), *_CURVES)
def epsilon_vs_users(users: list[int], rounds: list[int], **given: Any) -> Drawing:
    """epsilon against users, a curve for each number of rounds."""
    randomizer, settings = o.make_randomizer(given), split(given)[2]
    return _drawing(given, "plot_epsilon_vs_users", randomizer, users, rounds=rounds, **settings)


@plot.command("epsilon-vs-rounds")
@o.options(*o.round_options(), o.OPTIONAL_USERS)
@o.options(_counts("rounds", "Rounds to compose.", "1,3,10,30,100,300,1000"), *_CURVES)
def epsilon_vs_rounds(rounds: list[int], **given: Any) -> Drawing:
    """epsilon against rounds."""
    return _drawing(given, "plot_epsilon_vs_rounds", o.make_round(given), rounds)


@plot.command()
# --eps0 is a list here, and gamma is another way to say it
@o.options(*o.round_options(without=("eps0", "gamma")))
@o.options(o.numbers("eps0", "Local epsilons.", default="0.5:6:0.5"))
@o.options(_counts("users", "Users in the round.", "1e3,1e4,1e5,1e6"), *_CURVES)
def amplification(users: list[int], eps0: list[float], **given: Any) -> Drawing:
    """epsilon of one round against eps0, a curve for each number of users."""
    kind, parameters, settings = split(given)

    def family(eps0: float) -> Any:
        return randomizer_of(kind, {**parameters, "eps0": eps0}, prefix="--")

    called = " ".join([kind, *(f"{name}={value}" for name, value in parameters.items())])
    return _drawing(given, "plot_amplification", family, eps0, users, called=called, **settings)
