"""What a local randomizer has to offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ..profile import PrivacyProfile


@dataclass(frozen=True)
class Analysis:
    """A way to bound a shuffled round, in words that can stand in a privacy review."""

    name: str
    theorem: str  # what stands behind the number, with its source
    adversary: str  # who is protected against, and what they are given for free
    assumption: str  # what must be true of the deployment


class Randomizer(Protocol):
    """A local randomizer. `describe()` names it with its parameters."""

    @property
    def analyses(self) -> Mapping[str, Analysis]:
        """The analyses that apply, by the names a user may ask for; "best" is among them."""
        ...

    def profile(self, analysis: str, users: int) -> PrivacyProfile:
        """The profile of one shuffled round of `users` users."""
        ...

    def describe(self) -> str: ...
