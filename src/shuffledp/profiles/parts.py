"""What a round is composed of: a law, how many users send, and what neighbours are.

Of most laws a round is one profile. Where the adversary sees several independent things it is one
for each of them: columns of sums, say (docs/theory.md, "Only the sums are seen").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from .base import Parts
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
