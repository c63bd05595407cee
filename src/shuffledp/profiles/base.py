"""Privacy profiles: delta as a function of epsilon for one round, certified both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .._support.numeric import Array
from .samples import Samples

Sampler = Callable[[Array], Samples]

#: log(1/delta) down to which a sampler is asked to resolve a profile: steps of a fixed ladder, so
#: that queries at neighbouring deltas share the same discretisation.
DEPTHS = (40.0, 60.0, 90.0, 135.0, 200.0, 300.0, 450.0, 680.0)
#: And for profiles that resolve every delta alike.
ANY_DEPTH = (DEPTHS[-1],)
ROUGH = 0.01  # the relative width in epsilon at which to find out where to look closely


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
