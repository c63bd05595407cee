"""Saving a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._support.files import replacing
from ..errors import InvalidParameter
from ..tools.style import new_figure


def savable(path: str) -> None:
    """Complain before the work if matplotlib is missing or knows no such format, or no folder."""
    known = new_figure(1, 1).canvas.get_supported_filetypes()
    if Path(path).suffix.lstrip(".").lower() not in known:
        raise InvalidParameter(
            f"{path!r} does not end in the name of a picture format; use .png, .pdf or .svg."
        )
    if not Path(path).parent.is_dir():
        raise InvalidParameter(
            f"{path} cannot be written: there is no folder {Path(path).parent}; create it."
        )


def save(axes: Any, path: str) -> None:
    try:
        with replacing(path) as temporary:
            axes.figure.savefig(temporary)
    except OSError as error:
        raise InvalidParameter(
            f"{path} cannot be written: {error.strerror}; choose another file."
        ) from None
