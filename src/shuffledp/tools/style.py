"""One look for every figure: colour-blind safe, told apart by line style too, labelled directly.

Matplotlib is imported only when something is drawn, and only its object interface: no global state.
"""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .._support import validate
from .._support.extras import load
from .._support.numeric import Array
from ..errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .canvas import Picture

Points = Sequence[float] | Array
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"
INDIGO = "#332288"
#: Our own curves; those of the literature are neutral, and told apart by their markers.
OURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
NEUTRAL = ("#222222", "#666666", "#999999")
MARKERS = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "p", "h", "*")
_LEAST_WIDTH = 2.3  # inches of a panel beside others
_INCHES = (1.5, 60.0)  # that a picture may be wide or high


@dataclass(frozen=True)
class Look:
    """How a method is drawn in every figure."""

    colour: str
    line: Any = "-"  # a matplotlib line style
    width: float = 1.8
    marker: str = ""


@dataclass(frozen=True)
class Curve:
    """One line: what it is (drawn alike everywhere), which one it is, and its points."""

    method: str
    x: Points
    y: Points
    label: str = ""
    low: Points | None = None
    high: Points | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    xlabel: str
    ylabel: str
    curves: Sequence[Curve]
    xscale: str = "linear"
    yscale: str = "log"
    ylim: tuple[float, float] | None = None


def new_figure(width: float, height: float) -> Picture:
    """An empty figure; one sentence if matplotlib is missing."""
    load("matplotlib.figure", "figures need", "'shuffledp[plot]'")
    from .canvas import Picture

    return Picture(figsize=(width, height), dpi=110, layout="constrained")


def axes_for(ax: Axes | None, size: Sequence[float] | None, usual: tuple[float, float]) -> Axes:
    """The axes to draw into: those that are given, or new ones of this or of the usual size."""
    if ax is not None and size is not None:
        raise InvalidParameter(f"figsize={size} is that of a new figure; leave out figsize or ax.")
    if ax is not None:
        return ax
    axes: Axes = new_figure(*checked_size(usual if size is None else size)).subplots()
    return axes


class Drawable(ABC):
    """A result that draws itself."""

    #: Inches of a figure of its own, and the share of its width that a title may take.
    figsize: ClassVar[tuple[float, float]] = (8.0, 4.5)
    title_share: ClassVar[float] = 0.82

    def plot(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        figsize: Sequence[float] | None = None,
    ) -> Axes:
        """Axes with the picture of this result; needs the extra `plot`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default those of a new figure.
        title : str, optional
            Text above the axes, in place of the protocol.
        figsize : pair of float, optional
            Width and height of a new figure in inches.

        Returns
        -------
        matplotlib.axes.Axes
            At the end of a cell a notebook shows them.
        """
        axes = axes_for(ax, figsize, self.figsize)
        set_title(axes, self.draw_on(axes), title, self.title_share)
        return axes

    @abstractmethod
    def draw_on(self, axes: Axes) -> str:
        """Usual title of the picture, after it was drawn into these axes.

        Parameters
        ----------
        axes : matplotlib.axes.Axes
            Axes to draw into.

        Returns
        -------
        str
            The title.

        Raises
        ------
        InvalidParameter
            If there is nothing to draw.
        """


def checked_size(size: Sequence[float]) -> tuple[float, float]:
    if not validate.listed(size) or len(size) != 2:
        raise InvalidParameter(
            f"figsize={validate.show(size)} is not a width and a height; give both in inches."
        )
    width, height = (
        validate.between(name, inches, *_INCHES)
        for name, inches in zip(("width", "height"), size, strict=True)
    )
    return width, height


def room(axes: Axes) -> tuple[float, float]:
    """Width and height in inches of the part of a figure that belongs to the axes."""
    figure: Any = axes.figure
    width, height = figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi
    spec = axes.get_subplotspec()
    if spec is None:
        place = axes.get_position()
        return width * place.width, height * place.height
    rows, columns = spec.get_gridspec().get_geometry()
    return width * len(spec.colspan) / columns, height * len(spec.rowspan) / rows


def points(axes: Axes, usual: float) -> float:
    """The size of text that is `usual` in a picture of 7 by 4.2 inches: smaller in small ones, so
    that there is room, and larger in large ones, which are seen from afar."""
    width, height = room(axes)
    return usual * min(max(math.sqrt(min(width / 7.0, height / 4.2)), 0.65), 1.6)


def wrapped(title: str, width: int = 72) -> str:
    """In lines that fit above a picture; none ends within "delta = 1e-06" or "(1, 1e-06)".

    >>> print(wrapped("10,000 users, 1 round within (1, 1e-06)", 32))
    10,000 users, 1 round within
    (1, 1e-06)
    """
    kept = re.sub(r" = |\([^()]{,24}\)", lambda found: found[0].replace(" ", "\xa0"), title)
    lines = (textwrap.fill(line, width, break_on_hyphens=False) for line in kept.splitlines())
    return "\n".join(lines).replace("\xa0", " ")


def set_title(axes: Axes, usual: str, given: str | None = None, share: float = 0.82) -> None:
    """The title that is given, or the usual one, wrapped to this share of the width."""
    size = points(axes, 9.5)
    columns = int(72 * room(axes)[0] * share / (0.58 * size))
    title = wrapped(usual if given is None else given, columns)
    axes.set_title(title, fontsize=size, parse_math=False)


def finish(axes: Axes) -> None:
    """Light grid, no box, text that fits the size."""
    axes.grid(which="major", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(which="both", labelsize=points(axes, 9.5))
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_fontsize(points(axes, 10))


def label_end(axes: Axes, x: float, y: float, text: str, colour: str, **look: Any) -> None:
    """Write beside the end of a curve; such labels never lie on each other."""
    from .canvas import EndLabel

    EndLabel(axes, text, (x, y), color=colour, **{"fontsize": points(axes, 8.5), **look})


def label_at(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    """Write next to a point, legibly over lines."""
    box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    axes.annotate(
        text, (x, y), (5, 0), textcoords="offset points", va="center", color=colour,
        fontsize=points(axes, 8), bbox=box,
    )  # fmt: skip


def target_line(axes: Axes, value: float | None) -> None:
    """A dashed line at a value of the vertical axis that is not to be exceeded, if there is one."""
    if value is None:
        return
    if validate.real("target", value) <= 0:
        raise InvalidParameter(f"target={value:g} is not positive; give one above 0.")
    axes.axhline(value, color=BLACK, linestyle=(0, (5, 3)), linewidth=1.1, label="_target")
    at_the_edge: Any = axes.get_yaxis_transform()
    label_end(axes, 1.0, value, f"target {value:g}", BLACK, xycoords=at_the_edge)


def legend_below(axes: Axes, title: str = "") -> None:
    """What is named, where no curve can be, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    handles, names = axes.get_legend_handles_labels()
    size = points(axes, 8)
    wide = size * (0.55 * max(map(len, names)) + 6)
    columns = min(max(int(72 * room(axes)[0] / wide), 1), 3, len(names))
    figure: Any = axes.figure
    # below the axis and its name: two lines of text, and what is between them
    down = ScaledTranslation(0, -points(axes, 40) / 72, figure.dpi_scale_trans)
    axes.legend(
        handles, names, title=title or None, loc="upper center", bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + down, ncols=columns, frameon=False, fontsize=size,
        title_fontsize=size, handlelength=3.5, borderpad=0,
    )  # fmt: skip


def draw(
    title: str,
    panels: Sequence[Panel],
    looks: dict[str, Look],
    size: tuple[float, float] | None = None,
) -> Picture:
    """All panels of a figure, one legend for the methods, direct labels for the rest.

    In a figure that is as narrow as a column of a paper, the panels stand below each other.
    """
    columns = len(panels) if len(panels) <= 3 else 2
    if size is not None:
        columns = max(min(columns, int(size[0] / _LEAST_WIDTH)), 1)
    rows = math.ceil(len(panels) / columns)
    usual = (7.0, 11.0, 13.5)[columns - 1], 4.2 * rows + 1.0
    width, height = usual if size is None else size
    figure = new_figure(width, height)
    scale = min(max(math.sqrt(width / usual[0]), 0.65), 1.0)
    if title:
        letters = int(72 * width / (0.5 * 9.5 * scale))
        figure.suptitle(wrapped(title, letters), fontsize=9.5 * scale)
    shown: dict[str, Any] = {}
    all_axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel, axes in zip(panels, all_axes, strict=False):
        _draw_panel(axes, panel, looks, shown)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    fitting = int(72 * width / (8 * scale * (0.55 * max(map(len, shown)) + 6)))
    figure.legend(
        list(shown.values()), list(shown), loc="outside lower center",
        ncols=max(min(columns + 1, 3, fitting), 1), fontsize=8 * scale, frameon=False,
        handlelength=4,
    )  # fmt: skip
    return figure


def _draw_panel(axes: Axes, panel: Panel, looks: dict[str, Look], shown: dict[str, Any]) -> None:
    axes.set(
        title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel,
        xscale=panel.xscale, yscale=panel.yscale,
    )  # fmt: skip
    axes.title.set_fontsize(points(axes, 9.5))
    for curve in panel.curves:
        look = looks[curve.method]
        (line,) = axes.plot(
            curve.x, curve.y, linestyle=look.line, color=look.colour, linewidth=look.width,
            marker=look.marker or None, markersize=4, markerfacecolor="none",
        )  # fmt: skip
        if curve.low is not None and curve.high is not None:
            axes.fill_between(
                curve.x, curve.low, curve.high, color=look.colour, alpha=0.25, linewidth=0
            )
        shown.setdefault(curve.method, line)
    if panel.ylim:
        axes.set_ylim(*panel.ylim)
    # several methods may share a label, which is written once, beside the last of them
    for label, curve in {curve.label: curve for curve in panel.curves if curve.label}.items():
        x, y = _label_place(curve, panel)
        label_at(axes, x, y, label, looks[curve.method].colour)
    finish(axes)


def _label_place(curve: Curve, panel: Panel) -> tuple[float, float]:
    """The last point, or where a falling curve comes close to the lower edge of the panel."""
    points = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y > 0]
    level = panel.ylim[0] ** 0.95 * panel.ylim[1] ** 0.05 if panel.ylim else 0.0
    if panel.yscale == "log" and points[-1][1] < level:
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            if y1 < level <= y0:
                share = math.log(y0 / level) / math.log(y0 / y1)
                return x0 + share * (x1 - x0), level
    return points[-1]
