"""One shuffled round, of all users or of a sample of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from . import _validate, one_round
from .errors import InvalidParameter
from .profile import PrivacyProfile, RoundProfile
from .queries import Mechanism
from .randomizers import Analysis, Randomizer
from .subsampled import SubsampledProfile


@dataclass(frozen=True, repr=False)
class Shuffle(Mechanism):
    """One round: `users` users randomize their own value, all with the same randomizer, and a
    shuffler strips identities.

    The guarantee is for replace-one neighbours: datasets that differ in one user's value.
    With a `sample_rate` below 1, only a random subset of sample_rate * users users sends in each
    round (sampling="fixed"), or each user sends with that probability (sampling="poisson").
    The adversary sees how many messages there are but not who was sampled.

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

    def __post_init__(self) -> None:
        if isinstance(self.randomizer, type) or not hasattr(self.randomizer, "analyses"):
            raise InvalidParameter(
                f"randomizer={_validate.show(self.randomizer)} is not a randomizer; "
                "give one such as PureLDP(eps0=4.0)."
            )
        users = _validate.count("users", self.users, _validate.MAX_USERS)
        object.__setattr__(self, "users", users)
        known = self.randomizer.analyses
        if not isinstance(self.analysis, str) or self.analysis not in known:
            raise InvalidParameter(
                f"analysis={_validate.show(self.analysis)} is unknown for {self.randomizer!r}; "
                f"choose one of {', '.join(known)}."
            )
        rate = _validate.sample_rate(self.sample_rate)
        object.__setattr__(self, "sample_rate", rate)
        if self.sampling not in ("fixed", "poisson"):
            raise InvalidParameter(
                f"sampling={_validate.show(self.sampling)} is unknown; choose fixed or poisson."
            )
        if self.sampling == "fixed":
            _validate.senders(users, rate)

    def __repr__(self) -> str:
        sampled = f", sample_rate={self.sample_rate!r}, sampling={self.sampling!r}"
        return (
            f"Shuffle(randomizer={self.randomizer!r}, users={self.users!r}, "
            f"analysis={self.analysis!r}{sampled if self.sample_rate < 1 else ''})"
        )

    @property
    def senders(self) -> int:
        """How many users send in each round: exactly, or on average and rounded (poisson)."""
        return round(self.sample_rate * self.users)

    @property
    def profile(self) -> PrivacyProfile:
        """delta as a function of epsilon."""
        if self.sample_rate == 1 or self._as_one:
            return self._sampled(partial(self.randomizer.profile, self.analysis))
        full = self.randomizer.profile(self.analysis, self.senders)
        return SubsampledProfile(full, self.senders / self.users)

    def _sampled(self, full: Callable[[int], RoundProfile]) -> PrivacyProfile:
        """The profile of this round, by that of rounds in which all users send."""
        if self.sample_rate == 1:
            return full(self.users)
        if self.sampling == "poisson":
            return full(self.users).thinned(self.sample_rate)
        return full(self.senders).sampled(self.users - self.senders)

    @property
    def explained(self) -> Analysis:
        """The theorem, the adversary and the assumption behind the numbers."""
        analysis = self.randomizer.analyses[self.analysis]
        if self.sample_rate == 1:
            return analysis
        how = "of the sampled round as one: docs/theory.md, section 11"
        if not self._as_one:
            how = "then amplified by sampling (Zhu, Dong, Wang 2022, Proposition 30)"
        return replace(analysis, theorem=f"{analysis.theorem}; {how}")

    @property
    def _as_one(self) -> bool:
        """Are sampling and shuffling analyzed together, or the theorem for any sampled mechanism
        applied to the analysis that was named?"""
        return self.analysis == "best" or self.sampling == "poisson"

    def attained_delta(self, epsilon: float, *, rtol: float = 1e-4) -> float:
        """A delta that an actual pair of neighbouring datasets reaches: no bound can be below it.

        All other users hold one value, or two in small rounds of randomized response; the worst
        such values and pair count. Certified from below.
        """
        epsilon, rtol = _validate.epsilon(epsilon), _validate.tolerance(rtol)
        return one_round.delta_bounds(self.attained_profile, epsilon, rtol).lower

    def attained_epsilon(self, delta: float, *, rtol: float = 1e-4) -> float:
        """The epsilon at which an actual pair of neighbouring datasets has this delta."""
        delta, rtol = _validate.delta(delta), _validate.tolerance(rtol)
        attained = self.attained_profile
        if delta == 1:
            return 0.0
        if delta == 0 and not attained.bounded:
            return math.inf
        if delta == 0:  # the largest loss, which was rounded up
            return max(attained.max_loss * (1 - 2.0**-46) - 2.0**-46, 0.0)
        return one_round.epsilon_bounds(attained, delta, rtol).lower

    @property
    def attained_profile(self) -> PrivacyProfile:
        """delta as a function of epsilon for the datasets of `attained_delta`."""
        return self._sampled(self.randomizer.attained)
