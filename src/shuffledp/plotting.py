"""Pictures of certified values: curves with their brackets as bands.

Every function draws into `ax`, or into a new figure of `figsize` inches, and returns the axes: at
the end of a cell a notebook shows them, and `axes.figure.savefig(...)` writes a file whose fonts
are embedded. `title` replaces what stands above, `target` is a dashed line at a value of the
vertical axis. Needs the extra `plot`; pyplot and its global state are never touched.

>>> from shuffledp import PureLDP, Shuffle
>>> from shuffledp.plotting import panels, plot_profile
>>> _ = plot_profile(Shuffle(PureLDP(eps0=2.0), users=1_000), [0.1, 0.2], ax=panels(2)[0])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._support import validate
from ._support.progress import progress
from ._support.text import plain
from .accountant import Accountant
from .errors import InvalidParameter
from .guarantee import NEIGHBOURS, Guarantee, best_effort
from .randomizers import Randomizer
from .rounds import Round
from .shuffle import Shuffle
from .tools import style
from .tools.curves import ascending, draw_curve, draw_epsilons, finish, some
from .tools.ledger import Ledger
from .tools.protocol import round_of_users
from .tools.sweep import SweepTable, sweep_curves
from .tools.timeline import Line, epsilon_by_round, timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches; the taller one with the names of published bounds below it.
_USUAL, _TALL = (7.0, 4.2), (7.0, 5.6)

Size = Sequence[float] | None


def panels(count: int = 2, *, figsize: Size = None) -> list[Axes]:
    """Axes side by side in one figure, to be given as `ax`.

    Parameters
    ----------
    count : int
        Number of axes, 1 to 12.
    figsize : pair of float, optional
        Width and height of the figure in inches.

    Returns
    -------
    list of matplotlib.axes.Axes
        From left to right.

    Examples
    --------
    >>> from shuffledp.plotting import panels
    >>> len(panels(3))
    3
    """
    columns = validate.count("count", count, 12)
    usual = (6.0 * columns, 4.4)
    figure = style.new_figure(*style.checked_size(usual if figsize is None else figsize))
    return list(figure.subplots(1, columns, squeeze=False)[0])


def plot_profile(
    guarantee: Guarantee | Mapping[str, Guarantee],
    epsilons: Sequence[float] | None = None,
    *,
    label: str = "certified",
    target: float | None = None,
    title: str | None = None,
    figsize: Size = None,
    ax: Axes | None = None,
) -> Axes:
    """Picture of delta against epsilon, for a round or an accountant.

    Parameters
    ----------
    guarantee : Guarantee or mapping of str to Guarantee
        A round, another mechanism or an accountant; or several by name, one curve each.
    epsilons : sequence of float, optional
        Two or more, 0 or larger; by default up to about delta = 1e-12.
    label : str
        Name of the curve.
    target, title, figsize, ax : optional
        Value of the vertical axis for a dashed line; text above the axes; width and height of a new
        figure in inches; axes to draw into instead.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    InvalidParameter
        If there is no round, or an argument has no meaning.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.plotting import plot_profile
    >>> plot_profile(Shuffle(PureLDP(eps0=2.0), users=1_000), [0.1, 0.2]).get_xlabel()
    'epsilon'
    """
    named = guarantee if isinstance(guarantee, Mapping) else {label: guarantee}
    if not named:
        raise InvalidParameter("there is no round; give one or more, by name.")
    for each in named.values():
        validate.instance(each, Guarantee, "has no profile; give a round or an accountant.")
    axes = style.axes_for(ax, figsize, _USUAL)
    given = None if epsilons is None else ascending("epsilons", epsilons, 0.0)
    with progress("points", len(named) * (40 if given is None else len(given))) as done:
        for name, each in named.items():
            found = []
            for x in given or np.linspace(0.0, _last_epsilon(each), 40).tolist():
                found.append((x, best_effort(each.delta_bounds, x)))
                done(1)
            draw_curve(axes, found, None, name)
    style.target_line(axes, target)
    relations = dict.fromkeys(getattr(each, "relation", "") for each in named.values())
    usual = f"Privacy profiles, {' or '.join(filter(None, relations))}"
    if len(named) == 1:
        usual = f"Privacy profile, {_described(next(iter(named.values())))}"
    return finish(axes, "epsilon", "certified delta", usual, title, log="y")


def _last_epsilon(guarantee: Guarantee) -> float:
    """Where delta is 1e-12, or as small as it becomes."""
    ends = (guarantee.get_epsilon(delta) for delta in (1e-12, 1e-9, 1e-6, 1e-3))
    return next((end for end in ends if 0 < end < math.inf), 10.0)


def plot_epsilon_vs_users(
    randomizer: Randomizer,
    users: Sequence[int],
    *,
    delta: float,
    rounds: Sequence[int] = (1,),
    published: bool = False,
    target: float | None = None,
    title: str | None = None,
    figsize: Size = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Picture of epsilon against the number of users, one curve for each number of rounds.

    Parameters
    ----------
    randomizer : Randomizer
        What every user applies to their value, such as RandomizedResponse(16, eps0=2.0).
    users : sequence of int
        Two or more numbers of users, 1 to 1e12.
    delta : float
        Privacy parameter, 0 for pure DP or 1e-280 to 1.
    rounds : sequence of int
        Numbers of rounds, 1 to 1e7.
    published : bool
        Whether to add the bounds of the literature for the first number of rounds, where they
        apply.
    target, title, figsize, ax : optional
        Value of the vertical axis for a dashed line; text above the axes; width and height of a new
        figure in inches; axes to draw into instead.
    **options : object
        `view`, and options of such a round.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Examples
    --------
    >>> from shuffledp import PureLDP
    >>> from shuffledp.plotting import plot_epsilon_vs_users
    >>> plot_epsilon_vs_users(PureLDP(eps0=2.0), [100, 1_000], delta=1e-6).get_xlabel()
    'users'
    """
    axes = style.axes_for(ax, figsize, _TALL if published else _USUAL)
    xs = ascending("users", users, 1)
    curves = {
        _times(count): [(n, round_of_users(randomizer, n, **options), count) for n in xs]
        for count in some("rounds", rounds)
    }
    draw_epsilons(axes, curves, delta, published)
    style.target_line(axes, target)
    usual = f"{randomizer!r}, {_said(**options)}delta = {plain(delta)}, {_relation(options)}"
    note = f"published bounds, for {_times(rounds[0])}:" if published else ""
    return finish(axes, "users", _epsilon(published), usual, title, note=note, log="xy")


def plot_epsilon_vs_rounds(
    round_: Round,
    rounds: Sequence[int],
    *,
    delta: float,
    label: str = "certified",
    published: bool = False,
    target: float | None = None,
    title: str | None = None,
    figsize: Size = None,
    ax: Axes | None = None,
) -> Axes:
    """Picture of epsilon against the number of rounds like this one.

    Parameters
    ----------
    round_ : Round
        A round, such as a `Shuffle`.
    rounds : sequence of int
        Two or more numbers of rounds, 1 to 1e7.
    delta : float
        Privacy parameter, 0 for pure DP or 1e-280 to 1.
    label : str
        Name of the curve.
    published : bool
        Whether to add the bounds of the literature, where they apply.
    target, title, figsize, ax : optional
        Value of the vertical axis for a dashed line; text above the axes; width and height of a new
        figure in inches; axes to draw into instead.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle
    >>> from shuffledp.plotting import plot_epsilon_vs_rounds
    >>> survey = Shuffle(PureLDP(eps0=2.0), users=1_000)
    >>> plot_epsilon_vs_rounds(survey, [1, 10], delta=1e-6).get_xlabel()
    'rounds'
    """
    axes = style.axes_for(ax, figsize, _TALL if published else _USUAL)
    xs = ascending("rounds", rounds, 1)
    draw_epsilons(axes, {label: [(k, round_, k) for k in xs]}, delta, published, at_end=False)
    style.target_line(axes, target)
    usual = f"{_described(round_)}, delta = {plain(delta)}"
    return finish(axes, "rounds", _epsilon(published), usual, title, log="xy")


def plot_amplification(
    family: Callable[..., Randomizer],
    eps0: Sequence[float],
    users: Sequence[int],
    *,
    delta: float,
    published: bool = False,
    called: str | None = None,
    target: float | None = None,
    title: str | None = None,
    figsize: Size = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Picture of epsilon of one round against eps0, one curve for each number of users.

    Below the grey line shuffling amplifies privacy.

    Parameters
    ----------
    family : callable
        `family(eps0=...)` makes the randomizer.
    eps0 : sequence of float
        Two or more local epsilons, 1e-6 to 200.
    users : sequence of int
        Numbers of users, 1 to 1e12.
    delta : float
        Privacy parameter, 0 for pure DP or 1e-280 to 1.
    published : bool
        Whether to add the bounds of the literature for the first number of users, where they apply.
    called : str, optional
        Name of the randomizer in the title.
    target, title, figsize, ax : optional
        Value of the vertical axis for a dashed line; text above the axes; width and height of a new
        figure in inches; axes to draw into instead.
    **options : object
        `view`, and options of such a round.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Examples
    --------
    >>> from shuffledp import PureLDP
    >>> from shuffledp.plotting import plot_amplification
    >>> plot_amplification(PureLDP, [1.0, 2.0], [1_000], delta=1e-6).get_xlabel()
    'eps0'
    """
    axes = style.axes_for(ax, figsize, _TALL if published else _USUAL)
    xs = ascending("eps0", eps0, 0.0)
    make = validate.maker("family", family, "randomizer", "eps0", "a class of randomizers")
    curves = {
        f"{int(count):,} users": [
            (x, round_of_users(make(eps0=x), count, **options), 1) for x in xs
        ]
        for count in some("users", users)
    }
    axes.plot(xs, xs, color=style.GREY, linewidth=3.5, alpha=0.5, zorder=1.8, label="_local")
    style.label_end(axes, xs[-1], xs[-1], "local guarantee", style.GREY)
    draw_epsilons(axes, curves, delta, published)
    style.target_line(axes, target)
    name = called or getattr(family, "__name__", "randomizer")
    usual = f"{name}, one round, {_said(**options)}delta = {plain(delta)}, {_relation(options)}"
    note = f"published bounds, for {users[0]:,} users:" if published else ""
    return finish(axes, "eps0", _epsilon(published), usual, title, note=note, log="y")


def plot_ledger(
    ledger: Ledger, *, title: str | None = None, figsize: Size = None, ax: Axes | None = None
) -> Axes:
    """Picture of the epsilon of a plan over time, with its bracket, against the target.

    There is a curve for each population, if any is named, and for each budget for periods, beside
    that budget. A plan without dates is drawn by its entries, or by the rounds of the only one.

    Parameters
    ----------
    ledger : Ledger
        What `Plan.ledger` returns.
    title, figsize, ax : optional
        Text above the axes; width and height of a new figure in inches; axes to draw into instead.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Examples
    --------
    >>> from shuffledp import Plan, PureLDP, Shuffle
    >>> from shuffledp.plotting import plot_ledger
    >>> from shuffledp.tools.plan import PlannedRound
    >>> weekly = PlannedRound("weekly", Shuffle(PureLDP(eps0=1.0), users=10_000), rounds=52)
    >>> plot_ledger(Plan(epsilon=1.0, delta=1e-6, rounds=(weekly,)).ledger()).get_xlabel()
    'rounds'
    """
    validate.instance(ledger, Ledger, "is not a ledger; give plan.ledger() of a plan.")
    axes = style.axes_for(ax, figsize, _USUAL)
    by_round = len(ledger.entries) == 1 and ledger.entries[0].planned.rounds > 1
    uppers = [e.running.upper for e in ledger.entries if math.isfinite(e.running.upper)]
    if ledger.is_dated:
        x = "date"
        uppers += _draw_timeline(axes, timeline(ledger))
    elif by_round:
        x = "rounds"
        draw_curve(axes, epsilon_by_round(ledger), None, "running epsilon")
    else:
        x = "after"
        for name, points in ledger.curves.items():
            draw_curve(axes, points, None, name.replace("$", r"\$"), marker="o")
    style.target_line(axes, ledger.epsilon)
    usual = f"Plan at delta = {plain(ledger.delta)}, {ledger.relation}: {ledger.outcome}"
    finish(axes, x, "running epsilon", usual, title)
    if x == "after":
        _name_entries(axes, ledger)
    axes.set_ylim(bottom=0, top=1.15 * max([ledger.epsilon, *uppers]))
    return axes


def _draw_timeline(axes: Axes, lines: Sequence[Line]) -> list[float]:
    """Curves by date and the budgets of periods; returns the largest finite values."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

    places = {day: float(date2num(day)) for line in lines for day, _ in line.points}  # type: ignore[no-untyped-call]
    is_whole = [line.name == lines[0].name for line in lines]
    highest: list[float] = []
    budgets: dict[tuple[str, float], int] = {}
    for number, (line, whole) in enumerate(zip(lines, is_whole, strict=True)):
        named = [line.population or "", "" if line.population and all(is_whole) else line.name]
        label = ", ".join(part for part in named if part).replace("$", r"\$")
        points = [(places[day], bounds) for day, bounds in line.points]
        draw_curve(axes, points, number, label, steps=True)
        highest += [bounds.upper for _, bounds in points if math.isfinite(bounds.upper)]
        if not whole:
            budgets.setdefault((line.name, line.epsilon), number)
    at_the_edge: Any = axes.get_yaxis_transform()
    for (name, epsilon), number in budgets.items():
        colour = style.OURS[number % len(style.OURS)]
        axes.axhline(epsilon, color=colour, linestyle=(0, (2, 3)), linewidth=1.1, label="_budget")
        text = f"{name}: {epsilon:g}"
        style.label_end(axes, 1.0, epsilon, text, colour, xycoords=at_the_edge)
        highest.append(epsilon)
    locator: Any = AutoDateLocator(maxticks=7)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    return highest


def plot_sweep(
    table: SweepTable,
    *,
    target: float | None = None,
    title: str | None = None,
    figsize: Size = None,
    ax: Axes | None = None,
) -> Axes:
    """Picture of the certified values of a sweep, against the parameter that takes most values.

    There is one curve for each combination of the other parameters.

    Parameters
    ----------
    table : SweepTable
        What `sweep` returns.
    target, title, figsize, ax : optional
        Value of the vertical axis for a dashed line; text above the axes; width and height of a new
        figure in inches; axes to draw into instead.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Examples
    --------
    >>> from shuffledp import sweep
    >>> from shuffledp.plotting import plot_sweep
    >>> plot_sweep(sweep({"users": [99, 999]}, eps0=2.0, delta=1e-6, jobs=1)).get_xlabel()
    'users'
    """
    validate.instance(table, SweepTable, "is not a sweep; give what sweep(...) returns.")
    found = sweep_curves(table)
    axes = style.axes_for(ax, figsize, _USUAL)
    for label, points in found.curves.items():
        draw_curve(axes, points, None, label, at_end=bool(label), marker="o")
    style.target_line(axes, target)
    usual = ", ".join(text for text in (found.same, table.relation) if text)
    return finish(axes, found.axis, f"certified {found.query}", usual, title, log=found.log)


def _name_entries(axes: Axes, ledger: Ledger) -> None:
    """Below the axis, side by side or, if there is no room for that, aslant."""
    width, height = style.room(axes)
    size, most = style.points(axes, 8.0), 40
    look: dict[str, Any] = {"fontsize": size, "parse_math": False}  # a name may have dollars
    planned = [entry.planned for entry in ledger.entries]
    widest = max(len(name) for p in planned for name in (p.name[:most], _times(p.rounds)))
    if len(planned) * (widest + 2) * 0.6 * size > 72 * 0.75 * width:
        look |= {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        most = max(int(6 * height), 12)
    short = (p.name if len(p.name) <= most else f"{p.name[: most - 3]}..." for p in planned)
    names = [f"{name}\n{_times(p.rounds)}" for name, p in zip(short, planned, strict=True)]
    axes.set_xticks(range(1, len(names) + 1), names, **look)
    axes.set_xlim(0.5, len(names) + 0.5)


def _epsilon(published: bool) -> str:
    """The name of an axis: bounds of the literature are not certified."""
    return "epsilon" if published else "certified epsilon"


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
    sampled = "" if sample_rate == 1 else f"{plain(sample_rate)} of the users sampled{how}, "
    named = "".join(f"{name}={plain(value)}, " for name, value in people.items())
    return seen + sampled + named + ("" if analysis == "best" else f"analysis {analysis}, ")


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
