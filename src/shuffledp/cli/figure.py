"""Pictures on the command line: which file, how large, and what stands above."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .._support.files import replacing, writing
from .._support.validate import between
from ..errors import InvalidParameter
from ..tools.style import checked_size, new_figure
from .values import Number

#: Where the options of a picture wait for `save`.
_LOOK = "shuffledp.picture"


class Size(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Inches: 7x4.2 is a width and a height."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            width, height = (float(part) for part in str(value).lower().split("x"))
        except ValueError:
            self.fail(f"{value!r} is not a size; write inches like 7x4.2.", param, ctx)
        return checked_size((width, height))


def picture_options(name: str, text: str) -> list[Any]:
    """The file of a picture, and how it is to look; commands are given the file alone."""
    file = click.option(
        name, "picture", type=click.Path(), metavar="FILE", help=text, callback=_savable
    )
    return [file, *look_options()]


def look_options() -> list[Any]:
    """How a picture is to look."""
    return [
        _look("title", "Title of the picture; '' for none.  [default: the protocol]"),
        _look(
            "figsize",
            "Width and height of the picture, in inches.",
            type=Size(),
            metavar="WxH",
        ),
        _look("dpi", "Dots in an inch of a .png picture.  [default: 110]", type=Number(whole=True)),
    ]


def _look(name: str, text: str, **more: Any) -> Any:
    def keep(context: Any, option: Any, value: Any) -> None:
        if value is not None:
            looks(context)[name] = between(name, value, 20, 2400) if name == "dpi" else value

    return click.option(f"--{name}", help=text, expose_value=False, callback=keep, **more)


def looks(context: click.Context | None = None) -> dict[str, Any]:
    """What this command was told of its picture: title, figsize and dpi."""
    here = context or click.get_current_context()
    found: dict[str, Any] = here.meta.setdefault(_LOOK, {}).setdefault(here, {})
    return found


def _savable(context: Any, option: Any, path: str | None) -> str | None:
    """Complain before the work if matplotlib is missing or knows no such format, or no folder."""
    if path is None:
        # options that were given come before those that were not; --out may be given elsewhere
        for name in looks(context) if "--plot" in option.opts else ():
            raise InvalidParameter(f"--{name} is for a picture; add --plot or leave it out.")
        return None
    known = new_figure(2, 2).canvas.get_supported_filetypes()
    if Path(path).suffix.lstrip(".").lower() not in known:
        raise InvalidParameter(
            f"{path!r} does not end in the name of a picture format; use .png, .pdf or .svg."
        )
    if not Path(path).parent.is_dir():
        raise InvalidParameter(
            f"{path} cannot be written: there is no folder {Path(path).parent}; create it."
        )
    return path


PICTURE = picture_options("--plot", "Draw it too: .png, .pdf or .svg.")


def draw(plot: Callable[..., Any], path: str | None) -> None:
    """What `plot` draws, given the title and the size of the options, goes to a file, if any."""
    if path is None:
        return
    look = dict(looks())
    dpi = look.pop("dpi", None)
    save(plot(**look), path, dpi)


def save(axes: Any, path: str, dpi: float | None = None) -> None:
    how = {} if dpi is None else {"dpi": dpi}
    with writing(path), replacing(path) as temporary:
        axes.figure.savefig(temporary, **how)
