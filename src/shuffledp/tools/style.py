"""One look for every figure: colour-blind safe, told apart by line style too, labelled directly.

Matplotlib is imported only when something is drawn, and only its object interface: no global state.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._support.extras import load
from .._support.numeric import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Sequence[float] | Array
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"


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


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; one sentence if matplotlib is missing."""
    module = load("matplotlib.figure", "figures need", "'shuffledp[plot]'")
    figure: Figure = module.Figure(figsize=(width, height), dpi=110, layout="constrained")
    return figure


def wrapped(title: str, width: int = 72) -> str:
    """In lines that fit above a picture."""
    return textwrap.fill(title, width, break_on_hyphens=False)


def finish(axes: Axes) -> None:
    """Light grid, no box."""
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def label_end(axes: Axes, x: float, y: float, text: str, colour: str, **place: Any) -> None:
    """Write next to the last point of a curve, legibly over other lines."""
    box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    options: dict[str, Any] = {"xytext": (5, 0), "va": "center", "fontsize": 8, "bbox": box} | place
    axes.annotate(text, (x, y), textcoords="offset points", color=colour, **options)


def draw(title: str, caption: str, panels: Sequence[Panel], looks: dict[str, Look]) -> Figure:
    """All panels of a figure, one legend for the methods, direct labels for the rest."""
    columns = len(panels) if len(panels) <= 3 else 2
    rows = math.ceil(len(panels) / columns)
    figure = new_figure((7.0, 11.0, 13.5)[columns - 1], 4.2 * rows + 1.0)
    figure.suptitle(f"{title}\n{caption}", fontsize=9.5)
    shown: dict[str, Any] = {}
    all_axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel, axes in zip(panels, all_axes, strict=False):
        _draw_panel(axes, panel, looks, shown)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    figure.legend(
        list(shown.values()), list(shown), loc="outside lower center", ncols=min(columns + 1, 3),
        fontsize=8, frameon=False, handlelength=4,
    )  # fmt: skip
    return figure


def _draw_panel(axes: Axes, panel: Panel, looks: dict[str, Look], shown: dict[str, Any]) -> None:
    axes.set(
        title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel,
        xscale=panel.xscale, yscale=panel.yscale,
    )  # fmt: skip
    axes.title.set_fontsize(9.5)
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
    for curve in panel.curves:
        if curve.label:
            x, y = _label_place(curve, panel)
            label_end(axes, x, y, curve.label, looks[curve.method].colour)
    finish(axes)


def _label_place(curve: Curve, panel: Panel) -> tuple[float, float]:
    """The last point, or where a falling curve comes close to the lower edge of the panel."""
    points = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y > 0]
    if panel.ylim and panel.yscale == "log" and points[-1][1] < panel.ylim[0]:
        level = panel.ylim[0] ** 0.95 * panel.ylim[1] ** 0.05
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            if y1 < level <= y0:
                share = math.log(y0 / level) / math.log(y0 / y1)
                return x0 + share * (x1 - x0), level
    return points[-1]
