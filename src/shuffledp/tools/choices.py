"""What `choose` found: a ranking as text, as rows and as a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .._support.numeric import Bounds
from .._support.progress import progress
from .._support.rows import RowSequence
from .._support.tables import CaptionedTable, text_table
from .._support.text import PAGE, at_most, plain, rounded_up, wrapped
from ..errors import InvalidParameter
from ..guarantee import NEIGHBOURS
from ..randomizers import NoisyHistogram, Randomizer
from ..rounds import RoundOfUsers
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .choose import ChoiceQuestion

#: Whoever spends less than this share of the target is told of.
_MOST_OF_IT = 0.95
#: Shares of the target at which a picture shows errors.
_SHARES = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Choice:
    """One randomizer at its best, in one view.

    Attributes
    ----------
    round : RoundOfUsers
        The round within the target.
    parameters : mapping
        Parameters of the randomizer, by name.
    standard_error : float
        Standard error of the count of a value that no user holds; of a mean, the largest over all
        data.
    average_error : float
        Root mean square error over all values, whatever the data; of a mean the same as
        `standard_error`.
    frequency_error : float or None
        For counts: root mean square error of the share of each value among the users who send, or
        among their messages if each sends several, if all users drop out who may.
    bits : float
        Mean number of bits that the device of a user sends in a round, without dummies that the
        shuffler adds.
    epsilon : Bounds
        Certified bounds on epsilon; the upper one is at most the target.
    base : Randomizer
        Randomizer of one question.
    asked : str or None
        How several questions are asked: "separate", "bundle" or "one-of".
    limit : str
        What keeps the parameter from using more of the target, as the end of a sentence.
    error_at : callable
        Rough average error within another epsilon, for a picture.

    Examples
    --------
    >>> from shuffledp import choose
    >>> choice = choose(99, task="vector", dimension=2, view="aggregate", epsilon=1, delta=1e-6)[0]
    >>> choice.name, choice.epsilon.upper <= 1
    ('gaussian', True)
    """

    round: RoundOfUsers
    parameters: Mapping[str, Any]
    standard_error: float
    average_error: float
    frequency_error: float | None
    bits: float
    epsilon: Bounds[float]
    base: Randomizer
    asked: str | None
    limit: str
    error_at: Callable[[float], float] = field(repr=False, compare=False)

    @property
    def randomizer(self) -> Randomizer:
        """Randomizer of one question, with these parameters."""
        return self.base

    @property
    def view(self) -> str:
        """What the adversary sees: "shuffle" or "aggregate"."""
        return self.round.view

    @property
    def name(self) -> str:
        """Name of the randomizer, as on the command line."""
        return self.randomizer.name

    @property
    def local_eps0(self) -> float:
        """Local epsilon of one message whose sender is known; infinite if nothing limits it."""
        return self.round.randomizer.local_eps0

    @property
    def caution(self) -> str:
        """What devices send if it is the true value, as the end of a sentence; else empty."""
        if not isinstance(self.randomizer, NoisyHistogram):
            return ""
        if self.randomizer.sent.is_fixed:
            return "devices send true values, and the shuffler has to add the dummies"
        return "devices send true values, and dummies of their own"


class Unmet(NamedTuple):
    """A randomizer that cannot meet the target, and why.

    Attributes
    ----------
    randomizer : str
        Name of the randomizer, as on the command line.
    view : str
        What the adversary sees: "shuffle" or "aggregate".
    reason : str
        One sentence.

    Examples
    --------
    >>> from shuffledp.tools.choices import Unmet
    >>> Unmet("laplace", "shuffle", "no eps0 meets epsilon=0.001 at delta=0.").randomizer
    'laplace'
    """

    randomizer: str
    view: str
    reason: str


def local_text(eps0: float) -> str:
    """A local eps0 for people, rounded up; "no limit" if it is infinite."""
    return "no limit" if math.isinf(eps0) else at_most(eps0)


@dataclass(frozen=True, repr=False)
class Choices(RowSequence[Choice], style.Drawable):
    """All choices, from the smallest average error on, and those that cannot meet the target.

    It is a sequence of its rows.

    Attributes
    ----------
    question : ChoiceQuestion
        What was asked.
    rows : tuple of Choice
        Randomizers that meet the target.
    unmet : tuple of Unmet
        Randomizers that do not.

    Examples
    --------
    >>> from shuffledp import choose
    >>> found = choose(99, task="vector", dimension=2, view="aggregate", epsilon=1, delta=1e-6)
    >>> len(found), found.unmet
    (1, ())
    """

    figsize, title_share = (8.5, 5.2), 0.6
    question: ChoiceQuestion
    rows: tuple[Choice, ...]
    unmet: tuple[Unmet, ...]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Randomizers that meet the target: the same as `rows`."""
        return self.rows

    @property
    def title(self) -> str:
        """Description of the question."""
        q = self.question
        what = {"count": f"{q.size:,} values", "mean": "numbers in [0, 1]"}
        vectors = f"unit vectors of {q.size:,} numbers"
        times = "1 round" if q.rounds == 1 else f"{q.rounds:,} rounds"
        target = f"({plain(q.epsilon)}, {plain(q.delta)}), {NEIGHBOURS[q.neighbours][0]}"
        local = "" if q.max_eps0 == math.inf else f", local eps0 at most {plain(q.max_eps0)}"
        what_for = what.get(q.task, vectors)
        if q.questions > 1:
            what_for = f"{q.questions} questions of {what_for}"
        return f"{q.people.participants}, {what_for}, {times} within {target}{local}"

    @property
    def legend(self) -> str:
        """Explanation of the columns, and of how many users the errors are for."""
        q = self.question
        if q.task == "count":
            sent = "users who send" if q.people.messages == 1 else "messages"
            said = (
                "error: root mean square over all values of the standard error of a count, in one "
                "round, for any data; the ranking is by it. rare: standard error for a value that "
                f"no user holds. frequency: the error of the share of a value among the {sent}."
            )
        else:
            of = "a coordinate of the mean" if q.task == "vector" else "the mean"
            said = (
                f"error: standard error of {of} of all that is sent, in one round, the largest "
                "over all data; the ranking is by it. Which data are the worst depends on the row"
            )
            ends = ", and the order may be another for data near 0 or 1"
            said += f"{ends if q.task == 'mean' else ''}."
        if q.people.dropouts:
            counted = f"error and rare are those of {q.senders:,} users who send, if nobody drops "
            counted += "out; frequency is that of"
            one = counted if q.task == "count" else "The error is that of"
            said += f" {one} {q.fewest:,} users who send, if all dropouts occur."
        return f"{said} {' '.join(self._columns_explained)}"

    @property
    def _columns_explained(self) -> list[str]:
        """Sentences about the columns other than the errors."""
        q = self.question
        said = [
            "local eps0: of one message whose sender is known, which is all that protects a user "
            "from a dishonest shuffler or aggregator."
        ]
        times = q.rounds * q.people.messages
        if times > 1:
            said.append(f"All {times:,} messages of a user have up to {times:,} times that.")
        if any(math.isinf(choice.local_eps0) for choice in self):
            said.append("no limit: nothing bounds what a single message tells.")
        if any(choice.caution for choice in self):
            said.append("bits: what a device sends, without dummies that the shuffler adds.")
        if q.task == "mean" and any("largest" in choice.parameters for choice in self):
            said.append(
                "largest: numbers times it are rounded to whole ones at random, which is part of "
                "the error."
            )
        if q.questions > 1:
            said.append(
                "All of it is for one of the questions, and bits are for all of them. asked: "
                "separate, each in a shuffle of its own; bundle, all answers in one message; "
                "one-of, the answer to one question that is drawn at random."
            )
        return said

    @property
    def remarks(self) -> list[str]:
        """Sentences about what the errors leave out, and about rows that send true values."""
        q, said = self.question, []
        if any(choice.caution for choice in self):
            said.append(
                "With NoisyHistogram devices send true values, and dummies alone hide them; those "
                "of binomial= and dummies= are added by the shuffler, and no device client does it."
            )
        more = "add p(1-p)/n to the variance of the share p of a value among n users"
        if q.task != "count":
            more = "add the variance of the data, over the number of users, to that of the mean"
        said.append(
            "Errors are those of the randomization alone: if the users are a sample of a "
            f"population, {more}."
        )
        if q.people.colluding:
            said.append(self._colluders)
        return said

    @property
    def explained(self) -> str:
        """All of this but the errors, for a table with headings of its own."""
        return " ".join([*self._columns_explained, *self.remarks])

    @property
    def _colluders(self) -> str:
        told = "Colluding users are taken to send as the protocol says"
        if self.question.task != "count":
            return f"{told}."
        people = self.question.people
        liars = f"{int(people.colluding) * people.messages:,}"
        told += f"; if they do not, a count may be off by {liars}/(p - q), where p "
        told += "and q are the probabilities that a message supports the own or another value"
        unbounded = ("noisy-histogram", "noise-shares")
        if any(choice.name in unbounded for choice in self):
            told += ", and without limit with NoisyHistogram and NoiseShares"
        if any(choice.view == "aggregate" for choice in self):
            told += ", and in any sums unless the aggregator verifies what each user sends"
        return f"{told}."

    def table(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """Head and rows of a table for people."""
        counts = self.question.task == "count"
        every, fewest = (
            (" (all send)", " (fewest send)") if self.question.people.dropouts else ("", "")
        )
        head = [f"error{every if counts else fewest}"]
        head += [f"rare{every}", f"frequency{fewest}"] if counts else []
        rows: list[Sequence[str]] = []
        for choice in self:
            errors = [choice.average_error]
            if choice.frequency_error is not None:
                errors += [choice.standard_error, choice.frequency_error]
            numbers = [f"{error:.4g}" for error in errors]
            local = local_text(choice.local_eps0)
            rest = [f"{choice.bits:.4g}", rounded_up(choice.epsilon.upper), local, choice.view]
            asked = [] if choice.asked is None else [choice.asked]
            rows.append([*numbers, *rest, *asked, repr(choice.randomizer)])
        last = ["asked"] if self.question.questions > 1 else []
        return [*head, "bits", "epsilon", "local eps0", "view", *last, "randomizer"], rows

    def __str__(self) -> str:
        head, rows = self.table()
        lines = [wrapped(f"{self.title}."), "", wrapped(self.legend, piped=PAGE), ""]
        if rows:
            lines.append(text_table(head, rows, left=[len(head) - 2, len(head) - 1]))
        else:
            lines.append("No randomizer meets the target.")
        if rows:
            lines += ["", *(wrapped(remark, piped=PAGE) for remark in self.remarks)]
        if self.unspent:
            lines += ["", *map(wrapped, self.unspent)]
        if self.unmet:
            lines += ["", "Cannot meet it:"]
            told = (f"{name}, view {view}: {reason}" for name, view, reason in self.unmet)
            lines += [wrapped(line, "  ", 4) for line in told]
        return "\n".join(lines)

    @property
    def unspent(self) -> list[str]:
        """Sentences about choices that would spend more if their parameter went further."""
        cap = self.question.max_eps0
        spare = [
            choice for choice in self if choice.epsilon.upper < _MOST_OF_IT * self.question.epsilon
        ]
        capped = [each for each in spare if cap < math.inf and each.local_eps0 >= _MOST_OF_IT * cap]
        told = [
            f"{choice.randomizer!r}, view {choice.view}, uses an epsilon of only "
            f"{rounded_up(choice.epsilon.upper)}: {choice.limit}."
            for choice in spare
            if choice not in capped
        ]
        many = f"{len(capped)} of {len(self)} choices" if len(self) > 1 else "The only choice"
        if capped:
            told.append(f"{many} could use more of the target without max_eps0={plain(cap)}.")
        return told

    def as_table(self) -> CaptionedTable:
        head, rows = self.table()
        return CaptionedTable(self.title, head, rows, len(head) - 1)

    @property
    def columns(self) -> Sequence[str]:
        """Keys of every record, even if there are none."""
        return (
            *("randomizer", "parameters", "view", "standard_error", "average_error"),
            *("frequency_error", "bits", "epsilon_lower", "epsilon_upper", "local_eps0"),
            *(("asked",) if self.question.questions > 1 else ()),
        )

    def records(self) -> list[dict[str, Any]]:
        # the last cell says how several questions are asked
        return [dict(zip(self.columns, _cells(choice), strict=False)) for choice in self]

    def draw_on(self, axes: Axes) -> str:
        # the average error against epsilon, one line per randomizer, each point about at its best
        if not self.rows:
            raise InvalidParameter("no randomizer meets the target; there is nothing to draw.")
        q = self.question
        epsilons = [share * q.epsilon for share in _SHARES]
        with progress("drawing", len(self) * len(epsilons)) as done:
            for number, choice in enumerate(self):
                self._line(axes, number, choice, epsilons, done)
        axes.axvline(q.epsilon, color=style.GREY, linewidth=1, zorder=0)
        what = {"count": "a count", "mean": "the mean", "vector": "a coordinate of the mean"}
        axes.set(xscale="log", yscale="log", xlabel=f"epsilon at delta = {plain(q.delta)}")
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.tick_params("x", which="minor", bottom=False, labelbottom=False)
        axes.set_ylabel(f"average error of {what[q.task]}, one round")
        style.finish(axes)
        return self.title if len(self._views) > 1 else f"{self.title}, view {choice.view}"

    @property
    def _views(self) -> set[str]:
        return {choice.view for choice in self}

    def _line(
        self, axes: Axes, number: int, choice: Choice, epsilons: Sequence[float], done: Any
    ) -> None:
        errors = []
        for epsilon in epsilons:
            at_target = epsilon == self.question.epsilon
            errors.append(choice.average_error if at_target else choice.error_at(epsilon))
            done(1)
        free = ", ".join(name for name in choice.parameters if name not in ("k", "dimension"))
        colour, marker = style.OURS[number % 6], style.MARKERS[number % 7]
        line = "--" if choice.view == "aggregate" else "-"
        shown = [error if math.isfinite(error) else math.nan for error in errors]
        label = f"{choice.name} ({free})"
        label += f", {choice.view}" if len(self._views) > 1 else ""
        label += f", {choice.asked}" if choice.asked else ""
        axes.plot(epsilons, shown, color=colour, marker=marker, linestyle=line, label=f"_{label}")
        ends = [(x, y) for x, y in zip(epsilons, shown, strict=True) if y > 0]
        style.label_end(axes, *ends[-1], label, colour)


def _cells(choice: Choice) -> tuple[Any, ...]:
    given = " ".join(f"{name}={value}" for name, value in choice.parameters.items())
    errors = choice.standard_error, choice.average_error, choice.frequency_error
    return (
        choice.name,
        given,
        choice.view,
        *errors,
        choice.bits,
        *choice.epsilon,
        choice.local_eps0,
        choice.asked,
    )
