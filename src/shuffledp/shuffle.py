"""One shuffled round, of all users or of a sample of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ._support import validate
from .bounds import one_round
from .composition.bundle import BundledRounds, ComposedProfile
from .errors import InvalidParameter
from .guarantee import Mechanism, anyway
from .laws.base import Law
from .profiles.base import PrivacyProfile
from .profiles.mixture import MixtureProfile, SampledRounds
from .profiles.one_pair import PairProfile
from .profiles.rounds import round_profile
from .profiles.sender_count import SenderCount
from .profiles.subsampled import SubsampledProfile
from .randomizers import Analysis, Randomizer
from .randomizers.analyses import BLANKET, EXACT

#: Options that say who does not follow the protocol and how much each user sends, as usual.
USUAL_PEOPLE = {"colluding": 0, "dropouts": 0, "messages": 1}

#: Shares of the largest loss, and of one that counts, at which datasets are compared.
_SMALL, _LARGE = 1e-3, 10.0


@dataclass(frozen=True, repr=False)
class Shuffle(Mechanism):
    """One round: `users` users randomize their own value, all with the same randomizer, and a
    shuffler strips identities.

    The guarantee is for replace-one neighbours: datasets that differ in one user's value.
    With a `sample_rate` below 1, only a random subset of sample_rate * users users sends in each
    round (sampling="fixed"), or each user sends with that probability (sampling="poisson").
    The adversary sees how many messages there are but not who was sampled.

    Up to `colluding` users share all they know with the adversary and up to `dropouts` users do not
    send, whoever they are: counts, or shares of the users if below 1. They hide nobody. Every user
    sends `messages` messages in the round, which the guarantee protects together.

    >>> from shuffledp import PureLDP, Shuffle
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> survey.get_epsilon(1e-6) < 0.4109
    True
    """

    randomizer: Randomizer
    users: int
    analysis: str = "best"
    sample_rate: float = 1.0
    sampling: str = "fixed"
    colluding: float = 0
    dropouts: float = 0
    messages: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, Randomizer):
            raise InvalidParameter(
                f"randomizer={validate.show(self.randomizer)} is not a randomizer; "
                "give one such as PureLDP(eps0=4.0)."
            )
        users = validate.count("users", self.users, validate.MAX_USERS)
        object.__setattr__(self, "users", users)
        known = self.randomizer.analyses
        if not isinstance(self.analysis, str) or self.analysis not in known:
            raise InvalidParameter(
                f"analysis={validate.show(self.analysis)} is unknown for {self.randomizer!r}; "
                f"choose one of {', '.join(known)}."
            )
        rate = validate.sample_rate(self.sample_rate)
        object.__setattr__(self, "sample_rate", rate)
        if self.sampling not in ("fixed", "poisson"):
            raise InvalidParameter(
                f"sampling={validate.show(self.sampling)} is unknown; choose fixed or poisson."
            )
        if self.sampling == "fixed":
            validate.sample_size(users, rate)
        for name in ("colluding", "dropouts"):
            value = validate.count_or_share(name, getattr(self, name), users)
            object.__setattr__(self, name, value)
        if self.honest < 1:
            raise InvalidParameter(
                f"colluding={self.colluding} and dropouts={self.dropouts} leave nobody of users="
                f"{users} to protect; give fewer of them or more users."
            )
        messages = validate.count("messages", self.messages, validate.MAX_MESSAGES)
        object.__setattr__(self, "messages", messages)

    def __repr__(self) -> str:
        sampled = f", sample_rate={self.sample_rate!r}, sampling={self.sampling!r}"
        given = {name: getattr(self, name) for name in USUAL_PEOPLE}
        shown = "".join(f", {k}={v!r}" for k, v in given.items() if v != USUAL_PEOPLE[k])
        return (
            f"Shuffle(randomizer={self.randomizer!r}, users={self.users!r}, "
            f"analysis={self.analysis!r}{sampled if self.sample_rate < 1 else ''}{shown})"
        )

    @property
    def honest(self) -> int:
        """The users who hide each other: neither colluding nor dropped out."""
        return self.users - int(self.colluding) - int(self.dropouts)

    @property
    def senders(self) -> int:
        """How many users send in each round: exactly, or on average and rounded (poisson)."""
        return round(self.sample_rate * self.users)

    @property
    def summary(self) -> tuple[str, str, str]:
        return self.crowd, self.explained.name, repr(self.randomizer)

    @property
    def crowd(self) -> str:
        """How many send in each round, of how many, and what is unusual about them."""
        about = "" if self.sampling == "fixed" else "about "
        sampled = f"{about}{self.senders:,} of " if self.sample_rate < 1 else ""
        return f"{sampled}{self.users:,}{self._aside}"

    @property
    def _aside(self) -> str:
        said = [f"{self.colluding:,} colluding"] if self.colluding else []
        said += [f"{self.dropouts:,} dropping out"] if self.dropouts else []
        said += [f"{self.messages:,} messages each"] if self.messages > 1 else []
        return f" ({', '.join(said)})" if said else ""

    @property
    def participants(self) -> str:
        """Who sends in each round, in words."""
        aside, users = self._aside, f"user{'' if self.users == 1 else 's'}"
        if self.sampling == "poisson" and self.sample_rate < 1:
            every = f"each of whom sends with probability {self.sample_rate:g}"
            return f"{self.users:,} {users}{aside}, {every}"
        fresh = ", a fresh random subset each round" if self.sample_rate < 1 else ""
        return f"{self.crowd.removesuffix(aside)} {users}{aside}{fresh}"

    @property
    def parts(self) -> Sequence[tuple[PrivacyProfile, int]]:
        """Profiles whose composition is the round, and how often each counts."""
        if self.sample_rate == 1:
            return [(round_profile(self.law, self.honest), self.messages)]
        return [(self._sampled(), 1)]

    @property
    def profile(self) -> PrivacyProfile:
        """delta as a function of epsilon."""
        ((one, count),) = self.parts
        return one if count == 1 else ComposedProfile(one, count)

    @property
    def law(self) -> Law:
        """The law of a message, as the analysis sees it."""
        return self.randomizer.law(self.analysis)

    def _sampled(self) -> PrivacyProfile:
        """The profile of this sampled round."""
        if self.messages > 1:
            count = self._sender_count
            if count.least < count.most:
                return MixtureProfile(count, BundledRounds(self.law, count, self.messages))
            composed = ComposedProfile(round_profile(self.law, count.most), self.messages)
            return SubsampledProfile(composed, count.most / self.honest)
        if self._as_one:
            return self._sampled_as_one(self._analysis.law(self.randomizer))
        return SubsampledProfile(round_profile(self.law, self.senders), self.senders / self.users)

    def _sampled_as_one(self, law: Law) -> PrivacyProfile:
        """Sampling and shuffling analyzed together, for one of the messages of a user."""
        m, count = self.messages, self._sender_count
        if count.least == count.most:
            return round_profile(law, m * count.most, m * (self.honest - count.most))
        if self.sampling == "poisson" and m == 1:
            return round_profile(law.thinned(self.sample_rate), self.honest)
        return MixtureProfile(count, SampledRounds(law, count, m))

    @property
    def _sender_count(self) -> SenderCount:
        if self.sampling == "poisson":
            return SenderCount(self.honest, rate=self.sample_rate)
        return SenderCount(self.honest, self.users, self.senders)

    @property
    def _analysis(self) -> Analysis:
        """The one that was asked for, or the blanket for samples of binary messages as one: what is
        exact of all users says nothing of these."""
        analysis = self.randomizer.analyses[self.analysis]
        return BLANKET if analysis is EXACT and self.sample_rate < 1 and self._as_one else analysis

    @property
    def explained(self) -> Analysis:
        """The theorem, the adversary and the assumption behind the numbers."""
        analysis, theorem = self._analysis, []
        if self.messages > 1:
            theorem = ["composed for the messages of a user"]
        if self.sample_rate < 1 and self._as_one:
            theorem += ["of the sampled round as one: docs/theory.md, section 11"]
        elif self.sample_rate < 1:
            theorem += ["then amplified by sampling (Zhu, Dong, Wang 2022, Proposition 30)"]
        return replace(analysis, theorem="; ".join([analysis.theorem, *theorem]))

    @property
    def _as_one(self) -> bool:
        """Are sampling and shuffling analyzed together, or the theorem for any sampled mechanism
        applied to the analysis that was named, or to several messages?"""
        named = self.analysis != "best" and self.sampling == "fixed" and self.honest == self.users
        return self.messages == 1 and not named

    def attained_delta(self, epsilon: float, *, rtol: float = 1e-4) -> float:
        """A delta that an actual pair of neighbouring datasets reaches: no bound can be below it.

        All other users hold one value, or two in small rounds of randomized response; the worst
        such values and pair count. Certified from below.
        """
        epsilon, rtol = validate.epsilon(epsilon), validate.tolerance(rtol)
        return anyway(one_round.delta_bounds, self._attained(epsilon), epsilon, rtol).lower

    def attained_epsilon(self, delta: float, *, rtol: float = 1e-4) -> float:
        """The epsilon at which an actual pair of neighbouring datasets has this delta."""
        delta, rtol = validate.delta(delta), validate.tolerance(rtol)
        if delta == 1:
            return 0.0
        attained = self._attained()
        if delta == 0 and not attained.bounded:
            return math.inf
        if delta == 0:  # the largest loss, which was rounded up
            return max(attained.max_loss * (1 - 2.0**-46) - 2.0**-46, 0.0)
        if isinstance(attained, MixtureProfile):
            attained = self._attained(anyway(one_round.epsilon_bounds, attained, delta, 0.1).upper)
        return anyway(one_round.epsilon_bounds, attained, delta, rtol).lower

    def _attained(self, epsilon: float = 0.0) -> PrivacyProfile:
        """Of actual neighbouring datasets; if the number of senders varies, of a single pair of
        datasets, bad at this epsilon.

        If a user has several messages then one of them differs: with the others holding one value,
        that is a round of as many users as there are messages.
        """
        law = self.randomizer.attained_law()
        if self.sample_rate == 1:
            law = self.randomizer.binary_law() or law
        attained = self._attained_by(law)
        if not isinstance(attained, MixtureProfile):
            return attained
        # the worst datasets may differ from count to count, but nobody has several datasets
        return self._attained_by(law.worst(epsilon, self._typical))

    def _attained_by(self, law: Law) -> PrivacyProfile:
        if self.sample_rate == 1:
            return round_profile(law, self.messages * self.honest)
        return self._sampled_as_one(law)

    @property
    def _typical(self) -> int:
        """How many messages there are, about."""
        return self.messages * max(1, round(self._sender_count.mean))

    @property
    def attained_pairs(self) -> Sequence[PairProfile]:
        law, found = self.randomizer.attained_law(), []
        largest = min(self._attained_by(law).max_loss, _LARGE)
        for epsilon in (_SMALL * largest, largest / 2):
            worst = law.worst(epsilon, self._typical)
            orders = (self._attained_by(order) for order in (worst, worst.reversed))
            found.append(PairProfile(*orders))
        return found
