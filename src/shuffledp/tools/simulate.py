"""What an analyst would get from one round: true against estimated, on data of one's own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.numeric import Array
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import CaptionedTable, Table, text_table
from .._support.text import several, wrapped
from ..clients import Estimate, MeanEstimate
from ..errors import InvalidParameter
from ..rounds import RoundOfUsers
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = 20  # rows of a table for people
_BARS = 60  # beyond which a picture has points instead
_USUAL = 1.96  # standard errors on either side hold the truth with probability 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Records, style.Drawable):
    """True counts, or means, of those who sent in one round, and what their messages tell.

    Attributes
    ----------
    round : RoundOfUsers
        The round that was simulated.
    senders : int
        Number of users who sent: of those who were sampled, all who did not drop out.
    counted : bool
        Whether counts were estimated, and not means.
    true : ndarray
        True counts or means, shape [numbers].
    estimated : ndarray
        Estimates of them.
    standard_errors : ndarray
        Standard error of each estimate; of means, the largest over all data.
    questions : tuple
        For several questions: how many numbers each has, and whether these are counts.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import RandomizedResponse, Shuffle, simulate
    >>> survey = Shuffle(RandomizedResponse(k=2, eps0=4.0), users=1000)
    >>> found = simulate(survey, [0] * 600 + [1] * 400, rng=np.random.default_rng(1))
    >>> found.true.tolist(), found.estimated.round().tolist()
    ([600.0, 400.0], [607.0, 393.0])
    """

    round: RoundOfUsers
    senders: int
    counted: bool
    true: Array
    estimated: Array
    standard_errors: Array
    questions: tuple[tuple[int, bool], ...] = ()

    @property
    def what(self) -> str:
        """Description of what was estimated."""
        each = "count of each value" if self.counted else "mean"
        return f"answers to {len(self.questions)} questions" if self.questions else each

    @property
    def estimates(self) -> str:
        """Kind of the estimates: "counts", "means", or both for several questions."""
        kinds = {counted for _, counted in self.questions} or {self.counted}
        names = {True: "counts", False: "means"}
        return " and ".join(names[kind] for kind in (True, False) if kind in kinds)

    @property
    def question_of(self) -> list[int]:
        """Index of the question that each number belongs to; empty for one question."""
        return [j for j, (size, _) in enumerate(self.questions) for _ in range(size)]

    @property
    def title(self) -> str:
        """Description of the round and of what was estimated."""
        sampled = "" if self.senders == self.round.users else f"{self.senders:,} of "
        crowd = f"{sampled}{self.round.users:,} users"
        return f"{crowd}, {self.round.randomizer!r}, view {self.round.view}: {self.what}"

    @property
    def root_mean_square_error(self) -> float | None:
        """Over all numbers, of what was estimated; None if some are counts and others means."""
        return self._mean_square(self.estimated - self.true)

    @property
    def expected_error(self) -> float | None:
        """What it should be about by the standard errors, or at most if these are of means."""
        return self._mean_square(self.standard_errors)

    def _mean_square(self, errors: Array) -> float | None:
        return None if " and " in self.estimates else math.sqrt(float(np.mean(errors**2)))

    @property
    def _remarks(self) -> str:
        """Sentences about the users, and about the errors of all numbers."""
        said, round_ = [], self.round
        if round_.dropouts:
            gone = several(int(round_.dropouts), "user")
            said.append(f"Of all users, {gone} drawn uniformly at random drop out.")
        if round_.colluding:
            said.append("Colluding users send as the protocol says.")
        seen, expected = self.root_mean_square_error, self.expected_error
        if seen is not None and expected is not None:
            form = ",.1f" if self.estimates == "counts" else ".6g"
            most = "" if self.estimates == "counts" else "at most "
            said.append(
                f"Root mean square error of all {len(self.true):,} estimates: {seen:{form}}; over "
                f"many simulations it is {most}about {expected:{form}}."
                if len(self.true) > 1
                else f"Error: {seen:{form}}; its standard error is {most}about {expected:{form}}."
            )
        return " ".join(said)

    @property
    def _index(self) -> str:
        return "value" if self.counted or self.questions else "coordinate"

    def records(self) -> list[dict[str, Any]]:
        names = [self._index, "true", "estimated", "standard_error"]
        columns = [column.tolist() for column in (self.true, self.estimated, self.standard_errors)]
        columns.insert(0, self._places)
        if self.questions:
            names, columns = ["question", *names], [self.question_of, *columns]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    @property
    def _places(self) -> list[int]:
        """The value, or the coordinate, of each number."""
        sizes = [size for size, _ in self.questions] or [len(self.true)]
        return [i for size in sizes for i in range(size)]

    def _table(self) -> Table:
        """Those with the largest true values, in the order of values."""
        rows, of, places = [], self.question_of, self._places
        for i in np.sort(np.argsort(-self.true, kind="stable")[:_SHOWN]).tolist():
            numbers = (self.true[i], self.estimated[i], self.standard_errors[i])
            counted = self.questions[of[i]][1] if of else self.counted
            formats = (",.0f", ",.1f", ",.1f") if counted else (".6g", ".6g", ".6g")
            asked = [f"{of[i]}"] if of else []
            rows.append([*asked, f"{places[i]}", *map(format, numbers, formats)])
        error = {"counts": "standard error", "means": "standard error at most"}
        of_both = "standard error (of means: at most)"
        head = [self._index, "true", "estimated", error.get(self.estimates, of_both)]
        return ["question", *head] if of else head, rows

    def __str__(self) -> str:
        lines = [wrapped(f"{self.title}."), "", text_table(*self._table())]
        if len(self.true) > _SHOWN:
            lines.append(f"... {self._part}; --json and to_csv() have all.")
        if self._remarks:
            lines += ["", wrapped(self._remarks)]
        return "\n".join(lines)

    @property
    def _part(self) -> str:
        return f"{_SHOWN} of {len(self.true):,}, those with the largest true values"

    def as_table(self) -> CaptionedTable:
        part = f", {self._part}" if len(self.true) > _SHOWN else ""
        return CaptionedTable(f"{self.title}{part}", *self._table())

    def draw_on(self, axes: Axes) -> str:
        # true values as bars, estimates with 95 % intervals
        places = np.arange(len(self.true))
        if len(places) <= _BARS:
            axes.bar(places, self.true, color=style.SKY, label="true")
        else:
            axes.step(places, self.true, where="mid", color=style.SKY, linewidth=2, label="true")
        axes.errorbar(
            places, self.estimated, yerr=_USUAL * self.standard_errors, fmt=".", capsize=2,
            color=style.VERMILION, elinewidth=1, markersize=4, label="estimated, 95 % interval",
        )  # fmt: skip
        if len(places) <= 2.5 * style.room(axes)[0]:
            axes.set_xticks(places)
        axes.set_xlabel(f"{self._index}, question by question" if self.questions else self._index)
        axes.set_ylabel("users" if self.counted else "mean")
        style.finish(axes)
        style.legend_below(axes)
        return self.title


def simulate(
    round_: RoundOfUsers, values: Any, rng: np.random.Generator | None = None
) -> Simulation:
    """Simulation of one round: randomize all values, shuffle or add up, and estimate.

    In rounds of a sample only those count who were drawn. As many users as may drop out do, drawn
    uniformly at random; colluding users send as the protocol says.

    Parameters
    ----------
    round_ : RoundOfUsers
        A `Shuffle` or an `Aggregate`, with one message per user.
    values : array_like
        One value per user, as the randomizer's `randomize` takes them.
    rng : numpy.random.Generator, optional
        Source of random bits; by default they come from the operating system.

    Returns
    -------
    Simulation
        True against estimated counts or means.

    Raises
    ------
    InvalidParameter
        If values and users differ in number, a value is not one of the randomizer's, or nobody was
        sampled.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import Aggregate, UnaryEncoding, simulate
    >>> histogram = Aggregate(UnaryEncoding(k=3, eps0=6.0), users=600)
    >>> found = simulate(histogram, np.repeat([0, 1, 2], [300, 200, 100]))
    >>> bool((abs(found.estimated - found.true) < 8 * found.standard_errors).all())
    True
    """
    validate.instance(round_, RoundOfUsers, "is not a round of users; give a Shuffle.")
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != round_.users:
        held = "1 value" if array.ndim == 0 else f"{len(array):,} values"
        raise InvalidParameter(
            f"{held} are given for users={round_.users:,}; give as many as there are users."
        )
    if round_.messages > 1:
        raise InvalidParameter(
            f"messages={round_.messages} cannot be simulated; give a round of one message a user."
        )
    source = np.random.default_rng() if rng is None else rng
    sent = round_.randomizer.client.checked(array)[_senders(round_, source)]
    if not len(sent):
        raise InvalidParameter(
            "nobody was sampled who does not drop out; give a larger sample_rate or more users."
        )
    with progress("simulating"):
        messages = round_.randomizer.randomize(sent, rng=rng)
        # counts are sums of messages: in either view no more is seen than what is used here
        counts = round_.randomizer.counts_of(
            source.permutation(messages), len(sent), int(array.max()) + 1
        )
        found = round_.randomizer.estimate(counts)
    if not isinstance(found, tuple):
        return Simulation(round_, len(sent), isinstance(found, Estimate), *_beside(sent, found))
    each = [_beside(sent[:, j], answers) for j, answers in enumerate(found)]
    true, estimated, errors = (np.concatenate(column) for column in zip(*each, strict=True))
    if not np.isfinite(errors).all():
        raise InvalidParameter(
            f"of {len(sent):,} users nobody was asked one of the questions; give more users."
        )
    kinds = [isinstance(answers, Estimate) for answers in found]
    sizes = tuple((len(part[0]), kind) for part, kind in zip(each, kinds, strict=True))
    return Simulation(round_, len(sent), all(kinds), true, estimated, errors, sizes)


def _beside(sent: NDArray[Any], found: Estimate | MeanEstimate) -> tuple[Array, Array, Array]:
    """The truth about what was sent, what was estimated, and the standard errors."""
    if isinstance(found, MeanEstimate):
        numbers = (sent.mean(axis=0), found.mean, found.standard_error)
        return tuple(np.atleast_1d(number).astype(float) for number in numbers)  # type: ignore[return-value]
    if sent.ndim == 1:
        held = sent[sent >= 0].astype(np.int64)
        true = np.bincount(held, minlength=len(found.counts))
    else:
        true = sent.sum(axis=0)
    return true.astype(float), found.counts, found.standard_errors


def _senders(round_: RoundOfUsers, source: np.random.Generator) -> NDArray[Any]:
    """Who is sampled and does not drop out."""
    if round_.sample_rate == 1:
        drawn = np.arange(round_.users)
    elif round_.sampling == "poisson":
        drawn = np.flatnonzero(source.random(round_.users) < round_.sample_rate)
    else:
        drawn = source.choice(round_.users, round_.senders, replace=False)
    if not round_.dropouts:
        return drawn
    gone = source.choice(round_.users, int(round_.dropouts), replace=False)
    return drawn[~np.isin(drawn, gone)]
