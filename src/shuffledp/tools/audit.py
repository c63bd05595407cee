"""Hold a client against its claim: what it sends, many times, against what it should send.

A few values are looked at, and events that messages are sorted into. The confidence intervals of
their probabilities are exact and certified (Clopper, Pearson 1934).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import CaptionedTable
from .._support.text import at_most, plain, rounded_down, rounded_up, wrapped
from ..engines.tails import log_pmf, mass_error, tail_sums
from ..errors import InvalidParameter
from ..randomizers import (
    Randomizer,
)
from .watched import Watched, watched

__all__ = ["Audit", "AuditedRow", "audit"]

_STEPS = 30  # at most, of a search whose result is checked wherever it ends
_NEAR = 1e-5  # of the logarithmic distance of the bound from the observed share


def proportion_bounds(successes: int, trials: int, error: float) -> tuple[float, float]:
    """A lower and an upper bound of a probability, each of which fails with probability <= error.

    The lower one is a p with Pr[Bin(trials, p) >= successes] <= error, certified.

    >>> lower, upper = proportion_bounds(50, 100, 0.025)
    >>> round(lower, 4), round(upper, 4)
    (0.3983, 0.6017)
    """
    return _lower(successes, trials, error), 1 - _lower(trials - successes, trials, error)


def _lower(successes: int, trials: int, error: float) -> float:
    """0 if nothing is certified to be above it."""
    if successes == 0:
        return 0.0
    target, top = math.log(error), math.log(successes / trials)
    # about where Chernoff's bound is the error; then Newton's method in log p
    x = top - math.sqrt(-2 * target * max(1 - successes / trials, 1 / trials) / successes)
    for _ in range(_STEPS):
        value, slope = _log_tail(successes, trials, x)
        step = (value - target) / slope
        x = min(x - step, top)
        if abs(step) <= _NEAR * (top - x):
            break
    margin = _NEAR * (top - x) + 1e-12
    for _ in range(_STEPS):
        if _log_tail(successes, trials, x - margin)[0] <= target:
            return math.exp(x - margin) * (1 - 1e-15)  # the complement is rounded once more
        margin *= 4
    return 0.0


def _log_tail(successes: int, trials: int, log_p: float) -> tuple[float, float]:
    """log Pr[Bin(trials, p) >= successes], rounded up, and its derivative in log p; p is no more
    than the observed share."""
    p = math.exp(log_p) * (1 + 1e-15)  # no less than meant
    m, j = np.array([float(trials)]), np.array([float(successes)])
    if p >= 1:
        return 0.0, float(successes)
    sums, _, error = (float(side[0]) for side in tail_sums(m, j, p / (1 - p)))
    error += mass_error(math.sqrt(trials * p * (1 - p)))
    log_mass = float(log_pmf(m, j, p, 1 - p)[0])
    # d/dp Pr[Bin >= j] = (j/p) Pr[Bin = j]
    return log_mass + math.log(sums) + error + 1e-12 * (1 + abs(log_mass)), successes / sums


MOST_TRIALS = 10**11
_BLOCK = 1 << 18  # messages at a time

Randomize = Callable[[NDArray[Any]], Any]


class AuditedRow(NamedTuple):
    """How often a value led to an event, and a confidence interval of the probability.

    Attributes
    ----------
    value : object
        The value that was randomized.
    event : str
        Description of the messages that were counted.
    trials : int
        Number of messages of this value.
    seen : int
        Number of these with the event.
    expected : float
        Exact probability for the named randomizer, rounded to a float.
    lower, upper : float
        Ends of the confidence interval.

    Examples
    --------
    >>> from shuffledp.tools.audit import AuditedRow
    >>> AuditedRow(0, "message 0", 100, 50, 0.5, 0.4, 0.6).as_expected
    True
    """

    value: Any
    event: str
    trials: int
    seen: int
    expected: float
    lower: float
    upper: float

    @property
    def as_expected(self) -> bool:
        """Whether the interval contains the expected probability, up to rounding."""
        return self.lower <= self.expected * (1 + 1e-9) and self.expected <= self.upper + 1e-15


@dataclass(frozen=True, repr=False)
class Audit(Records):
    """What a client did, and whether that speaks against its claim.

    All intervals hold at once with probability `confidence`, whatever the client is.

    Attributes
    ----------
    randomizer : Randomizer
        The randomizer that the client is held against.
    claimed : float
        Its eps0; infinite if none is claimed.
    trials : int
        Number of messages.
    confidence : float
        Probability with which all statements hold.
    eps0_lower : float
        The client's local epsilon is no less.
    where : str
        Event and values that show it.
    rows : tuple of AuditedRow
        One per value and event.
    vectors : int or None
        Number of test vectors that were right; None if there are none to check.
    failure : str
        Sentence about the first one that was not; else empty.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import RandomizedResponse, audit
    >>> found = audit(RandomizedResponse(k=2, eps0=1.0), lambda values: values, trials=1e4)
    >>> found.holds, found.eps0_lower > 1
    (False, True)
    """

    randomizer: Randomizer
    claimed: float
    trials: int
    confidence: float
    eps0_lower: float
    where: str
    rows: tuple[AuditedRow, ...]
    vectors: int | None = None
    failure: str = ""

    @property
    def exceeds(self) -> bool:
        """Whether the client is certainly less private than is claimed."""
        return self.eps0_lower > self.claimed

    @property
    def surprises(self) -> tuple[AuditedRow, ...]:
        """Rows whose interval excludes the probability of the named randomizer."""
        return tuple(row for row in self.rows if not row.as_expected)

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the client."""
        return not self.failure and not self.exceeds and not self.surprises

    @property
    def verdict(self) -> str:
        """Result in one or two sentences."""
        if self.failure:
            return self.failure
        sure = f"at confidence {plain(self.confidence)}"
        least = rounded_down(self.eps0_lower)
        if self.exceeds:
            return (
                f"THE CLIENT EXCEEDS ITS CLAIM: its local epsilon is at least {least}, not "
                f"{at_most(self.claimed)}, {sure} ({self.where})."
            )
        if self.surprises:
            row = max(self.surprises, key=_surprise)
            return (
                f"THE CLIENT IS NOT {self.randomizer!r}: {row.event} for value {_short(row.value)} "
                f"has a probability in [{rounded_down(row.lower, 6)}, {rounded_up(row.upper, 6)}], "
                f"not {row.expected:.6g}, {sure}."
            )
        finite = math.isfinite(self.claimed)
        claimed = f" (claimed: {at_most(self.claimed)})" if finite else ""
        return (
            f"No deviation found: all {len(self.rows)} confidence intervals contain the "
            f"probabilities of {self.randomizer!r}. The local epsilon of the client is at least "
            f"{least}{claimed}, {sure}."
        )

    def records(self) -> list[dict[str, Any]]:
        return [{**row._asdict(), "as_expected": row.as_expected} for row in self.rows]

    def as_table(self) -> CaptionedTable:
        lines = [
            (
                _short(row.value), row.event, f"{row.trials:,}", f"{row.seen:,}",
                *(f"{number:.6g}" for number in (row.expected, row.lower, row.upper)),
                "yes" if row.as_expected else "NO",
            )
            for row in self.rows
        ]  # fmt: skip
        head = ("value", "event", "trials", "seen", "expected", "lower", "upper", "as expected")
        return CaptionedTable(self.verdict, head, lines, 1)

    def __str__(self) -> str:
        asked = f"{self.trials:,} messages of values {self._values()}."
        if self.vectors is not None:
            right = f"{self.vectors} test vectors are right."
            if not self.vectors and not self.failure:
                right = "No test vectors could be run: there are no random bytes."
            asked = right if self.failure else f"{right} {asked}"
        return f"{wrapped(asked)}\n{wrapped(self.verdict)}"

    def _values(self) -> str:
        return ", ".join(dict.fromkeys(_short(row.value) for row in self.rows))


def audit(
    randomizer: Randomizer,
    client: Randomize | None = None,
    *,
    trials: float = 10**6,
    confidence: float = 0.999,
) -> Audit:
    """Audit of a client: many messages, held against the named randomizer.

    Every event has an exact confidence interval for every value, such that all of them hold at
    once. They bound the client's local epsilon from below, and must contain the randomizer's own
    probabilities.

    Parameters
    ----------
    randomizer : Randomizer
        The randomizer that the client claims to be.
    client : callable, optional
        From an array of values to their messages, as `randomize`; by default the randomizer's own.
    trials : int
        Number of messages in all, up to 1e11; each value needs one at least.
    confidence : float
        Probability in (0, 1) with which all statements hold.

    Returns
    -------
    Audit
        Print it for a verdict.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument is outside its limits, or messages cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import RandomizedResponse, audit
    >>> rng = np.random.default_rng(1)
    >>> def too_honest(values):
    ...     return np.where(rng.random(len(values)) < 0.2, rng.integers(0, 4, len(values)), values)
    >>> audit(RandomizedResponse(k=4, eps0=2.0), too_honest, trials=1e5).exceeds
    True
    """
    looked_at = watched(validate.instance(randomizer, Randomizer, "is no randomizer; give one."))
    if client is not None and not callable(client):
        what = "is not a function; give one from an array of values to their messages."
        raise InvalidParameter(f"client={validate.show(client)} {what}")
    total = validate.count("trials", trials, MOST_TRIALS, least=len(looked_at.values))
    sure = validate.probability("confidence", confidence)
    ask = randomizer.randomize if client is None else client
    counts = count_messages(looked_at, ask, total // len(looked_at.values))
    return judged(randomizer, looked_at, counts, sure)


def judged(
    randomizer: Randomizer,
    looked_at: Watched,
    counts: NDArray[np.int64] | None,
    sure: float,
    **vectors: Any,
) -> Audit:
    """Return what counts of events, [values, events], say of a client at a confidence; None if a
    test vector has said enough."""
    claimed = getattr(randomizer, "eps0", math.inf)
    if counts is None:
        return Audit(randomizer, claimed, 0, sure, 0.0, "", (), **vectors)
    # both ends of every interval
    error = (1 - sure) / (2 * counts.size)
    rows = []
    for i, value in enumerate(looked_at.values):
        sent = int(counts[i].sum())
        for event, name in enumerate(looked_at.events):
            seen, expected = int(counts[i, event]), float(looked_at.law[i, event])
            ends = proportion_bounds(seen, sent, error)
            rows.append(AuditedRow(value, name, sent, seen, expected, *ends))
    least, where = _spent(rows, len(looked_at.events))
    messages = sum(row.seen for row in rows)
    return Audit(randomizer, claimed, messages, sure, least, where, tuple(rows), **vectors)


def count_messages(looked_at: Watched, client: Randomize, each: int) -> NDArray[np.int64]:
    """[values, events]: how often each value led to each event."""
    counts = np.zeros(looked_at.law.shape, dtype=np.int64)
    with progress("messages", each * len(counts)) as advance:
        for i, value in enumerate(looked_at.values):
            step = max(1, _BLOCK // np.size(value))
            for start in range(0, each, step):
                size = min(step, each - start)
                values = np.repeat(np.asarray(value)[None], size, axis=0)
                counts[i] += _sorted(looked_at, client(values), size)
                advance(size)
    return counts


def _sorted(looked_at: Watched, messages: Any, size: int) -> NDArray[np.int64]:
    try:
        found = looked_at.sort(np.asarray(messages))
    except InvalidParameter as error:
        raise InvalidParameter(f"the client's messages cannot be read: {error}") from None
    if len(found) != size:
        raise InvalidParameter(
            f"the client returned {len(found)} messages for {size} values; return one for each."
        )
    return np.bincount(found, minlength=len(looked_at.events))


def _spent(rows: list[AuditedRow], events: int) -> tuple[float, str]:
    """The largest certain ratio of the probabilities of an event, as a lower bound of eps0."""
    least, where = 0.0, "no event tells values apart"
    for event in range(events):
        same = rows[event::events]
        top = max(same, key=lambda row: row.lower)
        low = min((row for row in same if row is not top), key=lambda row: row.upper)
        if top.lower > low.upper > 0:
            ratio = math.log(top.lower / low.upper) * (1 - 1e-14) - 1e-15
            if ratio > least:
                said = f"{top.event}, of values {_short(top.value)} and {_short(low.value)}"
                least, where = ratio, said
    return least, where


def _surprise(row: AuditedRow) -> float:
    """How many intervals the expected probability is off."""
    off = max(row.lower - row.expected, row.expected - row.upper)
    return off / (row.upper - row.lower + 1e-300)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"[{value[0]:g}, ..., {value[-1]:g}]"
    if isinstance(value, tuple):
        return f"({', '.join(f'{answer:g}' for answer in value)})"
    return f"{value:g}"
