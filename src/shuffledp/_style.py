"""One look for every figure: colour-blind safe, told apart by line style too, labelled directly.

Matplotlib is imported only when something is drawn, and only its object interface: no global state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import ShuffleDPError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    x: Sequence[float]
    y: Sequence[float]
    label: str = ""
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


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


class NoMatplotlib(ShuffleDPError, ImportError):
    """Figures need the extra `plot`."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; one sentence if matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NoMatplotlib(
            "figures need matplotlib, which is not installed; run pip install 'shuffledp[plot]'."
        ) from None
    return Figure(figsize=(width, height), dpi=110, layout="constrained")


def finish(axes: Axes) -> None:
    """Light grid, no box."""
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def label_end(axes: Axes, x: float, y: float, text: str, colour: str, **place: Any) -> None:
    """Write next to the last point of a curve."""
    options: dict[str, Any] = {"xytext": (5, 0), "va": "center", "fontsize": 8} | place
    axes.annotate(text, (x, y), textcoords="offset points", color=colour, **options)


def draw(
    title: str, caption: str, panels: Sequence[Panel], looks: dict[str, Look], columns: int = 2
) -> Figure:
    """All panels of a figure, one legend for the methods, direct labels for the rest."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(6.2 * columns, 4.2 * rows + 1.1)
    figure.suptitle(title, fontsize=11)
    shown: dict[str, Any] = {}
    for panel, axes in zip(
        panels, figure.subplots(rows, columns, squeeze=False).flat, strict=False
    ):
        _draw_panel(axes, panel, looks, shown)
    for axes in figure.axes[len(panels) :]:
        axes.set_visible(False)
    figure.legend(
        list(shown.values()), list(shown), loc="outside lower center", ncols=min(len(shown), 3),
        fontsize=8, frameon=False,
    )  # fmt: skip
    figure.supxlabel(caption, fontsize=7.5, color="0.3", wrap=True)
    return figure


def _draw_panel(axes: Axes, panel: Panel, looks: dict[str, Look], shown: dict[str, Any]) -> None:
    axes.set(
        title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel,
        xscale=panel.xscale, yscale=panel.yscale,
    )  # fmt: skip
    axes.title.set_fontsize(9.5)
    if panel.ylim:
        axes.set_ylim(*panel.ylim)
    for curve in panel.curves:
        look = looks[curve.method]
        (line,) = axes.plot(
            curve.x, curve.y, linestyle=look.line, color=look.colour, linewidth=look.width,
            marker=look.marker or None, markersize=4,
        )  # fmt: skip
        if curve.low is not None and curve.high is not None:
            axes.fill_between(
                curve.x, curve.low, curve.high, color=look.colour, alpha=0.25, linewidth=0
            )
        shown.setdefault(curve.method, line)
        if curve.label:
            _label(axes, curve, look, panel)
    finish(axes)


def _label(axes: Axes, curve: Curve, look: Look, panel: Panel) -> None:
    """At the last point that can be seen."""
    bottom, top = panel.ylim or (0.0 if panel.yscale == "linear" else 1e-300, math.inf)
    seen = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if bottom <= y <= top]
    if seen:
        label_end(axes, *seen[-1], curve.label, look.colour)
