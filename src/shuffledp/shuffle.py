"""One shuffled round."""

from __future__ import annotations

import math
from dataclasses import dataclass

from . import _validate, profile
from .errors import InvalidParameter
from .profile import PrivacyProfile
from .queries import Mechanism
from .randomizers import Analysis, Randomizer


@dataclass(frozen=True)
class Shuffle(Mechanism):
    """One round: `users` users randomize their own value and a shuffler strips identities.

    The guarantee is for replace-one neighbours: datasets that differ in one user's value.

    >>> from shuffledp import PureLDP, Shuffle
    >>> survey = Shuffle(PureLDP(eps0=4.0), users=10_000)
    >>> survey.get_epsilon(1e-6) < 0.4109
    True
    """

    randomizer: Randomizer
    users: int
    analysis: str = "best"

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

    @property
    def profile(self) -> PrivacyProfile:
        """delta as a function of epsilon."""
        return self.randomizer.profile(self.analysis, self.users)

    @property
    def explained(self) -> Analysis:
        """The theorem, the adversary and the assumption behind the numbers."""
        return self.randomizer.analyses[self.analysis]

    def attained_delta(self, epsilon: float, *, rtol: float = 1e-4) -> float:
        """A delta that an actual pair of neighbouring datasets reaches: no bound can be below it.

        All other users hold one value, or two in small rounds of randomized response; the worst
        such values and pair count. Certified from below.
        """
        (value,), rtol = _validate.epsilons([epsilon]), _validate.tolerance(rtol)
        return profile.delta_bounds(self.randomizer.attained(self.users), float(value), rtol).lower

    def attained_epsilon(self, delta: float, *, rtol: float = 1e-4) -> float:
        """The epsilon at which an actual pair of neighbouring datasets has this delta."""
        (value,), rtol = _validate.deltas([delta]), _validate.tolerance(rtol)
        attained = self.randomizer.attained(self.users)
        if value == 1:
            return 0.0
        if value == 0 and not attained.bounded:
            return math.inf
        if value == 0:  # the largest loss, which was rounded up
            return max(attained.max_loss * (1 - 2.0**-48) - 2.0**-48, 0.0)
        return profile.epsilon_bounds(attained, float(value), rtol).lower
