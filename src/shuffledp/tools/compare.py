"""Our bound beside published bounds, for one protocol."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._support import validate
from .._support.numeric import Bounds
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import CaptionedTable, latex_table
from .._support.text import plain, rounded_up, several, wrapped
from ..accountant import repeated
from ..allocation import RandomAllocation
from ..errors import InvalidParameter, OutOfRange
from ..guarantee import DEFAULT_RTOL, best_effort
from ..rounds import Round
from ..shuffle import Shuffle
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..published.bound import PublishedBound
    from ..published.random_allocation import TrainingBound


#: Of the formula of Koskela et al. 2023 for A_s: docs/paper.md.
_NOT_PROVEN = (
    "printed as a bound, but too low for some parameters: delta = 3.0e-12 instead of 8.1e-12 for "
    "k = 2, gamma = 0.8, n = 100 and e^epsilon = 5"
)


class ComparisonRow(NamedTuple):
    """One bound of the literature: its epsilon, or why it does not apply.

    Attributes
    ----------
    name : str
        Name of the bound.
    epsilon : float or None
        Its epsilon; None if it does not apply.
    ratio : float or None
        Its epsilon over our certified upper value, if that is positive and finite.
    source : str
        Authors, year, venue and theorem.
    reason : str
        Why it does not apply, or why it is no bound; else empty.
    composition : str or None
        How several rounds were composed; None for a single round, or if it does not apply.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle, compare
    >>> first = compare(Shuffle(PureLDP(eps0=0.5), users=1_000), delta=1e-6).rows[0]
    >>> 0 < first.epsilon < 1, first.reason
    (True, '')
    """

    name: str
    epsilon: float | None
    ratio: float | None
    source: str
    reason: str
    composition: str | None

    @property
    def is_bound(self) -> bool:
        """Whether it applies and is a bound for this protocol."""
        return not self.reason


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _named(row: ComparisonRow) -> str:
    """The name of a bound, with a warning if it is none for this protocol."""
    is_warned = not row.is_bound and row.epsilon is not None and "not a bound" not in row.name
    return f"{row.name} (not a bound)" if is_warned else row.name


def _rank(row: ComparisonRow) -> tuple[bool, bool, float]:
    """Bounds first, then what is none, then what does not apply."""
    applies = row.epsilon is not None
    return not row.is_bound, not applies, row.epsilon if row.epsilon is not None else math.inf


@dataclass(frozen=True, repr=False)
class Comparison(Records, style.Drawable):
    """Our certified bounds and the rows of the literature, from the smallest epsilon on.

    What is printed as a bound and is none comes after all bounds.

    Attributes
    ----------
    round : Round
        The round that is compared.
    rounds : int
        Number of such rounds.
    delta : float
        Privacy parameter at which epsilons are compared.
    ours : Bounds
        Certified bounds on epsilon.
    rows : tuple of ComparisonRow
        One per published bound; those that do not apply are last.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle, compare
    >>> compared = compare(Shuffle(PureLDP(eps0=1.0), users=10_000), delta=1e-6)
    >>> compared.ours.upper < 0.1
    True
    """

    title_share = 0.6
    round: Round
    rounds: int
    delta: float
    ours: Bounds[float]
    rows: tuple[ComparisonRow, ...]

    def __str__(self) -> str:
        lines = [
            wrapped(f"{self._protocol}."),
            "",
            f"{'epsilon':>10}  {'ratio':>8}  {self._aligned('composition')}bound",
        ]
        lines += [self._line(row) for row in self._all if row.is_bound]
        if wrong := [row for row in self.rows if not row.is_bound and row.epsilon is not None]:
            lines += ["", "Not a bound:", *map(self._line, wrong)]
        lines += ["", wrapped("ratio: the epsilon over that of shuffledp, whose analysis is:")]
        lines += [wrapped(f"{self.round.explained.theorem}.", "  ", 2)]
        others: dict[str, list[str]] = {}
        for row in self.rows:
            if row.epsilon is None:
                others.setdefault(row.reason, []).append(row.name)
        if others:
            lines += ["", "Does not apply:"]
            lines += [wrapped(f"{'; '.join(who)}: {why}", "  ", 4) for why, who in others.items()]
        return "\n".join(lines)

    def _line(self, row: ComparisonRow) -> str:
        assert row.epsilon is not None
        note = f" ({row.reason})" if row.reason else ""
        how = self._aligned(row.composition or "")
        numbers = f"{rounded_up(row.epsilon):>10}  {_ratio(row.ratio):>8}  {how}"
        return wrapped(f"{row.name}{note}", numbers, len(numbers))

    def _aligned(self, composition: str) -> str:
        """A cell of that column, which is left out for a single round."""
        return f"{composition:<16}  " if self.rounds > 1 else ""

    @property
    def _protocol(self) -> str:
        times = several(self.rounds, self.round.noun)
        what = f"{times} of {self.round.participants}, {self.round.inside}"
        return f"{what}, delta = {plain(self.delta)}, {self.round.relation}"

    @property
    def composition(self) -> str | None:
        """How our bounds compose several rounds; None for a single round."""
        from ..published.bound import NUMERICAL

        return NUMERICAL if self.rounds > 1 else None

    @property
    def _all(self) -> list[ComparisonRow]:
        """The rows with ours first."""
        name = f"shuffledp, {self.round.explained.name}"
        ratio = 1.0 if 0 < self.ours.upper < math.inf else None
        source = "certified by this package"
        ours = ComparisonRow(name, self.ours.upper, ratio, source, "", self.composition)
        return [ours, *self.rows]

    def records(self) -> list[dict[str, Any]]:
        each = (row._asdict() for row in self._all)
        return [{"bound": row.pop("name"), **row} for row in each]

    def as_table(self) -> CaptionedTable:
        """The bounds that apply; with several rounds, how each was composed."""
        head = ("bound", "epsilon", "ratio", "composition")
        rows = [
            (_named(row), rounded_up(row.epsilon), _ratio(row.ratio), row.composition or "")
            for row in self._all
            if row.epsilon is not None
        ]
        shown = len(head) if self.rounds > 1 else 3
        return CaptionedTable(self._protocol, head[:shown], [row[:shown] for row in rows])

    def to_latex(self) -> str:
        """As a table of LaTeX, for the package booktabs, that cites the entries of `to_bibtex`."""
        from ..published.references import PACKAGE, citation

        ours, *others = self._all
        cited = {ours.name: ",".join(filter(None, [PACKAGE, citation(self._theorem)]))}
        cited |= {_named(row): key for row in others if (key := citation(self._used(row)))}
        return f"{latex_table(self.as_table(), cited)}\n"

    def to_bibtex(self) -> str:
        """Entries of BibTeX: this package, and the papers of its analysis and of the bounds.

        >>> from shuffledp import PureLDP, Shuffle, compare
        >>> compared = compare(Shuffle(PureLDP(eps0=0.5), users=1_000), delta=1e-6)
        >>> "@inproceedings{feldman2023stronger," in compared.to_bibtex()
        True
        """
        from ..published.references import bibliography

        sources = (self._used(row) for row in self.rows if row.epsilon is not None)
        return bibliography([self._theorem, *sources])

    def _used(self, row: ComparisonRow) -> str:
        """The source, without theorems about several rounds or samples where there are none."""
        from ..published.bound import ROUNDS_BY, SAMPLES_BY

        paper, _, ways = row.source.partition(ROUNDS_BY)
        rounds, _, samples = ways.partition(SAMPLES_BY)
        is_sampled = getattr(self.round, "sample_rate", 1.0) < 1
        parts = paper, rounds if self.rounds > 1 else "", samples if is_sampled else ""
        return "; ".join(filter(None, parts))

    @property
    def _theorem(self) -> str:
        from ..published.references import papers_of

        return papers_of(self.round.explained.theorem, self.rounds)

    def draw_on(self, axes: Axes) -> str:
        # the epsilons that apply as bars, ours first
        bars = [("shuffledp", self.ours.upper)]
        bars += [(_named(row), row.epsilon) for row in self.rows if row.epsilon is not None]
        names, values = zip(*reversed(bars), strict=True)
        seen = [value if 0 < value < math.inf else math.nan for value in values]
        if all(map(math.isnan, seen)):
            raise InvalidParameter(
                f"no epsilon at delta={self.delta:g} is positive and finite; choose another delta."
            )
        colours = [style.GREY] * (len(bars) - 1) + [style.BLUE]
        axes.barh(range(len(bars)), seen, color=colours)
        width, height = style.room(axes)
        shown = [style.wrapped(name, max(int(10 * width), 12)) for name in names]
        axes.set_yticks(range(len(bars)), shown)
        axes.set_ylim(-0.6, len(bars) - 0.4)
        least, most = np.nanmin(seen), np.nanmax(seen)
        axes.set_xscale("log" if most > 10 * least else "linear")
        for place, value in enumerate(values):  # 0 and infinity have no bar, but a number
            end = value if value in seen else least
            number = f" {rounded_up(value, 3)}"
            axes.annotate(number, (end, place), va="center", fontsize=style.points(axes, 9.5))
        axes.margins(x=0.15)
        style.finish(axes)
        lines = len(bars) * (1 + max(name.count("\n") for name in shown))
        # as large as elsewhere, if all lines of all names fit
        axes.tick_params("y", labelsize=min(style.points(axes, 9.5), 40 * height / lines))
        axes.set_xlabel(f"epsilon at delta = {plain(self.delta)}")
        return self._protocol.replace(f", delta = {plain(self.delta)}", "")  # it is on the axis


def _comparable(round_: Round) -> Shuffle:
    """The round, if it is one that the literature speaks of."""
    if not isinstance(round_, Shuffle):
        raise OutOfRange(f"it is for shuffled messages, not for {round_.seen}.")
    if round_.neighbours != "replace":
        raise OutOfRange(f"it is for replace-one neighbours, not for {round_.relation} ones.")
    sampled = round_.sample_rate < 1
    if sampled and round_.sampling == "poisson":
        raise OutOfRange("it is for samples of a fixed size, not for Poisson sampling.")
    if sampled and round_.honest < round_.users:
        raise OutOfRange("it does not cover samples with colluding or missing users.")
    if round_.messages > 1:
        raise OutOfRange("it is for one message of each user in a round.")
    return round_


def compare(
    round_: Round, rounds: int = 1, delta: float | None = None, *, rtol: float = DEFAULT_RTOL
) -> Comparison:
    """Comparison of every published bound for these rounds with ours.

    Parameters
    ----------
    round_ : Round
        A round, such as a `Shuffle` or a `RandomAllocation`.
    rounds : int
        Number of rounds, 1 to 1e7.
    delta : float
        Privacy parameter, 0 for pure DP or 1e-280 to 1. It has to be given: epsilons can only be
        compared at a delta that was chosen.
    rtol : float
        Relative width in epsilon to aim for, 1e-7 to 0.5.

    Returns
    -------
    Comparison
        Each row says where it comes from.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle, compare
    >>> table = compare(Shuffle(PureLDP(eps0=3.0), 100_000, sample_rate=0.01), 1000, 1e-5)
    >>> round(table.ours.upper, 3)
    0.191
    """
    from ..published import BOUNDS, random_allocation  # only who compares has to load them

    validate.instance(round_, Round, "is not a round; give a Shuffle.")
    rounds = validate.count("rounds", rounds, validate.MAX_ROUNDS)
    if delta is None:
        raise InvalidParameter("delta is missing; say at which delta epsilons are to be compared.")
    delta = validate.delta(delta)
    rows = []
    training = random_allocation.TRAINING_BOUNDS
    bounds = training if isinstance(round_, RandomAllocation) else BOUNDS
    with progress("bounds", 1 + len(bounds)) as done:
        ours = best_effort(repeated(round_, rounds).epsilon_bounds, delta, rtol=rtol)
        done(1)
        for bound in bounds:
            rows.append(_row(bound, round_, rounds, delta, ours.upper))
            done(1)
    rows.sort(key=_rank)
    return Comparison(round_, rounds, delta, ours, tuple(rows))


def _row(
    bound: PublishedBound | TrainingBound, round_: Round, rounds: int, delta: float, ours: float
) -> ComparisonRow:
    try:
        epsilon, how, reason = _value(bound, round_, rounds, delta)
    except OutOfRange as error:
        return ComparisonRow(bound.name, None, None, bound.source, str(error), None)
    ratio = epsilon / ours if 0 < ours < math.inf else None
    composition = how if rounds > 1 else None
    return ComparisonRow(bound.name, epsilon, ratio, bound.source, reason, composition)


def _value(bound: Any, round_: Round, rounds: int, delta: float) -> tuple[float, str, str]:
    """The epsilon of a bound, its composition, and why it is no bound for these rounds, if so."""
    if isinstance(round_, RandomAllocation):
        return bound.rule(round_, rounds, delta), bound.composition, bound.remark
    known = _comparable(round_)
    value = bound.value(known.randomizer, known.honest, known.sample_rate, rounds, delta)
    return *value, "" if bound.proven else _NOT_PROVEN
