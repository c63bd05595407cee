"""One shuffled round, of all users or of a sample of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from . import bounds, profiles
from ._support import validate
from ._support.progress import progress
from .errors import InvalidParameter, OutOfRange
from .guarantee import best_effort
from .randomizers import Analysis, Randomizer
from .randomizers.analyses import BLANKET, chapter
from .randomizers.parameter import parameters_of
from .rounds import RoundOfUsers

if TYPE_CHECKING:  # loaded with the first question
    from .laws.class_law import Law
    from .profiles.base import Parts, PrivacyProfile

#: Shares of the largest loss, and of one that counts, at which datasets are compared.
_SMALL, _LARGE = 1e-3, 10.0


@dataclass(frozen=True, repr=False)
class Shuffle(RoundOfUsers):
    """One round in which every user applies the same randomizer and a shuffler removes identities.

    The adversary sees all messages of the round in random order, and how many there are, but not
    who was sampled. The shuffler is assumed to be honest.

    Parameters
    ----------
    randomizer : Randomizer
        What every user applies to their value, such as RandomizedResponse(16, eps0=2.0).
    users : int
        Number of users, 1 to 1e12, including those who collude or drop out.
    analysis : str
        Name of the theorem behind the numbers, one of `randomizer.analyses`; "best" is the tightest
        that is known for the randomizer.
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
    neighbours : str
        "replace": neighbouring datasets differ in the value of one user. "remove": the value of one
        user is missing from one of them, which has a meaning for noise messages only.

    Raises
    ------
    InvalidParameter, OutOfRange
        If an argument has no meaning, is outside the supported range, or is not supported for this
        randomizer.

    Examples
    --------
    >>> from shuffledp import PureLDP, Shuffle
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> survey.get_epsilon(1e-6) < 0.4109
    True
    """

    view: ClassVar[str] = "shuffle"
    noun: ClassVar[str] = "shuffled round"
    seen: ClassVar[str] = "the messages"
    trusted: ClassVar[str] = (
        "the shuffler is honest: it reveals all messages of a round together, in an order that is "
        "drawn uniformly at random and afresh for every round, and nothing else, so that nothing "
        "links two messages of a user"
    )

    randomizer: Randomizer
    users: int
    analysis: str = "best"
    sample_rate: float = 1.0
    sampling: str = "fixed"
    colluding: float = 0
    dropouts: float = 0
    messages: int = 1
    neighbours: str = field(default="replace", kw_only=True)

    def _check_view(self) -> None:
        """Refuse an unknown analysis, and what no theorem covers if messages are shuffled."""
        known = self.randomizer.analyses
        if not isinstance(self.analysis, str) or self.analysis not in known:
            raise InvalidParameter(
                f"analysis={validate.show(self.analysis)} is unknown for {self.randomizer!r}; "
                f"choose one of {', '.join(known)}."
            )
        for name, parameter in parameters_of(type(self.randomizer)).items():
            if parameter.shuffled is not None:
                self._check_limits(name, *parameter.shuffled)
        unknown = not self.randomizer.covers_every_exchange
        if unknown and self.messages != 1 and self.sample_rate != 1:
            raise InvalidParameter(
                f"messages={validate.show(self.messages)} with sample_rate={self.sample_rate} has "
                f"no known bound for {self.randomizer!r}, whose numbers do not bound the exchange "
                "of a value for that of another user; give sample_rate=1 or messages=1."
            )

    def _check_limits(self, name: str, least: float, most: float) -> None:
        value = getattr(self.randomizer, name)
        if not least <= value <= most:
            summed = " or, if only sums are seen, the aggregate view"
            raise OutOfRange(
                f"{name}={validate.show(value)} is outside [{least:g}, {most:g}], which the "
                "shuffle view supports; choose a value inside it"
                f"{'' if self.randomizer.sum_law() is None else summed}."
            )

    @property
    def _cannot_remove(self) -> str:
        if "remove" in self.randomizer.relations:
            return ""
        return "the adversary sees the number of messages, and so that one is missing"

    @property
    def _own(self) -> str:
        return f", analysis={self.analysis!r}"

    @property
    def law(self) -> Law:
        """Law of a message, as the analysis sees it."""
        return self.randomizer.law(self.analysis)

    def _sampled(self) -> PrivacyProfile:
        if self._has_sampling_in_law:
            return self._sampled_in_law(self._analysis.law(self.randomizer))
        return super()._sampled()

    def _sampled_in_law(self, law: Law) -> PrivacyProfile:
        """Sampling and shuffling analyzed together, for one of the messages of a user."""
        m, count = self.messages, self._sender_count
        if count.least == count.most:
            return profiles.parts.round_profile(law, m * count.most, m * (self.honest - count.most))
        if self.sampling == "poisson" and m == 1:
            return profiles.parts.round_profile(law.thinned(self.sample_rate), self.honest)
        return profiles.mixture.SampledRounds(law, count, m)

    @property
    def _analysis(self) -> Analysis:
        """The analysis that was asked for; the blanket instead where sampling is part of the law
        and that analysis, exact for binary messages of all users, does not hold for samples."""
        analysis = self.randomizer.analyses[self.analysis]
        return (
            BLANKET
            if not analysis.as_one and self.sample_rate < 1 and self._has_sampling_in_law
            else analysis
        )

    @property
    def _steps(self) -> list[str]:
        if self.sample_rate < 1 and self._has_sampling_in_law:
            return [f"sampling and shuffling analyzed together: {chapter('Sampling')}"]
        return super()._steps

    @property
    def _has_sampling_in_law(self) -> bool:
        """Whether sampling and shuffling are analyzed together.

        Otherwise the theorem for samples of any mechanism is applied: to several messages of a
        user, and to an analysis that was named for a sample of fixed size, for example.
        """
        named = self.analysis != "best" and self.sampling == "fixed" and self.honest == self.users
        named = named and self.randomizer.covers_every_exchange
        known = "blanket" in self.randomizer.analyses or self.randomizer.analyses["best"].as_one
        return self.messages == 1 and not named and known

    @progress("attained delta")
    def attained_delta(self, epsilon: float, *, rtol: float = 1e-4) -> float:
        """Delta that an actual pair of neighbouring datasets reaches: no valid bound is below it.

        All other users hold one value, or two in small rounds of randomized response; the worst
        such values and pair count.

        Parameters
        ----------
        epsilon : float
            Privacy parameter, 0 or larger.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        float
            Certified from below.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        if self._replaced_parts:
            return super().attained_delta(epsilon, rtol=rtol)
        epsilon, rtol = validate.epsilon(epsilon), validate.tolerance(rtol)
        return best_effort(
            bounds.one_round.delta_bounds, self._attained_round(epsilon), epsilon, rtol
        ).lower

    @progress("attained epsilon")
    def attained_epsilon(self, delta: float, *, rtol: float = 1e-4) -> float:
        """Epsilon that an actual pair of neighbouring datasets reaches: no valid bound is below it.

        Parameters
        ----------
        delta : float
            Privacy parameter, 0 for pure DP or 1e-280 to 1.
        rtol : float
            Relative width in epsilon to aim for, 1e-7 to 0.5.

        Returns
        -------
        float
            Certified from below; the datasets are those of `attained_delta`.

        Raises
        ------
        InvalidParameter, OutOfRange
            If an argument has no meaning or is outside the supported range.
        """
        if self._replaced_parts:
            return super().attained_epsilon(delta, rtol=rtol)
        delta, rtol = validate.delta(delta), validate.tolerance(rtol)
        if delta == 1:
            return 0.0
        attained = self._attained_round()
        if delta == 0 and not attained.bounded:
            return math.inf
        if delta == 0:
            return profiles.base.attained_loss(attained.max_loss)
        if isinstance(attained, profiles.mixture.MixtureProfile):
            attained = self._attained_round(
                best_effort(bounds.one_round.epsilon_bounds, attained, delta, 0.1).upper
            )
        return best_effort(bounds.one_round.epsilon_bounds, attained, delta, rtol).lower

    def _attained_round(self, epsilon: float = 0.0) -> PrivacyProfile:
        """The profile of actual neighbouring datasets.

        If the number of senders varies, that of a single pair of datasets, bad at this epsilon.

        If a user has several messages then one of them differs: with the others holding one value,
        that is a round of as many users as there are messages.
        """
        law = self.randomizer.attained_law()
        if self.sample_rate == 1:
            law = self.randomizer.binary_law() or law
        attained = self._attained_by(law)
        if not isinstance(attained, profiles.mixture.MixtureProfile):
            return attained
        # the worst datasets may differ from count to count, but nobody has several datasets
        return self._attained_by(law.worst(epsilon, self._typical))

    def _attained_by(self, law: Law) -> PrivacyProfile:
        if self.sample_rate == 1:
            return profiles.parts.round_profile(law, self.messages * self.honest)
        return self._sampled_in_law(law)

    @property
    def _typical(self) -> int:
        """How many messages there are, about."""
        return self.messages * max(1, round(self._sender_count.mean))

    @property
    def _replaced_parts(self) -> Sequence[Parts]:
        """Parts of actual datasets if `attained_parts` knows the law; else empty."""
        return profiles.parts.attained_parts(
            self.randomizer.attained_law(), self.honest, self.neighbours
        )

    @property
    def attained_parts(self) -> Sequence[Parts]:
        if self._replaced_parts:
            # Of samples nothing is known. All values of a user change to others, which exist if
            # there are enough values, with one more for the other users.
            values = getattr(self.randomizer, "k", None)
            exist = self.messages == 1 or values is None or values > 2 * self.messages
            times = self.messages if self.sample_rate == 1 and exist else 0
            return [[(part, times * n) for part, n in parts] for parts in self._replaced_parts]
        law, found = self.randomizer.attained_law(), []
        largest = min(self._attained_by(law).max_loss, _LARGE)
        for epsilon in (_SMALL * largest, largest / 2):
            worst = law.worst(epsilon, self._typical)
            orders = (self._attained_by(order) for order in (worst, worst.reversed))
            found.append([(profiles.base.PairProfile(*orders), 1)])
        return found
