"""The profiles of a round: from a law, the number of users who send and the kind of neighbours.

`round_profile` is the table from laws to profiles of shuffled rounds. Most rounds are one profile.
Where the adversary sees several independent things, such as columns of sums, `round_parts` has one
profile for each of them.

Theory: docs/theory/sums.md, docs/theory/sampling.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import tuning
from ..laws.binary_law import BinaryLaw, BitColumns, ValueOrder
from ..laws.class_law import ClassLaws, Law, LeakyLaw, mixed_laws
from ..laws.density_law import DensityLaw
from ..laws.integer_noise import SharedNoise, SharedVectorNoise
from ..laws.matrix_law import LeadingPairsLaw, PairsLaw
from ..laws.noise_law import AddedNoise, GaussianShare, Noise, UniformDummies
from .base import NothingLost, PairProfile, Parts, PrivacyProfile
from .binary_profile import BinaryProfile
from .class_profile import ClassProfile, DensityProfile
from .closed_form import GaussianProfile, RevealedProfile
from .one_more import one_more
from .pairs_profile import PairsProfile
from .shifted_noise import shifted_profile, shifts_within, vector_profile
from .subsampled import MissingFromSample, SubsampledProfile
from .two_counts import TwoCountsProfile, countable


def round_profile(law: Law, users: int, idle: int = 0) -> PrivacyProfile:
    """The profile of a shuffled round: a law and the number of users who send.

    Parameters
    ----------
    law : Law
    users : int
        The number of senders.
    idle : int
        The number of users who were not drawn: senders are a random subset of `users` + `idle`
        (docs/theory/sampling.md).

    Raises
    ------
    TypeError
        If no profile is known for the type of law.
    """
    match law:
        case ClassLaws(laws=()):
            return NothingLost()
        case ClassLaws():
            enumerated = law.values and not idle and users <= tuning.FEW_USERS
            histogram_laws = mixed_laws(law.values, users) if enumerated else ()
            return ClassProfile(law.laws, users, idle, histogram_laws)
        case LeakyLaw():
            return _leaky_profile(law, users, idle)
        case BinaryLaw() if idle:
            raise NotImplementedError("sampled rounds as a whole are known for the blanket only")
        case BinaryLaw():
            return BinaryProfile(law, users, law.orders) if law.depends_on_value else NothingLost()
        case DensityLaw():
            return DensityProfile(law, users, idle)
        case PairsLaw():
            return PairsProfile(law.matrix, users, idle)
        case LeadingPairsLaw():
            return round_profile(law.among(users), users, idle)
    raise TypeError(f"no profile is known for {law!r}")


def _leaky_profile(law: LeakyLaw, users: int, idle: int) -> PrivacyProfile:
    """The clone pair, and what is revealed with some probability."""
    clones = law.clones.thinned(law.rate) if law.rate < 1 else law.clones
    hidden = round_profile(clones, users, idle)
    distance = float(hidden.sampler(tuning.DEPTHS[0], 0.01)(np.zeros(1)).upper[0])
    paid = law.paid(users + idle, min(distance, math.tanh(law.eps0 / 2)))
    return RevealedProfile(hidden, min(paid * users / (users + idle) * (1 + 2.0**-50), 1.0))


def round_parts(law: Any, users: int, neighbours: str = "replace") -> Parts:
    """Profiles whose composition is a round of `users` senders, and how often each counts.

    Parameters
    ----------
    law : Any
        A law of shuffled messages, of sums or of noise.
    users : int
    neighbours : str
        "replace" or "remove"; the randomizer says whether "remove" is defined.

    Notes
    -----
    The parts of "replace" are the same in both orders, and a bound for "remove" too, unless there
    are fewer columns than twice the 1s of a value.
    """
    match law:
        case BitColumns():
            return _bit_column_parts(law, users, neighbours)
        case GaussianShare():  # they add up to noise of variance users sigma^2
            distance = law.distance(neighbours)
            return [(GaussianProfile(distance / (law.sigma * math.sqrt(users))), 1)]
        case SharedNoise():
            # one column of a histogram has one more, and another one less if the value is replaced;
            # the noise is symmetric, so that both have the same profile
            columns = 2 if law.is_histogram and neighbours == "replace" else 1
            return [(shifted_profile(law.share.of_users(users), law.shift), columns)]
        case SharedVectorNoise():  # a bound for every direction: docs/theory/integer-vectors.md
            noise = law.share.of_users(users)
            return [(vector_profile(noise, law.norm, replaced=neighbours == "replace"), 1)]
        case _ if isinstance(law, Noise):
            return _added_noise_parts(AddedNoise(law.of_users(users)), neighbours)
        case AddedNoise():
            return _added_noise_parts(law, neighbours)
        case UniformDummies():
            return [(round_profile(law.law, law.total + 1), 1)]
    return [(round_profile(law, users), 1)]


def replaced_parts(law: Any, users: int) -> Parts:
    """The parts of replace-one neighbours, as few as possible: samples need them as one."""
    match law:
        case _ if isinstance(law, Noise):
            noise = law.of_users(users)
            return [(TwoCountsProfile(noise), 1)] if countable(noise) else round_parts(law, users)
        case AddedNoise():
            return [(TwoCountsProfile(law.noise, law.rate), 1)]
    return round_parts(law, users)


def attained_parts(law: Any, users: int, neighbours: str = "replace") -> Sequence[Parts]:
    """Parts of actual neighbouring datasets, two alternatives; empty if none are known.

    The first order of each pair is that of `round_parts`. The other one need not be an alternative,
    since `CertifiedRounds` asks about both.
    """
    match law:
        case BitColumns():
            return _attained_bit_column_parts(law, users, neighbours)
        case SharedVectorNoise():  # vectors of about the largest norm, and their negatives or zeros
            noise, times = law.share.of_users(users), 2 if neighbours == "replace" else 1
            return [
                [(shifted_profile(noise, times * shift), count) for shift, count in shifts.items()]
                for shifts in shifts_within(law.norm, law.dimension)
            ]
        case AddedNoise(rate=rate, values=values) if rate < 1 and values in (1, 2):
            # the others hold the first value: an adversary who looks at the second one sees a
            # message more or less
            return [round_parts(law, users, "remove")] * 2
        case _ if isinstance(
            law, Noise | AddedNoise | UniformDummies | SharedNoise | GaussianShare
        ):
            # all datasets are equivalent, since the messages of other users can be subtracted; of
            # values that are kept at random, all others hold a third one
            return [round_parts(law, users, neighbours)] * 2
    return ()


def _bit_column_parts(law: BitColumns, users: int, neighbours: str) -> Parts:
    """Independent columns: those in which the two values differ.

    The number of columns that differ in either way may vary. Columns that may differ either way
    have the larger profile of both, which is conservative unless bits are symmetric.
    """
    bits = law.law
    if not bits.depends_on_value:
        return []
    either = BinaryProfile(bits, users, bits.orders)
    differ = law.ones if neighbours == "remove" else max(map(sum, law.differing))
    if bits.symmetric:
        return [(either, differ)]
    column = _column(bits, users)
    if neighbours == "remove":
        return [(column, differ)]
    each = min(map(min, law.differing))
    return [(column, each), (column.swapped, each), (either, differ - 2 * each)]


def _attained_bit_column_parts(law: BitColumns, users: int, neighbours: str) -> Sequence[Parts]:
    """All others hold one of the two values, or neither, whichever has the less random bits."""
    bits = law.law
    if not bits.depends_on_value:
        return [[], []]
    ones, zeros = (_column(bits, users, held) for held in (users - 1, 0))
    variance_gap = bits.q * bits.not_q - bits.p * bits.not_p  # of zeros and of ones
    if neighbours == "remove":
        if variance_gap == 0 and law.columns > law.ones:
            return [[(ones, law.ones)], [(zeros, law.ones)]]
        one = ones if variance_gap > 0 or law.columns == law.ones else zeros
        return [[(one, law.ones)]] * 2
    # of several ways to differ the one with the largest loss
    more, less = max(
        law.differing, key=lambda pair: pair[0] * ones.max_loss + pair[1] * ones.backward.max_loss
    )
    first = [(ones, more), (zeros.swapped, less)]
    if variance_gap < 0 and law.columns > more + less:
        return [first, [(zeros, more), (zeros.swapped, less)]]
    return [first, [(zeros, more), (ones.swapped, less)]]


def _column(bits: BinaryLaw, users: int, held: int | None = None) -> PairProfile:
    """A column in which the first value has a 1 and the second a 0."""
    orders = (BinaryProfile(bits, users, (order,), held) for order in ValueOrder)
    return PairProfile(*orders)


def _added_noise_parts(law: AddedNoise, neighbours: str) -> Parts:
    """The same whoever sends. A value that is kept at random is a sample of one count or of two."""
    more, less = (one_more(law.noise, more=more) for more in (True, False))
    if law.rate == 1:  # one count has a message more, and another one has it less
        gained = PairProfile(more, less)
        return [(gained, 1)] if neighbours == "remove" else [(gained, 1), (gained.swapped, 1)]
    if neighbours == "remove":
        kept = SubsampledProfile(more, law.rate), MissingFromSample(less, law.rate)
        return [(PairProfile(*kept), 1)]
    return [(TwoCountsProfile(law.noise, law.rate), 1)]
