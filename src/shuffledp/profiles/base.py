"""Privacy profiles: delta as a function of epsilon for one round, certified both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .._support.numeric import Array
from .samples import Samples

Sampler = Callable[[Array], Samples]


class PrivacyProfile(Protocol):
    """delta(epsilon) of one round, the supremum over replace-one neighbours in both orders."""

    @property
    def max_loss(self) -> float:
        """The largest finite loss: delta is constant from this epsilon on."""
        ...

    @property
    def bounded(self) -> bool:
        """Is that constant 0, that is, is there no infinite loss?"""
        ...

    @property
    def has_slopes(self) -> bool:
        """Do samples come with slopes? Otherwise these are taken from differences."""
        ...

    @property
    def depths(self) -> Sequence[float]:
        """The depths between which a sampler makes a difference."""
        ...

    @property
    def pointwise(self) -> PrivacyProfile:
        """The same profile, by whatever is quickest for a few epsilons, with slopes or without."""
        ...

    def sampler(self, depth: float, rtol: float) -> Sampler:
        """Evaluates the profile at epsilons >= 0, down to delta = e^-depth."""
        ...
