"""Randomizers whose users hide each other: which they are, and the blanket that they share.

docs/theory/mixed.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, cast

from .. import laws
from .base import Randomizer
from .finite import MatrixRandomizer
from .membership import MembershipRandomizer

if TYPE_CHECKING:  # loaded with the first question
    from ..laws.matrix_law import SharedLaw


def family_of(randomizer: Randomizer) -> Hashable | None:
    """What randomizers that may share a blanket have in common; None if none is known.

    >>> from shuffledp import RandomizedResponse
    >>> family_of(RandomizedResponse(4, eps0=1.0)) == family_of(RandomizedResponse(4, eps0=2.0))
    True
    """
    key = randomizer.blanket_key
    if key is None:
        return None
    if isinstance(randomizer, MatrixRandomizer):
        return "matrix", key
    return (type(randomizer), key) if isinstance(randomizer, MembershipRandomizer) else None


def base_mass_of(randomizer: Randomizer) -> float:
    """How much of the blanket of its family every message of a randomizer of sets has."""
    return math.fsum(cast(MembershipRandomizer, randomizer).base_law().blanket)


def helps_surely(randomizer: Randomizer) -> bool:
    """Whether the bound of a group by itself rests on no more than what its family shares."""
    return (
        isinstance(randomizer, MembershipRandomizer)
        and randomizer.binary_law() is None
        and randomizer.mass_containing_all < 1e-6 * base_mass_of(randomizer)
    )


def shared_by(
    family: Sequence[Randomizer], rates: Sequence[float], users: Sequence[int], own: int
) -> SharedLaw | None:
    """The law of a user of one group under a blanket that the groups of its family share.

    Parameters
    ----------
    family : sequence of Randomizer
        One for each group, all with the same `family_of`.
    rates : sequence of float
        The probabilities with which users of each group send.
    users : sequence of int
        The users of each group; they guide the choice of a blanket of matrices only.
    own : int
        The group of the user in question.

    Returns
    -------
    SharedLaw or None
        None if no other group provides cover.
    """
    randomizer, shared = family[own], laws.matrix_law
    if isinstance(randomizer, MatrixRandomizer):
        matrices = [cast(MatrixRandomizer, each).probabilities for each in family]
        senders = [rate * count for rate, count in zip(rates, users, strict=True)]
        measure, weights = shared.matrix_blanket(matrices, senders, own)
        found = laws.matrix_law.pair_laws(randomizer.probabilities, measure)
    else:
        masses = [base_mass_of(each) for each in family]
        found = [cast(MembershipRandomizer, randomizer).base_law()]
        weights = tuple(mass / masses[own] for mass in masses)
    if not found or sum(weight > 0 for weight in weights) == 1:
        return None
    return shared.shared_law(found, own, [*map(shared.Cover, weights, rates)])
