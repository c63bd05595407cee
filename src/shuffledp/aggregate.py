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
    """One round: `users` users randomize their own value, all with the same randomizer, and secure
    aggregation (Prio, DAP) reveals nothing but the sums of what they send.

    Bits of a `UnaryEncoding` are summed up column by column, the noise of `Gaussian` shares adds up
    to a central Gaussian mechanism, on a number or on a vector, `NoiseShares` add up to noise on
    integers, and of every randomizer with two messages the sum is all there is.
    neighbours="replace": one user's value is another one. neighbours="remove": the zero vector
    stands for one user's value (deletion). Of vectors up to the L2 norm 1 the L2 sensitivity is 2
    for "replace" and 1 for "remove".

    The other options mean what they mean for `Shuffle`; who takes part in a sample is not seen, but
    how many do is.

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
        "the aggregation is secure and exact: it reveals the sums of what all users send and "
        "nothing else"
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
        """The law of what a user adds to the sums.

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
    def remarks(self) -> Sequence[tuple[str, str]]:
        return [*super().remarks, *self.randomizer.sum_remarks.items()]

    def _attained(self, ask: Ask) -> float:
        """Of one column the worst datasets of all are known."""
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
        """All others hold one value, and all take part; of several messages one differs."""
        if self.sample_rate < 1:
            return ()
        return profiles.parts.attained_parts(self.law, self.messages * self.honest, self.neighbours)
