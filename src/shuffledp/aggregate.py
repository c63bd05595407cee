"""One round of secure aggregation: only sums are seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from . import bounds, laws, profiles
from .errors import InvalidParameter
from .guarantee import best_effort
from .randomizers import Analysis, Randomizer
from .rounds import RoundOfUsers

if TYPE_CHECKING:  # loaded with the first question
    from .guarantee import Ask
    from .profiles.base import Parts


@dataclass(frozen=True, repr=False)
class Aggregate(RoundOfUsers):
    """One round in which every user applies the same randomizer and only sums are revealed.

    Secure aggregation (Prio, DAP) reveals the sums of what all users send and how many take part.
    Bits of a `UnaryEncoding` are summed column by column. The noise of `Gaussian` shares adds up to
    a central Gaussian mechanism, on a number or on a vector, and `NoiseShares` add up to noise on
    integers. A randomizer with two messages is supported because their sum is all there is to see.

    Parameters
    ----------
    randomizer : Randomizer
        What every user applies to their value, such as UnaryEncoding(256, eps0=10.0).
    users : int
        Number of users, 1 to 1e12, including those who collude or drop out.
    neighbours : str
        "replace": neighbouring datasets differ in the value of one user. "remove": the zero vector
        stands for the value of one user in one of them. For vectors of L2 norm up to 1, the L2
        sensitivity is 2 for "replace" and 1 for "remove".
    sample_rate : float
        Share of the users who send in a round, 1e-9 to 1.
    sampling : str
        "fixed": a random subset of sample_rate * users users, a whole number, sends. "poisson":
        each user sends with probability sample_rate, independently.
    colluding : float
        Largest number of users who share all they know with the adversary, or a share of the users
        if below 1. They provide no cover.
    dropouts : float
        Largest number of users who do not send, or a share of the users if below 1. They provide no
        cover.
    messages : int
        Messages of every user in a round, 1 to 1e4, which the guarantee protects together.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning, is outside the supported range, or if the messages of the
        randomizer cannot be summed.

    Examples
    --------
    >>> from shuffledp import Aggregate, UnaryEncoding
    >>> histogram = Aggregate(UnaryEncoding(k=256, eps0=10.0), users=100_000)
    >>> histogram.get_epsilon(1e-9) < 0.2989
    True
    """

    view: ClassVar[str] = "aggregate"
    noun: ClassVar[str] = "aggregated round"
    seen: ClassVar[str] = "the sums"
    sent: ClassVar[str] = "contributions"
    trusted: ClassVar[str] = (
        "the aggregation is exact and secure: it reveals the sums of what all users send and "
        "nothing else, even if those users who collude and some of its servers work together, no "
        "more of them than it tolerates; its cryptography is not broken"
    )

    randomizer: Randomizer
    users: int
    neighbours: str = "replace"
    sample_rate: float = 1.0
    sampling: str = "fixed"
    colluding: float = 0
    dropouts: float = 0
    messages: int = 1

    def _check_view(self) -> None:
        if self.randomizer.sum_law() is None:
            raise InvalidParameter(
                f"randomizer={self.randomizer!r} is not supported by the aggregate view, which "
                "reveals sums of messages only; give UnaryEncoding, NoiseShares, Gaussian or a "
                "randomizer with two messages, or use Shuffle."
            )

    @property
    def _cannot_remove(self) -> str:
        if "remove" in self.randomizer.sum_law().relations:
            return ""
        return "a missing value counts as the zero vector, which is none of its values"

    @property
    def law(self) -> Any:
        """Law of what a user adds to the sums.

        Samples are bounded by two values that differ, also where a value is missing: then the two
        have no 1 in common, so that they differ wherever a value and zeros do.
        """
        law = self.randomizer.sum_law()
        sampled = self.neighbours == "remove" and self.sample_rate < 1
        if sampled and isinstance(law, laws.binary_law.BitColumns):
            return replace(law, columns=max(law.columns, 2 * law.ones))
        return law

    @property
    def _analysis(self) -> Analysis:
        return self.randomizer.sum_analysis

    @property
    def assumptions(self) -> Sequence[str]:
        zeros = "a user whose value is missing takes part all the same and randomizes zeros instead"
        return [*super().assumptions, *([zeros] if self.neighbours == "remove" else [])]

    @property
    def removed(self) -> str:
        return "the contribution of one user is replaced by zeros; the user takes part all the same"

    @property
    def idealised(self) -> str:
        """Sums of exact real numbers are: rounding before adding is a different mechanism."""
        is_real = isinstance(self.law, laws.noise_law.GaussianShare)
        return "to exact real numbers, which no device sends" if is_real else ""

    @property
    def remarks(self) -> Sequence[tuple[str, str]]:
        return [*super().remarks, *self.randomizer.sum_remarks.items()]

    def _attained(self, ask: Ask) -> float:
        """For a single column the worst datasets are known, so that the bound is attained."""
        every = profiles.parts.round_parts(self.law, self.messages * self.honest, self.neighbours)
        is_bound = isinstance(self.law, laws.integer_noise.SharedVectorNoise)
        alone = self.sample_rate == 1 and sum(count for _, count in every) == 1 and not is_bound
        return (
            best_effort(ask, bounds.certified_rounds.CertifiedRounds(every)).lower
            if alone
            else super()._attained(ask)
        )

    @property
    def attained_parts(self) -> Sequence[Parts]:
        """Parts of datasets in which all others hold one value and all take part.

        If a user sends several messages then one of them differs.
        """
        if self.sample_rate < 1:
            return ()
        return profiles.parts.attained_parts(self.law, self.messages * self.honest, self.neighbours)
