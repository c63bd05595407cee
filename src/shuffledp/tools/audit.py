"""Hold a client against its claim: what it sends, many times, against what it should send.

Some values are tried, all of them if they are few, and messages are sorted into events. The
confidence intervals of their probabilities are exact and certified (Clopper, Pearson 1934). A
client that errs at other values passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support import validate
from .._support.progress import progress
from .._support.rows import Records
from .._support.tables import CaptionedTable
from .._support.text import at_most, plain, rounded_down, rounded_up, several, wrapped
from ..engines.tails import log_pmf, mass_error, tail_sums
from ..errors import InvalidParameter
from ..randomizers import (
    Randomizer,
)
from .watched import Tried, Watched, tried

__all__ = ["Audit", "AuditedRow", "audit"]

_STEPS = 30  # at most, of a search whose result is checked wherever it ends
_NEAR = 1e-5  # of the logarithmic distance of the bound from the observed share
_TERMS, _ENOUGH = 10_000, 1e-11  # of a continued fraction: at most, and a change that ends it


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
    estimate = _tail_estimate(successes, trials)
    for _ in range(_STEPS):
        value, slope = estimate(x - top)
        step = (value - target) / slope
        x = min(x - step, top)
        if abs(step) <= _NEAR * (top - x):
            break
    margin = _NEAR * (top - x) + 1e-12
    for _ in range(_STEPS):
        if _log_tail(successes, trials, x - margin) <= target:
            return math.exp(x - margin) * (1 - 1e-15)  # the complement is rounded once more
        margin *= 4
    return 0.0


def _tail_estimate(successes: int, trials: int) -> Callable[[float], tuple[float, float]]:
    """Return a function from log(p / observed share), at most 0, to estimates, without any
    certificate, of log Pr[Bin(trials, p) >= successes] and of its derivative in log p."""
    share, failures = successes / trials, trials - successes
    if failures == 0:
        return lambda x: (successes * x, float(successes))
    m, j = np.array([float(trials)]), np.array([float(successes)])
    at_share = float(log_pmf(m, j, share, failures / trials)[0])

    def estimate(x: float) -> tuple[float, float]:
        p = share * math.exp(x)
        sums = (1 - p) * _beta_fraction(float(successes), failures + 1.0, p)
        grown = math.log1p(-math.expm1(x) * successes / failures)  # log of the ratio of 1 - p
        # d/dp Pr[Bin >= j] = (j/p) Pr[Bin = j]
        return at_share + successes * x + failures * grown + math.log(sums), successes / sums

    return estimate


def _beta_fraction(a: float, b: float, p: float) -> float:
    """The continued fraction of the incomplete beta function (NIST DLMF 8.17.22), by Lentz."""
    above, below = 1.0, 1 / (1 - (a + b) * p / (a + 1))
    value = below
    for i in range(1, _TERMS):
        for term in (
            i * (b - i) * p / ((a + 2 * i - 1) * (a + 2 * i)),
            -(a + i) * (a + b + i) * p / ((a + 2 * i) * (a + 2 * i + 1)),
        ):
            below, above = 1 / (1 + term * below), 1 + term / above
            value *= above * below
        if abs(above * below - 1) <= _ENOUGH:
            break
    return value


def _log_tail(successes: int, trials: int, log_p: float) -> float:
    """log Pr[Bin(trials, p) >= successes], rounded up; p is no more than the observed share."""
    p = math.exp(log_p) * (1 + 1e-15)  # no less than meant
    m, j = np.array([float(trials)]), np.array([float(successes)])
    if p >= 1:
        return 0.0
    sums, _, error = (float(side[0]) for side in tail_sums(m, j, p / (1 - p)))
    error += mass_error(math.sqrt(trials * p * (1 - p)))
    log_mass = float(log_pmf(m, j, p, 1 - p)[0])
    return log_mass + math.log(sums) + error + 1e-12 * (1 + abs(log_mass))


MOST_TRIALS = 10**11
_BLOCK = 1 << 18  # messages at a time
_LISTED = 12  # values that are named one by one
OWN = "the client of shuffledp"

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

    All intervals hold at once with probability `confidence`, whatever the client is. A client that
    errs at values that were not tried passes.

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
        Lower bound of the client's local epsilon, at the stated confidence.
    where : str
        Event and values that show it.
    rows : tuple of AuditedRow
        One per value that was tried and event.
    vectors : int or None
        Number of test vectors that were right; None if there are none to check.
    failure : str
        Sentence about the first one that was not; else empty.
    untested : str
        Sentence about the values that were not tried; empty if all of them were.
    whose : str
        Name of the client in a sentence.

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
    untested: str = ""
    whose: str = "the client"

    @property
    def exceeds(self) -> bool:
        """Whether the client is less private than is claimed, at the stated confidence."""
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
    def half_width(self) -> float:
        """Largest distance of an end of an interval from the share that was seen."""
        shares = ((row, row.seen / row.trials) for row in self.rows)
        return max((max(row.upper - x, x - row.lower) for row, x in shares), default=0.0)

    @property
    def verdict(self) -> str:
        """Result in a few sentences."""
        if self.failure:
            return self.failure
        sure = f"at confidence {plain(self.confidence)}"
        least = rounded_down(self.eps0_lower)
        if self.exceeds:
            return (
                f"{self.whose.upper()} EXCEEDS ITS CLAIM: its local epsilon is at least {least}, "
                f"not {at_most(self.claimed)}, {sure} ({self.where})."
            )
        if self.surprises:
            row = max(self.surprises, key=_surprise)
            return (
                f"{self.whose.upper()} IS NOT {self.randomizer!r}: {row.event} for value "
                f"{_short(row.value)} has a probability in [{rounded_down(row.lower, 6)}, "
                f"{rounded_up(row.upper, 6)}], not {row.expected:.6g}, {sure}."
            )
        finite = math.isfinite(self.claimed)
        claimed = f" (claimed: {at_most(self.claimed)})" if finite else ""
        untested = f" {self.untested}" if self.untested else ""
        return (
            f"No deviation found: all {len(self.rows)} confidence intervals contain the "
            f"probabilities of {self.randomizer!r}. They reach up to "
            f"{rounded_up(self.half_width, 2)} to either side of what was seen, and smaller errors "
            f"may be missed. Lower confidence limit of the local epsilon of {self.whose}: "
            f"{least}{claimed}, {sure}; an audit has no upper limit.{untested}"
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
        asked = f"{self.trials:,} messages{self._shared()}."
        if self.vectors is not None:
            right = f"{self.vectors} test vectors are right."
            if not self.vectors and not self.failure:
                right = "No test vectors could be run: there are no random bytes."
            asked = right if self.failure else f"{right} {asked}"
        return f"{wrapped(asked)}\n{wrapped(self.verdict)}"

    def _shared(self) -> str:
        """How many messages were of which values."""
        values = list(dict.fromkeys(_short(row.value) for row in self.rows))
        if len(values) > _LISTED:
            listed = f"{several(len(values), 'value')} {', '.join(values[:3])}, ..., {values[-1]}"
        else:
            listed = f"values {', '.join(values)}"
        each = {row.trials for row in self.rows}
        shared = f", {each.pop():,} of each" if len(each) == 1 else ""
        return f"{shared} of the {listed}"


def audit(
    randomizer: Randomizer,
    client: Randomize | None = None,
    *,
    trials: float = 10**6,
    confidence: float = 0.999,
) -> Audit:
    """Audit of a client: many messages, held against the named randomizer.

    Every event has an exact confidence interval for every value that is tried, such that all of
    them hold at once. They bound the client's local epsilon from below, and must contain the
    randomizer's own probabilities. All values are tried if they are few: up to 64, and no more than
    make 4,096 intervals. Of more values some are, with equal distances; of numbers in [0, 1], 0,
    0.1, ..., 1; of vectors, two. A client that errs at other values passes, and the verdict says
    how many there are.

    Parameters
    ----------
    randomizer : Randomizer
        The randomizer that the client claims to be.
    client : callable, optional
        From an array of values to their messages, as `randomize`; by default the randomizer's own.
    trials : int
        Number of messages in all, up to 1e11, shared equally among the values that are tried; each
        of them needs one at least.
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
    looked_at = tried(validate.instance(randomizer, Randomizer, "is no randomizer; give one."))
    if client is not None and not callable(client):
        what = "is not a function; give one from an array of values to their messages."
        raise InvalidParameter(f"client={validate.show(client)} {what}")
    total = validate.count("trials", trials, MOST_TRIALS, least=looked_at.size)
    sure = validate.probability("confidence", confidence)
    ask = randomizer.randomize if client is None else client
    counts = count_messages(looked_at, ask, total // looked_at.size)
    return judged(
        randomizer, looked_at, counts, sure, whose=OWN if client is None else "the client"
    )


def judged(
    randomizer: Randomizer,
    looked_at: Tried,
    counts: Sequence[NDArray[np.int64]] | None,
    sure: float,
    **more: Any,
) -> Audit:
    """Return what counts of events say of a client at a confidence: [values, events] for each
    group of values, or None if a test vector has said enough."""
    claimed = getattr(randomizer, "eps0", math.inf)
    if counts is None:
        return Audit(randomizer, claimed, 0, sure, 0.0, "", (), **more)
    # both ends of every interval
    error = (1 - sure) / (2 * sum(part.size for part in counts))
    bounds = cache(partial(proportion_bounds, error=error))  # many events are seen equally often
    rows, least, where = [], 0.0, "no event tells values apart"
    for group, part in zip(looked_at.groups, counts, strict=True):
        own = list(_rows(group, part, bounds))
        rows += own
        ratio, said = _spent(own, len(group.events))
        if ratio > least:
            least, where = ratio, said
    messages = sum(row.seen for row in rows)
    told = {"untested": looked_at.untested, **more}
    return Audit(randomizer, claimed, messages, sure, least, where, tuple(rows), **told)


def _rows(
    group: Watched, counts: NDArray[np.int64], bounds: Callable[[int, int], tuple[float, float]]
) -> Iterator[AuditedRow]:
    for i, value in enumerate(group.values):
        sent = int(counts[i].sum())
        for event, name in enumerate(group.events):
            seen, expected = int(counts[i, event]), float(group.law[i, event])
            yield AuditedRow(value, name, sent, seen, expected, *bounds(seen, sent))


def count_messages(looked_at: Tried, client: Randomize, each: int) -> list[NDArray[np.int64]]:
    """[values, events] of each group: how often each value led to each event."""
    found = []
    with progress("messages", each * looked_at.size) as advance:
        for group in looked_at.groups:
            counts = np.zeros(group.law.shape, dtype=np.int64)
            for i, value in enumerate(group.values):
                step = max(1, _BLOCK // np.size(value))
                for start in range(0, each, step):
                    size = min(step, each - start)
                    values = np.repeat(np.asarray(value)[None], size, axis=0)
                    counts[i] += _sorted(group, client(values), size)
                    advance(size)
            found.append(counts)
    return found


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
    least, where = 0.0, ""
    if len(rows) <= events:  # one value, or none
        return least, where
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
