"""What a round is composed of: a law, how many users send, and what neighbours are.

Of most laws a round is one profile. Where the adversary sees several independent things it is one
for each of them: columns of sums, say (docs/theory.md, "Only the sums are seen").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from ..laws.noise import (
    BinomialNoise,
    NegativeBinomialNoise,
    Noise,
    PoissonNoise,
    UniformDummies,
)
from .base import Parts
from .one_more import one_more
from .one_pair import PairProfile
from .rounds import round_profile


@singledispatch
def round_parts(law: Any, users: int, neighbours: str = "replace") -> Parts:
    """Profiles whose composition is a round of `users` senders, and how often each counts.

    Those of "replace" are a bound for "remove" too, and the same in both orders. Whether "remove"
    has a meaning is for the randomizer to say.
    """
    return [(round_profile(law, users), 1)]


@singledispatch
def attained_parts(law: Any, users: int, neighbours: str = "replace") -> Sequence[Parts]:
    """Parts of actual neighbouring datasets, two choices; none if none are known."""
    return ()


@round_parts.register(PoissonNoise)
@round_parts.register(BinomialNoise)
@round_parts.register(NegativeBinomialNoise)
def _(law: Noise, users: int, neighbours: str = "replace") -> Parts:
    """One count has a message more, and another one has it less if the value is replaced."""
    noise = law.of_users(users)
    gained = PairProfile(one_more(noise, more=True), one_more(noise, more=False))
    return [(gained, 1)] if neighbours == "remove" else [(gained, 1), (gained.swapped, 1)]


@round_parts.register
def _(law: UniformDummies, users: int, neighbours: str = "replace") -> Parts:
    # of two values there are no other messages: a law over classes, without clones to count
    law_of = law.law.classes if law.values == 2 else law.law
    return [(round_profile(law_of, law.total + 1), 1)]


@attained_parts.register(PoissonNoise)
@attained_parts.register(BinomialNoise)
@attained_parts.register(NegativeBinomialNoise)
@attained_parts.register(UniformDummies)
def _(law: Any, users: int, neighbours: str = "replace") -> Sequence[Parts]:
    """All datasets are alike: what other users send is known and is taken away."""
    return [round_parts(law, users, neighbours)] * 2
