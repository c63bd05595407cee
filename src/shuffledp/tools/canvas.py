"""What our pictures are made of, where matplotlib has nothing like it: figures that are fit for
print and show themselves in notebooks, and labels that never lie on each other.

Only `style` imports this, once something is drawn: it needs matplotlib.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import IdentityTransform

from .._support.numeric import Array
from ..errors import InvalidParameter

#: Publishers refuse Type 3 fonts; text of an SVG can be searched and edited; equal pictures are
#: equal files.
_PRINT: dict[Any, Any] = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "shuffledp",
}
_DATES: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
_MOST_PIXELS = 10**8


class Picture(Figure):
    """A figure that is saved with fonts embedded and without dates, and that a notebook shows."""

    def savefig(self, fname: Any, **how: Any) -> None:
        """As matplotlib's, but for what stands above; one sentence if there is too little room."""
        named = isinstance(fname, (str, os.PathLike))
        suffix = os.path.splitext(fname)[1] if named else ""
        dates = _DATES.get(str(how.get("format") or suffix.lstrip(".")).lower(), {})
        if dates:
            how["metadata"] = dates | (how.get("metadata") or {})
        self._check_pixels(how.get("dpi"))
        with matplotlib.rc_context(_PRINT), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # an empty box says so
            warnings.filterwarnings("error", message=".*layout not applied")
            try:
                super().savefig(fname, **how)
            except UserWarning:
                width, height = self.get_size_inches()
                raise InvalidParameter(
                    f"figsize={width:g}x{height:g} leaves no room beside the labels; give more."
                ) from None

    def _check_pixels(self, dpi: Any) -> None:
        width, height = self.get_size_inches()
        each = float(dpi) if isinstance(dpi, (int, float)) else self.dpi
        if width * height * each**2 > _MOST_PIXELS:
            raise InvalidParameter(
                f"{width:g}x{height:g} inches at dpi={each:g} are more than {_MOST_PIXELS:.0e} "
                "pixels; give fewer inches or a smaller dpi."
            )

    def subplots(self, *shape: Any, **options: Any) -> Any:
        """As matplotlib's, with axes that show themselves, too."""
        kind = {"axes_class": PictureAxes} | (options.pop("subplot_kw", None) or {})
        return super().subplots(*shape, subplot_kw=kind, **options)

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """For a notebook, in twice the resolution, as screens have it; the titles as alternative
        text."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=2 * self.dpi)
        width, height = (round(inches * self.dpi) for inches in self.get_size_inches())
        titles = "; ".join(" ".join(axes.get_title().split()) for axes in self.axes)
        return buffer.getvalue(), {"width": width, "height": height, "alt": titles}


class PictureAxes(Axes):
    """Axes that a notebook shows at the end of a cell, with all of their figure."""

    def _repr_png_(self) -> Any:
        figure: Any = self.figure
        return figure.figure._repr_png_()  # of a part of a figure: the whole


class EndLabel(Annotation):
    """Text to the right of the end of a curve.

    All of them in one pair of axes stand in a column, as near to their ends as they can without
    touching. Where that is is decided when they are drawn: it holds for every size and format.
    """

    def __init__(self, axes: Axes, text: str, end: tuple[float, float], **look: Any) -> None:
        colour = look.pop("color")
        leader = {
            "arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 1,
            "relpos": (0.0, 0.5), "patchA": None,
        }  # fmt: skip
        super().__init__(
            text, end, (_APART, 0.0), textcoords="offset points", va="center", color=colour,
            arrowprops=leader, parse_math=False, **look,
        )  # fmt: skip
        self.set_transform(IdentityTransform())  # until it is drawn
        axes.add_artist(self)
        self.set_clip_box(None)  # it stands outside, and the layout is to make room for it
        self.set_clip_path(None)

    def end(self) -> Array:
        """Where the curve ends, in pixels."""
        axes: Any = self.axes
        data = self.xycoords == "data"
        transform: Any = axes.transData if data else self.xycoords
        return np.asarray(transform.transform(self.xy), dtype=float)

    def update_positions(self, renderer: Any) -> None:
        axes: Any = self.axes
        column = [text for text in axes.texts if isinstance(text, EndLabel)]
        column = [text for text in column if text is self or np.isfinite(text.end()).all()]
        ends = np.array([text.end() for text in column])
        high = [Text.get_window_extent(text, renderer).height for text in column]
        per_point = renderer.points_to_pixels(1.0)
        boxes = [height + 2 * per_point for height in high]
        places = spread(ends[:, 1].tolist(), boxes, axes.bbox.y0, axes.bbox.y1)
        x, y = self.end()
        right = float(ends[:, 0].max()) - x
        up = places[column.index(self)] - y
        self.xyann = (right / per_point + _APART, up / per_point)
        super().update_positions(renderer)


#: Points between the ends of curves and their labels.
_APART = 9.0


def spread(
    wanted: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Places of boxes of these heights, in the order of `wanted`, that do not overlap: the ones
    nearest to what is wanted, in squares, from `low` to `high` if that is enough for all of them.

    >>> spread([0.0, 1.0, 10.0], [2.0, 2.0, 2.0], -5.0, 15.0)
    [-0.5, 1.5, 10.0]
    >>> spread([0.0, 1.0, 10.0], [2.0, 2.0, 2.0], 0.0, 10.0)
    [1.0, 3.0, 9.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[float, int]] = []  # boxes that touch: the sum of their shifts, their number
    below = 0.0  # the height of all boxes so far
    for i in order:
        shift, count = wanted[i] - below - heights[i] / 2, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= shift / count:
            more, boxes = blocks.pop()
            shift, count = shift + more, count + boxes
        blocks.append((shift, count))
        below += heights[i]
    places, rest, below = [0.0] * len(wanted), iter(order), 0.0
    for shift, count in blocks:
        start = max(min(shift / count, high - sum(heights)), low)
        for _ in range(count):
            i = next(rest)
            places[i] = start + below + heights[i] / 2
            below += heights[i]
    return places
