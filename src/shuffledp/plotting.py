"""Pictures of certified values: curves with their brackets as bands.

Every function draws into `ax`, or into a new figure, and returns the axes; `axes.figure` can be
saved or shown. Needs the extra `plot`; pyplot and its global state are never touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._support import validate
from ._support.numeric import Bounds
from .accountant import Accountant, repeated
from .errors import InvalidParameter
from .guarantee import NEIGHBOURS, Guarantee, anyway
from .published import BOUNDS
from .published.bound import or_nan
from .randomizers import Randomizer
from .rounds import USUAL_PEOPLE, Round
from .shuffle import Shuffle
from .tools import style
from .tools.plan import Ledger
from .tools.protocol import of_users

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)
_LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (8, 2, 1, 2, 1, 2)))  # 5 x 6 pairs

Case = tuple[float, Round, int]  # a place on the axis, and how many of which rounds are there


def plot_profile(
    guarantee: Guarantee,
    epsilons: Sequence[float] | None = None,
    *,
    label: str = "certified",
    ax: Axes | None = None,
) -> Axes:
    """delta against epsilon, of a round or of an accountant, down to delta = 1e-12 if not told."""
    validate.instance(guarantee, Guarantee, "has no profile; give a round or an accountant.")
    axes = _axes(ax)
    if epsilons is None:
        ends = (guarantee.get_epsilon(delta) for delta in (1e-12, 1e-9, 1e-6, 1e-3))
        end = next((end for end in ends if 0 < end < math.inf), 10.0)
        epsilons = np.linspace(0.0, end, 40).tolist()
    xs: list[float] = _ascending("epsilons", epsilons, 0.0)
    points = [(x, anyway(guarantee.delta_bounds, x)) for x in xs]
    _curve(axes, points, len(axes.lines), label)
    title = f"Privacy profile, {_described(guarantee)}"
    return _finish(axes, "epsilon", "certified delta", title, log="y")


def plot_epsilon_vs_users(
    randomizer: Randomizer,
    users: Sequence[int],
    *,
    delta: float,
    rounds: Sequence[int] = (1,),
    published: bool = False,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """epsilon against the number of users, one curve for each number of rounds.

    Options are `view` and those of such a round. `published` adds the bounds of the literature,
    for the first number of rounds, where they apply.
    """
    axes, xs = _axes(ax, published), _ascending("users", users, 1)
    curves = {
        _times(count): [(n, of_users(randomizer, n, **options), count) for n in xs]
        for count in _some("rounds", rounds)
    }
    _epsilons(axes, curves, delta, published)
    title = f"{randomizer!r}, {_said(**options)}delta = {delta:g}, {_relation(options)}"
    note = f"published bounds are for {_times(rounds[0])}" if published else ""
    return _finish(axes, "users", "certified epsilon", title, note, log="xy")


def plot_epsilon_vs_rounds(
    round_: Round,
    rounds: Sequence[int],
    *,
    delta: float,
    published: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """epsilon against the number of rounds like this one."""
    axes, xs = _axes(ax, published), _ascending("rounds", rounds, 1)
    _epsilons(axes, {"certified": [(k, round_, k) for k in xs]}, delta, published, at_end=False)
    title = f"{_described(round_)}, delta = {delta:g}"
    return _finish(axes, "rounds", "certified epsilon", title, log="xy")


def plot_amplification(
    family: Callable[..., Randomizer],
    eps0: Sequence[float],
    users: Sequence[int],
    *,
    delta: float,
    published: bool = False,
    called: str | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """epsilon of one round against eps0, one curve for each number of users.

    `family(eps0=...)` makes the randomizer, `called` so in the title. Below the grey line shuffling
    amplifies privacy.
    """
    axes, xs = _axes(ax, published), _ascending("eps0", eps0, 0.0)
    make = validate.maker("family", family, "randomizer", "eps0", "a class of randomizers")
    curves = {
        f"{int(count):,} users": [(x, of_users(make(eps0=x), count, **options), 1) for x in xs]
        for count in _some("users", users)
    }
    _epsilons(axes, curves, delta, published)
    axes.plot(xs, xs, color=style.GREY, linewidth=1, label="_local")
    middle = xs[len(xs) // 2]
    place = {"xytext": (-8, 6), "ha": "right"}
    style.label_end(axes, middle, middle, "local guarantee", style.GREY, **place)
    name = called or getattr(family, "__name__", "randomizer")
    title = f"{name}, one round, {_said(**options)}delta = {delta:g}, {_relation(options)}"
    note = f"published bounds are for {users[0]:,} users" if published else ""
    return _finish(axes, "eps0", "certified epsilon", title, note, log="y")


def plot_ledger(ledger: Ledger, *, ax: Axes | None = None) -> Axes:
    """The running epsilon of a plan after each entry, with its bracket, against the target."""
    validate.instance(ledger, Ledger, "is not a ledger; give plan.ledger() of a plan.")
    axes = _axes(ax)
    running = [entry.running for entry in ledger.entries]
    _curve(axes, list(enumerate(running, 1)), 0, "running epsilon", marker="o")
    axes.axhline(ledger.epsilon, color=style.VERMILION, linestyle="--", linewidth=1.5)
    axes.annotate(
        f"target: {ledger.epsilon:g}", (0.6, ledger.epsilon), (0, 4), textcoords="offset points",
        color=style.VERMILION,
    )  # fmt: skip
    whole = [entry.planned.name for entry in ledger.entries]
    short = [name if len(name) <= 40 else f"{name[:37]}..." for name in whole]
    names = [f"{n}\n{_times(e.planned.rounds)}" for n, e in zip(short, ledger.entries, strict=True)]
    look: dict[str, Any] = {"fontsize": 8, "parse_math": False}  # a name may have dollars
    if sum(map(len, short)) > 70:
        look |= {"rotation": 45, "ha": "right"}
    axes.set_xticks(range(1, len(names) + 1), names, **look)
    axes.set_xlim(0.5, len(names) + 0.5)
    verdict = "fits" if ledger.fits else "exceeds the target"
    title = f"Plan at delta = {ledger.delta:g}, {ledger.relation}: {verdict}"
    _finish(axes, "after", "running epsilon", title)
    uppers = [bounds.upper for bounds in running if math.isfinite(bounds.upper)]
    axes.set_ylim(bottom=0, top=1.15 * max([ledger.epsilon, *uppers]))
    return axes


def _axes(ax: Axes | None, tall: bool = False) -> Axes:
    return style.new_figure(7.0, 5.6 if tall else 4.2).subplots() if ax is None else ax


def _ascending(name: str, values: Sequence[Any], least: float) -> list[Any]:
    for value in _some(name, values):
        validate.real(name, value)
    xs = sorted(set(values))
    if len(xs) < 2:
        raise InvalidParameter(f"{name}={validate.show(values)} is one value; give two or more.")
    if xs[0] < least:
        raise InvalidParameter(f"{name}={xs[0]:g} is below {least:g}; give larger values.")
    return xs


def _some(name: str, values: Sequence[Any]) -> Sequence[Any]:
    if not validate.listed(values) or len(values) == 0:
        raise InvalidParameter(
            f"{name}={validate.show(values)} is not a list of numbers; give one."
        )
    return values


def _epsilons(
    axes: Axes,
    curves: Mapping[str, Sequence[Case]],
    delta: float,
    published: bool,
    at_end: bool = True,
) -> None:
    """A curve of certified values for each label; bounds of the literature for the first."""
    delta = validate.delta(delta)
    for i, (label, cases) in enumerate(curves.items(), 0 if at_end else len(axes.lines)):
        points = [(x, anyway(repeated(round_, k).epsilon_bounds, delta)) for x, round_, k in cases]
        _curve(axes, points, i, label, at_end)
    if published:
        _published(axes, next(iter(curves.values())), delta)


def _curve(
    axes: Axes,
    points: Sequence[tuple[float, Bounds[float]]],
    number: int,
    label: str,
    at_end: bool = False,
    marker: str | None = None,
) -> None:
    """The upper value as a line, the bracket as a band; infinite values leave a gap."""
    xs = [x for x, _ in points]
    low = [b.lower if math.isfinite(b.upper) else math.nan for _, b in points]
    high = [b.upper if math.isfinite(b.upper) else math.nan for _, b in points]
    colour = _COLOURS[number % len(_COLOURS)]
    line = _LINES[number % len(_LINES)]
    named = f"_{label}" if at_end else label  # a label at its end needs none in the legend
    axes.plot(xs, high, color=colour, linestyle=line, linewidth=2, label=named, marker=marker)
    axes.fill_between(xs, low, high, color=colour, alpha=0.3, linewidth=0)
    if at_end and math.isfinite(high[-1]):
        style.label_end(axes, xs[-1], high[-1], label, colour)


def _relation(options: Mapping[str, Any]) -> str:
    return NEIGHBOURS[options.get("neighbours", "replace")][0]


def _said(
    analysis: str = "best",
    sample_rate: float = 1.0,
    sampling: str = "fixed",
    view: str = Shuffle.view,
    neighbours: str = "",
    **people: float,
) -> str:
    """What a title says of the options of a round, but for its neighbours."""
    seen = "" if view == Shuffle.view else f"view {view}, "
    how = " (Poisson)" if sampling == "poisson" else ""
    sampled = "" if sample_rate == 1 else f"{sample_rate:.3g} of the users sampled{how}, "
    named = "".join(f"{name}={value:g}, " for name, value in people.items())
    return seen + sampled + named + ("" if analysis == "best" else f"analysis {analysis}, ")


def _published(axes: Axes, cases: Sequence[Case], delta: float) -> None:
    """The proven bounds of the literature, thin; left out where they do not apply."""
    sample = cases[0][1]
    if not isinstance(sample, Shuffle) or sample.neighbours != "replace":
        raise InvalidParameter(
            "published bounds are for shuffled messages and replace-one neighbours; leave out "
            "published."
        )
    unusual = [name for name, usual in USUAL_PEOPLE.items() if getattr(sample, name) != usual]
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
    for i, bound in enumerate(bound for bound in BOUNDS if bound.proven):
        ys = [
            or_nan(bound.epsilon, r.randomizer, r.users, r.sample_rate, rounds, delta)
            for _, r, rounds in cases
            if isinstance(r, Shuffle)
        ]
        if any(math.isfinite(y) for y in ys):
            line = _LINES[(i + i // 5) % len(_LINES)]
            colour = _COLOURS[1 + i % 5]  # the first is ours
            look: dict[str, Any] = {"color": colour, "linestyle": line, "linewidth": 1}
            xs = [x for x, _, _ in cases]
            axes.plot(xs, ys, alpha=0.8, marker=".", markersize=3, label=bound.name, **look)


def _finish(axes: Axes, x: str, y: str, title: str, note: str = "", log: str = "") -> Axes:
    """Labels and a legend; on logarithms, which need something above 0 to show."""
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(style.wrapped(title), fontsize=9.5)
    style.finish(axes)
    named = len(axes.get_legend_handles_labels()[1])
    if named > 1:
        place: dict[str, Any] = {"frameon": False, "fontsize": 7.5, "title_fontsize": 7.5}
        if named > 4:  # below the picture
            place |= {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 2}
        axes.legend(title=note or None, handlelength=4, **place)
    shown = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    if log and not any((ys > 0).any() for ys in shown if len(ys) > 1):
        raise InvalidParameter(
            "no value of the curve is positive and finite; choose another delta, analysis or range."
        )
    axes.set(**{f"{axis}scale": "log" for axis in log})
    return axes


def _times(rounds: int) -> str:
    return "1 round" if rounds == 1 else f"{int(rounds):,} rounds"


def _described(guarantee: Guarantee) -> str:
    if isinstance(guarantee, Round):
        said = _said(getattr(guarantee, "analysis", "best"), view=guarantee.view)
        return f"{guarantee.inside}, {guarantee.participants}, {said}{guarantee.relation}"
    if isinstance(guarantee, Accountant) and len(guarantee.rounds) == 1:
        ((round_, count),) = guarantee.rounds
        return f"{_times(count)} of {_described(round_)}"
    if isinstance(guarantee, Accountant):
        return f"composed rounds, {guarantee.relation}"
    return f"{guarantee!r}, {getattr(guarantee, 'relation', '')}"
