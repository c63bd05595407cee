"""Saving a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .._support.files import replacing, writing
from ..errors import InvalidParameter
from ..tools.style import new_figure


def picture_option(name: str, text: str, **more: Any) -> Any:
    return click.option(
        name, "picture", type=click.Path(), metavar="FILE", help=text, callback=_savable, **more
    )


def _savable(context: Any, option: Any, path: str | None) -> str | None:
    """Complain before the work if matplotlib is missing or knows no such format, or no folder."""
    if path is None:
        return None
    known = new_figure(1, 1).canvas.get_supported_filetypes()
    if Path(path).suffix.lstrip(".").lower() not in known:
        raise InvalidParameter(
            f"{path!r} does not end in the name of a picture format; use .png, .pdf or .svg."
        )
    if not Path(path).parent.is_dir():
        raise InvalidParameter(
            f"{path} cannot be written: there is no folder {Path(path).parent}; create it."
        )
    return path


def save(axes: Any, path: str) -> None:
    with writing(path), replacing(path) as temporary:
        axes.figure.savefig(temporary)
