"""Reports that are sampled, and counts that are shown above a threshold only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from . import bounds, profiles
from ._support import validate
from ._support.text import plain
from .guarantee import NEIGHBOURS, best_effort
from .randomizers import Analysis, Parameter, Search
from .randomizers.analyses import chapter
from .randomizers.parameter import parameters_of
from .rounds import TOGETHER, RoundWithOwnParameters

if TYPE_CHECKING:  # loaded with the first question
    from .guarantee import Ask
    from .profiles.base import PairProfile, Parts

THRESHOLD = Analysis(
    name="exact",
    theorem=(
        "exact hockey-stick divergence of a shown count, for the worst number of other reports in "
        "the bin; composed over the bins in which neighbouring datasets differ, which is an upper "
        f"bound if there are several; proof: {chapter('Samples and thresholds')}"
    ),
    adversary=(
        "sees the count of the kept reports of every bin in which it reaches the threshold, and "
        "is taken to know the value of every user but one; does not see which reports were kept"
    ),
    assumption=(
        "every report is kept with exactly this probability, independently of all others and of "
        "other rounds"
    ),
    gist="sees the counts that reach the threshold",
    law=lambda round_: None,
    as_one=False,
)


@dataclass(frozen=True, repr=False)
class SampleThreshold(RoundWithOwnParameters):
    """One round in which sampled reports are counted, and counts of at least a threshold are shown.

    Every report is kept with probability `rate`; those kept are counted bin by bin. Nothing is
    assumed about the number of users: the worst number of other reports in a bin counts.

    Parameters
    ----------
    rate : float
        Probability that a report is kept, 1e-9 to 1 - 1e-9.
    threshold : int
        Smallest count that is shown, 1 to 1e6.
    neighbours : str
        "replace": the report of one user is in another bin. "remove": it is missing.
    colluding : int
        Largest number of users, 0 to 1e12, who know or decide which of their reports are kept. It
        lowers the threshold by as many.
    messages : int
        Reports of every user, 1 to 1e4, all in different bins, which the guarantee protects
        together.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning or is outside the supported range.

    Examples
    --------
    >>> from shuffledp import SampleThreshold
    >>> SampleThreshold(rate=0.105, threshold=20, neighbours="remove").get_delta(1.0) < 6.481e-15
    True
    """

    name: ClassVar[str] = "sample-threshold"
    view: ClassVar[str] = "threshold"
    noun: ClassVar[str] = "thresholded round"
    mechanism_label: ClassVar[str] = "sampling"
    seen: ClassVar[str] = "the counts that are shown"
    trusted: ClassVar[str] = "the server that counts the reports is honest and shows nothing else"

    rate: Annotated[
        float,
        Parameter(
            "probability that a report is kept", 1e-9, 1 - 1e-9, search=Search(0.1, grows=True)
        ),
    ]
    threshold: Annotated[
        int,
        Parameter(
            *("counts below it are not shown", 1, 10**6),
            whole=True,
            search=Search(20, grows=False),
        ),
    ]
    neighbours: str = "replace"
    colluding: int = 0
    messages: int = 1

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(type(self)).items():
            object.__setattr__(self, name, parameter.checked(name, getattr(self, name)))
        validate.choice("neighbours", self.neighbours, NEIGHBOURS)
        colluding = validate.count("colluding", self.colluding, validate.MAX_USERS, 0)
        object.__setattr__(self, "colluding", colluding)
        messages = validate.count("messages", self.messages, validate.MAX_MESSAGES)
        object.__setattr__(self, "messages", messages)

    def __repr__(self) -> str:
        usual = {"neighbours": "replace", "colluding": 0, "messages": 1}
        given = {name: getattr(self, name) for name in usual}
        shown = "".join(f", {k}={v!r}" for k, v in given.items() if v != usual[k])
        return f"SampleThreshold(rate={self.rate!r}, threshold={self.threshold!r}{shown})"

    @property
    def _effective(self) -> int:
        """How many reports of other users it takes to show a count."""
        return max(self.threshold - self.colluding, 1)

    def _pair(self, reports: int | None = None) -> PairProfile:
        """Of a bin that has one report more, whatever else it has, or with so many."""
        more, less = (
            profiles.one_more.ThresholdProfile(self.rate, self._effective, order, reports)
            for order in (True, False)
        )
        return profiles.base.PairProfile(more, less)

    def _composed(self, pair: PairProfile) -> Parts:
        """A user's reports are each in one bin, and missing from another if they are replaced."""
        if self.neighbours == "remove":
            return [(pair, self.messages)]
        return [(pair, self.messages), (pair.swapped, self.messages)]

    @property
    def parts(self) -> Parts:
        return self._composed(self._pair())

    @property
    def attained_parts(self) -> Sequence[Parts]:
        """Parts of datasets with the numbers of reports that are worst for small losses."""
        reports = profiles.one_more.worst_reports(self.rate, self._effective, np.zeros(1))
        return [self._composed(self._pair(int(reports[0])))] * 2

    def _attained(self, ask: Ask) -> float:
        """At least what one bin alone does."""
        # of a single bin the worst number of reports is reached, whatever the question is
        single = [(self._pair(), 1)]
        several = [] if self.parts == single else self.attained_parts[:1]
        rounds = map(bounds.certified_rounds.CertifiedRounds, [single, *several])
        return max(best_effort(ask, choice).lower for choice in rounds)

    @property
    def explained(self) -> Analysis:
        return THRESHOLD

    @property
    def crowd(self) -> str:
        return f"any{self._aside}"

    @property
    def _aside(self) -> str:
        said = [f"{self.colluding:,} colluding"] if self.colluding else []
        said += [f"{self.messages:,} reports each"] if self.messages > 1 else []
        return f" ({', '.join(said)})" if said else ""

    @property
    def participants(self) -> str:
        return f"any number of users{self._aside}"

    @property
    def inside(self) -> str:
        return repr(self)

    @property
    def described(self) -> str:
        return (
            f"each report is kept with probability {plain(self.rate)}, and counts below "
            f"{self.threshold:,} are not shown"
        )

    @property
    def people(self) -> str:
        several = f"{self.messages:,} reports in a round, all in different bins"
        most = "one report in a round" if self.messages == 1 else several
        limit = f"no user, colluding or not, has more than {most}"
        if not self.colluding:
            return f"{limit}; no user knows or decides which reports are kept"
        collude = f"at most {self.colluding:,} users collude with the adversary"
        return f"{limit}; {collude}, and these may be any users"

    @property
    def removed(self) -> str:
        several = "report of one user is" if self.messages == 1 else "reports of one user are"
        return f"the {several} there"

    @property
    def protected_ones(self) -> str:
        return "every user who follows the protocol in every round"

    @property
    def remarks(self) -> Sequence[tuple[str, str]]:
        if self.messages == 1:
            return ()
        every = f"every user has {self.messages:,} reports in a round"
        return [("messages", f"{every}, {TOGETHER}")]

    @property
    def given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in parameters_of(type(self))}

    @property
    def settings(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in ("colluding", "messages", "neighbours")}
