"""What a round is composed of: a law, how many users send, and what neighbours are.

Of most laws a round is one profile. Where the adversary sees several independent things it is one
for each of them: columns of sums, say (docs/theory.md, "Only the sums are seen").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from ..laws.binary_law import BinaryLaw, BitColumns, Order
from ..laws.noise_law import (
    BinomialNoise,
    GaussianShare,
    NegativeBinomialNoise,
    Noise,
    PoissonNoise,
    UniformDummies,
)
from .base import Parts, swapped
from .binary import BinaryProfile
from .gaussian import GaussianProfile
from .one_more import one_more
from .one_pair import PairProfile
from .rounds import round_profile
from .two_counts import TwoCountsProfile, countable


@singledispatch
def round_parts(law: Any, users: int, neighbours: str = "replace") -> Parts:
    """Profiles whose composition is a round of `users` senders, and how often each counts.

    Those of "replace" are the same in both orders, and a bound for "remove" too, unless columns
    are so few that two vectors without a common 1 do not fit in. Whether "remove"
    has a meaning is for the randomizer to say.
    """
    return [(round_profile(law, users), 1)]


@singledispatch
def replaced_parts(law: Any, users: int) -> Parts:
    """Those of replace-one neighbours, as few as are known: for samples, which need them as one."""
    return round_parts(law, users)


@singledispatch
def attained_parts(law: Any, users: int, neighbours: str = "replace") -> Sequence[Parts]:
    """Parts of actual neighbouring datasets, two choices; none if none are known."""
    return ()


@round_parts.register
def _(law: BitColumns, users: int, neighbours: str = "replace") -> Parts:
    """Independent columns: those in which the two values differ.

    How many of them differ in which way is not always the same. Those that may differ either way
    have the larger profile of both, which is conservative unless bits are symmetric.
    """
    bits = law.law
    if not bits.depends_on_value:
        return []
    either, column = BinaryProfile.of_both(bits, users), _column(bits, users)
    if neighbours == "remove":
        return [(either if bits.symmetric else column, law.ones)]
    differ, each = max(map(sum, law.differing)), min(map(min, law.differing))
    if bits.symmetric:
        return [(either, differ)]
    return [(column, each), (column.swapped, each), (either, differ - 2 * each)]


@attained_parts.register
def _(law: BitColumns, users: int, neighbours: str = "replace") -> Sequence[Parts]:
    """All others hold one of the values in question, or neither, whichever bits are less random."""
    bits = law.law
    if not bits.depends_on_value:
        return [[], []]
    ones, zeros = (_column(bits, users, held) for held in (users - 1, 0))
    quieter = bits.q * bits.not_q - bits.p * bits.not_p  # are ones, than zeros
    if neighbours == "remove":
        if quieter == 0 and law.columns > law.ones:
            return [[(ones, law.ones)], [(zeros.swapped, law.ones)]]
        one = ones if quieter > 0 or law.columns == law.ones else zeros
        return [[(one, law.ones)], [(one.swapped, law.ones)]]
    # of several ways to differ the one with the largest loss
    more, less = max(
        law.differing, key=lambda pair: pair[0] * ones.max_loss + pair[1] * ones.backward.max_loss
    )
    first = [(ones, more), (zeros.swapped, less)]
    if quieter < 0 and law.columns > more + less:
        return [first, [(zeros, more), (zeros.swapped, less)]]
    return [first, [(zeros, more), (ones.swapped, less)]]


def _column(bits: BinaryLaw, users: int, held: int | None = None) -> PairProfile:
    """A column in which the first value has a 1 and the second a 0."""
    orders = (BinaryProfile(bits, users, (order,), held) for order in Order)
    return PairProfile(*orders)


@round_parts.register
def _(law: GaussianShare, users: int, neighbours: str = "replace") -> Parts:
    """The shares of all users add up to noise of variance users sigma^2, in sums that differ by 1
    at most."""
    return [(GaussianProfile(1 / (law.sigma * math.sqrt(users))), 1)]


@attained_parts.register
def _(law: GaussianShare, users: int, neighbours: str = "replace") -> Sequence[Parts]:
    """The values 1 and 0."""
    return [round_parts(law, users)] * 2


@round_parts.register(PoissonNoise)
@round_parts.register(BinomialNoise)
@round_parts.register(NegativeBinomialNoise)
def _(law: Noise, users: int, neighbours: str = "replace") -> Parts:
    """One count has a message more, and another one has it less if the value is replaced."""
    noise = law.of_users(users)
    gained = PairProfile(one_more(noise, more=True), one_more(noise, more=False))
    return [(gained, 1)] if neighbours == "remove" else [(gained, 1), (gained.swapped, 1)]


@replaced_parts.register(PoissonNoise)
@replaced_parts.register(BinomialNoise)
@replaced_parts.register(NegativeBinomialNoise)
def _(law: Noise, users: int) -> Parts:
    noise = law.of_users(users)
    return [(TwoCountsProfile(noise), 1)] if countable(noise) else round_parts(law, users)


@round_parts.register
def _(law: UniformDummies, users: int, neighbours: str = "replace") -> Parts:
    return [(round_profile(law.law, law.total + 1), 1)]


@attained_parts.register(PoissonNoise)
@attained_parts.register(BinomialNoise)
@attained_parts.register(NegativeBinomialNoise)
@attained_parts.register(UniformDummies)
def _(law: Any, users: int, neighbours: str = "replace") -> Sequence[Parts]:
    """All datasets are alike: what other users send is known and is taken away. In both orders."""
    parts = round_parts(law, users, neighbours)
    return [parts, swapped(parts)]
