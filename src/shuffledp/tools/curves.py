"""Curves of certified values, with their brackets as bands, and those of the literature."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import validate
from .._support.numeric import Bounds
from .._support.progress import progress
from ..accountant import repeated
from ..errors import InvalidParameter
from ..guarantee import best_effort
from ..published import BOUNDS
from ..published.bound import or_nan
from ..rounds import PEOPLE_DEFAULTS, Round
from ..shuffle import Shuffle
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (8, 2, 1, 2, 1, 2)))  # 5 x 6 pairs

Case = tuple[float, Round, int]  # a place on the axis, and how many of which rounds are there


def draw_epsilons(
    axes: Axes,
    curves: Mapping[str, Sequence[Case]],
    delta: float,
    published: bool,
    at_end: bool = True,
) -> None:
    """A curve of certified values for each label; bounds of the literature for the first."""
    delta = validate.delta(delta)
    first = next(iter(curves.values()))
    known = _literature(first) if published else []
    steps = sum(map(len, curves.values())) + len(known) * len(first)
    number = _drawn(axes)
    with progress("points", steps) as done:
        for label, cases in curves.items():
            points = []
            for x, round_, count in cases:
                points.append((x, best_effort(repeated(round_, count).epsilon_bounds, delta)))
                done(1)
            draw_curve(axes, points, number, label, at_end)
            number += 1
        shuffled = [(x, r, count) for x, r, count in first if isinstance(r, Shuffle)]
        for look, bound in known:
            ys = []
            for _, r, count in shuffled:
                given = (r.randomizer, r.users, r.sample_rate, count, delta)
                ys.append(or_nan(bound.epsilon, *given))
                done(1)
            _published(axes, [x for x, _, _ in shuffled], ys, bound.name, look)


def _drawn(axes: Axes) -> int:
    """How many curves of ours there are already, for the colour of the next."""
    return sum(line.get_gid() == _OURS for line in axes.lines)


_OURS = "certified"


def draw_curve(
    axes: Axes,
    points: Sequence[tuple[float, Bounds[float]]],
    number: int | None,
    label: str,
    at_end: bool = False,
    marker: str | None = None,
    steps: bool = False,
) -> None:
    """The upper value as a line, the bracket as a band; infinite values leave a gap.

    `steps`: values stay as they are up to the next point."""
    number = _drawn(axes) if number is None else number
    xs = [x for x, _ in points]
    low = [b.lower if math.isfinite(b.upper) else math.nan for _, b in points]
    high = [b.upper if math.isfinite(b.upper) else math.nan for _, b in points]
    colour = style.OURS[number % len(style.OURS)]
    line = _LINES[number % len(_LINES)]
    named = f"_{label}" if at_end else label  # a label at its end needs none in the legend
    look: dict[str, Any] = {"drawstyle": "steps-post"} if steps else {}
    axes.plot(
        xs, high, color=colour, linestyle=line, linewidth=2, label=named, marker=marker, gid=_OURS,
        **look,
    )  # fmt: skip
    band: dict[str, Any] = {"step": "post"} if steps else {}
    axes.fill_between(xs, low, high, color=colour, alpha=0.3, linewidth=0, **band)
    ends = [(x, y) for x, y in zip(xs, high, strict=True) if y > 0]
    if at_end and ends:
        style.label_end(axes, *ends[-1], label, colour)


def _literature(cases: Sequence[Any]) -> list[tuple[dict[str, Any], Any]]:
    """The proven bounds of the literature, each with a look that no curve of ours has."""
    sample = cases[0][1]
    if not isinstance(sample, Shuffle) or sample.neighbours != "replace":
        raise InvalidParameter(
            "published bounds are for shuffled messages and replace-one neighbours; leave out "
            "published."
        )
    unusual = [name for name, usual in PEOPLE_DEFAULTS.items() if getattr(sample, name) != usual]
    if unusual:
        raise InvalidParameter(
            "published bounds are for rounds of honest users with one message each; leave out "
            f"published or {', '.join(unusual)}."
        )
    if sample.sampling != "fixed" and sample.sample_rate < 1:
        raise InvalidParameter(
            "published bounds are for samples of a fixed size; leave out published or "
            f"sampling={sample.sampling!r}."
        )
    found = []
    for i, bound in enumerate(bound for bound in BOUNDS if bound.proven):
        look = {
            "color": style.NEUTRAL[i % len(style.NEUTRAL)],
            "marker": style.MARKERS[i % len(style.MARKERS)],
            "linestyle": _LINES[i % 2],
        }
        found.append((look, bound))
    return found


def _published(
    axes: Axes, xs: Sequence[float], ys: Sequence[float], name: str, look: Mapping[str, Any]
) -> None:
    """Thin, and left out where it does not apply."""
    if any(math.isfinite(y) for y in ys):
        thin: dict[str, Any] = {"linewidth": 0.9, "markersize": 4, "markerfacecolor": "white"}
        axes.plot(xs, ys, label=name, zorder=1.9, **thin, **look)


def finish(
    axes: Axes, x: str, y: str, title: str, given: str | None, *, note: str = "", log: str = ""
) -> Axes:
    """Labels and a legend; on logarithms, which need something above 0 to show."""
    axes.set(xlabel=x, ylabel=y)
    style.set_title(axes, title, given)
    style.finish(axes)
    if len(axes.get_legend_handles_labels()[1]) > (0 if note else 1):
        style.legend_below(axes, note)
    shown = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    if log and not any((ys > 0).any() for ys in shown if len(ys) > 1):
        raise InvalidParameter(
            "no value of the curve is positive and finite; choose another delta, analysis or range."
        )
    axes.set(**{f"{axis}scale": "log" for axis in log})
    return axes


def ascending(name: str, values: Sequence[Any], least: float) -> list[Any]:
    """Two or more numbers, in order."""
    for value in some(name, values):
        validate.real(name, value)
    xs = sorted(set(values))
    if len(xs) < 2:
        raise InvalidParameter(f"{name}={validate.show(values)} is one value; give two or more.")
    if xs[0] < least:
        raise InvalidParameter(f"{name}={xs[0]:g} is below {least:g}; give larger values.")
    return xs


def some(name: str, values: Sequence[Any]) -> Sequence[Any]:
    """A list that is not empty."""
    if not validate.listed(values) or len(values) == 0:
        raise InvalidParameter(
            f"{name}={validate.show(values)} is not a list of numbers; give one."
        )
    return values
